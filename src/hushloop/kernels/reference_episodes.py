"""The numpy twin of `episodes`: the same trajectories and sums, an array of users at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .episode_chunk import LARGEST, SLACK, UNITS
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
        lost = ~np.isfinite(u).all(axis=1)
        u[lost] = 0.0
        boxed = np.minimum(np.maximum(u, low), high)
        cut[:, h] = (boxed != u).any(axis=1)
        U[:, h], over = shorten(boxed, np.full(users, control_bound * SLACK))
        cut[:, h] |= over | lost
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
        users, S, C, float(cost.sum()), float(cost @ cost), float(other.sum()), float(other @ other),
        float(cost @ other), weight, int(cut.sum()), clips, users * U.shape[1],
    )  # fmt: skip


def report_sums(X: Array, U: Array, **given: Any) -> tuple[NDArray[Any], NDArray[Any], float, int]:
    """(S, C, Σ of weights, clipped responses) of trajectories, S and C exact whole numbers."""
    units, weight, clips = each_report(X, U, **given)
    cut = units.shape[1] - given["center"].size
    total = units.astype(object).sum(axis=0)
    return total[:cut], total[cut:], weight, clips


def each_report(
    X: Array, U: Array, *, center: Array, shape: Array | None, energy: float, disturbance_bound: float,
    response_bound: float | None, weighting: Array | None = None, response_budget: float | None = None, **_: Any,
) -> tuple[NDArray[np.int64], float, int]:  # fmt: skip
    """(entries of every report in grid units (users, ·): S, then C; Σ of weights; clipped responses)."""
    users, horizon, d = U.shape
    n = X.shape[2]
    p = n + d
    rows, columns = np.triu_indices(p)
    S, C = np.zeros((users, rows.size)), np.zeros((users, p, n))
    w, spent, spent_response, weight, clips = np.ones(users), np.zeros(users), np.zeros(users), 0.0, 0
    ceiling = math.inf if response_bound is None else response_bound * SLACK
    for h in range(horizon):
        z = np.hstack([X[:, h], U[:, h]])
        t = z if weighting is None else times(weighting, z)
        reach = np.zeros(users) if shape is None else squared_norm(times(shape, z))
        limit = np.full(users, ceiling)
        if shape is not None:
            limit = np.minimum((np.sqrt(reach) + disturbance_bound) * SLACK, ceiling)
        y, over = shorten(X[:, h + 1] - times(center.T, z), limit)
        clips += int(over.sum())
        size = squared_norm(t)
        taken = (w == 1.0) & (size > 0.0)
        own = share(np.ones(users), energy * SLACK - spent, size)
        if response_budget is not None:
            own = share(own, response_budget * SLACK - spent_response, reach)
        w[taken] = own[taken]
        spent, spent_response = spent + size, spent_response + np.where(taken, reach, 0.0)
        weight += float(w[taken].sum())
        t, y = np.where(taken[:, None], t, 0.0), np.where(taken[:, None], y, 0.0)
        S += w[:, None] * (t[:, rows] * t[:, columns])
        C += w[:, None, None] * (t[:, :, None] * y[:, None, :])
    sums = np.hstack([S, C.reshape(users, p * n)])
    sums[~np.isfinite(X).all(axis=(1, 2))] = 0.0
    return grid_units(sums), weight, clips


def share(w: Array, left: Array, size: Array) -> Array:
    """The weights that what is left of a budget allows steps of these sizes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        allowed = left / size
    w = np.where((allowed < w) & (size > 0.0), allowed, w)
    return np.where(left <= 0.0, 0.0, w)


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


def grid_units(values: Array) -> NDArray[np.int64]:
    """Entries cut toward zero to the grid; zeros for a user whose entries are not finite or do not fit 64 bits."""
    units = values * UNITS
    units[~(np.abs(units) < LARGEST).all(axis=1)] = 0.0
    return np.trunc(units).astype(np.int64)


def _draw(seed: int, index: NDArray[np.uint64], step: int, purpose: int, law: Law, n: int) -> Array:
    code, args, scale, center = law_codes(law, n)
    v = draw(seed, index, step, purpose, code, args, n)
    return times(scale, v, np.tile(center, (index.size, 1))) if scale.size else center + v
