"""Many users of a true plant under one assignment: their exact sums, and what they lost against the best controller."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..device import Assignment
from ..lq import Disturbance, Plant, Start
from ..lq.problem import Array
from ..privacy.release import Sums

if TYPE_CHECKING:
    from ..kernels.episodes import EpisodeSums


class Ruler:
    """What losses are measured against: the optimal linear controller of the true plant, and its exact cost."""

    def __init__(self, plant: Plant) -> None:
        self.plant = plant
        self.gains = plant.optimal_gains
        self.best = plant.optimal_cost

    def loss(self, assignment: Assignment, x1: Array | None) -> float:
        """Exact mean loss of a linear policy, for the law of the start or for one start."""
        c = assignment.controller
        if x1 is None:
            return self.plant.cost(c.gains, c.excitation) - self.best
        X1 = np.outer(x1, x1)
        return self.plant.cost(c.gains, c.excitation, X1) - self.plant.cost(self.gains, 0.0, X1)


class Tally:
    """The losses of some users: exact where no control was cut, else paired on the same noise, with their spread.

    One cut control makes all of them paired: to choose user by user would count those who are cut twice, once in
    what the others' linear policy is expected to cost.
    """

    def __init__(self) -> None:
        self.cut = False  # whether any control was
        self.exact = 0.0  # sum of exact losses while none was
        self.difference = self.square = 0.0  # of the paired losses

    def add(self, ruler: Ruler, assignment: Assignment, played: EpisodeSums, own: Array | None) -> None:
        self.difference += played.cost - played.compare
        self.square += played.cost_sq - 2 * played.cross + played.compare_sq
        self.cut |= played.clipped_steps > 0
        if not self.cut:
            self.exact += played.users * ruler.loss(assignment, None if own is None else own[0])

    def mean(self, users: int) -> tuple[float, float]:
        """Mean loss over all `users`, and its standard error."""
        if not self.cut:
            return self.exact / users, 0.0
        spread = max(self.square - self.difference**2 / users, 0.0)
        return self.difference / users, math.sqrt(spread / (users * max(users - 1, 1)))


def play(
    plant: Plant,
    assignment: Assignment,
    seed: int,
    first_user: int,
    users: int,
    starts: Array | None = None,
    threads: int | None = None,
    compare: Array | None = None,
) -> EpisodeSums:
    """Run users first_user.. of `seed`; `compare` are the gains that run beside on the same noise."""
    from ..kernels.episodes import episodes

    problem, c, g = plant.problem, assignment.controller, assignment.collection
    return episodes(
        seed, first_user, users,
        A=plant.A, B=plant.B, Q=problem.Q, R=problem.R, gains=c.gains, control_bound=c.control_bound,
        center=g.center, shape=g.shape, energy=g.energy, disturbance_bound=g.disturbance_bound,
        response_bound=g.response_bound, weighting=g.weighting, response_budget=g.response_budget,
        disturbance=disturbance_law(problem.disturbance), start=start_law(problem.start), excitation=c.excitation,
        control_low=c.control_low, control_high=c.control_high, compare=compare, starts=starts, threads=threads,
    )  # fmt: skip


def sums_of(played: EpisodeSums) -> Sums:
    """What the curator counts."""
    return Sums(played.users, played.S, played.C)


def disturbance_law(disturbance: Disturbance) -> Any:
    from ..kernels.episodes import Law

    return Law(disturbance.law, disturbance.bound, disturbance.std, disturbance.scale, None)


def start_law(start: Start) -> Any:
    from ..kernels.episodes import Law

    return Law(start.law, start.radius, start.std, None, start.center)
