"""`hushloop plants`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hushloop.cli import main
from hushloop.cli._trajectories import plot
from hushloop.lq import gallery


def run(*args: Any) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


def document(*args: Any) -> dict[str, Any]:
    result = run(*args, "--json")
    assert result.exit_code == 0
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_list_has_every_plant() -> None:
    rows = document("plants")["plants"]
    assert [row["name"] for row in rows] == list(gallery.names())
    assert set(rows[0]) == {"name", "n", "d", "horizon", "story", "source"}
    table = run("plants").stdout
    assert all(name in table for name in gallery.names())


@pytest.mark.parametrize("name", gallery.names())
def test_show_has_costs_matrices_and_assumptions(name: str) -> None:
    shown, plant = document("plants", "show", name), gallery.get(name)
    assert shown["optimal_cost"] == plant.optimal_cost
    assert shown["A"] == plant.A.tolist()
    assert shown["kind"] == "plant"
    assert {tuple(sorted(a)) for a in shown["assumptions"]} == {("bound", "holds", "item", "value")}
    assert run("plants", "show", name).exit_code == 0


@pytest.fixture
def problem_file(tmp_path: Path) -> Path:
    lines = run("plants", "export", "stable3").stdout.splitlines()
    top = lines.index("[disturbance]")
    kept = [line for line in lines[:top] if not line.startswith(("A =", "B ="))] + lines[top:]
    path = tmp_path / "problem.toml"
    path.write_text("\n".join(kept))
    return path


def test_a_problem_file_shows_what_is_known(problem_file: Path) -> None:
    shown = document("plants", "show", problem_file)
    assert shown["kind"] == "problem"
    assert all(shown[key] is None for key in ("A", "B", "optimal_cost", "idle_cost", "assumptions"))
    assert shown["prior"]["radius"] == 0.9
    assert "unknown" in run("plants", "show", problem_file).stdout


def test_a_problem_file_is_sound_but_not_drawn(problem_file: Path) -> None:
    assert "a sound problem file, 3 states, 3 inputs" in run("plants", "check", problem_file).stdout
    result = run("plants", "draw", problem_file)
    assert result.exit_code == 3
    assert "`plants draw` needs the truth" in result.stderr


@pytest.mark.parametrize("name", gallery.names())
def test_an_exported_plant_checks_and_shows_the_same(name: str, tmp_path: Path) -> None:
    path = tmp_path / "plant.toml"
    path.write_text(run("plants", "export", name).stdout)
    assert document("plants", "show", path) == document("plants", "show", name)
    assert document("plants", "check", path)["kind"] == "plant"


def test_check_names_the_assumptions_that_do_not_hold(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    path.write_text(run("plants", "export", "toy").stdout)
    result = run("plants", "check", path)
    assert result.exit_code == 0
    assert "γC_B" in result.stderr
    assert run("plants", "check", path, "--quiet").stderr == ""


def test_a_malformed_file_exits_with_3_and_its_line(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    path.write_text(run("plants", "export", "toy").stdout.replace("horizon = 5", "horizon = 5.5"))
    result = run("plants", "check", path)
    assert result.exit_code == 3
    assert result.stderr.startswith(f"error: {path}, line 2: `horizon`")


def test_trajectories_are_drawn_in_the_terminal_and_in_files(tmp_path: Path) -> None:
    shown = document("plants", "draw", "--out", tmp_path / "figures")
    assert shown["optimal_cost"] < shown["idle_cost"]
    assert [Path(f).suffix for f in shown["files"]] == [".png", ".svg"]
    assert all(Path(f).stat().st_size > 1000 for f in shown["files"])
    text = run("plants", "draw", "--out", tmp_path / "figures").stdout
    assert "1.28167" in text
    assert "step 6" in text


def test_a_plot_puts_the_largest_value_on_top() -> None:
    rows = plot({"o": [4.0, 0.0], "x": [2.0, 2.0]}, width=5, height=5).splitlines()
    assert rows[:5] == ["       4 |o", "         | o", "         |xxoxx", "         |   o", "       0 |    o"]
