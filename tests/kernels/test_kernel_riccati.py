"""The compiled recursions against their numpy twins, and the gradient against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushloop.kernels import reference_riccati as twin
from hushloop.kernels import riccati

Case = dict[str, Any]


def problem(rng: np.random.Generator, count: int, n: int, d: int) -> tuple[np.ndarray, ...]:
    """Random Θ with ‖A‖₂ = .9, and costs and moments that are not diagonal."""
    A, B = rng.normal(size=(count, n, n)), rng.normal(size=(count, n, d)) / n
    A *= 0.9 / np.linalg.norm(A, 2, axis=(1, 2))[:, None, None]
    Theta = np.ascontiguousarray(np.swapaxes(np.concatenate([A, B], axis=2), 1, 2))

    def positive(size: int) -> np.ndarray:
        M = rng.normal(size=(size, size))
        return M @ M.T / size + 0.1 * np.eye(size)

    return Theta, positive(n), positive(d), positive(n), 0.1 * positive(n)


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10 * max(1e-30, np.abs(wanted).max()))


@pytest.mark.parametrize(
    ("count", "n", "d", "horizon"),
    [
        (1, 1, 1, 1),
        (1, 2, 1, 5),
        (9, 2, 1, 2),
        (8, 3, 3, 7),
        (17, 4, 2, 20),
        (3, 2, 5, 3),
        (5, 1, 4, 6),
        (2, 40, 24, 4),
    ],
)
def test_kernels_equal_their_twins(count: int, n: int, d: int, horizon: int) -> None:
    rng = np.random.default_rng(n * 100 + d)
    Theta, Q, R, X1, W = problem(rng, count, n, d)
    policies = rng.normal(size=(3, horizon, d, n)) * 0.1
    J, G = riccati.value_and_gradient(Theta, Q, R, X1, W, horizon)
    J_twin, G_twin = twin.value_and_gradient(Theta, Q, R, X1, W, horizon)
    close(J, J_twin)
    close(G, G_twin)
    close(riccati.value(Theta, Q, R, X1, W, horizon), J_twin)
    close(riccati.gains(Theta, Q, R, horizon), twin.gains(Theta, Q, R, horizon))
    for excitation in (0.0, 0.3):
        found = riccati.policy_cost(Theta, policies, Q, R, X1, W, excitation)
        close(found, twin.policy_cost(Theta, policies, Q, R, X1, W, excitation))


def test_gradient_against_central_differences_on_200_systems() -> None:
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(200):
        n, d, horizon = int(rng.integers(1, 13)), int(rng.integers(1, 7)), int(rng.integers(2, 16))
        Theta, Q, R, X1, W = problem(rng, 1, n, d)
        _, G = riccati.value_and_gradient(Theta, Q, R, X1, W, horizon)
        direction = rng.normal(size=Theta.shape)
        direction /= np.linalg.norm(direction)
        slopes = []
        for step in (2e-4, 1e-4):  # Richardson: the error of order step² cancels
            both = np.concatenate([Theta + step * direction, Theta - step * direction])
            up, down = riccati.value(both, Q, R, X1, W, horizon)
            slopes.append((up - down) / (2 * step))
        slope = (4 * slopes[1] - slopes[0]) / 3
        worst = max(worst, abs(slope - float(np.sum(G * direction))) / float(np.linalg.norm(G)))
    assert worst <= 1e-6


def test_optimal_gains_cost_the_optimum() -> None:
    rng = np.random.default_rng(2)
    Theta, Q, R, X1, W = problem(rng, 1, 5, 2)
    K = riccati.gains(Theta, Q, R, 9)
    J = riccati.value(Theta, Q, R, X1, W, 9)
    np.testing.assert_allclose(riccati.policy_cost(Theta, K, Q, R, X1, W)[:, 0], J, rtol=1e-12)


def test_a_system_does_not_depend_on_its_neighbours() -> None:
    rng = np.random.default_rng(3)
    Theta, Q, R, X1, W = problem(rng, 13, 3, 2)
    J, G = riccati.value_and_gradient(Theta, Q, R, X1, W, 6)
    alone = [riccati.value_and_gradient(one[None], Q, R, X1, W, 6) for one in Theta]
    np.testing.assert_array_equal(J, [j[0] for j, _ in alone])
    np.testing.assert_array_equal(G, [g[0] for _, g in alone])


def test_any_layout_is_accepted() -> None:
    rng = np.random.default_rng(4)
    Theta, Q, R, X1, W = problem(rng, 4, 3, 2)
    turned = np.asfortranarray(Theta)
    np.testing.assert_array_equal(riccati.value(turned, Q.T, R.T, X1.T, W.T, 5), riccati.value(Theta, Q, R, X1, W, 5))
