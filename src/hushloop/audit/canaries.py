"""The data sets that an audit compares: one person at the worst place, everybody else as unhelpful as can be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..device import Collection
from ..device.report import episode_sums
from ..privacy.budget import Adjacency
from ..privacy.sensitivity import NoiseScales
from .attack import Trajectory, report_distance, worst_pair
from .subject import Crowd, Person

Units = tuple[NDArray[np.int64], NDArray[np.int64]]
Pair = tuple[Trajectory, Trajectory]
CLIMB = 1500


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
    a, b = 1 / scales.sigma_s, 1 / scales.sigma_c
    pair = worst_pair(collection, a, b, adjacency, rng)
    if collection.weighting is not None or collection.response_budget is not None:
        pair = climb(collection, pair, a, b, adjacency, rng)
    return driven(pair[0]), zeros if adjacency == "zero-out" else driven(pair[1])


def climb(
    collection: Collection, pair: Pair, a: float, b: float, adjacency: Adjacency, rng: np.random.Generator,
    rounds: int = CLIMB,
) -> Pair:  # fmt: skip
    """Small random steps through the device's own sums, kept where they lead farther apart; their size adapts.

    The gradient attack does not know weightings and response budgets; this knows nothing and needs nothing.
    """
    moving = 1 if adjacency == "zero-out" else 2
    starts = [scaled(pair, factor, moving) for factor in (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0)]
    pair = max(starts, key=lambda start: report_distance(collection, start, a, b))
    best, step = report_distance(collection, pair, a, b), 0.3
    for _ in range(rounds):
        size = step * max(float(np.abs(part).max()) for episode in pair[:moving] for part in episode)
        tried = tuple(
            (x + size * rng.normal(size=x.shape), u + size * rng.normal(size=u.shape)) if i < moving else (x, u)
            for i, (x, u) in enumerate(pair)
        )
        value = report_distance(collection, (tried[0], tried[1]), a, b)
        if value > best:
            pair, best, step = (tried[0], tried[1]), value, step * 1.5
        else:
            step = max(step * 0.92, 1e-4)  # a fifth of the steps lead up where its size is right
    return pair


def scaled(pair: Pair, factor: float, moving: int) -> Pair:
    one, other = ((x * factor, u * factor) if i < moving else (x, u) for i, (x, u) in enumerate(pair))
    return one, other


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
