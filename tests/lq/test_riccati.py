"""Exact costs, gains and gradients against finite differences, brute force and Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest

from hushloop.lq import (
    Disturbance,
    Plant,
    Problem,
    Start,
    cost_gradient,
    gallery,
    idle_gains,
    mean_sums,
    optimal_cost,
    optimal_gains,
    policy_cost,
    riccati,
    second_moments,
    split,
    stage_costs,
    theta,
)


def random_problem(rng: np.random.Generator, n: int, d: int) -> tuple[Problem, np.ndarray, np.ndarray]:
    half_q, half_r = rng.normal(size=(n, n)), rng.normal(size=(d, d))
    scale = rng.normal(size=(n, n))
    problem = Problem(
        name="random",
        Q=half_q @ half_q.T / n,
        R=half_r @ half_r.T / d + 0.1 * np.eye(d),
        horizon=int(rng.integers(1, 12)),
        start=Start("ball", rng.normal(size=n), 0.5),
        disturbance=Disturbance("ball", 0.3, n, scale=scale / np.linalg.norm(scale, 2)),
        control_bound=1.0,
        response_bound=1.0,
    )
    A = rng.normal(size=(n, n))
    return problem, A * (rng.uniform(0.3, 1.1) / np.abs(np.linalg.eigvals(A)).max()), rng.normal(size=(n, d))


def test_the_gradient_agrees_with_central_differences_on_200_random_systems() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, d = int(rng.integers(1, 13)), int(rng.integers(1, 7))
        problem, A, B = random_problem(rng, n, d)
        Theta = theta(A, B)
        value, G = cost_gradient(problem, A, B)
        assert value == pytest.approx(optimal_cost(problem, A, B), rel=1e-13)
        for _direction in range(3):
            V = rng.normal(size=Theta.shape)
            V /= np.linalg.norm(V)
            step = 1e-4 / np.linalg.norm(Theta)
            at = [optimal_cost(problem, *split(Theta + k * step * V)) for k in (-2, -1, 1, 2)]
            difference = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * step)
            assert abs(np.sum(G * V) - difference) <= 1e-6 * np.linalg.norm(G)


@pytest.mark.parametrize("name", gallery.names())
def test_the_optimum_is_the_policy_cost_at_the_optimal_gains(name: str) -> None:
    plant = gallery.get(name)
    assert plant.cost(plant.optimal_gains) == pytest.approx(plant.optimal_cost, rel=1e-12)


def test_the_same_on_random_systems() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        problem, A, B = random_problem(rng, int(rng.integers(1, 8)), int(rng.integers(1, 5)))
        K = optimal_gains(problem, A, B)
        assert policy_cost(problem, A, B, K) == pytest.approx(optimal_cost(problem, A, B), rel=1e-12)
        for _try in range(3):
            worse = K + 0.1 * rng.normal(size=K.shape)
            assert policy_cost(problem, A, B, worse) > optimal_cost(problem, A, B)


def test_the_optimum_equals_least_squares_over_open_loop_controls() -> None:
    """Without disturbance the best controls from a fixed start solve one big least-squares problem."""
    rng = np.random.default_rng(2)
    for _ in range(10):
        problem, A, B = random_problem(rng, 3, 2)
        x1 = rng.normal(size=3)
        problem = problem.with_(start=Start("fixed", x1), disturbance=Disturbance("ball", 0.0, 3))
        H = problem.horizon
        free = np.vstack([np.linalg.matrix_power(A, h) @ x1 for h in range(H)]).ravel()
        G = np.zeros((3 * H, 2 * H))
        for h in range(H):
            for j in range(h):
                G[3 * h : 3 * h + 3, 2 * j : 2 * j + 2] = np.linalg.matrix_power(A, h - 1 - j) @ B
        Q, R = np.kron(np.eye(H), problem.Q), np.kron(np.eye(H), problem.R)
        u = -np.linalg.solve(R + G.T @ Q @ G, G.T @ Q @ free)
        x = free + G @ u
        assert optimal_cost(problem, A, B) == pytest.approx(x @ Q @ x + u @ R @ u, rel=1e-9)


LAWS = {
    "sphere": Disturbance("sphere", 0.5, 2),
    "ball": Disturbance("ball", 0.5, 2),
    "truncated-normal": Disturbance("truncated-normal", 0.5, 2),
    "truncated-normal, narrow": Disturbance("truncated-normal", 0.5, 2, std=0.4),
    "rademacher": Disturbance("rademacher", 0.5, 2),
    "sphere, scaled": Disturbance("sphere", 0.5, 2, scale=np.array([[0.8, 0.3], [0.0, 0.4]])),
    "truncated-normal, scaled": Disturbance("truncated-normal", 0.5, 2, scale=np.array([1.0, 0.3])),
}


def roll(plant: Plant, K: np.ndarray, users: int, rng: np.random.Generator, excitation: float = 0.0) -> np.ndarray:
    """Costs of `users` unclipped episodes."""
    pr = plant.problem
    x, cost = pr.start.sample(users, rng), np.zeros(users)
    for h in range(pr.horizon):
        u = x @ K[h].T + excitation * rng.choice([-1.0, 1.0], size=(users, pr.d))
        cost += np.einsum("ki,ij,kj->k", x, pr.Q, x) + np.einsum("ki,ij,kj->k", u, pr.R, u)
        x = x @ plant.A.T + u @ plant.B.T + pr.disturbance.sample(users, rng)
    return cost


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("start", [Start("fixed", np.array([0.6, 0.8])), Start("truncated-normal", np.ones(2), 0.7)])
def test_the_optimum_agrees_with_monte_carlo(law: str, start: Start) -> None:
    """Five standard errors each, false alarm 6e-7."""
    toy = gallery.get("toy")
    plant = Plant(toy.problem.with_(disturbance=LAWS[law], start=start), toy.A, toy.B)
    costs = roll(plant, plant.optimal_gains, 40_000, np.random.default_rng(3))
    assert abs(costs.mean() - plant.optimal_cost) < 5 * costs.std() / np.sqrt(costs.size)


def test_the_cost_of_excitation_agrees_with_monte_carlo() -> None:
    plant = gallery.get("stable3")
    K = plant.optimal_gains * 0.6
    costs = roll(plant, K, 40_000, np.random.default_rng(4), excitation=0.4)
    assert abs(costs.mean() - plant.cost(K, excitation=0.4)) < 5 * costs.std() / np.sqrt(costs.size)
    assert plant.cost(K, excitation=0.4) > plant.cost(K) + 0.1


def test_moments_and_mean_sums_agree_with_monte_carlo() -> None:
    plant, users, rng = gallery.get("uav"), 40_000, np.random.default_rng(5)
    pr, K = plant.problem, plant.optimal_gains * 0.8
    X, S = second_moments(pr, plant.A, plant.B, K, excitation=0.2), np.zeros((6, 6))
    x = pr.start.sample(users, rng)
    for h in range(pr.horizon):
        spread = np.abs(x.T @ x / users - X[h]).max()
        assert spread < 6 * np.square(x).std() / np.sqrt(users)
        u = x @ K[h].T + 0.2 * rng.choice([-1.0, 1.0], size=(users, pr.d))
        z = np.hstack([x, u])
        S += z.T @ z / users
        x = x @ plant.A.T + u @ plant.B.T + pr.disturbance.sample(users, rng)
    assert pytest.approx(mean_sums(pr, plant.A, plant.B, K, excitation=0.2), abs=0.03) == S


def test_stage_costs_add_up_to_the_cost_of_a_trajectory() -> None:
    plant = gallery.get("toy")
    x, u = np.array([[0.6, 0.8], [0.1, 0.2], [0.0, 1.0]]), np.array([[1.0], [-2.0]])
    assert stage_costs(plant.problem, x, u) == pytest.approx([1.0 + 0.1, 0.05 + 0.4])


def test_idle_gains_cost_what_doing_nothing_costs() -> None:
    plant = gallery.get("toy")
    costs = roll(plant, idle_gains(plant.problem), 20_000, np.random.default_rng(6))
    assert abs(costs.mean() - plant.idle_cost) < 5 * costs.std() / np.sqrt(costs.size)


def test_the_gain_uses_the_cost_to_go_of_the_next_step() -> None:
    """The last gain is 0: nothing comes after it. With P_h in place of P_{h+1}, as once printed, it would not be."""
    toy = gallery.get("toy")
    solution = riccati(toy.A, toy.B, toy.problem.Q, toy.problem.R, 3)
    assert not solution.K[2].any()
    P = toy.problem.Q  # P_H
    want = -(toy.B.T @ P @ toy.A) / (toy.problem.R + toy.B.T @ P @ toy.B)
    assert solution.K[1] == pytest.approx(want, rel=1e-14)
