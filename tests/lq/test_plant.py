"""What a plant refuses, and what it only reports."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushloop.errors import InvalidInput
from hushloop.lq import Disturbance, Plant, Problem, Start, gallery
from hushloop.lq.plant import uncontrollable_modes


def problem(n: int, d: int) -> Problem:
    return Problem(
        name="test",
        Q=np.eye(n),
        R=np.eye(d),
        horizon=4,
        start=Start("fixed", np.ones(n)),
        disturbance=Disturbance("ball", 0.1, n),
        control_bound=1.0,
        response_bound=1.0,
    )


UNREACHED_A = np.array([[-2.0, 0.0, 1.1], [1.5, 0.9, 1.3], [0.0, 0.0, 0.5]])
UNREACHED_B = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])


def test_an_uncontrollable_plant_is_refused_with_its_direction_and_the_remedy() -> None:
    with pytest.raises(InvalidInput) as caught:
        Plant(problem(3, 2), UNREACHED_A, UNREACHED_B)
    text = str(caught.value)
    for part in ("`B`", "uncontrollable", "eigenvalue 0.5", "[0.0, 0.0, 1.0]", "allow_uncontrollable = true"):
        assert part in text


def test_it_is_accepted_where_that_is_said_and_the_direction_is_stable() -> None:
    plant = Plant(problem(3, 2), UNREACHED_A, UNREACHED_B, allow_uncontrollable=True)
    item = plant.check_assumptions()[1]
    assert not item.holds
    assert item.value == 1.0


def test_an_unstable_direction_out_of_reach_is_never_accepted() -> None:
    A = UNREACHED_A.copy()
    A[2, 2] = 1.0
    with pytest.raises(InvalidInput, match="unstable"):
        Plant(problem(3, 2), A, UNREACHED_B, allow_uncontrollable=True)


def test_a_defective_chain_out_of_reach_is_found() -> None:
    """Its triple eigenvalue is computed with an error of 1e-5, which hides it from a test eigenvalue by eigenvalue."""
    A, B = np.eye(3) + np.eye(3, k=-1), np.array([[0.0], [1.0], [0.0]])
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    assert len(uncontrollable_modes(Q @ A @ Q.T, Q @ B)) == 1
    assert uncontrollable_modes(Q @ A @ Q.T, Q @ np.array([[1.0], [0.0], [0.0]])) == []


@given(st.integers(0, 2**32 - 1))
def test_units_decide_nothing_about_control(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 8)), int(rng.integers(1, 3))
    A, B = rng.normal(size=(n, n)), rng.normal(size=(n, d))
    states, inputs = 10.0 ** rng.uniform(-8, 8, n), 10.0 ** rng.uniform(-8, 8, d)
    assert uncontrollable_modes(A * states / states[:, None], B * inputs / states[:, None]) == []


@given(st.integers(0, 2**32 - 1))
def test_what_is_out_of_reach_is_found_in_any_coordinates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 8)), int(rng.integers(1, 3))
    m = int(rng.integers(1, n - 1))
    A, B = rng.normal(size=(n, n)), rng.normal(size=(n, d))
    A[m:, :m], B[m:] = 0.0, 0.0
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    scale = 10.0 ** rng.uniform(-2, 2, n)
    a, b = Q @ A @ Q.T * scale / scale[:, None], Q @ B / scale[:, None]
    modes = uncontrollable_modes(a, b)
    assert len(modes) == n - m
    unreached = np.sort_complex(np.linalg.eigvals(A[m:, m:]))
    assert np.sort_complex(np.array([value for value, _ in modes])) == pytest.approx(unreached, abs=1e-6)


def test_a_named_direction_is_out_of_reach_of_the_inputs() -> None:
    ((value, v),) = uncontrollable_modes(UNREACHED_A, UNREACHED_B)
    assert v @ UNREACHED_B == pytest.approx([0.0, 0.0], abs=1e-12)
    assert v @ UNREACHED_A == pytest.approx(value.real * v, abs=1e-12)


@pytest.mark.parametrize(
    ("A", "B", "key"),
    [
        (np.ones((2, 3)), np.ones((2, 1)), "A"),
        (np.eye(3), np.ones((3, 1)), "A"),
        (np.eye(2), np.ones((3, 1)), "B"),
        (np.eye(2), np.ones((2, 2)), "B"),
        (np.array([[np.nan, 0.0], [0.0, 1.0]]), np.ones((2, 1)), "A"),
        (np.eye(2), np.array([[np.inf], [1.0]]), "B"),
        (np.diag([1e200, 0.5]), np.ones((2, 1)), "A"),
        (np.diag([1e80, 0.5]), np.array([[1e-90], [1.0]]), "A"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(A: np.ndarray, B: np.ndarray, key: str) -> None:
    with pytest.raises(InvalidInput, match=f"`{key}`"):
        Plant(problem(2, 1), A, B)


def test_assumption_one_is_reported_item_by_item() -> None:
    toy = gallery.get("toy")
    items = {a.item: a for a in toy.check_assumptions()}
    sum_of_bounds = next(a for name, a in items.items() if name.startswith("(e)"))
    assert sum_of_bounds.value == pytest.approx(1.0435, abs=1e-4)
    assert [name for name, a in items.items() if not a.holds] == [sum_of_bounds.item]


def test_a_cost_beyond_float64_is_infinite() -> None:
    plant = Plant(problem(1, 1).with_(horizon=400), np.array([[10.0]]), np.array([[1.0]]))
    assert plant.idle_cost == np.inf
    assert plant.optimal_cost < 1e4


def test_a_truth_outside_its_prior_is_reported_not_refused() -> None:
    toy = gallery.get("toy")
    plant = Plant(toy.problem.with_(radius=0.1, operator_radius=0.1), toy.A, toy.B)
    missed = [a.item for a in plant.check_assumptions() if not a.holds and a.item.startswith("prior")]
    assert len(missed) == 2


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"Q": np.diag([1.0, -1.0])}, "Q"),
        ({"Q": np.array([[1.0, 0.5], [0.0, 1.0]])}, "Q"),
        ({"R": np.zeros((1, 1))}, "R"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": 2.5}, "horizon"),
        ({"horizon": 2_000_000_000}, "horizon"),
        ({"horizon": True}, "horizon"),
        ({"start": Start("fixed", np.ones(3))}, "x1"),
        ({"disturbance": Disturbance("ball", 0.1, 3)}, "disturbance"),
        ({"control_bound": 0.0}, "bounds.control"),
        ({"response_bound": float("nan")}, "bounds.response"),
        ({"energy": -1.0}, "bounds.energy"),
        ({"radius": 0.0}, "prior.radius"),
        ({"radius": 0.1, "operator_radius": 0.2}, "prior.operator_radius"),
        ({"nominal": np.zeros((2, 2))}, "prior"),
        ({"control_low": [0.1]}, "bounds.control_low"),
        ({"control_high": [-0.1]}, "bounds.control_high"),
        ({"control_low": [0.0, 0.0]}, "bounds.control_low"),
    ],
)
def test_problems_without_meaning_are_refused(change: dict[str, object], key: str) -> None:
    with pytest.raises(InvalidInput, match=f"`{key}`"):
        gallery.get("toy").problem.with_(**change)


def test_controls_are_cut_to_the_box_before_the_ball() -> None:
    boxed = problem(2, 2).with_(control_low=np.array([-0.1, -np.inf]), control_bound=2.0)
    assert boxed.cut(np.array([-5.0, -1.0])) == pytest.approx([-0.1, -1.0])
    assert np.linalg.norm(boxed.cut(np.array([3.0, 4.0]))) == pytest.approx(2.0)
