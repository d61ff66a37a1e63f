"""The paper's binary counters: a noisy node for each dyadic interval, a release after every episode."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from ...device import Collection
from ...errors import InvalidInput
from ..budget import Adjacency, Budget, Guarantee
from ..noise import NoiseSource
from ..release import Sums
from ..schedule import whole
from ..sensitivity import NoiseScales, noise_scales, pair_sensitivity
from .base import Array, Key, Memory, Noise, Step, dump_sums, load_sums, same_collection, sums_of
from .promise import promise

ADJACENT: tuple[Adjacency, ...] = ("replace-one", "zero-out")


@dataclass(frozen=True, eq=False)
class Tree:
    """Release k is the sum of the noisy nodes that cover 1..k: k and its popcount are public, its noise popcount(k)·σ².

    A person lies in at most `levels` of the nodes that are ever released, one a level, and so spends √levels·Δ.
    The nodes are nested sums of whole numbers, so a release is the exact sum of everybody plus the noise of its nodes;
    only the noise of the nodes that cover 1..k is kept. A block may hold many users: the releases that nobody asked
    for are skipped, which is post-processing, and the one at k does not depend on how it was reached.
    """

    collection: Collection
    levels: int
    given: NoiseScales
    isotropic: bool
    participations: int = 1
    budget: Budget | None = None
    name: str = "tree"
    kind: Literal["block", "prefix"] = "prefix"
    fixed: bool = True

    def __post_init__(self) -> None:
        whole("levels", self.levels)

    @staticmethod
    def spending(budget: Budget, collection: Collection, users: int, isotropic: bool = True) -> Tree:
        """The least noise with which `users` releases, the one after the last user included, keep the budget."""
        whole("users", users)
        levels = users.bit_length()
        share = budget.mu / math.sqrt(levels) * (1.0 - 1e-14)
        scales = noise_scales(collection, share, budget.adjacency)
        return Tree(collection, levels, scales, isotropic, budget.participations, budget)

    @staticmethod
    def printed(collection: Collection, scales: NoiseScales, users: int, participations: int = 1) -> Tree:
        """The paper's m = ⌈log₂K⌉ levels (at least 1), given scales and mirrored noise: releases after 1..K−1 users.

        Where K is no power of 2 the release after K fits as well; where it is one, that block closes without a release.
        """
        whole("users", users)
        return Tree(collection, max(1, (users - 1).bit_length()), scales, False, participations)

    def scales(self, collection: Collection) -> NoiseScales:
        return self.given

    def check(self, collection: Collection, scales: NoiseScales) -> None:
        if not same_collection(collection, self.collection):
            raise InvalidInput("collection", "is not the one that this tree was made for", "make another tree")
        if scales is not self.given and scales != self.given:
            raise InvalidInput("scales", "differ from the tree's own", "one tree has one noise")

    def start(self, p: int, n: int) -> Memory:
        return {"p": p, "n": n, "sums": Sums.zero(p, n), "nodes": ()}

    def keys(self, memory: Memory, users: int) -> tuple[Key, ...] | None:
        k = memory["sums"].users
        if (k + users).bit_length() > self.levels:
            return None
        return new_nodes(k, k + users)

    def draw(self, source: NoiseSource, key: Key, p: int, n: int, scales: NoiseScales) -> Noise:
        return Noise.drawn(source, key, p, n, scales, self.isotropic)

    def release(self, memory: Memory, sums: Sums, noise: Mapping[Key, Noise]) -> Step:
        p, n = memory["p"], memory["n"]
        total = memory["sums"] + sums
        nodes = kept(memory, total.users)
        for key in new_nodes(memory["sums"].users, total.users):
            nodes.append((key[0], nodes[-1][1] + noise[key] if nodes else noise[key]))
        S, C = sums_of(total.S, total.C, p, n)
        T1, T2 = nodes[-1][1].hide(S, C) if nodes else total.matrices(p, n)
        return Step({**memory, "sums": total, "nodes": tuple(nodes)}, T1, T2, math.sqrt(len(nodes)))

    def skip(self, memory: Memory, sums: Sums) -> Memory:
        total = memory["sums"] + sums
        return {**memory, "sums": total, "nodes": tuple(kept(memory, total.users))}

    def weights(self, ends: tuple[int, ...]) -> Array:
        covers = [new_nodes(0, k) for k in ends]
        columns = {key: j for j, key in enumerate(sorted(set().union(*covers)))}
        W = np.zeros((len(ends), max(1, len(columns))))
        for t, cover in enumerate(covers):
            W[t, [columns[key] for key in cover]] = 1.0
        return W

    def guarantee(self, delta: float, adjacency: Adjacency) -> Guarantee:
        a, b = 1.0 / self.given.sigma_s, 1.0 / self.given.sigma_c
        root = math.sqrt(self.levels) * (1.0 + 2.0**-50)
        mus = {key: root * pair_sensitivity(self.collection, a, b, key) for key in ADJACENT}
        if self.budget is not None:  # the scales were made for it, rounded up
            mus[self.budget.adjacency] = min(mus[self.budget.adjacency], self.budget.mu)
        return promise(mus, delta, adjacency, self.participations, self.budget)

    def dump(self, memory: Memory) -> dict[str, Any]:
        nodes = [[level, noise.to_dict()] for level, noise in memory["nodes"]]
        return {**memory, "sums": dump_sums(memory["sums"]), "nodes": nodes}

    def load(self, value: Mapping[str, Any]) -> Memory:
        nodes = tuple((level, Noise.from_dict(noise)) for level, noise in value["nodes"])
        return {**value, "sums": load_sums(value["sums"]), "nodes": nodes}


@lru_cache(maxsize=64)
def new_nodes(k: int, end: int) -> tuple[Key, ...]:
    """Nodes (level, index) that cover 1..end and not 1..k, largest first; (l, i) covers i·2ˡ+1 .. (i+1)·2ˡ."""
    top = (k ^ end).bit_length()  # above it both have the same nodes
    return tuple((level, (end >> level) - 1) for level in range(top - 1, -1, -1) if end >> level & 1)


def kept(memory: Memory, end: int) -> list[tuple[int, Noise]]:
    """(level, noise of this node and all larger ones) of the nodes that the release at `end` still uses."""
    top = (memory["sums"].users ^ end).bit_length()
    return [node for node in memory["nodes"] if node[0] >= top]
