"""The numpy twin of `riccati`: the textbook recursions, batched over systems."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def solve(Theta: Array, Q: Array, R: Array, horizon: int) -> tuple[Array, Array]:
    """P (H+1, N, n, n) and K (H, N, d, n) of Theta (N, p, n)."""
    count, p, n = Theta.shape
    A, B = split(Theta)
    P, K = np.zeros((horizon + 1, count, n, n)), np.zeros((horizon, count, p - n, n))
    for h in range(horizon - 1, -1, -1):
        PA, PB = P[h + 1] @ A, P[h + 1] @ B
        K[h] = -np.linalg.solve(R + turned(B) @ PB, turned(B) @ PA)
        step = Q + turned(A) @ (PA + PB @ K[h])
        P[h] = (step + turned(step)) / 2
    return P, K


def value(Theta: Array, Q: Array, R: Array, X1: Array, W: Array, horizon: int) -> Array:
    P, _ = solve(Theta, Q, R, horizon)
    return np.asarray(np.einsum("cij,ij->c", P[0], X1) + np.einsum("hcij,ij->c", P[1:], W))


def value_and_gradient(Theta: Array, Q: Array, R: Array, X1: Array, W: Array, horizon: int) -> tuple[Array, Array]:
    A, B = split(Theta)
    P, K = solve(Theta, Q, R, horizon)
    X, G = np.broadcast_to(X1, P[0].shape), np.zeros((Theta.shape[0], Theta.shape[2], Theta.shape[1]))
    for h in range(horizon):
        L = A + B @ K[h]
        M = P[h + 1] @ L @ X
        G += np.concatenate([M, M @ turned(K[h])], axis=2)
        X = L @ X @ turned(L) + W
    J = np.einsum("cij,ij->c", P[0], X1) + np.einsum("hcij,ij->c", P[1:], W)
    return np.asarray(J), 2.0 * turned(G)


def gains(Theta: Array, Q: Array, R: Array, horizon: int) -> Array:
    return np.moveaxis(solve(Theta, Q, R, horizon)[1], 0, 1)


def policy_cost(Theta: Array, K: Array, Q: Array, R: Array, X1: Array, W: Array, excitation: float = 0.0) -> Array:
    A, B = split(Theta)
    out = np.zeros((Theta.shape[0], K.shape[0]))
    for m, policy in enumerate(K):
        P = np.zeros_like(A)
        for step in policy[::-1]:
            noise = W + excitation**2 * (B @ turned(B))
            out[:, m] += np.einsum("cij,cij->c", P, noise) + excitation**2 * np.trace(R)
            L = A + B @ step
            P = Q + step.T @ R @ step + turned(L) @ P @ L
        out[:, m] += np.einsum("cij,ij->c", P, X1)
    return out


def split(Theta: Array) -> tuple[Array, Array]:
    n = Theta.shape[2]
    return turned(Theta[:, :n]), turned(Theta[:, n:])


def turned(M: Array) -> Array:
    return np.swapaxes(M, -1, -2)
