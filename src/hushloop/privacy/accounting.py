"""μ ↔ (ε, δ) of Gaussian mechanisms, exactly and rounded to the safe side."""

from __future__ import annotations

import math


def log_delta_of(epsilon: float, mu: float) -> float:
    """ln δ(ε) of μ-GDP: δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), in log space."""
    from scipy.special import log_ndtr

    high = float(log_ndtr(mu / 2 - epsilon / mu))
    low = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return high + math.log(-math.expm1(low - high)) if low < high else -math.inf


def mu_of(epsilon: float, delta: float) -> float:
    """The largest μ whose guarantee at δ is at most ε, rounded down."""
    low, high = 0.0, 1.0
    target = math.log(delta)
    while log_delta_of(epsilon, high) < target:
        high *= 2
    for _ in range(200):
        mid = (low + high) / 2
        if log_delta_of(epsilon, mid) <= target:
            low = mid
        else:
            high = mid
    return low * (1 - 1e-12)


def epsilon_of(mu: float, delta: float) -> float:
    """The least ε of μ-GDP at δ, rounded up."""
    low, high = 0.0, 1.0
    target = math.log(delta)
    if log_delta_of(0.0, mu) <= target:
        return 0.0
    while log_delta_of(high, mu) > target:
        high *= 2
    for _ in range(200):
        mid = (low + high) / 2
        if log_delta_of(mid, mu) <= target:
            high = mid
        else:
            low = mid
    return high * (1 + 1e-12)
