"""A deployment is fixed for ever; a problem without its truth is enough for one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from curators_for_tests import assignment, curator, deployment

from hushloop.errors import HushloopError, InvalidInput
from hushloop.lq import Problem
from hushloop.lq.files import load
from hushloop.privacy.budget import Budget
from hushloop.service.declared import declared
from hushloop.service.deployment import Deployment, duration

PROBLEM = """name = "two rooms"
horizon = 6
Q = [[1.0, 0.0], [0.0, 1.0]]
R = [[0.1, 0.0], [0.0, 0.1]]
x1 = [0.8, -0.6]
[disturbance]
law = "sphere"
bound = 0.03
[bounds]
control = 1.5
response = 0.6
control_low = [-0.5, -inf]
[prior]
A = [[0.7, 0.0], [0.0, 0.7]]
B = [[0.3, 0.0], [0.0, 0.3]]
radius = 0.5
"""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("15m", 900), ("12h", 43200), ("7d", 604800), ("1.5h", 5400), (60, 60)],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "-5s", "5 weeks", "nan", "1e3"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(InvalidInput, match="deadline"):
        duration(text)


@pytest.mark.parametrize("changes", [{"first": 0}, {"users": -1}, {"deadline": 0.0}, {"deadline": float("nan")}])
def test_what_makes_no_sense_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(changes))):
        deployment(**{"first": 8, **changes})


def test_a_problem_without_a_and_b_is_served(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(PROBLEM)
    problem = load(tmp_path / "p.toml")
    assert isinstance(problem, Problem)
    what = Deployment(problem, Budget(1.0), first=16)
    served = curator(tmp_path, what)
    assert assignment(served).collection.center.shape == (4, 2)
    assert what.sizes == (10, 8)
    json.dumps(what.document(), allow_nan=False)
    served.close()
    curator(tmp_path, what).close()


def test_everything_that_is_promised_or_public_is_compared() -> None:
    """Every field of the problem but its story, every field of the budget."""
    import dataclasses

    document = deployment().document()
    assert document["budget"].keys() == {f.name for f in dataclasses.fields(Budget)}
    assert document["problem"].keys() == {f.name for f in dataclasses.fields(Problem)} - {"about"}
    changed = deployment(budget=Budget(1.0, 1e-6, "zero-out"))
    with pytest.raises(HushloopError, match=r'budget\.adjacency = "replace-one", and now it is "zero-out"'):
        changed.check_same(json.dumps(document))
    deployment().check_same(json.dumps(document))


def test_the_statement_adds_the_deployment_before_what_is_not_protected(tmp_path: Path) -> None:
    what = deployment(deadline=3600.0, budget=Budget(1.0, 1e-6, participations=4))
    served = curator(tmp_path, what)
    made = declared(what, served.published, served.first_size)
    titles = [section.title for section in made.sections]
    assert titles[-4:] == ["Whom the promise is for", "How this server works", "What is not protected", "Assumptions"]
    text = made.markdown()
    assert "more than 4" in text
    assert "3600 seconds after it has opened" in text
    assert "replace-one" in text
    assert made.document["schedule"]["first"] == 8
    assert made.document["noise"]["source"] == "opendp"
    served.close()


def test_a_trial_in_memory_leaves_the_files_of_a_deployment_alone(tmp_path: Path) -> None:
    from hushloop.service.server import Files, take_up

    operator = tmp_path / "operator.key"
    served = Files.beside("postgresql://somewhere/else", operator)
    served.highwater.write_text("the mark of a deployment")
    for _ in range(2):
        take_up(deployment(), "memory:", Files.beside("memory:", operator)).close()
    assert served.highwater.read_text() == "the mark of a deployment"
    assert not served.secret.exists()
