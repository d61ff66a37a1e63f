"""The simulation's noise: a function of (seed, number), the right law, many trials at once."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushloop.privacy.mechanisms.stream import KEPT, RUN, StreamNoise
from hushloop.privacy.sensitivity import NoiseScales

SCALES = NoiseScales(3.0, 0.5)


def test_a_number_has_its_noise_whatever_was_asked_before() -> None:
    forward, backward = StreamNoise(1), StreamNoise(1)
    numbers = [0, 1, RUN - 1, RUN, 5 << 48 | 17, (KEPT + 3) * RUN]
    one = {k: forward.draw(3, 2, SCALES, k) for k in numbers}
    for k in reversed(numbers):
        N, L = backward.draw(3, 2, SCALES, k)
        assert (one[k][0] == N).all()
        assert (one[k][1] == L).all()
        assert (N == N.T).all()
    assert len({float(N[0, 0]) for N, _ in one.values()}) == len(numbers)


def test_old_runs_are_dropped() -> None:
    source = StreamNoise(1)
    for k in range(3 * KEPT):
        source.draw(3, 2, SCALES, k * RUN)
    assert len(source._runs) == KEPT


@pytest.mark.parametrize("isotropic", [True, False])
def test_trials_have_the_declared_spread(isotropic: bool) -> None:
    n = 50_000
    N, L = StreamNoise(2, trials=n).draw(3, 2, SCALES, 4, isotropic)
    assert N.shape == (n, 3, 3)
    assert L.shape == (n, 3, 2)
    off = 3.0 / math.sqrt(2) if isotropic else 3.0
    # a sample variance lies within 2√(x/n) + 2x/n of the truth but for 2e⁻ˣ (Laurent and Massart); 9 entries
    x = math.log(2 * 9 / 1e-6)
    slack = 2 * math.sqrt(x / n) + 2 * x / n
    for sample, deviation in ((N[:, 0, 0], 3.0), (N[:, 0, 1], off), (N[:, 1, 2], off), (L[:, 2, 1], 0.5)):
        assert abs(np.mean(sample**2) / deviation**2 - 1) < slack
