"""One release of recorded trajectories: its sums are the devices', its belief holds the truth, its bounds the costs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hushloop.device import Assignment, Controller, make_report
from hushloop.errors import InvalidInput
from hushloop.fitting import fit
from hushloop.lq.files import load
from hushloop.privacy import Budget
from hushloop.privacy.noise import SeededNoise
from hushloop.privacy.release import Sums
from hushloop.privacy.sensitivity import pair_sensitivity
from hushloop.trajectories import Group, Trajectories
from logs_for_tests import recorded, table, write

PLANT = load("toy")
PROBLEM = PLANT.problem


def logs(users: int, seed: int = 3) -> Trajectories:
    X, U = recorded(PLANT, users, seed=seed)
    return Trajectories(users, (Group(X, U),))


def test_the_release_hides_the_sums_of_the_devices_own_reports() -> None:
    X, U = recorded(PLANT, 50)
    data = Trajectories(50, (Group(X[:30, :3], U[:30, :2]), Group(X[30:], U[30:])))
    found = fit(PROBLEM, data, Budget(1.0), source=SeededNoise(5))
    ran = Assignment("any", Controller(np.zeros((5, 1, 2)), 1.5), found.collection)
    total = Sums.zero(3, 2)
    for k in range(50):
        T = 2 if k < 30 else 5
        total = total + Sums.of(make_report(ran, X[k, : T + 1], U[k, :T]))
    S, C = total.matrices(3, 2)
    N, L = SeededNoise(5).draw(3, 2, found.scales, 0)
    np.testing.assert_allclose(found.release.T1, S + N, rtol=1e-12)
    np.testing.assert_allclose(found.release.T2, C + L, rtol=1e-12)


@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
@pytest.mark.parametrize("participations", [1, 3])
def test_the_noise_spends_the_budget(adjacency: str, participations: int) -> None:
    budget = Budget(2.0, 1e-5, adjacency, participations)
    found = fit(PROBLEM, logs(20), budget, source=SeededNoise(0))
    spent = pair_sensitivity(found.collection, 1 / found.scales.sigma_s, 1 / found.scales.sigma_c, adjacency)
    assert budget.mu * (1 - 1e-6) <= spent <= budget.mu
    assert found.guarantee.epsilon == pytest.approx(2.0)
    assert found.guarantee.epsilon <= 2.0


def test_what_is_chosen_is_public() -> None:
    """Other data of the same size: the same collection and noise."""
    one, two = (fit(PROBLEM, logs(64, seed), Budget(1.0), source=SeededNoise(0)) for seed in (1, 2))
    assert one.collection.energy == two.collection.energy
    assert one.scales == two.scales
    assert not np.array_equal(one.release.T1, two.release.T1)


def test_many_users_give_a_close_estimate_a_belief_with_the_truth_and_certified_costs() -> None:
    found = fit(PROBLEM, logs(30_000), Budget(4.0), excitation=0.5, source=SeededNoise(1))
    assert np.abs(found.estimate.mean - PLANT.Theta).max() < 0.02
    assert found.belief.contains(PLANT.Theta)
    assert found.belief.semi_axes.max() < 0.2
    low, high = found.certified
    assert low <= PLANT.optimal_cost <= PLANT.cost(found.plan.gains) <= high < PLANT.idle_cost


def test_few_users_teach_nothing_and_the_bounds_say_so() -> None:
    found = fit(PROBLEM, logs(3), Budget(0.1), source=SeededNoise(1))
    assert found.belief.contains(PLANT.Theta)
    assert found.belief.semi_axes.max() > 0.9
    assert found.certified[0] <= PLANT.optimal_cost


def test_misses_are_as_rare_as_alpha_allows() -> None:
    """At most 21 of 60 at α = .1: more happen by chance less than once in a million."""
    missed = 0
    for seed in range(60):
        found = fit(PROBLEM, logs(400, seed + 10), Budget(8.0), excitation=0.5, source=SeededNoise(seed))
        missed += not found.belief.contains(PLANT.Theta)
    assert missed <= 21


def test_a_release_that_contradicts_the_prior_is_said() -> None:
    near = PROBLEM.with_(radius=0.05, operator_radius=0.05)
    found = fit(near, logs(200_00), Budget(8.0), excitation=0.5, source=SeededNoise(1))
    assert found.contradicted
    assert found.to_dict()["belief"]["contradicted"]


def test_the_statement_is_about_these_people(tmp_path: Path) -> None:
    X, U = recorded(PLANT, 30)
    found = fit(PROBLEM, write(table(X, U), tmp_path / "logs.parquet"), Budget(1.0), source=SeededNoise(0))
    text = found.statement().markdown()
    assert "profile fit, mechanism blocks" in text
    assert "K = 30 users" in text
    assert "**The claim holds.**" in text


def test_energy_is_the_problems_own_or_what_is_given() -> None:
    assert fit(PROBLEM, logs(5), Budget(1.0), energy=3.0, source=SeededNoise(0)).collection.energy == 3.0
    fixed = PROBLEM.with_(energy=2.5)
    assert fit(fixed, logs(5), Budget(1.0), source=SeededNoise(0)).collection.energy == 2.5
    quiet, excited = (fit(PROBLEM, logs(5), Budget(1.0), excitation=a, source=SeededNoise(0)) for a in (0.0, 0.5))
    assert excited.collection.energy > quiet.collection.energy
    with pytest.raises(InvalidInput, match="energy"):
        fit(PROBLEM, logs(5), Budget(1.0), energy=-1.0, source=SeededNoise(0))


def test_trajectories_that_come_from_no_file_are_held_to_the_promise_too() -> None:
    X, U = recorded(PLANT, 6)
    long = Group(np.concatenate([X, X[:, 1:]], axis=1), np.concatenate([U, U], axis=1))
    with pytest.raises(InvalidInput, match="at most 5 belong to one"):
        fit(PROBLEM, Trajectories(6, (long,)), Budget(1.0), source=SeededNoise(0))
    for most in (1, 2, 3):  # three people with two episodes each, whatever is said of them
        data = Trajectories(3, (Group(X, U),), most)
        with pytest.raises(InvalidInput, match="participations"):
            fit(PROBLEM, data, Budget(1.0), source=SeededNoise(0))
    fit(PROBLEM, Trajectories(3, (Group(X, U),), 2), Budget(1.0, participations=2), source=SeededNoise(0))
