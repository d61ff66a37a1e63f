"""Controls never exceed γ or the actuators' limits, and an assignment survives its JSON to the bit."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushloop.device import Assignment, Collection, Controller
from hushloop.errors import InvalidInput

NASTY = (0.0, 5e-324, 1e-200, 1.0, -3.0, 1e154, -1.3e154, 1e300, 1.7e308, float("inf"), float("nan"))
anything = st.one_of(st.sampled_from(NASTY), st.floats(allow_nan=True, allow_infinity=True), st.floats(-3, 3))


@st.composite
def assignments(draw: Any) -> Assignment:
    n, d, horizon = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.sampled_from((0.1, 1.0, 1e160, 1e-160)))
    box = draw(st.sampled_from(("none", "low", "both")))
    controller = Controller(
        size * rng.normal(size=(horizon, d, n)),
        draw(st.sampled_from((0.3, 1.5, 1e-9, 1e9))),
        draw(st.sampled_from((0.0, 0.2, 5.0))),
        None if box == "none" else -rng.uniform(0, 0.5, size=d) * np.array([1, 0, np.inf])[:d].clip(0, 1e9),
        rng.uniform(0, 0.5, size=d) if box == "both" else None,
    )
    p = n + d
    half = rng.normal(size=(p, p))
    return Assignment(
        draw(st.text(max_size=5)),
        controller,
        Collection(
            draw(st.integers(0, 9)), rng.normal(size=(p, n)), half @ half.T, rng.uniform(0.1, 9), rng.uniform(), None,
            horizon, np.diag(rng.uniform(0.1, 2, size=p)), rng.uniform(0.1, 9),
        ),
    )  # fmt: skip


@settings(max_examples=500)
@given(assignments(), st.lists(anything, min_size=3, max_size=3), st.integers(0, 99))
def test_no_state_whatever_brings_a_control_beyond_its_limits(a: Assignment, state: list[float], seed: int) -> None:
    c = a.controller
    u = a.control(0, np.array(state[: a.collection.n]), np.random.default_rng(seed))
    assert np.isfinite(u).all()
    assert sum(Fraction(float(v)) ** 2 for v in u) <= Fraction(c.control_bound) ** 2
    assert c.control_low is None or (u >= c.control_low).all()
    assert c.control_high is None or (u <= c.control_high).all()


def test_a_control_within_its_limits_is_left_alone() -> None:
    controller = Controller(np.array([[[-0.5, 0.25]]]), 1.5)
    assert controller.control(0, np.array([0.6, 0.8]), np.zeros(1)) == pytest.approx([-0.1], abs=1e-15)


def test_excitation_is_a_fair_sign_in_each_input() -> None:
    a = Assignment(
        "x",
        Controller(np.zeros((2, 2, 1)), 9.0, excitation=0.25),
        Collection(0, np.zeros((3, 1)), None, 2.0, 0.1, 1.0, 2),
    )
    rng = np.random.default_rng(0)
    seen = {tuple(a.control(0, np.zeros(1), rng)) for _ in range(60)}
    assert seen == {(s, t) for s in (-0.25, 0.25) for t in (-0.25, 0.25)}
    assert {tuple(a.control(0, np.zeros(1))) for _ in range(100)} == seen, "and from the system's entropy"


def bits(value: np.ndarray | None) -> bytes | None:
    return None if value is None else value.tobytes()


@given(assignments())
def test_an_assignment_reads_back_to_the_same_bits(a: Assignment) -> None:
    b = Assignment.from_json(a.to_json())
    assert a.id == b.id
    for key in ("gains", "control_low", "control_high"):
        assert bits(getattr(a.controller, key)) == bits(getattr(b.controller, key))
    for key in ("control_bound", "excitation"):
        assert getattr(a.controller, key) == getattr(b.controller, key)
    for key in ("center", "shape", "weighting"):
        assert bits(getattr(a.collection, key)) == bits(getattr(b.collection, key))
    for key in ("block", "energy", "disturbance_bound", "response_bound", "horizon", "response_budget"):
        assert getattr(a.collection, key) == getattr(b.collection, key)
    assert a.collection.integer_bounds == b.collection.integer_bounds


def wire(**changes: Any) -> str:
    a = Assignment("a", Controller(np.zeros((5, 1, 2)), 1.5), Collection(0, np.zeros((3, 2)), None, 2.0, 0.1, 1.0, 5))
    document = a.to_dict()
    for path, value in changes.items():
        table, key = path.split("__")
        document[table][key] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"controller__control_bound": 0.0}, "control_bound"),
        ({"controller__control_bound": -1.0}, "control_bound"),
        ({"controller__excitation": -0.1}, "excitation"),
        ({"controller__control_low": [0.5]}, "control_low"),
        ({"controller__control_high": [-0.5]}, "control_high"),
        ({"controller__control_high": [1.0, 1.0]}, "control_high"),
        ({"controller__gains": [[[0.0]]]}, "gains"),
        ({"controller__gains": [[0.0]]}, "gains"),
        ({"collection__scale_bits": 24}, "scale_bits"),
        ({"collection__energy": 0.0}, "energy"),
        ({"collection__energy": 1e12}, "energy"),
        ({"collection__response_bound": None}, "shape"),
        ({"collection__response_bound": 1e10}, "energy"),
        ({"collection__shape": [[1.0]]}, "shape"),
        ({"collection__center": [[0.0]]}, "gains"),
        ({"collection__disturbance_bound": -0.1}, "disturbance_bound"),
        ({"collection__horizon": 0}, "horizon"),
        ({"collection__response_budget": 1.0}, "response_budget"),
    ],
)
def test_an_assignment_that_makes_no_sense_is_refused(change: dict[str, Any], key: str) -> None:
    with pytest.raises(InvalidInput, match=f"`{key}`"):
        Assignment.from_json(wire(**change))


def test_a_missing_field_is_named() -> None:
    document = json.loads(wire())
    del document["collection"]["energy"]
    with pytest.raises(InvalidInput, match="`energy` is missing"):
        Assignment.from_dict(document)


def test_the_device_needs_numpy_alone() -> None:
    heavy = ["numba", "scipy", "polars", "msgspec", "click", "rich", "matplotlib"]
    code = f"import sys, hushloop.device; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("weighting", [np.ones((3, 3)), np.diag([1.0, 1.0, -1.0]), np.triu(np.ones((3, 3)))])
def test_a_weighting_from_which_nothing_can_be_read_back_is_refused(weighting: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match="weighting"):
        Collection(0, np.zeros((3, 2)), np.eye(3), 1.0, 0.1, None, 5, weighting, 1.0)
