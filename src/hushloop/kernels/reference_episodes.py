"""The numpy twin of `episodes`: the same trajectories and sums, an array of users at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .episode_chunk import SLACK, UNITS
from .episodes import EpisodeSums, Law, law_codes
from .reference_streams import draw, signs
from .streams import DISTURBANCE, START

Array = NDArray[np.float64]


def trajectories(
    seed: int,
    first_user: int,
    users: int,
    *,
    A: Array,
    B: Array,
    gains: Array,
    control_bound: float,
    disturbance: Law,
    start: Law,
    excitation: float = 0.0,
    control_low: Array | None = None,
    control_high: Array | None = None,
    starts: Array | None = None,
    **_: Any,
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """States (users, H+1, n), controls as applied (users, H, d), and the steps whose control was cut (users, H)."""
    horizon, d, n = gains.shape
    index = first_user + np.arange(users, dtype=np.uint64)
    X, U = np.zeros((users, horizon + 1, n)), np.zeros((users, horizon, d))
    cut = np.zeros((users, horizon), dtype=bool)
    X[:, 0] = _draw(seed, index, 0, START, start, n) if starts is None else starts
    low = np.full(d, -np.inf) if control_low is None else control_low
    high = np.full(d, np.inf) if control_high is None else control_high
    for h in range(horizon):
        u = times(gains[h], X[:, h])
        if excitation:
            u = u + excitation * signs(seed, index, h * d, d)
        boxed = np.minimum(np.maximum(u, low), high)
        cut[:, h] = (boxed != u).any(axis=1)
        U[:, h], over = shorten(boxed, np.full(users, control_bound * SLACK))
        cut[:, h] |= over
        step = times(B, U[:, h], times(A, X[:, h]))
        X[:, h + 1] = step + _draw(seed, index, h, DISTURBANCE, disturbance, n)
    return X, U, cut


def episodes(seed: int, first_user: int, users: int, **given: Any) -> EpisodeSums:
    """As the compiled `episodes`, argument for argument; the float sums in another order."""
    given.pop("threads", None)
    X, U, cut = trajectories(seed, first_user, users, **given)
    S, C, weight, clips = report_sums(X, U, **given)
    cost = costs(X, U, given["Q"], given["R"])
    other = np.zeros(users)
    if given.get("compare") is not None:
        free = given | {"gains": given["compare"], "control_bound": math.inf, "excitation": 0.0}
        free |= {"control_low": None, "control_high": None}
        X_other, U_other, _ = trajectories(seed, first_user, users, **free)
        other = costs(X_other, U_other, given["Q"], given["R"])
    return EpisodeSums(
        users, S, C, *(float(v) for v in (cost.sum(), cost @ cost, other.sum(), other @ other, cost @ other)), weight,
        int(cut.sum()), clips, users * U.shape[1],
    )  # fmt: skip


def report_sums(
    X: Array, U: Array, *, center: Array, shape: Array | None, energy: float, disturbance_bound: float,
    response_bound: float | None, **_: Any,
) -> tuple[NDArray[Any], NDArray[Any], float, int]:  # fmt: skip
    """(S, C, Σ of weights, clipped responses) of trajectories, S and C exact whole numbers."""
    users, horizon, d = U.shape
    n = X.shape[2]
    p = n + d
    rows, columns = np.triu_indices(p)
    S, C = np.zeros((users, rows.size)), np.zeros((users, p, n))
    spent, weight, clips = np.zeros(users), 0.0, 0
    ceiling = math.inf if response_bound is None else response_bound * SLACK
    for h in range(horizon):
        z = np.hstack([X[:, h], U[:, h]])
        size, left = squared_norm(z), energy * SLACK - spent
        with np.errstate(divide="ignore", invalid="ignore"):
            w = np.where(left / size < 1.0, left / size, 1.0)
        w[(left <= 0.0) | (size == 0.0)] = 0.0
        spent = np.where((w < 1.0) & (size > 0.0), energy * SLACK, spent + size)
        weight += float(w.sum())
        limit = np.full(users, ceiling)
        if shape is not None:
            limit = np.minimum((np.sqrt(squared_norm(times(shape, z))) + disturbance_bound) * SLACK, ceiling)
        y, over = shorten(X[:, h + 1] - times(center.T, z), limit)
        clips += int(over.sum())
        S += w[:, None] * (z[:, rows] * z[:, columns])
        C += w[:, None, None] * (z[:, :, None] * y[:, None, :])
    total = whole(np.hstack([S, C.reshape(users, p * n)]))
    return total[: rows.size], total[rows.size :], weight, clips


def costs(X: Array, U: Array, Q: Array, R: Array) -> Array:
    """Σ_h x'Qx + u'Ru of each user."""
    x = X[:, :-1]
    return np.asarray(np.einsum("uhi,ij,uhj->u", x, Q, x) + np.einsum("uhi,ij,uhj->u", U, R, U))


def times(M: Array, V: Array, start: Array | None = None) -> Array:
    """start + M v for each row v of V, every entry from left to right."""
    out = np.zeros((V.shape[0], M.shape[0])) if start is None else start
    for j in range(M.shape[1]):
        out = out + V[:, j, None] * M[:, j]
    return out


def squared_norm(V: Array) -> Array:
    out = np.zeros(V.shape[0])
    for column in V.T:
        out = out + column * column
    return out


def shorten(V: Array, limit: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Rows of V cut to the length `limit`, and which were."""
    norm = np.sqrt(squared_norm(V))
    over = norm > limit
    out = V.copy()
    out[over] *= (limit[over] / norm[over])[:, None]
    return out, over


def whole(values: Array) -> NDArray[Any]:
    """Σ over users of entries cut toward zero to the grid, exactly; a user whose entries are not finite adds zeros."""
    units = values * UNITS
    units[~np.isfinite(units).all(axis=1)] = 0.0
    return np.asarray(np.trunc(units).astype(np.int64).astype(object).sum(axis=0))


def _draw(seed: int, index: NDArray[np.uint64], step: int, purpose: int, law: Law, n: int) -> Array:
    code, args, scale, center = law_codes(law, n)
    v = draw(seed, index, step, purpose, code, args, n)
    return times(scale, v, np.tile(center, (index.size, 1))) if scale.size else center + v
