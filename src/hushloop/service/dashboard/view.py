"""All that the page shows, as one frozen value. Every field is public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...device import Controller
from ...lq import Problem, split
from ...lq.problem import Array
from ...privacy.statement import Statement
from ..protocol import ReleaseOut
from .history import Point

EPISODES = 48
"""Simulated for each picture of the trajectories."""


@dataclass(frozen=True, eq=False)
class View:
    """`status` is ok, finished, or why nothing is accepted now."""

    problem: Problem
    status: str
    releases: tuple[ReleaseOut, ...]
    points: tuple[Point, ...]  # one more than releases
    served: Controller
    first: Controller  # what ran before the first release
    block_users: int | None  # public size of the open block; None when finished
    deadline: float | None  # seconds since 1970
    statement: Statement
    runs: tuple[Run, ...]

    @property
    def users(self) -> int:
        """In closed blocks."""
        return self.releases[-1].total_users if self.releases else 0

    @property
    def epsilons(self) -> dict[str, float]:
        """ε by adjacency, the promised one first."""
        g = self.statement.document["guarantee"]
        return {g["adjacency"]: g["epsilon"], **g["also"]}

    @property
    def delta(self) -> float:
        return float(self.statement.document["guarantee"]["delta"])


@dataclass(frozen=True, eq=False)
class Run:
    """One state or input over an episode: mean, tenth and ninetieth percentile (3, steps) of each controller."""

    name: str
    before: Array
    now: Array


def runs(problem: Problem, Theta: Array, first: Controller, served: Controller) -> tuple[Run, ...]:
    """Both controllers, unexcited, on the released estimate, with the same public draws."""
    before, now = (simulate(problem, Theta, c) for c in (first, served))
    return tuple(
        Run(name, spread(old), spread(new)) for name, old, new in zip(names(problem), before, now, strict=True)
    )


def names(problem: Problem) -> list[str]:
    """Of states, then of inputs."""
    if problem.units is not None:
        return [*problem.units.state_names, *problem.units.input_names]
    return [*(f"x{i + 1}" for i in range(problem.n)), *(f"u{j + 1}" for j in range(problem.d))]


def simulate(problem: Problem, Theta: Array, controller: Controller) -> list[Array]:
    """Each state (EPISODES, H+1) and each input (EPISODES, H), in units where the problem has them."""
    A, B = split(Theta)
    rng, still = np.random.default_rng(0), np.zeros(problem.d)
    x = problem.start.sample(EPISODES, rng)
    X, U = [x], []
    for h in range(problem.horizon):
        u = np.array([controller.control(h, row, still) for row in x])
        with np.errstate(all="ignore"):
            x = x @ A.T + u @ B.T + problem.disturbance.sample(EPISODES, rng)
        X.append(x)
        U.append(u)
    states, inputs = np.stack(X, axis=2), np.stack(U, axis=2)  # (episodes, n or d, steps)
    if problem.units is not None:
        states = physical(states, problem.units.state_scale, problem.units.state_setpoint)
        inputs = physical(inputs, problem.units.input_scale, problem.units.input_setpoint)
    return [*np.moveaxis(states, 1, 0), *np.moveaxis(inputs, 1, 0)]


def physical(values: Array, scale: Array, setpoint: Array) -> Array:
    return np.asarray(setpoint[:, None] + scale[:, None] * values)


def spread(values: Array) -> Array:
    return np.stack([values.mean(axis=0), *np.quantile(values, (0.1, 0.9), axis=0)])
