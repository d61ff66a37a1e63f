"""Small plots in text, for terminals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

Curve = Sequence[tuple[float, float]]


def log_plot(curves: Mapping[str, Curve], x_label: str, width: int = 64, height: int = 12) -> str:
    """Points (x, y) on two logarithmic axes, joined by steps; one mark a curve, the first on top."""
    points = [(x, y) for curve in curves.values() for x, y in curve if x > 0 and y > 0]
    if not points:
        return ""
    left, right = (f(math.log10(x) for x, _ in points) for f in (min, max))
    bottom, top = (f(math.log10(y) for _, y in points) for f in (min, max))
    right, top = max(right, left + 1e-9), max(top, bottom + 1e-9)
    grid = [[" "] * width for _ in range(height)]
    for mark, curve in reversed(list(curves.items())):
        ordered = sorted((math.log10(x), math.log10(y)) for x, y in curve if x > 0 and y > 0)
        for column in range(width):
            at = left + (right - left) * column / (width - 1)
            y = _at(ordered, at)
            if y is not None:
                row = round((y - bottom) / (top - bottom) * (height - 1))
                grid[height - 1 - row][column] = mark
    edges = [f"{10**top:9.3g} |", *[" " * 9 + " |"] * (height - 2), f"{10**bottom:9.3g} |"]
    lines = [edge + "".join(row).rstrip() for edge, row in zip(edges, grid, strict=True)]
    axis = f"{10**left:.3g} {x_label}".ljust(width - 8) + f"{10**right:8.3g}"
    return "\n".join([*lines, " " * 10 + "+" + "-" * width, " " * 11 + axis])


def _at(points: Sequence[tuple[float, float]], x: float) -> float | None:
    """Linear between points; None outside them."""
    if not points or x < points[0][0] - 1e-9 or x > points[-1][0] + 1e-9:
        return None
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 <= x <= x1:
            return y0 if x1 == x0 else y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return points[0][1] if x <= points[0][0] else points[-1][1]
