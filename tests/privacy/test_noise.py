"""Noise sources: streams that repeat, exact integers that do not, and the covariance that both must have."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from scipy.special import ndtr

from hushloop.device.report import GRID
from hushloop.errors import InvalidInput, MissingExtra
from hushloop.privacy.noise import (
    ExactNoise,
    NoiseSource,
    SeededNoise,
    discrete_gaussian,
    discretisation_delta,
    integer_scales,
)
from hushloop.privacy.sensitivity import NoiseScales

SCALES = NoiseScales(3.0, 0.5)
FALSE_ALARM = 1e-7


def draws(source: NoiseSource, count: int, isotropic: bool, p: int = 3, n: int = 2) -> np.ndarray:
    """(count, p(p+1)/2 + pn) in plain units: the diagonal, what is above it, the cross sums."""
    out = []
    unit = GRID if source.grid else 1.0
    for i in range(count):
        N, L = source.draw(p, n, SCALES, i, isotropic)
        assert (N == N.T).all()
        N, L = N.astype(float) * unit, L.astype(float) * unit
        out.append(np.concatenate([np.diag(N), N[np.triu_indices(p, 1)], L.ravel()]))
    return np.array(out)


def chi_square_bounds(degrees: int, alarm: float) -> tuple[float, float]:
    """Two-sided bounds of a χ² that are missed with probability at most `alarm` (Laurent & Massart 2000)."""
    x = math.log(2 / alarm)
    return degrees - 2 * math.sqrt(degrees * x), degrees + 2 * math.sqrt(degrees * x) + 2 * x


@pytest.mark.slow
@pytest.mark.parametrize("isotropic", [True, False])
@pytest.mark.parametrize("source", [SeededNoise(5), ExactNoise()], ids=["numpy", "opendp"])
def test_covariance_is_as_declared(source: NoiseSource, isotropic: bool) -> None:
    count = 3000
    off = 3.0 / math.sqrt(2.0) if isotropic else 3.0
    declared = np.array([3.0] * 3 + [off] * 3 + [0.5] * 6)
    z = draws(source, count, isotropic) / declared
    tests = z.shape[1] * (z.shape[1] + 1) // 2
    alarm = FALSE_ALARM / tests
    low, high = chi_square_bounds(count, alarm)
    for i in range(z.shape[1]):
        assert low <= np.sum(z[:, i] ** 2) <= high
        for j in range(i):  # (zᵢ ± zⱼ)/√2 are standard too exactly where the two do not correlate
            assert low <= np.sum((z[:, i] + z[:, j]) ** 2) / 2 <= high


@pytest.mark.slow
def test_the_distribution_is_gaussian() -> None:
    """Dvoretzky–Kiefer–Wolfowitz: P(sup|F_n − F| > t) ≤ 2 exp(−2nt²)."""
    for source in (SeededNoise(9), ExactNoise()):
        z = np.sort((draws(source, 2000, False) / np.array([3.0] * 6 + [0.5] * 6)).ravel())
        n = z.size
        gap = np.max(np.abs(np.arange(n) / n - ndtr(z))) + 1 / n
        assert gap <= math.sqrt(math.log(2 / FALSE_ALARM) / (2 * n)) + 1 / n


def test_isotropic_noise_looks_the_same_in_every_basis() -> None:
    """⟨N, vv'⟩ has variance σ² for every unit v; mirrored noise has up to twice it."""
    v = np.array([1.0, 1.0]) / math.sqrt(2.0)
    isotropic = SCALES.sigma_s**2 * (0.25 + 0.25) + 4 * 0.25 * SCALES.sigma_s**2 / 2
    assert isotropic == pytest.approx(SCALES.sigma_s**2)
    z = np.array([v @ SeededNoise(1).draw(2, 1, SCALES, i)[0] @ v for i in range(3000)]) / SCALES.sigma_s
    low, high = chi_square_bounds(3000, FALSE_ALARM)
    assert low <= np.sum(z**2) <= high


def test_a_stream_depends_on_seed_purpose_and_index_alone() -> None:
    first = SeededNoise(7).draw(3, 2, SCALES, 4)
    SeededNoise(7).draw(3, 2, SCALES, 3)
    again = SeededNoise(7).draw(3, 2, SCALES, 4)
    assert (first[0] == again[0]).all()
    assert (first[1] == again[1]).all()
    for other in (SeededNoise(8).draw(3, 2, SCALES, 4), SeededNoise(7).draw(3, 2, SCALES, 5),
                  SeededNoise(7, "audit").draw(3, 2, SCALES, 4)):  # fmt: skip
        assert not (first[0] == other[0]).any()


def test_exact_noise_never_repeats_and_is_whole() -> None:
    first, again = (ExactNoise().draw(3, 2, SCALES, 0) for _ in range(2))
    assert all(isinstance(v, int) for v in first[0].ravel())
    assert all(isinstance(v, int) for v in first[1].ravel())
    assert not (first[0] == again[0]).all()
    assert not (first[1] == again[1]).all()


def test_integer_scales_round_up() -> None:
    rng = np.random.default_rng(2)
    for s, c in 10.0 ** rng.uniform(-5, 5, size=(300, 2)):
        diagonal, off, cross = integer_scales(NoiseScales(s, c), True)
        assert diagonal * GRID > s
        assert (off * GRID) ** 2 >= s**2 / 2
        assert cross * GRID > c
        assert integer_scales(NoiseScales(s, c), False)[1] * GRID > s


@pytest.mark.parametrize("sigma", [1e-12, 1e12, math.inf])
def test_a_scale_beyond_the_sampler_is_refused_and_never_cut(sigma: float) -> None:
    with pytest.raises(InvalidInput, match="noise scale"):
        ExactNoise().draw(3, 2, NoiseScales(sigma, 1.0), 0)


def test_no_entries_no_draws() -> None:
    assert discrete_gaussian(5.0, 0).shape == (0,)


@pytest.mark.parametrize("s", [2.0, 3.0, 7.5])
def test_rounded_and_discrete_gaussians_lie_as_near_as_said(s: float) -> None:
    """Total variation, summed outright, against 1/(16 s²)."""
    k = np.arange(-int(40 * s), int(40 * s) + 1)
    discrete = np.exp(-(k**2) / (2 * s**2))
    discrete /= discrete.sum()
    rounded = ndtr((k + 0.5) / s) - ndtr((k - 0.5) / s)
    distance = 0.5 * np.abs(discrete - rounded).sum()
    assert distance <= 1 / (16 * s**2)
    assert distance >= 0.01 / s**2  # the statement does not name a bound that is far too large


def test_what_the_grid_adds_to_delta_is_negligible_and_named() -> None:
    extra = discretisation_delta(3, 2, NoiseScales(20.0, 4.0), 1.0)
    by_hand = (1 + math.e) / 16 * 2.0**-60 * (3 / 400 + 3 * 2 / 400 + 6 / 16)
    assert extra == pytest.approx(by_hand, rel=1e-6)
    assert extra < 1e-15


def test_sources_name_themselves_so_that_nobody_takes_one_for_the_other() -> None:
    assert "simulation" in SeededNoise(1).description
    assert "entropy" in ExactNoise().description
    assert SeededNoise(1).name != ExactNoise().name
    assert not SeededNoise(1).grid
    assert ExactNoise().grid


def test_a_missing_sampler_is_named_and_never_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(MissingExtra, match="opendp"):
        discrete_gaussian(123.25, 3)
