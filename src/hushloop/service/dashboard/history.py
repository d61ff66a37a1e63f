"""What was known after each release and what it was worth, worked out again from the releases alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...agent import controller
from ...device import Controller
from ...learning.learner import Knowledge, Learner
from ...learning.planners.relaxed import lower_bound, worst_cost
from ...learning.planners.safe import baseline_gains
from ...lq import Problem, policy_cost, split
from ...lq.problem import Array
from ...privacy.mechanisms.base import load_collection
from ...privacy.release import Release
from ...profiles import learner_of
from ..deployment import Deployment
from ..protocol import ReleaseOut


@dataclass(frozen=True)
class Cost:
    """A controller's expected cost on the released estimate, and the most that it is certified to cost."""

    expected: float
    most: float  # infinite where nothing is certified


@dataclass(frozen=True, eq=False)
class Point:
    """After a release, or before the first one."""

    knowledge: Knowledge
    gains: Array  # (H, d, n), what the next block runs
    excitation: float
    least: float  # certified: no controller costs less
    learner: Cost
    idle: Cost
    nominal: Cost


class History:
    """Points so far; each release is learned once."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.problem = deployment.problem
        profile, budget, users = deployment.profile, deployment.budget, deployment.users
        self.learner: Learner = learner_of(self.problem, profile, budget, users, 0, None)
        start = self.learner.start()
        self._order = self.learner.order(start)
        plan = self._order.plan
        self.points = [point(self.problem, start, plan.gains, plan.excitation)]

    @property
    def first(self) -> Controller:
        """What ran before the first release."""
        return controller(self.problem, self.points[0].gains, self.points[0].excitation)

    def extend(self, releases: Sequence[ReleaseOut]) -> None:
        """Learn what is new among all releases so far."""
        for out in releases[len(self.points) - 1 :]:
            knowledge = self.learner.learn(self.points[-1].knowledge, self._order, released(out))
            K = self.deployment.users
            if K is None or knowledge.users < K:  # else the last controller stays
                self._order = self.learner.order(knowledge)
            plan = self._order.plan
            self.points.append(point(self.problem, knowledge, plan.gains, plan.excitation))

    def with_served(self, served: Controller) -> tuple[Point, ...]:
        """All points, the last one with the controller that is served now."""
        last = self.points[-1]
        return (*self.points[:-1], point(self.problem, last.knowledge, served.gains, served.excitation))


def released(out: ReleaseOut) -> Release:
    """A published release as the learner takes it."""
    return Release(
        out.index, out.users, out.total_users, np.array(out.T1), np.array(out.T2), out.sigma_s, out.sigma_c, True,
        load_collection(out.collection), "block",
    )  # fmt: skip


def point(problem: Problem, knowledge: Knowledge, gains: Array, excitation: float) -> Point:
    def cost(K: Array, push: float = 0.0) -> Cost:
        expected = policy_cost(problem, *split(knowledge.estimate.mean), K, excitation=push)
        return Cost(expected, worst_cost(problem, knowledge.belief, K, push))

    return Point(
        knowledge, gains, excitation, lower_bound(problem, knowledge.belief), cost(gains, excitation),
        cost(baseline_gains(problem, "idle")), cost(baseline_gains(problem, "nominal")),
    )  # fmt: skip
