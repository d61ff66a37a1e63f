"""Compiled episodes against the device itself, their numpy twin and exact costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hushloop.device import Assignment, Collection, Controller, make_report
from hushloop.device.assignment import SCALE_BITS
from hushloop.device.assignment import SLACK as DEVICE_SLACK
from hushloop.errors import InvalidInput
from hushloop.kernels import episode_chunk
from hushloop.kernels import reference_episodes as twin
from hushloop.kernels.episodes import CHUNK, EpisodeSums, Law, episodes, fold
from hushloop.lq import Disturbance, Problem, Start, optimal_gains, policy_cost

Given = dict[str, Any]
FLOATS = ("cost", "cost_sq", "compare", "compare_sq", "cross", "weight")
WHOLE = ("users", "clipped_steps", "response_clips", "steps")


def random_case(n: int, d: int, horizon: int, law: str, start: str, seed: int) -> Given:
    """A case in which the clips and the budgets bind now and then."""
    rng = np.random.default_rng(seed)
    p = n + d
    M = rng.normal(size=(p, p)) / p
    scale = rng.normal(size=(n, n))
    return {
        "A": rng.normal(size=(n, n)) / n,
        "B": rng.normal(size=(n, d)) / math.sqrt(n),
        "Q": np.eye(n) + 0.1,
        "R": np.eye(d) + 0.2,
        "gains": rng.normal(size=(horizon, d, n)) / n,
        "control_bound": 0.8,
        "excitation": 0.0 if seed % 3 == 0 else 0.2,
        "control_low": -0.3 * np.ones(d) if seed % 2 else None,
        "control_high": np.full(d, 0.4) if seed % 4 == 1 else None,
        "center": 0.3 * rng.normal(size=(p, n)) / p,
        "shape": None if seed % 4 == 3 else M @ M.T,
        "energy": 2.0 + horizon / 4,
        "disturbance_bound": 0.1,
        "response_bound": None if seed % 4 == 2 else 1.0,
        "weighting": np.eye(p) + 0.1 * (M @ M.T) if seed % 4 == 0 else None,
        "response_budget": 1.5 if seed % 4 == 0 else None,
        "disturbance": Law(law, 0.3, None, scale / np.linalg.norm(scale, 2) if seed % 2 else None),
        "start": Law(start, 0.5, None, None, rng.normal(size=n) / math.sqrt(n)),
        "compare": rng.normal(size=(horizon, d, n)) / n,
    }


def device_sums(given: Given, X: np.ndarray, U: np.ndarray) -> tuple[Any, Any]:
    """S and C as the devices report them, summed as whole numbers."""
    names = ("gains", "control_bound", "excitation", "control_low", "control_high")
    names_c = ("center", "shape", "energy", "disturbance_bound", "response_bound")
    collection = Collection(
        0, *(given[k] for k in names_c), given["gains"].shape[0], given["weighting"], given["response_budget"]
    )
    assignment = Assignment("a", Controller(*(given[k] for k in names)), collection)
    reports = [make_report(assignment, x, u) for x, u in zip(X, U, strict=True)]
    return sum(r.S.astype(object) for r in reports), sum(r.C.astype(object) for r in reports)


def same_integers(a: EpisodeSums, b: EpisodeSums) -> None:
    assert a.S.tolist() == b.S.tolist()
    assert a.C.tolist() == b.C.tolist()
    assert [getattr(a, k) for k in WHOLE] == [getattr(b, k) for k in WHOLE]


LAWS = ["sphere", "ball", "truncated-normal", "rademacher"]
STARTS = ["fixed", "ball", "truncated-normal", "sphere"]
CASES = [
    (n, d, horizon, LAWS[k % 4], STARTS[(k + k // 4) % 4], k)
    for k, (n, d, horizon) in enumerate(
        [(2, 1, 5), (1, 1, 1), (3, 2, 7), (2, 3, 4), (7, 2, 6), (1, 5, 3), (5, 1, 9), (4, 4, 2), (2, 1, 140),
         (40, 24, 3), (2, 2, 6), (3, 1, 12), (6, 6, 5), (2, 1, 5), (33, 3, 2), (9, 1, 3)]
    )
]  # fmt: skip


@pytest.mark.parametrize(("n", "d", "horizon", "law", "start", "seed"), CASES)
def test_sums_are_those_of_the_device_to_the_last_bit(
    n: int, d: int, horizon: int, law: str, start: str, seed: int
) -> None:
    given = random_case(n, d, horizon, law, start, seed)
    users, first, key = (21 if n < 20 else 5), 2**33 - 7, seed + 2**45
    ours, numpy = episodes(key, first, users, **given), twin.episodes(key, first, users, **given)
    same_integers(ours, numpy)
    for name in FLOATS:
        assert getattr(ours, name) == pytest.approx(getattr(numpy, name), rel=1e-10), name
    X, U, _ = twin.trajectories(key, first, users, **given)
    S, C = device_sums(given, X, U)
    assert ours.S.tolist() == S.tolist()
    assert ours.C.tolist() == C.tolist()


def test_controls_are_those_of_the_device() -> None:
    given = random_case(3, 2, 6, "ball", "ball", 5)
    X, U, cut = twin.trajectories(1, 0, 50, **given)
    names = ("gains", "control_bound", "excitation", "control_low", "control_high")
    controller = Controller(*(given[k] for k in names))
    signs = twin.signs(1, np.arange(50, dtype=np.uint64), 0, 12).reshape(50, 6, 2)
    for k in range(50):
        for h in range(6):
            np.testing.assert_array_equal(controller.control(h, X[k, h], signs[k, h]), U[k, h])
    assert cut.any()
    assert not cut.all()


def test_constants_are_those_of_the_device() -> None:
    assert episode_chunk.SLACK == DEVICE_SLACK
    assert episode_chunk.UNITS == 2.0**SCALE_BITS


def test_the_number_of_threads_changes_no_bit() -> None:
    given = random_case(2, 1, 5, "sphere", "ball", 1)
    users = 5 * CHUNK + 77
    one, two, three = (episodes(3, 10, users, threads=t, **given) for t in (1, 2, 3))
    for other in (two, three):
        same_integers(one, other)
        assert [getattr(one, k) for k in FLOATS] == [getattr(other, k) for k in FLOATS]


def test_users_can_be_split_anywhere() -> None:
    given = random_case(2, 1, 4, "truncated-normal", "ball", 2)
    whole = episodes(3, 0, 10_000, **given)
    parts = episodes(3, 0, 3_001, **given) + episodes(3, 3_001, 6_999, **given)
    same_integers(whole, parts)
    for name in FLOATS:
        assert getattr(whole, name) == pytest.approx(getattr(parts, name), rel=1e-12)


def test_own_starts_replace_the_law() -> None:
    given = random_case(2, 1, 3, "sphere", "fixed", 1)
    starts = np.random.default_rng(0).normal(size=(CHUNK + 30, 2))
    ours = episodes(3, 0, CHUNK + 30, starts=starts, **given)
    same_integers(ours, twin.episodes(3, 0, CHUNK + 30, starts=starts, **given))
    same = np.tile(given["start"].center, (CHUNK + 30, 1))
    same_integers(episodes(3, 0, CHUNK + 30, starts=same, **given), episodes(3, 0, CHUNK + 30, **given))


def test_sums_beyond_int64_are_exact() -> None:
    """One report's trace is near 2⁶² units; a thousand of them do not fit 64 bits."""
    given = random_case(2, 1, 1, "sphere", "fixed", 1)
    given |= {"energy": 2.0**32, "start": Law("fixed", center=np.array([40_000.0, -30_000.0]))}
    one, many = episodes(3, 0, 1, **given), episodes(3, 0, 1000, **given)
    assert many.S[0] == 1000 * one.S[0] > 2**63
    assert many.S[1] == 1000 * one.S[1] < -(2**63)


