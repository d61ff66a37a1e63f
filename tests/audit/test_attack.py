"""The attack's gradient against finite differences, and its sums against the device's."""

from __future__ import annotations

import numpy as np
import pytest

from hushloop.audit.attack import Consecutive, Free, distance, pull_back, weighted_sums
from hushloop.device import Collection
from hushloop.device.report import GRID, episode_sums

RNG = np.random.default_rng(11)
SHAPE = np.array([[0.5, 0.1, 0.0], [0.1, 0.3, 0.05], [0.0, 0.05, 0.4]])
WEIGHTING = np.array([[1.2, 0.3, -0.1], [0.3, 0.6, 0.2], [-0.1, 0.2, 2.0]])
CENTER = RNG.normal(size=(3, 2)) * 0.3
COLLECTIONS = [
    Collection(0, CENTER, SHAPE, 3.0, 0.1, None, 5),
    Collection(0, CENTER, SHAPE, 3.0, 0.1, 0.6, 5),
    Collection(0, np.zeros((3, 2)), None, 50.0, 0.1, 1.0, 5),
    Collection(0, CENTER, SHAPE, 3.0, 0.1, None, 5, response_budget=0.4),
    Collection(0, CENTER, SHAPE, 3.0, 0.1, None, 5, WEIGHTING, response_budget=9.0),
    Collection(0, CENTER, SHAPE, 9.0, 0.1, 0.6, 5, WEIGHTING, response_budget=0.4),
]


@pytest.mark.parametrize("family", [Free, Consecutive])
@pytest.mark.parametrize("c", COLLECTIONS)
def test_gradient_is_the_derivative(c: Collection, family: type[Free]) -> None:
    f = family(c)
    x = RNG.normal(size=(1, 1, *f.shape(5)))
    to_s, to_c = RNG.normal(size=(3, 3)), RNG.normal(size=(3, 2))
    to_s = to_s + to_s.T

    def value(at: np.ndarray) -> float:
        sums = weighted_sums(c, *f.parts(at))
        return float(np.sum(to_s * sums.S) + np.sum(to_c * sums.C))

    z, raw = f.parts(x)
    gradient = f.gather(*pull_back(c, z, raw, weighted_sums(c, z, raw), to_s, to_c))
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = 1e-6
        numeric = (value(x + step) - value(x - step)) / 2e-6
        assert gradient[index] == pytest.approx(numeric, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("c", COLLECTIONS)
def test_sums_are_those_of_the_device(c: Collection) -> None:
    family, x = Consecutive(c), RNG.normal(size=(6, 3))
    rows = family.rows(x)
    z, raw = family.parts(x)
    sums = weighted_sums(c, z, raw)
    S, C = episode_sums(c, rows[:, :2], rows[:-1, 2:])
    assert sums.S[np.triu_indices(3)] == pytest.approx(S * GRID, abs=2 * GRID)
    assert sums.C.ravel() == pytest.approx(C * GRID, abs=2 * GRID)


def test_distance_is_weighted_frobenius() -> None:
    c = COLLECTIONS[0]
    z, raw = Free(c).parts(RNG.normal(size=(1, 2, 5, 5)))
    at = weighted_sums(c, z, raw)
    dS, dC = at.S[0, 0] - at.S[0, 1], at.C[0, 0] - at.C[0, 1]
    expected = np.sqrt(4 * np.sum(dS**2) + 9 * np.sum(dC**2))
    assert distance(2.0, 3.0, at, "replace-one")[0] == pytest.approx(expected)
