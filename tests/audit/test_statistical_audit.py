"""The statistical part: each bound is a bound, has power, and follows its formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushloop.audit.repeat import most_above
from hushloop.audit.statistical import (
    Score,
    Scores,
    error_rates,
    gdp_bound,
    lower_bounds,
    mean_shift_bound,
    plain_bound,
    tail_threshold,
    upper_rate,
)
from hushloop.privacy.accounting import epsilon_of

DELTA = 1e-6


def gaussian(mu: float, n: int, seed: int) -> Scores:
    rng = np.random.default_rng(seed)
    learned = Score(np.ones(1), (0.0, mu), 1.0)
    return Scores(rng.normal(size=n), mu + rng.normal(size=n), mu / 2, tail_threshold(learned, n, DELTA))


def test_mean_shift_follows_its_formula() -> None:
    s = gaussian(0.3, 10_000, 0)
    pooled = math.sqrt((s.one.var(ddof=1) + s.other.var(ddof=1)) / 2)
    mu = (s.other.mean() - s.one.mean()) / pooled - 1.6448536269514722 * math.sqrt(2 / 10_000)
    assert math.isclose(mean_shift_bound(s, DELTA, 0.05), epsilon_of(mu, DELTA), rel_tol=1e-9)


@pytest.mark.parametrize("bound", [mean_shift_bound, gdp_bound, plain_bound])
def test_bounds_rarely_exceed_the_truth_and_are_not_empty(bound: object) -> None:
    assert callable(bound)
    mu, audits = 1.0, 300
    truth = epsilon_of(mu, DELTA)
    found = [bound(gaussian(mu, 4000, seed), DELTA, 0.05) for seed in range(audits)]
    assert sum(b > truth for b in found) <= most_above(audits)
    assert np.median(found) > 0.3 * truth


def test_clopper_and_pearson_against_the_binomial_itself() -> None:
    """At the upper bound the chance of so few hits is exactly `miss`."""
    from scipy.special import bdtr

    for hits, n, miss in ((0, 100, 0.05), (7, 100, 0.025), (99, 100, 0.05), (5, 1000, 1e-6)):
        assert math.isclose(float(bdtr(hits, n, upper_rate(hits, n, miss))), miss, rel_tol=1e-6)
    assert upper_rate(100, 100, 0.05) == 1.0


def test_error_rates_count_each_side() -> None:
    s = Scores(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0, 4.0]), 1.5, 2.5)
    assert error_rates(s, 1.5, 0.1) == (upper_rate(2, 4, 0.05), upper_rate(1, 4, 0.05))


def test_scores_without_noise_accuse_at_any_confidence() -> None:
    found = lower_bounds(Scores(np.zeros(1000), np.ones(1000), 0.5, 0.5), DELTA, 1e-6)
    assert found.mean_shift == math.inf
    assert found.clopper_pearson > 3
    nothing = lower_bounds(Scores(np.zeros(1000), np.zeros(1000), 0.0, 0.0), DELTA, 0.05)
    assert nothing.largest == 0.0


def test_the_greatest_number_above_is_the_binomial_quantile() -> None:
    """By summing the binomial law in whole numbers: 27 of 200 at a chance of one in a million."""
    from fractions import Fraction

    def tail(n: int, k: int) -> Fraction:
        q = Fraction(1, 20)
        return sum((math.comb(n, j) * q**j * (1 - q) ** (n - j) for j in range(k + 1, n + 1)), Fraction(0))

    assert most_above(200) == 27
    for n in (12, 200, 300):
        k = most_above(n)
        assert tail(n, k) <= Fraction(1, 10**6) < tail(n, k - 1)
