"""Read a plant or a problem from TOML text; every refusal names the key, the line and the remedy."""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from typing import Any

import numpy as np

from ..errors import HushloopError, InvalidInput
from .disturbance import Disturbance, Start
from .plant import Plant
from .problem import About, Array, Problem, Units, theta

TABLES: dict[str, tuple[str, ...]] = {
    "": ("name", "horizon", "A", "B", "Q", "R", "x1", "allow_uncontrollable"),
    "disturbance": ("law", "bound", "std", "scale"),
    "bounds": ("control", "response", "energy", "control_low", "control_high"),
    "prior": ("A", "B", "radius", "operator_radius"),
    "start": ("law", "center", "radius", "std", "public"),
    "units": (
        "state_names", "state_scale", "state_setpoint", "input_names", "input_scale", "input_setpoint", "dt", "dt_unit",
    ),
    "about": ("story", "source"),
}  # fmt: skip
"""Every key that a file may have, by table; "" is the top."""


class PlantFileError(InvalidInput):
    """An `InvalidInput` that also says in which file and line."""

    def __init__(self, file: str, line: int | None, why: InvalidInput) -> None:
        super().__init__(why.key, why.problem, why.remedy)
        self.line = line
        self.args = (f"{file}, line {line}: {why}" if line else f"{file}: {why}",)


