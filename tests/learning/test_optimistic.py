"""Optimism is global: held against grids, against hundreds of random starts, and against its own certificate."""

from __future__ import annotations

import numpy as np
import pytest
from plants_for_tests import around, laplacian, scalar, straddling, toy, wide

from hushloop.learning.belief import Array, Belief
from hushloop.learning.planners.optimistic import least_cost, optimistic
from hushloop.lq import Disturbance, Plant, Problem, Start, optimal_cost, optimal_gains, split
from hushloop.lq.batch import values


def grid_minimum(plant: Plant, belief: Belief, points: int = 1201) -> float:
    """Brute force for n = d = 1."""
    reach = float(belief.semi_axes[-1])
    axis = np.linspace(-reach, reach, points)
    Theta = belief.center + np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2, 1)
    inverse = np.linalg.inv(belief.shape)
    inside = np.sum((inverse @ (Theta - belief.center)) ** 2, axis=(1, 2)) <= 1
    inside &= np.linalg.norm((Theta - belief.ball_center)[..., 0], axis=1) <= belief.ball_radius
    return float(values(plant.problem, Theta[inside]).min())


@pytest.mark.parametrize("size", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("make", [around, straddling])
@pytest.mark.parametrize("horizon", [2, 4, 9])
def test_brute_force_on_scalar_systems(size: float, make: object, horizon: int) -> None:
    plant = scalar(horizon)
    belief = make(plant, size, 1)  # type: ignore[operator]
    plan = optimistic(plant.problem, belief)
    brute = grid_minimum(plant, belief)
    assert belief.contains(plan.Theta, 1e-8)
    assert plan.value <= brute * (1 + 1e-9)
    assert plan.value >= brute * (1 - 5e-3)  # the grid is that fine
    assert plan.lower_bound is not None
    assert plan.lower_bound <= plan.value


def long_search(plant: Plant, belief: Belief, count: int = 500) -> float:
    """The best of many descents from starts that the planner does not know."""
    models = belief.sample(count, np.random.default_rng(77))
    found = least_cost(plant.problem, belief, np.ascontiguousarray(models), starts=count, tolerance=1e-12)
    assert found is not None
    return found[1]


@pytest.mark.slow
@pytest.mark.parametrize("plant", [toy(), wide(), laplacian(), laplacian(1e-3)], ids=lambda plant: plant.name)
@pytest.mark.parametrize("size", [0.05, 0.2, 0.6, 2.0])
def test_never_above_the_best_of_500_random_starts(plant: Plant, size: float) -> None:
    for seed in range(4):
        belief = straddling(plant, size, seed)
        if belief.is_empty:
            continue
        best = long_search(plant, belief)
        for starts in (32, 8):
            plan = optimistic(plant.problem, belief, starts=starts, certify=False)
            assert plan.value <= best + 1e-4 * min(1.0, best), (seed, starts)


def test_a_mirrored_model_is_found_from_the_wrong_sign() -> None:
    """The belief holds both signs of B and the better one is not the centre's."""
    plant = scalar(6)
    belief = Belief(np.array([[0.8], [0.05]]), np.diag([0.02, 0.5]), np.array([[0.0], [-0.3]]), 0.95)
    plan = optimistic(plant.problem, belief, starts=4)
    assert plan.Theta[1, 0] < 0
    assert plan.value <= grid_minimum(plant, belief) * (1 + 1e-6)


def test_the_value_is_the_optimal_cost_of_its_model_and_the_gains_are_its_gains() -> None:
    plant = wide()
    plan = optimistic(plant.problem, around(plant, 0.2))
    A, B = split(plan.Theta)
    assert plan.value == pytest.approx(optimal_cost(plant.problem, A, B), rel=1e-12)
    np.testing.assert_allclose(plan.gains, optimal_gains(plant.problem, A, B), atol=1e-12)


def test_the_truth_never_beats_optimism_where_it_is_believed() -> None:
    for seed in range(10):
        plant = toy()
        belief = around(plant, 0.1, seed)
        assert belief.contains(plant.Theta)
        plan = optimistic(plant.problem, belief)
        assert plan.value <= plant.optimal_cost * (1 + 1e-9)


def test_zero_in_the_belief_means_do_nothing() -> None:
    plant = toy()
    plan = optimistic(plant.problem, Belief.ball(plant.problem.nominal, 1.0))
    assert not plan.gains.any()
    assert plan.gap == 0.0
    assert plan.value == pytest.approx(1.04, rel=1e-12)
    assert long_search(plant, Belief.ball(plant.problem.nominal, 1.0), 50) >= plan.value * (1 - 1e-12)


def test_the_same_belief_gives_the_same_bits() -> None:
    plant = laplacian()
    first = optimistic(plant.problem, around(plant, 0.1))
    second = optimistic(plant.problem, around(plant, 0.1))
    assert np.array_equal(first.Theta, second.Theta)
    assert first.value == second.value
    assert first.lower_bound == second.lower_bound


def test_a_warm_start_is_used_and_cannot_hurt() -> None:
    plant = laplacian()
    belief = straddling(plant, 0.2, 3)
    cold = optimistic(plant.problem, belief, certify=False)
    warm = optimistic(plant.problem, belief, warm=cold.Theta, starts=8, certify=False)
    assert warm.value <= cold.value * (1 + 1e-8)


def test_another_start_of_the_episode_changes_the_plan() -> None:
    plant = wide()
    belief = around(plant, 0.3)
    X1 = np.outer([0.0, 1.0], [0.0, 1.0])
    plan = optimistic(plant.problem, belief, X1=X1)
    assert plan.value == pytest.approx(optimal_cost(plant.problem, *split(plan.Theta), X1), rel=1e-12)
    assert plan.value < optimal_cost(plant.problem, *split(optimistic(plant.problem, belief).Theta), X1)


def problem_of(n: int, d: int, horizon: int) -> Problem:
    return Problem(
        "odd",
        np.eye(n),
        np.eye(d),
        horizon,
        Start("fixed", np.ones(n)),
        Disturbance("ball", 0.1, n),
        control_bound=2.0,
        response_bound=2.0,
    )


@pytest.mark.parametrize(("n", "d", "horizon"), [(1, 1, 1), (1, 4, 3), (2, 5, 2), (5, 1, 6), (5, 5, 3)])
@pytest.mark.parametrize("size", [1e-9, 0.1, 1e3])
def test_odd_shapes_and_sizes(n: int, d: int, horizon: int, size: float) -> None:
    rng = np.random.default_rng(0)
    problem = problem_of(n, d, horizon)
    center = rng.normal(size=(n + d, n))
    belief = Belief(center, size * np.eye(n + d), center * 0.9, 2.0)
    plan = optimistic(problem, belief)
    assert not plan.failed
    assert np.isfinite(plan.gains).all()
    assert belief.contains(plan.Theta, 1e-7)
    assert plan.lower_bound is not None
    assert plan.lower_bound <= plan.value * (1 + 1e-12)


def test_an_empty_belief_is_a_failed_plan_that_says_so() -> None:
    plant = toy()
    belief = Belief(np.full((3, 2), 5.0), 0.1 * np.eye(3), np.zeros((3, 2)), 1.0)
    plan = optimistic(plant.problem, belief)
    assert plan.failed
    assert "do not meet" in plan.note
    assert not plan.gains.any()


def test_a_collapsed_axis_is_allowed() -> None:
    plant = toy()
    shape: Array = np.diag([0.0, 0.1, 0.2])
    plan = optimistic(plant.problem, Belief(plant.Theta, shape, np.zeros((3, 2)), 1.0))
    assert not plan.failed
    np.testing.assert_allclose(plan.Theta[0], plant.Theta[0], atol=1e-12)
    assert plan.value <= plant.optimal_cost
