"""The factorised strategy: optimal, on the grid, cached, exact."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from hushloop.device import Collection
from hushloop.errors import InvalidInput
from hushloop.privacy import Budget, Sums
from hushloop.privacy.mechanisms import Factorised, Mechanism
from hushloop.privacy.mechanisms import factorise as module
from hushloop.privacy.mechanisms.conformance import NoNoise
from hushloop.privacy.mechanisms.factorise import BITS, decoder, factorise, on_grid, optimal_strategy, sound
from hushloop.privacy.mechanisms.stream import StreamNoise
from hushloop.privacy.noise import ExactNoise

COLLECTION = Collection(0, np.zeros((3, 2)), np.eye(3), 2.0, 0.1, 1.0, 5)
BUDGET = Budget(1.0)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUSHLOOP_CACHE", str(tmp_path / "cache"))
    factorise.cache_clear()


def square_root(releases: int, unit_columns: bool) -> float:
    """Worst row × worst column of the square-root strategy: the peer, plain or with unit columns."""
    f = np.cumprod([1.0] + [(2 * k - 1) / (2 * k) for k in range(1, releases)])
    C = np.array([[f[i - j] if i >= j else 0.0 for j in range(releases)] for i in range(releases)])
    norms = np.linalg.norm(C, axis=0)
    C = C / (norms if unit_columns else norms.max())
    return float(np.linalg.norm(decoder(C), axis=1).max())


@pytest.mark.parametrize("releases", [1, 2, 3, 12, 18, 28, 60])
def test_the_worst_row_is_optimal_to_a_proven_gap(releases: int) -> None:
    C, lower = optimal_strategy(releases)
    worst = float(np.linalg.norm(decoder(C), axis=1).max())
    assert np.allclose(np.linalg.norm(C, axis=0), 1.0)
    assert np.allclose(C, np.tril(C))
    assert lower * (1 - 1e-12) <= worst <= lower * (1 + 1e-4)


def test_two_releases_have_the_known_optimum() -> None:
    """max over unit a, b of ‖diag(a)·A·diag(b)‖₊ for A = [[1,0],[1,1]], by brute force."""
    angles = np.linspace(0.01, math.pi / 2 - 0.01, 300)
    a, b = np.meshgrid(angles, angles, indexing="ij")
    X = np.array([[np.cos(a) * np.cos(b), 0 * a], [np.sin(a) * np.cos(b), np.sin(a) * np.sin(b)]])
    nuclear = np.sqrt((X**2).sum(axis=(0, 1)) + 2 * np.abs(X[0, 0] * X[1, 1]))
    assert math.isclose(optimal_strategy(2)[1], float(nuclear.max()), rel_tol=1e-4)


def test_it_beats_the_square_root() -> None:
    assert square_root(12, unit_columns=False) / factorise(12).worst > 1.12
    assert square_root(12, unit_columns=True) / factorise(12).worst > 1.04
    assert abs(factorise(18).worst - 1.74) < 0.02


@pytest.mark.slow
def test_two_hundred_releases() -> None:
    made = factorise(200)
    assert sound(made.units)
    assert abs(made.worst / 2.457 - 1) < 2e-3


def test_columns_never_exceed_norm_one_on_the_grid() -> None:
    units = factorise(40).units
    norms = [sum(int(v) ** 2 for v in column) for column in units.T]
    assert all((1 - 1e-3) * 4**BITS < norm <= 4**BITS for norm in norms)
    with pytest.raises(RuntimeError, match="norm 1"):
        on_grid(np.eye(3) * 1.001)


def test_the_cache_is_used_and_never_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = factorise(9)
    (path,) = (tmp_path / "cache").iterdir()
    factorise.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(module, "optimal_strategy", lambda *a: pytest.fail("computed again"))
        assert np.array_equal(factorise(9).units, first.units)
    for spoiled in (first.units * 2, np.zeros_like(first.units), first.units[:5, :5], first.units.astype(float)):
        np.save(path, spoiled)
        factorise.cache_clear()
        assert np.array_equal(factorise(9).units, first.units)
    path.write_bytes(b"nonsense")
    factorise.cache_clear()
    assert np.array_equal(factorise(9).units, first.units)


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HUSHLOOP_CACHE", str(tmp_path / "file" / "below"))
    assert factorise(4).worst > 1
    monkeypatch.delenv("HUSHLOOP_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert module.cache_folder() == tmp_path / "xdg" / "hushloop"


def test_prefixes_are_exact_without_noise_for_a_million_users_of_great_energy() -> None:
    """Entries of C·x pass 64 bits here: 46 + log₂(10⁶·2²⁰) = 86."""
    great = Collection(0, np.zeros((3, 2)), np.eye(3), 2.0**20, 0.1, 1.0, 5)
    mechanism = Mechanism(Factorised(great, BUDGET, 6), NoNoise())
    total = 0
    for t in range(6):
        each = (1 << 50) - 7 * t
        total += 10**6 * each
        block = mechanism.open(great, 10**6)
        block.add_sums(Sums(10**6, np.array([10**6 * each] * 6, dtype=object), np.array([0] * 6, dtype=object)))
        release = block.close()
        assert release is not None
        assert math.isclose(release.T1[0, 0], total * 2.0**-30, rel_tol=1e-12)
    assert mechanism._memory is not None


def test_whole_number_noise_lives_on_the_finer_grid() -> None:
    """What is measured is a whole number of 2⁻⁴⁶: integer combination plus integer noise."""
    strategy = Factorised(COLLECTION, BUDGET, 3)
    mechanism = Mechanism(strategy, ExactNoise())
    for t in range(3):
        block = mechanism.open(COLLECTION, 1)
        block.add_sums(Sums(1, np.array([5 + t] * 6, dtype=object), np.array([3] * 6, dtype=object)))
        (noise,) = block._noise.values()
        assert noise.exact
        spread = np.abs(noise.L.astype(float)).max() * 2.0 ** -(30 + BITS)
        assert 0.05 * strategy.given.sigma_c < spread < 10 * strategy.given.sigma_c
        block.close()
    assert mechanism._memory is not None
    for T1, _ in mechanism._memory["measured"]:
        units = T1 * 2.0 ** (30 + BITS)
        assert np.array_equal(units, np.round(units))


def test_after_the_last_release_there_is_none() -> None:
    mechanism = Mechanism(Factorised(COLLECTION, BUDGET, 1), StreamNoise(0))
    assert mechanism.open(COLLECTION, 1).close() is not None
    assert mechanism.open(COLLECTION, 1).close() is None


@pytest.mark.parametrize("releases", [0, -1, 201, 2.0, True])
def test_too_many_releases_are_refused(releases: int) -> None:
    with pytest.raises(InvalidInput, match="releases"):
        factorise(releases)


def test_the_promise_is_the_budget() -> None:
    promise = Factorised(COLLECTION, BUDGET, 12).guarantee(1e-6, "replace-one")
    assert 1 - 1e-9 < promise.epsilon <= 1.0
