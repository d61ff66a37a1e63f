"""Exact projection onto an ellipsoid cut by a ball, by a search over its two multipliers.

In the ellipsoid's eigenbasis a point is Θ = Θ_c + mV, row i stretched by m_i. The projection minimises
Σ w_i‖v_i − b_i/w_i‖² over ‖V‖² ≤ 1 and Σ‖m_iv_i + c_i‖² ≤ r², c = Θ_c − Θ₀. Its solution is
v_i = (b_i − λ₂m_ic_i)/(w_i + λ₁ + λ₂m_i²).
All that a search needs is three numbers a row: ‖b_i‖², ⟨b_i,c_i⟩ and ‖c_i‖².
"""

from __future__ import annotations

import numpy as np

from .compiling import room_jit

LARGEST = 1e18  # a multiplier beyond this means that the two sets do not meet


@room_jit
def pair_values(first, second, w, m, bb, bc, cc):  # type: ignore[no-untyped-def]
    """‖V‖², ‖mV + c‖² and half of minus their derivatives: (λ₁λ₁, λ₁λ₂, λ₂λ₂)."""
    size, reach, h11, h12, h22 = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(w.size):
        D = w[i] + first + second * m[i] * m[i]
        if D <= 0.0:
            reach += cc[i]
            continue
        q = w[i] + first
        inverse = 1.0 / (D * D)
        vv = max(0.0, bb[i] - 2.0 * second * m[i] * bc[i] + (second * m[i]) ** 2 * cc[i]) * inverse
        ee = max(0.0, m[i] * m[i] * bb[i] + 2.0 * m[i] * q * bc[i] + q * q * cc[i]) * inverse
        ve = (m[i] * bb[i] + (q - second * m[i] * m[i]) * bc[i] - second * m[i] * q * cc[i]) * inverse
        size += vv
        reach += ee
        h11 += vv / D
        h12 += m[i] * ve / D
        h22 += m[i] * m[i] * ee / D
    return size, reach, h11, h12, h22


@room_jit
def first_multiplier(start, second, w, m, bb, bc, cc):  # type: ignore[no-untyped-def]
    """λ₁ ≥ 0 with ‖V‖ ≤ 1 at this λ₂, by Newton on the secular equation (monotone from the left)."""
    size, _, h11, _, _ = pair_values(0.0, second, w, m, bb, bc, cc)
    if size <= 1.0:
        return 0.0
    value = 0.0
    if start > 0.0:
        there, _, slope, _, _ = pair_values(start, second, w, m, bb, bc, cc)
        if there >= 1.0:
            value, size, h11 = start, there, slope
    for _ in range(100):
        step = size / h11 * (np.sqrt(size) - 1.0)
        value += step
        if step <= 1e-15 * value:
            break
        size, _, h11, _, _ = pair_values(value, second, w, m, bb, bc, cc)
        if size <= 1.0:
            break
    return value


@room_jit
def project_pair(w, m, bb, bc, cc, r):  # type: ignore[no-untyped-def]
    """(λ₁, λ₂, whether the sets meet)."""
    second, low, high = 0.0, 0.0, -1.0
    first = first_multiplier(0.0, 0.0, w, m, bb, bc, cc)
    target = r * r
    for _ in range(200):
        _, reach, h11, h12, h22 = pair_values(first, second, w, m, bb, bc, cc)
        if reach <= target * (1.0 + 1e-13):
            if second == 0.0 or reach >= target * (1.0 - 1e-12):
                return first, second, True
            high = second
        else:
            low = second
        if high > 0.0 and high - low <= 1e-15 * high:
            return first_multiplier(0.0, high, w, m, bb, bc, cc), high, True
        slope = h22
        if first > 0.0 and h11 > 0.0:
            slope = h22 - h12 * h12 / h11
        following = -1.0
        if slope > 0.0:
            following = second + reach / slope * (np.sqrt(reach) / r - 1.0)
        if high < 0.0:
            if not following > low:
                following = 2.0 * second + 1e-3
            following = min(following, 1e3 * (second + 1.0))
        elif not (low < following < high):
            following = 0.5 * (low + high)
        if following > LARGEST:
            return first, second, False
        second = following
        first = first_multiplier(first, second, w, m, bb, bc, cc)
    if high > 0.0:
        return first_multiplier(0.0, high, w, m, bb, bc, cc), high, True
    return first, second, False


@room_jit
def project_rows(b, c, w, m, r, out):  # type: ignore[no-untyped-def]
    """The minimiser V (p, n) into `out`; False where the two sets do not meet. b, c (p, n); w, m (p,)."""
    p, n = b.shape
    bb, bc, cc = np.zeros(p), np.zeros(p), np.zeros(p)
    for i in range(p):
        for j in range(n):
            bb[i] += b[i, j] * b[i, j]
            bc[i] += b[i, j] * c[i, j]
            cc[i] += c[i, j] * c[i, j]
    first, second, meets = project_pair(w, m, bb, bc, cc, r)
    for i in range(p):
        D = w[i] + first + second * m[i] * m[i]
        for j in range(n):
            out[i, j] = (b[i, j] - second * m[i] * c[i, j]) / D if D > 0.0 else 0.0
    return meets
