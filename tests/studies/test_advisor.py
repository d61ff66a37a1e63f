"""The advisor: public values alone, a band that holds unseen plants, a configuration that runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hushloop.cli import main
from hushloop.errors import InvalidInput
from hushloop.lq import Plant
from hushloop.lq.export import to_toml
from hushloop.lq.files import load
from hushloop.privacy.budget import Budget
from hushloop.studies.advisor import advise, longest, spread
from hushloop.studies.plants import from_prior, random_plant
from hushloop.studies.rehearsal import rehearsal_cell, rehearse

TOY = load("toy")
assert isinstance(TOY, Plant)


@pytest.mark.parametrize("name", ["toy", "laplacian", "ev-charging", "uav"])
def test_draws_lie_in_the_prior_and_fill_it(name: str) -> None:
    plant = load(name)
    assert isinstance(plant, Plant)
    problem = plant.problem
    rng = np.random.default_rng(0)
    draws = [from_prior(problem, rng).Theta - problem.nominal for _ in range(20)]
    sizes = np.array([np.linalg.norm(off) for off in draws])
    reach = np.array([np.linalg.norm(off, 2) for off in draws])
    assert (sizes <= problem.radius * (1 + 1e-9)).all()
    assert (reach <= problem.operator_radius * (1 + 1e-9)).all()
    assert max(float((sizes / problem.radius).max()), float((reach / problem.operator_radius).max())) > 0.7
    assert abs(float(np.mean(draws))) < 0.2 * problem.radius


def test_random_plants_are_what_was_asked_for() -> None:
    plant = random_plant(4, 2, 7, 3)
    assert (plant.problem.n, plant.problem.d, plant.problem.horizon) == (4, 2, 7)
    assert plant.spectral_radius == pytest.approx(0.7)
    assert float(np.linalg.norm(plant.Theta - plant.problem.nominal)) < plant.problem.radius
    assert np.array_equal(plant.Theta, random_plant(4, 2, 7, 3).Theta)


def test_the_truth_plays_no_part(tmp_path: Path) -> None:
    """The plant, its problem file, and another truth with the same problem: one rehearsal."""
    files = {"problem": to_toml(TOY.problem), "other": to_toml(Plant(TOY.problem, -TOY.A, 0.5 * TOY.B))}
    found = []
    for name, text in files.items():
        (tmp_path / f"{name}.toml").write_text(text)
        cell = rehearsal_cell(str(tmp_path / f"{name}.toml"), Budget(8.0), 3, 5, users=4096)
        found.append(rehearse(cell.options))
    found.append(rehearse(rehearsal_cell("toy", Budget(8.0), 3, 5, users=4096).options))
    assert found[0] == found[1] == found[2]


def test_a_band_in_logarithms_with_what_was_never_reached() -> None:
    rows = [{"idle": float(v)} for v in np.geomspace(10, 1000, 9)] + [{"idle": None}] * 2
    found = spread(rows, "idle")
    assert found["high"] is None
    assert found["median"] == pytest.approx(np.geomspace(10, 1000, 9)[5])


def test_smaller_budgets_are_rehearsed_for_longer() -> None:
    assert longest(0.25, None) == 4 * longest(1.0, None) == 4 * longest(8.0, None)
    assert longest(0.1, 1000) == 1000


@pytest.mark.parametrize(("key", "value"), [("within", 1.5), ("within", float("nan")), ("draws", 3)])
def test_nonsense_is_refused(key: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=key):
        advise("toy", 1.0, **{key: value})  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_command_and_the_configuration_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    args = ["advise", "--plant", "toy", "--epsilon", "8", "--draws", "10", "--most", "2048", "--workers", "1"]
    figure = tmp_path / "users.png"
    done = CliRunner().invoke(main, [*args, "--json", "--write", str(path), "--figure", str(figure), "--quiet"])
    assert done.exit_code == 0
    d = json.loads(done.stdout)
    assert d["users"]["low"] < d["users"]["median"]
    assert d["choice"]["mechanism"] == "blocks"
    assert len(d["choice"]["excitation"]) == len(d["choice"]["energy"]) == len(d["choice"]["blocks"])
    assert len(d["table"]) == 7
    by_epsilon = [row["idle"]["median"] for row in d["table"]]
    assert by_epsilon[0] > by_epsilon[-1]  # a stronger promise takes more people
    assert figure.read_bytes().startswith(b"\x89PNG")
    run = CliRunner().invoke(main, ["run", "--config", str(path), "--users", "1024", "--json"])
    assert run.exit_code == 0
    assert json.loads(run.stdout)["configuration"]["resolved"]["first"] == d["choice"]["first"]


@pytest.mark.slow
def test_the_band_holds_unseen_plants() -> None:
    """24 fresh draws against the band of 24: 3 or fewer inside would have a chance below 10⁻⁶."""
    cells = [[rehearsal_cell("toy", Budget(8.0), i, seed, users=8192) for i in range(24)] for seed in (1, 2)]
    seen, fresh = ([rehearse(cell.options)[0] for cell in some] for some in cells)
    band = spread(seen, "idle")
    low, high = band["low"] or 1.0, band["high"] or np.inf
    assert sum(low <= (row["idle"] or np.inf) <= high for row in fresh) > 3
