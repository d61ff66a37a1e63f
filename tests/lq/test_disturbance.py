"""Every law is bounded and zero-mean, and its covariance is exact."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from hushloop.errors import InvalidInput
from hushloop.lq import Disturbance, Start
from hushloop.lq.disturbance import LAWS


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [None, "matrix"])
def test_draws_are_bounded_centred_and_of_the_stated_covariance(law: str, n: int, scale: str | None) -> None:
    rng = np.random.default_rng(n)
    L = rng.normal(size=(n, n))
    noise = Disturbance(law, 0.7, n, scale=None if scale is None else L / np.linalg.norm(L, 2))
    w = noise.sample(60_000, rng)
    assert np.linalg.norm(w, axis=1).max() <= 0.7 * (1 + 1e-12)
    products = np.einsum("ki,kj->kij", w, w)
    error = 5.5 * products.std(axis=0) / np.sqrt(len(w)) + 1e-12
    assert (np.abs(products.mean(axis=0) - noise.covariance) < error).all()
    assert (np.abs(w.mean(axis=0)) < 5.5 * w.std(axis=0) / np.sqrt(len(w)) + 1e-12).all()


@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize("std", [0.05, 0.3, 5.0])
def test_the_truncated_normals_variance_against_quadrature(n: int, std: float) -> None:
    def density(r: float) -> float:
        return float(r ** (n - 1) * np.exp(-(r**2) / (2 * std**2)))

    top = min(0.7, 12 * std)
    mass, moment = (quad(lambda r, k=k: density(r) * r**k, 0, top, epsabs=0, epsrel=1e-11)[0] for k in (0, 2))
    noise = Disturbance("truncated-normal", 0.7, n, std=std)
    assert noise.covariance[0, 0] == pytest.approx(moment / mass / n, rel=1e-8)


def test_a_bound_of_zero_is_no_disturbance() -> None:
    for law in LAWS:
        assert not Disturbance(law, 0.0, 3).covariance.any()


@pytest.mark.parametrize("law", ["fixed", "ball", "truncated-normal"])
def test_the_starts_second_moment(law: str) -> None:
    start = Start(law, np.array([0.5, -0.2]), 0.0 if law == "fixed" else 0.4)
    x = start.sample(60_000, np.random.default_rng(1))
    products = np.einsum("ki,kj->kij", x, x)
    error = 5.5 * products.std(axis=0) / np.sqrt(len(x)) + 1e-12
    assert (np.abs(products.mean(axis=0) - start.second_moment) < error).all()
    assert np.linalg.norm(x, axis=1).max() <= start.largest_norm + 1e-12
    assert start.public == (law == "fixed")


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"law": "gauss"}, "disturbance.law"),
        ({"bound": -0.1}, "disturbance.bound"),
        ({"bound": float("inf")}, "disturbance.bound"),
        ({"std": 0.1}, "disturbance.std"),
        ({"law": "truncated-normal", "std": 0.0}, "disturbance.std"),
        ({"scale": np.eye(3)}, "disturbance.scale"),
        ({"scale": 2.0 * np.eye(2)}, "disturbance.scale"),
    ],
)
def test_laws_without_meaning_are_refused(given: dict[str, object], key: str) -> None:
    with pytest.raises(InvalidInput, match=f"`{key}`"):
        Disturbance(**{"law": "sphere", "bound": 0.1, "n": 2} | given)


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"law": "sphere"}, "start.law"),
        ({"law": "fixed", "radius": 0.1}, "start.radius"),
        ({"center": np.array([np.nan])}, "start.center"),
        ({"law": "fixed", "radius": 0.0, "center": np.array([np.inf])}, "x1"),
        ({"law": "fixed", "radius": 0.0, "std": 0.1}, "start.std"),
        ({"radius": -1.0}, "start.radius"),
    ],
)
def test_starts_without_meaning_are_refused(given: dict[str, object], key: str) -> None:
    with pytest.raises(InvalidInput, match=f"`{key}`"):
        Start(**{"law": "ball", "center": np.zeros(2), "radius": 0.1} | given)
