"""Certified upper bound of the worst J^K of fixed gains over a belief: convex in one multiplier a step, minimised.

Any μ with μ_hI ≻ P_{h+1} gives a valid bound; outside that domain the bound is +∞.
"""

from __future__ import annotations

import numpy as np

from .compiling import room_jit
from .optimistic_small import (
    answer,
    damp,
    inner,
    multiply,
    multiply_left_transposed,
    multiply_right_transposed,
    positive_inverse,
)


@room_jit
def upper_step(P, mu, L, G, N, stage, bar, out):  # type: ignore[no-untyped-def]
    """P_h = stage + μG'NG + L'P̄L with P̄ = μP(μI − P)⁻¹; False outside the domain. Fills P̄."""
    n = P.shape[0]
    M, low, LP, NG = np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), np.empty(G.shape)
    inverse = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            M[i, j] = (mu if i == j else 0.0) - P[i, j]
    if not positive_inverse(M, low, inverse):
        return False
    damp(P, inverse, mu, bar)
    multiply_left_transposed(L, bar, LP)
    multiply(N, G, NG)
    for i in range(n):
        for j in range(i + 1):
            s = stage[i, j]
            for k in range(n):
                s += LP[i, k] * L[k, j]
            for k in range(G.shape[0]):
                s += mu * G[k, i] * NG[k, j]
            out[i, j] = s
            out[j, i] = s
    return True


@room_jit
def closed_loop(A, B, K, L, G):  # type: ignore[no-untyped-def]
    """L = A + BK and G = [I; K]."""
    n, d = B.shape
    for i in range(n):
        for j in range(n):
            s = A[i, j]
            for a in range(d):
                s += B[i, a] * K[a, j]
            L[i, j] = s
            G[i, j] = 1.0 if i == j else 0.0
    for a in range(d):
        for j in range(n):
            G[n + a, j] = K[a, j]


@room_jit
def upper_value(mu, ratio, A, B, K, N, Q, R, X1, W, excitation, slope):  # type: ignore[no-untyped-def]
    """U(μ) and ∂U/∂μ into `slope`. With ratio > 0 each μ_h is first set to ratio × ‖P_{h+1}‖."""
    n, d = B.shape
    steps = mu.size
    Ps, bars = np.empty((steps + 1, n, n)), np.empty((steps, n, n))
    L, G = np.empty((n, n)), np.empty((n + d, n))
    stage, RK, price = np.empty((n, n)), np.empty((d, n)), 0.0
    BP, e2 = np.empty((d, n)), excitation * excitation
    for h in range(steps, -1, -1):
        multiply(R, K[h], RK)
        multiply_left_transposed(K[h], RK, stage)
        for i in range(n):
            for j in range(n):
                stage[i, j] += Q[i, j]
        for a in range(d):
            price += e2 * R[a, a]
        if h == steps:
            Ps[h] = stage
            continue
        closed_loop(A, B, K[h], L, G)
        if ratio > 0.0:
            mu[h] = ratio * np.sqrt(inner(Ps[h + 1], Ps[h + 1])) + 1e-300
        if not upper_step(Ps[h + 1], mu[h], L, G, N, stage, bars[h], Ps[h]):
            return np.inf
        multiply_left_transposed(B, bars[h], BP)
        for a in range(d):
            price += e2 * mu[h] * N[n + a, n + a]
            for k in range(n):
                price += e2 * BP[a, k] * B[k, a]
    value = inner(Ps[0], X1) + price
    for h in range(1, steps + 1):
        value += inner(Ps[h], W)
    if not np.isfinite(value):
        return np.inf
    _upper_slopes(mu, A, B, K, N, X1, W, e2, bars, slope)
    return value


@room_jit
def _upper_slopes(mu, A, B, K, N, X1, W, e2, bars, slope):  # type: ignore[no-untyped-def]
    """∂U/∂μ_h = E[z'Nz] − E[v'v] under the worst v."""
    n, d = B.shape
    X, LX, Y = X1.copy(), np.empty((n, n)), np.empty((n, n))
    L, G, V, VY = np.empty((n, n)), np.empty((n + d, n)), np.empty((n, n)), np.empty((n, n))
    GX, NG = np.empty((n + d, n)), np.empty((n + d, n))
    for h in range(mu.size):
        closed_loop(A, B, K[h], L, G)
        multiply(L, X, LX)
        multiply_right_transposed(LX, L, Y)
        multiply(G, X, GX)
        multiply(N, G, NG)
        zNz = inner(NG, GX)
        for a in range(d):
            zNz += e2 * N[n + a, n + a]
        for i in range(n):
            for j in range(n):
                V[i, j] = bars[h, i, j] / mu[h]  # v = V y
                for a in range(d):
                    Y[i, j] += e2 * B[i, a] * B[j, a]
        slope[h] = zNz - answer(V, Y, W, VY, X)


@room_jit
def best_upper(A, B, K, N, Q, R, X1, W, excitation, rounds, mu):  # type: ignore[no-untyped-def]
    """The least U found, its multipliers in `mu` (H−1,): one ratio μ_h/‖P_{h+1}‖ first, then each step its own."""
    steps = mu.size
    slope, trial, fresh = np.empty(steps), np.empty(steps), np.empty(steps)
    best, centre, width = np.inf, 3.0, 2.0
    for sweep in range(5):
        here = centre
        for k in range(-6, 7):
            exponent = here + width * k
            if exponent < -4.0 or exponent > 40.0:
                continue
            value = upper_value(trial, np.exp(exponent), A, B, K, N, Q, R, X1, W, excitation, slope)
            if value < best:
                best, centre = value, exponent
                mu[:] = trial
        if best == np.inf and sweep == 0:
            centre = 20.0
        else:
            width /= 5.0
    if best == np.inf or steps == 0:
        return best
    value = upper_value(mu, 0.0, A, B, K, N, Q, R, X1, W, excitation, slope)
    gradient = mu * slope
    step = 0.1 / max(np.abs(gradient).max(), 1e-300)
    for _ in range(rounds):
        moved = False
        for _ in range(12):
            for h in range(steps):
                trial[h] = mu[h] * np.exp(min(1.0, max(-1.0, -step * gradient[h])))
            value = upper_value(trial, 0.0, A, B, K, N, Q, R, X1, W, excitation, fresh)
            if value < best:
                moved = True
                break
            step *= 0.25
        if not moved:
            break
        ss, sy = 0.0, 0.0
        for h in range(steps):
            s = np.log(trial[h] / mu[h])
            following = trial[h] * fresh[h]
            ss += s * s
            sy += s * (following - gradient[h])
            gradient[h] = following
            mu[h] = trial[h]
        gain = best - value
        best = value
        step = ss / sy if sy > 0.0 else 2.0 * step
        if gain < 1e-7 * abs(best):
            break
    return best
