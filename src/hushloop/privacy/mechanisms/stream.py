"""Simulation noise that is a function of (seed, number) alone, cheap for long streams, and many trials at once."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..noise import Pair
from ..release import upper_index
from ..sensitivity import NoiseScales

Array = NDArray[np.float64]
RUN = 64
"""Numbers that share one generator, since to make one costs more than to draw from it."""
KEPT = 128


@dataclass(frozen=True)
class StreamNoise:
    """Like `SeededNoise`, for simulations alone. With `trials` each draw has a leading axis of independent trials."""

    seed: int
    purpose: str = "stream"
    trials: int | None = None
    _runs: dict[tuple[int, int], Array] = field(default_factory=dict, compare=False, repr=False)

    name = "numpy"
    grid = False
    description = (
        "a seeded pseudo-random stream (numpy, Philox) in floating point: for simulations alone. Whoever knows the "
        "seed can subtract the noise, so nobody is protected by it"
    )

    def draw(self, p: int, n: int, scales: NoiseScales, index: int, isotropic: bool = True) -> Pair:
        upper = p * (p + 1) // 2
        z = self._normals(index, upper + p * n)
        L = z[..., upper:] * scales.sigma_c
        N = z[..., upper_index(p)] * _spread(p, scales.sigma_s, isotropic)
        return N, L.reshape(*L.shape[:-1], p, n)

    def _normals(self, index: int, size: int) -> Array:
        if self.trials is not None:
            return self._generator(index, size).standard_normal((self.trials, size))
        run = (index // RUN, size)
        if run not in self._runs:
            if len(self._runs) >= KEPT:
                self._runs.pop(next(iter(self._runs)))
            self._runs[run] = self._generator(run[0], size).standard_normal((RUN, size))
        row: Array = self._runs[run][index % RUN]
        return row

    def _generator(self, number: int, size: int) -> np.random.Generator:
        key = np.random.SeedSequence(self.seed, spawn_key=(zlib.crc32(self.purpose.encode()), size, number))
        return np.random.Generator(np.random.Philox(key))


@lru_cache(maxsize=256)
def _spread(p: int, sigma_s: float, isotropic: bool) -> Array:
    """Standard deviation of each entry of N."""
    out = np.full((p, p), sigma_s / math.sqrt(2.0) * (1.0 + 2.0**-50) if isotropic else sigma_s)
    np.fill_diagonal(out, sigma_s)
    return out
