"""The dashboard learns nothing but releases, and from them exactly what the curator has learned."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from curators_for_tests import TOY, curator, deployment, fill, tickets

from hushloop.device import Assignment
from hushloop.lq import gallery, idle_gains, optimal_cost, policy_cost, split
from hushloop.privacy.noise import SeededNoise
from hushloop.service.block import release_out
from hushloop.service.dashboard.board import Board
from hushloop.service.dashboard.history import History
from hushloop.service.dashboard.view import EPISODES, physical, runs, simulate
from hushloop.service.deployment import Deployment
from hushloop.service.protocol import ReleaseOut, ReleasesAnswer
from hushloop.simulation.play import play, sums_of


def learned(what: Deployment, blocks: int) -> tuple[Any, list[ReleaseOut]]:
    """The agent after so many blocks of simulated users, and what it has published, through JSON."""
    agent, out, users = what.fresh_agent(SeededNoise(1)), [], 0
    plant = gallery.get(what.problem.name)
    for _ in range(blocks):
        assignment, room = agent.assignment(), agent.room
        agent.receive_sums(sums_of(play(plant, assignment, 1, users, room)))
        users += room
        out.append(release_out(agent.release, assignment.id))
    text = msgspec.json.encode(ReleasesAnswer(out))
    return agent, msgspec.json.decode(text, type=ReleasesAnswer).releases


def test_releases_alone_bring_back_the_agents_knowledge_to_the_last_bit() -> None:
    what = deployment(first=500)
    agent, releases = learned(what, 5)
    history = History(what)
    history.extend(releases[:2])
    history.extend(releases)  # what was learned is not learned again
    assert len(history.points) == 6
    last = history.points[-1]
    assert np.array_equal(last.knowledge.belief.center, agent.knowledge.belief.center)
    assert np.array_equal(last.knowledge.belief.shape, agent.knowledge.belief.shape)
    assert np.array_equal(last.knowledge.estimate.mean, agent.knowledge.estimate.mean)
    assert np.array_equal(last.gains, agent.assignment().controller.gains)
    assert last.excitation == agent.assignment().controller.excitation
    assert [p.knowledge.users for p in history.points] == [0, 500, 1500, 3500, 7500, 15500]


def test_costs_are_those_of_the_estimate_and_certified_ones_hold() -> None:
    what = deployment(first=500)
    history = History(what)
    history.extend(learned(what, 7)[1])
    last, truth = history.points[-1], split(TOY.Theta)
    A, B = split(last.knowledge.estimate.mean)
    assert last.learner.expected == policy_cost(TOY.problem, A, B, last.gains, excitation=last.excitation)
    assert last.idle.expected == policy_cost(TOY.problem, A, B, idle_gains(TOY.problem))
    assert last.nominal.expected == last.idle.expected, "the nominal model of toy is zero: its controller idles"
    for p in history.points:
        assert p.least <= optimal_cost(TOY.problem, *truth)
        assert policy_cost(TOY.problem, *truth, p.gains, excitation=p.excitation) <= p.learner.most
        assert TOY.idle_cost <= p.idle.most
    assert math.isfinite(last.learner.most)


def test_after_the_last_user_the_last_controller_stays() -> None:
    what = deployment(first=100, users=300)
    agent, releases = learned(what, 2)
    assert agent.finished
    history = History(what)
    history.extend(releases)
    assert np.array_equal(history.points[2].gains, history.points[1].gains)
    assert history.points[2].knowledge.users == 300


def test_the_last_point_is_of_what_is_served() -> None:
    history = History(deployment(first=100))
    served = history.first.__class__(np.full((5, 1, 2), -0.3), 1.5)
    (point,) = history.with_served(served)
    assert point.learner.expected == policy_cost(TOY.problem, *split(TOY.problem.nominal), served.gains)
    assert history.points[0].learner.expected != point.learner.expected


def test_a_view_of_a_running_curator_does_not_move_with_the_open_block(tmp_path: Path) -> None:
    """Two reports into an open block change nothing that is shown; the release does."""
    found = curator(tmp_path, deployment(first=4))
    try:
        board = Board(found.parts.deployment, found.first_size)
        tickets(found, 1)  # from now on the statement's unit is the ticket
        before = board._make(found.published, "ok")
        fill(found, 2)
        assert board._make(found.published, "ok").etag == before.etag
        fill(found, 2)
        after = board.view(found.published, "ok")
    finally:
        found.close()
    assert (after.users, len(after.releases), after.block_users) == (4, 1, 8)
    assert Assignment.from_json(found.published.assignment).controller.excitation == after.points[-1].excitation
    assert json.loads(found.published.assignment)["closes"]["users"] == after.block_users


@pytest.mark.parametrize("name", ["toy", "two-zone-heating"])
def test_episodes_are_simulated_in_the_plants_units_within_its_limits(name: str) -> None:
    problem = gallery.get(name).problem
    what = deployment()
    what = Deployment(problem, what.budget, first=64)
    first = History(what).first
    made = runs(problem, gallery.get(name).Theta, first, first)
    assert len(made) == problem.n + problem.d
    for run in made:
        assert np.array_equal(run.before, run.now), "the same controller on the same draws"
        assert (run.now[1] <= run.now[2]).all()
    X = simulate(problem, gallery.get(name).Theta, first)
    assert X[0].shape == (EPISODES, problem.horizon + 1)
    assert X[-1].shape == (EPISODES, problem.horizon)
    if problem.units is not None:
        center = physical(problem.start.center[None, :, None], problem.units.state_scale, problem.units.state_setpoint)
        reach = problem.units.state_scale * problem.start.radius
        assert (np.abs([x[:, 0] - c for x, c in zip(X, center[0, :, 0], strict=False)]) <= reach[:, None] + 1e-9).all()
