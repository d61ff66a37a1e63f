"""The belief of `refined`: one ellipsoid, fused block by block with the ellipsoid that each release gives.

Given the past, the truth satisfies r(Δ*) = T1Δ* − T2 = (NΔ* − L) − Z'W, with N, L the fresh noise of this block.
The noise part is bounded by one χ² quantile, the martingale part by a self-normalised bound; see docs/theory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ...device.report import GRID
from ...lq import Problem
from ...privacy.release import Release
from ..belief import Array, Belief, Estimate
from ..estimate import prior_estimate, update_estimate, weighting_of

SHARE_NOISE, SHARE_MARTINGALE, SHARE_GRAM = 0.6, 0.35, 0.05
"""How one release's α_t is split among the three events that its ellipsoid needs."""

THETAS = np.array([1e-6, 1e-3, 0.03, 0.15, 0.3, 0.5, 0.65, 0.8, 0.9, 0.96, 0.99])
"""Near 0 where the disturbance outweighs the noise: many users, or no noise but rounding."""

KAPPAS = np.concatenate([[0.03, 0.1, 0.25, 0.45, 0.65, 0.8], 1.0 - np.geomspace(0.12, 1e-4, 18)])


@dataclass(frozen=True, eq=False)
class RecursiveState:
    """The ellipsoid that certifies, the estimate that steers, and how often a release contradicted the belief."""

    belief: Belief
    estimate: Estimate
    index: int = 0
    contradictions: int = 0
    note: str = ""


def start(problem: Problem) -> RecursiveState:
    """The prior ball, and the prior's estimate."""
    M = problem.prior_radius * np.eye(problem.p)
    return RecursiveState(Belief(problem.nominal, M, problem.nominal, problem.prior_radius), prior_estimate(problem))


def alpha_of(alpha: float, index: int, blocks: int | None) -> float:
    """The failure probability that block `index` (from 0) may spend, out of α for all blocks together."""
    return alpha / blocks if blocks else 6.0 * alpha / (math.pi**2 * (index + 1) ** 2)


def update(
    problem: Problem, state: RecursiveState, release: Release, alpha_t: float, importance: Array
) -> RecursiveState:
    """Fuse the belief with one block's release; keep the old belief where the fusion is empty or no smaller.

    `importance` (p, p) is public and fixed before the block: small means a small tr(M² · importance).
    """
    step = replace(state, estimate=update_estimate(problem, state.estimate, release), index=state.index + 1, note="")
    fused = fuse(problem, state.belief, release, alpha_t, importance)
    if fused is None:
        note = "the release contradicts the belief: the last good belief is kept"
        return replace(step, contradictions=state.contradictions + 1, note=note)
    if extent(fused, importance) >= extent(state.belief, importance):
        return step
    return replace(step, belief=fused)


def extent(belief: Belief, importance: Array) -> float:
    """tr(M² · importance): how far Θ'z may reach over the z that matter."""
    return float(np.sum((belief.shape @ belief.shape) * importance))


def fuse(problem: Problem, belief: Belief, release: Release, alpha_t: float, importance: Array) -> Belief | None:
    """The best of the valid fusions by `importance`; None where the two have no point in common."""
    if release.users == 0:
        return belief
    T = weighting_of(release.collection)
    inverse_T = np.linalg.inv(T)
    values, U = np.linalg.eigh(release.T1)
    to, back = U.T @ inverse_T, T @ U  # Θ → coordinates in which T1 is diagonal, and back
    prior = back.T @ np.linalg.inv(belief.shape @ belief.shape) @ back
    offset = to @ (belief.center - release.collection.center)
    rho = float(np.linalg.norm(offset)) + math.sqrt(1.0 / float(np.linalg.eigvalsh(prior)[0]))
    weights = _release_weights(problem, release, alpha_t, values, rho)  # (θ, p)
    target = U.T @ release.T2 - values[:, None] * offset  # r = T1Δ − T2, Δ about the belief's centre
    importance = back.T @ importance @ back
    found = [_best_fusion(values, w, target, prior, importance) for w in weights]
    if any(one is None for one in found):
        return None  # a valid fusion is empty: the ellipsoids do not meet
    _, shift, square = min((one for one in found if one is not None), key=lambda one: one[0])
    return replace(belief, center=belief.center + back @ shift, shape=_root(back @ square @ back.T))


def _best_fusion(
    values: Array, weights: Array, target: Array, prior: Array, importance: Array
) -> tuple[float, Array, Array] | None:
    """Over κ: {κ tr(r'Ĝ⁻¹r) + (1−κ) tr(Δ'prior Δ) ≤ 1} as (extent, centre, squared shape)."""
    quadratic = KAPPAS[:, None, None] * np.diag(values**2 * weights) + (1 - KAPPAS)[:, None, None] * prior
    linear = (values * weights)[:, None] * target
    constant = float(np.sum(weights[:, None] * target**2))
    inverse = np.linalg.inv(quadratic)
    center = KAPPAS[:, None, None] * (inverse @ linear)
    level = 1.0 - KAPPAS * (constant - np.einsum("ij,kij->k", linear, center))
    if (level <= 0).any():
        return None
    size = level * np.einsum("kij,ji->k", inverse, importance)
    k = int(np.argmin(size))
    return float(size[k]), center[k], level[k] * inverse[k]


def _release_weights(problem: Problem, release: Release, alpha_t: float, values: Array, rho: float) -> Array:
    """Ĝ⁻¹ for each θ, diagonal in the eigenbasis of T1: (θ, p)."""
    from scipy.special import chdtri

    p, n = problem.p, problem.n
    cw2 = problem.disturbance_bound**2
    quantile = float(chdtri(p * n, SHARE_NOISE * alpha_t))
    spread = 1.0 if release.isotropic else 2.0  # mirrored noise has up to twice the covariance on NΔ
    q = math.sqrt((spread * rho**2 * release.sigma_s**2 + release.sigma_c**2) * quantile)
    q += release.users * GRID * (p * rho + math.sqrt(p * n))
    margin = (
        release.sigma_s * math.sqrt(spread) * (math.sqrt(2 * p) + math.sqrt(2 * math.log(1 / (SHARE_GRAM * alpha_t))))
    )
    S_upper = np.maximum(values + margin + release.users * p * GRID, 0.0)
    floor = max(cw2, 5e-4 * q**2, 1e-12)
    gain = cw2 * S_upper / floor
    q_m2 = 2 * math.log(1 / (SHARE_MARTINGALE * alpha_t)) + n * float(np.sum(np.log1p(gain)))
    noise = q**2 / THETAS
    return np.asarray(1.0 / (noise[:, None] + (q_m2 / (1 - THETAS))[:, None] * (floor + cw2 * S_upper)))


def _root(square: Array) -> Array:
    """The symmetric square root of a positive definite matrix."""
    values, U = np.linalg.eigh((square + square.T) / 2)
    return np.asarray((U * np.sqrt(np.maximum(values, 0.0))) @ U.T)
