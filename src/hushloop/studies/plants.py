"""Plants that no gallery has: random ones of any size, and draws from what a problem's prior allows."""

from __future__ import annotations

import numpy as np

from ..errors import HushloopError, InvalidInput
from ..lq import Disturbance, Plant, Problem, Start
from ..lq.files import load
from ..lq.problem import split

TRIES = 100


def random_plant(n: int, d: int, horizon: int, seed: int, radius: float = 0.5) -> Plant:
    """A stable plant with ρ(A) = .7, known to within `radius` in Frobenius norm; costs Q = I, R = I/10."""
    rng = np.random.default_rng((n, d, seed))
    A = rng.normal(size=(n, n))
    A *= 0.7 / float(np.abs(np.linalg.eigvals(A)).max())
    B = rng.normal(size=(n, d))
    B *= 0.5 / float(np.linalg.norm(B, 2))
    start = np.full(n, 1.0 / np.sqrt(n))
    off = rng.normal(size=(n + d, n))
    off *= 0.8 * radius / float(np.linalg.norm(off))
    problem = Problem(
        name=f"random-{n}-{d}-{horizon}", Q=np.eye(n), R=0.1 * np.eye(d), horizon=horizon, start=Start("fixed", start),
        disturbance=Disturbance("sphere", 0.1, n), control_bound=3.0, response_bound=2.0,
        nominal=np.hstack([A, B]).T + off, radius=radius,
    )  # fmt: skip
    return Plant(problem, A, B)


def drawn_plant(name: str, seed: int, index: int) -> Plant:
    """Draw number `index` from the prior of a plant of the gallery or of a file."""
    found = load(name)
    return from_prior(found.problem if isinstance(found, Plant) else found, np.random.default_rng((seed, index)))


def from_prior(problem: Problem, rng: np.random.Generator) -> Plant:
    """A truth in {‖Θ − Θ₀‖_F ≤ r₀, ‖Θ − Θ₀‖₂ ≤ r_op}; what cannot be controlled is drawn again.

    The direction is uniform, the length uniform by volume up to where the prior ends: in a ball, the uniform law.
    """
    assert problem.operator_radius is not None
    for _ in range(TRIES):
        off = rng.normal(size=(problem.p, problem.n))
        reach = min(problem.radius / np.linalg.norm(off), problem.operator_radius / np.linalg.norm(off, 2))
        off *= reach * rng.uniform() ** (1.0 / off.size)
        try:
            return Plant(problem, *split(problem.nominal + off))
        except InvalidInput:
            continue
    raise HushloopError(f"no controllable plant was found in the prior of {problem.name}: move its nominal model")
