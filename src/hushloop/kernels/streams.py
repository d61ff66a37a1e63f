"""Random draws that depend on (seed, user, step) alone: Philox4x32-10 and the bounded laws built on it, in lanes.

The stream, so that any machine can draw the same: key = the two halves of the seed (low first); counter = (user low,
user high, step, purpose·2²⁴ + slot). Words 0 and 1 of a block make the uniform ((w1·2³² + w0) >> 11)·2⁻⁵³, words 2 and 3
the next. From there on only + − × ÷ √ and floor are used, in a fixed order, so that every lane width and every machine
with IEEE arithmetic gets the same bits. Philox: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

Array = NDArray[np.float64]

LANES = 16
"""Users or candidates that go through a kernel side by side; a compile-time constant, so that loops over it vectorise."""

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
HALF_WORD, DROP = np.uint64(32), np.uint64(11)
PURPOSE_SHIFT = np.uint64(24)
ULP = 2.0**-53
SIN = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(8))
COS = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(9))
EXP = tuple(1.0 / math.factorial(k) for k in range(14))
ATANH = tuple(1.0 / (2 * k + 1) for k in range(11))
HALF_PI, SQRT2, INV_LN2 = math.pi / 2, math.sqrt(2.0), 1.0 / math.log(2.0)
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
MANTISSA, ONE_BITS = 0x000FFFFFFFFFFFFF, 0x3FF0000000000000

lane_jit = njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
room_jit = njit(cache=True, nogil=True, error_model="numpy")


def law_arguments(law: int, n: int, bound: float, std: float | None) -> Array:
    """What `draw` needs of a law: [bound, std, m, k, half, c].

    Truncated normal: where fewer than half of the normals would be accepted, the squared radius t·bound² is drawn from
    the density t^(m/2−1) and accepted with probability t^k·exp(c − half·t), which is at least about a half.
    """
    sigma = bound / 2.0 if std is None else std
    half, m, k, c = 0.0, float(n), 0.0, 0.0
    if law == TRUNCATED_NORMAL and bound > 0.0:
        half = bound**2 / (2.0 * sigma**2)
        m = max(1.0, n - 2.0 * half) if 2.0 * half < n else 0.0
        k = (n - m) / 2.0 if m else 0.0
        peak = k / half
        c = half * peak - k * math.log(peak) if peak > 0.0 else 0.0
    return np.array([bound, sigma, m, k, half, c])


@intrinsic  # type: ignore[misc]
def float_bits(typingctx: Any, value: Any) -> Any:
    """The bits of a float64 as int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@intrinsic  # type: ignore[misc]
