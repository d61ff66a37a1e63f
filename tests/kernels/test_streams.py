"""Known answers of Philox, and the laws against their exact distributions. The compiled draws equal these bit for bit
(test_episodes)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammainc, ndtr

from hushloop.kernels import reference_streams as twin
from hushloop.kernels import streams
from hushloop.lq import Disturbance

USERS = np.arange(40_000, dtype=np.uint64)


def kolmogorov(sample: np.ndarray, cdf: np.ndarray) -> float:
    """√N·sup|F_N − F| at the sorted sample; above 3 by chance once in 3·10⁷ (Kolmogorov's limit)."""
    count = sample.size
    low, high = np.arange(count) / count, np.arange(1, count + 1) / count
    return math.sqrt(count) * float(max((cdf - low).max(), (high - cdf).max()))


@pytest.mark.parametrize(
    ("key", "counter", "answer"),
    [
        ((0, 0), (0, 0, 0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 4, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            (0xA4093822, 0x299F31D0),
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_known_answers(key: tuple[int, int], counter: tuple[int, ...], answer: str) -> None:
    """The vectors of Random123's kat_vectors."""
    assert " ".join(f"{int(w):08x}" for w in twin.philox(key, counter)) == answer


def test_uniforms_are_uniform_and_uncorrelated() -> None:
    words = twin.block(5, USERS, 3, streams.DISTURBANCE, 0)
    first, second = twin.uniform(*words[:2]), twin.uniform(*words[2:])
    assert kolmogorov(np.sort(first), np.sort(first)) < 3
    assert abs(np.corrcoef(first, second)[0, 1]) * math.sqrt(USERS.size) < 6
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) * math.sqrt(USERS.size) < 6


def test_elementary_functions_are_accurate() -> None:
    x = np.concatenate([np.linspace(0.0, 1.0, 10_001)[1:], 2.0 ** -np.arange(1.0, 54.0)])
    np.testing.assert_allclose(twin.log(x), np.log(x), rtol=1e-14, atol=1e-16)
    cos, sin = twin.cos_sin(x)
    np.testing.assert_allclose(cos, np.cos(2 * np.pi * x), atol=1e-15)
    np.testing.assert_allclose(sin, np.sin(2 * np.pi * x), atol=1e-15)
    y = -np.linspace(0.0, 690.0, 10_001)
    np.testing.assert_allclose(twin.exp(y), np.exp(y), rtol=1e-14)


def test_normals_are_normal() -> None:
    values = np.sort(twin._normals(1, USERS, 0, streams.DISTURBANCE, 0, 3).ravel())
    assert kolmogorov(values, ndtr(values)) < 3


def test_streams_differ_by_seed_user_step_and_purpose() -> None:
    def draw(seed: int, user: int, step: int, purpose: int) -> bytes:
        args = streams.law_arguments(streams.SPHERE, 3, 1.0, None)
        return twin.draw(seed, np.array([user], dtype=np.uint64), step, purpose, streams.SPHERE, args, 3).tobytes()

    base = (7, 2**33 + 1, 2, streams.DISTURBANCE)
    others = [
        (7 + 2**32, *base[1:]),
        (7, 1, *base[2:]),
        (7, 2**33 + 2, *base[2:]),
        (*base[:2], 3, base[3]),
        (*base[:3], 0),
    ]
    assert len({draw(*case) for case in (base, *others)}) == len(others) + 1


@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("law", ["sphere", "ball", "truncated-normal", "rademacher"])
def test_laws_have_their_covariance_and_bound(law: str, n: int) -> None:
    code, bound = streams.LAW_CODES[law], 0.7
    args = streams.law_arguments(code, n, bound, None)
    w = twin.draw(11, USERS, 4, streams.DISTURBANCE, code, args, n)
    assert np.linalg.norm(w, axis=1).max() <= bound * (1 + 1e-14)
    count, variance = USERS.size, float(Disturbance(law, bound, n).covariance[0, 0])
    assert np.abs(w.mean(axis=0)).max() < 6 * math.sqrt(variance / count)
    spread = (w[:, :, None] * w[:, None, :]).reshape(count, -1)
    error = np.abs(spread.mean(axis=0) - variance * np.eye(n).ravel())
    assert (error <= 6 * spread.std(axis=0) / math.sqrt(count) + 1e-12).all()


@pytest.mark.parametrize(("n", "std"), [(1, None), (2, 0.2), (3, 2.0), (9, None), (40, None), (40, 0.15), (2, 5.0)])
def test_truncated_normal_has_its_radius(n: int, std: float | None) -> None:
    """Both ways to draw it: rejection of normals, and the squared radius by itself."""
    args = streams.law_arguments(streams.TRUNCATED_NORMAL, n, 1.0, std)
    w = twin.draw(3, USERS[:20_000], 0, streams.DISTURBANCE, streams.TRUNCATED_NORMAL, args, n)
    square = np.sort((w**2).sum(axis=1))
    s = 0.5 if std is None else std
    assert kolmogorov(square, gammainc(n / 2, square / (2 * s**2)) / gammainc(n / 2, 1 / (2 * s**2))) < 3


@pytest.mark.parametrize("n", [1, 2, 5])
def test_ball_has_its_radius(n: int) -> None:
    args = streams.law_arguments(streams.BALL, n, 1.0, None)
    w = twin.draw(3, USERS, 0, streams.START, streams.BALL, args, n)
    radius = np.sort(np.linalg.norm(w, axis=1))
    assert kolmogorov(radius, radius**n) < 3


def test_signs_are_fair_and_do_not_depend_on_how_they_are_asked_for() -> None:
    all_signs = twin.signs(9, USERS, 0, 130)
    assert set(np.unique(all_signs)) == {-1.0, 1.0}
    assert np.abs(all_signs.mean(axis=0)).max() * math.sqrt(USERS.size) < 6
    np.testing.assert_array_equal(twin.signs(9, USERS, 126, 4), all_signs[:, 126:130])
