"""Thompson sampling plans for a model of the belief, drawn afresh from the generator it is given."""

from __future__ import annotations

import numpy as np
import pytest
from plants_for_tests import around, toy

from hushloop.learning.belief import Belief
from hushloop.learning.planners.thompson import thompson
from hushloop.lq import optimal_cost, optimal_gains, split


def test_the_plan_is_optimal_for_a_model_of_the_belief() -> None:
    plant = toy()
    belief = around(plant, 0.3)
    rng = np.random.default_rng(0)
    plans = [thompson(plant.problem, belief, rng) for _ in range(20)]
    for plan in plans:
        assert belief.contains(plan.Theta)
        A, B = split(plan.Theta)
        np.testing.assert_allclose(plan.gains, optimal_gains(plant.problem, A, B), atol=1e-12)
        assert plan.value == pytest.approx(optimal_cost(plant.problem, A, B))
    assert len({float(plan.value) for plan in plans}) == 20


def test_the_same_seed_gives_the_same_plan() -> None:
    plant = toy()
    one, two = (thompson(plant.problem, around(plant, 0.3), np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(one.gains, two.gains)


def test_a_belief_far_wider_than_the_ball_still_gives_a_model_inside() -> None:
    plant = toy()
    belief = Belief(np.zeros((3, 2)), 1e4 * np.eye(3), np.zeros((3, 2)), 1.0)
    plan = thompson(plant.problem, belief, np.random.default_rng(0))
    assert np.linalg.norm(plan.Theta) <= 1 + 1e-9


def test_an_empty_belief_is_a_failed_plan() -> None:
    belief = Belief(np.full((3, 2), 5.0), 0.1 * np.eye(3), np.zeros((3, 2)), 1.0)
    plan = thompson(toy().problem, belief, np.random.default_rng(0))
    assert plan.failed
    assert not plan.gains.any()
