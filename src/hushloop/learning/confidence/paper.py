"""The paper's confidence set: ridge regression under changing regularisers (Lemma 1), private or not.

V_k = T1 + ηI, Θ̂_k = V_k⁻¹T2 and ‖Θ − Θ̂_k‖_{V_k} ≤ β_k, cut by the prior ball. The private choice takes its constants
from the noise, the non-private one is H_k = λI, L_k = 0. With Θ₀ ≠ 0 everything is said of Δ = Θ − Θ₀.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...errors import InvalidInput
from ...lq import Problem
from ...privacy.paper import PaperConstants
from ...privacy.release import Release
from ..belief import Array, Belief


@dataclass(frozen=True)
class Regularisers:
    """Assumption 2: ‖H_k‖ ≤ λ_max, ‖H_k⁻¹‖ ≤ 1/λ_min and ‖L_k‖_{H_k⁻¹} ≤ ν for all k, and the η that makes it so."""

    eta: float
    lambda_min: float
    lambda_max: float
    nu: float

    def __post_init__(self) -> None:
        for key in ("eta", "lambda_min", "lambda_max"):
            value = getattr(self, key)
            if not (math.isfinite(value) and value > 0):
                raise InvalidInput(key, f"is {value}", "give a finite number above 0")
        if not (math.isfinite(self.nu) and self.nu >= 0):
            raise InvalidInput("nu", f"is {self.nu}", "give a finite number, at least 0")

    @staticmethod
    def private(constants: PaperConstants) -> Regularisers:
        """The paper's own: η = 2Λ, λ_min = Λ, λ_max = 3Λ."""
        return Regularisers(constants.eta, constants.lambda_min, constants.lambda_max, constants.nu)

    @staticmethod
    def ridge(strength: float = 1.0) -> Regularisers:
        """H_k = λI and L_k = 0: regression on exact sums."""
        return Regularisers(strength, strength, strength, 0.0)


@dataclass(frozen=True, eq=False)
class PaperState:
    """The confidence set with what it was made of, and how often a release could not give one."""

    belief: Belief
    V: Array  # (p, p)
    center: Array  # Θ̂ (p, n), Θ₀ included
    beta: float
    index: int = 0
    indefinite: int = 0  # releases whose V was not positive definite
    contradictions: int = 0  # releases whose ellipsoid misses the prior ball
    note: str = ""


def start(problem: Problem, regularisers: Regularisers, alpha: float) -> PaperState:
    """Before any user: V = ηI, Θ̂ = Θ₀."""
    if not 0.0 < alpha <= 1.0:
        raise InvalidInput("alpha", f"is {alpha}", "give a number above 0 and at most 1")
    p, n = problem.p, problem.n
    V, beta, shape = _ellipsoid(problem, np.zeros((p, p)), regularisers, alpha)
    belief = Belief(problem.nominal, shape, problem.nominal, problem.prior_radius)
    return PaperState(belief, V, np.zeros((p, n)) + problem.nominal, beta)


def update(
    problem: Problem, state: PaperState, release: Release, regularisers: Regularisers, alpha: float
) -> PaperState:
    """The set C_k of one prefix release. Where V is indefinite or C_k misses the ball the last good set stays."""
    if release.kind != "prefix" or not np.array_equal(release.collection.center, problem.nominal):
        raise InvalidInput(
            "release",
            f"is a {release.kind} under a collection about another centre",
            "this set needs sums of everybody so far, collected about the nominal model",
        )
    step = replace(state, index=state.index + 1, note="")
    try:
        V, beta, shape = _ellipsoid(problem, release.T1, regularisers, alpha)
    except np.linalg.LinAlgError:
        return replace(
            step, indefinite=state.indefinite + 1, note="V is not positive definite: the last good set is kept"
        )
    center = problem.nominal + np.linalg.solve(V, release.T2)
    belief = Belief(center, shape, problem.nominal, problem.prior_radius)
    if float(np.linalg.norm(center - problem.nominal)) > problem.prior_radius and belief.is_empty:
        note = "the confidence set misses the prior ball: the last good set is kept"
        return replace(step, contradictions=state.contradictions + 1, note=note)
    return replace(step, belief=belief, V=V, center=center, beta=beta)


def radius(problem: Problem, log_det: float, regularisers: Regularisers, alpha: float) -> float:
    """β = C_w√(2 ln(2/α) + n·ln det(V/λ_min)) + r₀√λ_max + ν, from the released V: the printed one needs raw data."""
    martingale = math.sqrt(max(0.0, 2.0 * math.log(2.0 / alpha) + problem.n * log_det))
    bias = problem.prior_radius * math.sqrt(regularisers.lambda_max)
    return problem.disturbance_bound * martingale + bias + regularisers.nu


def _ellipsoid(problem: Problem, T1: Array, regularisers: Regularisers, alpha: float) -> tuple[Array, float, Array]:
    """(V, β, βV^{-1/2}); LinAlgError where V is not positive definite."""
    V = T1 + regularisers.eta * np.eye(problem.p)
    values, U = np.linalg.eigh(V)
    if not values[0] > 1e-12 * max(values[-1], 0.0):
        raise np.linalg.LinAlgError("V is not positive definite")
    beta = radius(problem, float(np.sum(np.log(values / regularisers.lambda_min))), regularisers, alpha)
    return V, beta, (U * (beta / np.sqrt(values))) @ U.T


@dataclass(frozen=True)
class Events:
    """How close one release came to the limits of Assumption 2; only a simulation, which has the noise, can tell."""

    largest: float  # ‖H_k‖ / λ_max
    smallest: float  # λ_min·‖H_k⁻¹‖; infinite where H_k is not positive definite
    cross: float  # ‖L_k‖_{H_k⁻¹} / ν (0/0 = 0)

    @property
    def hold(self) -> bool:
        return max(self.largest, self.smallest, self.cross) <= 1.0 + 1e-9


def events(N: Array, L: Array, regularisers: Regularisers) -> Events:
    """Assumption 2 measured, given the noise N (p, p) in T1 and L (p, n) in T2: H = N + ηI."""
    values, U = np.linalg.eigh(N + regularisers.eta * np.eye(N.shape[0]))
    largest = float(np.abs(values).max()) / regularisers.lambda_max
    if values[0] <= 0.0:
        return Events(largest, math.inf, math.inf)
    cross = float(np.linalg.norm((U.T @ L) / np.sqrt(values)[:, None]))
    ratio = cross / regularisers.nu if regularisers.nu > 0 else (0.0 if cross == 0.0 else math.inf)
    return Events(largest, regularisers.lambda_min / float(values[0]), ratio)
