"""The compiled loop of `episodes`: LANES users side by side, each through one episode, then sums of their reports."""

from __future__ import annotations

import numpy as np

from .compiling import lane_jit, room_jit
from .lanes import LANES, arithmetic_high, choose, load, numbers, root, splat, store, truncate
from .streams import DISTURBANCE, START, draw, refill_signs, rescale, sign, squared_norm

UNITS = 2.0**30
SLACK = 1.0 - 2.0**-34
"""As 2^SCALE_BITS and SLACK in `device.assignment`, which lies above this room."""
FLOATS = 6
"""Σ cost, Σ cost², Σ other, Σ other², Σ cost·other, Σ of weights."""
COUNTS = 2
"""Cut controls, clipped responses."""
LARGEST = 2.0**63
LOW_LIMB = np.uint64(0xFFFFFFFF)


@lane_jit
def _row(M, i, V, columns):  # type: ignore[no-untyped-def]
    """Σ_j M[i, j] V[j], from left to right."""
    total = splat(0.0)
    for j in range(columns):
        total = total + M[i, j] * load(V, j)
    return total


@lane_jit
def _cut(V, first, last, limit):  # type: ignore[no-untyped-def]
    """Shorten V[first:last] to the length `limit`; where it was longer."""
    norm = root(squared_norm(V, first, last))
    inside = norm <= limit
    rescale(V, first, last, choose(inside, 1.0, limit / norm))
    return choose(inside, splat(0.0), splat(1.0))


@lane_jit
def _control(K, Z, excitation, signs_at, words, seed, users, box, low, high, limit):  # type: ignore[no-untyped-def]
    """Controls behind the state in Z: excited, 0 where not finite, cut to box and ball; where that changed them."""
    d, n = K.shape
    bad = splat(0.0)
    for i in range(d):
        u = _row(K, i, Z, n)
        if excitation != 0.0:
            bit = np.uint64(signs_at + i)
            refill_signs(seed, users, bit, words)
            u = u + excitation * sign(words, bit)
        bad = choose(u - u == 0.0, bad, 1.0)
        store(Z, n + i, u)
    changed = bad
    for i in range(d):
        u = choose(bad > 0.0, 0.0, load(Z, n + i))
        if box:
            changed = choose((u < low[i]) | (u > high[i]), 1.0, changed)
            u = choose(u < low[i], low[i], u)
            u = choose(u > high[i], high[i], u)
        store(Z, n + i, u)
    return choose(_cut(Z, n, n + d, limit) > 0.0, 1.0, changed)


@lane_jit
def _draw(seed, users, step, purpose, law, args, scale, V, trial, out):  # type: ignore[no-untyped-def]
    """out += scale · draw."""
    n = V.size // LANES
    draw(seed, users, np.uint64(step), purpose, law, args, n, V, trial)
    for i in range(n):
        total = load(out, i)
        if scale.shape[0]:
            for j in range(n):
                total = total + scale[i, j] * load(V, j)
        else:
            total = total + load(V, i)
        store(out, i, total)


@lane_jit
def _advance(A, B, Z, X):  # type: ignore[no-untyped-def]
    """X = A x + B u."""
    n, d = B.shape
    for i in range(n):
        total = _row(A, i, Z, n)
        for j in range(d):
            total = total + B[i, j] * load(Z, n + j)
        store(X, i, total)


@lane_jit
def _stage_cost(weights, Z, n, p):  # type: ignore[no-untyped-def]
    total = splat(0.0)
    for i in range(p):
        for k in range(i, n if i < n else p):
            total = total + weights[i, k] * (load(Z, i) * load(Z, k))
    return total


@lane_jit
def _squared_image(M, Z, p):  # type: ignore[no-untyped-def]
    """‖Mz‖²."""
    total = splat(0.0)
    for i in range(p):
        entry = _row(M, i, Z, p)
        total = total + entry * entry
    return total


@lane_jit
def _share(w, budget, spent, size):  # type: ignore[no-untyped-def]
    """The weight that what is left of a budget allows a step of this size."""
    left = budget - spent
    share = left / size
    share = choose((share < w) & (size > 0.0), share, w)
    return choose(left <= 0.0, 0.0, share)


