"""Random draws that depend on (seed, user, step) alone: Philox4x32-10 and the bounded laws built on it, in lanes.

The stream, so that any machine can draw the same: key = the two halves of the seed (low first); counter = (user low,
user high, step, purpose·2²⁴ + slot). Words 0 and 1 of a block make the uniform ((w1·2³² + w0) >> 11)·2⁻⁵³, words 2
and 3 the next. From there on only + − × ÷ √ and floor are used, in a fixed order, so that every machine with IEEE
arithmetic gets the same bits.

Philox: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .compiling import lane_jit
from .lanes import bits, choose, floor, from_bits, load, root, some, splat, spread, store, to_float, truncate

Array = NDArray[np.float64]

START, DISTURBANCE, SIGNS = 0, 1, 2
"""Purposes of a stream."""

FIXED, SPHERE, BALL, TRUNCATED_NORMAL, RADEMACHER = 0, 1, 2, 3, 4
LAW_CODES = {
    "fixed": FIXED,
    "sphere": SPHERE,
    "ball": BALL,
    "truncated-normal": TRUNCATED_NORMAL,
    "rademacher": RADEMACHER,
}

MULTIPLIER_0, MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL_0, WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
HALF_WORD, DROP, ONE = np.uint64(32), np.uint64(11), np.uint64(1)
PURPOSE_SHIFT, EXPONENT_SHIFT, EXPONENT_BIAS = np.uint64(24), np.uint64(52), np.uint64(1023)
ULP = 2.0**-53
SIN = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(8))
COS = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(9))
EXP = tuple(1.0 / math.factorial(k) for k in range(14))
ATANH = tuple(1.0 / (2 * k + 3) for k in range(10))
HALF_PI, SQRT2, INV_LN2 = math.pi / 2, math.sqrt(2.0), 1.0 / math.log(2.0)
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
MANTISSA, ONE_BITS = np.uint64(0x000FFFFFFFFFFFFF), np.uint64(0x3FF0000000000000)


def law_arguments(law: int, n: int, bound: float, std: float | None) -> Array:
    """What `draw` needs of a law: [bound, std, m, k, half, c].

    Truncated normal: where fewer than half of the normals would be accepted, the squared radius t·bound² is drawn from
    the density t^(m/2−1) and accepted with probability t^k·exp(c − half·t), which is at least about a half.
    """
    sigma = bound / 2.0 if std is None else std
    half, m, k, c = 0.0, 0.0, 0.0, 0.0
    if law == TRUNCATED_NORMAL and bound > 0.0:
        half = bound**2 / (2.0 * sigma**2)
        m = max(1.0, n - 2.0 * half) if 2.0 * half < n else 0.0
        k = (n - m) / 2.0 if m else 0.0
        peak = k / half
        c = half * peak - k * math.log(peak) if peak > 0.0 else 0.0
    return np.array([bound, sigma, m, k, half, c])


@lane_jit
def _round(k0, k1, c0, c1, c2, c3):  # type: ignore[no-untyped-def]
    p0, p1 = MULTIPLIER_0 * c0, MULTIPLIER_1 * c2
    return (p1 >> HALF_WORD) ^ c1 ^ k0, p1 & LOW, (p0 >> HALF_WORD) ^ c3 ^ k1, p0 & LOW


@lane_jit
def philox(k0, k1, c0, c1, c2, c3):  # type: ignore[no-untyped-def]
    """Philox4x32-10; every word is a uint64 below 2³², a number or a lane vector."""
    c0, c1, c2, c3 = _round(k0, k1, spread(c0), spread(c1), spread(c2), spread(c3))
    for _ in range(9):
        k0, k1 = (k0 + WEYL_0) & LOW, (k1 + WEYL_1) & LOW
        c0, c1, c2, c3 = _round(k0, k1, c0, c1, c2, c3)
    return c0, c1, c2, c3


@lane_jit
def block(seed, users, step, tag):  # type: ignore[no-untyped-def]
    """The four words of (seed, user, step, purpose and slot) in each lane."""
    return philox(seed & LOW, seed >> HALF_WORD, users & LOW, users >> HALF_WORD, step, tag)


@lane_jit
def uniform(low, high):  # type: ignore[no-untyped-def]
    """[0, 1) in multiples of 2⁻⁵³."""
    return to_float(((high << HALF_WORD) | low) >> DROP) * ULP


@lane_jit
def _series(x, c):  # type: ignore[no-untyped-def]
    """c₀ + c₁x + c₂x² + …, innermost first."""
    total = splat(c[len(c) - 1])
    for i in range(len(c) - 2, -1, -1):
        total = c[i] + x * total
    return total


@lane_jit
def cos_sin(turns):  # type: ignore[no-untyped-def]
    """(cos, sin) of 2π·turns for turns in [0, 1]."""
    v = 4.0 * turns
    q = floor(v + 0.5)
    r = (v - q) * HALF_PI
    sin, cos = r * _series(r * r, SIN), _series(r * r, COS)
    odd = (q == 1.0) | (q == 3.0)
    a, b = choose(odd, sin, cos), choose(odd, cos, sin)
    return choose((q == 1.0) | (q == 2.0), -1.0 * a, a), choose((q == 2.0) | (q == 3.0), -1.0 * b, b)


@lane_jit
def log(x):  # type: ignore[no-untyped-def]
    """ln x of a normal positive float64."""
    b = bits(x)
    m = from_bits((b & MANTISSA) | ONE_BITS)
    e = to_float(b >> EXPONENT_SHIFT) - 1023.0
    large = m > SQRT2
    m, e = choose(large, 0.5 * m, m), choose(large, e + 1.0, e)
    t = (m - 1.0) / (m + 1.0)
    s = t * t
    return e * LN2_HIGH + (2.0 * t + (2.0 * t * (s * _series(s, ATANH)) + e * LN2_LOW))


@lane_jit
def exp(x):  # type: ignore[no-untyped-def]
    """eˣ for x ≤ 0; below −700 it is taken as e⁻⁷⁰⁰."""
    x = choose(x < -700.0, -700.0, x)
    k = floor(x * INV_LN2 + 0.5)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    return _series(r, EXP) * from_bits((truncate(k) + EXPONENT_BIAS) << EXPONENT_SHIFT)


@lane_jit
def _normals(seed, users, step, tag, n, V):  # type: ignore[no-untyped-def]
    """Standard normals in V[:n], two a block (Box and Muller)."""
    for j in range((n + 1) // 2):
        w0, w1, w2, w3 = block(seed, users, step, tag + np.uint64(j))
        radius = root(-2.0 * log(uniform(w0, w1) + ULP))
        c, s = cos_sin(uniform(w2, w3))
        store(V, 2 * j, radius * c)
        if 2 * j + 1 < n:
            store(V, 2 * j + 1, radius * s)


@lane_jit
def squared_norm(V, first, last):  # type: ignore[no-untyped-def]
    """Σ of the squares of V[first:last], from left to right."""
    total = splat(0.0)
    for i in range(first, last):
        total = total + load(V, i) * load(V, i)
    return total


@lane_jit
def rescale(V, first, last, factor):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        store(V, i, load(V, i) * factor)


@lane_jit
def _directions(seed, users, step, tag, n, length, V):  # type: ignore[no-untyped-def]
    """Uniform on the sphere of radius `length`."""
    if n == 2:
        w0, w1, _, _ = block(seed, users, step, tag)
        c, s = cos_sin(uniform(w0, w1))
        store(V, 0, length * c)
        store(V, 1, length * s)
    else:
        _normals(seed, users, step, tag, n, V)
        rescale(V, 0, n, length / root(squared_norm(V, 0, n)))


@lane_jit
def random_bits(seed, users, step, tag, word, shift):  # type: ignore[no-untyped-def]
    """One bit of a block, as a mask."""
    w0, w1, w2, w3 = block(seed, users, step, tag)
    low, high = choose(spread(word) < ONE, w0, w1), choose(spread(word) < np.uint64(3), w2, w3)
    w = choose(spread(word) < np.uint64(2), low, high)
    return ((w >> shift) & ONE) > np.uint64(0)


@lane_jit
def _rademacher(seed, users, step, tag, n, value, V):  # type: ignore[no-untyped-def]
    for i in range(n):
        at = np.uint64(i)
        set_bits = random_bits(seed, users, step, tag + (at >> np.uint64(7)), word_of(at), at & np.uint64(31))
        store(V, i, choose(set_bits, value, -value))


@lane_jit
def word_of(bit):  # type: ignore[no-untyped-def]
    """Which of a block's four words holds a bit."""
    return (bit >> np.uint64(5)) & np.uint64(3)


