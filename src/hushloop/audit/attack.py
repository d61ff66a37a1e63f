"""Looks for the two episodes whose reports lie farthest apart, by gradient ascent through the device's own sums."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..device import Collection
from ..device.assignment import SLACK
from ..device.report import GRID, episode_sums
from ..privacy.budget import Adjacency

Array = NDArray[np.float64]
Trajectory = tuple[Array, Array]
"""(states (T+1, n), controls (T, d)): what `device.episode_sums` takes."""

STARTS = 24
ROUNDS = 600


@dataclass(frozen=True, eq=False)
class Sums:
    """The device's weighted sums of a stack of episodes (..., H, ·) before the grid, and what a gradient needs."""

    weights: Array  # w (..., H)
    spends: NDArray[np.bool_]  # whether w < 1 is what the response budget leaves, not the energy (..., H)
    responses: Array  # y after the clip (..., H, n)
    limits: Array  # (..., H)
    S: Array  # (..., p, p)
    C: Array  # (..., p, n)


def weighted_sums(collection: Collection, z: Array, raw: Array) -> Sums:
    """S = Σ w tt' and C = Σ w ty', t = Tz, for free z (..., H, p) and free unclipped responses (..., H, n)."""
    t = _seen(collection, z)
    room, spends = _room(collection, t, z)
    w = np.clip(room, 0.0, 1.0)
    limits = np.full(w.shape, np.inf)
    if collection.shape is not None:
        limits = (np.linalg.norm(z @ collection.shape, axis=-1) + collection.disturbance_bound) * SLACK
    if collection.response_bound is not None:
        limits = np.minimum(limits, collection.response_bound * SLACK)
    norms = np.maximum(np.linalg.norm(raw, axis=-1), 1e-300)
    y = raw * np.minimum(1.0, limits / norms)[..., None]
    wt = w[..., None] * t
    return Sums(w, spends, y, limits, np.einsum("...hi,...hj->...ij", wt, t), np.einsum("...hi,...hj->...ij", wt, y))


def _seen(collection: Collection, z: Array) -> Array:
    """t = Tz, what the sums are made of."""
    return z if collection.weighting is None else np.asarray(z @ collection.weighting.T)


def _squares(v: Array) -> Array:
    return np.asarray(np.maximum(np.sum(v * v, axis=-1), 1e-300))


def _room(collection: Collection, t: Array, z: Array) -> tuple[Array, NDArray[np.bool_]]:
    """What is left of the scarcer budget before each step, in units of the step; and whether that is the second."""
    size = _squares(t)
    room = (collection.energy * SLACK - np.cumsum(size, axis=-1) + size) / size
    if collection.response_budget is None:
        return room, np.zeros(room.shape, dtype=bool)
    assert collection.shape is not None
    reach = _squares(z @ collection.shape)
    other = (collection.response_budget * SLACK - np.cumsum(reach, axis=-1) + reach) / reach
    return np.minimum(room, other), other < room


def pull_back(collection: Collection, z: Array, raw: Array, at: Sums, to_s: Array, to_c: Array) -> tuple[Array, Array]:
    """Gradients in (z, raw) of ⟨to_s, S⟩ + ⟨to_c, C⟩, `to_s` symmetric: clips and weights included."""
    t = _seen(collection, z)
    w, y = at.weights[..., None], at.responses
    st, cy = t @ to_s, np.einsum("...ij,...hj->...hi", to_c, y)
    dt = w * (2.0 * st + cy)
    dy = w * np.einsum("...ij,...hi->...hj", to_c, t)
    dw = np.sum(t * (st + cy), axis=-1)
    dt = dt - 2.0 * t * _spent(at, dw, ~at.spends, _squares(t))[..., None]
    dz = dt if collection.weighting is None else dt @ collection.weighting
    if collection.shape is not None:
        Mz = z @ collection.shape
        dz = dz - 2.0 * (Mz @ collection.shape) * _spent(at, dw, at.spends, _squares(Mz))[..., None]
    norms = np.maximum(np.linalg.norm(raw, axis=-1), 1e-300)
    clipped = norms > at.limits
    unit = raw / norms[..., None]
    along = np.sum(dy * unit, axis=-1)
    tangent = (np.where(clipped, at.limits, 1.0) / norms)[..., None] * (dy - along[..., None] * unit)
    if collection.shape is not None:
        grows = clipped & (at.limits < (collection.response_bound or math.inf) * SLACK)
        length = np.maximum(np.linalg.norm(Mz, axis=-1), 1e-300)
        dz = dz + (np.where(grows, along, 0.0) / length)[..., None] * (Mz @ collection.shape)
    return dz, np.where(clipped[..., None], tangent, dy)


def _spent(at: Sums, dw: Array, which: NDArray[np.bool_], size: Array) -> Array:
    """Gradient, sign reversed, in each step's size through the one weight w = left/size that spends a budget's rest."""
    part = (at.weights > 0.0) & (at.weights < 1.0) & which
    rate = np.where(part, dw / size, 0.0)
    later = np.cumsum(rate[..., ::-1], axis=-1)[..., ::-1] - rate
    return np.asarray(later + rate * at.weights)


def distance(a: float, b: float, at: Sums, adjacency: Adjacency) -> Array:
    """√(a²‖S−S'‖² + b²‖C−C'‖²) for episodes stacked in pairs (R, 2, …), or alone (R, 1, …) under zero-out."""
    S, C = (at.S[:, 0], at.C[:, 0]) if adjacency == "zero-out" else (at.S[:, 0] - at.S[:, 1], at.C[:, 0] - at.C[:, 1])
    return np.asarray(np.sqrt(a**2 * np.sum(S * S, axis=(1, 2)) + b**2 * np.sum(C * C, axis=(1, 2))))


