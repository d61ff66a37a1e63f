"""μ ↔ (ε, δ) against 60-digit arithmetic and against dp-accounting; every rounding goes to the safe side."""

from __future__ import annotations

import math
import sys
import warnings

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushloop.errors import InvalidInput, MissingExtra
from hushloop.privacy.accounting import (
    compose,
    delta_of,
    epsilon_curve,
    epsilon_of,
    for_participations,
    independent_epsilon,
    log_delta_of,
    mu_of,
    zcdp_epsilon,
    zcdp_of,
)

EPSILONS = (1e-3, 1e-2, 0.1, 1.0, 8.0, 30.0, 100.0)
DELTAS = (1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.1)


def exact_log_delta(epsilon: float, mu: float) -> mp.mpf:
    """ln δ(ε) straight from the definition, in 60 digits."""
    e, m = mp.mpf(epsilon), mp.mpf(mu)
    return mp.log(mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m))


def solve(function, near: float) -> mp.mpf:
    return mp.findroot(function, (near * (1 - 1e-6), near * (1 + 1e-6)), solver="secant", tol=1e-40)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_mu_and_epsilon_agree_with_sixty_digits_and_err_on_the_safe_side(epsilon: float) -> None:
    with mp.workdps(60):
        for delta in DELTAS:
            target = mp.log(mp.mpf(delta))
            mu = mu_of(epsilon, delta)
            exact_mu = solve(lambda m: exact_log_delta(epsilon, m) - target, mu)  # noqa: B023
            assert 0 <= (exact_mu - mu) / exact_mu < 1e-9, (epsilon, delta)
            back = epsilon_of(mu, delta)
            exact_epsilon = solve(lambda e: exact_log_delta(e, mu) - target, back)  # noqa: B023
            assert 0 <= (back - exact_epsilon) / exact_epsilon < 1e-9, (epsilon, delta)
            assert back <= epsilon


@pytest.mark.parametrize(
    ("epsilon", "mu"), [(1e-3, 1.6e-4), (1e-3, 0.3), (0.1, 5.0), (1.0, 0.49), (1.0, 0.51), (90.0, 12.0)]
)
def test_log_delta_agrees_on_both_sides_of_every_branch(epsilon: float, mu: float) -> None:
    with mp.workdps(60):
        exact = exact_log_delta(epsilon, mu)
        got = log_delta_of(epsilon, mu)
        assert 0 <= got - exact < 1e-10 * max(1, abs(exact))
        assert delta_of(epsilon, mu) >= mp.exp(exact)


def test_dp_accounting_agrees() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import dp_accounting
    for epsilon in EPSILONS:
        for delta in DELTAS:
            mu = mu_of(epsilon, delta)
            assert independent_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-9)
            sigma = dp_accounting.get_sigma_gaussian(epsilon, delta, tol=1e-14)
            assert 1.0 / mu == pytest.approx(sigma, rel=1e-9)


def test_reference_value() -> None:
    assert mu_of(1.0, 1e-6) == pytest.approx(0.236704, abs=5e-7)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.floats(-3, 2), st.floats(-15, -0.4))
def test_round_trip_never_promises_too_much(log_epsilon: float, log_delta: float) -> None:
    epsilon, delta = 10.0**log_epsilon, 10.0**log_delta
    back = epsilon_of(mu_of(epsilon, delta), delta)
    assert back <= epsilon
    assert back >= epsilon * (1 - 1e-9)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.floats(0.01, 20.0), st.floats(1.0001, 2.0))
def test_epsilon_grows_with_mu_and_falls_with_delta(mu: float, factor: float) -> None:
    assert epsilon_of(mu * factor, 1e-6) > epsilon_of(mu, 1e-6)
    curve = epsilon_curve(mu, (1e-12, 1e-9, 1e-6, 1e-3))
    assert curve == sorted(curve, reverse=True)


def test_composition_is_a_root_sum_of_squares_and_participations_add() -> None:
    assert compose([0.3, 0.4]) == pytest.approx(0.5, rel=1e-14)
    assert compose([0.3, 0.4]) >= 0.5
    assert compose([1.0] * 17) == pytest.approx(math.sqrt(17), rel=1e-14)
    assert for_participations(0.25, 3) >= 0.75
    assert for_participations(0.25, 1) == 0.25


def test_edges() -> None:
    assert epsilon_of(0.0, 1e-6) == 0.0
    assert epsilon_of(1e-9, 1e-6) == 0.0
    assert epsilon_of(math.inf, 1e-6) == math.inf
    assert epsilon_of(1e200, 1e-6) == math.inf
    assert log_delta_of(1.0, 0.0) == -math.inf
    assert delta_of(0.0, math.inf) == 1.0
    assert mu_of(0.0, 1e-6) == pytest.approx(1e-6 * math.sqrt(2 * math.pi), rel=1e-9)  # total variation


@pytest.mark.parametrize("epsilon", [math.nan, math.inf, -1.0, 1e300])
def test_bad_epsilon_is_refused(epsilon: float) -> None:
    with pytest.raises(InvalidInput, match="epsilon"):
        mu_of(epsilon, 1e-6)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan])
def test_bad_delta_is_refused(delta: float) -> None:
    with pytest.raises(InvalidInput, match="delta"):
        mu_of(1.0, delta)
    with pytest.raises(InvalidInput, match="delta"):
        epsilon_of(1.0, delta)


def test_the_conversion_of_the_paper_is_valid_and_loose() -> None:
    for mu in (0.05, 0.3, 1.0, 4.0):
        assert zcdp_epsilon(zcdp_of(mu), 1e-6) > epsilon_of(mu, 1e-6)


@pytest.mark.parametrize(("epsilon", "excess"), [(1.0, 0.009), (8.0, 0.07)])
def test_the_printed_sigma_misses_its_own_conversion_by_as_much_as_said(epsilon: float, excess: float) -> None:
    mu = epsilon / math.sqrt(8 * math.log(2 / 1e-6))  # √m Δ/σ as printed
    assert zcdp_epsilon(zcdp_of(mu), 5e-7) / (epsilon / 2) - 1 == pytest.approx(excess, abs=0.002)
    assert epsilon_of(mu, 5e-7) < epsilon / 2  # the exact conversion forgives it
    assert epsilon_of(mu, 1e-6) == pytest.approx({1.0: 0.366, 8.0: 3.49}[epsilon], abs=0.005)


def test_a_missing_oracle_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(MissingExtra, match="dp-accounting"):
        independent_epsilon(1.0, 1e-6)
