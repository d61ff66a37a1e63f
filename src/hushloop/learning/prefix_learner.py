"""The learner of prefix sums under one fixed collection: `paper`, `ofu`, and the classical kind for comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..device import Collection
from ..lq import Problem
from ..privacy.release import Release
from ..privacy.schedule import Schedule
from ..privacy.sensitivity import NoiseScales
from .belief import Array, Belief, Estimate
from .block_learner import AHEAD
from .confidence import cumulative, paper
from .design import best_excitation
from .estimate import prior_estimate, update_estimate
from .learner import Guard, Knowledge, Order, Planner
from .plan import Plan
from .planners.excited import greedy

Believed = tuple[Belief, Estimate, str]
"""A belief and an estimate; a note says that the release gave no belief, so that the last good one is kept."""

Rule = Callable[[Knowledge, Release], Believed]


def paper_rule(problem: Problem, regularisers: paper.Regularisers, alpha: float) -> Rule:
    """Lemma 1 under changing regularisers."""
    fresh = paper.start(problem, regularisers, alpha)

    def rule(knowledge: Knowledge, release: Release) -> Believed:
        state = paper.update(problem, replace(fresh, belief=knowledge.belief), release, regularisers, alpha)
        return state.belief, Estimate(state.center, state.V), state.note

    return rule


def cumulative_rule(problem: Problem, fixed: cumulative.Rule) -> Rule:
    """The self-normalised bound that holds noise and disturbance together."""
    prior = prior_estimate(problem)

    def rule(knowledge: Knowledge, release: Release) -> Believed:
        before = cumulative.CumulativeState(knowledge.belief, knowledge.releases)
        state = cumulative.update(problem, before, release, fixed)
        return state.belief, update_estimate(problem, prior, release), state.note

    return rule


@dataclass(frozen=True)
class PrefixLearner:
    """Each release sums up everybody so far, so a belief is made of the latest alone."""

    problem: Problem
    collection: Collection
    schedule: Schedule
    rule: Rule
    first_belief: Belief
    planner: Planner | None  # None: greedy with excitation
    noise: Callable[[int], NoiseScales]  # of the release after so many users
    per_start: bool = False  # plan for each user's own x₁
    excite: tuple[float, ...] | None = None
    guard: Guard | None = None
    seed: int = 0
    regularisers: paper.Regularisers | None = None  # what the belief of the paper counts on, where it is that one

    @property
    def plans_for_each_start(self) -> bool:
        return self.per_start

    def start(self) -> Knowledge:
        return Knowledge(self.first_belief, prior_estimate(self.problem))

    def order(self, knowledge: Knowledge) -> Order:
        users = self.size(knowledge)
        if self.planner is None:
            likely = greedy(self.problem, knowledge.estimate, self._draw_seed(knowledge))
            scales = self.noise(knowledge.users + users)
            ahead = AHEAD * (knowledge.users + users)
            if self.schedule.users is not None:
                ahead = min(ahead, float(self.schedule.users - knowledge.users - users))
            excite = 0.0
            if self.excite is None:
                excite = best_excitation(self.problem, likely, scales, users, knowledge.users, ahead)
            plan = Plan(likely.gains, knowledge.estimate.mean, likely.value, excite)
        else:
            plan = self.planner(self.problem, knowledge, self._draw_seed(knowledge))
        plan = self._checked(self.problem, knowledge, plan)
        return Order(plan, self.collection, users, None, np.zeros((self.problem.p, self.problem.p)))

    def _draw_seed(self, knowledge: Knowledge) -> int:
        return self.seed * 1_000_003 + knowledge.releases

    def _checked(self, problem: Problem, knowledge: Knowledge, plan: Plan) -> Plan:
        """The plan with the excitation that was fixed, if one was, passed through the guard."""
        if self.excite is not None:
            plan = replace(plan, excitation=self.excite[min(knowledge.releases, len(self.excite) - 1)])
        return plan if self.guard is None else self.guard(problem, knowledge.belief, plan)

    def size(self, knowledge: Knowledge) -> int:
        """Users of the next block; one past the schedule's end, which no agent asks for."""
        schedule = self.schedule
        size = (
            int(schedule.first * schedule.growth ** min(knowledge.releases, 10_000))
            if schedule.growth > 1
            else schedule.first
        )
        return size if schedule.users is None else max(1, min(size, schedule.users - knowledge.users))

    def learn(self, knowledge: Knowledge, order: Order, release: Release) -> Knowledge:
        belief, estimate, note = self.rule(knowledge, release)
        return Knowledge(
            belief, estimate, knowledge.releases + 1, release.total_users,
            knowledge.contradictions + bool(note), note, order.plan.Theta,
        )  # fmt: skip

    def plan_for(self, knowledge: Knowledge, order: Order, x1: Array) -> Plan:
        """The plan for this start, searched from the plan that was made for the law of starts, and kept by nobody."""
        start = self.problem.start
        x1 = np.asarray(x1, dtype=float)
        if not self.per_start or self.planner is None or (start.law == "fixed" and np.array_equal(x1, start.center)):
            return order.plan
        problem = replace(self.problem, start=replace(start, law="fixed", center=x1, radius=0.0, std=None))
        return self._checked(problem, knowledge, self.planner(problem, knowledge, self._draw_seed(knowledge)))
