"""Where the noise of a release comes from: a seeded stream for simulations, exact integers for deployments."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..device.report import GRID
from ..errors import InvalidInput, MissingExtra
from .sensitivity import NoiseScales

UP = 1.0 + 2.0**-50
SMALLEST = 2.0
"""The least integer scale for which the distance to a rounded Gaussian is proven (`discretisation_delta`)."""

LARGEST = 2.0**57
"""The largest integer scale: 64 standard deviations still fit the sampler's 64 bits."""

Pair = tuple[NDArray[Any], NDArray[Any]]
"""(N (p, p) symmetric, L (p, n)): noise for T1 and T2."""


class NoiseSource(Protocol):
    """Draws the noise of one release. `grid` says whether it counts in grid units (whole numbers) or in plain ones."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def grid(self) -> bool: ...

    def draw(self, p: int, n: int, scales: NoiseScales, index: int, isotropic: bool = True) -> Pair:
        """Noise number `index`. The same number is never to be asked for twice for different sums."""
        ...


@dataclass(frozen=True)
class SeededNoise:
    """A stream that depends on (seed, purpose, index) alone: results reproduce, and whoever knows the seed knows it."""

    seed: int
    purpose: str = "release"

    name = "numpy"
    grid = False
    description = (
        "a seeded pseudo-random stream (numpy, Philox) in floating point: for simulations alone. Whoever knows the "
        "seed can subtract the noise, so nobody is protected by it"
    )

    def draw(self, p: int, n: int, scales: NoiseScales, index: int, isotropic: bool = True) -> Pair:
        key = np.random.SeedSequence(self.seed, spawn_key=(zlib.crc32(self.purpose.encode()), index))
        rng = np.random.Generator(np.random.Philox(key))
        off = scales.sigma_s / math.sqrt(2.0) * UP if isotropic else scales.sigma_s
        z = rng.standard_normal(p * (p + 1) // 2 + p * n)
        diagonal, above, cross = np.split(z, [p, p * (p + 1) // 2])
        N = _symmetric(p, diagonal * scales.sigma_s, above * off)
        return N, (cross * scales.sigma_c).reshape(p, n)


@dataclass(frozen=True)
class ExactNoise:
    """Whole numbers from the exact discrete Gaussian, with the operating system's entropy: none can be drawn again."""

    name = "opendp"
    grid = True
    description = (
        "an exact discrete Gaussian on the grid of the reports (OpenDP), from the operating system's entropy, "
        "drawn before the data it protects and never from a stored seed"
    )

    def draw(self, p: int, n: int, scales: NoiseScales, index: int, isotropic: bool = True) -> Pair:
        """`index` changes nothing here: each call is fresh."""
        s, off, c = integer_scales(scales, isotropic)
        diagonal = discrete_gaussian(s, p)
        above = discrete_gaussian(off, p * (p - 1) // 2)
        return _symmetric(p, diagonal, above), discrete_gaussian(c, p * n).reshape(p, n)


def integer_scales(scales: NoiseScales, isotropic: bool) -> tuple[float, float, float]:
    """Scales on the grid of a diagonal entry, an entry above it and an entry of the cross sums; each rounded up."""
    off = scales.sigma_s / math.sqrt(2.0) * UP if isotropic else scales.sigma_s
    out = tuple(math.nextafter(s / GRID, math.inf) for s in (scales.sigma_s, off, scales.sigma_c))
    if not SMALLEST <= min(out) <= max(out) <= LARGEST:
        raise InvalidInput(
            "noise scale",
            f"is {max(out) * GRID:.3g} (least {min(out) * GRID:.3g})",
            f"the exact sampler takes {SMALLEST * GRID:.1g} to {LARGEST * GRID:.1g}: change `energy` or `epsilon`",
        )
    return out[0], out[1], out[2]


def discrete_gaussian(scale: float, size: int) -> NDArray[Any]:
    """`size` independent exact discrete Gaussians of parameter `scale`, as Python whole numbers."""
    out = np.empty(size, dtype=object)
    out[:] = _sampler(scale)([0] * size) if size else []
    return out


@lru_cache(maxsize=64)
def _sampler(scale: float) -> Any:
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingExtra("opendp", "service") from None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    return dp.m.make_gaussian(*space, scale=scale)


def discretisation_delta(p: int, n: int, scales: NoiseScales, epsilon: float, isotropic: bool = True) -> float:
    """What whole-number noise adds to δ(ε) of the continuous Gaussian.

    A discrete Gaussian of parameter s lies within 1/(16 s²) in total variation of the rounded continuous one, which
    keeps the continuous guarantee by post-processing (docs/devdocs/accounting.md).
    """
    s, off, c = integer_scales(scales, isotropic)
    total = (p / s**2 + p * (p - 1) / 2 / off**2 + p * n / c**2) / 16.0
    return (1.0 + math.exp(min(epsilon, 700.0))) * total * UP


def _symmetric(p: int, diagonal: NDArray[Any], above: NDArray[Any]) -> NDArray[Any]:
    N = np.zeros((p, p), dtype=diagonal.dtype)
    rows, columns = np.triu_indices(p, 1)
    N[rows, columns] = above
    N[columns, rows] = above
    N[np.diag_indices(p)] = diagonal
    return N
