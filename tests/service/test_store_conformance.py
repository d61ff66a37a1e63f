"""One suite for every store: what is committed is there, what is not is not, and every row comes back as it went in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hushloop.service.store import AssignmentRow, Counted, OpenBlock, Store, StoreError, TicketRow, open_store
from hushloop.service.store.base import broken_links, chained

Reopen = Callable[[Store], Store]
BLOCK = OpenBlock(3, 2, "[1, -2, 9223372036854775808]", '{"noise": 1}', 12.5, 10.25)


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return "memory:" if request.param == "memory" else f"sqlite:///{tmp_path}/s.db"


@pytest.fixture
def store(store_url: str):
    found = open_store(store_url)
    yield found
    found.close()


@pytest.fixture(params=["sqlite", "postgres"])
def durable_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.getfixturevalue("postgres_url")) if request.param == "postgres" else f"sqlite:///{tmp_path}/s.db"


def rows(*names: str) -> list[Counted]:
    return [Counted(name, f"{k:032x}", 7, k % 2 == 1) for k, name in enumerate(names)]


def test_values_are_replaced(store: Store) -> None:
    assert store.get("a") is None
    with store.transaction():
        store.put("a", "1")
        store.put("a", "2")
    assert store.get("a") == "2"


def test_reports_come_back_as_they_went_in(store: Store) -> None:
    made = rows("a", "b", "it's|\"0\\x", "ü" * 20)
    with store.transaction():
        store.add_reports(made)
        assert store.reports(["b"]) == {"b": made[1]}
    assert store.reports([r.report_id for r in made] + ["unknown"]) == {r.report_id: r for r in made}
    assert store.reports([]) == {}


def test_a_report_id_is_unique(durable_url: str) -> None:
    store = open_store(durable_url)
    with store.transaction():
        store.add_reports(rows("a"))
    with pytest.raises(StoreError), store.transaction():
        store.add_reports(rows("b", "a"))
    assert store.reports(["a", "b"]).keys() == {"a"}, "the failed group left something behind"
    store.close()


def test_tickets_are_spent_once_and_revoked(store: Store) -> None:
    with store.transaction():
        store.add_tickets(["m1", "m2"], "", 100.5)
        store.add_tickets(["m3"], "p", 50.0)
        store.spend(["m1"])
    found = {"m1": TicketRow(100.5, True), "m2": TicketRow(100.5, False), "m3": TicketRow(50.0, False)}
    assert store.tickets(["m1", "m2", "m3", "m4"]) == found
    with store.transaction():
        assert store.revoke() == 2
        assert store.revoke() == 0
    assert store.tickets(["m1", "m2"]) == {"m1": TicketRow(100.5, True), "m2": TicketRow(0.0, False)}


def test_people_are_counted_by_their_tickets(store: Store) -> None:
    assert store.people() == []
    with store.transaction():
        store.add_tickets(["a"], "", 1.0)
        for person in ("p", "q", "r"):
            store.add_tickets([person], person, 1.0)
        store.add_tickets(["p2", "p3"], "p", 1.0)
    assert store.issued("p") == 3
    assert store.issued("nobody") == 0
    assert store.people() == [(0, 1), (1, 2), (3, 1)]


def test_one_open_block_is_replaced_as_a_whole(store: Store) -> None:
    assert store.open_block() is None
    with store.transaction():
        store.set_open(BLOCK)
    assert store.open_block() == BLOCK
    with store.transaction():
        store.add_sums(5, "[7]", 11.0)
    assert store.open_block() == BLOCK._replace(reports=5, sums="[7]", seen=11.0)
    with store.transaction():
        store.set_open(BLOCK._replace(block=4, deadline=None))
    assert store.open_block() == BLOCK._replace(block=4, deadline=None)
    with store.transaction():
        store.set_open(None)
    assert store.open_block() is None


def test_assignments_and_releases_keep_their_order(store: Store) -> None:
    made = [AssignmentRow(f"id-{k}", k // 2, k, f'{{"k": {k}}}') for k in (2, 0, 1)]
    with store.transaction():
        for row in made:
            store.add_assignment(row)
        for block in (1, 0, 2):
            store.add_release(block, f"r{block}")
    assert store.assignments() == made
    assert store.releases() == ["r0", "r1", "r2"]


def test_the_ledger_is_chained(store: Store) -> None:
    last = None
    with store.transaction():
        for k in range(3):
            last = chained(last, 10.1 + k, "kind", {"k": k, "float": 0.1})
            store.append(last)
    entries = store.ledger()
    assert entries[-1] == last
    assert broken_links(entries) == []
    assert broken_links([entries[0], entries[2]]) != []
    assert broken_links([entries[0], entries[1]._replace(body='{"k": 9}'), entries[2]]) != []
    assert broken_links([entries[0], entries[1]._replace(at=0.0), entries[2]]) != []


def test_a_transaction_that_fails_leaves_nothing(durable_url: str) -> None:
    store = open_store(durable_url)

    def fail() -> None:
        with store.transaction():
            store.put("a", "1")
            store.add_reports(rows("a"))
            store.set_open(BLOCK)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert store.get("a") is None
    assert store.reports(["a"]) == {}
    assert store.open_block() is None
    store.close()


def test_what_was_committed_is_there_after_a_restart(durable_url: str) -> None:
    store = open_store(durable_url)
    with store.transaction():
        store.put("a", "1")
        store.add_reports(rows("a", "b"))
        store.set_open(BLOCK)
    store.close()
    again = open_store(durable_url)
    assert again.get("a") == "1"
    assert again.reports(["a", "b"]).keys() == {"a", "b"}
    assert again.open_block() == BLOCK
    assert again.problems() == []
    again.close()


def test_two_servers_do_not_share_a_store(durable_url: str) -> None:
    store = open_store(durable_url)
    with pytest.raises(StoreError, match="another server uses"):
        open_store(durable_url)
    reader = open_store(durable_url, serving=False, make=False)  # looking is allowed
    assert reader.releases() == []
    reader.close()
    store.close()
    open_store(durable_url).close()


def test_nothing_is_made_where_nothing_may_be_made(durable_url: str) -> None:
    with pytest.raises(StoreError, match=r"does not exist|holds no store"):
        open_store(durable_url, serving=False, make=False)
