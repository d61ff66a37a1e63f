"""The exact part: the same run on neighbouring data, its noise moved until every release is the same to the last bit.

What the noise had to be moved by is what the data moved: it may cost at most the promised μ, and with the releases
equal everything else that is published must be equal too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..device.report import GRID
from ..privacy.mechanisms.stream import StreamNoise
from ..privacy.release import Release
from .sources import Shifted, whole_units
from .subject import Crowd, Make, Transcript, play

Array = NDArray[np.float64]
TOLERANCE = 1e-9


@dataclass(frozen=True)
class ExactResult:
    """`cost` is the largest μ that a pair of neighbours was found to spend; infinite where no noise can hide her."""

    moves_within_sensitivity: bool
    decisions_equal: bool
    cost: float
    promised: float
    pair: str  # the neighbours of the worst cost, or of the first difference in decisions

    @property
    def holds(self) -> bool:
        return self.moves_within_sensitivity and self.decisions_equal


def exact_audit(make: Make, pairs: Mapping[str, tuple[Crowd, Crowd]], promised: float, seed: int = 0) -> ExactResult:
    """Each named pair is two data sets that differ in one person."""
    worst, where, different = 0.0, "", ""
    for name, (one, other) in pairs.items():
        cost, equal = spent(make, one, other, seed)
        if not equal and not different:
            different = name
        if cost > worst:
            worst, where = cost, name
    within = worst <= promised * (1 + TOLERANCE)
    return ExactResult(within, not different, worst, promised, different if within and different else where)


def worst_of(results: Sequence[ExactResult]) -> ExactResult:
    """Several exact audits of one promise as one."""
    failed = [r for r in results if not r.holds]
    shown = failed[0] if failed else max(results, key=lambda r: r.cost)
    return ExactResult(
        all(r.moves_within_sensitivity for r in results), all(r.decisions_equal for r in results),
        max(r.cost for r in results), shown.promised, shown.pair,
    )  # fmt: skip


def spent(make: Make, one: Crowd, other: Crowd, seed: int) -> tuple[float, bool]:
    """(μ that these neighbours spend, whether all decisions agree while the releases do)."""
    reference, marks, _ = observed(make, one, seed, {})
    shifts: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}
    gains: dict[int, float] = {}
    before: tuple[int, Array] | None = None
    equal_so_far = 0
    for _ in range(3 * len(reference.releases) + 3):
        found, marks, source = observed(make, other, seed, shifts)
        t = first_difference(reference, found)
        if t is None:
            if len(shifts) > 1 and all(r.kind == "block" for r in reference.releases):
                return math.inf, True  # she is in more than one block
            return cost_of(source, shifts), reference.decisions == found.decisions
        if decided(reference, t) != decided(found, t):
            return cost_of(source, shifts), False
        fresh = source.draws[marks[t - 1] if t else 0 : marks[t]]
        if t < equal_so_far or not fresh:  # what hides her here shows her there, or there is nothing to hide her
            return math.inf, True
        equal_so_far = t
        key = fresh[-1].index
        residual = apart(reference.releases[t], found.releases[t])
        if before is not None and before[0] == t:  # how much of the shift arrived
            share = float(residual @ before[1]) / float(before[1] @ before[1])
            gains[key] = gains.get(key, 1.0) * (1.0 - share)
            if abs(gains[key]) < 1e-6:
                return math.inf, True
            shifts[key] = moved(None, before[1] / gains[key], reference.releases[t])
            before = None
        else:
            gains.setdefault(key, 1.0)
            shifts[key] = moved(shifts.get(key), residual / gains[key], reference.releases[t])
            before = (t, residual)
    return math.inf, True


def observed(
    make: Make, crowd: Crowd, seed: int, shifts: dict[int, tuple[NDArray[Any], NDArray[Any]]]
) -> tuple[Transcript, list[int], Shifted]:
    """(transcript, draws made before each block closed, the source)."""
    source = Shifted(StreamNoise(seed, "audit"), dict(shifts))
    marks: list[int] = []
    transcript = play(make(source), crowd, lambda: marks.append(len(source.draws)))
    return transcript, marks, source


def first_difference(reference: Transcript, found: Transcript) -> int | None:
    for t, (a, b) in enumerate(zip(reference.releases, found.releases, strict=False)):
        if float(np.abs(apart(a, b)).max()) > TOLERANCE * max(a.sigma_s, a.sigma_c, GRID):
            return t
    return None


def decided(transcript: Transcript, t: int) -> list[tuple[int, str]]:
    """What was decided before release t was published, its own description included."""
    return [entry for entry in transcript.decisions if entry[0] <= t]


def apart(a: Release, b: Release) -> Array:
    """What has to be added to the noise of b: upper triangle of T1, then T2."""
    upper = np.triu_indices(a.collection.p)
    return np.concatenate([(a.T1 - b.T1)[upper], (a.T2 - b.T2).ravel()])


def moved(old: tuple[NDArray[Any], NDArray[Any]] | None, by: Array, like: Release) -> tuple[NDArray[Any], NDArray[Any]]:
    p, n = like.collection.p, like.collection.n
    upper = np.triu_indices(p)
    N = np.zeros((p, p))
    N[upper] = by[: upper[0].size]
    N = np.triu(N) + np.triu(N, 1).T
    more = whole_units(N), whole_units(by[upper[0].size :].reshape(p, n))
    return more if old is None else (old[0] + more[0], old[1] + more[1])


def cost_of(source: Shifted, shifts: Mapping[int, tuple[NDArray[Any], NDArray[Any]]]) -> float:
    """√Σ over draws of what their shift costs; a number drawn twice is one draw."""
    by_index = {draw.index: draw for draw in source.draws}
    return math.sqrt(sum(by_index[key].cost(*shift) for key, shift in shifts.items() if key in by_index))
