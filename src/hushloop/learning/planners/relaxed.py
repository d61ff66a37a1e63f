"""Lagrangian relaxation: certified bounds on the optimum and on a fixed controller's cost over a belief, and a planner.

Θ in {Θ_c + MV} acts as an extra input v = (Θ−Θ_c)'z with ‖v‖² ≤ z'Nz, N = MM'. A chosen by the planner, v relaxes
optimism (lower bound D); chosen by an adversary, it relaxes the worst case (upper bound U). Both are valid at every
multiplier, so a search that stops early costs tightness alone.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...lq import Problem, policy_cost, split
from ..belief import Belief
from ..plan import Plan

Array = NDArray[np.float64]
Relaxation = tuple[Array, Array, Array]
SLACK = 1e-9
"""Relative; far more than the recursions lose to rounding."""
ROUNDS = 40


def trivial_bound(problem: Problem, X1: Array | None = None) -> float:
    """tr(QX₁) + (H−1)tr(QW) ≤ J* of every Θ, for P_h ≽ Q; attained where A = 0."""
    start = problem.X1 if X1 is None else X1
    return float(np.sum(problem.Q * start) + (problem.horizon - 1) * np.sum(problem.Q * problem.W))


def multipliers(
    problem: Problem, relaxation: Relaxation, X1: Array | None = None, rounds: int = ROUNDS
) -> tuple[float, Array]:
    """(D, μ): the best dual value found and its multipliers (H−1,); D is −∞ where the relaxation has no value."""
    from ...kernels.optimistic_lower import best_lower

    A, B, N = relaxation
    mu = np.zeros(problem.horizon - 1)
    start = problem.X1 if X1 is None else X1
    guess = max(float(np.trace(problem.Q)), 1e-12) / math.sqrt(max(float(np.trace(N)), 1e-24))
    D = best_lower(A, B, N, problem.Q, problem.R, start, problem.W, problem.horizon - 1, guess, rounds, mu)
    return float(D), mu


def lower_bound(
    problem: Problem, belief: Belief, X1: Array | None = None, rounds: int = ROUNDS, enough: float = math.inf
) -> float:
    """D ≤ J*(Θ) for every Θ in the belief. Always finite: never below what no controller can avoid.

    The search goes over the belief's coverings in turn and ends early with a D of at least `enough`.
    """
    D = -math.inf
    for center, shape in belief.coverings():
        D = max(D, multipliers(problem, relaxation_of(center, shape), X1, rounds)[0])
        if enough <= D:
            break
    return max(D - SLACK * abs(D), trivial_bound(problem, X1) * (1.0 - SLACK))


def upper_bound(
    problem: Problem, belief: Belief, gains: Array, excitation: float = 0.0, X1: Array | None = None
) -> float:
    """U ≥ J^K(Θ) for every Θ in the belief, excitation's cost included; +∞ where nothing can be certified.

    It is the cost of the linear controller: where `never_clips` is False, the clipped one may cost more.
    """
    from ...kernels.optimistic_upper import best_upper

    K = np.ascontiguousarray(gains)
    start = problem.X1 if X1 is None else X1
    Q, R, W, mu = problem.Q, problem.R, problem.W, np.zeros(problem.horizon - 1)
    U = min(
        float(best_upper(A, B, K, N, Q, R, start, W, float(excitation), ROUNDS, mu)) for A, B, N in relaxations(belief)
    )
    return U + SLACK * abs(U) if math.isfinite(U) else math.inf


def never_clips(problem: Problem, belief: Belief, gains: Array, excitation: float = 0.0) -> bool:
    """Whether no control can reach γ or an actuator limit, for any Θ in the belief, any start and any disturbance."""
    K, push, room = np.ascontiguousarray(gains), excitation * math.sqrt(problem.d), 1.0 - SLACK
    if _largest_output(problem, belief, K, K, push) + push > problem.control_bound * room:
        return False
    if problem.control_low is None or problem.control_high is None:
        return True
    limits = np.minimum(-problem.control_low, problem.control_high)
    return all(
        not math.isfinite(limit)
        or _largest_output(problem, belief, K, np.ascontiguousarray(K[:, a : a + 1]), push) + excitation <= limit * room
        for a, limit in enumerate(limits)
    )


def _largest_output(problem: Problem, belief: Belief, K: Array, C: Array, push: float) -> float:
    """A bound of ‖C_h x_h‖ (C (H, rows, n)) over steps, the belief, the starts, the disturbances, and ‖e‖ ≤ push."""
    from ...kernels.optimistic_reach import largest_outputs

    start, C_w = problem.start, problem.disturbance_bound
    reach = [largest_outputs(A, B, K, C, N, start.center, start.radius, C_w, push) for A, B, N in relaxations(belief)]
    return float(np.max(np.min(reach, axis=0)))


def worst_cost(
    problem: Problem, belief: Belief, gains: Array, excitation: float = 0.0, X1: Array | None = None
) -> float:
    """The certified worst cost over the belief of the controller as it runs: +∞ unless it is shown never to clip."""
    if not never_clips(problem, belief, gains, excitation):
        return math.inf
    return upper_bound(problem, belief, gains, excitation, X1)


def certified_interval(
    problem: Problem, belief: Belief, gains: Array, excitation: float = 0.0, X1: Array | None = None
) -> tuple[float, float]:
    """[D, worst case]: what a deployment may show. The second is +∞ where nothing is certified."""
    return lower_bound(problem, belief, X1), worst_cost(problem, belief, gains, excitation, X1)


def relaxed(problem: Problem, belief: Belief, X1: Array | None = None) -> Plan:
    """The controller of the relaxed problem: optimal when each step may pick its own Θ in the belief, at a price.

    Its model is the belief's centre and its value the cost there; D bounds the optimum over the belief.
    """
    found = [(*multipliers(problem, one, X1), one) for one in relaxations(belief)]
    D, mu, relaxation = max(found, key=lambda item: item[0])
    center = belief.center
    low = max(D - SLACK * abs(D), trivial_bound(problem, X1) * (1.0 - SLACK))
    if not math.isfinite(D):
        gains = np.zeros((problem.horizon, problem.d, problem.n))
        note = "the belief is too large for the relaxation to have a value: u = 0"
        value = policy_cost(problem, *split(center), gains, X1)
        return Plan(gains, center, value, lower_bound=low, failed=True, note=note)
    gains = _relaxed_gains(problem, relaxation, mu)
    return Plan(gains, center, policy_cost(problem, *split(center), gains, X1), lower_bound=low)


def _relaxed_gains(problem: Problem, relaxation: Relaxation, mu: Array) -> Array:
    """K_h = −U⁻¹F of the recursion whose value is D(μ)."""
    A, B, N = relaxation
    n, identity = problem.n, np.eye(problem.n)
    K = np.zeros((problem.horizon, problem.d, n))
    P = problem.Q
    for h in range(problem.horizon - 2, -1, -1):
        bar = mu[h] * (identity - mu[h] * np.linalg.inv(mu[h] * identity + P))
        U = problem.R - mu[h] * N[n:, n:] + B.T @ bar @ B
        F = -mu[h] * N[n:, :n] + B.T @ bar @ A
        K[h] = -np.linalg.solve(U, F)
        P = problem.Q - mu[h] * N[:n, :n] + A.T @ bar @ A + F.T @ K[h]
        P = (P + P.T) / 2
    return K


def relaxations(belief: Belief) -> list[Relaxation]:
    """(A, B, N) of each ellipsoid that holds the belief: a bound over any of them is one over the belief."""
    return [relaxation_of(center, shape) for center, shape in belief.coverings()]


def relaxation_of(center: Array, shape: Array) -> Relaxation:
    """(A, B, N) of one ellipsoid."""
    return (*split(center), np.ascontiguousarray(shape @ shape.T))