@lane_jit
def _response(Z, X, center, reach, has_shape, disturbance_bound, ceiling, Y):  # type: ignore[no-untyped-def]
    """Y = x⁺ − Θ_c'z, cut to ‖Mz‖ + C_w and to the ceiling; where it was cut."""
    p, n = center.shape
    for j in range(n):
        total = splat(0.0)
        for i in range(p):
            total = total + center[i, j] * load(Z, i)
        store(Y, j, load(X, j) - total)
    limit = splat(ceiling)
    if has_shape:
        own = (root(reach) + disturbance_bound) * SLACK
        limit = choose(limit < own, limit, own)
    return _cut(Y, 0, n, limit)


@lane_jit
def _weigh(Z, has_weighting, weighting, T, p):  # type: ignore[no-untyped-def]
    """T = weighting · z."""
    for i in range(p):
        if has_weighting:
            store(T, i, _row(weighting, i, Z, p))
        else:
            store(T, i, load(Z, i))


@lane_jit
def _keep(V, count, taken):  # type: ignore[no-untyped-def]
    """0 in the lanes that are not taken, so that not even an infinity of theirs counts."""
    for i in range(count):
        store(V, i, choose(taken, load(V, i), 0.0))


@lane_jit
def _accumulate(T, Y, w, p, n, S):  # type: ignore[no-untyped-def]
    m = 0
    for i in range(p):
        t = load(T, i)
        for k in range(i, p):
            store(S, m, load(S, m) + w * (t * load(T, k)))
            m += 1
    for i in range(p):
        t = load(T, i)
        for j in range(n):
            store(S, m, load(S, m) + w * (t * load(Y, j)))
            m += 1


@lane_jit
def _fold(S, count, X, n, active, limbs):  # type: ignore[no-untyped-def]
    """Add the grid units of the active lanes, toward zero, in two limbs; what is not finite counts as zeros."""
    good = active
    for i in range(n):  # a state that is not finite leaves no later one finite
        good = good & (load(X, i) - load(X, i) == 0.0)
    for m in range(count):
        v = load(S, m) * UNITS
        good = good & (v < LARGEST) & (v > -LARGEST)
    for m in range(count):
        units = truncate(choose(good, load(S, m) * UNITS, 0.0))
        store(limbs, 2 * m, load(limbs, 2 * m) + (units & LOW_LIMB))
        store(limbs, 2 * m + 1, load(limbs, 2 * m + 1) + arithmetic_high(units))


@lane_jit
def _tally(cost, other, weight, cut, clips, active, totals):  # type: ignore[no-untyped-def]
    """Add the active lanes' costs, their products, weights and counts."""
    store(totals, 0, load(totals, 0) + choose(active, cost, 0.0))
    store(totals, 1, load(totals, 1) + choose(active, cost * cost, 0.0))
    store(totals, 2, load(totals, 2) + choose(active, other, 0.0))
    store(totals, 3, load(totals, 3) + choose(active, other * other, 0.0))
    store(totals, 4, load(totals, 4) + choose(active, cost * other, 0.0))
    store(totals, 5, load(totals, 5) + choose(active, weight, 0.0))
    store(totals, 6, load(totals, 6) + choose(active, cut, 0.0))
    store(totals, 7, load(totals, 7) + choose(active, clips, 0.0))


@lane_jit
def _empty(limb_lanes, totals, limbs, floats, counts):  # type: ignore[no-untyped-def]
    """Add the lanes of one chunk to its row, in order, and clear them."""
    for m in range(limbs.shape[1]):
        for l in range(LANES):
            limbs[0, m] += np.int64(limb_lanes[2 * m * LANES + l])
            limbs[1, m] += np.int64(limb_lanes[(2 * m + 1) * LANES + l])
    for m in range(FLOATS):
        for l in range(LANES):
            floats[m] += totals[m * LANES + l]
    for m in range(COUNTS):
        for l in range(LANES):
            counts[m] += np.int64(totals[(FLOATS + m) * LANES + l])
    limb_lanes[:] = 0
    totals[:] = 0.0


@lane_jit
def _part(work, first, count):  # type: ignore[no-untyped-def]
    return work[first * LANES : (first + count) * LANES]


