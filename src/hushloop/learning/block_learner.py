"""The learner of `refined`: one ellipsoid and one estimate, both recentred block by block; needs no K."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import InvalidInput
from ..lq import Problem
from ..privacy.budget import Adjacency, Budget
from ..privacy.release import Release
from ..privacy.schedule import Schedule
from .belief import Array
from .confidence import recursive
from .design import Design, Frame, design, largest_excitation
from .estimate import prior_estimate
from .learner import Guard, Knowledge, Order, Planner
from .plan import Plan
from .planners.excited import Outcomes, greedy, model_draws, outcomes
from .planners.loss_form import loss_forms

AHEAD = 5.0
"""A block is designed for five times the users so far, this block included."""

LEAST_FIRST, LEARNT = 16, 0.15
"""The first block is the least power of two, from 16, after which the predicted loss is at most .15 of the prior's."""


@dataclass(frozen=True)
class BlockLearner:
    """Belief: MATH of docs/theory/recursive.md. Every choice is a function of public values."""

    problem: Problem
    budget: Budget | None  # None: no privacy
    alpha: float = 0.1
    users: int | None = None  # K, where it is known
    first: int | None = None  # None: chosen by `first_size`
    growth: float = 2.0
    excite: tuple[float, ...] | None = None  # fixed excitation, block by block; the last one stays
    planner: Planner | None = None
    guard: Guard | None = None  # --safe
    seed: int = 0  # of the public draws that a planner makes
    plans_for_each_start: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise InvalidInput("alpha", f"is {self.alpha}", "give a number above 0 and below 1")
        Schedule(1 if self.first is None else self.first, self.growth, self.users)  # checks them

    @property
    def mu(self) -> float:
        return math.inf if self.budget is None else self.budget.mu

    @property
    def adjacency(self) -> Adjacency:
        return "replace-one" if self.budget is None else self.budget.adjacency

    def start(self) -> Knowledge:
        begin = recursive.start(self.problem)
        return Knowledge(begin.belief, prior_estimate(self.problem))

    def size(self, knowledge: Knowledge) -> int:
        """Users of the next block: ⌊first·growthᵗ⌋, or less where deadlines have ended blocks before they were full.

        It depends on the number of releases and of users in closed blocks, which are public.
        """
        first, t = self.first_block, knowledge.releases
        full = first * self.growth**t if t * math.log(self.growth) < 700.0 else math.inf
        came = first + math.ceil((self.growth - 1.0) * (knowledge.users + t))  # at least `full` where all were full
        size = int(min(full, came))
        return size if self.users is None else min(size, self.users - knowledge.users)

    def order(self, knowledge: Knowledge) -> Order:
        users = self.size(knowledge)
        plan, likely = self._plan(knowledge)
        excite = self._excitation(knowledge)
        if self.planner is not None and excite is None:
            excite = plan.excitation
        chosen = design(self.problem, knowledge.estimate, likely, self.frame(knowledge, users), excite)
        plan = replace(plan, excitation=chosen.excitation, note=plan.note or self._why(chosen))
        if self.guard is not None:
            guarded = self.guard(self.problem, knowledge.belief, plan)
            if guarded is not plan:
                likely = self._outcomes(knowledge, guarded.gains)
                frame = self.frame(knowledge, users)
                chosen = design(self.problem, knowledge.estimate, likely, frame, guarded.excitation)
                plan = guarded
        return Order(plan, chosen.collection, users, chosen.scales, chosen.moments)

    def learn(self, knowledge: Knowledge, order: Order, release: Release) -> Knowledge:
        state = recursive.RecursiveState(
            knowledge.belief, knowledge.estimate, knowledge.releases, knowledge.contradictions
        )
        p = self.problem.p
        importance = order.moments + 0.05 * float(np.trace(order.moments)) / p * np.eye(p)
        # blocks that close at a deadline can be any number, so α is divided among infinitely many
        alpha_t = recursive.alpha_of(self.alpha, knowledge.releases, None)
        state = recursive.update(self.problem, state, release, alpha_t, importance)
        return Knowledge(
            state.belief, state.estimate, state.index, release.total_users, state.contradictions, state.note
        )

    def plan_for(self, knowledge: Knowledge, order: Order, x1: Array) -> Plan:
        """One plan for all starts: it was made for the second moment of their law."""
        return order.plan

    @cached_property
    def most(self) -> float:
        """The largest excitation that may be chosen."""
        return largest_excitation(self.problem)

    @cached_property
    def first_block(self) -> int:
        """Users of the first block."""
        return first_size(self) if self.first is None else self.first

    def frame(self, knowledge: Knowledge, users: int) -> Frame:
        """Centre and shape of the next collection: the belief, or at first the prior with its operator radius."""
        problem, belief = self.problem, knowledge.belief
        unmoved = np.array_equal(belief.center, problem.nominal)
        shape = belief.shape
        if unmoved and knowledge.releases == 0:
            assert problem.operator_radius is not None
            shape = problem.operator_radius * np.eye(problem.p)
        ahead = AHEAD * (knowledge.users + users)
        if self.users is not None:
            ahead = min(ahead, float(self.users - knowledge.users - users))
        response = problem.response_bound if unmoved else None
        return Frame(
            knowledge.releases, belief.center, shape, response, users, ahead, self.mu, self.adjacency, self.most
        )

    def _plan(self, knowledge: Knowledge) -> tuple[Plan, Outcomes]:
        if self.planner is None:
            likely = greedy(self.problem, knowledge.estimate, self._draw_seed(knowledge))
            return Plan(likely.gains, knowledge.estimate.mean, likely.value), likely
        plan = self.planner(self.problem, knowledge, self._draw_seed(knowledge))
        return plan, self._outcomes(knowledge, plan.gains)

    def _outcomes(self, knowledge: Knowledge, gains: Array) -> Outcomes:
        models = model_draws(self.problem, knowledge.estimate, self._draw_seed(knowledge))
        return outcomes(self.problem, models, loss_forms(self.problem, models), gains)

    def _draw_seed(self, knowledge: Knowledge) -> int:
        return self.seed * 1_000_003 + knowledge.releases if self.planner is not None else knowledge.releases

    def _excitation(self, knowledge: Knowledge) -> float | None:
        if self.excite is None:
            return None
        return self.excite[min(knowledge.releases, len(self.excite) - 1)]

    def _why(self, chosen: Design) -> str:
        return f"excitation {chosen.excitation:.3g}: predicted loss of {chosen.loss_after:.3g} a user after this block"


def first_size(learner: BlockLearner) -> int:
    """The first block, from the prior and the budget alone."""
    start = learner.start()
    likely = greedy(learner.problem, start.estimate, learner._draw_seed(start))
    before = float(np.trace(np.linalg.solve(start.estimate.precision, likely.form)))
    size = LEAST_FIRST
    while size < 2**40:
        chosen = design(learner.problem, start.estimate, likely, learner.frame(start, size))
        if chosen.loss_after <= LEARNT * before:
            break
        size *= 2
    return size if learner.users is None else min(size, learner.users)
