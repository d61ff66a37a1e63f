"""Designs keep the budget, predict what they get, and are better than what they replace."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushloop.learning.block_learner import BlockLearner
from hushloop.learning.design import MARGIN, design, largest_excitation, weightings
from hushloop.learning.planners.excited import greedy
from hushloop.lq.files import load
from hushloop.privacy import Budget
from hushloop.privacy.sensitivity import pair_sensitivity

PLANTS = ("toy", "stable3", "two-zone-heating", "battery")


def first_design(name: str, users: int = 512, excite: float | None = None):
    plant = load(name)
    learner = BlockLearner(plant.problem, Budget(1.0), first=users)
    start = learner.start()
    likely = greedy(plant.problem, start.estimate, 0)
    frame = learner.frame(start, users)
    return plant.problem, likely, frame, design(plant.problem, start.estimate, likely, frame, excite), learner


@pytest.mark.parametrize("name", PLANTS)
def test_noise_of_a_design_spends_the_budget_and_no_more(name: str) -> None:
    _, _, frame, found, _ = first_design(name)
    scales = found.scales
    spent = pair_sensitivity(found.collection, 1 / scales.sigma_s, 1 / scales.sigma_c, "replace-one")
    assert spent <= frame.mu
    assert spent >= frame.mu * (1 - 1e-6)


@pytest.mark.parametrize("name", PLANTS)
def test_budgets_are_a_margin_above_the_predicted_means(name: str) -> None:
    problem, likely, frame, found, _ = first_design(name)
    T = found.collection.weighting
    moments = likely.S0 + found.excitation**2 * likely.S1
    np.testing.assert_allclose(moments, found.moments)
    if T is not None:
        assert found.collection.energy == pytest.approx(MARGIN * np.trace(T @ moments @ T))
    reach = np.sum((frame.shape @ frame.shape) * moments)
    assert found.collection.response_budget == pytest.approx(MARGIN * reach)
    assert found.excitation <= frame.most <= problem.control_bound / math.sqrt(problem.d)


@pytest.mark.parametrize("name", PLANTS)
def test_the_search_is_no_worse_than_a_fixed_excitation_or_no_weighting(name: str) -> None:
    problem, likely, frame, found, learner = first_design(name)
    estimate = learner.start().estimate
    for a in np.geomspace(0.003, 1.0, 40) * frame.most:
        assert found.cost <= design(problem, estimate, likely, frame, float(a)).cost * 1.02
    without = design(problem.with_(energy=1.1 * float(np.trace(found.moments))), estimate, likely, frame)
    assert without.collection.weighting is None
    assert found.cost <= without.cost * (1 + 1e-9)


def test_noise_falls_where_the_weighting_says() -> None:
    """With a prior that is no matter, the first candidate is the optimum: no other weighting beats it."""
    rng = np.random.default_rng(0)
    p = 4
    X = rng.normal(size=(p, p))
    form, moments = X @ X.T, np.diag([3.0, 1.0, 0.3, 0.1])

    class Sharp:
        precision = np.eye(p)

    best = weightings(Sharp, form, moments)[1]

    def error(T: np.ndarray) -> float:
        """tr(form · Cov) for Cov⁻¹ = S T² S / tr(T²S), noise alone."""
        return float(np.trace(form @ np.linalg.inv(moments @ T @ T @ moments)) * np.trace(T @ T @ moments))

    for _ in range(200):
        other = best + 0.1 * rng.normal(size=(p, p))
        other = (other + other.T) / 2
        if np.linalg.eigvalsh(other)[0] > 1e-3:
            assert error(best) <= error(other) * (1 + 1e-9)


def test_largest_excitation_is_bounded_by_harm_and_by_gamma() -> None:
    problem = load("toy").problem
    assert largest_excitation(problem.with_(control_bound=0.01)) == pytest.approx(0.01)
    assert largest_excitation(problem.with_(R=np.array([[50.0]]))) < largest_excitation(problem)


def test_first_block_grows_as_privacy_tightens_and_uses_public_values_alone() -> None:
    problem = load("toy").problem
    sizes = [BlockLearner(problem, Budget(e)).first_block for e in (8.0, 1.0, 0.1)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]
    assert BlockLearner(problem, Budget(1.0), seed=5).first_block == sizes[1]
