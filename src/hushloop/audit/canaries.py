"""The data sets that an audit compares: one person at the worst place, everybody else as unhelpful as can be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..device import Collection
from ..device.report import episode_sums
from ..privacy.budget import Adjacency
from ..privacy.sensitivity import NoiseScales
from .attack import Trajectory, worst_pair
from .subject import Crowd, Person

Units = tuple[NDArray[np.int64], NDArray[np.int64]]


def zeros(collection: Collection) -> Units:
    """A device that reports nothing."""
    p, n = collection.p, collection.n
    return np.zeros(p * (p + 1) // 2, dtype=np.int64), np.zeros(p * n, dtype=np.int64)


def beyond_bounds(collection: Collection) -> Units:
    """Well formed, and far beyond the norm bounds: it must count as zeros."""
    S, C = zeros(collection)
    S[0], C[0] = 1 << 55, -(1 << 55)
    return S, C


def driven(trajectory: Trajectory) -> Person:
    """Whoever lived through this trajectory, summed by the device's own code under whatever collection is asked."""
    return lambda collection: episode_sums(collection, *trajectory)


def worst_people(collection: Collection, scales: NoiseScales, adjacency: Adjacency) -> tuple[Person, Person]:
    """The two people whose reports the attacks found farthest apart under this noise."""
    rng = np.random.default_rng(20_000)
    pair = worst_pair(collection, 1 / scales.sigma_s, 1 / scales.sigma_c, adjacency, rng)
    return driven(pair[0]), zeros if adjacency == "zero-out" else driven(pair[1])


def neighbours(one: Person, other: Person, places: tuple[int, ...] = (0,)) -> dict[str, tuple[Crowd, Crowd]]:
    """Pairs of data sets for the exact audit, under a name each."""
    pairs: dict[str, tuple[Crowd, Crowd]] = {}
    changes = {
        "worst pair": (one, other),
        "report or zeros": (one, zeros),
        "beyond bounds or zeros": (beyond_bounds, zeros),
    }
    for at in places:
        for crowd_name, others in (("zeros", zeros), ("their like", one)):
            for name, (a, b) in changes.items():
                key = f"{name}, person {at + 1}, the others: {crowd_name}"
                pairs[key] = (Crowd(a, others, at), Crowd(b, others, at))
    return pairs
