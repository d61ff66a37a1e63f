"""The compiled parts of planning against their numpy twins and against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from plants_for_tests import around, laplacian, scalar, toy, wide

from hushloop.kernels.optimistic_cost import eight_cost_gradients, lanes_of, workspace_size
from hushloop.kernels.optimistic_lanes import lane_array
from hushloop.kernels.optimistic_lower import lower_value
from hushloop.kernels.optimistic_upper import upper_value
from hushloop.learning.planners.relaxed import relaxations
from hushloop.lq import Plant, cost_gradient, optimal_gains, split

PLANTS = [toy(), laplacian(), wide(), scalar(1), scalar(2)]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.name}-{plant.problem.horizon}")
def test_eight_costs_and_gradients_match_the_plain_recursion(plant: Plant) -> None:
    pr = plant.problem
    Theta = 0.5 * np.random.default_rng(0).normal(size=(8, pr.p, pr.n))
    T, G, J = lane_array(pr.p * pr.n), lane_array(pr.p * pr.n), lane_array(1)
    T[:] = lanes_of(Theta)
    work = lane_array(workspace_size(pr.n, pr.d, pr.horizon))
    eight_cost_gradients(T, G, J, pr.Q, pr.R, pr.X1, pr.W, pr.horizon, pr.n, pr.d, work)
    gradients = np.moveaxis(G.reshape(pr.p, pr.n, 8), -1, 0)
    for k in range(8):
        value, gradient = cost_gradient(pr, *split(Theta[k]))
        assert J[k] == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(gradients[k], gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("plant", PLANTS[:3], ids=lambda plant: plant.name)
def test_dual_slopes_match_finite_differences(plant: Plant) -> None:
    pr = plant.problem
    A, B, N = relaxations(around(plant, 0.05, radius=50.0))[0]
    K = optimal_gains(pr, A, B)
    steps = pr.horizon - 1
    slope, unused = np.empty(steps), np.empty(steps)
    scale = 30.0 * np.exp(np.random.default_rng(1).normal(size=steps) * 0.1)

    def lower(mu: np.ndarray, out: np.ndarray) -> float:
        return float(lower_value(mu, A, B, N, pr.Q, pr.R, pr.X1, pr.W, out))

    def upper(mu: np.ndarray, out: np.ndarray) -> float:
        return float(upper_value(mu, 0.0, A, B, K, N, pr.Q, pr.R, pr.X1, pr.W, 0.2, out))

    for function in (lower, upper):
        assert np.isfinite(function(scale, slope))
        for h in range(steps):
            up, down = scale.copy(), scale.copy()
            up[h] += 1e-4
            down[h] -= 1e-4
            numeric = (function(up, unused) - function(down, unused)) / 2e-4
            assert slope[h] == pytest.approx(numeric, rel=1e-4, abs=1e-8)
