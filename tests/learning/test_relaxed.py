"""Certificates: sound against random and worst models of the belief, tight on small ones, and never_clips attacked."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from plants_for_tests import around, laplacian, scalar, straddling, toy, wide

from hushloop.learning.belief import Array, Belief
from hushloop.learning.planners.relaxed import (
    certified_interval,
    lower_bound,
    never_clips,
    relaxed,
    trivial_bound,
    upper_bound,
    worst_cost,
)
from hushloop.lq import Plant, Start, cost_gradient, optimal_cost, optimal_gains, policy_cost, split

PLANTS = [toy(), laplacian(), laplacian(1e-3), wide(), scalar(), scalar(1), scalar(2)]


def edge_models(belief: Belief, seed: int, count: int = 60) -> Array:
    """Models of the belief, most of them on its boundary."""
    rng = np.random.default_rng(seed)
    V = rng.normal(size=(count, *belief.center.shape))
    V /= np.linalg.norm(V.reshape(count, -1), axis=1)[:, None, None]
    return np.stack([belief.project(T) for T in belief.center + belief.shape @ V])


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.name}-{plant.problem.horizon}")
@pytest.mark.parametrize("size", [0.02, 0.2, 1.0])
def test_bounds_hold_for_every_model_of_the_belief(plant: Plant, size: float) -> None:
    pr = plant.problem
    for seed, make in enumerate((around, straddling)):
        belief = make(plant, size, seed)
        if belief.is_empty:
            continue
        K = optimal_gains(pr, *split(belief.center))
        D, U = lower_bound(pr, belief), upper_bound(pr, belief, K, 0.1)
        assert trivial_bound(pr) * (1 - 1e-8) <= D
        for Theta in edge_models(belief, seed):
            assert optimal_cost(pr, *split(Theta)) >= D
            assert policy_cost(pr, *split(Theta), K, excitation=0.1) <= U


def test_bounds_survive_an_attack_by_descent_and_ascent() -> None:
    """The extremes over the belief, sought by projected gradient (numerical for the fixed controller)."""
    plant = wide()
    pr, belief = plant.problem, around(wide(), 0.15)
    K = optimal_gains(pr, *split(belief.center))
    D, U = lower_bound(pr, belief), upper_bound(pr, belief, K)
    low, high = belief.center, belief.center
    for _ in range(150):
        low = belief.project(low - 0.2 * cost_gradient(pr, *split(low))[1])
        high = belief.project(high + 0.2 * _policy_gradient(plant, high, K))
    best, worst = optimal_cost(pr, *split(low)), policy_cost(pr, *split(high), K)
    assert D <= best <= 1.02 * D
    assert worst <= U <= 1.05 * worst


def _policy_gradient(plant: Plant, Theta: Array, K: Array) -> Array:
    out = np.zeros_like(Theta)
    for i in np.ndindex(Theta.shape):
        for sign in (1.0, -1.0):
            moved = Theta.copy()
            moved[i] += sign * 1e-6
            out[i] += sign * policy_cost(plant.problem, *split(moved), K) / 2e-6
    return out


@pytest.mark.parametrize("plant", PLANTS[:5], ids=lambda plant: plant.name)
def test_a_small_belief_is_bounded_tightly(plant: Plant) -> None:
    pr = plant.problem
    belief = around(plant, 1e-5, off=0.0, radius=50.0)
    low, high = certified_interval(replace_bounds(plant).problem, belief, optimal_gains(pr, *split(belief.center)))
    exact = plant.optimal_cost
    assert low <= exact <= high
    assert high - low < 0.02 * exact


def replace_bounds(plant: Plant) -> Plant:
    return replace(plant, problem=plant.problem.with_(control_bound=50.0))


def test_many_multipliers_beat_one() -> None:
    plant = laplacian(1e-3)
    belief = around(plant, 0.05, radius=50.0)
    assert lower_bound(plant.problem, belief, rounds=40) > 1.02 * lower_bound(plant.problem, belief, rounds=0)


def test_horizon_one_is_exact() -> None:
    plant = scalar(1)
    belief = around(plant, 0.3)
    K = np.full((1, 1, 1), 0.7)
    assert lower_bound(plant.problem, belief) == pytest.approx(plant.optimal_cost, rel=1e-8)
    assert upper_bound(plant.problem, belief, K) == pytest.approx(plant.cost(K), rel=1e-8)


def test_a_belief_that_cannot_be_certified_has_no_upper_bound() -> None:
    plant = laplacian()
    belief = around(plant, 30.0, radius=1e6)
    K = optimal_gains(plant.problem, *split(plant.Theta))
    assert worst_cost(plant.problem, belief, K) == math.inf
    assert lower_bound(plant.problem, belief) == pytest.approx(trivial_bound(plant.problem), rel=1e-6)


def largest_control(plant: Plant, belief: Belief, K: Array, a: float, seed: int) -> float:
    """The largest ‖u‖ met when models, starts, disturbances and signs are drawn at their bounds, many steered."""
    pr = plant.problem
    rng = np.random.default_rng(seed)
    worst = 0.0
    for Theta in edge_models(belief, seed, 200):
        A, B = split(Theta)
        for steer in (False, True):
            x = pr.start.center.copy()
            if pr.start.radius:
                push = rng.normal(size=pr.n)
                x = x + pr.start.radius * push / np.linalg.norm(push)
            for h in range(pr.horizon):
                u = K[h] @ x
                e = a * (np.sign(u) + (u == 0) if steer else rng.choice([-1.0, 1.0], size=pr.d))
                u = u + e
                worst = max(worst, float(np.linalg.norm(u)))
                x = A @ x + B @ u
                w = x if steer else rng.normal(size=pr.n)
                x = x + pr.disturbance_bound * w / max(np.linalg.norm(w), 1e-12)
    return worst


@pytest.mark.parametrize("plant", [toy(), laplacian(), wide()], ids=lambda plant: plant.name)
@pytest.mark.parametrize("a", [0.0, 0.1])
def test_never_clips_is_never_contradicted_and_not_vacuous(plant: Plant, a: float) -> None:
    belief = around(plant, 0.05)
    K = optimal_gains(plant.problem, *split(plant.Theta))
    met = largest_control(plant, belief, K, a, 3)

    def certified(bound: float) -> bool:
        return never_clips(plant.problem.with_(control_bound=bound), belief, K, a)

    assert not certified(met * 0.999)
    bounds = met * np.geomspace(1.0, 4.0, 60)
    passing = [bound for bound in bounds if certified(bound)]
    assert passing, "some bound within four times what was met must be certified"


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.name}-{plant.problem.horizon}")
def test_doing_nothing_never_clips_whatever_is_believed(plant: Plant) -> None:
    pr = plant.problem
    idle = np.zeros((pr.horizon, pr.d, pr.n))
    for radius in (1.0, 1e3):
        belief = Belief.ball(pr.nominal, radius)
        assert never_clips(pr, belief, idle, 0.9 * pr.control_bound / math.sqrt(pr.d))
        assert not never_clips(pr, belief, idle, 1.1 * pr.control_bound / math.sqrt(pr.d))
    assert math.isfinite(worst_cost(pr, Belief.ball(pr.nominal, 1.0), idle))


def test_actuator_limits_count_as_clipping() -> None:
    pr = toy().problem.with_(control_low=np.array([-0.05]), control_high=np.array([5.0]))
    K = optimal_gains(pr, *split(toy().Theta))
    belief = around(toy(), 0.01)
    assert not never_clips(pr, belief, K)
    assert never_clips(pr, belief, 0.0 * K)
    wide_limits = pr.with_(control_low=np.array([-5.0]))
    assert never_clips(wide_limits, belief, K)


def test_users_who_differ_widen_the_reach() -> None:
    pr = toy().problem
    K = optimal_gains(pr, *split(toy().Theta))
    belief = around(toy(), 0.01)
    spread = Start("ball", pr.start.center, radius=0.5)
    bounds = np.geomspace(0.1, 3.0, 200)
    fixed = next(b for b in bounds if never_clips(pr.with_(control_bound=float(b)), belief, K))
    varied = next(b for b in bounds if never_clips(pr.with_(control_bound=float(b), start=spread), belief, K))
    assert varied > 1.2 * fixed


def test_the_relaxed_planner_is_near_optimal_on_a_small_belief() -> None:
    plant = wide()
    belief = around(plant, 0.01, off=0.0)
    plan = relaxed(plant.problem, belief)
    assert plan.lower_bound is not None
    assert plan.lower_bound <= plant.optimal_cost
    assert plant.cost(plan.gains) < 1.001 * plant.optimal_cost
    assert not plan.failed