def test_two_limbs_hold_2_to_the_32_users() -> None:
    """A wave of full chunks of the largest entries of either sign, folded exactly."""
    for entry in (2**62, -(2**62), 2**62 - 1, -1):
        low, high = (entry & 0xFFFFFFFF) * CHUNK, (entry >> 32) * CHUNK
        limbs = np.array([[[low], [high]]] * 1024)
        assert fold(limbs)[0] * 1024 == entry * 2**32


def test_what_is_not_finite_reports_zeros_and_harms_nobody() -> None:
    given = random_case(2, 1, 5, "sphere", "fixed", 1)
    starts = np.zeros((9, 2))
    starts[0], starts[1], starts[2] = [np.inf, 0.0], [np.nan, 1.0], [1e200, -1e200]
    ours = episodes(3, 0, 9, starts=starts, **given)
    with np.errstate(all="ignore"):
        X, U, _ = twin.trajectories(3, 0, 9, starts=starts, **given)
    S, C = device_sums(given, X, U)
    assert ours.S.tolist() == S.tolist()
    assert ours.C.tolist() == C.tolist()
    assert any(ours.S)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("start", ["fixed", "ball", "truncated-normal"])
def test_mean_cost_is_the_exact_cost(law: Any, start: Any) -> None:
    """Within 5 standard errors, chance 6·10⁻⁷ each: the optimal controller, and it with excitation."""
    center = np.array([0.6, 0.8])
    disturbance = Disturbance(law, 0.4, 2, scale=np.array([[1.0, 0.0], [0.3, 0.5]]) / 1.1)
    problem = Problem(
        "p",
        np.eye(2),
        0.1 * np.eye(1),
        5,
        Start(start, center, 0.0 if start == "fixed" else 0.5),
        disturbance,
        50.0,
        1.0,
    )
    A, B = np.array([[0.45, 0.2], [0.0, 0.4]]), np.array([[0.1], [0.25]])
    K = optimal_gains(problem, A, B)
    sums = episodes(
        5, 0, 300_000, A=A, B=B, Q=problem.Q, R=problem.R, gains=0.8 * K, control_bound=50.0, center=np.zeros((3, 2)),
        shape=None, energy=5.0, disturbance_bound=0.4, response_bound=1.0, excitation=0.2, compare=K,
        disturbance=Law(law, 0.4, None, disturbance.scale), start=Law(start, problem.start.radius, center=center),
    )  # fmt: skip
    for total, square, exact in (
        (sums.cost, sums.cost_sq, policy_cost(problem, A, B, 0.8 * K, excitation=0.2)),
        (sums.compare, sums.compare_sq, policy_cost(problem, A, B, K)),
    ):
        mean = total / sums.users
        error = math.sqrt((square / sums.users - mean**2) / sums.users)
        assert abs(mean - exact) < 5 * error
    assert sums.clipped_steps == 0


def test_input_is_checked() -> None:
    given = random_case(2, 1, 3, "sphere", "fixed", 1)
    with pytest.raises(InvalidInput, match="`users`"):
        episodes(1, 0, -1, **given)
    with pytest.raises(InvalidInput, match="`starts`"):
        episodes(1, 0, 3, starts=np.zeros((2, 2)), **given)
    with pytest.raises(InvalidInput, match="`law`"):
        episodes(1, 0, 3, **(given | {"disturbance": Law("gauss", 1.0)}))
    with pytest.raises(InvalidInput, match="`gains`"):
        episodes(1, 0, 3, **(given | {"A": np.eye(3)}))
