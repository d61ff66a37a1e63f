"""`hushloop run`: its document field by field, its errors, its configuration file and what it saves."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from hushloop.cli import main
from hushloop.cli.run import excitations
from hushloop.errors import InvalidInput
from hushloop.lq.export import to_toml
from hushloop.lq.files import load
from hushloop.privacy import Budget
from hushloop.profiles import PROFILES
from hushloop.simulation import simulate

BASE = ("--plant", "toy", "--epsilon", 1, "--users", 300, "--seeds", 2, "--first", 32)


def run(*args: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["run", *map(str, args)])
    return result.exit_code, result.stdout, result.stderr


def document(*args: object) -> dict:
    code, out, err = run(*args, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_the_document_has_every_field() -> None:
    d = document(*BASE)
    fields = (
        "plant", "profile", "guarantee", "optimal_cost", "idle_cost", "regret", "coverage", "learning_time",
        "final_loss", "clipped_share", "included_share", "planner", "releases", "seconds",
    )  # fmt: skip
    assert set(fields) <= d.keys()
    assert d["plant"] == "toy"
    assert (d["profile"]["name"], d["profile"]["first"], d["profile"]["growth"]) == ("refined", 32, 2.0)
    assert d["guarantee"].keys() == {"adjacency", "epsilon", "delta", "mu", "also"}
    assert d["guarantee"]["also"].keys() == {"zero-out"}
    assert d["regret"].keys() == {"kind", "per_seed", "mean", "low", "high", "stderr"}
    assert (d["regret"]["kind"], d["regret"]["stderr"], len(d["regret"]["per_seed"])) == ("exact", 0.0, 2)
    assert d["regret"]["low"] <= d["regret"]["mean"] <= d["regret"]["high"]
    assert d["coverage"] == {"seeds": 2, "covered": 2}
    assert d["learning_time"].keys() == {"median", "low", "high"}
    assert d["planner"] == {"failed": 0, "optimism_gap_max": None}
    assert [row["users"] for row in d["releases"]] == [32, 96, 224, 300]
    assert {"loss_mean", "excitation_mean", "optimism_gap_mean"} <= d["releases"][0].keys()
    assert d["seconds"] > 0


def test_the_document_is_that_of_the_library() -> None:
    d = document(*BASE, "--seed", 5)
    found = simulate(PROFILES["refined"].with_(first=32), load("toy"), 300, 2, Budget(1.0), seed=5).summary()
    for key in ("regret", "coverage", "releases", "guarantee", "final_loss"):
        assert d[key] == json.loads(json.dumps(found[key]))
    assert d["configuration"]["seeds"] == [5, 6]


def test_optimistic_planners_report_their_gap() -> None:
    d = document("--plant", "toy", "--profile", "ofu", "--users", 60)
    assert d["guarantee"] is None
    assert 0 <= d["planner"]["optimism_gap_max"] < 0.1 * d["optimal_cost"]
    assert any(row["optimism_gap_mean"] is not None for row in d["releases"])


def test_what_is_never_reached_is_null() -> None:
    d = document("--plant", "toy", "--planner", "idle", "--users", 500)
    assert d["learning_time"] == {"median": None, "low": None, "high": None}
    assert d["guarantee"] is None
    assert d["profile"]["private"] is False
    lost = 500 * (d["idle_cost"] - d["optimal_cost"])
    assert d["regret"]["mean"] >= lost * (1 - 1e-12)


def test_rulers_and_baselines_need_no_epsilon() -> None:
    for args in (("--planner", "oracle"), ("--planner", "idle"), ("--profile", "nonprivate"), ("--mechanism", "none")):
        assert document("--plant", "toy", "--users", 100, *args)["guarantee"] is None


def test_a_mechanism_makes_a_profile_private() -> None:
    d = document(*BASE, "--profile", "nonprivate", "--mechanism", "blocks")
    assert d["profile"]["private"] is True
    assert 0.99 < d["guarantee"]["epsilon"] <= 1
    assert document(*BASE, "--mechanism", "factorised")["profile"]["belief"] == "cumulative"


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("--users", "many"), 2, "--users"),
        (("--nonsense",), 2, "--nonsense"),
        (("--baseline", "best"), 2, "--baseline"),
        (("--plant", "nowhere"), 3, "no plant of the gallery"),
        (("--profile", "best"), 3, "`profile` is 'best'"),
        (("--planner", "best"), 3, "`planner` is 'best'"),
        (("--mechanism", "best"), 3, "`mechanism` is 'best'"),
        (("--users", 0), 3, "`users` is 0"),
        (("--seeds", 0), 3, "`seeds` is 0"),
        (("--seed", -1), 3, "`seed` is -1"),
        (("--epsilon", 0), 3, "`epsilon` is 0"),
        (("--delta", 1), 3, "`delta` is 1"),
        (("--adjacency", "add-one"), 3, "`adjacency` is 'add-one'"),
        (("--participations", 0), 3, "`participations` is 0"),
        (("--first", 0), 3, "`first` is 0"),
        (("--growth", 0.5), 3, "`growth` is 0.5"),
        (("--energy", -1), 3, "energy` is -1"),
        (("--alpha", 0), 3, "`alpha` is 0"),
        (("--alpha", "nan"), 3, "`alpha` is nan"),
        (("--excite", "a,b"), 3, "`excite` is 'a,b'"),
        (("--safe", -1), 3, "`safe` is -1"),
        (("--profile", "paper", "--energy", 2), 3, "`energy` is 2"),
        (("--profile", "paper", "--mechanism", "blocks"), 3, "`mechanism` is 'blocks'"),
        (("--config", "gone.toml"), 3, "gone.toml"),
    ],
)
def test_errors(args: tuple[object, ...], code: int, words: str) -> None:
    found, out, err = run(*BASE, *args)
    assert (found, out) == (code, "")
    assert words in err


def test_epsilon_is_asked_for() -> None:
    code, _, err = run("--plant", "toy", "--users", 10)
    assert code == 3
    assert "--epsilon 1" in err


def test_a_problem_without_its_truth_is_refused(tmp_path: Path) -> None:
    (tmp_path / "problem.toml").write_text(to_toml(load("toy").problem))
    code, _, err = run("--plant", tmp_path / "problem.toml", "--epsilon", 1)
    assert code == 3
    assert "needs the truth" in err


def test_a_plant_file_is_as_good_as_the_gallery(tmp_path: Path) -> None:
    (tmp_path / "plant.toml").write_text(to_toml(load("toy")))
    d = document(*BASE[2:], "--plant", tmp_path / "plant.toml")
    assert d["regret"] == document(*BASE)["regret"]


def test_configuration_file_and_what_is_typed_wins(tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    config.write_text('plant = "toy"\nepsilon = 8\nusers = 3e2\nseeds = 2\nfirst = 16\nexcite = [0.3, 0.1]\n')
    d = document("--config", config)
    assert d["configuration"]["users"] == 300
    assert d["configuration"]["epsilon"] == 8.0
    assert d["profile"]["excite"] == [0.3, 0.1]
    assert [row["excitation_mean"] for row in d["releases"]][:2] == [pytest.approx(0.3), pytest.approx(0.1)]
    assert document("--config", config, "--users", 50, "--excite", "0.2")["profile"]["excite"] == [0.2]


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("nonsense = 1", 3, "`nonsense`"),
        ("users = ", 3, "is not TOML"),
        ('epsilon = "one"', 2, "--epsilon"),
        ("users = 2.5", 2, "--users"),
        ("users = true", 3, "`users` is True"),
        ("[users]\nmany = 1", 3, "`users`"),
    ],
)
def test_configuration_errors(text: str, code: int, words: str, tmp_path: Path) -> None:
    config = tmp_path / "run.toml"
    config.write_text(text)
    found, out, err = run("--config", config, "--profile", "nonprivate")
    assert (found, out) == (code, "")
    assert words in err


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    d = document(*BASE, "--out", tmp_path / "here", "--quiet")
    assert json.loads((tmp_path / "here" / "run.json").read_text())["regret"] == d["regret"]
    table = pl.read_parquet(tmp_path / "here" / "releases.parquet")
    assert table.height == 8
    assert table["version"].unique().to_list() == [d["version"]]
    total = (table["loss"] * table["block_users"]).sum()
    assert total == pytest.approx(sum(d["regret"]["per_seed"]))


def test_tables_for_people() -> None:
    code, out, _ = run(*BASE)
    assert code == 0
    for words in ("cumulative regret", "learning time", "under replace-one", "belief held the truth", "2 of 2 seeds"):
        assert words in out


def test_excitations_are_numbers_from_zero() -> None:
    assert excitations(None) is None
    assert excitations("0.5,0.3,0") == (0.5, 0.3, 0.0)
    for text in ("", "0.5,", "-1", "inf", "nan", "0.5;0.3"):
        with pytest.raises(InvalidInput, match="excite"):
            excitations(text)


def test_help_has_an_example() -> None:
    assert "Example: hushloop run" in run("--help")[1]
