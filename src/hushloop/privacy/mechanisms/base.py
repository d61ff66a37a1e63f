"""The nouns of a release mechanism: a draw of noise, and what a strategy must say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...device import Collection
from ...device.report import GRID
from ..budget import Adjacency, Guarantee
from ..noise import NoiseSource
from ..release import Sums, upper_index
from ..sensitivity import NoiseScales

Array = NDArray[np.float64]
Key = tuple[int, int]
"""What one draw of noise is for: (0, block), or (level, node) in a tree. A key is never used for two draws."""

Memory = dict[str, Any]
"""What a strategy remembers between blocks: plain values that it alone reads. Steps never change it in place."""


@dataclass(frozen=True, eq=False)
class Noise:
    """One draw: floats in plain units (a leading axis of trials is allowed), or whole numbers in grid units."""

    N: NDArray[Any]  # (p, p) symmetric
    L: NDArray[Any]  # (p, n)

    @staticmethod
    def drawn(
        source: NoiseSource, key: Key, p: int, n: int, scales: NoiseScales, isotropic: bool, bits: int = 0
    ) -> Noise:
        """From a source, under the key's own number; `bits` measures on a grid that is finer by that many."""
        number = key[0] << 48 | key[1]
        fine = NoiseScales(scales.sigma_s * 2.0**bits, scales.sigma_c * 2.0**bits)
        return Noise(*source.draw(p, n, fine, number, isotropic))

    @property
    def exact(self) -> bool:
        """Whole numbers in grid units, and not floats."""
        return self.N.dtype == object

    def __add__(self, more: Noise) -> Noise:
        return Noise(self.N + more.N, self.L + more.L)

    def hide(self, S: NDArray[Any], C: NDArray[Any]) -> tuple[Array, Array]:
        """S + N and C + L as floats, of exact sums in grid units; with exact noise the addition is exact too."""
        if self.exact:
            return (S + self.N).astype(float) * GRID, (C + self.L).astype(float) * GRID
        return S.astype(float) * GRID + self.N, C.astype(float) * GRID + self.L

    def to_dict(self) -> dict[str, Any]:
        return {"exact": self.exact, "N": self.N.tolist(), "L": self.L.tolist()}

    @staticmethod
    def from_dict(value: Mapping[str, Any]) -> Noise:
        dtype = object if value["exact"] else float
        return Noise(np.array(value["N"], dtype=dtype), np.array(value["L"], dtype=dtype))


class Step(NamedTuple):
    """What one release gives: the memory after it, and the noise in it as a multiple of the measurement's scales."""

    memory: Memory
    T1: Array
    T2: Array
    factor: float


class Strategy(Protocol):
    """What a mechanism is: a description with pure steps. The book-keeping around it is `Mechanism`'s.

    The block sums x₀, x₁, … are measured as linear combinations, each hidden by noise of its own key, and a release is
    a function of what was measured.
    """

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> Literal["block", "prefix"]:
        """Whether a release sums up its own block or everybody so far."""
        ...

    @property
    def fixed(self) -> bool:
        """One collection for the whole stream."""
        ...

    @property
    def isotropic(self) -> bool:
        """Noise on S: isotropic, or mirrored from the upper triangle."""
        ...

    def scales(self, collection: Collection) -> NoiseScales:
        """Noise of one measurement of the reports of this collection."""
        ...

    def check(self, collection: Collection, scales: NoiseScales) -> None:
        """Refuse what would break the guarantee."""
        ...

    def start(self, p: int, n: int) -> Memory:
        """Memory before the first block."""
        ...

    def keys(self, memory: Memory, users: int) -> tuple[Key, ...] | None:
        """Noise that is still to be drawn for a release after `users` more; None: the schedule has no release there."""
        ...

    def draw(self, source: NoiseSource, key: Key, p: int, n: int, scales: NoiseScales) -> Noise:
        """The noise of one key."""
        ...

    def release(self, memory: Memory, sums: Sums, noise: Mapping[Key, Noise]) -> Step:
        """Measure the sums of one block and release."""
        ...

    def skip(self, memory: Memory, sums: Sums) -> Memory:
        """Memory after a block that ends without a release."""
        ...

    def weights(self, ends: tuple[int, ...]) -> Array:
        """Which noise is in which release: release t, after `ends[t]` users, holds Σ_j W[t, j]·noise_j, in σ units."""
        ...

    def guarantee(self, delta: float, adjacency: Adjacency) -> Guarantee:
        """What the whole transcript, for ever, keeps for one person."""
        ...

    def dump(self, memory: Memory) -> dict[str, Any]:
        """Memory as plain lists and numbers."""
        ...

    def load(self, value: Mapping[str, Any]) -> Memory:
        """And back."""
        ...


def sums_of(S: NDArray[Any], C: NDArray[Any], p: int, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Flat exact sums as matrices of the same whole numbers: (p, p) and (p, n)."""
    return S[upper_index(p)], C.reshape(p, n)


def dump_sums(sums: Sums) -> dict[str, Any]:
    return {"users": sums.users, "S": [int(v) for v in sums.S], "C": [int(v) for v in sums.C]}


def load_sums(value: Mapping[str, Any]) -> Sums:
    return Sums(value["users"], np.array(value["S"], dtype=object), np.array(value["C"], dtype=object))


def same_collection(one: Collection, other: Collection) -> bool:
    """Equal in everything but the block's number."""
    if one is other:
        return True
    return {**dump_collection(one), "block": 0} == {**dump_collection(other), "block": 0}


def dump_collection(collection: Collection) -> dict[str, Any]:
    value = {field.name: getattr(collection, field.name) for field in fields(collection)}
    return {key: entry.tolist() if isinstance(entry, np.ndarray) else entry for key, entry in value.items()}


def load_collection(value: Mapping[str, Any]) -> Collection:
    entries: dict[str, Any] = {k: np.array(v) if isinstance(v, list) else v for k, v in value.items()}
    return Collection(**entries)
