"""`hushloop fit` end to end, with the noise that deployments use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hushloop.cli import main
from hushloop.lq.export import to_toml
from hushloop.lq.files import load
from logs_for_tests import recorded, table, write

pytest.importorskip("opendp")
PLANT = load("toy")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return write(table(*recorded(PLANT, 300)), tmp_path / "logs.csv")


def run(*args: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["fit", *map(str, args)])
    return result.exit_code, result.stdout, result.stderr


def test_json_document_from_a_problem_file(logs: Path, tmp_path: Path) -> None:
    problem = tmp_path / "problem.toml"
    problem.write_text(to_toml(PLANT.problem))
    code, out, _ = run(logs, "--plant", problem, "--epsilon", 1, "--excite", 0.5, "--json")
    assert code == 0
    d = json.loads(out)
    assert len(d["estimate"]["A"]) == 2
    assert len(d["estimate"]["B"][0]) == 1
    assert len(d["belief"]["axes"]) == 3
    assert len(d["gains"]) == 5
    assert d["guarantee"]["adjacency"] == "replace-one"
    assert d["guarantee"]["epsilon"] <= 1
    assert set(d["guarantee"]["also"]) == {"zero-out"}
    assert set(d["certified"]) == {"low", "high"}
    high = d["certified"]["high"]  # null where nothing is certified: it hangs on fresh noise
    assert high is None or 0 < d["certified"]["low"] <= PLANT.optimal_cost <= high
    assert (d["users"], d["release"]["source"]) == (300, "opendp")
    assert d["statement"]["holds"] is True


def test_noise_is_drawn_afresh(logs: Path) -> None:
    one, two = (json.loads(run(logs, "--plant", "toy", "--epsilon", 1, "--json")[1]) for _ in range(2))
    assert one["release"]["T1"] != two["release"]["T1"]
    assert one["release"]["sigma_s"] == two["release"]["sigma_s"]


def test_tables_for_people_and_the_statement_as_a_file(logs: Path, tmp_path: Path) -> None:
    code, out, err = run(logs, "--plant", "toy", "--epsilon", 1, "--statement", tmp_path / "said.md")
    assert code == 0
    for words in ("promised to each person", "Estimate", "Gains", "next x2"):
        assert words in out
    assert "wrote" in err
    assert (tmp_path / "said.md").read_text().startswith("# Privacy statement")


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("--plant", "toy"), 2, "--epsilon"),
        (("--epsilon", 1), 2, "--plant"),
        (("--plant", "toy", "--epsilon", 0), 3, "`epsilon`"),
        (("--plant", "toy", "--epsilon", 1, "--excite", -1), 3, "`excite`"),
        (("--plant", "stable3", "--epsilon", 1), 3, "`x3` is no column"),
        (("--plant", "nowhere", "--epsilon", 1), 3, "nowhere"),
        (("--plant", "toy", "--epsilon", 1, "--statement", "/nowhere/x.md"), 3, "cannot be written"),
    ],
)
def test_errors(logs: Path, args: tuple[object, ...], code: int, words: str) -> None:
    found, out, err = run(logs, *args)
    assert (found, out) == (code, "")
    assert words in err


def test_help_has_an_example() -> None:
    assert "Example: hushloop fit" in run("--help")[1]
