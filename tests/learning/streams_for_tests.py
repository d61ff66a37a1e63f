"""Synthetic releases: episodes in numpy, noise straight from the declared scales. No curator, no agent."""

from __future__ import annotations

import numpy as np

from hushloop.learning.belief import Array
from hushloop.lq import Plant, Problem
from hushloop.privacy.paper import paper_collection
from hushloop.privacy.release import Release


def episodes(plant: Plant, K: Array, excitation: float, users: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """(states (users, H+1, n), controls (users, H, d)), clipped at γ."""
    pr = plant.problem
    x = pr.start.sample(users, rng)
    states, controls = [x], []
    for h in range(pr.horizon):
        u = x @ K[h].T + excitation * rng.choice([-1.0, 1.0], size=(users, pr.d))
        size = np.linalg.norm(u, axis=1, keepdims=True)
        u = u * np.minimum(1.0, pr.control_bound / np.maximum(size, 1e-300))
        x = x @ plant.A.T + u @ plant.B.T + pr.disturbance.sample(users, rng)
        states.append(x)
        controls.append(u)
    return np.stack(states, axis=1), np.stack(controls, axis=1)


def sums(problem: Problem, states: Array, controls: Array) -> tuple[Array, Array]:
    """(S, C) of everybody, every step with weight 1 and the response about Θ₀ unclipped."""
    z = np.concatenate([states[:, :-1], controls], axis=2).reshape(-1, problem.p)
    y = states[:, 1:].reshape(-1, problem.n) - z @ problem.nominal
    return z.T @ z, z.T @ y


def symmetric_noise(p: int, sigma: float, isotropic: bool, rng: np.random.Generator) -> Array:
    """Diagonal entries of deviation σ, the others σ/√2 (isotropic) or σ (mirrored)."""
    upper = np.triu(rng.normal(scale=sigma, size=(p, p)))
    if isotropic:
        upper[np.triu_indices(p, 1)] /= np.sqrt(2.0)
    return np.asarray(upper + np.triu(upper, 1).T)


def prefix(
    problem: Problem, index: int, users: int, T1: Array, T2: Array, sigma_s: float = 0.0, sigma_c: float = 0.0,
    isotropic: bool = True,
) -> Release:  # fmt: skip
    """A prefix release with these sums."""
    return Release(
        index, users, users, T1, T2, sigma_s, sigma_c, isotropic, paper_collection(problem), "prefix", fresh=False
    )
