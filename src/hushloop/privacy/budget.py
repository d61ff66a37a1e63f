"""What is promised: a budget that someone asks for, and the guarantee that a mechanism gives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from ..errors import InvalidInput

Adjacency = Literal["replace-one", "zero-out"]
ADJACENCIES: tuple[str, ...] = get_args(Adjacency)
LARGEST_EPSILON = 1e6
RESERVED = 1e-6
"""The share of δ that is kept for noise in whole numbers, which is Gaussian but for that (see `noise`)."""


def other(adjacency: Adjacency) -> Adjacency:
    """The adjacency that is not this one."""
    return "zero-out" if adjacency == "replace-one" else "replace-one"


@dataclass(frozen=True)
class Budget:
    """(ε, δ) for a person who sends at most `participations` reports, under a named adjacency."""

    epsilon: float
    delta: float = 1e-6
    adjacency: Adjacency = "replace-one"
    participations: int = 1

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise InvalidInput("epsilon", f"is {self.epsilon}", "give a finite number above 0")
        if self.epsilon > LARGEST_EPSILON:
            raise InvalidInput("epsilon", f"is {self.epsilon}", f"above {LARGEST_EPSILON:g} nothing is promised")
        if not (math.isfinite(self.delta) and 0 < self.delta < 1):
            raise InvalidInput("delta", f"is {self.delta}", "give a number above 0 and below 1, such as 1e-6")
        if self.adjacency not in ADJACENCIES:
            raise InvalidInput("adjacency", f"is {self.adjacency!r}", f"choose one of {', '.join(ADJACENCIES)}")
        if isinstance(self.participations, bool) or not isinstance(self.participations, int) or self.participations < 1:
            raise InvalidInput("participations", f"is {self.participations!r}", "give a whole number of at least 1")

    @property
    def mu(self) -> float:
        """The μ of Gaussian differential privacy that one report may spend at (1 − RESERVED)δ, rounded down."""
        from .accounting import mu_of

        return mu_of(self.epsilon, self.delta * (1.0 - RESERVED)) / self.participations * (1.0 - 2.0**-48)


@dataclass(frozen=True)
class Guarantee:
    """What truly holds, per person, under `adjacency`; `also` gives ε at the same δ under the other adjacency."""

    adjacency: Adjacency
    epsilon: float
    delta: float
    mu: float
    also: dict[str, float]
