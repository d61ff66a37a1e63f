"""What the command audits: every private mechanism of a profile, and a whole agent with its own decisions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hushloop.audit import Audit, run_audit, target_of
from hushloop.audit.figure import bound_by_trials, write_figure
from hushloop.audit.repeat import main as repeat_main
from hushloop.audit.repeat import repeat
from hushloop.audit.targets import dyadic_sizes
from hushloop.cli import main
from hushloop.errors import InvalidInput
from hushloop.lq import Plant, Problem
from hushloop.lq.files import load
from hushloop.privacy import Adjacency, Budget
from hushloop.privacy.mechanisms import Tree


@pytest.fixture(scope="module")
def problem() -> Problem:
    plant = load("toy")
    assert isinstance(plant, Plant)
    return plant.problem


@pytest.fixture(scope="module")
def audit(problem: Problem) -> Audit:
    return run_audit(target_of(problem, "refined", Budget(1.0), 2**17, "factorised"), 500)


@pytest.mark.parametrize(("profile", "mechanism"), [("refined", "tree"), ("refined", "factorised"), ("paper", None)])
@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
def test_honest_mechanisms_spend_nearly_all_they_promise_and_no_more(
    problem: Problem, profile: str, mechanism: str | None, adjacency: Adjacency
) -> None:
    found = run_audit(target_of(problem, profile, Budget(1.0, 1e-6, adjacency), 1000, mechanism), 500)
    assert not found.violated, found.by
    assert 0.95 * found.exact.promised < found.exact.cost <= found.exact.promised


@pytest.mark.slow
def test_the_whole_agent_decides_from_releases_alone(problem: Problem) -> None:
    found = run_audit(target_of(problem, "refined", Budget(1.0), 2**17), 20_000)
    assert found.exact.holds
    assert found.bound.mean_shift > 0.75
    assert not found.violated


def test_releases_at_powers_of_two_hold_every_node_of_the_first_person() -> None:
    from hushloop.audit.zoo import COLLECTION

    tree = Tree.spending(Budget(1.0), COLLECTION, 20)
    assert dyadic_sizes(tree, 20) == (1, 1, 2, 4, 8)
    ends = tuple(int(end) for end in np.cumsum(dyadic_sizes(tree, 20)))
    assert np.array_equal(tree.weights(ends), np.eye(5))


def test_the_document_has_what_a_reviewer_asks_for(audit: Audit) -> None:
    document = json.loads(json.dumps(audit.to_dict()))
    assert set(document["bound"]) == {"mean_shift", "gdp", "clopper_pearson"}
    assert document["claimed"]["epsilon"] == 1.0
    assert document["violated"] is False
    assert document["exact"]["moves_within_sensitivity"] is True
    assert document["exact"]["decisions_equal"] is True


@pytest.mark.slow
def test_the_figure_shows_the_bound_that_is_reported(audit: Audit, tmp_path: Path) -> None:
    curve = bound_by_trials(audit)
    assert curve[0][0] == 200
    assert curve[-1] == (audit.trials, pytest.approx(audit.bound.mean_shift))
    assert write_figure(audit, tmp_path / "new").stat().st_size > 10_000
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_figure(audit, tmp_path / "file" / "below")


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["blocks", "tree", "factorised"])
def test_repeated_audits_lie_close_below_the_claim(mechanism: str) -> None:
    found = repeat(mechanism, 8, 10_000)
    assert found.honest
    # a bound is .90 in the mean with a deviation of .06 here, the median of 8 has .027: six of those either way
    assert 0.73 < found.median < 1.06


def test_repeated_audits_report_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert repeat_main(["--audits", "2", "--trials", "500", "--mechanism", "factorised"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["audits"], document["trials"], document["honest"]) == (2, 500, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--profile", "nonprivate"], "promises nothing"),
        (["--trials", "5"], "at least 100"),
        (["--seed", "-1"], "at least 0"),
        (["--epsilon", "0"], "above 0"),
        (["--delta", "1"], "below 1"),
        (["--users", "0"], "at least 1"),
        (["--mechanism", "magic"], "choose one of"),
    ],
)
def test_bad_input_is_refused_in_words(arguments: list[str], says: str) -> None:
    done = CliRunner().invoke(main, ["audit", *arguments])
    assert done.exit_code == 3
    assert says in done.output


@pytest.mark.slow
def test_the_command_prints_one_document(tmp_path: Path) -> None:
    arguments = ["audit", "--mechanism", "factorised", "--trials", "500", "--json", "--quiet", "--out", str(tmp_path)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0
    assert json.loads(done.output)["trials"] == 500
    assert (tmp_path / "audit.png").exists()
    table = CliRunner().invoke(main, ["audit", "--mechanism", "factorised", "--trials", "500"])
    assert "violated" in table.output
