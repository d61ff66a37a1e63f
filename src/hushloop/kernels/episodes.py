"""Many users under one assignment: exact sums of their reports, and the mean costs beside a comparator's on the same noise.

Every report is made as `device.report` makes it and every control as `device.assignment` does, to the last bit; the
integers are then exact whatever the order. Cost sums run over users in order within a chunk of CHUNK users and over
chunks in order, so that the number of threads changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from .episode_chunk import COUNTS, FLOATS, SLACK, UNITS, run_chunks
from .streams import FIXED, LAW_CODES, law_arguments

Array = NDArray[np.float64]

CHUNK = 4096
WAVE = 1024
"""Chunks whose sums are held at once."""


class Law(NamedTuple):
    """A bounded law about `center` (None is zero): names as in `lq.disturbance`, and "fixed" for a start."""

    law: str
    bound: float = 0.0
    std: float | None = None
    scale: Array | None = None  # (n, n)
    center: Array | None = None  # (n,)


@dataclass(frozen=True, eq=False)
class EpisodeSums:
    """Sums over users. S and C are whole numbers in grid units; `*_sq` and `cross` are of costs per user."""

    users: int
    S: NDArray[Any]  # object ints, upper triangle row by row, p(p+1)/2
    C: NDArray[Any]  # object ints, row by row, p·n
    cost: float
    cost_sq: float
    compare: float
    compare_sq: float
    cross: float
    weight: float  # Σ of the steps' weights w_h
    clipped_steps: int  # a control cut by γ or by an actuator limit
    response_clips: int
    steps: int

    def __add__(self, more: EpisodeSums) -> EpisodeSums:
        names = self.__dataclass_fields__
        return EpisodeSums(**{name: getattr(self, name) + getattr(more, name) for name in names})


def episodes(
    seed: int,
    first_user: int,
    users: int,
    *,
    A: Array,
    B: Array,
    Q: Array,
    R: Array,
    gains: Array,
    control_bound: float,
    center: Array,
    shape: Array | None,
    energy: float,
    disturbance_bound: float,
    response_bound: float | None,
    disturbance: Law,
    start: Law,
    excitation: float = 0.0,
    control_low: Array | None = None,
    control_high: Array | None = None,
    compare: Array | None = None,
    starts: Array | None = None,
    threads: int | None = None,
) -> EpisodeSums:
    """Run users first_user..first_user+users−1 of `seed` on the plant (A, B).

    `gains` (H, d, n) and the keywords up to `response_bound` are those of a controller and a collection; `compare`
    (H, d, n) runs unclipped and unexcited on the same start and disturbances. `starts` (users, n) replaces the start's
    law. `threads` defaults to NUMBA_NUM_THREADS or the number of cores.
    """
    horizon, d, n = gains.shape
    if users < 0 or first_user < 0 or first_user + users > 2**64:
        raise InvalidInput("users", f"is {users} from user {first_user}", "count from 0, below 2⁶⁴")
    if starts is not None and starts.shape != (users, n):
        raise InvalidInput("starts", f"has shape {starts.shape}", f"give one row a user: ({users}, {n})")
    if A.shape != (n, n) or B.shape != (n, d) or center.shape != (n + d, n):
        raise InvalidInput("gains", f"has shape {gains.shape}", "it does not fit A, B and the centre")
    box = control_low is not None or control_high is not None
    common = (
        np.uint64(seed & (2**64 - 1)),
        _array(A), _array(B), _array(_cost_weights(Q, R)), _array(gains),
        _array(gains if compare is None else compare), compare is not None,
        float(control_bound * SLACK), float(excitation), box,
        np.full(d, -np.inf) if control_low is None else _array(control_low),
        np.full(d, np.inf) if control_high is None else _array(control_high),
        _array(center), shape is not None, np.zeros((0, 0)) if shape is None else _array(shape),
        float(energy * SLACK), float(disturbance_bound),
        np.inf if response_bound is None else float(response_bound * SLACK),
        *law_codes(disturbance, n), *law_codes(start, n),
        np.zeros((0, n)) if starts is None else _array(starts),
    )  # fmt: skip
    p = n + d
    entries = p * (p + 1) // 2 + p * n
    total = _Total(np.array([0] * entries, dtype=object), np.zeros(FLOATS), [0] * COUNTS)
    for limbs, floats, counts in _waves(common, first_user, users, entries, horizon, threads):
        total.add(limbs, floats, counts)
    cut = p * (p + 1) // 2
    cost, cost_sq, other, other_sq, cross, weight = (float(v) for v in total.floats)
    return EpisodeSums(
        users, total.sums[:cut], total.sums[cut:], cost, cost_sq, other, other_sq, cross, weight,
        total.counts[0], total.counts[1], users * horizon,
    )  # fmt: skip


class _Total:
    """The running totals over chunks, in order."""

    def __init__(self, sums: NDArray[Any], floats: Array, counts: list[int]) -> None:
        self.sums, self.floats, self.counts = sums, floats, counts

    def add(self, limbs: NDArray[np.int64], floats: Array, counts: NDArray[np.int64]) -> None:
        self.sums = self.sums + fold(limbs)
        for row in floats:
            self.floats = self.floats + row
        self.counts = [a + int(b) for a, b in zip(self.counts, counts.sum(axis=0), strict=True)]


def fold(limbs: NDArray[np.int64]) -> NDArray[Any]:
    """Σ over chunks of high·2³² + low, as whole numbers without limit: limbs (chunks, 2, entries)."""
    low, high = limbs.sum(axis=0)
    return np.array([(int(h) << 32) + int(v) for v, h in zip(low, high, strict=True)], dtype=object)


def _waves(
    common: tuple[Any, ...], first_user: int, users: int, entries: int, horizon: int, threads: int | None
) -> Iterator[tuple[NDArray[np.int64], Array, NDArray[np.int64]]]:
    workers = int(os.environ.get("NUMBA_NUM_THREADS", 0)) or os.cpu_count() or 1 if threads is None else threads
    for begin in range(0, users, CHUNK * WAVE):
        size = min(users - begin, CHUNK * WAVE)
        chunks = -(-size // CHUNK)
        limbs = np.zeros((chunks, 2, entries), dtype=np.int64)
        floats, counts = np.zeros((chunks, FLOATS)), np.zeros((chunks, COUNTS), dtype=np.int64)

        def run(
            at: int, end: int, begin: int = begin, size: int = size, out: tuple[Any, ...] = (limbs, floats, counts)
        ) -> None:
            mine = begin + at * CHUNK
            last = begin + min(size, end * CHUNK)
            run_chunks(*common, np.uint64(first_user + mine), mine, last - mine, CHUNK, *(o[at:end] for o in out))

        if workers <= 1 or chunks <= 2:
            run(0, chunks)
        else:
            piece = max(1, -(-chunks // (4 * workers)))
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(run, range(0, chunks, piece), (min(chunks, c + piece) for c in range(0, chunks, piece))))
        yield limbs, floats, counts


def _array(value: Any) -> Array:
    return np.ascontiguousarray(value, dtype=np.float64)


def law_codes(law: Law, n: int) -> tuple[Any, ...]:
    code = LAW_CODES.get(law.law)
    if code is None:
        raise InvalidInput("law", f"is {law.law!r}", f"choose one of {', '.join(LAW_CODES)}")
    scale = np.zeros((0, 0)) if law.scale is None else _array(law.scale)
    center = np.zeros(n) if law.center is None else _array(law.center)
    arguments = np.zeros(6) if code == FIXED else law_arguments(code, n, law.bound, law.std)
    return code, arguments, scale, center


def _cost_weights(Q: Array, R: Array) -> Array:
    """z'diag(Q, R)z over the upper triangle of zz': off-diagonal entries twice, nothing across x and u."""
    n, d = Q.shape[0], R.shape[0]
    full = np.zeros((n + d, n + d))
    full[:n, :n], full[n:, n:] = Q, R
    return np.triu(full + full.T, 1) + np.diag(np.diag(full))
