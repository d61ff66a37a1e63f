"""The belief from prefixes: coverage at both ends of ε, soundness of its parts, and what it does with bad releases."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from plants_for_tests import laplacian, toy, wide
from streams_for_tests import episodes, prefix, sums, symmetric_noise

from hushloop.errors import InvalidInput
from hushloop.learning.confidence.cumulative import ellipsoid, rule, start, update
from hushloop.lq import Plant, optimal_gains, split

ALPHA = 0.1


def release_of(plant: Plant, users: int, sigma_s: float, sigma_c: float, seed: int = 0, isotropic: bool = True):  # type: ignore[no-untyped-def]
    pr = plant.problem
    rng = np.random.default_rng(seed)
    K = optimal_gains(pr, *split(plant.Theta))
    S, C = sums(pr, *episodes(plant, K, 0.3, users, rng))
    S = S + symmetric_noise(pr.p, sigma_s, isotropic, rng)
    return prefix(pr, 0, users, S, C + rng.normal(scale=sigma_c, size=C.shape), sigma_s, sigma_c, isotropic)


def test_without_noise_it_is_the_self_normalised_bound() -> None:
    """Against the bound written out: the level of a model is tr(r'G⁻¹r)/q² mixed with the prior's."""
    plant = toy()
    pr = plant.problem
    fixed = rule(pr, 0.0, 0.0, 7, ALPHA)
    assert fixed.releases == 0
    release = release_of(plant, 300, 0.0, 0.0)
    G = fixed.v0 * np.eye(3) + 0.01 * release.T1
    q2 = 2 * math.log(1 / ALPHA) + 2 * np.linalg.slogdet(G / fixed.v0)[1]
    center, shape = ellipsoid(pr, release, fixed) or (None, None)
    assert center is not None
    inverse = np.linalg.inv(shape @ shape)
    rng = np.random.default_rng(1)
    for _ in range(20):
        Theta = center + 0.02 * rng.normal(size=center.shape)
        r = release.T1 @ Theta - release.T2
        own = np.trace(r.T @ np.linalg.solve(G, r)) / q2
        ours = np.trace((Theta - center).T @ inverse @ (Theta - center))
        prior = np.sum(Theta**2) / pr.prior_radius**2
        # ours ≤ 1 says κ·own + (1−κ)·prior ≤ 1 for one κ, so it can hold only where one of the two does
        assert (ours <= 1) <= (min(own, prior) <= 1 + 1e-6)
        assert (max(own, prior) <= 1) <= (ours <= 1 + 1e-6)


def test_more_users_and_less_noise_shrink_it() -> None:
    plant = toy()
    sizes = []
    for users, sigma in ((100, 30.0), (1000, 30.0), (1000, 3.0), (4000, 3.0)):
        release = release_of(plant, users, sigma, sigma)
        found = ellipsoid(plant.problem, release, rule(plant.problem, sigma, sigma, 5, ALPHA))
        assert found is not None
        sizes.append(float(np.trace(found[1] @ found[1])))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 0.1 * sizes[0]


def test_indefinite_and_empty_releases() -> None:
    plant = toy()
    pr = plant.problem
    fixed = rule(pr, 50.0, 50.0, 4, ALPHA)
    state = start(pr)
    zero = prefix(pr, 0, 0, np.zeros((3, 3)), np.zeros((3, 2)), 50.0, 50.0)
    state = update(pr, state, zero, fixed)
    assert state.belief.ball_radius == pr.prior_radius
    indefinite = prefix(pr, 1, 3, np.diag([30.0, -40.0, 5.0]), np.zeros((3, 2)), 50.0, 50.0)
    state = update(pr, state, indefinite, fixed)
    assert state.belief.contains(plant.Theta)
    assert state.index == 2


def test_a_contradiction_keeps_the_last_good_belief_and_is_counted() -> None:
    plant = toy()
    pr = plant.problem
    fixed = rule(pr, 0.0, 0.0, 1, ALPHA)
    good = update(pr, start(pr), release_of(plant, 500, 0.0, 0.0), fixed)
    bad = update(pr, good, prefix(pr, 1, 900, 1e4 * np.eye(3), 1e5 * np.ones((3, 2))), fixed)
    assert bad.belief is good.belief
    assert bad.contradictions == 1
    assert "contradicts" in bad.note


def test_a_worse_release_does_not_replace_a_better_belief() -> None:
    plant = toy()
    pr = plant.problem
    fixed = rule(pr, 40.0, 40.0, 3, ALPHA)
    good = update(pr, start(pr), release_of(plant, 3000, 1.0, 1.0), fixed)
    after = update(pr, good, release_of(plant, 50, 40.0, 40.0), fixed)
    assert after.belief is good.belief
    assert after.index == 2


def test_more_releases_than_declared_are_refused() -> None:
    plant = toy()
    fixed = rule(plant.problem, 1.0, 1.0, 1, ALPHA)
    state = update(plant.problem, start(plant.problem), release_of(plant, 10, 1.0, 1.0), fixed)
    with pytest.raises(InvalidInput, match="divided among 1"):
        update(plant.problem, state, release_of(plant, 20, 1.0, 1.0), fixed)
    with pytest.raises(InvalidInput, match="sums of everybody"):
        update(plant.problem, start(plant.problem), replace(release_of(plant, 9, 1.0, 1.0), kind="block"), fixed)


@pytest.mark.parametrize(("alpha", "releases"), [(0.0, 3), (1.0, 3), (0.1, 0)])
def test_rules_that_mean_nothing_are_refused(alpha: float, releases: int) -> None:
    with pytest.raises(InvalidInput):
        rule(toy().problem, 1.0, 1.0, releases, alpha)


def test_neither_noise_nor_disturbance_pins_the_model() -> None:
    plant = toy()
    pr = plant.problem.with_(disturbance=replace(plant.problem.disturbance, bound=0.0))
    quiet = Plant(pr, plant.A, plant.B)
    state = update(pr, start(pr), release_of(quiet, 100, 0.0, 0.0), rule(pr, 0.0, 0.0, 1, ALPHA))
    assert state.belief.contains(plant.Theta)
    assert state.belief.semi_axes[-1] < 1e-2


@pytest.mark.parametrize("isotropic", [True, False])
def test_the_noise_is_held_by_its_declared_variance(isotropic: bool) -> None:
    """cov(vec NΔ) ≼ factor·σ²‖Δ‖²: measured on draws, along the worst direction."""
    rng = np.random.default_rng(0)
    Delta = rng.normal(size=(3, 2))
    Delta /= np.linalg.norm(Delta)
    draws = np.stack([(symmetric_noise(3, 1.0, isotropic, rng) @ Delta).ravel() for _ in range(20_000)])
    largest = np.linalg.eigvalsh(draws.T @ draws / len(draws))[-1]
    assert largest <= (1.0 if isotropic else 2.0) * 1.05


@pytest.mark.slow
@pytest.mark.parametrize("plant", [toy(), wide(), laplacian(horizon=4)], ids=lambda plant: plant.name)
@pytest.mark.parametrize("sigma", [0.0, 3.0, 300.0])
@pytest.mark.parametrize("isotropic", [True, False])
def test_coverage(plant: Plant, sigma: float, isotropic: bool) -> None:
    """At most 43 misses in 200 seeds at α = .1: chance 2·10⁻⁷ if the belief fails with probability exactly α."""
    pr = plant.problem
    pr = pr.with_(radius=max(pr.radius, float(np.linalg.norm(plant.Theta)) * 1.05))
    K = optimal_gains(pr, *split(plant.Theta))
    counts = [16, 64, 256, 1024]
    fixed = rule(pr, sigma, sigma, len(counts), ALPHA, isotropic)
    misses = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        states, controls = episodes(plant, K, 0.3, counts[-1], rng)
        state, covered = start(pr), True
        for index, users in enumerate(counts):
            S, C = sums(pr, states[:users], controls[:users])
            S = S + symmetric_noise(pr.p, sigma, isotropic, rng)
            C = C + rng.normal(scale=sigma, size=C.shape)
            state = update(pr, state, prefix(pr, index, users, S, C, sigma, sigma, isotropic), fixed)
            covered = covered and state.belief.contains(plant.Theta) and state.contradictions == 0
        misses += not covered
    assert misses <= 43
