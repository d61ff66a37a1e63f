"""A belief from prefix sums under one collection: a self-normalised bound that holds the noise and the disturbance.

The truth has r(Δ*) = T1Δ* − T2 = NΔ* − L − Z'W, and mixing a supermartingale over a Gaussian bounds
tr(r'G⁻¹r), G = (v₀ + s²)I + C_w²S, s² the variance of the noise. S is unknown and replaced by an upper bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...device.report import GRID
from ...errors import InvalidInput
from ...lq import Problem
from ...privacy.release import Release
from ..belief import Array, Belief

SHARE_BOUND, SHARE_GRAM = 0.95, 0.05
"""How one release's α is split between the bound itself and the upper bound on S."""

ANTICIPATED = 0.3
"""s₀² as a share of the largest s² of the schedule."""

KAPPAS = np.concatenate([np.linspace(0.05, 0.95, 19), 1.0 - np.geomspace(0.04, 1e-6, 12)])
SMALLEST = 1e-18  # keeps v₀ above 0 where there is neither noise nor disturbance


@dataclass(frozen=True)
class Rule:
    """What is fixed before the first release: how many there will be, α, and v₀. T = 0 means no noise, any number."""

    releases: int
    alpha: float
    v0: float


def rule(problem: Problem, sigma_s: float, sigma_c: float, releases: int, alpha: float, isotropic: bool = True) -> Rule:
    """The rule for a schedule of `releases` whose noisiest release has these scales; both 0: no noise at all."""
    if not 0.0 < alpha < 1.0:
        raise InvalidInput("alpha", f"is {alpha}", "give a number above 0 and below 1")
    if isinstance(releases, bool) or not isinstance(releases, int) or releases < 1:
        raise InvalidInput("releases", f"is {releases!r}", "give a whole number of at least 1")
    variance = _variance(problem, sigma_s, sigma_c, isotropic)
    v0 = max(problem.disturbance_bound**2 + ANTICIPATED * variance, SMALLEST)
    return Rule(releases if variance > 0.0 else 0, alpha, v0)


@dataclass(frozen=True, eq=False)
class CumulativeState:
    """The belief, the releases so far, and how often one contradicted the prior ball."""

    belief: Belief
    index: int = 0
    contradictions: int = 0
    note: str = ""


def start(problem: Problem) -> CumulativeState:
    """The prior ball."""
    return CumulativeState(Belief.ball(problem.nominal, problem.prior_radius))


def update(problem: Problem, state: CumulativeState, release: Release, fixed: Rule) -> CumulativeState:
    """The belief after one prefix release, or the old one where that is smaller or the new one is empty."""
    if release.kind != "prefix" or not np.array_equal(release.collection.center, problem.nominal):
        raise InvalidInput(
            "release",
            f"is a {release.kind} under a collection about another centre",
            "this belief needs sums of everybody so far, collected about the nominal model",
        )
    if fixed.releases and state.index >= fixed.releases:
        raise InvalidInput(
            "release",
            f"is number {state.index + 1}, α was divided among {fixed.releases}",
            "fix the number of releases before the first",
        )
    step = replace(state, index=state.index + 1, note="")
    if release.users == 0:
        return step
    found = ellipsoid(problem, release, fixed)
    if found is None:
        note = "the release contradicts the prior ball: the last good belief is kept"
        return replace(step, contradictions=state.contradictions + 1, note=note)
    center, shape = found
    if np.sum(shape**2) >= np.sum(state.belief.shape**2):
        return step
    return replace(step, belief=Belief(center, shape, problem.nominal, problem.prior_radius))


def ellipsoid(problem: Problem, release: Release, fixed: Rule) -> tuple[Array, Array] | None:
    """(centre, shape) of the fusion with the prior ball that has the least trace; None where they do not meet."""
    p, n, r0 = problem.p, problem.n, problem.prior_radius
    values, U = np.linalg.eigh(release.T1)
    T2 = U.T @ release.T2
    alpha = fixed.alpha / fixed.releases if fixed.releases else fixed.alpha
    share = SHARE_BOUND * alpha if fixed.releases else alpha
    g = _normaliser(problem, release, fixed, values, alpha)
    q = math.sqrt(2.0 * math.log(1.0 / share) + n * float(np.sum(np.log(g / fixed.v0))))
    q += release.total_users * GRID * (p * r0 + math.sqrt(p * n)) / math.sqrt(float(g.min()))
    scale = 1.0 / (g * q**2)  # everything is diagonal in T1's basis
    pull, hold = KAPPAS[:, None] * values**2 * scale, (1.0 - KAPPAS)[:, None] / r0**2  # (κ, p)
    misfit = KAPPAS[:, None] * scale * np.sum(T2**2, axis=1)
    level = 1.0 - np.sum(misfit * hold / (pull + hold), axis=1)
    if (level <= 0.0).any():
        return None
    k = int(np.argmin(level * np.sum(1.0 / (pull + hold), axis=1)))
    precision = pull[k] + hold[k]
    center = problem.nominal + U @ ((KAPPAS[k] * values * scale / precision)[:, None] * T2)
    return center, (U * np.sqrt(level[k] / precision)) @ U.T


def _normaliser(problem: Problem, release: Release, fixed: Rule, values: Array, alpha: float) -> Array:
    """Eigenvalues of Ĝ = (v₀ + s²)I + C_w²Ŝ, Ŝ = PSD-part(T1 + ΛI) ≽ S."""
    variance = _variance(problem, release.sigma_s, release.sigma_c, release.isotropic)
    Lambda = 0.0
    if release.sigma_s > 0.0:
        spread = release.sigma_s * (1.0 if release.isotropic else math.sqrt(2.0))
        Lambda = spread * (math.sqrt(2 * problem.p) + math.sqrt(2.0 * math.log(1.0 / (SHARE_GRAM * alpha))))
    upper = np.maximum(values + Lambda + release.total_users * problem.p * GRID, 0.0)
    return np.asarray(fixed.v0 + variance + problem.disturbance_bound**2 * upper)


def _variance(problem: Problem, sigma_s: float, sigma_c: float, isotropic: bool) -> float:
    """s²: the covariance of vec(NΔ* − L) is at most s²I, for ‖Δ*‖ ≤ r₀; mirrored noise can be twice as large."""
    return (1.0 if isotropic else 2.0) * sigma_s**2 * problem.prior_radius**2 + sigma_c**2
