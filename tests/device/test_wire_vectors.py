"""The published vectors are what the device's code says, and they reach every branch of it."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hushloop.device import Assignment, make_report

EXAMPLES = Path(__file__).parents[2] / "examples"
CASES: list[dict[str, Any]] = json.loads((EXAMPLES / "wire_vectors.json").read_text(encoding="utf-8"))["cases"]


def test_the_script_writes_the_very_file() -> None:
    made = runpy.run_path(str(EXAMPLES / "make_wire_vectors.py"))["text"]()
    assert made.encode() == (EXAMPLES / "wire_vectors.json").read_bytes()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_report_is_made_of_the_document_alone(case: dict[str, Any]) -> None:
    assignment = Assignment.from_dict(case["assignment"])
    states, controls = (np.array(case["trajectory"][key], dtype=float) for key in ("states", "controls"))
    made = make_report(assignment, states, controls)
    assert {"S": made.S.tolist(), "C": made.C.tolist()} == case["report"]
    for h, signs in enumerate(case.get("signs", [])):
        assert np.array_equal(assignment.controller.control(h, states[h], np.array(signs, dtype=float)), controls[h])


def test_every_option_of_an_assignment_is_there_and_missing() -> None:
    for part, keys in (
        ("collection", ("shape", "response_bound", "weighting", "response_budget")),
        ("controller", ("control_low", "control_high")),
    ):
        for key in keys:
            assert {case["assignment"][part][key] is None for case in CASES} == {True, False}, key


def test_what_other_languages_get_wrong_is_there() -> None:
    numbers = [abs(v) for case in CASES for key in "SC" for v in case["report"][key]]
    assert max(numbers) > 2**53, "whole numbers that a double cannot hold"
    assert any("NaN" in row for case in CASES for row in case["trajectory"]["states"])
    zeros = [case for case in CASES if not any(case["report"]["S"])]
    assert len(zeros) >= 4
    lengths = {(len(c["trajectory"]["controls"]), c["assignment"]["collection"]["horizon"]) for c in CASES}
    assert any(steps < horizon for steps, horizon in lengths)
    shapes = {np.array(case["assignment"]["controller"]["gains"]).shape[1:] for case in CASES}
    assert any(d > n for d, n in shapes)
    assert "signs" in CASES[-1]
