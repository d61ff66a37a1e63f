"""The paper's profile carried on to billions of users, where playing each of them is out of reach.

It is re-planned at geometric times, which is post-processing of the same releases. Between two such times everybody
runs one linear controller, so the sums are their exact mean plus a Gaussian fluctuation of their exact covariance. The
noise is the tree's own, node by node: the same draws as in a full simulation of that seed. The regret is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import HushloopError
from ..learning.learner import Knowledge
from ..learning.plan import Plan
from ..learning.planners.optimistic import optimistic
from ..learning.prefix_learner import PrefixLearner
from ..lq import Plant, Problem
from ..lq.problem import Array
from ..privacy.budget import Budget
from ..privacy.mechanisms.tree import Tree, new_nodes
from ..privacy.noise import SeededNoise
from ..privacy.paper import paper_constants
from ..privacy.release import Release
from ..profiles import PROFILES, learner_of
from .moments import user_moments


def planned(problem: Problem, knowledge: Knowledge, seed: int) -> Plan:
    """The paper's planner without the certificate, which changes no plan."""
    return optimistic(problem, knowledge.belief, knowledge.warm, certify=False)


def geometric_times(users: int, growth: float) -> list[int]:
    """1, …, users: every whole number at first, then by a factor."""
    out = [1]
    while out[-1] < users:
        out.append(min(users, max(out[-1] + 1, int(out[-1] * growth))))
    return out


def long_run(plant: Plant, budget: Budget, users: int, seed: int, growth: float = 1.1) -> Iterator[dict[str, Any]]:
    """One row for each time at which the paper is re-planned: users so far, how many since, and their mean loss."""
    problem = plant.problem
    learner = learner_of(problem, PROFILES["paper"], budget, users, seed, None)
    assert isinstance(learner, PrefixLearner)
    learner = replace(learner, planner=planned, per_start=False)
    constants = paper_constants(problem, budget, users, PROFILES["paper"].alpha)
    tree = Tree.printed(learner.collection, constants.sigma, users, budget.participations)
    knowledge, before = learner.start(), 0
    sums = np.zeros(problem.p * (problem.p + 1) // 2 + problem.p * problem.n)
    for index, end in enumerate(geometric_times(users, growth)):
        order = learner.order(knowledge)
        gains = order.plan.gains
        one = user_moments(plant, gains, learner.collection)
        if one.control_reach > problem.control_bound or one.response_reach > problem.response_bound:
            raise HushloopError(
                f"after {before} users a control or a response of {problem.name} could be clipped, where no closed form"
                " holds: simulate it in full (hushloop run --profile paper)"
            )
        sums = sums + one.total(end - before, np.random.default_rng((seed, index, 11)))
        yield {
            "users": end, "block_users": end - before, "loss": plant.cost(gains) - plant.optimal_cost,
            "covered": knowledge.belief.contains(plant.Theta),
        }  # fmt: skip
        if end < users:
            release = noisy(problem, tree, SeededNoise(seed), sums, index, end)
            knowledge = learner.learn(knowledge, order, release)
        before = end


def noisy(problem: Problem, tree: Tree, source: SeededNoise, sums: Array, index: int, users: int) -> Release:
    """The release after `users`: the sums hidden by the noise of the nodes that cover 1..users."""
    p, n = problem.p, problem.n
    N, L = np.zeros((p, p)), np.zeros((p, n))
    cover = new_nodes(0, users)
    for key in cover:
        noise = tree.draw(source, key, p, n, tree.given)
        N, L = N + noise.N, L + noise.L
    S = np.zeros((p, p))
    S[np.triu_indices(p)] = sums[: p * (p + 1) // 2]
    S = S + np.triu(S, 1).T
    C = sums[p * (p + 1) // 2 :].reshape(p, n)
    root = float(np.sqrt(len(cover)))
    return Release(
        index, users, users, S + N, C + L, tree.given.sigma_s * root, tree.given.sigma_c * root, False,
        tree.collection, "prefix", False,
    )  # fmt: skip
