"""The belief's geometry against independent oracles: optimality of the projection, Monte Carlo volume and laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushloop.errors import HushloopError
from hushloop.learning.belief import Array, Belief


def random_belief(seed: int, p: int = 3, n: int = 2, spread: float = 1.0, radius: float = 1.0) -> Belief:
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(p, p)))[0]
    m = np.exp(rng.normal(scale=spread, size=p))
    ball_center = rng.normal(size=(p, n)) * 0.3
    return Belief(rng.normal(size=(p, n)) * 0.5, (U * m) @ U.T, ball_center, radius)


def interior_points(belief: Belief, seed: int, count: int = 300) -> Array:
    """Points of the intersection, made without the projection: drawn from both sets, kept where they meet."""
    rng = np.random.default_rng(seed)
    p, n = belief.center.shape
    V = rng.normal(size=(60 * count, p, n))
    V *= rng.uniform(0, 1, size=(60 * count, 1, 1)) / np.linalg.norm(V.reshape(len(V), -1), axis=1)[:, None, None]
    half = len(V) // 2
    points = np.concatenate(
        [belief.center + belief.shape @ V[:half], belief.ball_center + belief.ball_radius * V[half:]]
    )
    levels = np.sum(np.linalg.solve(belief.shape, points - belief.center) ** 2, axis=(1, 2))
    distances = np.linalg.norm((points - belief.ball_center).reshape(len(points), -1), axis=1)
    return points[(levels <= 1) & (distances <= belief.ball_radius)][:count]


@settings(derandomize=True, deadline=None, max_examples=150)
@given(seed=st.integers(0, 10**6), spread=st.floats(0.0, 3.0), radius=st.floats(0.5, 3.0), far=st.floats(0.1, 30.0))
def test_projection_is_feasible_and_no_interior_point_is_nearer(
    seed: int, spread: float, radius: float, far: float
) -> None:
    belief = random_belief(seed, spread=spread, radius=radius)
    points = interior_points(belief, seed)
    if len(points) < 5:
        return
    Y = far * np.random.default_rng(seed + 1).normal(size=belief.center.shape)
    X = belief.project(Y)
    assert belief.contains(X, 1e-8)
    # the variational inequality of a projection onto a convex set: ⟨Y − X, Z − X⟩ ≤ 0 for every Z inside
    inner = np.sum((Y - X) * (points - X), axis=(1, 2))
    assert inner.max() <= 1e-7 * (1 + far)


def test_projection_matches_a_general_solver() -> None:
    from scipy.optimize import minimize

    worst = 0.0
    for seed in range(8):
        belief = random_belief(seed, radius=1.2)
        if len(interior_points(belief, seed)) < 5:
            continue
        Y = 2.0 * np.random.default_rng(seed).normal(size=belief.center.shape)
        inverse = np.linalg.inv(belief.shape)
        constraints = [
            {"type": "ineq", "fun": lambda x, b=belief, i=inverse: 1 - np.sum((i @ (x.reshape(3, 2) - b.center)) ** 2)},
            {
                "type": "ineq",
                "fun": lambda x, b=belief: b.ball_radius**2 - np.sum((x.reshape(3, 2) - b.ball_center) ** 2),
            },
        ]
        found = minimize(
            lambda x, Y=Y: 0.5 * np.sum((x - Y.ravel()) ** 2),
            belief.center.ravel(),
            jac=lambda x, Y=Y: x - Y.ravel(),
            constraints=constraints,
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        ours = float(np.linalg.norm(belief.project(Y) - Y))
        worst = max(worst, abs(ours - float(np.linalg.norm(found.x - Y.ravel()))) / ours)
    assert 0 < worst < 1e-6


def test_a_point_inside_stays() -> None:
    belief = random_belief(3, radius=5.0)
    inside = belief.center + 0.4 * belief.shape @ np.full((3, 2), 0.3)
    np.testing.assert_allclose(belief.project(inside), inside, atol=1e-12)


def test_a_collapsed_axis_projects_onto_its_plane() -> None:
    belief = Belief(np.zeros((2, 1)), np.diag([1e-9, 1.0]), np.zeros((2, 1)), 10.0)
    np.testing.assert_allclose(belief.project(np.array([[3.0], [0.5]])), [[1e-9], [0.5]], atol=2e-9)


def test_sets_that_do_not_meet_are_named() -> None:
    belief = Belief(np.full((3, 2), 5.0), 0.1 * np.eye(3), np.zeros((3, 2)), 1.0)
    assert belief.is_empty
    with pytest.raises(HushloopError, match="do not meet"):
        belief.project(np.zeros((3, 2)))
    assert not random_belief(0, radius=10.0).is_empty


def test_sets_that_barely_meet_are_not_empty() -> None:
    gap = 1.0 - 1e-6
    belief = Belief(np.array([[1.0 + gap]]), np.eye(1), np.zeros((1, 1)), 1.0)
    assert not belief.is_empty
    np.testing.assert_allclose(belief.project(np.array([[-4.0]])), [[gap]], atol=1e-8)


def test_log_volume_matches_monte_carlo() -> None:
    belief = Belief(np.zeros((2, 1)), np.array([[1.0, 0.3], [0.3, 0.5]]), np.zeros((2, 1)), 9.0)
    rng = np.random.default_rng(0)
    draws = rng.uniform(-1.5, 1.5, size=(200_000, 2, 1))
    share = np.mean(np.sum(np.linalg.solve(belief.shape, draws) ** 2, axis=(1, 2)) <= 1)
    assert abs(math.exp(belief.log_volume()) - 9.0 * share) < 6 * 9.0 * math.sqrt(share / 200_000)


def test_draws_are_uniform_in_the_ellipsoid() -> None:
    belief = random_belief(5, radius=1e6)
    draws = belief.sample(20_000, np.random.default_rng(1))
    levels = np.array([belief.level(T) for T in draws])
    assert levels.max() <= 1 + 1e-9
    # under the uniform law level^(N/2) is uniform on [0, 1]; 6 deviations of its mean
    assert abs(np.mean(levels**3) - 0.5) < 6 / math.sqrt(12 * 20_000)
    spread = 6 * np.sqrt(np.linalg.eigvalsh(belief.shape).max() ** 2 / 20_000)
    assert np.abs(draws.mean(axis=0) - belief.center).max() < spread


def test_draws_respect_the_ball() -> None:
    belief = Belief(np.zeros((3, 2)), 4.0 * np.eye(3), np.zeros((3, 2)), 1.0)
    draws = belief.sample(50, np.random.default_rng(2), tries=3)
    assert all(belief.contains(T) for T in draws)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6))
def test_radius_along_reaches_the_boundary(seed: int) -> None:
    belief = random_belief(seed)
    direction = np.random.default_rng(seed).normal(size=belief.center.shape)
    reach = belief.radius_along(direction)
    edge = belief.center + reach * direction / np.linalg.norm(direction)
    assert belief.level(edge) == pytest.approx(1.0, rel=1e-9)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(seed=st.integers(0, 10**6), spread=st.floats(0.0, 2.0), radius=st.floats(0.3, 3.0))
def test_the_covering_ellipsoids_hold_the_belief(seed: int, spread: float, radius: float) -> None:
    belief = random_belief(seed, spread=spread, radius=radius)
    ellipsoids = belief.coverings()
    assert len(ellipsoids) == 1 + belief.ball_matters
    for center, shape in ellipsoids:
        for point in interior_points(belief, seed, 100):
            assert np.sum(np.linalg.solve(shape, point - center) ** 2) <= 1 + 1e-8
    smallest = min(np.sum(belief.semi_axes**2), 3 * radius**2)
    assert min(np.trace(shape @ shape) for _, shape in ellipsoids) <= smallest * (1 + 1e-9)
