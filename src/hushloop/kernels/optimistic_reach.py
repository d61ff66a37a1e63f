"""How large C_h x_h can become over a belief: the recursion of the worst case with a squared output as its only cost.

For one Θ the state is a sum of answers to the start, to each disturbance and to each excitation, so the largest norm is
at most the sum of the largest norms of the answers, and each of those is bounded over the belief by one recursion.
"""

from __future__ import annotations

import numpy as np

from .compiling import room_jit
from .optimistic_small import inner, multiply, multiply_left_transposed
from .optimistic_upper import closed_loop, upper_step


@room_jit
def largest_eigenvalue(P):  # type: ignore[no-untyped-def]
    """An upper bound of λ_max of a positive semidefinite matrix: (tr P⁸)^{1/8}, at most n^{1/8} too large."""
    scale = 0.0
    for i in range(P.shape[0]):
        scale += P[i, i]
    if not scale > 0.0:
        return 0.0
    n = P.shape[0]
    one, two = np.empty((n, n)), np.empty((n, n))
    for i in range(n):
        for j in range(n):
            one[i, j] = P[i, j] / scale
    multiply(one, one, two)
    multiply(two, two, one)
    return scale * np.sqrt(np.sqrt(np.sqrt(inner(one, one))))


@room_jit
def output_bound(A, B, K, C, last, N, ratio, center, radius, disturbance, push):  # type: ignore[no-untyped-def]
    """A bound of ‖C x_last‖ with μ_h = ratio × ‖P_{h+1}‖; +∞ outside the recursion's domain."""
    n, d = B.shape
    P, following = np.empty((n, n)), np.empty((n, n))
    multiply_left_transposed(C, C, P)
    if inner(P, P) == 0.0:
        return 0.0
    L, G = np.empty((n, n)), np.empty((n + d, n))
    bar, nothing = np.empty((n, n)), np.zeros((n, n))
    BP, pushed = np.empty((d, n)), np.empty((d, d))
    total = 0.0
    for h in range(last - 1, -1, -1):
        total += disturbance * np.sqrt(largest_eigenvalue(P))  # w_h, the last thing that adds to x_{h+1}
        closed_loop(A, B, K[h], L, G)
        mu = ratio * np.sqrt(inner(P, P)) + 1e-300
        if not upper_step(P, mu, L, G, N, nothing, bar, following):
            return np.inf
        if push > 0.0:
            multiply_left_transposed(B, bar, BP)
            multiply(BP, B, pushed)
            for a in range(d):
                for b in range(d):
                    pushed[a, b] += mu * N[n + a, n + b]
            total += push * np.sqrt(largest_eigenvalue(pushed))
        for i in range(n):
            for j in range(n):
                P[i, j] = following[i, j]
    first = 0.0
    for i in range(n):
        for j in range(n):
            first += center[i] * P[i, j] * center[j]
    return total + np.sqrt(max(first, 0.0)) + radius * np.sqrt(largest_eigenvalue(P))


@room_jit
def largest_outputs(A, B, K, C, N, center, radius, disturbance, push):  # type: ignore[no-untyped-def]
    """For every step h a bound of ‖C_h x_h‖ over the belief: C (H, rows, n), push the largest ‖e_h‖."""
    out = np.empty(C.shape[0])
    for h in range(C.shape[0]):
        best = np.inf
        for k in range(14):
            ratio = 1.0 + np.exp(-3.0 + 0.8 * k)
            best = min(best, output_bound(A, B, K, C[h], h, N, ratio, center, radius, disturbance, push))
        out[h] = best
    return out
