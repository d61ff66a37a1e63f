"""The estimate that steers: weighted least squares of all releases under a Gaussian prior on the ball."""

from __future__ import annotations

import numpy as np

from ..device import Collection
from ..lq import Problem
from ..privacy.release import Release
from .belief import Array, Estimate


def prior_estimate(problem: Problem) -> Estimate:
    """Θ₀ with the precision of a Gaussian whose mean squared length is r₀²."""
    p, n = problem.p, problem.n
    return Estimate(problem.nominal, p * n / problem.prior_radius**2 * np.eye(p))


def gram_part(T1: Array) -> Array:
    """S⁺: the positive semidefinite part of a noisy Gram matrix."""
    values, U = np.linalg.eigh(T1)
    return np.asarray((U * np.maximum(values, 0.0)) @ U.T)


def information(problem: Problem, S: Array, sigma_s: float, sigma_c: float, precision: Array) -> Array:
    """S F⁻¹: what sums of size S, released with this noise, weigh; F = vI + (tr W/n)S."""
    p = problem.p
    v = sigma_c**2 + sigma_s**2 * (p + 1) / (2 * p) * float(np.trace(np.linalg.inv(precision)))
    spread = float(np.trace(problem.W)) / problem.n
    v += 1e-9 * spread * float(np.trace(S)) / p + 1e-12  # keeps F invertible where there is no noise
    F = v * np.eye(p) + spread * S
    return np.asarray(np.linalg.solve(F, S).T)


def weighting_of(collection: Collection) -> Array:
    """T, the identity where there is none."""
    return np.eye(collection.p) if collection.weighting is None else collection.weighting


def update_estimate(problem: Problem, estimate: Estimate, release: Release) -> Estimate:
    """Take in one release of a block (its noise independent of those before), in the coordinates of its sums."""
    if release.users == 0:
        return estimate  # noise alone
    T = weighting_of(release.collection)
    inverse_T = np.linalg.inv(T)
    before = T @ estimate.precision @ T
    S = gram_part(release.T1)
    weight = information(problem, S, release.sigma_s, release.sigma_c, before)
    after = before + weight @ S
    offset = inverse_T @ (estimate.mean - release.collection.center)
    mean = np.linalg.solve(after, before @ offset + weight @ release.T2)
    precision = inverse_T @ after @ inverse_T
    return Estimate(release.collection.center + T @ mean, (precision + precision.T) / 2)
