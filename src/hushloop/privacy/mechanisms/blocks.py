"""One Gaussian release a block, under the block's own collection; μ-GDP by parallel composition, for ever."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ...device import Collection
from ...errors import InvalidInput
from ..budget import RESERVED, Adjacency, Budget, Guarantee, other
from ..noise import NoiseSource, discretisation_delta
from ..release import Sums
from ..sensitivity import NoiseScales, noise_scales, pair_sensitivity
from .base import Array, Key, Memory, Noise, Step, sums_of
from .promise import promise

FACTOR: dict[Adjacency, float] = {"replace-one": math.sqrt(0.5), "zero-out": 2.0}
"""The other adjacency's pair bound over the budget's, at most: 2Δ₀² ≤ Δ₁² ≤ 4Δ₀² for zero-out Δ₀, replace-one Δ₁."""


@dataclass(frozen=True)
class Blocks:
    """A user lies in one block alone, so blocks share the budget without splitting it, and K need not be known."""

    budget: Budget
    name: str = "blocks"
    kind: Literal["block", "prefix"] = "block"
    fixed: bool = False
    isotropic: bool = True

    @cached_property
    def mu(self) -> float:
        """What one report may spend."""
        return self.budget.mu

    def scales(self, collection: Collection) -> NoiseScales:
        return noise_scales(collection, self.mu, self.budget.adjacency)

    def check(self, collection: Collection, scales: NoiseScales) -> None:
        """Scales may be chosen per block, if only the block's own pair keeps within the budget."""
        asked = self.budget.adjacency
        for adjacency, allowed in ((asked, self.mu), (other(asked), self._other)):
            spent = pair_sensitivity(collection, 1 / scales.sigma_s, 1 / scales.sigma_c, adjacency)
            if spent > allowed:
                raise InvalidInput("scales", f"spend μ = {spent:.6g}", f"{allowed:.6g} is allowed: add more noise")

    @property
    def _other(self) -> float:
        """μ under the other adjacency, whatever collections are still to come."""
        return self.mu * FACTOR[self.budget.adjacency] * (1 + 1e-6)

    def start(self, p: int, n: int) -> Memory:
        return {"p": p, "n": n, "index": 0}

    def keys(self, memory: Memory, users: int) -> tuple[Key, ...]:
        return ((0, memory["index"]),)

    def draw(self, source: NoiseSource, key: Key, p: int, n: int, scales: NoiseScales) -> Noise:
        """Whole numbers are refused where what they add to δ is more than the budget has reserved for it."""
        budget = self.budget
        if source.grid:
            extra = budget.participations * discretisation_delta(p, n, scales, budget.epsilon, self.isotropic)
            if extra > RESERVED * budget.delta:
                raise InvalidInput(
                    "epsilon", f"is {budget.epsilon:g}, where noise in whole numbers adds {extra:.2g} to δ",
                    "ask for a smaller ε or a larger δ: at ε up to 15 it is far below what is reserved",
                )  # fmt: skip
        return Noise.drawn(source, key, p, n, scales, self.isotropic)

    def release(self, memory: Memory, sums: Sums, noise: Mapping[Key, Noise]) -> Step:
        index = memory["index"]
        T1, T2 = noise[0, index].hide(*sums_of(sums.S, sums.C, memory["p"], memory["n"]))
        return Step({**memory, "index": index + 1}, T1, T2, 1.0)

    def skip(self, memory: Memory, sums: Sums) -> Memory:
        return {**memory, "index": memory["index"] + 1}

    def weights(self, ends: tuple[int, ...]) -> Array:
        return np.eye(len(ends))

    def guarantee(self, delta: float, adjacency: Adjacency) -> Guarantee:
        mus = {self.budget.adjacency: self.mu, other(self.budget.adjacency): self._other}
        return promise(mus, delta, adjacency, self.budget.participations, self.budget)

    def dump(self, memory: Memory) -> dict[str, Any]:
        return dict(memory)

    def load(self, value: Mapping[str, Any]) -> Memory:
        return dict(value)
