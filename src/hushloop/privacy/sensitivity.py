"""How far one report can move the weighted pair (aS, bC), and the noise that this asks for.

Proofs, and who attains what: docs/devdocs/sensitivity.md. The attacks on these numbers are in audit/attack.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..device import Collection
from ..device.report import GRID
from ..errors import InvalidInput
from .budget import ADJACENCIES, Adjacency

UP = 1.0 + 1e-12
"""Every result is rounded up by more than float64 can have lost."""


@dataclass(frozen=True)
class NoiseScales:
    """Standard deviation of a diagonal entry of the noise on S, and of an entry of the noise on C."""

    sigma_s: float
    sigma_c: float


def pair_sensitivity(collection: Collection, a: float, b: float, adjacency: Adjacency) -> float:
    """Δ ≥ sup √(a²‖S−S'‖² + b²‖C−C'‖²) over the reports of two episodes (or one and zeros), the grid included."""
    _check_adjacency(adjacency)
    if not (math.isfinite(a) and math.isfinite(b) and a >= 0 and b >= 0 and a + b > 0):
        raise InvalidInput("weights", f"are {a} and {b}", "give finite numbers that are not negative, one above 0")
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


def separate_sensitivities(collection: Collection, adjacency: Adjacency) -> tuple[float, float]:
    """(sup ‖S−S'‖, sup ‖C−C'‖): each attained, under replace-one not by the same pair of episodes."""
    return pair_sensitivity(collection, 1.0, 0.0, adjacency), pair_sensitivity(collection, 0.0, 1.0, adjacency)


def noise_scales(collection: Collection, mu: float, adjacency: Adjacency, rho: float | None = None) -> NoiseScales:
    """The scales with Δ = μ that are best for the learner: least ρ²σ_S² + σ_C².

    ρ is the radius of what Θ* − Θ_c may be: λ_max(M), or 1 (the paper's ball) where M is unbounded.
    """
    _check_adjacency(adjacency)
    if not (math.isfinite(mu) and mu > 0):
        raise InvalidInput("mu", f"is {mu}", "give a finite number above 0; no noise is the mechanism `none`")
    radius = collection.rho if rho is None else rho
    if rho is None and math.isinf(radius):
        radius = 1.0
    E, B2 = collection.energy, collection.response_energy
    if not (math.isfinite(radius) and radius > 0 and B2 > 0):
        raise InvalidInput("shape", f"leaves the radius {radius} and the response energy {B2}", "both must be above 0")
    b = math.sqrt(best_ratio(E, B2, radius, adjacency))
    scale = pair_sensitivity(collection, 1.0, b, adjacency) / mu * UP
    return NoiseScales(scale, scale / b * UP)


def best_ratio(E: float, B2: float, rho: float, adjacency: Adjacency) -> float:
    """b²/a² at which ρ²σ_S² + σ_C² is least. Under replace-one it lies inside the first branch, below 2E/B₂."""
    if adjacency == "zero-out":
        return math.sqrt(E / B2) / rho
    return 4.0 * E / (B2 + math.sqrt(B2 * (B2 + 16.0 * rho**2 * E)))


def _check_adjacency(adjacency: str) -> None:
    if adjacency not in ADJACENCIES:
        raise InvalidInput("adjacency", f"is {adjacency!r}", f"choose one of {', '.join(ADJACENCIES)}")
