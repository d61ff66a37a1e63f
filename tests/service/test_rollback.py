"""An old copy of a store: refused at the start, locked by a device that knows better, and the charged way on."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from curators_for_tests import assignment, curator, deployment, episode, fill, send, tickets, wire

from hushloop.errors import HushloopError
from hushloop.privacy.noise import ExactNoise
from hushloop.service import refusals
from hushloop.service.chain import Place, make_id
from hushloop.service.curator import Curator
from hushloop.service.declared import declared
from hushloop.service.highwater import HighWater, RolledBackError
from hushloop.service.inspection import check_store, spending
from hushloop.service.judge import Answer
from hushloop.service.opening import acknowledge_restore
from hushloop.service.protocol import ReportAnswer, ReportIn
from hushloop.service.refusals import RefusedError
from hushloop.service.store import open_store


def start(folder: Path) -> Curator:
    return curator(folder, source=ExactNoise())


def old_copy(folder: Path, users: int = 8) -> tuple[str, list[str]]:
    """A backup is made, life goes on for so many users, the backup comes back: an id of the lost time, and tickets."""
    served = start(folder)
    kept = tickets(served, 4)
    fill(served, 3)
    served.parts.store.backup(str(folder / "backup.db"))
    fill(served, users)
    lost = assignment(served).id
    served.close()
    shutil.copy(folder / "backup.db", folder / "hush.db")
    return lost, kept


def drawn(served: Curator) -> object:
    assert served.block is not None
    return json.loads(served.block.snapshot)["mechanism"]["block"]["noise"]


def send_zeros(served: Curator, assignment_id: str, ticket: str) -> Answer:
    return send(served, ReportIn("z" + ticket[:12] + assignment_id[-8:], assignment_id, [0] * 6, [0] * 6), ticket)


def test_an_old_copy_does_not_start(tmp_path: Path) -> None:
    old_copy(tmp_path)
    with pytest.raises(RolledBackError, match="noise twice"):
        start(tmp_path)


def test_without_the_mark_it_does_not_start_either(tmp_path: Path) -> None:
    old_copy(tmp_path)
    (tmp_path / "highwater").unlink()
    with pytest.raises(RolledBackError, match="is missing"):
        start(tmp_path)


def test_a_new_store_under_an_old_mark_is_refused(tmp_path: Path) -> None:
    start(tmp_path).close()
    (tmp_path / "hush.db").unlink()
    with pytest.raises(HushloopError, match="belongs to another store"):
        start(tmp_path)


def test_where_the_mark_was_restored_too_a_device_locks_the_server_for_good(tmp_path: Path) -> None:
    lost, kept = old_copy(tmp_path)
    (tmp_path / "highwater").write_text('{"epoch": 0, "index": 0}')
    served = start(tmp_path)
    assert send_zeros(served, lost, "") is refusals.ROLLED_BACK
    assert served.block is not None
    assert served.block.count == 3
    current = assignment(served).id
    assert send_zeros(served, current, kept[0]) is refusals.ROLLED_BACK
    with pytest.raises(RefusedError, match="older than"):
        tickets(served, 1)
    served.tend()
    assert served.published.release_count == 0
    served.close()
    with pytest.raises(RolledBackError):
        start(tmp_path)


def test_a_fork_of_the_same_block_is_noticed_too(tmp_path: Path) -> None:
    """Two copies that both went on: the same block, another history before it."""
    served = start(tmp_path)
    fill(served, 8)
    other = make_id(served.parts.secret.value, Place(0, 1), "some other first block")
    assert send_zeros(served, other, "") is refusals.ROLLED_BACK
    served.close()
    with pytest.raises(RolledBackError):
        start(tmp_path)


def test_a_forged_newer_id_locks_nothing(tmp_path: Path) -> None:
    served = start(tmp_path)
    assert send_zeros(served, make_id(b"x" * 32, Place(0, 9), ""), "") is refusals.FORGED
    assert served.lock is None
    served.close()


def test_the_way_on_gives_up_the_block_its_noise_and_the_tickets_and_charges(tmp_path: Path) -> None:
    lost, kept = old_copy(tmp_path)
    store = open_store(f"sqlite:///{tmp_path}/hush.db")
    found = store.open_block()
    assert found is not None
    noise = json.loads(found.snapshot)["mechanism"]["block"]["noise"]
    old = store.assignments()[-1].id
    facts = acknowledge_restore(store, HighWater(tmp_path / "highwater"), 0.0)
    assert facts == {"restores": 1, "abandoned_block": 0, "highest_published": 1, "revoked_tickets": 4}
    store.close()
    served = start(tmp_path)
    assert drawn(served) != noise, "noise of an abandoned block was used again"
    assert served.block is not None
    assert (served.block.count, served.place) == (0, Place(1, 0))
    rng = np.random.default_rng(5)
    for stale in (old, lost):
        (ticket,) = tickets(served, 1)
        assert send_zeros(served, stale, ticket) is refusals.SUPERSEDED, "whoever ran a lost block runs again"
        assert isinstance(send(served, wire(episode(assignment(served), rng)), ticket), ReportAnswer)
    assert send_zeros(served, assignment(served).id, kept[0]) is refusals.TICKET_EXPIRED
    text = declared(served.parts.deployment, served.published, 8).markdown()
    assert "restored from an old copy 1 time" in text
    assert "2 times in all" in text
    fill(served, 20)
    result = check_store(served.parts.store, tmp_path / "highwater")
    assert result["ok"], result
    assert spending(served.parts.store)["restores"] == 1
    served.close()
    again = start(tmp_path)
    assert again.published.restores == 1
    again.close()


def test_a_crash_in_the_middle_of_the_way_on_uses_no_noise_twice(tmp_path: Path) -> None:
    old_copy(tmp_path)
    store = open_store(f"sqlite:///{tmp_path}/hush.db")
    acknowledge_restore(store, HighWater(tmp_path / "other-mark"), 0.0)  # the mark itself was not written
    store.close()
    served = start(tmp_path)
    first = drawn(served)
    served.close()
    served = start(tmp_path)
    assert drawn(served) == first
    served.close()


def test_the_charge_is_never_forgotten_by_restoring_once_more(tmp_path: Path) -> None:
    old_copy(tmp_path)
    for times in (1, 2):
        shutil.copy(tmp_path / "backup.db", tmp_path / "hush.db")
        for beside in ("hush.db-wal", "hush.db-shm"):
            (tmp_path / beside).unlink(missing_ok=True)
        store = open_store(f"sqlite:///{tmp_path}/hush.db")
        assert acknowledge_restore(store, HighWater(tmp_path / "highwater"), 0.0)["restores"] == times
        store.close()
        served = start(tmp_path)
        fill(served, 8)
        assert served.published.restores == times
        served.close()


def test_a_finished_deployment_can_be_restored_as_well(tmp_path: Path) -> None:
    what = deployment(users=8)
    served = curator(tmp_path, what)
    fill(served, 8)
    store = served.parts.store
    acknowledge_restore(store, HighWater(tmp_path / "highwater"), 0.0)
    served.close()
    served = curator(tmp_path, what)
    assert served.published.finished
    assert served.published.restores == 1
    served.close()
