"""The estimate is batch least squares in any weighting, and its posterior covariance is honest."""

from __future__ import annotations

import numpy as np
import pytest
from plants_for_tests import toy, wide

from hushloop.device import Collection
from hushloop.learning.belief import Estimate
from hushloop.learning.estimate import gram_part, information, prior_estimate, update_estimate
from hushloop.lq import Problem
from hushloop.privacy.noise import SeededNoise
from hushloop.privacy.release import Release
from hushloop.privacy.sensitivity import NoiseScales

NONE = NoiseScales(0.0, 0.0)


def weighting(p: int, seed: int) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(p, p))
    return X @ X.T / p + 0.3 * np.eye(p)


def release_of(problem: Problem, T, center, z, y, scales=NONE, noise=None, users=None) -> Release:
    """A block whose users lived through (z, next state): sums in the coordinates Tz of responses about `center`."""
    t = z if T is None else z @ T
    S, C = t.T @ t, t.T @ (y - z @ center)
    N, L = (0.0, 0.0) if noise is None else noise
    collection = Collection(
        0, center, np.eye(problem.p), 2.0, 0.1, None, problem.horizon, weighting=T, response_budget=2.0
    )
    users = len(z) if users is None else users
    return Release(0, users, users, S + N, C + L, scales.sigma_s, scales.sigma_c, True, collection, "block")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("plant", [toy(), wide()], ids=["toy", "wide"])
def test_without_noise_it_is_the_bayes_batch_least_squares(plant, weighted: bool) -> None:
    problem, rng = plant.problem, np.random.default_rng(3)
    p, n = problem.p, problem.n
    z = rng.normal(size=(60, p))
    y = z @ plant.Theta + 0.05 * rng.normal(size=(60, n))
    estimate = prior_estimate(problem)
    for k in range(3):  # three blocks, each about another centre and in other coordinates
        T = weighting(p, k) if weighted else None
        center = problem.nominal + 0.1 * k
        part = slice(20 * k, 20 * k + 20)
        estimate = update_estimate(problem, estimate, release_of(problem, T, center, z[part], y[part]))
    variance = np.trace(problem.W) / n
    prior = p * n / problem.prior_radius**2
    precision = prior * np.eye(p) + z.T @ z / variance
    mean = np.linalg.solve(precision, prior * problem.nominal + z.T @ y / variance)
    np.testing.assert_allclose(estimate.mean, mean, atol=1e-6)
    np.testing.assert_allclose(estimate.precision, precision, rtol=1e-5)


def test_with_noise_weighting_changes_coordinates_and_nothing_else() -> None:
    """The same release seen in Tz: the same posterior, where the noise is the same in both."""
    plant = toy()
    problem, rng = plant.problem, np.random.default_rng(0)
    z = rng.normal(size=(50, 3))
    y = z @ plant.Theta
    scale = 1.7
    plain = release_of(problem, None, problem.nominal, z, y, NoiseScales(0.5, 0.3))
    # T = cI: sums grow by c² and c, and so does the noise on them
    T = scale * np.eye(3)
    stretched = release_of(problem, T, problem.nominal, z, y, NoiseScales(0.5 * scale**2, 0.3 * scale))
    one, other = (update_estimate(problem, prior_estimate(problem), r) for r in (plain, stretched))
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-8)
    np.testing.assert_allclose(one.precision, other.precision, rtol=1e-6)


@pytest.mark.parametrize("sigma", [0.3, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_posterior_covariance_is_honest(weighted: bool, sigma: float) -> None:
    """Truths from the prior: the mean of err' Π err is pn. 400 runs of 6 entries leave a spread of 1.4 in a hundred."""
    plant, runs = toy(), 400
    problem, rng = plant.problem, np.random.default_rng(1)
    scales, T = NoiseScales(sigma, sigma), weighting(3, 5) if weighted else None
    level = 0.0
    for k in range(runs):
        Theta = rng.normal(size=(3, 2)) / np.sqrt(6)  # the prior: precision pn/r₀² with r₀ = 1
        z = rng.normal(size=(80, 3))
        y = z @ Theta + rng.normal(size=(80, 2)) * np.sqrt(np.trace(problem.W) / 2)
        noise = SeededNoise(k).draw(3, 2, scales, 0)
        release = release_of(problem, T, np.zeros((3, 2)), z, y, scales, noise)
        found = update_estimate(problem, prior_estimate(problem), release)
        off = Theta - found.mean
        level += float(np.trace(off.T @ found.precision @ off)) / (6 * runs)
    assert 0.85 < level < 1.2  # beyond eight standard deviations either way


def test_a_release_of_nobody_teaches_nothing() -> None:
    problem = toy().problem
    noise = SeededNoise(0).draw(3, 2, NoiseScales(1.0, 1.0), 0)
    empty = np.zeros((0, 3)), np.zeros((0, 2))
    release = release_of(problem, None, problem.nominal, *empty, NoiseScales(1.0, 1.0), noise, users=0)
    before = prior_estimate(problem)
    assert update_estimate(problem, before, release) is before


def test_precision_never_falls_and_stays_symmetric() -> None:
    problem = toy().problem
    estimate = prior_estimate(problem)
    for k in range(20):
        scales = NoiseScales(30.0, 30.0)
        noise = SeededNoise(k).draw(3, 2, scales, 0)
        z = np.random.default_rng(k).normal(size=(3, 3))
        after = update_estimate(
            problem, estimate, release_of(problem, weighting(3, k), problem.nominal, z, z[:, :2], scales, noise)
        )
        assert np.linalg.eigvalsh(after.precision - estimate.precision)[0] > -1e-9
        np.testing.assert_array_equal(after.precision, after.precision.T)
        estimate = after


def test_more_noise_weighs_less() -> None:
    problem = toy().problem
    S, prior = np.diag([9.0, 4.0, 1.0]), prior_estimate(problem).precision
    traces = [np.trace(information(problem, S, s, s, prior) @ S) for s in (0.0, 0.1, 1.0, 10.0)]
    assert traces == sorted(traces, reverse=True)
    assert traces[0] == pytest.approx(np.trace(S) / (np.trace(problem.W) / 2), rel=1e-3)


def test_gram_part_is_the_nearest_positive_semidefinite_matrix() -> None:
    T1 = np.array([[1.0, 2.0], [2.0, 1.0]])
    np.testing.assert_allclose(gram_part(T1), [[1.5, 1.5], [1.5, 1.5]])


def test_an_estimate_is_a_value() -> None:
    with pytest.raises(AttributeError):
        Estimate(np.zeros((3, 2)), np.eye(3)).mean = 0
