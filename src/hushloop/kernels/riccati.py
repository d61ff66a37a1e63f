"""Optimal cost, its gradient, gains and policy costs of many systems at once, eight side by side as lane vectors.

Every system is Θ = [A, B]' (p, n); Q, R, X₁ and W are shared. Lane arrays are described in `optimistic_lanes`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import lane_jit, room_jit
from .lane_products import add_product, add_symmetric, product
from .optimistic_lanes import LANES, lane_array, load, root, splat, store

Array = NDArray[np.float64]

SMALL, MANY = 6, 512
"""Systems with p up to SMALL, MANY of them at once, are worth a compilation of their own."""


def value_and_gradient(Theta: Array, Q: Array, R: Array, X1: Array, W: Array, horizon: int) -> tuple[Array, Array]:
    """(J* (N,), ∂J*/∂Θ (N, p, n)) of Theta (N, p, n)."""
    Theta, Q, R, X1, W = _plain(Theta, Q, R, X1, W)
    count, p, n = Theta.shape
    J, G = np.empty(count), np.empty((count, p, n))
    T, g, work = lane_array(p * n), lane_array(p * n), lane_array(gradient_space(n, p - n, horizon))
    small = p <= SMALL and count >= MANY
    kernel = _specialised(n, p - n) if small else _values_and_gradients
    kernel(Theta, Q, R, X1, W, horizon, J, G, T, g, lane_array(1), work)
    return J, G


def value(Theta: Array, Q: Array, R: Array, X1: Array, W: Array, horizon: int) -> Array:
    """J* (N,) of Theta (N, p, n)."""
    Theta, Q, R, X1, W = _plain(Theta, Q, R, X1, W)
    count, p, n = Theta.shape
    J = np.empty(count)
    _solve(Theta, Q, R, X1, W, horizon, False, J, np.empty((0, 0, p - n, n)), *_solve_space(p, n))
    return J


def gains(Theta: Array, Q: Array, R: Array, horizon: int) -> Array:
    """Optimal gains (N, H, d, n) of Theta (N, p, n)."""
    Theta, Q, R = _plain(Theta, Q, R)
    count, p, n = Theta.shape
    K = np.empty((count, horizon, p - n, n))
    zero = np.zeros((n, n))
    _solve(Theta, Q, R, zero, zero, horizon, True, np.empty(count), K, *_solve_space(p, n))
    return K


def policy_cost(Theta: Array, K: Array, Q: Array, R: Array, X1: Array, W: Array, excitation: float = 0.0) -> Array:
    """Costs (N, M) of the linear policies K (M, H, d, n), with a fair ±excitation in each input, on Theta (N, p, n)."""
    Theta, K, Q, R, X1, W = _plain(Theta, K, Q, R, X1, W)
    count, p, n = Theta.shape
    many, horizon = K.shape[:2]
    J = np.empty((count, many))
    stage = Q + np.einsum("mhai,ab,mhbj->mhij", K, R, K)
    _policies(Theta, K, stage, X1, W, excitation**2, lane_array(p * n), lane_array(n * n), lane_array(2 * n * n), J)
    return np.asarray(J + excitation**2 * horizon * np.trace(R))


def _plain(*arrays: Array) -> tuple[Array, ...]:
    """In one layout, so that each kernel is compiled once."""
    return tuple(np.ascontiguousarray(a, dtype=np.float64) for a in arrays)


def _solve_space(p: int, n: int) -> tuple[Array, ...]:
    d = p - n
    return (
        lane_array(p * n),
        lane_array(n * n),
        lane_array(n * p),
        lane_array(d * d),
        lane_array(d * n),
        lane_array(n * n),
    )


@lane_jit
def _gather(Theta, first, active, T):  # type: ignore[no-untyped-def]
    """Systems first..first+active−1 into the lanes of T; the last one fills what is left."""
    _, p, n = Theta.shape
    for i in range(p):
        for j in range(n):
            for l in range(LANES):
                T[(i * n + j) * LANES + l] = Theta[first + min(l, active - 1), i, j]


@room_jit
def _values_and_gradients(Theta, Q, R, X1, W, horizon, J, G, T, g, cost, work):  # type: ignore[no-untyped-def]
    n = Theta.shape[2]
    _sweep(Theta, Q, R, X1, W, horizon, n, Theta.shape[1] - n, J, G, T, g, cost, work)


@cache
def _specialised(n: int, d: int) -> Any:
    """The same for one n and d, known to the compiler, which then unrolls every loop: twice as fast."""

    def kernel(Theta, Q, R, X1, W, horizon, J, G, T, g, cost, work):  # type: ignore[no-untyped-def]
        _sweep(Theta, Q, R, X1, W, horizon, n, d, J, G, T, g, cost, work)

    return room_jit(kernel)


@lane_jit
def _sweep(Theta, Q, R, X1, W, horizon, n, d, J, G, T, g, cost, work):  # type: ignore[no-untyped-def]
    count, p = Theta.shape[0], n + d
    for first in range(0, count, LANES):
        active = min(LANES, count - first)
        _gather(Theta, first, active, T)
        _value_and_gradient(T, Q, R, X1, W, horizon, n, d, g, cost, work)
        for l in range(active):
            J[first + l] = cost[l]
            for i in range(p):
                for j in range(n):
                    G[first + l, i, j] = g[(i * n + j) * LANES + l]


def gradient_space(n: int, d: int, horizon: int) -> int:
    """Lane vectors that `_value_and_gradient` needs in `work`: Y and K of every step, and what one step uses."""
    return horizon * (n * n + d * n) + n * (n + d) + d * d + 4 * n * n


@lane_jit
def _value_and_gradient(T, Q, R, X1, W, horizon, n, d, G, J, work):  # type: ignore[no-untyped-def]
    """Lanes of J* and ∂J*/∂Θ by a backward and a forward pass.

    Since P_{H+1} = 0, the last step has u = 0 and P_H = Q: the recursion begins one step before it.
    """
    nn, p = n * n, n + d
    Y, K = work, work[horizon * nn * LANES :]
    F = K[horizon * d * n * LANES :]
    S = F[n * p * LANES :]
    P = S[d * d * LANES :]
    X, L, Z = P[nn * LANES :], P[2 * nn * LANES :], P[3 * nn * LANES :]
    for i in range(n):
        for j in range(n):
            store(P, i * n + j, splat(Q[i, j]))
            store(X, i * n + j, splat(X1[i, j]))
    for i in range(p * n):
        store(G, i, splat(0.0))
    total = splat(0.0)
    for h in range(horizon - 2, -1, -1):
        total = total + _trace(P, W, n)
        _optimal_step(T, n, d, Q, R, P, F, S, K, h * d * n, Y, h * nn)
    store(J, 0, total + _trace(P, X1, n))
    for h in range(horizon - 1):
        product(Z, 0, n, Y, h * nn, n, 1, X, 0, n, 1, n, n, n)  # Z = P L X
        for i in range(n):
            for j in range(n):
                store(G, j * n + i, load(G, j * n + i) + load(Z, i * n + j))
        add_product(G, n * n, n, K, h * d * n, n, 1, Z, 0, 1, n, d, n, n)  # B's rows: K Z'
        if h < horizon - 2:
            _closed_loop(T, K, h * d * n, n, d, L)
            product(Z, 0, n, L, 0, n, 1, X, 0, n, 1, n, n, n)
            add_symmetric(X, W, Z, 0, n, 1, L, 0, 1, n, n, n)  # X = W + L X L'
    for i in range(p * n):
        store(G, i, splat(2.0) * load(G, i))


@lane_jit
def _closed_loop(T, K, k0, n, d, L):  # type: ignore[no-untyped-def]
    """L = A + BK."""
    for i in range(n):
        for j in range(n):
            store(L, i * n + j, load(T, j * n + i))
    add_product(L, 0, n, T, n * n, 1, n, K, k0, n, 1, n, n, d)


@lane_jit
def _optimal_step(T, n, d, Q, R, P, F, S, K, k0, Y, y0):  # type: ignore[no-untyped-def]
    """K = −(R + B'PB)⁻¹B'PA by Cholesky at K[k0:], Y = P(A + BK) at Y[y0:], then P ← Q + A'Y.

    F (n, p) and S (d, d) are room to work in.
    """
    p = n + d
    product(F, 0, p, P, 0, n, 1, T, 0, 1, n, n, p, n)  # F = P [A, B]
    product(K, k0, n, T, n * n, n, 1, F, 0, p, 1, d, n, n)  # B'PA
    for a in range(d):
        for b in range(a + 1):
            s = splat(R[a, b])
            for k in range(n):
                s = s + load(T, (n + a) * n + k) * load(F, k * p + n + b)
            for k in range(b):
                s = s - load(S, a * d + k) * load(S, b * d + k)
            if a == b:  # the diagonal holds 1/L[a, a]
                store(S, a * d + a, splat(1.0) / root(s))
            else:
                store(S, a * d + b, s * load(S, b * d + b))
    for j in range(n):
        for a in range(d):
            s = load(K, k0 + a * n + j)
            for k in range(a):
                s = s - load(S, a * d + k) * load(K, k0 + k * n + j)
            store(K, k0 + a * n + j, s * load(S, a * d + a))
        for a in range(d - 1, -1, -1):
            s = load(K, k0 + a * n + j)
            for k in range(a + 1, d):
                s = s + load(S, k * d + a) * load(K, k0 + k * n + j)
            store(K, k0 + a * n + j, splat(-1.0) * (s * load(S, a * d + a)))
    for i in range(n):
        for j in range(n):
            store(Y, y0 + i * n + j, load(F, i * p + j))
    add_product(Y, y0, n, F, n, p, 1, K, k0, n, 1, n, n, d)
    add_symmetric(P, Q, T, 0, n, 1, Y, y0, n, 1, n, n)


@lane_jit
def _trace(P, W, n):  # type: ignore[no-untyped-def]
    s = splat(0.0)
    for i in range(n):
        for j in range(n):
            s = s + load(P, i * n + j) * splat(W[i, j])
    return s


@room_jit
def _solve(Theta, Q, R, X1, W, horizon, keep, J, gains, T, P, F, S, K, Y):  # type: ignore[no-untyped-def]
    count, p, n = Theta.shape
    d = p - n
    cost = P[:LANES]
    for first in range(0, count, LANES):
        active = min(LANES, count - first)
        _gather(Theta, first, active, T)
        for i in range(n * n):
            store(P, i, splat(0.0))
        total = splat(0.0)
        for h in range(horizon - 1, -1, -1):
            total = total + _trace(P, W, n)
            _optimal_step(T, n, d, Q, R, P, F, S, K, 0, Y, 0)
            if keep:
                for l in range(active):
                    for a in range(d):
                        for j in range(n):
                            gains[first + l, h, a, j] = K[(a * n + j) * LANES + l]
        total = total + _trace(P, X1, n)
        store(cost, 0, total)
        for l in range(active):
            J[first + l] = cost[l]


@room_jit
def _policies(Theta, gains, stage, X1, W, excitation_sq, T, P, LY, J):  # type: ignore[no-untyped-def]
    count, _, n = Theta.shape
    many, horizon, d, _ = gains.shape
    L, Y = LY[: n * n * LANES], LY[n * n * LANES :]
    for first in range(0, count, LANES):
        active = min(LANES, count - first)
        _gather(Theta, first, active, T)
        for m in range(many):
            for i in range(n * n):
                store(P, i, splat(0.0))
            total = splat(0.0)
            for h in range(horizon - 1, -1, -1):
                total = total + _trace(P, W, n)
                if excitation_sq != 0.0:
                    total = total + splat(excitation_sq) * _input_price(T, n, d, P)
                _policy_step(T, n, d, gains[m, h], stage[m, h], P, L, Y)
            total = total + _trace(P, X1, n)
            store(L, 0, total)
            for l in range(active):
                J[first + l, m] = L[l]


@lane_jit
def _input_price(T, n, d, P):  # type: ignore[no-untyped-def]
    """tr(B'PB)."""
    s = splat(0.0)
    for a in range(d):
        for i in range(n):
            row = splat(0.0)
            for j in range(n):
                row = row + load(P, i * n + j) * load(T, (n + a) * n + j)
            s = s + row * load(T, (n + a) * n + i)
    return s


@lane_jit
def _policy_step(T, n, d, K, stage, P, L, Y):  # type: ignore[no-untyped-def]
    """P ← stage + (A + BK)'P(A + BK)."""
    for i in range(n):
        for j in range(n):
            s = load(T, j * n + i)
            for a in range(d):
                s = s + load(T, (n + a) * n + i) * splat(K[a, j])
            store(L, i * n + j, s)
    product(Y, 0, n, P, 0, n, 1, L, 0, n, 1, n, n, n)
    add_symmetric(P, stage, L, 0, 1, n, Y, 0, n, 1, n, n)