def _slopes(a: float, b: float, at: Sums) -> tuple[Array, Array]:
    """Gradient of half the squared distance in each episode's (S, C)."""
    if at.S.shape[1] == 1:
        return a**2 * at.S, b**2 * at.C
    S, C = at.S[:, 0] - at.S[:, 1], at.C[:, 0] - at.C[:, 1]
    return a**2 * np.stack([S, -S], axis=1), b**2 * np.stack([C, -C], axis=1)


class Free:
    """Sequences (Tz_h, y_h) tied to each other by nothing but the device's bounds: parameters (R, P, H, p + n)."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        T = collection.weighting
        self.inverse = np.eye(collection.p) if T is None else np.linalg.inv(T)

    def shape(self, horizon: int) -> tuple[int, int]:
        return horizon, self.collection.p + self.collection.n

    def parts(self, x: Array) -> tuple[Array, Array]:
        return x[..., : self.collection.p] @ self.inverse.T, x[..., self.collection.p :]

    def gather(self, dz: Array, draw: Array) -> Array:
        return np.concatenate([dz @ self.inverse, draw], axis=-1)


class Consecutive(Free):
    """Real trajectories: rows T[x_h; u_h] for h = 1..H+1 (the last u unused), the response x_{h+1} − Θ_c'z_h."""

    def shape(self, horizon: int) -> tuple[int, int]:
        return horizon + 1, self.collection.p

    def rows(self, x: Array) -> Array:
        """[x_h, u_h] for h = 1..H+1."""
        return np.asarray(x @ self.inverse.T)

    def parts(self, x: Array) -> tuple[Array, Array]:
        rows = self.rows(x)
        z = rows[..., :-1, :]
        return z, rows[..., 1:, : self.collection.n] - z @ self.collection.center

    def gather(self, dz: Array, draw: Array) -> Array:
        out = np.zeros((*dz.shape[:-2], dz.shape[-2] + 1, dz.shape[-1]))
        out[..., :-1, :] = dz - draw @ self.collection.center.T
        out[..., 1:, : self.collection.n] += draw
        return np.asarray(out @ self.inverse)


def ascend(
    family: Free, a: float, b: float, adjacency: Adjacency, rng: np.random.Generator,
    starts: int = STARTS, rounds: int = ROUNDS,
) -> tuple[Array, float]:  # fmt: skip
    """The best parameters (P, ·, ·) and their distance: normalised ascent with momentum from many starts at once."""
    c = family.collection
    rows, columns = family.shape(c.horizon)
    pair = 1 if adjacency == "zero-out" else 2
    step = math.sqrt(c.energy / c.horizon)
    x = rng.normal(size=(starts, pair, rows, columns)) * step / math.sqrt(columns)
    calm = starts // 2  # half of the starts repeat one row: what aligned episodes look like
    x[:calm] = x[:calm, :, :1] + 0.02 * step * rng.normal(size=x[:calm].shape)
    best, best_value, velocity, square = x[0].copy(), -1.0, np.zeros_like(x), np.zeros((starts, 1, 1, 1))
    for t in range(rounds):
        z, raw = family.parts(x)
        at = weighted_sums(c, z, raw)
        values = distance(a, b, at, adjacency)
        leader = int(np.argmax(values))
        if values[leader] > best_value:
            best, best_value = x[leader].copy(), float(values[leader])
        dz, draw = pull_back(c, z, raw, at, *_slopes(a, b, at))
        g = family.gather(dz, draw)
        velocity = 0.9 * velocity + 0.1 * g
        square = 0.99 * square + 0.01 * np.mean(g * g, axis=(1, 2, 3), keepdims=True)
        pace = 0.15 * step * (1.0 - t / rounds) ** 1.5
        x = x + pace * velocity / np.sqrt(square / (1.0 - 0.99 ** (t + 1)) + 1e-300)
    return best, best_value


def worst_pair(
    collection: Collection, a: float, b: float, adjacency: Adjacency, rng: np.random.Generator
) -> tuple[Trajectory, Trajectory]:
    """Two real trajectories whose reports nearly attain the pair sensitivity; under zero-out the second has no step."""
    n = collection.n
    family = Consecutive(collection)
    rows = family.rows(ascend(family, a, b, adjacency, rng)[0])
    first = (np.ascontiguousarray(rows[0][:, :n]), np.ascontiguousarray(rows[0][:-1, n:]))
    if adjacency == "zero-out":
        return first, (np.zeros((1, n)), np.zeros((0, collection.p - n)))
    return first, (np.ascontiguousarray(rows[1][:, :n]), np.ascontiguousarray(rows[1][:-1, n:]))


def report_distance(collection: Collection, pair: tuple[Trajectory, Trajectory], a: float, b: float) -> float:
    """How far the two real reports lie apart in (aS, bC), the grid included."""
    (S, C), (S2, C2) = (episode_sums(collection, *trajectory) for trajectory in pair)
    p = collection.p
    rows, columns = np.triu_indices(p)
    twice = np.where(rows == columns, 1.0, 2.0)
    s, c = (S - S2) * GRID, (C - C2) * GRID
    return math.sqrt(a**2 * float(np.sum(twice * s * s)) + b**2 * float(np.sum(c * c)))
