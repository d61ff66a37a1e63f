"""What the server publishes is what the agent and `simulate` compute, and a release is sums plus declared noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from curators_for_tests import (
    TOY,
    Recorded,
    assignment,
    curator,
    deployment,
    episode,
    fill,
    send,
    tickets,
    wire,
)

from hushloop.device import Report
from hushloop.device.report import GRID
from hushloop.privacy.budget import Budget
from hushloop.privacy.noise import ExactNoise
from hushloop.profiles import PROFILES, build
from hushloop.service.protocol import ReportAnswer, ReportIn


def same_but_ids(published: dict[str, Any], ours: dict[str, Any]) -> None:
    for key in ("controller", "collection"):
        assert published[key] == ours[key]


def test_assignments_and_releases_are_those_of_the_agent_for_the_same_reports_and_noise(tmp_path: Path) -> None:
    source = Recorded()
    served = curator(tmp_path, source=source)
    agent = build(
        TOY.problem, PROFILES["refined"].with_(first=8), Budget(1.0, 1e-6), source=Recorded(source.draws, True)
    )
    rng = np.random.default_rng(0)
    for ticket in tickets(served, 8 + 16 + 32 + 5):
        same_but_ids(json.loads(served.published.assignment), agent.assignment().to_dict())
        report = episode(assignment(served), rng)
        assert isinstance(send(served, wire(report), ticket), ReportAnswer)
        agent.receive(Report(report.S, report.C, agent.assignment_id, report.report_id))
        if agent.release is not None:
            last = json.loads(served.published.releases)["releases"][-1]
            assert last["T1"] == agent.release.T1.tolist()
            assert last["T2"] == agent.release.T2.tolist()
            assert last["users"] == agent.release.users
    assert agent.mechanism.index == served.published.release_count == 3
    served.close()


def test_assignments_are_those_of_simulate(tmp_path: Path) -> None:
    """The same people as `hushloop run` makes them, over the wire's integers, and the same seeded noise."""
    from hushloop.privacy.noise import SeededNoise
    from hushloop.simulation.reports import reports_of
    from hushloop.simulation.rows import play_seed

    agent = build(TOY.problem, PROFILES["refined"].with_(first=8), Budget(1.0, 1e-6), source=SeededNoise(5))
    list(play_seed(agent, TOY, 8 + 16 + 32, 3, threads=1))
    served = curator(tmp_path, source=SeededNoise(5))
    done, upper = 0, 6
    for size in (8, 16, 32):
        current = assignment(served)
        for entries, ticket in zip(
            reports_of(TOY, current, 3, done, size).tolist(), tickets(served, size), strict=True
        ):
            report = ReportIn(ticket[:30], current.id, entries[:upper], entries[upper:])
            assert isinstance(send(served, report, ticket), ReportAnswer)
        done += size
    assert served.published.release_count == 3
    same_but_ids(json.loads(served.published.assignment), agent.assignment().to_dict())
    served.close()


def test_a_restart_at_every_report_changes_nothing(tmp_path: Path) -> None:
    source = Recorded()
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    steady = curator(tmp_path / "a", source=source)
    restarted = curator(tmp_path / "b", source=Recorded(source.draws, True))
    rng = np.random.default_rng(0)
    for first, second in zip(tickets(steady, 30), tickets(restarted, 30), strict=True):
        report = episode(assignment(steady), rng)
        send(steady, wire(report), first)
        there = assignment(restarted).id
        send(restarted, ReportIn(report.report_id, there, report.S.tolist(), report.C.tolist()), second)
        restarted.close()
        restarted = curator(tmp_path / "b", source=Recorded(source.draws, True))
        same_but_ids(json.loads(restarted.published.assignment), json.loads(steady.published.assignment))
    assert restarted.published.release_count == steady.published.release_count == 2
    steady.close()
    restarted.close()


def test_a_release_is_the_sums_plus_noise_of_the_declared_size(tmp_path: Path) -> None:
    """Standard normal scores of exact noise: 12 entries in each of 40 first blocks; a score beyond 6 has p < 1e-6."""
    scores = []
    for k in range(40):
        (tmp_path / str(k)).mkdir()
        served = curator(tmp_path / str(k), deployment(first=2), source=ExactNoise())
        sent = fill(served, 2, k)
        release = json.loads(served.published.releases)["releases"][0]
        S, C = sum(r.S for r in sent) * GRID, sum(r.C for r in sent) * GRID
        T1, off = np.array(release["T1"]), ~np.eye(3, dtype=bool)[np.triu_indices(3)]
        scores += list((T1[np.triu_indices(3)] - S) / release["sigma_s"] * np.where(off, np.sqrt(2.0), 1.0))
        scores += list((np.array(release["T2"]).ravel() - C) / release["sigma_c"])
        served.close()
    z = np.array(scores)
    assert abs(z).max() < 6
    assert abs(z.mean()) * np.sqrt(z.size) < 5
    assert abs((z**2).mean() - 1) < 5 * np.sqrt(2 / z.size)
