"""The quadratic form of losses against differences of exact costs."""

from __future__ import annotations

import numpy as np
import pytest

from hushloop.learning.planners.loss_form import loss_forms
from hushloop.lq import Disturbance, Problem, Start, optimal_cost, optimal_gains, policy_cost, split
from hushloop.lq.riccati import excitation_price, policy_matrices


def problem_of(n: int, d: int, horizon: int, rng: np.random.Generator) -> Problem:
    start = Start("ball", rng.normal(size=n) * 0.3, 0.2)
    return Problem("t", np.eye(n), 0.3 * np.eye(d), horizon, start, Disturbance("sphere", 0.1, n), 1.5, 1.0)


@pytest.mark.parametrize(("n", "d", "horizon"), [(1, 1, 1), (2, 1, 5), (3, 2, 7), (2, 3, 4)])
def test_form_is_half_the_second_difference_of_the_loss(n: int, d: int, horizon: int) -> None:
    rng = np.random.default_rng(n * 100 + d)
    problem = problem_of(n, d, horizon, rng)
    models = rng.normal(size=(3, n + d, n)) * 0.4
    found = loss_forms(problem, models)

    for model, form in zip(models, found.form, strict=True):
        A, B = split(model)
        best = optimal_cost(problem, A, B)

        def loss(D: np.ndarray, A=A, B=B, model=model, best=best) -> float:
            return policy_cost(problem, A, B, optimal_gains(problem, *split(model + D))) - best

        step, expected = 1e-3, np.zeros_like(form)
        for j in range(n):
            for i in range(n + d):
                for k in range(n + d):
                    one, two = np.zeros((2, n + d, n))
                    one[i, j], two[k, j] = step, step
                    plus = loss(one + two) + loss(-one - two)
                    minus = loss(one - two) + loss(two - one)
                    expected[i, k] += (plus - minus) / (8 * step**2)
        np.testing.assert_allclose(form, expected, atol=2e-4 * max(1e-2, np.abs(expected).max()))


def test_value_price_and_gains_are_those_of_the_riccati_recursion() -> None:
    rng = np.random.default_rng(0)
    problem = problem_of(3, 2, 6, rng)
    models = rng.normal(size=(4, 5, 3)) * 0.4
    found = loss_forms(problem, models)
    for i, model in enumerate(models):
        A, B = split(model)
        K = optimal_gains(problem, A, B)
        np.testing.assert_allclose(found.gains[i], K, atol=1e-12)
        assert found.value[i] == pytest.approx(optimal_cost(problem, A, B), rel=1e-12)
        P = policy_matrices(A, B, problem.Q, problem.R, K)
        assert found.price[i] == pytest.approx(excitation_price(problem, B, P), rel=1e-12)
