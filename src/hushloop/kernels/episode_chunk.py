"""The compiled loop of `episodes`: LANES users side by side through one episode each, then exact sums of their reports."""

from __future__ import annotations

import numpy as np

from .streams import DISTURBANCE, FIXED, LANES, START, draw, draw_signs, room_jit

UNITS = 2.0**30
SLACK = 1.0 - 2.0**-34
"""As 2^SCALE_BITS and SLACK in `device.assignment`, which lies above this room."""
FLOATS, COUNTS = 6, 2
LOW_LIMB = 0xFFFFFFFF


@room_jit
def _clear(V):  # type: ignore[no-untyped-def]
    for i in range(V.shape[0]):
        for l in range(LANES):
            V[i, l] = 0.0


@room_jit
def _multiply_add(M, X, out):  # type: ignore[no-untyped-def]
    """out += M X, each entry from left to right."""
    for i in range(M.shape[0]):
        for j in range(M.shape[1]):
            m = M[i, j]
            for l in range(LANES):
                out[i, l] += m * X[j, l]


@room_jit
def _norm(V, out):  # type: ignore[no-untyped-def]
    for l in range(LANES):
        out[l] = 0.0
    for i in range(V.shape[0]):
        for l in range(LANES):
            out[l] += V[i, l] * V[i, l]
    for l in range(LANES):
        out[l] = np.sqrt(out[l])


@room_jit
def _clip_control(U, limit, box, low, high, tmp, cut, clipped):  # type: ignore[no-untyped-def]
    for l in range(LANES):
        cut[l] = 0
    if box:
        for i in range(U.shape[0]):
            a, b = low[i], high[i]
            for l in range(LANES):
                u = U[i, l]
                v = a if u < a else u
                v = b if v > b else v
                cut[l] = cut[l] | (v < u) | (v > u)
                U[i, l] = v
    _norm(U, tmp)
    for l in range(LANES):
        over = tmp[l] > limit
        cut[l] = cut[l] | over
        tmp[l] = limit / tmp[l] if over else 1.0
        clipped[l] += cut[l]
    for i in range(U.shape[0]):
        for l in range(LANES):
            U[i, l] *= tmp[l]


@room_jit
def _quadratic(weights, Z, first, last, cost):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        for k in range(i, last):
            q = weights[i, k]
            for l in range(LANES):
                cost[l] += q * (Z[i, l] * Z[k, l])


@room_jit
def _weights(Z, budget, spent, w, weight):  # type: ignore[no-untyped-def]
    """w = min(1, left/‖z‖²), and 0 once the budget is spent."""
    for l in range(LANES):
        w[l] = 0.0
    for i in range(Z.shape[0]):
        for l in range(LANES):
            w[l] += Z[i, l] * Z[i, l]
    for l in range(LANES):
        size = w[l]
        left = budget - spent[l]
        share = left / size
        share = share if share < 1.0 else 1.0
        share = 0.0 if (left <= 0.0) | (size == 0.0) else share
        spent[l] += share * size
        w[l] = share
        weight[l] += share


@room_jit
def _response(Z, X, center, has_shape, shape, disturbance_bound, ceiling, Y, MZ, limit, norm, clips):  # type: ignore[no-untyped-def]
    """y = x⁺ − Θ_c'z, clipped to ‖Mz‖ + C_w and to the ceiling."""
    p, n = center.shape
    for j in range(n):
        for l in range(LANES):
            norm[l] = 0.0
        for i in range(p):
            c = center[i, j]
            for l in range(LANES):
                norm[l] += c * Z[i, l]
        for l in range(LANES):
            Y[j, l] = X[j, l] - norm[l]
    if has_shape:
        _clear(MZ)
        _multiply_add(shape, Z, MZ)
        _norm(MZ, limit)
        for l in range(LANES):
            v = (limit[l] + disturbance_bound) * SLACK
            limit[l] = ceiling if ceiling < v else v
    else:
        for l in range(LANES):
            limit[l] = ceiling
    _norm(Y, norm)
    for l in range(LANES):
        over = norm[l] > limit[l]
        clips[l] += over
        norm[l] = limit[l] / norm[l] if over else 1.0
    for j in range(n):
        for l in range(LANES):
            Y[j, l] *= norm[l]


@room_jit
def _accumulate(Z, Y, w, S):  # type: ignore[no-untyped-def]
    p, n = Z.shape[0], Y.shape[0]
    m = 0
    for i in range(p):
        for k in range(i, p):
            for l in range(LANES):
                S[m, l] += w[l] * (Z[i, l] * Z[k, l])
            m += 1
    for i in range(p):
        for j in range(n):
            for l in range(LANES):
                S[m, l] += w[l] * (Z[i, l] * Y[j, l])
            m += 1


