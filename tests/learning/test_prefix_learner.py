"""Plans for each user's own start keep what was fixed, pass the guard, and draw what the block draws."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from plants_for_tests import toy, wide

from hushloop.learning.learner import Knowledge
from hushloop.learning.plan import Plan
from hushloop.lq import Problem
from hushloop.privacy import Budget
from hushloop.profiles import PROFILES, build
from hushloop.simulation.play import play, sums_of

OWN = np.array([0.1, -0.5])


def agent_of(plant, **changes):
    profile = PROFILES["ofu"].with_(first=8, growth=2.0, **changes)
    agent = build(plant.problem, profile, Budget(1.0), 64, seed=1)
    for _ in range(2):
        agent.receive_sums(sums_of(play(plant, agent.assignment(), 1, agent.knowledge.users, agent.room, threads=1)))
    return agent


def test_a_start_of_ones_own_gets_a_plan_of_its_own_even_where_the_law_is_a_point() -> None:
    seen = []

    def planner(problem: Problem, knowledge: Knowledge, seed: int) -> Plan:
        seen.append((problem.start.law, problem.start.center.tolist(), seed))
        return Plan(np.zeros((5, 1, 2)), knowledge.belief.center, 0.0)

    plant = toy()
    agent = agent_of(plant)
    agent.learner = dataclasses.replace(agent.learner, planner=planner)
    agent.assignment(OWN)
    assert [law for law, _, _ in seen] == ["fixed"]
    assert seen[0][1] == OWN.tolist()
    assert seen[0][2] == 1_000_003 + 2
    agent.assignment(plant.problem.start.center)  # whose plan is the block's
    agent.assignment()
    assert len(seen) == 1


@pytest.mark.parametrize("plant", [toy(), wide()], ids=["toy", "wide"])
def test_fixed_excitation_holds_for_every_start(plant) -> None:
    agent = agent_of(plant, excite=(0.3, 0.2, 0.1))
    assert agent.assignment().controller.excitation == 0.1
    assert agent.assignment(OWN).controller.excitation == 0.1


def test_the_guard_stands_before_every_start() -> None:
    agent = agent_of(wide(), safe=0.05, excite=(0.5,))
    for x1 in (None, OWN, np.array([0.6, -0.2])):
        plan = agent.order.plan if x1 is None else agent.learner.plan_for(agent.knowledge, agent.order, x1)
        assert plan.note.startswith("safe:") or plan.upper_bound is not None or plan.failed


def test_nothing_of_one_start_stays_for_the_next() -> None:
    agent = agent_of(wide())
    before = agent.assignment(OWN).controller.gains
    agent.assignment(np.array([0.65, -0.1]))
    np.testing.assert_array_equal(agent.assignment(OWN).controller.gains, before)


def test_a_certificate_is_for_the_start_it_was_asked_for() -> None:
    agent = agent_of(wide())
    plan = agent.learner.plan_for(agent.knowledge, agent.order, OWN)
    assert plan.value != agent.order.plan.value
