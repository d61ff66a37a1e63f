"""A slow, line-by-line transcription of the paper's Algorithm 1, to hold the fast one to. It shares no code with it.

Only the corrections that any run needs are made: K_h uses P_{h+1}, and β_k takes ln det from V_k (which is released)
in place of the raw Z'Z. The noise of every tree node is given, so that two programs can be fed the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

Matrix = np.ndarray
NodeNoise = Callable[[int, int], tuple[Matrix, Matrix]]
"""(first episode, last episode) → (ζ₁ (p, p) symmetric, ζ₂ (p, n)), the noise of that node of B1 and of B2."""


@dataclass(frozen=True)
class Constants:
    """What line 1 derives from its inputs."""

    eta: float
    lambda_min: float
    lambda_max: float
    nu: float


@dataclass(frozen=True)
class Episode:
    """What the algorithm knows and decides at the start of episode k."""

    k: int
    V: Matrix
    Theta_hat: Matrix
    beta: float
    J: float  # J*(Θ̃_k, x_{k,1})


def printed_constants(
    n: int, d: int, H: int, gamma: float, K: int, epsilon: float, delta: float, alpha: float
) -> tuple[Constants, float, float]:
    """(η, λ_min, λ_max, ν), σ₁ and σ₂ of the sections on privacy and regret."""
    m = math.ceil(math.log2(K))
    Delta1 = H * (1 + gamma) ** 2
    Delta2 = H * (1 + gamma)
    sigma1 = math.sqrt(8 * m * Delta1**2 * math.log(2 / delta)) / epsilon
    sigma2 = math.sqrt(8 * m * Delta2**2 * math.log(2 / delta)) / epsilon
    Lambda = sigma1 * math.sqrt(m) * (4 * math.sqrt(n + d) + math.sqrt(8 * math.log(4 * K / alpha)))
    nu = sigma2 * math.sqrt(m / Lambda) * (math.sqrt(2 * n * (n + d)) + math.sqrt(4 * math.log(2 * K / alpha)))
    return Constants(2 * Lambda, Lambda, 3 * Lambda, nu), sigma1, sigma2


def cover(k: int) -> list[tuple[int, int]]:
    """The intervals of the binary tree that uniquely cover [1, k−1]."""
    nodes: list[tuple[int, int]] = []
    first, left = 1, k - 1
    while left > 0:
        length = 1
        while 2 * length <= left:
            length *= 2
        nodes.append((first, first + length - 1))
        first += length
        left -= length
    return nodes


def algorithm_1(
    trajectories: Iterable[tuple[Matrix, Matrix]],
    noise: NodeNoise | None,
    constants: Constants,
    Q: Matrix,
    R: Matrix,
    W: Matrix,
    H: int,
    C_w: float,
    alpha: float,
    plan_at: Callable[[int], bool] = lambda k: True,
) -> Iterator[Episode]:
    """Replay: for every recorded trajectory (states (H+1, n), controls (H, d)) what the algorithm held before it.

    The argmin is sought only where `plan_at(k)`; elsewhere J is nan. `noise` None means exact sums.
    """
    n, d = Q.shape[0], R.shape[0]
    p = n + d
    events1: list[Matrix] = []  # Σ_h z z' of each episode
    events2: list[Matrix] = []  # Σ_h z x⁺'
    for k, (states, controls) in enumerate(trajectories, start=1):
        T1 = np.zeros((p, p))
        T2 = np.zeros((p, n))
        if noise is None:
            for event1, event2 in zip(events1, events2, strict=True):
                T1 = T1 + event1
                T2 = T2 + event2
        else:
            for first, last in cover(k):
                zeta1, zeta2 = noise(first, last)
                T1 = T1 + sum(events1[first - 1 : last]) + zeta1
                T2 = T2 + sum(events2[first - 1 : last]) + zeta2
        V = T1 + constants.eta * np.eye(p)
        Theta_hat = np.linalg.inv(V) @ T2
        sign, log_det = np.linalg.slogdet(V / constants.lambda_min)
        assert sign > 0
        beta = C_w * math.sqrt(2 * math.log(2 / alpha) + n * log_det) + math.sqrt(constants.lambda_max) + constants.nu
        J = argmin_cost(V, Theta_hat, beta, Q, R, W, H, states[0]) if plan_at(k) else math.nan
        yield Episode(k, V, Theta_hat, beta, J)
        event1 = np.zeros((p, p))
        event2 = np.zeros((p, n))
        for h in range(controls.shape[0]):
            z = np.concatenate([states[h], controls[h]])
            event1 += np.outer(z, z)
            event2 += np.outer(z, states[h + 1])
        events1.append(event1)
        events2.append(event2)


def optimal_cost(Theta: Matrix, Q: Matrix, R: Matrix, W: Matrix, H: int, x1: Matrix) -> float:
    """J*₁(Θ, x₁) by the Riccati iteration, as printed (its P_{h+1} form)."""
    n = Q.shape[0]
    A, B = Theta[:n].T, Theta[n:].T
    P = np.zeros((n, n))
    cost = 0.0
    for _ in range(H):
        cost += float(np.trace(P @ W))
        P = Q + A.T @ P @ A - A.T @ P @ B @ np.linalg.inv(R + B.T @ P @ B) @ B.T @ P @ A
    return cost + float(x1 @ P @ x1)


def argmin_cost(
    V: Matrix, Theta_hat: Matrix, beta: float, Q: Matrix, R: Matrix, W: Matrix, H: int, x1: Matrix, starts: int = 6
) -> float:
    """min J* over {‖Θ − Θ̂‖_V ≤ β} ∩ {‖Θ‖_F ≤ 1} by a general solver from several starts, mirrored B among them."""
    p, n = Theta_hat.shape
    root = np.linalg.cholesky(V).T / beta

    def objective(flat: Matrix) -> float:
        return optimal_cost(flat.reshape(p, n), Q, R, W, H, x1)

    def ellipsoid(flat: Matrix) -> float:
        return float(1.0 - np.sum((root @ (flat.reshape(p, n) - Theta_hat)) ** 2))

    def ball(flat: Matrix) -> float:
        return float(1.0 - np.sum(flat**2))

    mirrored = Theta_hat.copy()
    mirrored[n:] *= -1.0
    rng = np.random.default_rng(0)
    spread = np.linalg.inv(root)
    guesses = [Theta_hat, mirrored]
    for _ in range(starts - 2):
        direction = rng.normal(size=(p, n))
        guesses.append(Theta_hat + spread @ (0.7 * direction / np.linalg.norm(direction)))
    best = math.inf
    for guess in guesses:
        found = minimize(
            objective,
            (guess * min(1.0, 0.99 / np.linalg.norm(guess))).ravel(),
            method="SLSQP",
            constraints=[{"type": "ineq", "fun": ellipsoid}, {"type": "ineq", "fun": ball}],
            options={"ftol": 1e-13, "maxiter": 400},
        )
        if ellipsoid(found.x) > -1e-8 and ball(found.x) > -1e-8:
            best = min(best, float(found.fun))
    return best
