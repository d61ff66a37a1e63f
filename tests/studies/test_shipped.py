"""Shipped studies at their smallest: cells run, tables and figures come out, and say what is known."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hushloop.studies import study
from hushloop.studies.study import Ran
from hushloop.studies.tasks import fleet_cell, plant_of

ROOT = Path(__file__).parents[2]


def tiny(name: str, **options: Any) -> Ran:
    ran = study(name, quick=True, **options).run(workers=1)
    assert ran.failures == {}
    assert ran.missing == 0
    return ran


def drawn(ran: Ran) -> None:
    for figure in ran.plot().values():
        figure.canvas.draw()  # constrained layout warns where it cannot fit, and warnings are errors


def test_accounting_has_the_ratios_of_exact_accounting() -> None:
    ran = tiny("accounting", points=5)
    drawn(ran)
    assert [float(s.split()[-4]) for s in ran.findings] == pytest.approx([2.10, 1.80, 1.46], abs=0.006)


def test_corrections_have_all_thirteen_points() -> None:
    ran = tiny("corrections")
    drawn(ran)
    points = {(row["point"], row["quantity"]): row for row in ran.tables["points"].iter_rows(named=True)}
    assert {number for number, _ in points} == set(range(1, 14))
    by_number = {number: row for (number, _), row in points.items()}
    assert by_number[1]["as_printed"] > by_number[1]["corrected"] == pytest.approx(1.281667, abs=1e-6)
    assert by_number[2]["as_printed"] == pytest.approx(9.8, abs=0.05)
    assert by_number[2]["corrected"] == pytest.approx(5.29, abs=0.01)
    assert by_number[6]["as_printed"] > by_number[6]["corrected"] == 1.5
    assert by_number[9]["corrected"] == pytest.approx(9.0)
    assert by_number[10]["corrected"] < 1e-12 < by_number[10]["as_printed"]
    assert by_number[13]["as_printed"] > by_number[13]["corrected"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("demo", {"seeds": 1, "users": 2**12}),
        ("mechanisms", {"seeds": 1, "users": 2**12}),
        ("planners", {"seeds": 1, "users": 2**12}),
        ("coverage", {"seeds": 2, "users": 2**11}),
        ("dimension", {"seeds": 1, "users": 2**11, "states": [1, 2], "inputs": [1], "horizons": [2, 4]}),
        ("services", {"seeds": 1, "users": 2**11, "plants": ["battery"]}),
        ("theorem-1", {"seeds": 1, "users": 2**8}),
        ("theorem-3", {"seeds": 1, "users": 2**12, "paper_users": 2**24, "epsilons": [16.0, 32.0, 64.0],
                       "deltas": [1e-2, 1e-6, 1e-12], "epsilon": 32.0}),
        ("headline", {"seeds": 1, "users": 2**13, "paper_users": [2**26], "epsilons": [8.0]}),
        ("regret", {"seeds": 1, "users": 2**12, "paper_seeds": 1, "paper_users": 2**20, "check_users": 2**8,
                    "plants": ["toy"]}),
    ],
)  # fmt: skip
def test_it_runs_and_draws(name: str, options: dict[str, Any]) -> None:
    ran = tiny(name, **options)
    drawn(ran)
    assert all(len(table) for table in ran.tables.values())
    for statement in ran.prepared.study.statements(ran.prepared.options):
        assert "adjacency" in statement.markdown().lower()


@pytest.mark.slow
def test_the_ablation_saves_seventyfold() -> None:
    ran = tiny("ablation", seeds=1, users=[2**18])
    drawn(ran)
    rows = ran.tables["ablation"]
    regret = {row["label"]: row["regret"] for row in rows.iter_rows(named=True)}
    assert regret["paper, as printed"] > 70 * regret["+ response budget and weighting"]
    assert regret["refined"] == regret["+ response budget and weighting"]
    assert regret["without any energy budget"] > regret["refined"]


def test_a_cell_carries_its_tags_and_a_random_plant() -> None:
    cell = fleet_cell({"random": {"n": 2, "d": 1, "horizon": 3, "seed": 1}}, "nonprivate", 64, 0, axis="n", value=2)
    assert cell.options["tags"] == {"axis": "n", "value": 2}
    assert plant_of(cell.options["plant"]).problem.horizon == 3


@pytest.mark.slow
def test_the_tutorial_with_own_parts(tmp_path: Path) -> None:
    script = ROOT / "examples" / "own_planner.py"
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "decaying" in done.stdout
    assert "louder" in done.stdout
    assert (tmp_path / "own-planner" / "planners.png").exists()
