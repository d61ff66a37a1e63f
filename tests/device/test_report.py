"""No trajectory whatever brings a report beyond its declared bounds, and honest ones are summed as stated."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushloop.device import SCALE_BITS, Assignment, Collection, Controller, Report, episode_sums, within_bounds
from hushloop.errors import InvalidInput

UNIT = 1 << SCALE_BITS

NASTY = (0.0, -0.0, 5e-324, 1e-310, 1e-162, 1e-30, 0.5, 1.0, -1.0, 1.5, 3.7e3, 1.2e154, -1.3e154, 1e200, 1.7e308)
entries = st.one_of(
    st.sampled_from(NASTY),
    st.floats(-4.0, 4.0),
    st.floats(allow_nan=True, allow_infinity=True),
)


@st.composite
def collections(draw: Any) -> Collection:
    n, d, horizon = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.integers(1, 6))
    p = n + d
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    half = rng.normal(size=(p, p)) * draw(st.sampled_from((0.0, 1e-3, 0.3, 2.0)))
    shape = half @ half.T if draw(st.booleans()) else None
    response_bound = draw(st.sampled_from((0.3, 1.0, 7.0))) if shape is None or draw(st.booleans()) else None
    response_budget = draw(st.sampled_from((None, 0.01, 1.0))) if shape is not None else None
    weighting = None
    if draw(st.booleans()) and (response_bound is not None or response_budget is not None):
        weighting = np.diag(rng.uniform(0.1, 3.0, size=p))
    return Collection(
        block=0,
        center=draw(st.sampled_from((0.0, 0.4, 50.0))) * rng.normal(size=(p, n)),
        shape=shape,
        energy=draw(st.sampled_from((2.0**-30, 1e-3, 0.7, 2.0, 16.25, 1e6))),
        disturbance_bound=draw(st.sampled_from((0.0, 0.1))),
        response_bound=response_bound,
        horizon=horizon,
        weighting=weighting,
        response_budget=response_budget,
    )


@st.composite
def cases(draw: Any) -> tuple[Collection, np.ndarray, np.ndarray]:
    collection = draw(collections())
    steps, n, d = draw(st.integers(0, collection.horizon)), collection.n, collection.p - collection.n
    numbers = draw(st.lists(entries, min_size=(steps + 1) * n + steps * d, max_size=(steps + 1) * n + steps * d))
    scale = draw(st.sampled_from((1.0, 1.0, 1e-160, 1e-6, 1e6, 1e100)))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        flat = np.array(numbers) * scale
    return collection, flat[: (steps + 1) * n].reshape(steps + 1, n), flat[(steps + 1) * n :].reshape(steps, d)


def exact_norms(collection: Collection, S: np.ndarray, C: np.ndarray) -> tuple[Fraction, Fraction, Fraction]:
    """(tr S, ‖S‖², ‖C‖²) as exact fractions, written without the code under test."""
    p = collection.p
    full = [[Fraction(0)] * p for _ in range(p)]
    for v, i, j in zip(S, *np.triu_indices(p), strict=True):
        full[i][j] = full[j][i] = Fraction(int(v), UNIT)
    squares = sum(v * v for row in full for v in row)
    cross = sum(Fraction(int(v), UNIT) ** 2 for v in C)
    return sum(full[i][i] for i in range(p)), squares, Fraction(cross)


def assert_within(collection: Collection, S: np.ndarray, C: np.ndarray) -> None:
    energy, response = Fraction(collection.energy), Fraction(collection.response_energy)
    trace, squares, cross = exact_norms(collection, S, C)
    assert 0 <= trace <= energy
    assert squares <= energy**2
    assert cross <= energy * response
    assert within_bounds(collection, S, C)


@settings(max_examples=600)
@given(cases())
def test_no_trajectory_exceeds_the_bounds(case: tuple[Collection, np.ndarray, np.ndarray]) -> None:
    collection, states, controls = case
    S, C = episode_sums(collection, states, controls)
    assert_within(collection, S, C)
    if not (np.isfinite(states).all() and np.isfinite(controls).all()):
        assert not S.any()
        assert not C.any()


@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1), st.sampled_from((0.25, 1.0, 2.0, 3.3)), st.integers(1, 40))
def test_bounds_hold_where_they_are_attained(seed: int, energy: float, horizon: int) -> None:
    """Aligned z and y of full length, the budget spent to the last bit: ‖S‖ = E and ‖C‖² = E·B₂ up to rounding."""
    rng = np.random.default_rng(seed)
    collection = Collection(0, np.zeros((3, 2)), None, energy, 0.0, 1.0, horizon)
    z = rng.normal(size=3)
    z *= math.sqrt(energy / horizon) / np.linalg.norm(z) * rng.choice([1.0, 1.0 + 1e-15, 0.999999, 1.7])
    states = np.zeros((horizon + 1, 2)) + z[:2]
    S, C = episode_sums(collection, states, np.full((horizon, 1), z[2]))
    assert_within(collection, S, C)
    assert exact_norms(collection, S, C)[0] > 0.99 * Fraction(energy), "the bounds are kept by weights, not by zeros"


def plain(**changes: Any) -> Collection:
    base: dict[str, Any] = {
        "block": 0, "center": np.zeros((3, 2)), "shape": None, "energy": 2.0, "disturbance_bound": 0.1,
        "response_bound": 1.0, "horizon": 5,
    }  # fmt: skip
    return Collection(**base | changes)


def test_a_step_whose_square_overflows_does_not_open_the_budget() -> None:
    """‖z‖² = ∞ once made the spent energy NaN, and with it every later weight 1."""
    states = np.ones((6, 2)) * 100.0
    states[0] = 1.2e154
    S, C = episode_sums(plain(), states, np.zeros((5, 1)))
    assert_within(plain(), S, C)


def test_weights_never_grow_again_once_the_budget_is_spent() -> None:
    """What rounding leaves of the budget must not give a tiny step the weight 1: Σ w‖y‖² ≤ E + Y² rests on it."""
    collection = plain(response_bound=1e6)
    rng = np.random.default_rng(0)
    for _ in range(300):
        states = np.vstack(
            [rng.uniform(0, 0.5, size=(3, 2)), 1.0 + rng.uniform(size=(1, 2)), [[3e-9, 0.0], [1e6, 1e6]]]
        )
        cut = episode_sums(collection, states[:5], np.zeros((4, 1)))
        whole = episode_sums(collection, states, np.zeros((5, 1)))
        for before, after in zip(cut, whole, strict=True):
            assert (before == after).all()


def honest(seed: int, horizon: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return 0.5 * rng.normal(size=(horizon + 1, 2)), 0.5 * rng.normal(size=(horizon, 1))


@pytest.mark.parametrize("seed", range(5))
def test_full_energy_gives_every_step_weight_one(seed: int) -> None:
    states, controls = honest(seed)
    states, controls = np.clip(states, -0.6, 0.6), np.clip(controls, -1.5, 1.5)
    collection = plain(energy=5 * (1 + 1.5**2), response_bound=10.0)
    S, C = episode_sums(collection, states, controls)
    Z = np.hstack([states[:-1], controls])
    want_s, want_c = (Z.T @ Z)[np.triu_indices(3)], (Z.T @ states[1:]).ravel()
    assert np.abs(S - want_s * UNIT).max() <= 1.01
    assert np.abs(C - want_c * UNIT).max() <= 1.01
    assert (np.abs(S) <= np.abs(want_s * UNIT) + 1e-3).all(), "rounding goes toward zero"


@pytest.mark.parametrize("step", range(4))
def test_the_weight_of_a_step_never_looks_at_the_next_state(step: int) -> None:
    """Move x_{h+1} alone: what steps up to h add to S stays the same bits, h being the last step of a short episode."""
    states, controls = honest(3)
    collection = plain(energy=0.9)
    before = episode_sums(collection, states[: step + 2], controls[: step + 1])[0]
    states[step + 1] += 17.0
    after = episode_sums(collection, states[: step + 2], controls[: step + 1])[0]
    assert (before == after).all()


def test_recentring_makes_the_response_of_a_plant_at_the_centre_its_disturbance() -> None:
    rng = np.random.default_rng(0)
    center = 0.3 * rng.normal(size=(3, 2))
    states, controls = honest(1)
    w = 0.05 * rng.normal(size=(5, 2))
    for h in range(5):
        states[h + 1] = np.concatenate([states[h], controls[h]]) @ center + w[h]
    collection = plain(center=center, shape=np.zeros((3, 3)), disturbance_bound=1.0, energy=100.0)
    C = episode_sums(collection, states, controls)[1]
    Z = np.hstack([states[:-1], controls])
    assert np.abs(C / UNIT - (Z.T @ w).ravel()).max() < 1e-8


@pytest.mark.slow
def test_the_weighted_sums_are_unbiased() -> None:
    """E Σ w z (y − Θ'z)' = 0 although a small budget cuts most episodes: 5.5 standard errors, false alarm 2e-7."""
    rng = np.random.default_rng(7)
    Theta = np.array([[0.45, 0.0], [0.2, 0.4], [0.1, 0.25]])
    collection = plain(energy=0.8, response_bound=50.0)
    errors = []
    for _ in range(4000):
        x, states, controls = np.array([0.6, 0.8]), [], []
        states.append(x)
        for _h in range(5):
            u = rng.normal(scale=0.5, size=1)
            angle = rng.uniform(0, 2 * math.pi)
            x = np.concatenate([x, u]) @ Theta + 0.3 * np.array([math.cos(angle), math.sin(angle)])
            states.append(x)
            controls.append(u)
        S, C = episode_sums(collection, np.array(states), np.array(controls))
        full = np.zeros((3, 3))
        full[np.triu_indices(3)] = S / UNIT
        full = np.triu(full) + np.triu(full, 1).T
        errors.append((C / UNIT).reshape(3, 2) - full @ Theta)
    mean, deviation = np.mean(errors, axis=0), np.std(errors, axis=0) / math.sqrt(len(errors))
    assert (np.abs(mean) < 5.5 * deviation + 1e-8).all()


def test_an_empty_episode_is_a_report_of_zeros() -> None:
    S, C = episode_sums(plain(), np.array([[0.6, 0.8]]), np.zeros((0, 1)))
    assert not S.any()
    assert not C.any()


@pytest.mark.parametrize(
    ("states", "controls"),
    [((6, 2), (6, 1)), ((6, 3), (5, 1)), ((6, 2), (5, 2)), ((7, 2), (6, 1)), ((6, 2), (5,))],
)
def test_trajectories_of_another_shape_are_refused(states: tuple[int, ...], controls: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput, match="`trajectory`"):
        episode_sums(plain(), np.zeros(states), np.zeros(controls))


@given(st.integers(0, 2**32 - 1))
def test_a_report_reads_back_as_it_was_written(seed: int) -> None:
    assignment = Assignment("a1", Controller(np.zeros((5, 1, 2)), 1.5), plain())
    report = assignment.report(*honest(seed), report_id="r1")
    again = Report.from_json(report.to_json())
    assert (again.assignment_id, again.report_id) == ("a1", "r1")
    assert (again.S == report.S).all()
    assert (again.C == report.C).all()


@pytest.mark.parametrize(
    ("key", "value"),
    [("S", [1.5]), ("S", [True]), ("S", "1"), ("C", [2**63]), ("C", None), ("assignment_id", 3), ("report_id", None)],
)
def test_what_is_not_well_formed_is_no_report(key: str, value: Any) -> None:
    good = {"S": [1, 2], "C": [3], "assignment_id": "a", "report_id": "r"}
    with pytest.raises(InvalidInput, match=f"`{key}`"):
        Report.from_dict(good | {key: value})


@settings(max_examples=200)
@given(st.integers(0, 5), st.sampled_from(("S", "C")), st.integers(0, 5), st.integers(-2, 2))
def test_the_curator_and_an_exact_check_agree_around_the_bound(seed: int, part: str, at: int, off: int) -> None:
    """Sums brought to within a unit of the bound, from either side."""
    collection = plain(energy=0.37 + seed / 7)
    S, C = np.zeros(6, dtype=np.int64), np.zeros(6, dtype=np.int64)
    energy = Fraction(collection.energy) * UNIT
    if part == "S":
        diagonal = {0, 3, 5}
        S[at] = int(energy) + off if at in diagonal else math.isqrt(int(energy**2 / 2)) + off
    else:
        C[at] = math.isqrt(int(energy * Fraction(collection.response_energy) * UNIT)) + off
    trace, squares, cross = exact_norms(collection, S, C)
    bound, response = Fraction(collection.energy), Fraction(collection.response_energy)
    inside = 0 <= trace <= bound and squares <= bound**2 and cross <= bound * response
    assert within_bounds(collection, S, C) == inside


def test_a_negative_diagonal_is_out_of_bounds() -> None:
    S = np.array([-1, 0, 0, 2, 0, 0], dtype=np.int64)
    assert not within_bounds(plain(), S, np.zeros(6, dtype=np.int64))


def test_the_bound_on_response_energy_is_the_least_that_holds() -> None:
    shaped = plain(shape=np.diag([0.5, 0.2, 0.1]), response_bound=None)
    assert shaped.response_energy == pytest.approx((0.5 * math.sqrt(2) + 0.1 * math.sqrt(5)) ** 2)
    assert plain().response_energy == pytest.approx(3.0), "E + Y² about the origin"
    assert plain(center=np.ones((3, 2))).response_energy == pytest.approx(5.0), "H·Y² about any other centre"
    assert dataclasses.replace(shaped, response_budget=0.04).response_energy == pytest.approx(
        (0.2 + 0.1 * math.sqrt(5)) ** 2
    )


def oracle(collection: Collection, states: np.ndarray, controls: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The stated rule in plain matrix algebra, without slack and grid."""
    p, H = collection.p, controls.shape[0]
    Z = np.hstack([states[:H], controls])
    T = np.eye(p) if collection.weighting is None else collection.weighting
    S, C, left, left_m = np.zeros((p, p)), np.zeros((p, collection.n)), collection.energy, np.inf
    if collection.response_budget is not None:
        left_m = collection.response_budget
    for h in range(H):
        t, reach = T @ Z[h], 0.0 if collection.shape is None else float(np.linalg.norm(collection.shape @ Z[h]))
        w = min(1.0, max(left, 0.0) / (t @ t), max(left_m, 0.0) / reach**2 if reach else 1.0)
        left, left_m = left - w * (t @ t), left_m - w * reach**2
        y = states[h + 1] - collection.center.T @ Z[h]
        limit = np.inf if collection.shape is None else reach + collection.disturbance_bound
        limit = min(limit, np.inf if collection.response_bound is None else collection.response_bound)
        y = y * min(1.0, limit / np.linalg.norm(y))
        S, C = S + w * np.outer(t, t), C + w * np.outer(t, y)
        if w < 1.0:
            break
    return S, C


@settings(max_examples=300)
@given(collections(), st.integers(0, 2**32 - 1), st.sampled_from((0.1, 0.5, 3.0)))
def test_honest_reports_are_what_the_rule_says(collection: Collection, seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    n, d = collection.n, collection.p - collection.n
    states = size * rng.normal(size=(collection.horizon + 1, n))
    controls = size * rng.normal(size=(collection.horizon, d))
    S, C = episode_sums(collection, states, controls)
    want_s, want_c = oracle(collection, states, controls)
    room = 3.0 / UNIT * (1.0 + np.abs(want_s).max() + np.abs(want_c).max())
    assert np.abs(S / UNIT - want_s[np.triu_indices(collection.p)]).max() < room
    assert np.abs(C / UNIT - want_c.ravel()).max() < room
