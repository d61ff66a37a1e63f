"""How the next block should ask: excitation, weighting and budgets that minimise the regret that they predict.

Everything here is a function of public values: the estimate, the belief, the budget and the schedule. The derivation
and the measurements behind each choice are in docs/devdocs/design.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..device import Collection
from ..lq import Problem, idle_gains
from ..privacy.budget import Adjacency
from ..privacy.sensitivity import NoiseScales, noise_scales
from .belief import Array, Estimate
from .estimate import information, prior_estimate
from .planners.excited import Outcomes, linear_costs, model_draws
from .planners.loss_form import loss_forms

MARGIN = 1.1
"""A budget is a tenth above the mean that is predicted for it."""

HARM = 1.5
"""The largest predicted cost of a block's excitation, over the prior's predicted loss of doing nothing."""

COARSE = np.concatenate([[0.0], np.geomspace(0.003, 1.0, 13)])
FINE = 1.624 ** np.array([-0.67, -0.33, 0.33, 0.67])
"""Excitations that are tried, as shares of the largest, and then as ratios to the best of them."""

MOST_REACH = 2.0**28
"""Responses are never budgeted beyond this, so that sums fit 64 bits whatever a belief predicts."""

PLAIN = 2.0**20
"""Sums of z itself are not thought of where their mean is beyond this, or below its inverse: only of Tz, of size 1."""

LEAST_AXIS = 1e-3
"""The weighting's least axis over its largest: keeps the change of coordinates well conditioned."""


@dataclass(frozen=True, eq=False)
class Frame:
    """What is fixed before a block is designed: where responses are centred, how far Θ may be, and the block's size."""

    block: int
    center: Array  # Θ_c
    shape: Array  # M
    response_bound: float | None
    users: int
    ahead: float  # users who will live with what this block teaches
    mu: float  # infinite without privacy
    adjacency: Adjacency
    most: float  # the largest excitation that may be chosen


@dataclass(frozen=True, eq=False)
class Design:
    """A block's excitation and collection, its noise, and what they are predicted to cost and to leave."""

    excitation: float
    collection: Collection
    scales: NoiseScales
    moments: Array  # predicted E Σ zz' of one user (p, p)
    cost: float  # predicted regret of the block's excitation and of those who come after
    loss_after: float  # predicted loss of one user once the block has been learned from


def design(
    problem: Problem, estimate: Estimate, outcomes: Outcomes, frame: Frame, excite: float | None = None
) -> Design:
    """The best of all excitations on a grid, each with its best weighting. `excite` fixes the excitation."""

    def asking(a: float) -> Design:
        """The best weighting for this excitation."""
        moments = outcomes.S0 + a**2 * outcomes.S1
        # a fixed energy is that of z itself
        candidates = weightings(estimate, outcomes.form, moments) if problem.energy is None else [None]
        return min((_evaluate(problem, estimate, outcomes, frame, a, T) for T in candidates), key=lambda d: d.cost)

    if excite is not None:
        return asking(excite)
    best = min((asking(float(a)) for a in frame.most * COARSE), key=lambda d: d.cost)
    if best.excitation == 0.0:
        return best
    return min(best, *(asking(min(frame.most, best.excitation * r)) for r in FINE), key=lambda d: d.cost)


def largest_excitation(problem: Problem) -> float:
    """What excitation may not exceed: γ/√d, and HARM times the loss of doing nothing, both predicted from the prior.

    Those who come early pay for those who come later; this is the most that any of them pays.
    """
    models = model_draws(problem, prior_estimate(problem), 0)
    forms = loss_forms(problem, models)
    idle = linear_costs(problem, models, idle_gains(problem)[None])[:, 0] - forms.value
    harmless = math.sqrt(max(HARM * float(idle.mean()), 0.0) / float(forms.price.mean()))
    return min(problem.control_bound / math.sqrt(problem.d), harmless)


