"""Many systems at once equal one at a time."""

from __future__ import annotations

import numpy as np
import pytest

from hushloop.errors import InvalidInput
from hushloop.lq import Disturbance, Problem, Start, batch, cost_gradient, optimal_gains, policy_cost, split


@pytest.fixture
def problem() -> Problem:
    disturbance = Disturbance("sphere", 0.1, 2, scale=np.array([1.0, 0.5]))
    start = Start("ball", np.array([0.6, 0.8]), 0.1)
    return Problem("p", np.array([[1.0, 0.2], [0.2, 1.0]]), 0.1 * np.eye(1), 5, start, disturbance, 1.5, 1.0)


def test_batched_results_equal_single_ones(problem: Problem) -> None:
    rng = np.random.default_rng(0)
    Theta = 0.4 * rng.normal(size=(11, 3, 2))
    J, G = batch.values_and_gradients(problem, Theta)
    gains = batch.batched_gains(problem, Theta)
    costs = batch.policy_costs(problem, Theta, gains[:3], excitation=0.2)
    for i, one in enumerate(Theta):
        A, B = split(one)
        value, gradient = cost_gradient(problem, A, B)
        assert J[i] == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(G[i], gradient, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(gains[i], optimal_gains(problem, A, B), rtol=1e-10, atol=1e-13)
        expected = [policy_cost(problem, A, B, K, excitation=0.2) for K in gains[:3]]
        np.testing.assert_allclose(costs[i], expected, rtol=1e-12)
    np.testing.assert_allclose(batch.values(problem, Theta), J, rtol=1e-12)


def test_another_start_can_be_given(problem: Problem) -> None:
    X1 = np.diag([2.0, 0.0])
    Theta = 0.3 * np.ones((1, 3, 2))
    A, B = split(Theta[0])
    assert batch.values(problem, Theta, X1)[0] == pytest.approx(cost_gradient(problem, A, B, X1)[0], rel=1e-12)


def test_shapes_are_checked(problem: Problem) -> None:
    with pytest.raises(InvalidInput, match="`Theta` has shape"):
        batch.values(problem, np.zeros((3, 2)))
    with pytest.raises(InvalidInput, match="`K` has shape"):
        batch.policy_costs(problem, np.zeros((1, 3, 2)), np.zeros((5, 1, 2)))
