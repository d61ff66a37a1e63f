"""How far one report can move the weighted pair (aS, bC), and the noise that this asks for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..device import Collection
from ..device.report import GRID
from .budget import Adjacency

UP = 1.0 + 1e-12
"""Every result is rounded up by more than float64 can have lost."""


@dataclass(frozen=True)
class NoiseScales:
    """Standard deviation of a diagonal entry of the noise on S, and of an entry of the noise on C."""

    sigma_s: float
    sigma_c: float


def pair_sensitivity(collection: Collection, a: float, b: float, adjacency: Adjacency) -> float:
    """Δ ≥ sup √(a²‖S−S'‖² + b²‖C−C'‖²) over the reports of two episodes (or one and zeros), the grid included."""
    E, B2 = collection.energy, collection.response_energy
    s, c = a * a, b * b
    if adjacency == "zero-out":
        square = s * E**2 + c * E * B2
    elif c * B2 <= 2 * s * E:
        square = 2 * s * E**2 + 2 * c * E * B2 + (c * B2) ** 2 / (2 * s)
    else:
        square = 4 * c * E * B2
    p, n = collection.p, collection.n
    return (math.sqrt(square) + GRID * math.sqrt(s * p * p + c * p * n)) * UP


def noise_scales(collection: Collection, mu: float, adjacency: Adjacency, rho: float | None = None) -> NoiseScales:
    """The scales with Δ = μ that are best for the learner: least ρ²σ_S² + σ_C²."""
    E, B2 = collection.energy, collection.response_energy
    radius = collection.rho if rho is None else rho
    if not math.isfinite(radius):
        radius = 1.0
    if adjacency == "zero-out":
        ratio = math.sqrt(E / B2) / radius  # b²/a²
    else:
        ratio = (-B2 + math.sqrt(B2**2 + 16 * B2 * radius**2 * E)) / (4 * B2 * radius**2)
        ratio = min(ratio, 2 * E / B2)
    a = 1.0
    b = math.sqrt(ratio)
    scale = pair_sensitivity(collection, a, b, adjacency) / mu * UP
    return NoiseScales(scale / a, scale / b)