def weightings(estimate: Estimate, form: Array, moments: Array) -> list[Array | None]:
    """Candidates for T: none, the geometric mean of what matters and what is seldom seen, and powers of ignorance.

    With noise alone, and no prior, tr(form · Cov) is least at T² = S^{-1/2}(S^{-1/2} form S^{-1/2})^{1/2}S^{-1/2}.
    """
    p = moments.shape[0]
    ridge = 1e-9 * np.eye(p)
    inner = power(moments + float(np.trace(moments)) * ridge, -0.5)
    matters = inner @ power(inner @ (form + float(np.trace(form)) * ridge) @ inner, 0.5) @ inner
    squares = [matters, power(estimate.precision, -0.5), power(estimate.precision, -1.0)]
    weighted: list[Array | None] = [_weighting(square, moments) for square in squares]
    size = float(np.trace(moments))
    return [None, *weighted] if 1 / PLAIN < size < PLAIN else weighted


def _weighting(square: Array, moments: Array) -> Array:
    values, U = np.linalg.eigh((square + square.T) / 2)
    root = np.sqrt(np.maximum(values, 0.0))
    T = (U * np.maximum(root, LEAST_AXIS * float(root.max()))) @ U.T
    T = (T + T.T) / 2
    return np.asarray(T / math.sqrt(float(np.sum((T @ T) * moments))))


def _evaluate(
    problem: Problem, estimate: Estimate, outcomes: Outcomes, frame: Frame, a: float, T: Array | None
) -> Design:
    moments = outcomes.S0 + a**2 * outcomes.S1
    collection = collect(problem, frame, moments, T)
    precision = estimate.precision if T is None else T @ estimate.precision @ T
    scales = block_scales(collection, precision, frame.mu, frame.adjacency)
    seen = frame.users * (moments if T is None else T @ moments @ T)
    after = precision + information(problem, seen, scales.sigma_s, scales.sigma_c, precision) @ seen
    form = outcomes.form if T is None else T @ outcomes.form @ T
    loss = float(np.trace(np.linalg.solve(after, form)))
    cost = frame.users * a**2 * outcomes.price + frame.ahead * loss
    return Design(a, collection, scales, moments, cost, loss)


def collect(problem: Problem, frame: Frame, moments: Array, T: Array | None) -> Collection:
    """The collection whose budgets are a tenth above what these moments predict, within what the bounds allow."""
    square = moments if T is None else T @ moments @ T
    energy = MARGIN * float(np.trace(square))
    if T is None:
        energy = min(max(energy, float(np.trace(problem.X1))), problem.full_energy)
        energy = energy if problem.energy is None else problem.energy
    reach = min(MARGIN * float(np.sum((frame.shape @ frame.shape) * moments)), MOST_REACH)
    return Collection(
        block=frame.block,
        center=frame.center,
        shape=frame.shape,
        energy=energy,
        disturbance_bound=problem.disturbance_bound,
        response_bound=frame.response_bound,
        horizon=problem.horizon,
        weighting=T,
        response_budget=reach,
    )


def block_scales(collection: Collection, precision: Array, mu: float, adjacency: Adjacency) -> NoiseScales:
    """Noise of the block, S against C as is best for the estimate; `precision` in the collection's coordinates."""
    if math.isinf(mu):
        return NoiseScales(0.0, 0.0)
    p = precision.shape[0]
    rho = math.sqrt((p + 1) / (2 * p) * float(np.trace(np.linalg.inv(precision))))
    return noise_scales(collection, mu, adjacency, rho)


def power(square: Array, exponent: float) -> Array:
    """A power of a positive definite matrix."""
    values, U = np.linalg.eigh((square + square.T) / 2)
    return np.asarray((U * np.maximum(values, 1e-300) ** exponent) @ U.T)


def best_excitation(
    problem: Problem, outcomes: Outcomes, scales: NoiseScales, users: int, before: int, ahead: float
) -> float:
    """The excitation of a block whose collection is fixed, where a release sums up everybody so far."""
    prior = prior_estimate(problem).precision
    costs = []
    for a in (sizes := largest_excitation(problem) * COARSE):
        seen = before * outcomes.S0 + users * (outcomes.S0 + a**2 * outcomes.S1)
        after = prior + information(problem, seen, scales.sigma_s, scales.sigma_c, prior) @ seen
        loss = float(np.trace(np.linalg.solve(after, outcomes.form)))
        costs.append(users * a**2 * outcomes.price + ahead * loss)
    return float(sizes[int(np.argmin(costs))])