def parse(text: str, file: str = "plant file") -> Plant | Problem:
    """A `Plant`, or a `Problem` where A and B are left out and a prior is there."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as why:
        raise HushloopError(f"{file} is not TOML: {why}") from why
    try:
        check_keys(document)
        return build(document)
    except InvalidInput as why:
        raise PlantFileError(file, line_of(text, why.key), why) from why


def check_keys(document: dict[str, Any]) -> None:
    """Refuse what has no meaning, so that a misspelt key is not silently ignored."""
    for key, value in document.items():
        if key in TABLES:
            if not isinstance(value, dict):
                raise InvalidInput(key, f"is {value!r}", f"it is a table: write [{key}]")
            for inner in value:
                known(inner, f"{key}.{inner}", TABLES[key])
        else:
            known(key, key, TABLES[""] + tuple(t for t in TABLES if t))


def known(key: str, path: str, allowed: tuple[str, ...]) -> None:
    if key in allowed:
        return
    close = difflib.get_close_matches(key, allowed, 1)
    raise InvalidInput(
        path, "is not known", f"did you mean `{close[0]}`?" if close else "it may be one of " + ", ".join(allowed)
    )


def build(document: dict[str, Any]) -> Plant | Problem:
    """The checked value of a document whose keys are known."""
    has = ("A" in document, "B" in document)
    if has == (True, False) or has == (False, True):
        missing, given = ("B", "A") if has[0] else ("A", "B")
        raise InvalidInput(missing, f"is missing while `{given}` is there", "give both, or neither and a [prior]")
    if not has[0] and "prior" not in document:
        raise InvalidInput("A", "and `B` are missing", "give both; where the truth is unknown give a [prior] instead")
    Q, R = matrix("Q", need(document, "Q")), matrix("R", need(document, "R"))
    A = matrix("A", document["A"]) if has[0] else None
    B = matrix("B", document["B"]) if has[0] else None
    if A is not None and A.shape[0] != A.shape[1]:
        raise InvalidInput("A", f"has shape {A.shape}", "it must be square")
    problem = read_problem(document, Q, R)
    if A is None or B is None:
        if "allow_uncontrollable" in document:
            raise InvalidInput("allow_uncontrollable", "is given without `A` and `B`", "leave it out")
        return problem
    return Plant(problem, A, B, flag("allow_uncontrollable", document.get("allow_uncontrollable", False)))


def read_problem(document: dict[str, Any], Q: Array, R: Array) -> Problem:
    n, d = Q.shape[0], R.shape[0]
    bounds = table(document, "bounds")
    prior = document.get("prior", {})
    radius = number("prior.radius", prior.get("radius", 1.0))
    return Problem(
        name=string("name", need(document, "name")),
        Q=Q,
        R=R,
        horizon=whole("horizon", need(document, "horizon")),
        start=read_start(document),
        disturbance=read_disturbance(table(document, "disturbance"), n),
        control_bound=number("bounds.control", need(bounds, "control", "bounds.")),
        response_bound=number("bounds.response", need(bounds, "response", "bounds.")),
        nominal=read_nominal(prior, n, d),
        radius=radius,
        operator_radius=optional(number, "prior.operator_radius", prior),
        energy=optional(number, "bounds.energy", bounds),
        control_low=optional(limit, "bounds.control_low", bounds),
        control_high=optional(limit, "bounds.control_high", bounds),
        units=read_units(document["units"], n, d) if "units" in document else None,
        about=About(**{k: string(f"about.{k}", v) for k, v in document.get("about", {}).items()}),
    )


def read_start(document: dict[str, Any]) -> Start:
    start = document.get("start")
    if start is None:
        return Start("fixed", vector("x1", need(document, "x1", remedy="give it, or a [start] with a law")))
    if "x1" in document:
        raise InvalidInput("x1", "is given beside [start]", "keep one of them")
    return Start(
        string("start.law", need(start, "law", "start.")),  # type: ignore[arg-type]
        vector("start.center", need(start, "center", "start.")),
        number("start.radius", start.get("radius", 0.0)),
        optional(number, "start.std", start),
        flag("start.public", start.get("public", False)),
    )


def read_disturbance(values: dict[str, Any], n: int) -> Disturbance:
    scale = values.get("scale")
    if scale is not None:
        nested = isinstance(scale, list) and any(isinstance(row, list) for row in scale)
        scale = matrix("disturbance.scale", scale) if nested else vector("disturbance.scale", scale)
    return Disturbance(
        string("disturbance.law", need(values, "law", "disturbance.")),  # type: ignore[arg-type]
        number("disturbance.bound", need(values, "bound", "disturbance.")),
        n,
        optional(number, "disturbance.std", values),
        scale,
    )


def read_nominal(prior: dict[str, Any], n: int, d: int) -> Array:
    if "A" not in prior and "B" not in prior:
        return np.zeros((n + d, n))
    for key, shape in (("A", (n, n)), ("B", (n, d))):
        if key not in prior:
            raise InvalidInput(f"prior.{key}", "is missing while its other half is there", "give both or neither")
        if (found := matrix(f"prior.{key}", prior[key]).shape) != shape:
            raise InvalidInput(f"prior.{key}", f"has shape {found}", f"`Q` and `R` make it {shape}")
    return theta(matrix("prior.A", prior["A"]), matrix("prior.B", prior["B"]))


def read_units(values: dict[str, Any], n: int, d: int) -> Units:
    plain: dict[str, Any] = {}
    for kind, size, letter in (("state", n, "x"), ("input", d, "u")):
        named = values.get(f"{kind}_names", [f"{letter}{i + 1}" for i in range(size)])
        if not isinstance(named, list) or not all(isinstance(s, str) for s in named):
            raise InvalidInput(f"units.{kind}_names", f"is {named!r}", "give a list of strings")
        plain[f"{kind}_names"] = tuple(named)
        for part, default in (("scale", 1.0), ("setpoint", 0.0)):
            key = f"{kind}_{part}"
            plain[key] = vector(f"units.{key}", values.get(key, [default] * size))
        for key in (f"{kind}_names", f"{kind}_scale", f"{kind}_setpoint"):
            if len(plain[key]) != size:
                raise InvalidInput(f"units.{key}", f"has {len(plain[key])} entries", f"give {size}")
    return Units(
        **plain,
        dt=number("units.dt", values.get("dt", 1.0)),
        dt_unit=string("units.dt_unit", values.get("dt_unit", "step")),
    )


def need(values: dict[str, Any], key: str, prefix: str = "", remedy: str = "give it") -> Any:
    if key not in values:
        raise InvalidInput(prefix + key, "is missing", remedy)
    return values[key]


def table(document: dict[str, Any], key: str) -> dict[str, Any]:
    found = need(document, key, remedy=f"give a table [{key}]")
    assert isinstance(found, dict)
    return found


def optional(read: Any, path: str, values: dict[str, Any]) -> Any:
    key = path.split(".")[-1]
    return read(path, values[key]) if key in values else None


def string(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput(key, f"is {value!r}", "give a string in quotes")
    return value


def flag(key: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(key, f"is {value!r}", "give true or false")
    return value


def number(key: str, value: Any) -> float:
    out = any_number(key, value)
    if not math.isfinite(out):
        raise InvalidInput(key, f"is {out}", "give a finite number")
    return out


def any_number(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        what = "a string" if isinstance(value, str) else "no number"
        raise InvalidInput(key, f"has {value!r}, {what}", "write a number, without quotes")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def whole(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(key, f"is {value!r}", "give a whole number")
    return value


def vector(key: str, value: Any) -> Array:
    if not isinstance(value, list) or not value:
        raise InvalidInput(key, f"is {value!r}", "give a list of numbers, such as [0.0, 1.0]")
    return np.array([number(key, v) for v in value])


def limit(key: str, value: Any) -> Array:
    """Like `vector`, and inf says that there is no limit on that side."""
    if not isinstance(value, list) or not value:
        raise InvalidInput(key, f"is {value!r}", "give a list of numbers, one for each input")
    return np.array([any_number(key, v) for v in value])


def matrix(key: str, value: Any) -> Array:
    if not isinstance(value, list) or not value or not all(isinstance(row, list) and row for row in value):
        raise InvalidInput(key, f"is {value!r}", "give a list of rows, such as [[1.0, 0.0], [0.0, 1.0]]")
    lengths = [len(row) for row in value]
    if len(set(lengths)) > 1:
        raise InvalidInput(key, f"has rows of {lengths} entries", "give every row the same length")
    return np.array([[number(key, v) for v in row] for row in value])


def line_of(text: str, path: str) -> int | None:
    """The line where a key stands: `path` is KEY at the top, or TABLE.KEY; a missing key has its table's line."""
    head, _, _ = path.rpartition(".")
    current, table_line = "", None
    for i, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([\w\"'-]+)\s*\]", line):
            current = header[1].strip("\"'")
            if current in (head, path):
                table_line = i
                if current == path:
                    return i
        elif assigned := re.match(r"\s*([\w\"'.-]+)\s*=", line):
            full = ".".join(filter(None, (current, re.sub(r"[\"']", "", assigned[1]))))
            if full == path:
                return i
            if full == head:
                table_line = i
    return table_line if head else None
