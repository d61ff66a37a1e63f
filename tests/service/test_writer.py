"""Group commit: what waits is committed together, in order, and answered even when the server stops."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
from curators_for_tests import assignment, curator, deployment, episode, incoming, tickets, wire

from hushloop.service import refusals
from hushloop.service.curator import Curator
from hushloop.service.judge import Incoming
from hushloop.service.protocol import TicketRequest
from hushloop.service.writer import Writer


def reports(served: Curator, count: int) -> list[Incoming]:
    rng, now = np.random.default_rng(0), assignment(served)
    return [incoming(served, wire(episode(now, rng)), ticket) for ticket in tickets(served, count)]


def burst(served: Curator, batch: list[Incoming], largest: int = 512) -> tuple[list[Any], Any]:
    """All at once, and the server stops at the same moment; then one more."""

    async def play() -> tuple[list[Any], Any]:
        writer = Writer(served, largest)
        writer.start()
        waiting = [writer.report(item) for item in batch]
        await writer.stop()
        return [await future for future in waiting], (
            await writer.report(batch[0]),
            await writer.issue(TicketRequest()),
        )

    return asyncio.run(play())


def test_what_waits_when_the_server_stops_is_answered_and_nothing_after_it(tmp_path: Path) -> None:
    served = curator(tmp_path)
    answers, late = burst(served, reports(served, 5))
    assert [answer.accepted for answer in answers] == [True] * 5
    assert late == (refusals.STOPPING, refusals.STOPPING)
    assert served.block is not None
    assert served.block.count == 5
    served.close()


def test_a_burst_is_a_few_commits(tmp_path: Path, monkeypatch: Any) -> None:
    served = curator(tmp_path, deployment(first=1000))
    batch = reports(served, 100)
    sizes: list[int] = []
    take = served.take
    monkeypatch.setattr(served, "take", lambda group: sizes.append(len(group)) or take(group))
    answers, _ = burst(served, batch, largest=40)
    assert all(answer.accepted for answer in answers)
    assert sum(sizes) == 100
    assert max(sizes) <= 40
    assert len(sizes) <= 10, "the event loop had queued all of them before the first commit was done"
    served.close()


def test_what_comes_after_the_last_of_a_block_meets_the_next_one(tmp_path: Path) -> None:
    served = curator(tmp_path, deployment(first=8))
    answers, _ = burst(served, reports(served, 12))
    assert [getattr(answer, "accepted", False) for answer in answers] == [True] * 8 + [False] * 4
    assert answers[8:] == [refusals.SUPERSEDED] * 4
    assert served.published.release_count == 1
    served.close()


def test_a_deadline_comes_without_any_report(tmp_path: Path) -> None:
    from curators_for_tests import Wall, fill

    wall = Wall()
    served = curator(tmp_path, deployment(deadline=60.0), wall=wall)
    fill(served, 3)

    async def wait() -> None:
        writer = Writer(served)
        writer.start()
        wall.now += 61
        for _ in range(2000):
            if served.published.release_count:
                break
            await asyncio.sleep(0.01)
        await writer.stop()

    asyncio.run(wait())
    assert served.published.release_count == 1
    served.close()
