"""Many users under one assignment: exact sums of their reports, and mean costs beside a comparator's on the same noise.

Every report is made as `device.report` makes it and every control as `device.assignment` does, to the last bit; the
integers are then exact whatever the order. Cost sums run over users in order within a chunk of CHUNK users and over
chunks in order, so that the number of threads changes nothing.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from .episode_chunk import COUNTS, FLOATS, SLACK, entries, run_chunks, space
from .lanes import lane_array
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
    weighting: Array | None = None,
    response_budget: float | None = None,
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

    `gains` (H, d, n), `excitation` and the control's bounds are those of a controller, `center` to `response_budget`
    those of a collection; `compare` (H, d, n) runs unclipped and unexcited on the same start and disturbances.
    `starts` (users, n) replaces the start's law. `threads` defaults to NUMBA_NUM_THREADS or the number of cores.
    """
    horizon, d, n = gains.shape
    p = n + d
    if users < 0 or first_user < 0 or first_user + users > 2**64:
        raise InvalidInput("users", f"is {users} from user {first_user}", "count from 0, below 2⁶⁴")
    if starts is not None and starts.shape != (users, n):
        raise InvalidInput("starts", f"has shape {starts.shape}", f"give one row a user: ({users}, {n})")
    if A.shape != (n, n) or B.shape != (n, d) or center.shape != (p, n):
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
        weighting is not None, np.zeros((0, 0)) if weighting is None else _array(weighting),
        response_budget is not None, 0.0 if response_budget is None else float(response_budget * SLACK),
        *law_codes(disturbance, n)[:3], *law_codes(start, n),
        np.zeros((0, n)) if starts is None else _array(starts),
    )  # fmt: skip
    total = _Total(n, d)
    for begin in range(0, users, CHUNK * WAVE):
        total.add(_Wave(common, first_user, begin, min(users - begin, CHUNK * WAVE), n, d).run(threads))
    cut = p * (p + 1) // 2
    cost, cost_sq, other, other_sq, cross, weight = total.floats.tolist()
    clipped, clips = total.counts
    return EpisodeSums(
        users, total.sums[:cut], total.sums[cut:], cost, cost_sq, other, other_sq, cross, weight, clipped, clips,
        users * horizon,
    )  # fmt: skip


class _Wave:
    """Up to WAVE chunks of users from `begin`, and what they add up to."""

    def __init__(self, common: tuple[Any, ...], first_user: int, begin: int, users: int, n: int, d: int) -> None:
        self.common, self.first_user, self.begin, self.users = common, first_user, begin, users
        self.chunks = -(-users // CHUNK)
        self.space = space(n, d)
        self.limbs = np.zeros((self.chunks, 2, entries(n, d)), dtype=np.int64)
        self.floats, self.counts = np.zeros((self.chunks, FLOATS)), np.zeros((self.chunks, COUNTS), dtype=np.int64)

    def run(self, given: int | None) -> _Wave:
        threads = 1 if self.chunks <= 2 else _threads(given)
        if threads <= 1:
            self._piece(0, self.chunks)
            return self
        size = -(-self.chunks // (4 * threads))
        with ThreadPoolExecutor(threads) as pool:
            done = [pool.submit(self._piece, at, min(self.chunks, at + size)) for at in range(0, self.chunks, size)]
        for piece in done:
            piece.result()
        return self

    def _piece(self, at: int, end: int) -> None:
        offset = self.begin + at * CHUNK
        users = min(self.users, end * CHUNK) - at * CHUNK
        work, words = self.space
        run_chunks(
            *self.common, np.uint64(self.first_user + offset), offset, users, CHUNK,
            self.limbs[at:end], self.floats[at:end], self.counts[at:end],
            lane_array(work), lane_array(words, np.uint64),
        )  # fmt: skip


def _threads(given: int | None) -> int:
    return int(os.environ.get("NUMBA_NUM_THREADS", 0)) or os.cpu_count() or 1 if given is None else given


class _Total:
    """The running totals over waves, chunk after chunk in order."""

    def __init__(self, n: int, d: int) -> None:
        self.sums = np.array([0] * entries(n, d), dtype=object)
        self.floats, self.counts = np.zeros(FLOATS), [0] * COUNTS

    def add(self, wave: _Wave) -> None:
        self.sums = self.sums + fold(wave.limbs)
        for row in wave.floats:
            self.floats = self.floats + row
        self.counts = [a + b for a, b in zip(self.counts, wave.counts.sum(axis=0).tolist(), strict=True)]


def fold(limbs: NDArray[np.int64]) -> NDArray[Any]:
    """Σ over chunks of high·2³² + low, as whole numbers without limit: limbs (chunks, 2, entries)."""
    low, high = limbs.sum(axis=0).astype(object)
    return np.asarray(high * 2**32 + low)


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
    return np.asarray((full + full.T) * _once(n + d))


@cache
def _once(p: int) -> Array:
    """Half the diagonal and all above it: what of M + M' counts each entry of a symmetric matrix once."""
    return np.triu(np.ones((p, p)), 1) + np.eye(p) / 2
