"""The writer: what is counted, what is refused, and when a block ends."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from curators_for_tests import (
    Recorded,
    Wall,
    assignment,
    curator,
    deployment,
    episode,
    fill,
    incoming,
    send,
    tickets,
    wire,
)

from hushloop.errors import HushloopError
from hushloop.privacy.budget import Budget
from hushloop.service import refusals
from hushloop.service.protocol import ReportAnswer, ReportIn
from hushloop.service.refusals import RefusedError


def test_a_report_again_gets_its_stored_answer_for_ever(tmp_path: Path) -> None:
    served = curator(tmp_path)
    (ticket,) = tickets(served, 1)
    report = wire(episode(assignment(served), np.random.default_rng(0)))
    first = send(served, report, ticket)
    assert first == ReportAnswer(report.report_id, report.assignment_id, True, False, False)
    again = ReportAnswer(report.report_id, report.assignment_id, True, False, True)
    assert send(served, report, ticket) == again
    assert send(served, report, "") == again
    fill(served, 40)  # its block is long closed
    assert send(served, report, "") == again
    served.close()
    served = curator(tmp_path)
    assert send(served, report, ticket) == again
    served.close()


def test_twice_in_one_group_counts_once(tmp_path: Path) -> None:
    served = curator(tmp_path)
    one, other = tickets(served, 2)
    report = wire(episode(assignment(served), np.random.default_rng(0)))
    answers = served.take([incoming(served, report, t) for t in (one, other, one)])
    assert [a.repeated for a in answers] == [False, True, True]
    assert served.block is not None
    assert served.block.count == 1
    rest = ReportIn("another", report.assignment_id, report.S, report.C)
    assert isinstance(send(served, rest, other), ReportAnswer), "the second ticket was spent on a repetition"
    served.close()


def test_one_ticket_carries_one_report_even_within_a_group(tmp_path: Path) -> None:
    served = curator(tmp_path)
    (ticket,) = tickets(served, 1)
    rng = np.random.default_rng(0)
    pair = [incoming(served, wire(episode(assignment(served), rng)), ticket) for _ in range(2)]
    assert [type(a) for a in served.take(pair)] == [ReportAnswer, refusals.Refusal]
    assert served.take(pair[1:]) == [refusals.TICKET_SPENT]
    served.close()


def test_other_content_under_a_counted_id_is_a_conflict(tmp_path: Path) -> None:
    served = curator(tmp_path)
    one, other = tickets(served, 2)
    report = wire(episode(assignment(served), np.random.default_rng(0)))
    send(served, report, one)
    changed = ReportIn(report.report_id, report.assignment_id, [*report.S[:-1], report.S[-1] + 1], report.C)
    assert send(served, changed, other) is refusals.CONFLICT
    assert served.parts.store.tickets([served.parts.secret.ticket_mark(other)]).popitem()[1].spent is False
    served.close()


def test_a_report_of_a_closed_block_is_turned_away_and_its_ticket_stays_good(tmp_path: Path) -> None:
    served = curator(tmp_path)
    rng = np.random.default_rng(0)
    late = episode(assignment(served), rng)
    (ticket,) = tickets(served, 1)
    fill(served, 8)
    assert send(served, wire(late), ticket) is refusals.SUPERSEDED
    assert isinstance(send(served, wire(episode(assignment(served), rng)), ticket), ReportAnswer)
    served.close()


def test_a_group_that_fills_the_block_leaves_its_rest_to_the_next(tmp_path: Path) -> None:
    served = curator(tmp_path)
    rng = np.random.default_rng(0)
    batch = [incoming(served, wire(episode(assignment(served), rng)), t) for t in tickets(served, 12)]
    assert [type(a) for a in served.take(batch)] == [ReportAnswer] * 8
    assert served.take(batch[8:]) == [refusals.SUPERSEDED] * 4
    assert served.published.release_count == 1
    served.close()


def test_beyond_its_bounds_a_report_counts_as_zeros_and_its_sender_is_told(tmp_path: Path) -> None:
    served = curator(tmp_path)
    (ticket,) = tickets(served, 1)
    report = ReportIn("huge", assignment(served).id, [2**62, 0, 0, 0, 0, 0], [0] * 6)
    answer = send(served, report, ticket)
    assert isinstance(answer, ReportAnswer)
    assert (answer.accepted, answer.zeros) == (True, True)
    assert served.block is not None
    assert (served.block.count, served.block.sums) == (1, [0] * 12)
    assert send(served, ReportIn("b", report.assignment_id, report.S, report.C), ticket) is refusals.TICKET_SPENT
    repeated = send(served, report, "")
    assert isinstance(repeated, ReportAnswer)
    assert repeated.zeros
    served.close()


@pytest.mark.parametrize("bad", ["", "0-0-0-0", "block-0"])
def test_a_forged_assignment_spends_nothing(tmp_path: Path, bad: str) -> None:
    served = curator(tmp_path)
    (ticket,) = tickets(served, 1)
    assert (
        send(served, ReportIn("a", bad or assignment(served).id[:-1] + "g", [0] * 6, [0] * 6), ticket)
        is refusals.FORGED
    )
    assert isinstance(send(served, ReportIn("a", assignment(served).id, [0] * 6, [0] * 6), ticket), ReportAnswer)
    served.close()


def test_tickets_that_are_missing_unknown_or_too_old(tmp_path: Path) -> None:
    wall = Wall()
    served = curator(tmp_path, wall=wall)
    report = wire(episode(assignment(served), np.random.default_rng(0)))
    (ticket,) = tickets(served, 1, lifetime=60)
    assert send(served, report, "") is refusals.TICKET_MISSING
    assert send(served, report, "f" * 48) is refusals.TICKET_UNKNOWN
    assert send(served, report, ticket[:-1]) is refusals.TICKET_UNKNOWN
    wall.now += 61
    assert send(served, report, ticket) is refusals.TICKET_EXPIRED
    wall.now -= 1000
    assert send(served, report, ticket) is refusals.TICKET_EXPIRED, "a clock that went back made an old ticket good"
    assert served.block is not None
    assert served.block.count == 0
    served.close()


def test_no_person_gets_more_than_p_tickets_ever(tmp_path: Path) -> None:
    wall = Wall()
    served = curator(tmp_path, deployment(budget=Budget(1.0, 1e-6, participations=3)), wall=wall)
    tickets(served, 2, "ann", lifetime=1)
    wall.now += 100  # an expired ticket still counts: it may have been used
    with pytest.raises(RefusedError, match="at most 3 reports, ever: 1 more"):
        tickets(served, 2, "ann")
    tickets(served, 1, "ann")
    with pytest.raises(RefusedError, match="0 more"):
        tickets(served, 1, "ann")
    assert len(tickets(served, 3, "bob")) == 3
    assert not served.published.anonymous
    tickets(served, 1)
    assert served.published.anonymous
    served.close()


def test_after_user_k_nothing_is_counted_and_the_controller_stays(tmp_path: Path) -> None:
    served = curator(tmp_path, deployment(users=20))
    sent = fill(served, 20)
    last = served.published
    assert last.finished
    assert last.users == 20
    assert [r["users"] for r in json.loads(last.releases)["releases"]] == [8, 12]
    assert json.loads(last.assignment)["closes"] is None
    fresh = ReportIn("fresh", assignment(served).id, [0] * 6, [0] * 6)
    assert send(served, fresh, "f" * 48) is refusals.FINISHED
    repeated = send(served, wire(sent[0]), "")
    assert isinstance(repeated, ReportAnswer)
    with pytest.raises(RefusedError, match="last user"):
        tickets(served, 1)
    served.close()
    served = curator(tmp_path, deployment(users=20))
    assert served.published == last
    served.close()


def test_a_deadline_closes_a_block_that_is_not_full(tmp_path: Path) -> None:
    wall = Wall()
    served = curator(tmp_path, deployment(deadline=100.0), wall=wall)
    assert json.loads(served.published.assignment)["closes"] == {"users": 8, "deadline": wall.now + 100}
    fill(served, 3)
    wall.now += 99
    served.tend()
    assert served.published.release_count == 0
    wall.now += 1
    served.tend()
    (release,) = json.loads(served.published.releases)["releases"]
    assert (release["users"], release["total_users"]) == (3, 3)
    assert served.published.deadline == wall.now + 100
    served.close()


def test_a_deadline_that_nobody_met_moves_on_with_the_same_noise(tmp_path: Path) -> None:
    wall = Wall()
    source = Recorded()
    served = curator(tmp_path, deployment(deadline=100.0), wall=wall, source=source)
    before, etag = assignment(served).id, served.published.etag
    wall.now += 250
    served.tend()
    assert served.published.release_count == 0
    assert served.published.deadline == wall.now + 50
    assert assignment(served).id == before
    assert served.published.etag != etag
    assert len(source.draws) == 1
    served.close()


def test_a_deadline_counts_from_what_the_store_has_seen(tmp_path: Path) -> None:
    wall = Wall()
    served = curator(tmp_path, deployment(deadline=100.0), wall=wall)
    fill(served, 3)
    served.close()
    wall.now -= 10_000  # the machine's clock went back while the server was down
    served = curator(tmp_path, deployment(deadline=100.0), wall=wall)
    assert served.parts.clock.lag > 0
    wall.now += 10_100
    served.tend()
    assert served.published.release_count == 1
    served.close()


def test_what_is_promised_cannot_change_under_way(tmp_path: Path) -> None:
    curator(tmp_path).close()
    for changed, key in (
        (deployment(budget=Budget(2.0, 1e-6)), "budget.epsilon"),
        (deployment(first=16), "first"),
        (deployment(users=100), "users"),
    ):
        with pytest.raises(HushloopError, match=f"made with {key} = "):
            curator(tmp_path, changed)
    curator(tmp_path).close()


def test_another_secret_file_is_refused(tmp_path: Path) -> None:
    curator(tmp_path).close()
    (tmp_path / "secret").unlink()
    with pytest.raises(HushloopError, match="bring it back"):
        curator(tmp_path)
    (tmp_path / "secret").write_text("0" * 64)
    (tmp_path / "secret").chmod(0o600)
    with pytest.raises(HushloopError, match="not the one that this store was made with"):
        curator(tmp_path)


def test_a_group_that_cannot_be_committed_counts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hushloop.service.store import StoreError

    served = curator(tmp_path)
    (ticket,) = tickets(served, 1)
    report = wire(episode(assignment(served), np.random.default_rng(0)))

    def full(*args: object) -> None:
        raise StoreError("no space", lasting=False)

    monkeypatch.setattr(served.parts.store, "add_sums", full)
    with pytest.raises(StoreError):
        send(served, report, ticket)
    assert served.block is not None
    assert (served.block.count, served.block.sums) == (0, [0] * 12)
    monkeypatch.undo()
    answer = send(served, report, ticket)
    assert isinstance(answer, ReportAnswer)
    assert not answer.repeated
    served.close()
