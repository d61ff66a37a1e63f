"""Products of small matrices of lane vectors, in tiles of 2×2: every vector that is loaded is used twice.

A factor is (array, first vector, step from row to row, step from column to column), in units of vectors, so that a part
or a transpose costs nothing. An odd edge is computed twice rather than treated apart.
"""

from __future__ import annotations

from .compiling import lane_jit
from .optimistic_lanes import load, splat, store


@lane_jit
def _tile(a, a0, a1, ak, b, b0, b1, bk, depth, s00, s01, s10, s11):  # type: ignore[no-untyped-def]
    for k in range(depth):
        x0, x1 = load(a, a0 + k * ak), load(a, a1 + k * ak)
        y0, y1 = load(b, b0 + k * bk), load(b, b1 + k * bk)
        s00 = s00 + x0 * y0
        s01 = s01 + x0 * y1
        s10 = s10 + x1 * y0
        s11 = s11 + x1 * y1
    return s00, s01, s10, s11


@lane_jit
def product(c, c0, ci, a, a0, ai, ak, b, b0, bk, bj, rows, columns, depth):  # type: ignore[no-untyped-def]
    """C = A B; C's columns follow each other."""
    zero = splat(0.0)
    for i in range(0, rows, 2):
        i1 = min(i + 1, rows - 1)
        for j in range(0, columns, 2):
            j1 = min(j + 1, columns - 1)
            s00, s01, s10, s11 = _tile(
                a, a0 + i * ai, a0 + i1 * ai, ak, b, b0 + j * bj, b0 + j1 * bj, bk, depth, zero, zero, zero, zero
            )
            store(c, c0 + i * ci + j, s00)
            store(c, c0 + i * ci + j1, s01)
            store(c, c0 + i1 * ci + j, s10)
            store(c, c0 + i1 * ci + j1, s11)


@lane_jit
def add_product(c, c0, ci, a, a0, ai, ak, b, b0, bk, bj, rows, columns, depth):  # type: ignore[no-untyped-def]
    """C ← C + A B."""
    for i in range(0, rows, 2):
        i1 = min(i + 1, rows - 1)
        for j in range(0, columns, 2):
            j1 = min(j + 1, columns - 1)
            at00, at01, at10, at11 = c0 + i * ci + j, c0 + i * ci + j1, c0 + i1 * ci + j, c0 + i1 * ci + j1
            s00, s01, s10, s11 = _tile(
                a, a0 + i * ai, a0 + i1 * ai, ak, b, b0 + j * bj, b0 + j1 * bj, bk, depth,
                load(c, at00), load(c, at01), load(c, at10), load(c, at11),
            )  # fmt: skip
            store(c, at00, s00)
            store(c, at01, s01)
            store(c, at10, s10)
            store(c, at11, s11)


@lane_jit
def add_symmetric(c, M, a, a0, ai, ak, b, b0, bk, bj, size, depth):  # type: ignore[no-untyped-def]
    """C = M + A B where that is known to be symmetric: the lower tiles, mirrored. M is a plain matrix."""
    for i in range(0, size, 2):
        i1 = min(i + 1, size - 1)
        for j in range(0, i + 1, 2):
            j1 = min(j + 1, size - 1)
            s00, s01, s10, s11 = _tile(
                a, a0 + i * ai, a0 + i1 * ai, ak, b, b0 + j * bj, b0 + j1 * bj, bk, depth,
                splat(M[i, j]), splat(M[i, j1]), splat(M[i1, j]), splat(M[i1, j1]),
            )  # fmt: skip
            store(c, i * size + j, s00)
            store(c, j * size + i, s00)
            store(c, i * size + j1, s01)
            store(c, j1 * size + i, s01)
            store(c, i1 * size + j1, s11)
            store(c, j1 * size + i1, s11)
            store(c, i1 * size + j, s10)
            store(c, j * size + i1, s10)
