"""Exact sums of everybody so far, for the non-private baseline. It promises nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...device import Collection
from ..budget import Adjacency, Guarantee, other
from ..noise import NoiseSource
from ..release import Sums
from ..sensitivity import NoiseScales
from .base import Array, Key, Memory, Noise, Step, dump_sums, load_sums


@dataclass(frozen=True)
class Exact:
    """No noise. `kind` "prefix" sums up everybody under one collection; "block" gives each block's own sums."""

    name: str = "none"
    kind: Literal["block", "prefix"] = "prefix"
    isotropic: bool = True

    @property
    def fixed(self) -> bool:
        return self.kind == "prefix"

    def scales(self, collection: Collection) -> NoiseScales:
        return NoiseScales(0.0, 0.0)

    def check(self, collection: Collection, scales: NoiseScales) -> None:
        """Nothing is promised, so nothing can be broken."""

    def start(self, p: int, n: int) -> Memory:
        return {"sums": Sums.zero(p, n), "p": p, "n": n}

    def keys(self, memory: Memory, users: int) -> tuple[Key, ...]:
        return ()

    def draw(self, source: NoiseSource, key: Key, p: int, n: int, scales: NoiseScales) -> Noise:
        return Noise(np.zeros((p, p)), np.zeros((p, n)))

    def release(self, memory: Memory, sums: Sums, noise: Mapping[Key, Noise]) -> Step:
        total = memory["sums"] + sums if self.kind == "prefix" else sums
        T1, T2 = total.matrices(memory["p"], memory["n"])
        return Step({**memory, "sums": total}, T1, T2, 0.0)

    def skip(self, memory: Memory, sums: Sums) -> Memory:
        return {**memory, "sums": memory["sums"] + sums}

    def weights(self, ends: tuple[int, ...]) -> Array:
        return np.zeros((len(ends), 1))

    def guarantee(self, delta: float, adjacency: Adjacency) -> Guarantee:
        return Guarantee(adjacency, math.inf, delta, math.inf, {other(adjacency): math.inf})

    def dump(self, memory: Memory) -> dict[str, Any]:
        return {**memory, "sums": dump_sums(memory["sums"])}

    def load(self, value: Mapping[str, Any]) -> Memory:
        return {**value, "sums": load_sums(value["sums"])}
