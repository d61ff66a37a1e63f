"""Optimism in the face of uncertainty: the global argmin of J* over the belief, and how far from it we can be."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ...lq import Problem, idle_gains, split
from ...lq.batch import batched_gains
from ..belief import Belief
from ..plan import Plan
from .relaxed import lower_bound, trivial_bound

Array = NDArray[np.float64]
STARTS = 32
TOLERANCE = 1e-9
"""A start has converged when two steps in a row promise to lower J* by less than this share of it."""
CLOSE = 0.002
"""A certified gap below this share of J* is not made smaller."""
MOST_EVALUATIONS = 400
MOST_MIRRORS = 7


def optimistic(
    problem: Problem,
    belief: Belief,
    warm: Array | None = None,
    X1: Array | None = None,
    starts: int = STARTS,
    certify: bool = True,
) -> Plan:
    """K(Θ̃), Θ̃ the model in the belief that promises the least cost, found from `starts` points at least.

    `warm` holds models (p, n) or (k, p, n) to start from as well: earlier plans, made from releases alone.
    `X1` is the second moment of the start to plan for. With `certify` the plan carries D ≤ min J* and its gap.
    Deterministic. An empty belief gives a failed plan for the point of the prior ball that is nearest to the centre.
    """
    at_rest = _at_rest(problem, belief)
    if at_rest is not None:
        value = trivial_bound(problem, X1)
        if certify:
            return Plan(idle_gains(problem), at_rest, value, lower_bound=value, gap=0.0)
        return Plan(idle_gains(problem), at_rest, value)
    found = least_cost(problem, belief, _named_models(problem, belief, warm), X1, starts)
    if found is None:
        return fallback(problem, belief, X1)
    Theta, value = found
    gains = batched_gains(problem, Theta[None])[0]
    if not certify:
        return Plan(gains, Theta, value)
    D = lower_bound(problem, belief, X1, enough=(1.0 - CLOSE) * value)
    return Plan(gains, Theta, value, lower_bound=D, gap=value - D)


def least_cost(
    problem: Problem,
    belief: Belief,
    models: Array,
    X1: Array | None = None,
    starts: int = STARTS,
    tolerance: float = TOLERANCE,
) -> tuple[Array, float] | None:
    """(Θ̃, J*(Θ̃)) of the best descent from the models (k, p, n) and from fixed directions; None: an empty belief."""
    from ...kernels.optimistic_descent import descend, descent_workspace_size
    from ...kernels.optimistic_lanes import lane_array
    from ...kernels.optimistic_starts import place_starts

    p, n, d, horizon = problem.p, problem.n, problem.d, problem.horizon
    m, U = belief.axes
    center = np.ascontiguousarray(belief.center)
    c = np.ascontiguousarray(U.T @ (center - belief.ball_center))
    cut = belief.ball_matters
    count = max(starts, len(models))
    V = np.empty((count, p, n))
    directions = _directions(p, n, count - len(models))
    if not place_starts(center, np.ascontiguousarray(U), m, c, belief.ball_radius, cut, models, directions, V):
        return None  # fmt: skip
    points, values = np.empty((count, p, n)), np.empty(count)
    start = problem.X1 if X1 is None else X1
    E = np.ascontiguousarray(U * m)
    descend(
        center, E, m, c, belief.ball_radius, cut, V, problem.Q, problem.R, start, problem.W, horizon, n, d,
        tolerance, MOST_EVALUATIONS, lane_array(descent_workspace_size(n, d, horizon)), points, values,
    )  # fmt: skip
    best = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
    return np.asarray(center + E @ points[best]), float(values[best])


def _named_models(problem: Problem, belief: Belief, warm: Array | None) -> Array:
    """Where to start first: warm models and the centre, each also with inputs mirrored, and the nominal model."""
    bases = [belief.center] if warm is None else [*np.reshape(warm, (-1, problem.p, problem.n)), belief.center]
    flips = _flips(problem.d)
    stacked = np.repeat(np.stack(bases)[None], len(flips) + 1, axis=0)  # (mirrors, bases, p, n)
    stacked[1:, :, problem.n :] *= flips[:, None, :, None]
    models = stacked.reshape(-1, problem.p, problem.n)
    return np.ascontiguousarray(np.concatenate([models, belief.ball_center[None]]))


@cache
def _flips(d: int) -> Array:
    """Signs for the inputs, (k, d): all mirrored first, then the other combinations (many inputs: one at a time)."""
    if 2**d - 1 <= MOST_MIRRORS:
        combinations = [s for s in product([-1.0, 1.0], repeat=d) if min(s) < 0]
        return np.array(combinations)
    single = np.ones((d, d)) - 2.0 * np.eye(d)
    return np.concatenate([-np.ones((1, d)), single[: MOST_MIRRORS - 1]])


@cache
def _directions(p: int, n: int, count: int) -> Array:
    """`count` fixed points of the unit ball (count, p, n): even ones on its surface, odd ones inside."""
    rng = np.random.default_rng(20_210)
    V = rng.normal(size=(count, p, n))
    V /= np.linalg.norm(V.reshape(count, p * n), axis=1)[:, None, None]
    V[1::2] *= rng.uniform(size=(len(V[1::2]), 1, 1))
    return V


def _at_rest(problem: Problem, belief: Belief) -> Array | None:
    """A model of the belief with A = 0, whose optimum nothing can undercut; None where none was found.

    On A = 0 the ellipsoid and the ball each have a best B; the points tried lie between the two.
    """
    n = problem.n
    m, U = belief.axes
    if m[0] <= 0.0 or float(np.linalg.norm(belief.center[:n])) > m[-1]:
        return None
    precision = (U / m**2) @ U.T
    off = -belief.center[:n]
    low = belief.center[n:] - np.linalg.solve(precision[n:, n:], precision[n:, :n] @ off)
    candidate = np.zeros_like(belief.center)
    candidate[n:] = low
    if belief.level(candidate) > 1.0:
        return None
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        candidate[n:] = low + share * (belief.ball_center[n:] - low)
        if belief.contains(candidate, 0.0):
            return candidate
    return None


def fallback(problem: Problem, belief: Belief, X1: Array | None = None) -> Plan:
    """Nothing to be optimistic over: u = 0, said and counted."""
    from ...lq import policy_cost

    away = belief.center - belief.ball_center
    reach = float(np.linalg.norm(away))
    Theta = belief.ball_center + away * min(1.0, belief.ball_radius / max(reach, 1e-300))
    gains = idle_gains(problem)
    value = policy_cost(problem, *split(Theta), gains, X1)
    return Plan(gains, Theta, value, failed=True, note="the ellipsoid and the prior ball do not meet: u = 0")
