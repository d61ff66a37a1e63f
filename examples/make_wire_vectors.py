"""Writes wire_vectors.json: trajectories and assignments in, reports out, for devices that are not Python.

A case is {name, assignment, trajectory: {states, controls}, report: {S, C}}; S and C count grid units and may exceed
2⁵³. Where `signs` (T × d, each ±1) is there too, the controls are those of the assignment's controller at these states.
"Infinity", "-Infinity" and "NaN" are strings that stand for the doubles which JSON has no word for.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np

from hushloop.device import SCALE_BITS, Assignment, Collection, Controller, make_report

FILE = Path(__file__).with_name("wire_vectors.json")
ON_THE_BOUND = 1.0 + 2.0**-34  # what is enforced is 1 exactly
DRAW = random.Random(20260)


def matrix(rows: int, columns: int, size: float) -> np.ndarray:
    return np.array([[DRAW.uniform(-size, size) for _ in range(columns)] for _ in range(rows)])


def positive(p: int, size: float) -> np.ndarray:
    """Symmetric positive definite, of about this size."""
    half = matrix(p, p, size)
    upper = np.triu(
        np.array([[sum(float(a) * float(b) for a, b in zip(r, s, strict=True)) for s in half] for r in half])
    )
    return upper + np.triu(upper, 1).T + 0.1 * size * np.eye(p)


def assignment(n: int = 2, d: int = 1, horizon: int = 5, **options: Any) -> Assignment:
    """A plain assignment, with what a case is about in `options`."""
    controller = {"control_bound": 1.5, "excitation": 0.125, "control_low": None, "control_high": None}
    collection: dict[str, Any] = {
        "center": matrix(n + d, n, 0.5), "shape": positive(n + d, 0.5), "energy": 40.0, "disturbance_bound": 0.1,
        "response_bound": None, "weighting": None, "response_budget": None,
    }  # fmt: skip
    gains = options.pop("gains", matrix(horizon * d, n, 0.7).reshape(horizon, d, n))
    for key, value in options.items():
        (controller if key in controller else collection)[key] = value
    return Assignment("vectors", Controller(gains, **controller), Collection(block=3, horizon=horizon, **collection))


def free(a: Assignment, steps: int | None = None, size: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """States and controls that no plant had to make: the arithmetic does not care."""
    n, d = a.collection.n, a.collection.p - a.collection.n
    steps = a.collection.horizon if steps is None else steps
    return matrix(steps + 1, n, size), matrix(steps, d, size)


def case(
    name: str, a: Assignment, states: np.ndarray, controls: np.ndarray, signs: np.ndarray | None = None
) -> dict[str, Any]:
    made = make_report(a, states, controls)
    out: dict[str, Any] = {"name": name, "assignment": a.to_dict()}
    if signs is not None:
        out["signs"] = signs.astype(int).tolist()
    out["trajectory"] = {"states": worded(states), "controls": worded(controls)}
    return {**out, "report": {"S": made.S.tolist(), "C": made.C.tolist()}}


def worded(values: np.ndarray) -> list[list[float | str]]:
    def word(v: float) -> float | str:
        return v if math.isfinite(v) else "NaN" if math.isnan(v) else "Infinity" if v > 0 else "-Infinity"

    return [[word(v) for v in row] for row in values.tolist()]


def controlled(name: str, a: Assignment, size: float = 1.0) -> dict[str, Any]:
    """The controls are the assignment's own; signs are part of the case."""
    d = a.collection.p - a.collection.n
    states, _ = free(a, size=size)
    signs = np.array([[DRAW.choice((-1.0, 1.0)) for _ in range(d)] for _ in range(a.collection.horizon)])
    controls = np.array([a.controller.control(h, states[h], s) for h, s in enumerate(signs)])
    return case(name, a, states, controls, signs)


