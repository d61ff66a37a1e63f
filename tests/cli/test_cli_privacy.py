"""`hushloop privacy`: its document, its files and its refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hushloop.cli import main
from hushloop.lq.files import load
from hushloop.privacy import Budget
from hushloop.profiles import refined

SMALL = """name = "small controls"
horizon = 5
A = [[0.45, 0.2], [0.0, 0.4]]
B = [[0.1], [0.25]]
Q = [[1.0, 0.0], [0.0, 1.0]]
R = [[0.1]]
x1 = [0.6, 0.8]
[disturbance]
law = "sphere"
bound = 0.1
[bounds]
control = 0.05
response = 1.0
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["privacy", *map(str, arguments)])


def document(*arguments: object) -> dict[str, object]:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    out: dict[str, object] = json.loads(done.stdout)
    return out


def test_the_document_has_every_field() -> None:
    d = document("--epsilon", 1, "--users", 5000, "--verify")
    assert set(d) >= {
        "guarantee", "claimed", "holds", "verified", "noise", "sensitivity", "schedule", "curve", "sections"
    }  # fmt: skip
    assert set(d["guarantee"]) >= {"adjacency", "epsilon", "delta", "mu", "also"}  # type: ignore[call-overload]
    assert set(d["noise"]) >= {"sigma_s", "sigma_c", "release_std_s", "release_std_c"}  # type: ignore[call-overload]
    assert set(d["verified"]) == {"epsilon", "difference"}  # type: ignore[call-overload]
    assert set(d["schedule"]) >= {"kind", "first", "growth", "ends"}  # type: ignore[call-overload]


def test_the_numbers_are_those_of_the_block_that_an_agent_would_open() -> None:
    order = refined(load("toy").problem, Budget(1.0)).order
    d = document("--epsilon", 1)
    sensitivity, noise, schedule = d["sensitivity"], d["noise"], d["schedule"]
    assert isinstance(sensitivity, dict)
    assert isinstance(noise, dict)
    assert isinstance(schedule, dict)
    assert schedule["first"] == order.users
    assert sensitivity["energy"] == order.collection.energy
    assert sensitivity["response_energy"] == order.collection.response_energy
    assert order.scales is not None
    assert (noise["sigma_s"], noise["sigma_c"]) == (order.scales.sigma_s, order.scales.sigma_c)


@pytest.mark.parametrize(("printed", "replace_one", "zero_out"), [(1, 0.5423, 0.3232), (8, 5.285, 3.064)])
def test_the_paper_on_toy(printed: int, replace_one: float, zero_out: float) -> None:
    d = document("--profile", "paper", "--epsilon", printed, "--users", 2**17)
    guarantee = d["guarantee"]
    assert isinstance(guarantee, dict)
    assert guarantee["epsilon"] == pytest.approx(replace_one, rel=1e-3)
    assert guarantee["also"]["zero-out"] == pytest.approx(zero_out, rel=1e-3)
    assert d["holds"] is True


def test_a_plant_from_a_file_on_which_the_paper_does_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    d = document("--plant", path, "--profile", "paper", "--epsilon", 20, "--users", 2**17)
    assert d["guarantee"]["epsilon"] == pytest.approx(23.79, abs=0.01)  # type: ignore[index,call-overload]
    assert d["holds"] is False


def test_options_reach_the_statement() -> None:
    d = document(
        "--epsilon", 2, "--delta", 1e-9, "--users", 3000, "--adjacency", "zero-out", "--participations", 3,
        "--mechanism", "factorised", "--growth", 1.5, "--first", 512, "--energy", 2,
    )  # fmt: skip
    assert d["mechanism"] == "factorised"
    assert d["guarantee"]["adjacency"] == "zero-out"  # type: ignore[index,call-overload]
    assert d["guarantee"]["participations"] == 3  # type: ignore[index,call-overload]
    assert d["guarantee"]["delta"] == 1e-9  # type: ignore[index,call-overload]
    assert d["schedule"]["ends"] == [512, 1280, 2432, 3000]  # type: ignore[index,call-overload]
    assert d["sensitivity"]["energy"] == 2.0  # type: ignore[index,call-overload]


def test_text_is_markdown_and_html_goes_to_a_file(tmp_path: Path) -> None:
    assert run("--epsilon", 1).stdout.startswith("# Privacy statement")
    page = tmp_path / "statement.html"
    done = run("--epsilon", 1, "--html", page)
    assert done.exit_code == 0
    assert done.stdout == ""
    assert "<svg" in page.read_text(encoding="utf-8")
    assert run("--epsilon", 1, "--html", page, "--quiet").output == ""


def test_no_guarantee() -> None:
    d = document("--profile", "nonprivate", "--verify")
    assert d["guarantee"] is None
    assert d["verified"] is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("--epsilon", 1, "--delta", 1),
        ("--epsilon", 0),
        ("--epsilon", "nan"),
        ("--epsilon", "much"),
        ("--epsilon", 1e300),
        (),
        ("--epsilon", 1, "--users", 0),
        ("--epsilon", 1, "--energy", 0),
        ("--epsilon", 1, "--energy", -1),
        ("--epsilon", 1, "--participations", 0),
        ("--epsilon", 1, "--adjacency", "add-remove"),
        ("--epsilon", 1, "--mechanism", "magic"),
        ("--epsilon", 1, "--profile", "best"),
        ("--epsilon", 1, "--plant", "no-such-plant"),
        ("--epsilon", 1, "--html", "/no/such/folder/x.html"),
        ("--epsilon", 1, "--profile", "paper"),
    ],
)
def test_bad_input_gives_a_clear_error(arguments: tuple[object, ...]) -> None:
    done = run(*arguments)
    assert done.exit_code in (2, 3)
    assert isinstance(done.exception, SystemExit)
    assert "rror" in done.stderr
    assert done.stdout == ""


def test_help_has_an_example() -> None:
    assert "Example: hushloop privacy" in run("--help").output
