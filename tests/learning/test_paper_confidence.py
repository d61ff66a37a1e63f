"""The paper's set against its definition, against a line-by-line transcription of Algorithm 1, and its coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from paper_transcription import Constants, algorithm_1, cover, printed_constants
from plants_for_tests import laplacian, toy, wide
from streams_for_tests import episodes, prefix, sums, symmetric_noise

from hushloop.errors import InvalidInput
from hushloop.learning.belief import Array
from hushloop.learning.confidence.paper import Events, PaperState, Regularisers, events, start, update
from hushloop.learning.planners.optimistic import optimistic
from hushloop.lq import Disturbance, Plant, Problem, Start, optimal_gains, split
from hushloop.privacy.budget import Budget
from hushloop.privacy.paper import paper_constants

ALPHA = 0.1


def two_inputs() -> Plant:
    problem = Problem(
        "two-inputs",
        np.diag([1.0, 0.6]),
        np.diag([0.05, 0.1]),
        4,
        Start("fixed", np.array([0.5, -0.7])),
        Disturbance("sphere", 0.1, 2),
        control_bound=1.5,
        response_bound=1.0,
    )
    return Plant(problem, np.array([[0.5, 0.2], [-0.1, 0.4]]), np.array([[0.3, 0.1], [-0.1, 0.35]]))


def test_the_private_constants_are_those_printed() -> None:
    pr = toy().problem
    ours = Regularisers.private(paper_constants(pr, Budget(8.0), 2**14, ALPHA))
    theirs, _, _ = printed_constants(pr.n, pr.d, pr.horizon, pr.control_bound, 2**14, 8.0, 1e-6, ALPHA)
    for key in ("eta", "lambda_min", "lambda_max", "nu"):
        assert getattr(ours, key) == pytest.approx(getattr(theirs, key), rel=1e-9)


def test_ridge_is_the_self_normalised_bound() -> None:
    plant = toy()
    states, controls = episodes(plant, np.zeros((5, 1, 2)), 0.3, 20, np.random.default_rng(0))
    S, C = sums(plant.problem, states, controls)
    reg = Regularisers.ridge(2.0)
    state = update(plant.problem, start(plant.problem, reg, ALPHA), prefix(plant.problem, 0, 20, S, C), reg, ALPHA)
    log_det = np.linalg.slogdet(np.eye(3) + S / 2.0)[1]
    assert state.beta == pytest.approx(0.1 * math.sqrt(2 * math.log(20) + 2 * log_det) + math.sqrt(2.0), rel=1e-12)
    np.testing.assert_allclose(state.center, np.linalg.solve(S + 2 * np.eye(3), C), rtol=1e-10)
    off = 0.01 * np.random.default_rng(1).normal(size=(3, 2))
    level = np.trace(off.T @ (S + 2 * np.eye(3)) @ off) / state.beta**2
    assert state.belief.level(state.center + off) == pytest.approx(level, rel=1e-9)


def test_about_another_nominal_model_the_set_moves_with_it() -> None:
    plant = toy()
    moved = Plant(plant.problem.with_(nominal=plant.Theta * 0.9, radius=0.4, operator_radius=0.4), plant.A, plant.B)
    states, controls = episodes(moved, np.zeros((5, 1, 2)), 0.3, 500, np.random.default_rng(0))
    reg = Regularisers.ridge()
    release = prefix(moved.problem, 0, 500, *sums(moved.problem, states, controls))
    state = update(moved.problem, start(moved.problem, reg, ALPHA), release, reg, ALPHA)
    assert np.linalg.norm(state.center - plant.Theta) < 0.1
    assert state.belief.contains(plant.Theta)
    assert np.array_equal(state.belief.ball_center, moved.problem.nominal)
    assert start(moved.problem, reg, ALPHA).beta < start(plant.problem, reg, ALPHA).beta  # r₀ = 0.4 scales the bias


def test_an_indefinite_release_keeps_the_last_good_set_and_is_counted() -> None:
    pr = toy().problem
    reg = Regularisers.ridge()
    first = start(pr, reg, ALPHA)
    bad = update(pr, first, prefix(pr, 0, 5, np.diag([3.0, -4.0, 1.0]), np.zeros((3, 2))), reg, ALPHA)
    assert bad.belief is first.belief
    assert (bad.indefinite, bad.contradictions) == (1, 0)
    assert "positive definite" in bad.note
    good = update(pr, bad, prefix(pr, 1, 6, np.eye(3), np.zeros((3, 2))), reg, ALPHA)
    assert (good.indefinite, good.note, good.index) == (1, "", 2)


def test_a_set_that_misses_the_ball_is_counted() -> None:
    pr = toy().problem
    reg = Regularisers.ridge()
    first = start(pr, reg, ALPHA)
    far = update(pr, first, prefix(pr, 0, 5, 1e6 * np.eye(3), 1e7 * np.ones((3, 2))), reg, ALPHA)
    assert far.belief is first.belief
    assert far.contradictions == 1
    assert "misses the prior ball" in far.note


def test_an_empty_release_says_nothing() -> None:
    pr = toy().problem
    reg = Regularisers.ridge()
    state = update(pr, start(pr, reg, ALPHA), prefix(pr, 0, 0, np.zeros((3, 3)), np.zeros((3, 2))), reg, ALPHA)
    assert state.belief.contains(np.array([[0.99, 0.0], [0.0, 0.0], [0.0, 0.0]]))


def test_sums_of_one_block_are_refused() -> None:
    from dataclasses import replace

    pr = toy().problem
    reg = Regularisers.ridge()
    release = replace(prefix(pr, 0, 5, np.eye(3), np.zeros((3, 2))), kind="block")
    with pytest.raises(InvalidInput, match="sums of everybody"):
        update(pr, start(pr, reg, ALPHA), release, reg, ALPHA)


def test_events_measure_assumption_2() -> None:
    reg = Regularisers(2.0, 1.0, 3.0, 0.5)
    none = events(np.zeros((3, 3)), np.zeros((3, 2)), reg)
    assert none == Events(2.0 / 3.0, 0.5, 0.0)
    assert none.hold
    assert not events(np.diag([1.5, 0, 0]), np.zeros((3, 2)), reg).hold
    assert not events(np.diag([-1.5, 0, 0]), np.zeros((3, 2)), reg).hold
    assert math.isinf(events(np.diag([-2.5, 0, 0]), np.zeros((3, 2)), reg).smallest)
    cross = events(np.zeros((3, 3)), np.full((3, 2), 1.0), reg)
    assert cross.cross == pytest.approx(math.sqrt(6.0 / 2.0) / 0.5)


@pytest.mark.parametrize("plant", [toy(), wide(), laplacian()], ids=lambda plant: plant.name)
@pytest.mark.parametrize("epsilon", [0.1, 8.0])
def test_the_papers_events_hold_under_its_own_noise(plant: Plant, epsilon: float) -> None:
    """They are chosen to fail with probability α over all K releases; in truth they are very loose."""
    constants = paper_constants(plant.problem, Budget(epsilon), 2**12, ALPHA)
    reg = Regularisers.private(constants)
    rng = np.random.default_rng(5)
    p, n, nodes = plant.problem.p, plant.problem.n, constants.depth
    for _ in range(200):
        N = symmetric_noise(p, constants.sigma.sigma_s * math.sqrt(nodes), False, rng)
        L = rng.normal(scale=constants.sigma.sigma_c * math.sqrt(nodes), size=(p, n))
        assert events(N, L, reg).hold


def replay(
    plant: Plant, constants: Constants, sigma1: float, sigma2: float, count: int, plan_from: int, every: int
) -> tuple[float, int]:
    """One noisy stream through the transcription and through ours: worst relative error in J, episodes planned."""
    pr = plant.problem
    rng = np.random.default_rng(3)
    K = optimal_gains(pr, *split(plant.Theta))
    states, controls = episodes(plant, K, 0.25, count, rng)
    nodes: dict[tuple[int, int], tuple[Array, Array]] = {}

    def noise(first: int, last: int) -> tuple[Array, Array]:
        if (first, last) not in nodes:
            zeta1 = symmetric_noise(pr.p, sigma1, False, rng)
            nodes[first, last] = (zeta1, rng.normal(scale=sigma2, size=(pr.p, pr.n)))
        return nodes[first, last]

    reg = Regularisers(constants.eta, constants.lambda_min, constants.lambda_max, constants.nu)
    state: PaperState = start(pr, reg, ALPHA)
    recorded = [(states[k], controls[k]) for k in range(count)]
    given = None if sigma1 == 0 else noise
    slow = algorithm_1(
        recorded, given, constants, pr.Q, pr.R, pr.W, pr.horizon, pr.disturbance_bound, ALPHA,
        lambda k: k >= plan_from and k % every == 0,
    )  # fmt: skip
    warm, worst, planned = None, 0.0, 0
    for theirs in slow:
        done = theirs.k - 1
        S, C = sums(pr, states[:done], controls[:done]) if done else (np.zeros((pr.p, pr.p)), np.zeros((pr.p, pr.n)))
        for node in cover(theirs.k) if sigma1 else []:
            S, C = S + noise(*node)[0], C + noise(*node)[1]
        state = update(pr, state, prefix(pr, done, done, S, C, sigma1, sigma2, False), reg, ALPHA)
        scale = np.abs(theirs.V).max()
        np.testing.assert_allclose(state.V, theirs.V, rtol=1e-9, atol=1e-9 * scale)
        np.testing.assert_allclose(state.center, theirs.Theta_hat, rtol=1e-9, atol=1e-9)
        assert state.beta == pytest.approx(theirs.beta, rel=1e-9)
        if not math.isnan(theirs.J):
            plan = optimistic(pr, state.belief, warm, certify=False)
            warm, planned = plan.Theta, planned + 1
            worst = max(worst, abs(plan.value - theirs.J) / theirs.J)
            assert plan.gains.any(), "compared where planning is not trivial"
    return worst, planned


@pytest.mark.slow
@pytest.mark.parametrize("plant", [toy(), two_inputs()], ids=lambda plant: plant.name)
def test_ofu_matches_the_transcription(plant: Plant) -> None:
    worst, planned = replay(plant, Constants(1.0, 1.0, 1.0, 0.0), 0.0, 0.0, 130, 60, 6)
    assert planned >= 10
    assert worst < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("plant", [toy(), two_inputs()], ids=lambda plant: plant.name)
def test_the_private_algorithm_matches_the_transcription(plant: Plant) -> None:
    """Noise as small beside 150 episodes as that of ε = 1000 is beside 2¹⁴ of them."""
    pr = plant.problem
    printed, sigma1, sigma2 = printed_constants(
        pr.n, pr.d, pr.horizon, pr.control_bound, 2**15, 1000.0 * 2**14 / 100.0, 1e-6, ALPHA
    )
    worst, planned = replay(plant, printed, sigma1, sigma2, 150, 70, 7)
    assert planned >= 10
    assert worst < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("plant", [toy(), wide(), laplacian(horizon=4)], ids=lambda plant: plant.name)
@pytest.mark.parametrize("epsilon", [0.1, 8.0, math.inf])
def test_coverage(plant: Plant, epsilon: float) -> None:
    """At most 43 misses in 200 seeds at α = .1: chance 2·10⁻⁷ if the set fails with probability exactly α."""
    pr = plant.problem
    K = optimal_gains(pr, *split(plant.Theta))
    radius = max(pr.radius, float(np.linalg.norm(plant.Theta)) * 1.05)
    pr = pr.with_(radius=radius)
    counts = [1, 8, 64, 512]
    constants = None if math.isinf(epsilon) else paper_constants(pr, Budget(epsilon), 512, ALPHA)
    reg = Regularisers.ridge() if constants is None else Regularisers.private(constants)
    misses = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        states, controls = episodes(plant, K, 0.2, counts[-1], rng)
        state, covered = start(pr, reg, ALPHA), True
        for index, users in enumerate(counts):
            S, C = sums(pr, states[:users], controls[:users])
            s = c = 0.0
            if constants is not None:  # one node: these counts are powers of two
                s, c = constants.sigma.sigma_s, constants.sigma.sigma_c
                S = S + symmetric_noise(pr.p, s, False, rng)
                C = C + rng.normal(scale=c, size=C.shape)
            state = update(pr, state, prefix(pr, index, users, S, C, s, c, False), reg, ALPHA)
            covered = covered and state.belief.contains(plant.Theta) and not (state.indefinite or state.contradictions)
        misses += not covered
    assert misses <= 43
