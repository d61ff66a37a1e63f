"""Greedy at the estimate, gains shrunk where that is safer on average over what Θ may be (docs/devdocs/design.md)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput
from ...lq import Problem
from ..belief import Array, Estimate
from .loss_form import LossForm, loss_forms

DRAWS = 16
LARGEST = 1e24
"""The largest E Σ‖z‖² of one user that is worked with."""
EXPLODES = 30.0
"""A model whose states are so many times larger than the median's does not count in what a block is predicted to do."""

SHRINK = np.array([1.0, 0.75, 0.5, 0.25, 0.0])


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What a controller would do on each of several models that Θ may be."""

    models: Array  # (m, p, n): the estimate first, then draws about it
    gains: Array  # K (H, d, n), the controller to run
    value: float  # its expected cost on the estimate
    form: Array  # mean of Σ_j 𝓗_jj over the models (p, p)
    price: float  # mean cost of excitation of variance 1
    S0: Array  # mean of E Σ zz' without excitation (p, p)
    S1: Array  # and what excitation of variance 1 adds


def greedy(problem: Problem, estimate: Estimate, seed: int) -> Outcomes:
    """f·K(Θ̂) with the f of {0, ¼, ½, ¾, 1} that costs least over the models."""
    models = model_draws(problem, estimate, seed)
    forms = loss_forms(problem, models)
    costs = linear_costs(problem, models, SHRINK[:, None, None, None] * forms.gains[0])
    best = int(np.argmin(costs.mean(axis=0)))
    return outcomes(problem, models, forms, SHRINK[best] * forms.gains[0])


def outcomes(problem: Problem, models: Array, forms: LossForm, gains: Array) -> Outcomes:
    """What these gains would do on the models."""
    S0, S1, calm = block_moments(problem, models, gains)
    _check_size(float(np.trace(S0)))
    value = float(linear_costs(problem, models[:1], gains[None])[0, 0])
    return Outcomes(models, gains, value, forms.form[calm].mean(axis=0), float(forms.price[calm].mean()), S0, S1)


def _check_size(size: float) -> None:
    """Refuse predictions that no arithmetic can work with."""
    if size == 0.0:
        raise InvalidInput("start", "is 0 and so is the disturbance", "nothing ever moves: u = 0 is the best")
    if not size < LARGEST:
        raise InvalidInput(
            "horizon", f"lets states grow to a mean square of {size:.3g} under what is believed",
            "shorten it, rescale the states, or narrow `prior.radius`",
        )  # fmt: skip


def model_draws(problem: Problem, estimate: Estimate, seed: int) -> Array:
    """The estimate and draws of N(Θ̂, Π⁻¹), each pulled back radially into the prior ball: (1 + DRAWS, p, n)."""
    rng = np.random.default_rng(seed)
    values, U = np.linalg.eigh(estimate.precision)
    spread = (U / np.sqrt(values)) @ (U.T @ rng.normal(size=(DRAWS, problem.p, problem.n)))
    away = estimate.mean + np.concatenate([np.zeros((1, *estimate.mean.shape)), spread]) - problem.nominal
    length = np.linalg.norm(away, axis=(1, 2), keepdims=True)
    return np.asarray(problem.nominal + away * np.minimum(1.0, problem.prior_radius / np.maximum(length, 1e-300)))


def block_moments(problem: Problem, models: Array, gains: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """S₀ and S₁ with E Σ zz' = S₀ + a²S₁ under these gains, averaged over the calm models, and which they are."""
    m, n, d = models.shape[0], problem.n, problem.d
    A, B = models[:, :n].swapaxes(1, 2), models[:, n:].swapaxes(1, 2)
    X, Y = np.broadcast_to(problem.X1, (m, n, n)), np.zeros((m, n, n))
    S0, S1 = np.zeros((2, m, n + d, n + d))
    for K in gains:
        G = np.vstack([np.eye(n), K])
        S0 += G @ X @ G.T
        S1 += G @ Y @ G.T
        L = A + B @ K
        X = L @ X @ L.swapaxes(1, 2) + problem.W
        Y = (L @ Y @ L.swapaxes(1, 2)) + B @ B.swapaxes(1, 2)
    S1[:, n:, n:] += gains.shape[0] * np.eye(d)
    size = np.trace(S0, axis1=1, axis2=2)
    calm = size <= EXPLODES * np.median(size)
    return S0[calm].mean(axis=0), S1[calm].mean(axis=0), calm


def linear_costs(problem: Problem, models: Array, gains: Array) -> Array:
    """Linear cost of each controller (g, H, d, n) on each model: (m, g)."""
    n = problem.n
    A, B = models[:, None, :n].swapaxes(2, 3), models[:, None, n:].swapaxes(2, 3)
    P = np.zeros((models.shape[0], gains.shape[0], n, n))
    cost = np.zeros(P.shape[:2])
    for h in range(gains.shape[1] - 1, -1, -1):
        cost += np.einsum("mgij,ij->mg", P, problem.W)
        K = gains[:, h]
        L = A + B @ K
        P = problem.Q + K.swapaxes(1, 2) @ problem.R @ K + L.swapaxes(2, 3) @ P @ L
    return np.asarray(cost + np.einsum("mgij,ij->mg", P, problem.X1))
