"""Products and inverses of tiny matrices, written out: a library call costs more than the work itself."""

from __future__ import annotations

import numpy as np

from .compiling import room_jit


@room_jit
def multiply(a, b, out):  # type: ignore[no-untyped-def]
    """out = a b."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            out[i, j] = s


@room_jit
def multiply_left_transposed(a, b, out):  # type: ignore[no-untyped-def]
    """out = a' b."""
    for i in range(a.shape[1]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[0]):
                s += a[k, i] * b[k, j]
            out[i, j] = s


@room_jit
def multiply_right_transposed(a, b, out):  # type: ignore[no-untyped-def]
    """out = a b'."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[j, k]
            out[i, j] = s


@room_jit
def inner(a, b):  # type: ignore[no-untyped-def]
    """tr(a'b)."""
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            s += a[i, j] * b[i, j]
    return s


@room_jit
def positive_inverse(M, L, out):  # type: ignore[no-untyped-def]
    """out = M⁻¹ through M = LL'; False, and nothing written to `out`, where M is not positive definite."""
    n = M.shape[0]
    size = 0.0
    for i in range(n):
        size = max(size, abs(M[i, i]))
    for i in range(n):
        for j in range(i + 1):
            s = M[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                if not s > 1e-14 * size:
                    return False
                L[i, i] = np.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    for j in range(n):
        for i in range(n):  # L y = e_j
            s = 1.0 if i == j else 0.0
            for k in range(i):
                s -= L[i, k] * out[k, j]
            out[i, j] = s / L[i, i]
        for i in range(n - 1, -1, -1):  # L' x = y
            s = out[i, j]
            for k in range(i + 1, n):
                s -= L[k, i] * out[k, j]
            out[i, j] = s / L[i, i]
    return True


@room_jit
def damp(P, inverse, mu, out):  # type: ignore[no-untyped-def]
    """out = μP·(μI ± P)⁻¹, symmetric, as a product: the shorter μ(I − μ(μI + P)⁻¹) cancels where μ is large."""
    n = P.shape[0]
    for i in range(n):
        for j in range(i + 1):
            s, t = 0.0, 0.0
            for k in range(n):
                s += P[i, k] * (mu * inverse[k, j])
                t += P[j, k] * (mu * inverse[k, i])
            out[i, j] = 0.5 * (s + t)
            out[j, i] = out[i, j]


@room_jit
def answer(V, Y, W, VY, X):  # type: ignore[no-untyped-def]
    """E‖v‖² for v = Vy with E yy' = Y; X becomes the second moment of y + v + w. VY is scratch."""
    n = V.shape[0]
    multiply(V, Y, VY)
    multiply_right_transposed(VY, V, X)
    total = 0.0
    for i in range(n):
        total += X[i, i]
    for i in range(n):
        for j in range(n):
            X[i, j] += Y[i, j] + VY[i, j] + VY[j, i] + W[i, j]
    return total
