"""Exact finite-horizon LQ control of one system: Riccati recursion, costs, gradient, moments.

Notation: P (H+1, n, n) with P[h] = P_{h+1} of the text, so P[H] = 0; K (H, d, n); X₁ = E[x₁x₁'], W = E[ww'].
Many systems at once, and fast: `hushloop.lq.batch`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .problem import Array, Problem

Gains = NDArray[np.float64]  # (H, d, n)


@dataclass(frozen=True, eq=False)
class Solution:
    """The optimal gains and cost-to-go matrices of one system."""

    K: Gains  # (H, d, n)
    P: Array  # (H+1, n, n)


def riccati(A: Array, B: Array, Q: Array, R: Array, horizon: int) -> Solution:
    """K_h = −(R + B'P_{h+1}B)⁻¹B'P_{h+1}A and P_h, backwards from P_{H+1} = 0."""
    n, d = B.shape
    P = np.zeros((horizon + 1, n, n))
    K = np.zeros((horizon, d, n))
    for h in range(horizon - 1, -1, -1):
        PA, PB = P[h + 1] @ A, P[h + 1] @ B
        K[h] = -np.linalg.solve(R + B.T @ PB, B.T @ PA)
        step = Q + A.T @ PA + A.T @ PB @ K[h]
        P[h] = (step + step.T) / 2
    return Solution(K, P)


def policy_matrices(A: Array, B: Array, Q: Array, R: Array, K: Gains) -> Array:
    """P_h (H+1, n, n) of the linear policy u_h = K_h x_h."""
    horizon = K.shape[0]
    P = np.zeros((horizon + 1, A.shape[0], A.shape[0]))
    for h in range(horizon - 1, -1, -1):
        L = A + B @ K[h]
        step = Q + K[h].T @ R @ K[h] + L.T @ P[h + 1] @ L
        P[h] = (step + step.T) / 2
    return P


def optimal_gains(problem: Problem, A: Array, B: Array) -> Gains:
    """K_h of the system (A, B), (H, d, n)."""
    return riccati(A, B, problem.Q, problem.R, problem.horizon).K


def idle_gains(problem: Problem) -> Gains:
    """u = 0."""
    return np.zeros((problem.horizon, problem.d, problem.n))


def optimal_cost(problem: Problem, A: Array, B: Array, X1: Array | None = None) -> float:
    """J* = tr(P₁X₁) + Σ_h tr(P_{h+1}W)."""
    return _cost(riccati(A, B, problem.Q, problem.R, problem.horizon).P, problem.X1 if X1 is None else X1, problem.W)


def policy_cost(
    problem: Problem, A: Array, B: Array, K: Gains, X1: Array | None = None, excitation: float = 0.0
) -> float:
    """Expected cost of u_h = K_h x_h + e_h, e_h a fair ±`excitation` in each input; exact while nothing is clipped."""
    with np.errstate(all="ignore"):
        P = policy_matrices(A, B, problem.Q, problem.R, K)
    cost = _cost(P, problem.X1 if X1 is None else X1, problem.W)
    if excitation:
        cost += excitation**2 * excitation_price(problem, B, P)
    return cost


def excitation_price(problem: Problem, B: Array, P: Array) -> float:
    """Σ_h tr(R + B'P_{h+1}B): what excitation of variance 1 in every input adds to the cost."""
    return float(problem.horizon * np.trace(problem.R) + np.einsum("ji,hjk,ki->", B, P[1:], B))


def second_moments(
    problem: Problem, A: Array, B: Array, K: Gains, X1: Array | None = None, excitation: float = 0.0
) -> Array:
    """X_h = E[x_hx_h'] for h = 1..H+1 under u_h = K_h x_h + e_h: (H+1, n, n)."""
    X = np.zeros((problem.horizon + 1, problem.n, problem.n))
    X[0] = problem.X1 if X1 is None else X1
    fresh = problem.W + excitation**2 * (B @ B.T)
    for h in range(problem.horizon):
        L = A + B @ K[h]
        X[h + 1] = L @ X[h] @ L.T + fresh
    return X


def mean_sums(
    problem: Problem, A: Array, B: Array, K: Gains, X1: Array | None = None, excitation: float = 0.0
) -> Array:
    """E Σ_h z_hz_h' (p, p), every step of weight 1."""
    X = second_moments(problem, A, B, K, X1, excitation)
    n, d = problem.n, problem.d
    S = np.zeros((n + d, n + d))
    for h in range(problem.horizon):
        G = np.vstack([np.eye(n), K[h]])
        S += G @ X[h] @ G.T
    S[n:, n:] += problem.horizon * excitation**2 * np.eye(d)
    return S


def cost_gradient(problem: Problem, A: Array, B: Array, X1: Array | None = None) -> tuple[float, Array]:
    """J* and its gradient in Θ (p, n), by one backward and one forward pass (envelope theorem)."""
    sol = riccati(A, B, problem.Q, problem.R, problem.horizon)
    X = second_moments(problem, A, B, sol.K, X1)
    G = np.zeros((problem.n, problem.p))
    for h in range(problem.horizon):
        M = sol.P[h + 1] @ (A + B @ sol.K[h]) @ X[h]
        G += np.hstack([M, M @ sol.K[h].T])
    return _cost(sol.P, X[0], problem.W), 2.0 * np.ascontiguousarray(G.T)


def stage_costs(problem: Problem, states: Array, controls: Array) -> Array:
    """c_h = x'Qx + u'Ru of one trajectory: states (T+1, n) or (T, n), controls (T, d)."""
    x = states[: controls.shape[0]]
    return np.asarray(
        np.einsum("hi,ij,hj->h", x, problem.Q, x) + np.einsum("hi,ij,hj->h", controls, problem.R, controls)
    )


def _cost(P: Array, X1: Array, W: Array) -> float:
    """Infinite where the numbers are beyond float64."""
    with np.errstate(all="ignore"):
        total = float(np.sum(P[0] * X1) + np.einsum("hij,ij->", P[1:], W))
    return total if math.isfinite(total) else math.inf
