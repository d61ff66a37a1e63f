"""Noise sources that an audit puts in the place of the real one: recorded, and shifted by whole grid units."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..device.report import GRID
from ..privacy.mechanisms import NoiseSource
from ..privacy.noise import Pair
from ..privacy.sensitivity import NoiseScales


@dataclass(frozen=True, eq=False)
class Draw:
    """One request for noise, as the mechanism made it."""

    index: int
    scales: NoiseScales
    isotropic: bool

    def cost(self, N: NDArray[Any], L: NDArray[Any]) -> float:
        """How far a shift of this noise, in grid units, lies from 0 in standard deviations, squared."""
        p = N.shape[0]
        off = self.scales.sigma_s / (math.sqrt(2.0) if self.isotropic else 1.0)
        spread = np.full((p, p), off)
        np.fill_diagonal(spread, self.scales.sigma_s)
        S = np.triu(N.astype(float) * GRID / spread)
        C = L.astype(float) * GRID / self.scales.sigma_c
        return float((S * S).sum() + (C * C).sum())


@dataclass(eq=False)
class Shifted:
    """A source in whole grid units, like a deployment's, whose draws are moved by chosen amounts. It keeps a record."""

    inner: NoiseSource
    shifts: dict[int, tuple[NDArray[Any], NDArray[Any]]] = field(default_factory=dict)
    draws: list[Draw] = field(default_factory=list)

    name = "audit"
    description = "whole numbers made from a seeded stream: for audits alone"
    grid = True

    def draw(self, p: int, n: int, scales: NoiseScales, index: int, isotropic: bool = True) -> Pair:
        self.draws.append(Draw(index, scales, isotropic))
        N, L = (whole_units(part) for part in self.inner.draw(p, n, scales, index, isotropic))
        if index in self.shifts:
            N, L = N + self.shifts[index][0], L + self.shifts[index][1]
        return N, L


def whole_units(values: NDArray[Any]) -> NDArray[Any]:
    """Plain floats as whole numbers of grid units, in an object array of Python integers."""
    out = np.empty(values.shape, dtype=object)
    out.ravel()[:] = [round(float(v) / GRID) for v in values.ravel()]
    return out
