"""μ ↔ (ε, δ) of Gaussian mechanisms, exactly and rounded to the safe side.

δ(ε) = Φ(−t) − e^ε Φ(−t−μ) with t = ε/μ − μ/2 (Balle & Wang 2018). With R = Φ(−·)/φ it is φ(t)·(R(t) − R(t+μ)),
which loses nothing at small ε; docs/devdocs/accounting.md has the derivation and the error bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import InvalidInput, MissingExtra

LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
ULPS = 2.0**-47
"""Relative rounding error of one evaluation, with a wide margin (see `_log_delta`)."""

LARGEST_MU = 1e6
UP = 1.0 + 2.0**-50


def log_delta_of(epsilon: float, mu: float) -> float:
    """ln δ(ε) of μ-GDP, rounded up."""
    _check_mu(mu)
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise InvalidInput("epsilon", f"is {epsilon}", "give a finite number that is not negative")
    if mu == 0.0:
        return -math.inf
    return 0.0 if mu > LARGEST_MU else min(0.0, _upper(epsilon, mu))


def delta_of(epsilon: float, mu: float) -> float:
    """δ(ε) of μ-GDP, rounded up."""
    return min(1.0, math.exp(log_delta_of(epsilon, mu)) * UP)


def mu_of(epsilon: float, delta: float) -> float:
    """The largest μ whose guarantee at δ is at most ε, rounded down so far that `epsilon_of` never exceeds ε for it."""
    if not 0 <= epsilon <= 1e12:
        raise InvalidInput("epsilon", f"is {epsilon}", "give a number that is not negative, at most 1e12")
    target = _log_target(delta)
    return _edge(lambda mu: _upper(epsilon, mu, margins=2.0) <= target)[0]


def epsilon_of(mu: float, delta: float) -> float:
    """The least ε of μ-GDP at δ, rounded up; infinite above μ = 10⁶, where nothing is promised."""
    target = _log_target(delta)
    _check_mu(mu)
    if mu > LARGEST_MU:
        return math.inf
    if mu == 0.0 or _upper(0.0, mu) <= target:
        return 0.0
    return _edge(lambda epsilon: _upper(epsilon, mu) > target)[1]


def epsilon_curve(mu: float, deltas: Sequence[float]) -> list[float]:
    """ε(δ) of μ-GDP, each rounded up."""
    return [epsilon_of(mu, delta) for delta in deltas]


def compose(mus: Iterable[float]) -> float:
    """μ of several Gaussian releases about the same report, chosen adaptively or not: √Σμ², rounded up."""
    return math.sqrt(math.fsum(mu * mu for mu in mus)) * UP


def for_participations(mu: float, participations: int) -> float:
    """μ for somebody with that many reports: they may all move one sum in the same direction, so it is P·μ."""
    return mu * participations * (UP if participations > 1 else 1.0)


def zcdp_of(mu: float) -> float:
    """The ρ of zero-concentrated differential privacy of a Gaussian release: μ²/2."""
    return mu * mu / 2.0


def zcdp_epsilon(rho: float, delta: float) -> float:
    """ρ + 2√(ρ ln(1/δ)): the conversion that the paper uses. Valid but loose; here only to explain its numbers."""
    return rho + 2.0 * math.sqrt(rho * -_log_target(delta))


def independent_epsilon(mu: float, delta: float) -> float:
    """ε(μ, δ) by dp-accounting, which shares no line with this file."""
    try:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of its own dependencies
            import dp_accounting
    except ImportError:
        raise MissingExtra("dp-accounting", "dev") from None
    return float(dp_accounting.get_epsilon_gaussian(1.0 / mu, delta, tol=1e-14))


def _upper(epsilon: float, mu: float, margins: float = 1.0) -> float:
    value, error = _log_delta(epsilon, mu)
    return value + margins * error


def _log_delta(epsilon: float, mu: float) -> tuple[float, float]:
    """ln δ(ε) and a bound on what rounding did to it."""
    from scipy.special import log_ndtr, ndtr

    t = epsilon / mu - mu / 2.0
    error = ULPS * (1.0 + t * t + abs(t) * (epsilon / mu + mu))
    if t < -1.0:  # δ > 0.6: take it from 1 − δ
        missing = float(ndtr(t)) + math.exp(epsilon + float(log_ndtr(-t - mu)))
        return math.log1p(-missing), error * missing / (1.0 - missing)
    if t > 1e6:  # R(t) − R(t+μ) ≤ R(t) ≤ 1/t, and δ < e^(−10¹¹)
        return -0.5 * t * t - LOG_SQRT_2PI - math.log(t), error
    return -0.5 * t * t - LOG_SQRT_2PI + math.log(_mills_drop(t, mu)), error


def _mills_drop(t: float, mu: float) -> float:
    """R(t) − R(t+μ); for small μ the integral of −R' = 1 − sR(s), where the difference would cancel."""
    from scipy.special import erfcx

    def mills(s: Any) -> Any:
        return math.sqrt(math.pi / 2.0) * erfcx(s / math.sqrt(2.0))

    if mu > 0.5:
        return float(mills(t) - mills(t + mu))
    nodes, weights = _gauss_legendre()
    s = t + mu * nodes
    return float(mu * np.dot(weights, 1.0 - s * mills(s)))


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[Any, Any]:
    """Twelve nodes on [0, 1]: on an interval of ½ at most, where −R' is analytic and smooth, exact to rounding."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    return (nodes + 1.0) / 2.0, weights / 2.0


def _edge(holds: Callable[[float], bool]) -> tuple[float, float]:
    """Neighbouring floats (x, y) with holds(x) and not holds(y), where `holds` is true at 0+ and false far out."""
    low, high = 1.0, 1.0
    while not holds(low):
        low /= 2.0
    while holds(high):
        high *= 2.0
    while low < (middle := low + (high - low) / 2.0) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


def _check_mu(mu: float) -> None:
    if math.isnan(mu) or mu < 0:
        raise InvalidInput("mu", f"is {mu}", "give a number that is not negative")


def _log_target(delta: float) -> float:
    """ln δ, rounded down."""
    if not 0 < delta < 1:
        raise InvalidInput("delta", f"is {delta}", "give a number above 0 and below 1, such as 1e-6")
    return math.log(delta) * UP
