"""J* and its gradient in Θ for eight systems at once: the inner loop of optimistic planning.

A lane holds one Θ (p, n), row by row, so A[i, j] is entry (j, i) and B[i, a] is entry (n + a, i). The last step has
P_{H+1} = 0, hence u_H = 0 and P_H = Q: the recursion begins one step before it.
"""

from __future__ import annotations

import numpy as np

from .compiling import lane_jit, room_jit
from .optimistic_lanes import load, root, splat, store


def workspace_size(n: int, d: int, horizon: int) -> int:
    """Lane vectors that `lane_cost_gradient` needs: P, Y = P·L and K of every step, and what one step uses."""
    p = n + d
    return horizon * (2 * n * n + d * n) + n * p + d * d + 3 * n * n


@lane_jit
def lane_cost_gradient(T, G, J, Q, R, X1, W, horizon, n, d, work):  # type: ignore[no-untyped-def]
    """J (1 lane) and G = ∂J*/∂Θ (p·n lanes) at T (p·n lanes); Q, R, X1, W are plain matrices shared by all lanes."""
    p = n + d
    nn = n * n
    Ps = work
    Ys = work[8 * horizon * nn :]
    Ks = Ys[8 * horizon * nn :]
    F = Ks[8 * horizon * d * n :]
    S = F[8 * n * p :]
    X = S[8 * d * d :]
    L = X[8 * nn :]
    Z = L[8 * nn :]
    zero = splat(0.0)
    for i in range(n):
        for j in range(n):
            store(Ps, (horizon - 1) * nn + i * n + j, splat(Q[i, j]))
    for h in range(horizon - 2, -1, -1):
        P0, Y0, K0, P1 = h * nn, h * nn, h * d * n, (h + 1) * nn
        for i in range(n):  # F = P [A, B]
            for j in range(p):
                s = load(Ps, P1 + i * n) * load(T, j * n)
                for k in range(1, n):
                    s = s + load(Ps, P1 + i * n + k) * load(T, j * n + k)
                store(F, i * p + j, s)
        for a in range(d):  # S = R + B'PB, lower half; K = −B'PA before the solve
            for b in range(a + 1):
                s = splat(R[a, b])
                for k in range(n):
                    s = s + load(T, (n + a) * n + k) * load(F, k * p + n + b)
                store(S, a * d + b, s)
            for j in range(n):
                s = zero
                for k in range(n):
                    s = s - load(T, (n + a) * n + k) * load(F, k * p + j)
                store(Ks, K0 + a * n + j, s)
        for a in range(d):  # Cholesky; the diagonal holds 1/L[a, a]
            for b in range(a):
                s = load(S, a * d + b)
                for k in range(b):
                    s = s - load(S, a * d + k) * load(S, b * d + k)
                store(S, a * d + b, s * load(S, b * d + b))
            s = load(S, a * d + a)
            for k in range(a):
                s = s - load(S, a * d + k) * load(S, a * d + k)
            store(S, a * d + a, splat(1.0) / root(s))
        for j in range(n):
            for a in range(d):
                s = load(Ks, K0 + a * n + j)
                for k in range(a):
                    s = s - load(S, a * d + k) * load(Ks, K0 + k * n + j)
                store(Ks, K0 + a * n + j, s * load(S, a * d + a))
            for a in range(d - 1, -1, -1):
                s = load(Ks, K0 + a * n + j)
                for k in range(a + 1, d):
                    s = s - load(S, k * d + a) * load(Ks, K0 + k * n + j)
                store(Ks, K0 + a * n + j, s * load(S, a * d + a))
        for i in range(n):  # Y = P (A + BK)
            for j in range(n):
                s = load(F, i * p + j)
                for a in range(d):
                    s = s + load(F, i * p + n + a) * load(Ks, K0 + a * n + j)
                store(Ys, Y0 + i * n + j, s)
        for i in range(n):  # P = Q + A'Y, symmetric
            for j in range(i + 1):
                s = splat(Q[i, j])
                for k in range(n):
                    s = s + load(T, i * n + k) * load(Ys, Y0 + k * n + j)
                store(Ps, P0 + i * n + j, s)
                store(Ps, P0 + j * n + i, s)
    cost = zero
    for i in range(n):
        for j in range(n):
            cost = cost + load(Ps, i * n + j) * splat(X1[i, j])
            total = zero
            for h in range(1, horizon):
                total = total + load(Ps, h * nn + i * n + j)
            cost = cost + total * splat(W[i, j])
    store(J, 0, cost)
    for i in range(p * n):
        store(G, i, zero)
    for i in range(n):
        for j in range(n):
            store(X, i * n + j, splat(X1[i, j]))
    two = splat(2.0)
    for h in range(horizon - 1):
        Y0, K0 = h * nn, h * d * n
        for i in range(n):  # Z = P L X; the gradient is 2 Σ Z [I, K']
            for j in range(n):
                s = load(Ys, Y0 + i * n) * load(X, j)
                for k in range(1, n):
                    s = s + load(Ys, Y0 + i * n + k) * load(X, k * n + j)
                s = two * s
                store(Z, i * n + j, s)
                store(G, j * n + i, load(G, j * n + i) + s)
        for a in range(d):
            for i in range(n):
                s = load(G, (n + a) * n + i)
                for j in range(n):
                    s = s + load(Ks, K0 + a * n + j) * load(Z, i * n + j)
                store(G, (n + a) * n + i, s)
        if h < horizon - 2:
            for i in range(n):  # L = A + BK
                for j in range(n):
                    s = load(T, j * n + i)
                    for a in range(d):
                        s = s + load(T, (n + a) * n + i) * load(Ks, K0 + a * n + j)
                    store(L, i * n + j, s)
            for i in range(n):  # Z = L X
                for j in range(n):
                    s = load(L, i * n) * load(X, j)
                    for k in range(1, n):
                        s = s + load(L, i * n + k) * load(X, k * n + j)
                    store(Z, i * n + j, s)
            for i in range(n):  # X ← L X L' + W
                for j in range(i + 1):
                    s = splat(W[i, j])
                    for k in range(n):
                        s = s + load(Z, i * n + k) * load(L, j * n + k)
                    store(X, i * n + j, s)
                    store(X, j * n + i, s)


@room_jit
def eight_cost_gradients(T, G, J, Q, R, X1, W, horizon, n, d, work):  # type: ignore[no-untyped-def]
    """The same as a function of its own, for the tests."""
    lane_cost_gradient(T, G, J, Q, R, X1, W, horizon, n, d, work)


def lanes_of(items: np.ndarray) -> np.ndarray:
    """(8, …) items as one flat lane array."""
    return np.ascontiguousarray(np.moveaxis(items, 0, -1)).ravel()