@lane_jit
def _trial(seed, users, step, tag, n, args, V):  # type: ignore[no-untyped-def]
    """One trial of a truncated normal in V; whether it is accepted."""
    bound, sigma, m, k, half, c = args[0], args[1], args[2], args[3], args[4], args[5]
    if m == 0.0:
        _normals(seed, users, step, tag, n, V)
        rescale(V, 0, n, splat(sigma))
        return squared_norm(V, 0, n) <= bound * bound
    _directions(seed, users, step, tag, n, bound, V)
    w0, w1, w2, w3 = block(seed, users, step, tag + np.uint64((n + 1) // 2))
    log_t = (2.0 / m) * log(uniform(w0, w1) + ULP)
    rescale(V, 0, n, exp(0.5 * log_t))
    return log(uniform(w2, w3) + ULP) <= k * log_t - half * exp(log_t) + c


@lane_jit
def _truncated(seed, users, step, tag, n, args, V, trial):  # type: ignore[no-untyped-def]
    """Rejection: every lane keeps its first accepted trial, whatever the others do."""
    waiting = splat(1.0)
    while some(waiting > 0.0):
        take = _trial(seed, users, step, tag, n, args, trial) & (waiting > 0.0)
        for i in range(n):
            store(V, i, choose(take, load(trial, i), load(V, i)))
        waiting = choose(take, 0.0, waiting)
        tag += np.uint64((n + 1) // 2 + 1)


@lane_jit
def draw(seed, users, step, purpose, law, args, n, V, trial):  # type: ignore[no-untyped-def]
    """An isotropic draw for each lane's user in V[:n]; V and trial are float lane arrays of n vectors or more."""
    tag = np.uint64(purpose) << PURPOSE_SHIFT
    if law in (SPHERE, BALL):
        _directions(seed, users, step, tag, n, args[0], V)
        if law == BALL:
            w0, w1, _, _ = block(seed, users, step, tag + np.uint64((n + 1) // 2))
            rescale(V, 0, n, exp(log(uniform(w0, w1) + ULP) / n))
    elif law == RADEMACHER:
        _rademacher(seed, users, step, tag, n, args[0] / math.sqrt(n), V)
    elif law == TRUNCATED_NORMAL and args[0] > 0.0:
        _truncated(seed, users, step, tag, n, args, V, trial)
    else:
        for i in range(n):
            store(V, i, 0.0)


@lane_jit
def refill_signs(seed, users, bit, words):  # type: ignore[no-untyped-def]
    """Words 0 to 3 of the block that holds sign number `bit` of each lane's user, where it is the block's first."""
    if bit & np.uint64(127) == 0:
        w0, w1, w2, w3 = block(seed, users, bit >> np.uint64(7), np.uint64(SIGNS) << PURPOSE_SHIFT)
        store(words, 0, w0)
        store(words, 1, w1)
        store(words, 2, w2)
        store(words, 3, w3)


@lane_jit
def sign(words, bit):  # type: ignore[no-untyped-def]
    """The fair sign number `bit`, its block being in `words`."""
    up = ((load(words, word_of(bit)) >> (bit & np.uint64(31))) & ONE) > np.uint64(0)
    return choose(up, splat(1.0), splat(-1.0))
