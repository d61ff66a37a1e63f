"""The numpy twin of `streams`: the same draws, bit for bit, an array of users at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import streams as s

Array = NDArray[np.float64]
Words = NDArray[np.uint64]


def philox(key: tuple[int, int], counter: tuple[Any, Any, Any, Any]) -> tuple[Words, Words, Words, Words]:
    """Philox4x32-10 over arrays of 32-bit words held in uint64."""
    c0, c1, c2, c3 = (np.asarray(c, dtype=np.uint64) for c in counter)
    k0, k1 = key
    for _ in range(10):
        p0, p1 = s.MULTIPLIER_0 * c0, s.MULTIPLIER_1 * c2
        c0, c1 = (p1 >> s.HALF_WORD) ^ c1 ^ np.uint64(k0), p1 & s.LOW
        c2, c3 = (p0 >> s.HALF_WORD) ^ c3 ^ np.uint64(k1), p0 & s.LOW
        k0, k1 = (k0 + int(s.WEYL_0)) % 2**32, (k1 + int(s.WEYL_1)) % 2**32
    return c0, c1, c2, c3


def block(seed: int, users: Words, step: int, purpose: int, slot: int) -> tuple[Words, Words, Words, Words]:
    tag = (purpose << int(s.PURPOSE_SHIFT)) + slot
    return philox((seed % 2**32, seed >> 32), (users & s.LOW, users >> s.HALF_WORD, step, tag))


def uniform(low: Words, high: Words) -> Array:
    return np.asarray((((high << s.HALF_WORD) | low) >> s.DROP).astype(np.float64) * s.ULP)


def _series(x: Array, coefficients: tuple[float, ...]) -> Array:
    total = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total = c + x * total
    return total


def cos_sin(turns: Array) -> tuple[Array, Array]:
    v = 4.0 * turns
    q = np.floor(v + 0.5)
    r = (v - q) * s.HALF_PI
    sin, cos = r * _series(r * r, s.SIN), _series(r * r, s.COS)
    odd = q % 2 == 1
    a, b = np.where(odd, sin, cos), np.where(odd, cos, sin)
    return np.where((q == 1) | (q == 2), -a, a), np.where((q == 2) | (q == 3), -b, b)


def log(x: Array) -> Array:
    bits = x.view(np.int64)
    m = ((bits & np.int64(s.MANTISSA)) | np.int64(s.ONE_BITS)).view(np.float64)
    e = ((bits >> 52) - 1023).astype(np.float64)
    large = m > s.SQRT2
    m, e = np.where(large, 0.5 * m, m), np.where(large, e + 1.0, e)
    t = (m - 1.0) / (m + 1.0)
    series = t * t * _series(t * t, s.ATANH)
    return e * s.LN2_HIGH + (2.0 * t + (2.0 * t * series + e * s.LN2_LOW))


def exp(x: Array) -> Array:
    x = np.maximum(x, -700.0)
    k = np.floor(x * s.INV_LN2 + 0.5)
    r = (x - k * s.LN2_HIGH) - k * s.LN2_LOW
    return _series(r, s.EXP) * ((k.astype(np.int64) + 1023) << 52).view(np.float64)


def draw(seed: int, users: Words, step: int, purpose: int, law: int, args: Array, n: int) -> Array:
    """(users, n) draws of the isotropic law."""
    bound = args[0]
    if law == s.SPHERE:
        return _directions(seed, users, step, purpose, 0, n, bound)
    if law == s.BALL:
        words = block(seed, users, step, purpose, (n + 1) // 2)
        radius = exp(log(uniform(*words[:2]) + s.ULP) / n)
        return _directions(seed, users, step, purpose, 0, n, bound) * radius[:, None]
    if law == s.RADEMACHER:
        value = bound / math.sqrt(n)
        return np.asarray(np.where(_bits(seed, users, step, purpose, n), value, -value))
    if law == s.TRUNCATED_NORMAL and bound > 0:
        return _truncated(seed, users, step, purpose, n, args)
    return np.zeros((users.size, n))


def signs(seed: int, users: Words, bit: int, d: int) -> Array:
    """(users, d) fair signs: bits bit..bit+d−1 of the users' sign streams."""
    first = bit // 128
    rows = [_bits(seed, users, step, s.SIGNS, 128) for step in range(first, (bit + d - 1) // 128 + 1)]
    return np.where(np.hstack(rows)[:, bit - 128 * first :][:, :d], 1.0, -1.0)


def _bits(seed: int, users: Words, step: int, purpose: int, count: int) -> NDArray[np.bool_]:
    shifts = np.arange(32, dtype=np.uint64)
    blocks = [np.stack(block(seed, users, step, purpose, slot), axis=1) for slot in range(-(-count // 128))]
    bits = (np.hstack(blocks)[:, :, None] >> shifts) & np.uint64(1)
    return np.asarray(bits.reshape(users.size, -1)[:, :count] == 1)


def _normals(seed: int, users: Words, step: int, purpose: int, slot: int, n: int) -> Array:
    out = np.zeros((users.size, n + n % 2))
    for j in range((n + 1) // 2):
        w0, w1, w2, w3 = block(seed, users, step, purpose, slot + j)
        radius = np.sqrt(-2.0 * log(uniform(w0, w1) + s.ULP))
        cos, sin = cos_sin(uniform(w2, w3))
        out[:, 2 * j], out[:, 2 * j + 1] = radius * cos, radius * sin
    return out[:, :n]


def _squared_norm(V: Array) -> Array:
    total = np.zeros(V.shape[0])
    for column in V.T:
        total = total + column * column
    return total


def _directions(seed: int, users: Words, step: int, purpose: int, slot: int, n: int, length: float) -> Array:
    if n == 2:
        cos, sin = cos_sin(uniform(*block(seed, users, step, purpose, slot)[:2]))
        return np.stack([length * cos, length * sin], axis=1)
    V = _normals(seed, users, step, purpose, slot, n)
    return V * (length / np.sqrt(_squared_norm(V)))[:, None]


def _truncated(seed: int, users: Words, step: int, purpose: int, n: int, args: Array) -> Array:
    bound, sigma, m, k, half, c = args
    slots = (n + 1) // 2 + 1
    out = np.zeros((users.size, n))
    left, slot = np.arange(users.size), 0
    while left.size:
        if m == 0.0:
            V = _normals(seed, users[left], step, purpose, slot, n) * sigma
            good = _squared_norm(V) <= bound * bound
        else:
            w0, w1, w2, w3 = block(seed, users[left], step, purpose, slot + slots - 1)
            log_t = 2.0 / m * log(uniform(w0, w1) + s.ULP)
            good = log(uniform(w2, w3) + s.ULP) <= k * log_t - half * exp(log_t) + c
            V = _directions(seed, users[left], step, purpose, slot, n, bound) * exp(0.5 * log_t)[:, None]
        out[left[good]] = V[good]
        left, slot = left[~good], slot + slots
    return out
