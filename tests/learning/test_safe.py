"""--safe: whatever it returns costs no model of the belief more than was promised, and it is not needlessly timid."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from plants_for_tests import around, laplacian, straddling, toy, wide
from streams_for_tests import episodes

from hushloop.errors import InvalidInput
from hushloop.learning.belief import Belief
from hushloop.learning.plan import Plan
from hushloop.learning.planners.optimistic import optimistic
from hushloop.learning.planners.relaxed import never_clips, worst_cost
from hushloop.learning.planners.safe import baseline_gains, safe
from hushloop.lq import Plant, idle_gains, optimal_gains, policy_cost, split, stage_costs


def bold_plan(plant: Plant, belief: Belief, excitation: float) -> Plan:
    return replace(optimistic(plant.problem, belief, certify=False), excitation=excitation)


@pytest.mark.parametrize("plant", [toy(), wide()], ids=lambda plant: plant.name)
@pytest.mark.parametrize("size", [0.02, 0.2, 0.6])
@pytest.mark.parametrize("tau", [0.0, 0.1])
def test_no_model_of_the_belief_pays_more_than_promised(plant: Plant, size: float, tau: float) -> None:
    pr = plant.problem
    for make in (around, straddling):
        belief = make(plant, size)
        plan = safe(pr, belief, bold_plan(plant, belief, 0.4), tau)
        base = worst_cost(pr, belief, idle_gains(pr))
        if not math.isfinite(base):
            assert plan.failed
            assert not plan.gains.any()
            continue
        assert plan.upper_bound is not None
        assert plan.upper_bound <= (1 + tau) * base
        assert never_clips(pr, belief, plan.gains, plan.excitation)
        for Theta in belief.sample(100, np.random.default_rng(0)):
            cost = policy_cost(pr, *split(Theta), plan.gains, excitation=plan.excitation)
            assert cost <= plan.upper_bound


def test_the_clipped_controller_costs_what_the_linear_one_does() -> None:
    """On a model of the belief, by simulation: no step clips, and the mean cost is below the certificate."""
    plant = toy()
    belief = around(plant, 0.05)
    plan = safe(plant.problem, belief, bold_plan(plant, belief, 0.2), 0.1)
    assert plan.upper_bound is not None
    states, controls = episodes(plant, plan.gains, plan.excitation, 4000, np.random.default_rng(0))
    assert np.linalg.norm(controls, axis=2).max() < plant.problem.control_bound * (1 - 1e-9)
    costs = np.array([stage_costs(plant.problem, x, u).sum() for x, u in zip(states, controls, strict=True)])
    assert costs.mean() - 6 * costs.std() / math.sqrt(4000) < plan.upper_bound


def test_a_plan_that_is_certified_passes_unchanged() -> None:
    plant = toy()
    belief = around(plant, 0.01)
    plan = optimistic(plant.problem, belief)
    checked = safe(plant.problem, belief, plan, 0.0)
    assert np.array_equal(checked.gains, plan.gains)
    assert checked.upper_bound is not None
    assert checked.upper_bound < worst_cost(plant.problem, belief, idle_gains(plant.problem))
    assert checked.note == ""


def test_what_fails_is_moved_towards_the_baseline_and_said() -> None:
    plant = toy()
    belief = around(plant, 0.15)
    wild = replace(optimistic(plant.problem, belief), gains=np.full((5, 1, 2), -4.0), excitation=0.3)
    plan = safe(plant.problem, belief, wild, 0.02)
    assert np.abs(plan.gains).max() < 4.0
    assert "safe" in plan.note
    assert plan.gap is None


def test_bounded_excitation_when_nothing_bolder_is_certified() -> None:
    plant = toy()
    pr = plant.problem
    belief = around(plant, 0.1)
    harmful = Plan(np.full((5, 1, 2), 40.0), plant.Theta, 0.0, excitation=1.4)
    plan = safe(pr, belief, harmful, 0.05)
    assert not plan.gains.any()
    assert 0.05 < plan.excitation < 1.4
    limit = 1.05 * worst_cost(pr, belief, idle_gains(pr))
    assert worst_cost(pr, belief, plan.gains, plan.excitation) <= limit
    assert worst_cost(pr, belief, plan.gains, plan.excitation * 1.01) > limit


def test_the_nominal_controller_as_baseline() -> None:
    plant = toy()
    informed = Plant(plant.problem.with_(nominal=0.9 * plant.Theta, radius=0.3, operator_radius=0.3), plant.A, plant.B)
    pr = informed.problem
    belief = Belief.ball(pr.nominal, 0.1)
    expected = optimal_gains(pr, pr.nominal_A, pr.nominal_B)
    np.testing.assert_array_equal(baseline_gains(pr, "nominal"), expected)
    harmful = Plan(np.full((5, 1, 2), 40.0), plant.Theta, 0.0)
    np.testing.assert_allclose(safe(pr, belief, harmful, 0.0, "nominal").gains, expected)


def test_a_baseline_that_cannot_be_certified_runs_and_says_so() -> None:
    """The nominal controller may clip on this belief; u = 0 never does."""
    plant = laplacian()
    pr = plant.problem.with_(nominal=plant.Theta, control_bound=0.3)
    belief = Belief.ball(pr.nominal, 0.1)
    bold = Plan(np.ones((10, 3, 3)), plant.Theta, 0.0, excitation=0.1)
    plan = safe(pr, belief, bold, 0.1, "nominal")
    assert plan.failed
    assert plan.excitation == 0.0
    np.testing.assert_array_equal(plan.gains, baseline_gains(pr, "nominal"))
    assert "cannot be certified" in plan.note
    assert not safe(pr, belief, bold, 0.1).failed


@pytest.mark.parametrize("tau", [-0.1, math.nan, math.inf])
def test_a_tau_without_meaning_is_refused(tau: float) -> None:
    plant = toy()
    with pytest.raises(InvalidInput, match="safe"):
        safe(plant.problem, around(plant, 0.1), Plan(np.zeros((5, 1, 2)), plant.Theta, 0.0), tau)
    with pytest.raises(InvalidInput, match="baseline"):
        baseline_gains(plant.problem, "best")  # type: ignore[arg-type]
