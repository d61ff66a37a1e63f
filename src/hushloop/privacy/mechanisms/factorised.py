"""Prefix sums through the best lower-triangular strategy: the least worst-case noise that one collection allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ...device import Collection
from ...errors import InvalidInput
from ..budget import Adjacency, Budget, Guarantee
from ..noise import NoiseSource
from ..release import Sums
from ..sensitivity import NoiseScales, noise_scales, pair_sensitivity
from .base import Array, Key, Memory, Noise, Step, dump_sums, load_sums, same_collection, sums_of
from .factorise import BITS, Factorisation, factorise
from .promise import promise

ADJACENT: tuple[Adjacency, ...] = ("replace-one", "zero-out")


@dataclass(frozen=True, eq=False)
class Factorised:
    """At block j measure (C·x)_j + noise, x the blocks' sums, and release the prefix Σᵢ D_ji·measuredᵢ.

    C is on the grid 2⁻¹⁶, reports are on 2⁻³⁰, so C·x is exact on 2⁻⁴⁶, and so is the noise, drawn there. With K users
    of energy E an entry needs 46 + log₂(K·E) bits and a sign: whole numbers of Python, which cannot overflow.
    """

    collection: Collection
    budget: Budget
    releases: int
    name: str = "factorised"
    kind: Literal["block", "prefix"] = "prefix"
    fixed: bool = True
    isotropic: bool = True

    @cached_property
    def strategy(self) -> Factorisation:
        return factorise(self.releases)

    @cached_property
    def given(self) -> NoiseScales:
        return noise_scales(self.collection, self.budget.mu, self.budget.adjacency)

    def scales(self, collection: Collection) -> NoiseScales:
        return self.given

    def check(self, collection: Collection, scales: NoiseScales) -> None:
        if not same_collection(collection, self.collection):
            raise InvalidInput("collection", "is not the one that this strategy was made for", "make another one")
        if scales is not self.given and scales != self.given:
            raise InvalidInput("scales", "differ from the strategy's own", "one strategy has one noise")

    def start(self, p: int, n: int) -> Memory:
        return {"p": p, "n": n, "blocks": (), "measured": ()}

    def keys(self, memory: Memory, users: int) -> tuple[Key, ...] | None:
        index = len(memory["blocks"])
        return None if index >= self.releases else ((0, index),)

    def draw(self, source: NoiseSource, key: Key, p: int, n: int, scales: NoiseScales) -> Noise:
        return Noise.drawn(source, key, p, n, scales, self.isotropic, BITS)

    def release(self, memory: Memory, sums: Sums, noise: Mapping[Key, Noise]) -> Step:
        j = len(memory["blocks"])
        blocks = (*memory["blocks"], sums)
        row = [int(c) for c in self.strategy.units[j, : j + 1]]
        S = sum(c * x.S for c, x in zip(row, blocks, strict=True))
        C = sum(c * x.C for c, x in zip(row, blocks, strict=True))
        N, L = noise[0, j].hide(*sums_of(S, C, memory["p"], memory["n"]))
        measured = (*memory["measured"], (N * 2.0**-BITS, L * 2.0**-BITS))
        decode = self.strategy.D[j]
        T1 = sum(d * m[0] for d, m in zip(decode, measured, strict=False))
        T2 = sum(d * m[1] for d, m in zip(decode, measured, strict=False))
        after = {**memory, "blocks": blocks, "measured": measured}
        return Step(after, np.asarray(T1), np.asarray(T2), float(np.linalg.norm(decode)))

    def skip(self, memory: Memory, sums: Sums) -> Memory:
        return memory

    def weights(self, ends: tuple[int, ...]) -> Array:
        return self.strategy.D[: len(ends)]

    def guarantee(self, delta: float, adjacency: Adjacency) -> Guarantee:
        a, b = 1.0 / self.given.sigma_s, 1.0 / self.given.sigma_c
        mus = {key: pair_sensitivity(self.collection, a, b, key) for key in ADJACENT}
        mus[self.budget.adjacency] = min(mus[self.budget.adjacency], self.budget.mu)
        return promise(mus, delta, adjacency, self.budget.participations, self.budget)

    def dump(self, memory: Memory) -> dict[str, Any]:
        measured = [[m[0].tolist(), m[1].tolist()] for m in memory["measured"]]
        return {**memory, "blocks": [dump_sums(x) for x in memory["blocks"]], "measured": measured}

    def load(self, value: Mapping[str, Any]) -> Memory:
        measured = tuple((np.array(m[0]), np.array(m[1])) for m in value["measured"])
        return {**value, "blocks": tuple(load_sums(x) for x in value["blocks"]), "measured": measured}
