"""Learning time against a search over every K."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushloop.simulation.learning_time import learning_time, spread


def brute(ends: np.ndarray, losses: np.ndarray, bound: float) -> float:
    each = np.concatenate([np.full(int(b - a), loss) for a, b, loss in zip([0, *ends[:-1]], ends, losses, strict=True)])
    totals = np.concatenate([[0.0], np.cumsum(each)])
    for k in range(1, each.size // 2 + 1):
        if totals[2 * k] - totals[k] <= bound * k:
            return k
    return math.inf


@pytest.mark.parametrize("seed", range(40))
def test_against_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.cumsum(rng.integers(1, 200, size=rng.integers(1, 12))).astype(float)
    losses = rng.uniform(size=ends.size) * 0.7 ** np.arange(ends.size)
    found, expected = learning_time(ends, losses, 0.1), brute(ends, losses, 0.1)
    if math.isinf(expected):
        assert math.isinf(found) or found >= ends[-1] // 2
    else:
        assert found <= expected < found + 1 + 1e-9


def test_no_block_long_enough_is_infinite_and_infinity_is_null() -> None:
    assert math.isinf(learning_time(np.array([1.0]), np.array([5.0]), 0.1))
    assert spread([math.inf, math.inf, 3.0]) == {"median": None, "low": 3.0, "high": None}
    assert spread([1.0, 2.0, 3.0])["median"] == 2.0
