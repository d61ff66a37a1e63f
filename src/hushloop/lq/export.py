"""Write a plant or a problem as TOML text that `plantfile.parse` reads back to the same bits."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .plant import Plant
from .problem import Problem


def to_toml(value: Plant | Problem) -> str:
    """The plant file of a plant, or the problem file of a problem."""
    problem = value.problem if isinstance(value, Plant) else value
    top: dict[str, Any] = {"name": problem.name, "horizon": problem.horizon}
    if isinstance(value, Plant):
        top |= {"A": value.A, "B": value.B}
        if value.allow_uncontrollable:
            top["allow_uncontrollable"] = True
    top |= {"Q": problem.Q, "R": problem.R}
    if problem.start.law == "fixed":
        top["x1"] = problem.start.center
    parts = [lines(top)]
    for name, table in tables(problem).items():
        if table:
            parts.append(f"[{name}]\n" + lines(table))
    return "\n".join(parts)


def tables(problem: Problem) -> dict[str, dict[str, Any]]:
    start, noise, units, about = problem.start, problem.disturbance, problem.units, problem.about
    return {
        "start": {}
        if start.law == "fixed"
        else {
            "law": start.law,
            "center": start.center,
            "radius": start.radius,
            "std": start.std,
            "public": start.public,
        },
        "disturbance": {"law": noise.law, "bound": noise.bound, "std": noise.std, "scale": noise.scale},
        "bounds": {
            "control": problem.control_bound,
            "response": problem.response_bound,
            "energy": problem.energy,
            "control_low": problem.control_low,
            "control_high": problem.control_high,
        },
        "prior": {
            "A": problem.nominal_A,
            "B": problem.nominal_B,
            "radius": problem.radius,
            "operator_radius": problem.operator_radius,
        },
        "units": {} if units is None else dict(vars(units)),
        "about": {k: v for k, v in vars(about).items() if v},
    }


def lines(table: dict[str, Any]) -> str:
    return "".join(f"{key} = {literal(value)}\n" for key, value in table.items() if value is not None)


def literal(value: Any) -> str:
    """A TOML value; every float in the shortest form that reads back to the same bits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, np.ndarray):
        return literal(value.tolist())
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(v) for v in value) + "]"
    return repr(value)
