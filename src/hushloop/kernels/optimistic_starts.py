"""Feasible starting points of the descent: named models moved to their nearest point of the belief, then directions."""

from __future__ import annotations

import numpy as np

from .compiling import room_jit
from .project_pair import project_rows


@room_jit
def place_starts(C, U, m, c, r, cut, models, directions, out):  # type: ignore[no-untyped-def]
    """Fill out (count, p, n) with V: models Θ (k, p, n) first, then unit-ball directions. False: an empty belief."""
    p, n = C.shape
    count = out.shape[0]
    b, ones, squares = np.empty((p, n)), np.ones(p), m * m
    radius = r if cut else 1e300
    for s in range(count):
        if s < models.shape[0]:
            for i in range(p):
                for j in range(n):
                    total = 0.0
                    for k in range(p):
                        total += U[k, i] * (models[s, k, j] - C[k, j])
                    b[i, j] = m[i] * total
            meets = project_rows(b, c, squares, m, radius, out[s])
        else:
            meets = True
            direction = directions[s - models.shape[0]]
            if cut:
                meets = project_rows(direction, c, ones, m, r, out[s])
            else:
                out[s] = direction
        if not meets:
            return False
    return True
