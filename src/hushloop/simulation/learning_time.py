"""How many users it takes until those who come next lose little."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def learning_time(ends: NDArray[np.float64], losses: NDArray[np.float64], bound: float) -> float:
    """The first K at which the mean loss of users K+1..2K is at most `bound`; infinite where there is none.

    `ends` are the users at the end of each block and `losses` the mean loss in it: between ends the running total is
    linear, so f(K) = R(2K) − R(K) − bound·K is linear between the ends and their halves.
    """
    ends = np.concatenate([[0.0], np.asarray(ends, dtype=float)])
    totals = np.concatenate([[0.0], np.cumsum(np.diff(ends) * losses)])
    last = ends[-1] / 2
    knots = np.unique(np.concatenate([ends, ends / 2, [1.0, last]]))
    knots = knots[(knots >= 1.0) & (knots <= last)]
    if knots.size == 0:
        return math.inf
    f = np.interp(2 * knots, ends, totals) - np.interp(knots, ends, totals) - bound * knots
    below = np.flatnonzero(f <= 0)
    if below.size == 0:
        return math.inf
    k = int(below[0])
    if k == 0:
        return float(knots[0])
    x0, x1, f0, f1 = knots[k - 1], knots[k], f[k - 1], f[k]
    return float(x0 + (x1 - x0) * f0 / (f0 - f1))


def spread(values: list[float]) -> dict[str, float | None]:
    """Median and the 10–90 % band; what is infinite is None."""
    out: dict[str, float | None] = {}
    for key, q in (("median", 0.5), ("low", 0.1), ("high", 0.9)):
        v = float(np.quantile(values, q, method="higher" if q > 0.1 else "lower")) if values else math.inf
        out[key] = v if math.isfinite(v) else None
    return out