def budgets() -> list[dict[str, Any]]:
    """Weights."""
    out = []
    for name, options in (
        ("every weight is 1", {}),
        ("the energy is spent midway", {"energy": 2.0}),
        ("the response budget is spent midway", {"response_budget": 0.3}),
        ("both budgets, the energy spent first", {"energy": 1.5, "response_budget": 2.0}),
        ("a weighting, and both budgets", {"weighting": positive(3, 0.9), "energy": 1.0, "response_budget": 0.8}),
        (
            "another weighting, and a response bound",
            {"weighting": positive(3, 0.3), "response_bound": 0.7},
        ),
    ):
        a = assignment(**options)
        out.append(case(name, a, *free(a)))
    a = assignment(energy=ON_THE_BOUND)
    states, controls = free(a)
    states[0], controls[0] = (0.6, 0.0), (0.8,)
    out.append(case("an energy that one step spends to the last bit, or nearly", a, states, controls))
    states[0], controls[0] = (1.0, 0.0), (0.0,)
    out.append(case("an energy that one step spends exactly: its weight is 1, the next one's 0", a, states, controls))
    a = assignment(energy=2.0**-SCALE_BITS)
    out.append(case("the least energy", a, *free(a)))
    return out


def responses() -> list[dict[str, Any]]:
    """Clips."""
    a = assignment(shape=None, center=np.zeros((3, 2)), energy=16.25, response_bound=1.0, disturbance_bound=0.1)
    out = [
        case("no shape: the response bound alone", a, *free(a)),
        case("no shape, and every response is clipped", a, *free(a, size=3.0)),
    ]
    tight = assignment(shape=positive(3, 0.1), disturbance_bound=0.01, response_bound=0.9)
    out.append(case("the response is clipped to its ellipsoid", tight, *free(tight)))
    a = assignment(shape=np.zeros((3, 3)), disturbance_bound=0.25)
    out.append(case("a shape of zeros leaves the disturbance", a, *free(a)))
    a = assignment(shape=None, center=np.zeros((3, 2)), response_bound=ON_THE_BOUND)
    states, controls = free(a)
    states[1] = (1.0, 0.0)
    out.append(case("a response exactly as long as it may be", a, states, controls))
    return out


def odd() -> list[dict[str, Any]]:
    """Lengths, shapes, and numbers at the ends of float64."""
    a = assignment()
    out = [case("a short episode", a, *free(a, steps=2)), case("one step", a, *free(a, steps=1))]
    states, controls = free(a)
    states[1], controls[1] = 0.0, 0.0
    out.append(case("a step at rest is passed over", a, states, controls))
    for name, value in (("not a number", math.nan), ("infinite", math.inf), ("minus infinity", -math.inf)):
        broken = states.copy()
        broken[-1, 0] = value
        out.append(case(f"a last state that is {name}: zeros", a, broken, controls))
    for name, value in (("too large to square", 1e200), ("just small enough to square", 1.2e154)):
        broken = states.copy()
        broken[2, 1] = value
        out.append(case(f"a state {name}", a, broken, controls))
    out.append(case("subnormal states", a, 1e-310 * states, 1e-310 * controls))
    large = assignment(energy=2.0**32, disturbance_bound=0.1, shape=0.01 * np.eye(3))
    out.append(case("entries beyond 2^53", large, *free(large, size=2.0**15)))
    wide = assignment(n=1, d=3, horizon=4, energy=2.0)
    out.append(case("more inputs than states", wide, *free(wide)))
    big = assignment(n=4, d=2, horizon=20, energy=30.0, response_budget=2.0, weighting=positive(6, 0.5))
    out.append(case("six variables, twenty steps", big, *free(big)))
    return out


def controllers() -> list[dict[str, Any]]:
    """Controls."""
    return [
        controlled("excited controls", assignment()),
        controlled("no excitation", assignment(excitation=0.0)),
        controlled("controls cut to their bound", assignment(control_bound=0.25), size=2.0),
        controlled(
            "limits of single inputs, then the bound",
            assignment(n=2, d=3, control_bound=0.6, control_low=np.array([-math.inf, -0.2, -0.1]),
                       control_high=np.array([0.3, math.inf, 0.0])),
            size=2.0,
        ),
        controlled("a control that is not finite is 0", assignment(gains=np.full((5, 1, 2), 1e308)), size=9.0),
        controlled("more inputs than states, controlled", assignment(n=1, d=2, energy=1.0, response_budget=0.5)),
    ]  # fmt: skip


def text() -> str:
    """The document, one case a line."""
    DRAW.seed(20260)
    cases = [*budgets(), *responses(), *odd(), *controllers()]
    return '{"cases": [\n' + ",\n".join(json.dumps(one, allow_nan=False) for one in cases) + "\n]}\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
