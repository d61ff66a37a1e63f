"""The recursive belief: what is in both ellipsoids is in their fusion, in any coordinates, and it covers the truth."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import hushloop.simulation as simulation
from hushloop.device import Collection
from hushloop.learning.belief import Belief
from hushloop.learning.confidence import recursive
from hushloop.lq.files import load
from hushloop.privacy import Budget, Release

PROBLEM = load("toy").problem
TRUTH = load("toy").Theta
P, N = PROBLEM.p, PROBLEM.n


def release_of(
    rng: np.random.Generator, sigma: float, weighting: np.ndarray | None = None, users: int = 400
) -> Release:
    """A block's release of synthetic regression data about a centre, in the coordinates of its weighting."""
    T = np.eye(P) if weighting is None else weighting
    center = 0.1 * rng.normal(size=(P, N))
    Z = rng.normal(size=(users, P)) * np.array([0.6, 0.5, 0.4])
    directions = rng.normal(size=(users, N))
    W = PROBLEM.disturbance_bound * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    Y = Z @ (TRUTH - center) + W
    noise = rng.normal(size=(P, P)) / math.sqrt(2)
    S_noise = sigma * (np.triu(noise, 1) + np.triu(noise, 1).T + np.diag(rng.normal(size=P)))
    collection = Collection(0, center, np.eye(P), 5.0, 0.1, None, 5, weighting, 5.0)
    T1 = T @ Z.T @ Z @ T + S_noise
    T2 = T @ Z.T @ Y + sigma * rng.normal(size=(P, N))
    return Release(0, users, users, T1, T2, sigma, sigma, True, collection, "block")


def prior() -> Belief:
    return recursive.start(PROBLEM).belief


@pytest.mark.parametrize("seed", range(20))
def test_what_both_ellipsoids_hold_the_fusion_holds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weighting = None if seed % 2 else np.diag([0.5, 1.5, 3.0]) + 0.1
    release = release_of(rng, 2.0, weighting)
    fused = recursive.fuse(PROBLEM, prior(), release, 0.05, np.eye(P))
    assert fused is not None
    T = np.eye(P) if weighting is None else weighting
    values, U = np.linalg.eigh(release.T1)
    to = np.linalg.inv(T)
    center = release.collection.center
    rho = float(np.linalg.norm(to @ (prior().center - center))) + 1.0 / math.sqrt(
        np.linalg.eigvalsh(T @ T)[0] / PROBLEM.prior_radius**2
    )
    weights = recursive._release_weights(PROBLEM, release, 0.05, values, rho)
    inside = 0
    for _ in range(3000):
        Theta = TRUTH + rng.normal(size=(P, N)) * rng.choice([0.02, 0.1, 0.3])
        r = U.T @ (release.T1 @ (to @ (Theta - center)) - release.T2)
        in_release = all(np.sum(w[:, None] * r**2) <= 1 for w in weights)
        if in_release and np.linalg.norm(Theta) <= PROBLEM.prior_radius:
            inside += 1
            assert fused.level(Theta) <= 1 + 1e-9
    assert inside > 20


@pytest.mark.parametrize("sigma", [0.0, 0.02, 0.2, 2.0, 20.0])
def test_no_other_theta_makes_the_belief_much_smaller(sigma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    release = release_of(np.random.default_rng(3), sigma, users=20_000)
    ours = recursive.fuse(PROBLEM, prior(), release, 0.05, np.eye(P))
    monkeypatch.setattr(recursive, "THETAS", 1.0 / (1.0 + np.geomspace(1e-3, 1e8, 300)))
    best = recursive.fuse(PROBLEM, prior(), release, 0.05, np.eye(P))
    assert ours is not None
    assert best is not None
    assert recursive.extent(ours, np.eye(P)) <= 1.1 * recursive.extent(best, np.eye(P))


def test_without_noise_coordinates_change_nothing() -> None:
    weighting = np.array([[1.0, 0.2, 0.0], [0.2, 2.0, 0.1], [0.0, 0.1, 0.5]])
    plain = release_of(np.random.default_rng(1), 0.0)
    turned = release_of(np.random.default_rng(1), 0.0, weighting)
    for release in (plain, turned):
        fused = recursive.fuse(PROBLEM, prior(), release, 0.05, np.eye(P))
        assert fused is not None
        assert fused.contains(TRUTH)
        assert np.linalg.norm(fused.center - TRUTH) < 0.05


def test_a_release_that_contradicts_the_belief_is_said_and_counted() -> None:
    rng = np.random.default_rng(2)
    release = release_of(rng, 0.1)
    wrong = replace(release, T2=release.T2 + 50 * release.T1 @ np.ones((P, N)))
    state = recursive.update(PROBLEM, recursive.start(PROBLEM), wrong, 0.05, np.eye(P))
    assert state.contradictions == 1
    assert "contradicts" in state.note
    assert state.belief.shape is recursive.start(PROBLEM).belief.shape or np.array_equal(
        state.belief.shape, prior().shape
    )


def test_an_empty_release_and_one_that_is_all_noise_leave_a_valid_belief() -> None:
    rng = np.random.default_rng(3)
    empty = replace(release_of(rng, 2.0), users=0)
    assert recursive.fuse(PROBLEM, prior(), empty, 0.05, np.eye(P)) is prior() or recursive.fuse(
        PROBLEM, prior(), empty, 0.05, np.eye(P)
    ).contains(TRUTH)
    loud = release_of(rng, 1e4)
    state = recursive.update(PROBLEM, recursive.start(PROBLEM), loud, 0.05, np.eye(P))
    assert state.contradictions == 0
    assert state.belief.contains(TRUTH)
    assert np.linalg.eigvalsh(loud.T1)[0] < 0  # the release was indefinite


def test_failure_probabilities_add_up_to_alpha() -> None:
    assert sum(recursive.alpha_of(0.1, t, None) for t in range(100_000)) == pytest.approx(0.1, abs=1e-5)
    assert sum(recursive.alpha_of(0.1, t, 7) for t in range(7)) == pytest.approx(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("plant", ["toy", "stable3", "battery"])
@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_coverage(plant: str, epsilon: float) -> None:
    """At α = .1 more than 43 misses in 200 seeds has probability below 1e-6."""
    result = simulation.simulate("refined", load(plant), 6_000, 200, Budget(epsilon))
    coverage = result.summary()["coverage"]
    assert coverage["seeds"] - coverage["covered"] <= 43
