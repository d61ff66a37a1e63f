"""Plant files: what is exported reads back to the bit, and what is malformed is refused with key, line and remedy."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from hushloop.errors import HushloopError, InvalidInput
from hushloop.lq import Plant, Problem, gallery
from hushloop.lq.export import to_toml
from hushloop.lq.files import load
from hushloop.lq.plantfile import parse

BASE = """name = "small"
horizon = 4
A = [[0.5, 0.1], [0.0, 0.4]]
B = [[0.0], [0.3]]
Q = [[1.0, 0.0], [0.0, 1.0]]
R = [[0.1]]
x1 = [0.5, 0.5]

[disturbance]
law = "sphere"
bound = 0.1

[bounds]
control = 1.0
response = 1.0

[prior]
radius = 0.9
"""
NO_TRUTH = ("A = [[0.5, 0.1], [0.0, 0.4]]\nB = [[0.0], [0.3]]\n", "")
NO_X1 = ("x1 = [0.5, 0.5]\n", "")


def with_start(body: str) -> list[tuple[str, str]]:
    return [NO_X1, ("[disturbance]", f"[start]\n{body}\n\n[disturbance]")]


MALFORMED: dict[str, tuple[list[tuple[str, str]], str, int | None]] = {
    # what: (replacements, key, line)
    "A is not square": ([("[[0.5, 0.1], [0.0, 0.4]]", "[[0.5, 0.1]]")], "A", 3),
    "A is ragged": ([("[0.5, 0.1],", "[0.5],")], "A", 3),
    "A is flat": ([("[[0.5, 0.1], [0.0, 0.4]]", "[0.5, 0.1]")], "A", 3),
    "A has an infinite entry": ([("0.5, 0.1", "inf, 0.1")], "A", 3),
    "A has a NaN": ([("0.5, 0.1", "nan, 0.1")], "A", 3),
    "A has a string": ([("0.5, 0.1", '"0.5", 0.1')], "A", 3),
    "A has a truth value": ([("0.5, 0.1", "true, 0.1")], "A", 3),
    "A is empty": ([("[[0.5, 0.1], [0.0, 0.4]]", "[]")], "A", 3),
    "A alone": ([("B = [[0.0], [0.3]]\n", "")], "B", None),
    "B alone": ([("A = [[0.5, 0.1], [0.0, 0.4]]\n", "")], "A", None),
    "B of another height": ([("B = [[0.0], [0.3]]", "B = [[0.3]]")], "B", 4),
    "B of another width": ([("B = [[0.0], [0.3]]", "B = [[0.0, 1.0], [0.3, 0.0]]")], "B", 4),
    "B reaches nothing": ([("B = [[0.0], [0.3]]", "B = [[0.3], [0.0]]")], "B", 4),
    "no truth and no prior": ([NO_TRUTH, ("[prior]\nradius = 0.9\n", "")], "A", None),
    "Q is indefinite": ([("[[1.0, 0.0], [0.0, 1.0]]", "[[1.0, 0.0], [0.0, -1.0]]")], "Q", 5),
    "Q is not symmetric": ([("[[1.0, 0.0], [0.0, 1.0]]", "[[1.0, 0.5], [0.0, 1.0]]")], "Q", 5),
    "Q is missing": ([("Q = [[1.0, 0.0], [0.0, 1.0]]\n", "")], "Q", None),
    "R is zero": ([("[[0.1]]", "[[0.0]]")], "R", 6),
    "R is a number": ([("[[0.1]]", "0.1")], "R", 6),
    "x1 is too long": ([("x1 = [0.5, 0.5]", "x1 = [0.5, 0.5, 0.5]")], "x1", 7),
    "x1 is missing": ([NO_X1], "x1", None),
    "x1 beside a start": ([("[disturbance]", '[start]\nlaw = "ball"\n\n[disturbance]')], "x1", 7),
    "horizon is negative": ([("horizon = 4", "horizon = -4")], "horizon", 2),
    "horizon is a fraction": ([("horizon = 4", "horizon = 4.5")], "horizon", 2),
    "horizon is a truth value": ([("horizon = 4", "horizon = true")], "horizon", 2),
    "horizon is a string": ([("horizon = 4", 'horizon = "4"')], "horizon", 2),
    "name is a number": ([('name = "small"', "name = 3")], "name", 1),
    "law is unknown": ([('"sphere"', '"gauss"')], "disturbance.law", 10),
    "bound is negative": ([("bound = 0.1", "bound = -0.1")], "disturbance.bound", 11),
    "bound is missing": ([("bound = 0.1\n", "")], "disturbance.bound", 9),
    "std for a sphere": ([("bound = 0.1", "bound = 0.1\nstd = 0.05")], "disturbance.std", 12),
    "scale is too large": ([("bound = 0.1", "bound = 0.1\nscale = [2.0, 1.0]")], "disturbance.scale", 12),
    "scale is too long": ([("bound = 0.1", "bound = 0.1\nscale = [1.0, 1.0, 1.0]")], "disturbance.scale", 12),
    "no disturbance": ([('[disturbance]\nlaw = "sphere"\nbound = 0.1\n', "")], "disturbance", None),
    "disturbance is no table": ([('[disturbance]\nlaw = "sphere"\nbound = 0.1\n', ""),
                                 ("horizon = 4", "horizon = 4\ndisturbance = 0.1")], "disturbance", 3),
    "control is infinite": ([("control = 1.0", "control = inf")], "bounds.control", 14),
    "response is zero": ([("response = 1.0", "response = 0")], "bounds.response", 15),
    "energy is negative": ([("response = 1.0", "response = 1.0\nenergy = -8.0")], "bounds.energy", 16),
    "limits that forbid 0": ([("response = 1.0", "response = 1.0\ncontrol_low = [0.2]")], "bounds.control_low", 16),
    "limits that contradict": ([("response = 1.0", "response = 1.0\ncontrol_high = [-0.2]")],
                               "bounds.control_high", 16),
    "a misspelt key": ([("control = 1.0", "contrl = 1.0")], "bounds.contrl", 14),
    "a misspelt table": ([("[bounds]", "[bonds]")], "bonds", 13),
    "a key in the wrong table": ([("control = 1.0", "control = 1.0\nbound = 0.1")], "bounds.bound", 15),
    "radius is negative": ([("radius = 0.9", "radius = -0.9")], "prior.radius", 18),
    "radii that contradict": ([("radius = 0.9", "radius = 0.9\noperator_radius = 1.0")], "prior.operator_radius", 19),
    "half a prior": ([("radius = 0.9", "radius = 0.9\nA = [[0.4, 0.0], [0.0, 0.4]]")], "prior.B", 17),
    "a prior of another size": ([("radius = 0.9", "A = [[0.4]]\nB = [[0.0], [0.2]]")], "prior.A", 18),
    "a start of unknown law": (with_start('law = "cube"\ncenter = [0.5, 0.5]'), "start.law", 9),
    "a start without a centre": (with_start('law = "ball"\nradius = 0.1'), "start.center", 8),
    "a start of negative radius": (with_start('law = "ball"\ncenter = [0.5, 0.5]\nradius = -1'), "start.radius", 11),
    "public is a string": (with_start('law = "ball"\ncenter = [0.5, 0.5]\npublic = "no"'), "start.public", 11),
    "allow_uncontrollable is a number": ([("horizon = 4", "horizon = 4\nallow_uncontrollable = 1")],
                                         "allow_uncontrollable", 3),
    "allow_uncontrollable without a truth": ([NO_TRUTH, ("horizon = 4", "horizon = 4\nallow_uncontrollable = true")],
                                             "allow_uncontrollable", 3),
    "a scale of zero": ([("[prior]", "[units]\nstate_scale = [1.0, 0.0]\n\n[prior]")], "units.state_scale", 18),
    "too few names": ([("[prior]", '[units]\nstate_names = ["a"]\n\n[prior]')], "units.state_names", 18),
    "a step of no length": ([("[prior]", "[units]\ndt = 0\n\n[prior]")], "units.dt", 18),
    "a story that is no string": ([("[prior]", "[about]\nstory = 3\n\n[prior]")], "about.story", 18),
}  # fmt: skip


def changed(replacements: list[tuple[str, str]]) -> str:
    text = BASE
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_file_is_refused_with_key_line_and_remedy(what: str) -> None:
    replacements, key, line = MALFORMED[what]
    with pytest.raises(InvalidInput) as caught:
        parse(changed(replacements), "small.toml")
    why = caught.value
    assert why.key == key
    assert f"`{key}`" in str(why)
    assert str(why).startswith(f"small.toml, line {line}: " if line else "small.toml: ")
    assert why.remedy, "says what to do"


def test_syntax_errors_have_their_line() -> None:
    with pytest.raises(HushloopError, match=r"small.toml is not TOML: .*line 2"):
        parse(BASE.replace("horizon = 4", "horizon = = 4"), "small.toml")


def test_a_misspelt_key_is_met_with_the_nearest_one() -> None:
    with pytest.raises(InvalidInput, match="did you mean `control`"):
        parse(changed(MALFORMED["a misspelt key"][0]))


def test_a_plain_file_is_a_plant() -> None:
    plant = parse(BASE)
    assert isinstance(plant, Plant)
    assert plant.problem.radius == plant.problem.operator_radius == 0.9
    assert not plant.problem.nominal.any()
    assert plant.problem.energy is None


def test_without_a_truth_but_with_a_prior_it_is_a_problem() -> None:
    problem = parse(BASE.replace(*NO_TRUTH))
    assert isinstance(problem, Problem)
    assert isinstance(parse(to_toml(problem)), Problem)


def bits(value: Plant | Problem) -> list[object]:
    problem = value.problem if isinstance(value, Plant) else value
    out: list[object] = [value.A.tobytes(), value.B.tobytes()] if isinstance(value, Plant) else []
    stack: list[object] = [problem]
    while stack:
        item = stack.pop()
        if hasattr(item, "__dataclass_fields__"):
            stack.extend(getattr(item, field.name) for field in fields(item))
        else:
            out.append(item.tobytes() if isinstance(item, np.ndarray) else item)
    return out


@pytest.mark.parametrize("name", gallery.names())
def test_an_exported_plant_reads_back_to_the_same_bits(name: str) -> None:
    plant = gallery.get(name)
    again = parse(to_toml(plant))
    assert bits(again) == bits(plant)
    assert bits(parse(to_toml(plant.problem))) == bits(plant.problem)


def test_strings_of_any_kind_survive() -> None:
    text = BASE + '[about]\nstory = "a \\"quoted\\" \\\\ line\\n\\u007f é"\n'
    plant = parse(text)
    assert parse(to_toml(plant)).problem.about == plant.problem.about


def test_infinite_limits_survive() -> None:
    text = BASE.replace("response = 1.0", "response = 1.0\ncontrol_low = [-inf]\ncontrol_high = [0.5]")
    plant = parse(text)
    assert plant.problem.control_low == [-np.inf]
    assert bits(parse(to_toml(plant))) == bits(plant)


def test_load_finds_names_and_files(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(BASE)
    assert load(path).name == "small"
    assert load("toy") is gallery.get("toy")


@pytest.mark.parametrize(("given", "says"), [("pendulm", "did you mean pendulum"), ("nowhere.toml", "hushloop plants")])
def test_load_says_what_it_looked_for(given: str, says: str) -> None:
    with pytest.raises(HushloopError, match=says):
        load(given)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(HushloopError, match="UTF-8"):
        load(path)
