"""Agents that lack one idea each: what the ablation is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..agent import Agent
from ..device import Collection
from ..errors import InvalidInput
from ..learning.belief import Belief
from ..learning.block_learner import BlockLearner
from ..learning.confidence import cumulative, paper
from ..learning.design import MARGIN, block_scales
from ..learning.learner import Knowledge, Learner, Order
from ..learning.plan import Plan
from ..learning.planners import PLANNERS
from ..learning.prefix_learner import PrefixLearner, cumulative_rule, paper_rule
from ..lq import Plant, Problem
from ..lq.problem import Array
from ..privacy.budget import Budget
from ..privacy.mechanisms import Blocks, Factorised, Mechanism
from ..privacy.noise import SeededNoise
from ..privacy.paper import paper_collection
from ..privacy.release import Release
from ..privacy.schedule import geometric
from ..privacy.sensitivity import NoiseScales
from ..privacy.terms import first_collection
from ..simulation.rows import simulate_rows
from .cell import Cell, Rows
from .long_paper import planned, regularisers_of
from .tasks import plant_of, rows_of

TASK = "hushloop.studies.variants:variant"
ALPHA, FIRST, GROWTH = 0.1, 512, 1.5
PREFIX: dict[str, dict[str, Any]] = {
    "factorised": {"belief": "paper", "energy": None, "greedy": False},
    "energy": {"belief": "paper", "energy": 2.0, "greedy": False},
    "cumulative": {"belief": "cumulative", "energy": 2.0, "greedy": False},
    "greedy": {"belief": "cumulative", "energy": 2.0, "greedy": True},
}
"""Prefix sums through the factorised mechanism, one idea more at a time."""

WITHOUT = ("excitation", "recentring", "response budget", "weighting", "energy budget")
"""What a block learner can be made to do without."""


@dataclass(frozen=True, eq=False)
class Without:
    """A block learner whose orders lack some ideas; budgets and noise are then chosen for what is left."""

    inner: BlockLearner
    lacking: tuple[str, ...]

    @property
    def plans_for_each_start(self) -> bool:
        return False

    def start(self) -> Knowledge:
        return self.inner.start()

    def order(self, knowledge: Knowledge) -> Order:
        order = self.inner.order(knowledge)
        collection = self._collection(order.collection, order.moments)
        T = np.eye(collection.p) if collection.weighting is None else collection.weighting
        precision = T @ knowledge.estimate.precision @ T
        scales = block_scales(collection, precision, self.inner.mu, self.inner.adjacency)
        return replace(order, collection=collection, scales=scales)

    def learn(self, knowledge: Knowledge, order: Order, release: Release) -> Knowledge:
        return self.inner.learn(knowledge, order, release)

    def plan_for(self, knowledge: Knowledge, order: Order, x1: Array) -> Plan:
        return order.plan

    def _collection(self, c: Collection, moments: Array) -> Collection:
        problem = self.inner.problem
        if "weighting" in self.lacking:
            energy = min(max(MARGIN * float(np.trace(moments)), float(np.trace(problem.X1))), problem.full_energy)
            c = replace(c, weighting=None, energy=energy)
        if "energy budget" in self.lacking:
            c = replace(c, weighting=None, energy=problem.full_energy)
        if "recentring" in self.lacking:
            fixed = first_collection(problem)
            c = replace(c, center=fixed.center, shape=fixed.shape, response_bound=fixed.response_bound)
            assert c.shape is not None
            reach = MARGIN * float(np.sum((c.shape @ c.shape) * moments))
            c = replace(c, response_budget=reach)
        if "response budget" in self.lacking:
            c = replace(c, response_budget=None, weighting=None)
        return c


def variant(o: dict[str, Any]) -> Rows:
    """One seed of an agent that lacks something."""
    plant, budget = plant_of(o["plant"]), Budget(o["epsilon"])
    runs = simulate_rows(lambda seed: agent(plant, budget, o, seed), plant, o["users"], (o["seed"],), workers=1)
    head = {
        "plant": plant.name, "agent": o["label"], "epsilon": o["epsilon"], "delta": budget.delta,
        "best": plant.optimal_cost, "idle": plant.idle_cost, "label": o["label"], "scale": o["scale"],
        "group": o["group"],
    }  # fmt: skip
    return rows_of(runs.rows, plant, head)


def variant_cell(plant: str, epsilon: float, users: int, seed: int, label: str, group: str, **what: Any) -> Cell:
    options = {
        "plant": plant, "epsilon": epsilon, "users": users, "scale": users, "seed": seed, "label": label,
        "group": group, **what,
    }  # fmt: skip
    return Cell(TASK, options, f"{label}, {users:,} users, seed {seed}", 2.0 * users)


def agent(plant: Plant, budget: Budget, o: dict[str, Any], seed: int) -> Agent:
    if "prefix" in o:
        return prefix_agent(plant.problem, budget, o["users"], seed, **PREFIX[o["prefix"]])
    lacking = tuple(o["without"])
    for name in lacking:
        if name not in WITHOUT:
            raise InvalidInput("without", f"is {name!r}", f"choose among {', '.join(WITHOUT)}")
    planner = PLANNERS["certainty"] if "excitation" in lacking else None
    learner: Learner = Without(BlockLearner(plant.problem, budget, ALPHA, planner=planner, seed=seed), lacking)
    return Agent(plant.problem, learner, Mechanism(Blocks(budget), SeededNoise(seed)))


def prefix_agent(
    problem: Problem, budget: Budget, users: int, seed: int, belief: str, energy: float | None, greedy: bool
) -> Agent:
    """Factorised prefix sums on a geometric schedule."""
    schedule = geometric(FIRST, GROWTH, users)
    problem = problem if energy is None else problem.with_(energy=energy)
    collection = paper_collection(problem) if energy is None else first_collection(problem)
    strategy = Factorised(collection, budget, schedule.blocks)
    ends = tuple(int(end) for end in np.cumsum(list(schedule.sizes())))
    factor = math.sqrt(float((strategy.weights(ends) ** 2).sum(axis=1).max()))
    scales = strategy.scales(collection)
    worst = NoiseScales(scales.sigma_s * factor, scales.sigma_c * factor)
    if belief == "paper":
        fixed = regularisers_of(problem, worst.sigma_s, worst.sigma_c, schedule.blocks, ALPHA, True)
        rule, first = paper_rule(problem, fixed, ALPHA), paper.start(problem, fixed, ALPHA).belief
    else:
        bound = cumulative.rule(problem, worst.sigma_s, worst.sigma_c, schedule.blocks, ALPHA)
        rule, first = cumulative_rule(problem, bound), Belief.ball(problem.nominal, problem.prior_radius)
    learner = PrefixLearner(
        problem, collection, schedule, rule, first, None if greedy else planned, lambda k: worst, seed=seed
    )
    return Agent(problem, learner, Mechanism(strategy, SeededNoise(seed)), users)