@room_jit
def run_chunks(  # type: ignore[no-untyped-def]
    seed, A, B, weights, K, K_other, compare, limit, excitation, box, low, high, center, has_shape, shape, budget,
    disturbance_bound, ceiling,
    has_weighting, weighting, has_response_budget, response_budget,
    w_law, w_args, w_scale, x_law, x_args, x_scale, x_center, starts,
    first_user, offset, users, chunk, limbs, floats, counts, work, words,
):  # fmt: skip
    """Fill rows of limbs (chunks, 2, entries), floats and counts, one a chunk; `starts` begin at row `offset`.

    work and words are zeroed lane arrays of `space` vectors.
    """
    horizon, d, n = K.shape
    p, count = n + d, limbs.shape[2]
    Z, Z_other, X, Y = _part(work, 0, p), _part(work, p, p), _part(work, 2 * p, n), _part(work, 3 * p, n)
    bit_words, limb_lanes = _part(words, 0, 4), _part(words, 4, 2 * count)
    V, trial, W, T = _part(work, 4 * p, n), _part(work, 5 * p, n), _part(work, 6 * p, n), _part(work, 7 * p, p)
    totals, S = _part(work, 8 * p, FLOATS + COUNTS), _part(work, 8 * p + FLOATS + COUNTS, count)
    for begin in range(0, users, LANES):
        active = numbers() < np.uint64(users - begin)
        who = numbers() + (first_user + np.uint64(begin))
        for i in range(n):
            store(Z, i, x_center[i])
        if starts.shape[0]:
            for l in range(min(LANES, users - begin)):
                for i in range(n):
                    Z[i * LANES + l] = starts[offset + begin + l, i]
        else:
            _draw(seed, who, 0, START, x_law, x_args, x_scale, V, trial, Z)
        for i in range(n):
            store(Z_other, i, load(Z, i))
        for m in range(count):
            store(S, m, 0.0)
        w, spent, spent_response, weight = splat(1.0), splat(0.0), splat(0.0), splat(0.0)
        cost, other, cuts, clips = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for h in range(horizon):
            for i in range(n):
                store(W, i, 0.0)
            _draw(seed, who, h, DISTURBANCE, w_law, w_args, w_scale, V, trial, W)
            cuts = cuts + _control(K[h], Z, excitation, h * d, bit_words, seed, who, box, low, high, limit)
            _advance(A, B, Z, X)
            for i in range(n):
                store(X, i, load(X, i) + load(W, i))
            cost = cost + _stage_cost(weights, Z, n, p)
            reach = _squared_image(shape, Z, p) if has_shape else splat(0.0)
            over = _response(Z, X, center, reach, has_shape, disturbance_bound, ceiling, Y)
            clips = clips + over
            _weigh(Z, has_weighting, weighting, T, p)
            size = squared_norm(T, 0, p)
            taken = (w == 1.0) & (size > 0.0)  # once a budget is spent no later step weighs anything
            share = _share(splat(1.0), budget, spent, size)
            if has_response_budget:
                share = _share(share, response_budget, spent_response, reach)
            w = choose(taken, share, w)
            spent = spent + size
            spent_response = spent_response + choose(taken, reach, 0.0)
            weight = weight + choose(taken, w, 0.0)
            _keep(T, p, taken)
            _keep(Y, n, taken)
            _accumulate(T, Y, w, p, n, S)
            if compare:
                for i in range(d):
                    store(Z_other, n + i, _row(K_other[h], i, Z_other, n))
                other = other + _stage_cost(weights, Z_other, n, p)
                _advance(A, B, Z_other, Y)
                for i in range(n):
                    store(Z_other, i, load(Y, i) + load(W, i))
            for i in range(n):
                store(Z, i, load(X, i))
        _fold(S, count, X, n, active, limb_lanes)
        _tally(cost, other, weight, cuts, clips, active, totals)
        if (begin + LANES) % chunk == 0 or begin + LANES >= users:
            row = begin // chunk
            _empty(limb_lanes, totals, limbs[row], floats[row], counts[row])


def entries(n: int, d: int) -> int:
    """Numbers in a report."""
    p = n + d
    return p * (p + 1) // 2 + p * n


def space(n: int, d: int) -> tuple[int, int]:
    """Vectors in `work` and `words` of run_chunks."""
    return 8 * (n + d) + FLOATS + COUNTS + entries(n, d), 4 + 2 * entries(n, d)
