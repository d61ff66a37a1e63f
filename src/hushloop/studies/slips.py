"""Small experiments behind single corrections: what goes wrong when the paper is read to the letter."""

from __future__ import annotations

import numpy as np

from ..agent import controller
from ..device import Assignment
from ..errors import InvalidInput
from ..learning.confidence.paper import Regularisers, radius
from ..lq import Plant
from ..lq.batch import batched_gains
from ..lq.files import load
from ..privacy.budget import Budget
from ..privacy.paper import paper_collection, paper_constants
from ..simulation.play import play
from .moments import user_moments
from .plants import from_prior

DRAWS, MODELS = 20_000, 400


def letter_gain(plant: Plant) -> float:
    """Cost of K_h = −(R + B'P_hB)⁻¹B'P_hA, the printed gain, P from the right recursion."""
    A, B, problem = plant.A, plant.B, plant.problem
    P, gains = np.zeros((problem.n, problem.n)), []
    for _ in range(problem.horizon):
        K = -np.linalg.solve(problem.R + B.T @ P @ B, B.T @ P @ A)
        L = A + B @ K
        P = problem.Q + K.T @ problem.R @ K + L.T @ P @ L
        gains.append(-np.linalg.solve(problem.R + B.T @ P @ B, B.T @ P @ A))
    return plant.cost(np.stack(gains[::-1]))


def reach_of_gains(plant: Plant) -> float:
    """The largest ‖K_h(Θ)‖ found over the unit ball: what ‖u‖ may be for ‖x‖ = 1."""
    problem = plant.problem
    rng = np.random.default_rng(0)
    V = rng.normal(size=(DRAWS, problem.p, problem.n))
    V /= np.linalg.norm(V, axis=(1, 2), keepdims=True)
    V[: DRAWS // 2] *= _few(rng, V[: DRAWS // 2])
    V /= np.linalg.norm(V, axis=(1, 2), keepdims=True)
    gains = batched_gains(problem, V)
    return float(np.linalg.norm(gains, 2, axis=(-2, -1)).max())


def _few(rng: np.random.Generator, V: np.ndarray) -> np.ndarray:
    """Masks that keep a third of the entries: the extreme models are sparse."""
    return np.asarray(rng.random(V.shape) < 0.34) + 1e-6


def norm_identity(plant: Plant) -> tuple[float, float]:
    """|J(π̃ on Θ*) − J*(Θ̃) − Σ E[‖Θ*'z‖ᵏ − ‖Θ̃'z‖ᵏ in P̃]| for k = 2 and for k = 1, without disturbance."""
    problem = plant.problem
    other = 0.7 * plant.Theta
    quiet = problem.with_(disturbance=type(problem.disturbance)("sphere", 0.0, problem.n))
    model = Plant(quiet, other[: problem.n].T, other[problem.n :].T)
    gains, x = model.optimal_gains, problem.start.center
    P = _values(model)
    left = Plant(quiet, plant.A, plant.B).cost(gains) - model.optimal_cost
    square = plain = 0.0
    for h, K in enumerate(gains):
        z = np.concatenate([x, K @ x])
        true, believed = plant.Theta.T @ z, other.T @ z
        a, b = float(true @ P[h + 1] @ true), float(believed @ P[h + 1] @ believed)
        square += a - b
        plain += np.sqrt(max(a, 0.0)) - np.sqrt(max(b, 0.0))
        x = true
    return abs(left - square), abs(left - float(plain))


def _values(model: Plant) -> list[np.ndarray]:
    """P_1 … P_{H+1} of the model's optimum."""
    problem, out = model.problem, [np.zeros((model.problem.n, model.problem.n))]
    for K in model.optimal_gains[::-1]:
        L = model.A + model.B @ K
        out.append(problem.Q + K.T @ problem.R @ K + L.T @ out[-1] @ L)
    return out[::-1]


def raw_beta(plant: Plant, users: int, alpha: float) -> tuple[float, float]:
    """β from raw sums, which leaks, and from the released V (its noise at 0), after `users` under the optimum."""
    problem = plant.problem
    constants = paper_constants(problem, Budget(8.0), users, alpha)
    fixed = Regularisers.private(constants)
    mean = user_moments(plant, plant.optimal_gains, paper_collection(problem)).mean
    S = np.zeros((problem.p, problem.p))
    S[np.triu_indices(problem.p)] = users * mean[: problem.p * (problem.p + 1) // 2]
    S = S + np.triu(S, 1).T
    logs = [
        float(np.linalg.slogdet(np.eye(problem.p) + (S + extra * np.eye(problem.p)) / fixed.lambda_min)[1])
        for extra in (0.0, fixed.eta - fixed.lambda_min)
    ]
    return radius(problem, logs[0], fixed, alpha), radius(problem, logs[1], fixed, alpha)


def clipped_cost(name: str) -> tuple[float, float]:
    """The median of many controllers planned for models of the prior: by the linear formula, and as it is played."""
    plant = load(name)
    if not isinstance(plant, Plant):
        raise InvalidInput("clipped_plant", f"is {name!r}, a problem without its truth", "give a plant")
    rng = np.random.default_rng(0)
    models = np.stack([from_prior(plant.problem, rng).Theta for _ in range(MODELS)])
    gains = sorted(batched_gains(plant.problem, models), key=plant.cost)[MODELS // 2]
    run = Assignment("clipped", controller(plant.problem, gains), paper_collection(plant.problem))
    users = 4096
    return plant.cost(gains), play(plant, run, 0, 0, users).cost / users