@room_jit
def _fold(S, finite, active, limbs):  # type: ignore[no-untyped-def]
    """Add the grid units of the first `active` lanes, toward zero, in two limbs; what is not finite counts as zeros."""
    for l in range(LANES):
        finite[l] = 1
    for m in range(S.shape[0]):
        for l in range(LANES):
            v = S[m, l] * UNITS
            finite[l] = finite[l] & (v - v == 0.0)
    for m in range(S.shape[0]):
        low, high = 0, 0
        for l in range(active):
            units = np.int64(S[m, l] * UNITS) if finite[l] else 0
            low += units & LOW_LIMB
            high += units >> 32
        limbs[0, m] += low
        limbs[1, m] += high


@room_jit
def _draw_state(seed, first, step, purpose, law, args, scale, center, V, out, size, trial, done):  # type: ignore[no-untyped-def]
    """out = center + scale·draw, rows of the state."""
    n = center.size
    draw(seed, first, step, purpose, law, args, n, V, size, trial, done)
    for i in range(n):
        for l in range(LANES):
            out[i, l] = center[i] if scale.shape[0] else center[i] + V[i, l]
    if scale.shape[0]:
        _multiply_add(scale, V[:n], out)


@room_jit
def run_chunks(
    seed, A, B, weights, K, K_other, compare, limit, excitation, box, low, high, center, has_shape, shape, budget,
    disturbance_bound, ceiling, w_law, w_args, w_scale, w_center, x_law, x_args, x_scale, x_center, starts,
    first_user, offset, users, chunk, limbs, floats, counts,
):  # type: ignore[no-untyped-def]  # fmt: skip
    """Rows of limbs (chunks, 2, entries), floats and counts: one for each chunk of the users; starts begin at `offset`."""
    horizon, d, n = K.shape
    p = n + d
    Z, Z_other = np.zeros((p, LANES)), np.zeros((p, LANES))
    X, X_other = np.zeros((n, LANES)), np.zeros((n, LANES))
    V, trial = np.zeros((n + 2, LANES)), np.zeros((n + 2, LANES))
    W, Y, MZ = np.zeros((n, LANES)), np.zeros((n, LANES)), np.zeros((p, LANES))
    signs = np.zeros((d, LANES))
    S = np.zeros((limbs.shape[2], LANES))
    sums = np.zeros((6, LANES))
    spent, w, cost, other, weight, tmp = sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]
    tmp2 = np.zeros(LANES)
    flags = np.zeros((3, LANES), dtype=np.int64)
    cut, clipped, clips = flags[0], flags[1], flags[2]
    for begin in range(0, users, LANES):
        active = min(LANES, users - begin)
        row = begin // chunk
        first = first_user + np.uint64(begin)
        _clear(S)
        _clear(sums)
        for l in range(LANES):
            clipped[l] = 0
            clips[l] = 0
        if starts.shape[0]:
            for l in range(active):
                for i in range(n):
                    X[i, l] = starts[offset + begin + l, i]
        else:
            _draw_state(seed, first, 0, START, x_law, x_args, x_scale, x_center, V, X, tmp, trial, cut)
        for i in range(n):
            for l in range(LANES):
                X_other[i, l] = X[i, l]
        for h in range(horizon):
            for i in range(n):
                for l in range(LANES):
                    Z[i, l] = X[i, l]
            U = Z[n:]
            _clear(U)
            _multiply_add(K[h], Z[:n], U)
            if excitation != 0.0:
                draw_signs(seed, first, h * d, signs)
                for i in range(d):
                    for l in range(LANES):
                        U[i, l] += excitation * signs[i, l]
            _clip_control(U, limit, box, low, high, tmp, cut, clipped)
            _draw_state(seed, first, h, DISTURBANCE, w_law, w_args, w_scale, w_center, V, W, tmp, trial, cut)
            _clear(X)
            _multiply_add(A, Z[:n], X)
            _multiply_add(B, U, X)
            for i in range(n):
                for l in range(LANES):
                    X[i, l] += W[i, l]
            _quadratic(weights, Z, 0, n, cost)
            _quadratic(weights, Z, n, p, cost)
            _weights(Z, budget, spent, w, weight)
            _response(Z, X, center, has_shape, shape, disturbance_bound, ceiling, Y, MZ, tmp2, tmp, clips)
            _accumulate(Z, Y, w, S)
            if compare:
                for i in range(n):
                    for l in range(LANES):
                        Z_other[i, l] = X_other[i, l]
                U = Z_other[n:]
                _clear(U)
                _multiply_add(K_other[h], Z_other[:n], U)
                _clear(X_other)
                _multiply_add(A, Z_other[:n], X_other)
                _multiply_add(B, U, X_other)
                for i in range(n):
                    for l in range(LANES):
                        X_other[i, l] += W[i, l]
                _quadratic(weights, Z_other, 0, n, other)
                _quadratic(weights, Z_other, n, p, other)
        _fold(S, cut, active, limbs[row])
        for l in range(active):
            floats[row, 0] += cost[l]
            floats[row, 1] += cost[l] * cost[l]
            floats[row, 2] += other[l]
            floats[row, 3] += other[l] * other[l]
            floats[row, 4] += cost[l] * other[l]
            floats[row, 5] += weight[l]
            counts[row, 0] += clipped[l]
            counts[row, 1] += clips[l]
