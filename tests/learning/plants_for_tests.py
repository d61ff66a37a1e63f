"""Small problems that the tests of this room share."""

from __future__ import annotations

import numpy as np

from hushloop.learning.belief import Array, Belief
from hushloop.lq import Disturbance, Plant, Problem, Start, theta


def toy() -> Plant:
    problem = Problem(
        "toy",
        np.eye(2),
        0.1 * np.eye(1),
        5,
        Start("fixed", np.array([0.6, 0.8])),
        Disturbance("sphere", 0.1, 2),
        control_bound=1.5,
        response_bound=1.0,
    )
    return Plant(problem, np.array([[0.45, 0.2], [0.0, 0.4]]), np.array([[0.1], [0.25]]))


def laplacian(scale: float = 1.0, horizon: int = 10) -> Plant:
    problem = Problem(
        "laplacian",
        scale * np.eye(3),
        np.eye(3),
        horizon,
        Start("fixed", np.full(3, 0.5)),
        Disturbance("sphere", 0.1, 3),
        control_bound=4.0,
        response_bound=3.0,
        radius=3.0,
    )
    return Plant(problem, np.eye(3) + 0.01 * np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]]), np.eye(3))


def wide() -> Plant:
    """More inputs than states, and users who differ."""
    problem = Problem(
        "wide",
        np.diag([1.0, 0.5]),
        0.2 * np.eye(3),
        4,
        Start("ball", np.array([0.4, -0.3]), radius=0.3),
        Disturbance("ball", 0.2, 2),
        control_bound=2.0,
        response_bound=2.0,
        radius=2.0,
    )
    return Plant(problem, np.array([[0.7, 0.3], [-0.1, 0.6]]), np.array([[0.4, 0.0, 0.2], [0.1, 0.5, -0.3]]))


def scalar(horizon: int = 4) -> Plant:
    problem = Problem(
        "scalar",
        np.eye(1),
        0.3 * np.eye(1),
        horizon,
        Start("fixed", np.array([0.9])),
        Disturbance("rademacher", 0.1, 1),
        control_bound=1.5,
        response_bound=1.5,
    )
    return Plant(problem, np.array([[0.8]]), np.array([[0.4]]))


def around(plant: Plant, size: float, seed: int = 0, off: float = 0.3, radius: float | None = None) -> Belief:
    """A tilted ellipsoid about a point near the truth, cut by the problem's ball (or one of another radius)."""
    rng = np.random.default_rng(seed)
    p, n = plant.problem.p, plant.problem.n
    U = np.linalg.qr(rng.normal(size=(p, p)))[0]
    axes = size * np.exp(0.5 * rng.normal(size=p))
    direction = rng.normal(size=(p, n))
    center = plant.Theta + off * size * direction / np.linalg.norm(direction)
    ball = plant.problem.prior_radius if radius is None else radius
    return Belief(center, (U * axes) @ U.T, plant.problem.nominal, ball)


def straddling(plant: Plant, size: float, seed: int = 0) -> Belief:
    """A belief whose centre has B near 0, so that its sign is open."""
    belief = around(plant, size, seed)
    n = plant.problem.n
    center: Array = belief.center.copy()
    center[n:] = 0.1 * size * np.random.default_rng(seed + 99).normal(size=center[n:].shape)
    return Belief(center, belief.shape, belief.ball_center, belief.ball_radius)


__all__ = ["around", "laplacian", "scalar", "straddling", "theta", "toy", "wide"]