def bits_float(typingctx: Any, value: Any) -> Any:
    """The float64 of the bits in an int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


@lane_jit
def _round(k0, k1, c0, c1, c2, c3):  # type: ignore[no-untyped-def]
    p0, p1 = MULTIPLIER_0 * c0, MULTIPLIER_1 * c2
    return (p1 >> HALF_WORD) ^ c1 ^ k0, p1 & LOW, (p0 >> HALF_WORD) ^ c3 ^ k1, p0 & LOW


@lane_jit
def _turn(k0, k1):  # type: ignore[no-untyped-def]
    return (k0 + WEYL_0) & LOW, (k1 + WEYL_1) & LOW


@lane_jit
def philox(k0, k1, c0, c1, c2, c3):  # type: ignore[no-untyped-def]
    """Philox4x32-10; every word is a uint64 below 2³²."""
    c0, c1, c2, c3 = _round(k0, k1, c0, c1, c2, c3)
    k0, k1 = _turn(k0, k1)
    c0, c1, c2, c3 = _round(k0, k1, c0, c1, c2, c3)
    k0, k1 = _turn(k0, k1)
    c0, c1, c2, c3 = _round(k0, k1, c0, c1, c2, c3)
    k0, k1 = _turn(k0, k1)
    c0, c1, c2, c3 = _round(k0, k1, c0, c1, c2, c3)
    k0, k1 = _turn(k0, k1)
    c0, c1, c2, c3 = _round(k0, k1, c0, c1, c2, c3)
    k0, k1 = _turn(k0, k1)
    c0, c1, c2, c3 = _round(k0, k1, c0, c1, c2, c3)
    k0, k1 = _turn(k0, k1)
    c0, c1, c2, c3 = _round(k0, k1, c0, c1, c2, c3)
    k0, k1 = _turn(k0, k1)
    c0, c1, c2, c3 = _round(k0, k1, c0, c1, c2, c3)
    k0, k1 = _turn(k0, k1)
    c0, c1, c2, c3 = _round(k0, k1, c0, c1, c2, c3)
    k0, k1 = _turn(k0, k1)
    return _round(k0, k1, c0, c1, c2, c3)


@lane_jit
def block(seed, user, step, tag):  # type: ignore[no-untyped-def]
    """The four words of a (seed, user, step, purpose and slot); all uint64."""
    return philox(seed & LOW, seed >> HALF_WORD, user & LOW, user >> HALF_WORD, step, tag)


@lane_jit
def uniform(low, high):  # type: ignore[no-untyped-def]
    """[0, 1) in multiples of 2⁻⁵³."""
    return np.float64(np.int64(((high << HALF_WORD) | low) >> DROP)) * ULP


@lane_jit
def cos_sin(turns):  # type: ignore[no-untyped-def]
    """(cos, sin) of 2π·turns for turns in [0, 1]."""
    v = 4.0 * turns
    q = np.floor(v + 0.5)
    r = (v - q) * HALF_PI
    s = r * r
    sin = r * (
        1.0 + s * (SIN[1] + s * (SIN[2] + s * (SIN[3] + s * (SIN[4] + s * (SIN[5] + s * (SIN[6] + s * SIN[7]))))))
    )
    cos = 1.0 + s * (
        COS[1] + s * (COS[2] + s * (COS[3] + s * (COS[4] + s * (COS[5] + s * (COS[6] + s * (COS[7] + s * COS[8]))))))
    )
    odd = (q == 1.0) | (q == 3.0)
    a = sin if odd else cos
    b = cos if odd else sin
    return -a if (q == 1.0) | (q == 2.0) else a, -b if (q == 2.0) | (q == 3.0) else b


@lane_jit
def log(x):  # type: ignore[no-untyped-def]
    """ln x of a normal positive float64."""
    bits = float_bits(x)
    m = bits_float((bits & MANTISSA) | ONE_BITS)
    e = np.float64((bits >> 52) - 1023)
    large = m > SQRT2
    m = 0.5 * m if large else m
    e = e + 1.0 if large else e
    t = (m - 1.0) / (m + 1.0)
    s = t * t
    series = s * (
        ATANH[1]
        + s
        * (
            ATANH[2]
            + s
            * (
                ATANH[3]
                + s
                * (
                    ATANH[4]
                    + s * (ATANH[5] + s * (ATANH[6] + s * (ATANH[7] + s * (ATANH[8] + s * (ATANH[9] + s * ATANH[10])))))
                )
            )
        )
    )
    return e * LN2_HIGH + (2.0 * t + (2.0 * t * series + e * LN2_LOW))


@lane_jit
def exp(x):  # type: ignore[no-untyped-def]
    """eˣ for x ≤ 0; below −700 it is taken as e⁻⁷⁰⁰."""
    x = max(x, -700.0)
    k = np.floor(x * INV_LN2 + 0.5)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    poly = 1.0 + r * (
        1.0
        + r
        * (
            EXP[2]
            + r
            * (
                EXP[3]
                + r
                * (
                    EXP[4]
                    + r
                    * (
                        EXP[5]
                        + r
                        * (
                            EXP[6]
                            + r
                            * (
                                EXP[7]
                                + r
                                * (EXP[8] + r * (EXP[9] + r * (EXP[10] + r * (EXP[11] + r * (EXP[12] + r * EXP[13])))))
                            )
                        )
                    )
                )
            )
        )
    )
    return poly * bits_float((np.int64(k) + 1023) << 52)


@lane_jit
def _normals(seed, first, step, tag, n, V):  # type: ignore[no-untyped-def]
    """Standard normals in V[:n], two a block (Box and Muller); V has an even number of rows."""
    for j in range((n + 1) // 2):
        slot = tag + np.uint64(j)
        for l in range(LANES):
            w0, w1, w2, w3 = block(seed, first + np.uint64(l), step, slot)
            radius = np.sqrt(-2.0 * log(uniform(w0, w1) + ULP))
            c, s = cos_sin(uniform(w2, w3))
            V[2 * j, l] = radius * c
            V[2 * j + 1, l] = radius * s


@lane_jit
def _squared_norm(n, V, out):  # type: ignore[no-untyped-def]
    for l in range(LANES):
        out[l] = 0.0
    for i in range(n):
        for l in range(LANES):
            out[l] += V[i, l] * V[i, l]


@lane_jit
def _directions(seed, first, step, tag, n, length, V, size):  # type: ignore[no-untyped-def]
    """Uniform on the sphere of radius `length`."""
    if n == 2:
        for l in range(LANES):
            w0, w1, _, _ = block(seed, first + np.uint64(l), step, tag)
            c, s = cos_sin(uniform(w0, w1))
            V[0, l] = length * c
            V[1, l] = length * s
        return
    _normals(seed, first, step, tag, n, V)
    _squared_norm(n, V, size)
    for l in range(LANES):
        size[l] = length / np.sqrt(size[l])
    for i in range(n):
        for l in range(LANES):
            V[i, l] *= size[l]


@lane_jit
def _ball(seed, first, step, tag, n, bound, V, size):  # type: ignore[no-untyped-def]
    _directions(seed, first, step, tag, n, bound, V, size)
    slot = tag + np.uint64((n + 1) // 2)
    for l in range(LANES):
        w0, w1, _, _ = block(seed, first + np.uint64(l), step, slot)
        size[l] = exp(log(uniform(w0, w1) + ULP) / n)
    for i in range(n):
        for l in range(LANES):
            V[i, l] *= size[l]


@lane_jit
def _rademacher(seed, first, step, tag, n, value, V):  # type: ignore[no-untyped-def]
    for i in range(n):
        slot, bit = tag + np.uint64(i // 128), np.uint64(i % 32)
        word = (i // 32) % 4
        for l in range(LANES):
            words = block(seed, first + np.uint64(l), step, slot)
            w = words[0] if word == 0 else words[1] if word == 1 else words[2] if word == 2 else words[3]
            V[i, l] = value if (w >> bit) & np.uint64(1) else -value


@lane_jit
def _truncated(seed, first, step, tag, n, args, V, size, trial, done):  # type: ignore[no-untyped-def]
    """Rejection: every lane keeps its first accepted trial, whatever the others do."""
    bound, sigma, m, k, half, c = args[0], args[1], args[2], args[3], args[4], args[5]
    slots = np.uint64((n + 1) // 2 + 1)
    for l in range(LANES):
        done[l] = 0
    open_lanes = LANES
    while open_lanes:
        if m == 0.0:
            _normals(seed, first, step, tag, n, trial)
            for i in range(n):
                for l in range(LANES):
                    trial[i, l] *= sigma
            _squared_norm(n, trial, size)
            for l in range(LANES):
                size[l] = 1.0 if size[l] <= bound * bound else 0.0
        else:
            _directions(seed, first, step, tag, n, bound, trial, size)
            for l in range(LANES):
                w0, w1, w2, w3 = block(seed, first + np.uint64(l), step, tag + slots - np.uint64(1))
                log_t = 2.0 / m * log(uniform(w0, w1) + ULP)
                good = log(uniform(w2, w3) + ULP) <= k * log_t - half * exp(log_t) + c
                size[l] = exp(0.5 * log_t) if good else 0.0
            for i in range(n):
                for l in range(LANES):
                    trial[i, l] *= size[l]
        for i in range(n):
            for l in range(LANES):
                V[i, l] = trial[i, l] if (done[l] == 0) & (size[l] > 0.0) else V[i, l]
        open_lanes = 0
        for l in range(LANES):
            done[l] = 1 if size[l] > 0.0 else done[l]
            open_lanes += 1 - done[l]
        tag += slots


@room_jit
def draw(seed, first, step, purpose, law, args, n, V, size, trial, done):  # type: ignore[no-untyped-def]
    """Draws of users first..first+LANES−1 in V[:n]; V and trial have at least n rows, an even number of them."""
    tag = np.uint64(purpose) << PURPOSE_SHIFT
    at = np.uint64(step)
    if law == SPHERE:
        _directions(seed, first, at, tag, n, args[0], V, size)
    elif law == RADEMACHER:
        _rademacher(seed, first, at, tag, n, args[0] / math.sqrt(n), V)
    elif law == BALL:
        _ball(seed, first, at, tag, n, args[0], V, size)
    elif law == TRUNCATED_NORMAL and args[0] > 0.0:
        _truncated(seed, first, at, tag, n, args, V, size, trial, done)
    else:
        for i in range(n):
            for l in range(LANES):
                V[i, l] = 0.0


@room_jit
def draw_signs(seed, first, bit, S):  # type: ignore[no-untyped-def]
    """Fair signs of users first..first+LANES−1: bits bit, bit+1, … of the users' sign streams, one row of S each."""
    for i in range(S.shape[0]):
        at = bit + i
        word, shift = (at // 32) % 4, np.uint64(at % 32)
        for l in range(LANES):
            words = block(seed, first + np.uint64(l), np.uint64(at // 128), np.uint64(SIGNS) << PURPOSE_SHIFT)
            w = words[0] if word == 0 else words[1] if word == 1 else words[2] if word == 2 else words[3]
            S[i, l] = 1.0 if (w >> shift) & np.uint64(1) else -1.0
