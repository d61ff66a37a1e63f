"""Certified lower bound of the least J* over a belief: the Lagrangian dual D(μ), one multiplier a step, maximised.

Θ in the belief acts as an extra input v with ‖v‖² ≤ z'Nz. Any μ ≥ 0 at which the recursion stays in its domain gives a
valid bound, so the search need not converge to be right.
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
def lower_value(mu, A, B, N, Q, R, X1, W, slope):  # type: ignore[no-untyped-def]
    """D(μ), and ∂D/∂μ into `slope`; −∞ outside the domain. μ has H − 1 entries: the last step needs none."""
    n, d = B.shape
    steps = mu.size
    Ps, Ks, bars = np.empty((steps + 1, n, n)), np.empty((steps, d, n)), np.empty((steps, n, n))
    M, L, Mi, BP, AP = np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), np.empty((d, n)), np.empty((n, n))
    U, Ui, Lu, F = np.empty((d, d)), np.empty((d, d)), np.empty((d, d)), np.empty((d, n))
    Ps[steps] = Q
    for h in range(steps - 1, -1, -1):
        P = Ps[h + 1]
        for i in range(n):
            for j in range(n):
                M[i, j] = P[i, j] + (mu[h] if i == j else 0.0)
        if not positive_inverse(M, L, Mi):
            return -np.inf
        bar = bars[h]
        damp(P, Mi, mu[h], bar)
        multiply_left_transposed(B, bar, BP)
        multiply_left_transposed(A, bar, AP)
        multiply(BP, B, U)
        multiply(BP, A, F)
        for a in range(d):
            for b in range(d):
                U[a, b] += R[a, b] - mu[h] * N[n + a, n + b]
            for j in range(n):
                F[a, j] -= mu[h] * N[n + a, j]
        if not positive_inverse(U, Lu, Ui):
            return -np.inf
        for a in range(d):
            for j in range(n):
                s = 0.0
                for b in range(d):
                    s -= Ui[a, b] * F[b, j]
                Ks[h, a, j] = s
        for i in range(n):
            for j in range(i + 1):
                s = Q[i, j] - mu[h] * N[i, j]
                for k in range(n):
                    s += AP[i, k] * A[k, j]
                for a in range(d):
                    s += F[a, i] * Ks[h, a, j]
                Ps[h, i, j] = s
                Ps[h, j, i] = s
    value = inner(Ps[0], X1)
    for h in range(1, steps + 1):
        value += inner(Ps[h], W)
    if not np.isfinite(value):
        return -np.inf
    _lower_slopes(mu, A, B, N, X1, W, Ks, bars, slope)
    return value


@room_jit
def _lower_slopes(mu, A, B, N, X1, W, Ks, bars, slope):  # type: ignore[no-untyped-def]
    """∂D/∂μ_h = E[v'v] − E[z'Nz] where both players answer best."""
    n, d = B.shape
    X, LX, Y, G = X1.copy(), np.empty((n, n)), np.empty((n, n)), np.empty((n + d, n))
    Lc, V, VY = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    GX, NG = np.empty((n + d, n)), np.empty((n + d, n))
    for i in range(n):
        for j in range(n):
            G[i, j] = 1.0 if i == j else 0.0
    for h in range(mu.size):
        for a in range(d):
            for j in range(n):
                G[n + a, j] = Ks[h, a, j]
        for i in range(n):
            for j in range(n):
                s = A[i, j]
                for a in range(d):
                    s += B[i, a] * Ks[h, a, j]
                Lc[i, j] = s
                V[i, j] = -bars[h, i, j] / mu[h] if mu[h] > 0.0 else 0.0  # v = V y
        multiply(Lc, X, LX)
        multiply_right_transposed(LX, Lc, Y)
        multiply(G, X, GX)
        multiply(N, G, NG)
        slope[h] = answer(V, Y, W, VY, X) - inner(NG, GX)


@room_jit
def best_lower(A, B, N, Q, R, X1, W, steps, guess, rounds, mu):  # type: ignore[no-untyped-def]
    """The best D found, its multipliers in `mu` (steps,): one μ for all steps first, then each its own."""
    slope, trial, fresh = np.empty(steps), np.empty(steps), np.empty(steps)
    if steps == 0:
        return lower_value(mu, A, B, N, Q, R, X1, W, slope)
    best = -np.inf
    low, high = 0.0, 0.0  # brackets of the best common μ: rising at `low`, falling or −∞ at `high`
    rising = 0.0
    current = guess
    for _ in range(60):
        trial[:] = current
        value = lower_value(trial, A, B, N, Q, R, X1, W, slope)
        rising = slope.sum() if value > -np.inf else -1.0
        if value > best:
            best = value
            mu[:] = current
        if rising > 0.0:
            low = current
        else:
            high = current
        if low > 0.0 and high > 0.0:
            if high / low < 1.3:
                break
            current = np.sqrt(low * high)
        else:
            current = current * 6.0 if high == 0.0 else current / 6.0
        if current > 1e15 * guess or current < 1e-15 * guess:
            break
    if best == -np.inf:
        return best
    value = lower_value(mu, A, B, N, Q, R, X1, W, slope)
    gradient = mu * slope  # in log μ, where the steps are of one size
    step = 0.1 / max(np.abs(gradient).max(), 1e-300)
    for _ in range(rounds):
        moved = False
        for _ in range(12):
            for h in range(steps):
                trial[h] = mu[h] * np.exp(min(1.0, max(-1.0, step * gradient[h])))
            value = lower_value(trial, A, B, N, Q, R, X1, W, fresh)
            if value > best:
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
            sy += s * (gradient[h] - following)
            gradient[h] = following
            mu[h] = trial[h]
        gain = value - best
        best = value
        step = ss / sy if sy > 0.0 else 2.0 * step
        if gain < 1e-5 * abs(best):
            break
    return best
