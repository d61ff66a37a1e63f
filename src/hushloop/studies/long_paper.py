"""The paper's profile carried on to billions of users, where playing each of them is out of reach.

It is re-planned at geometric times, which is post-processing of the same releases. Between two such times everybody
runs one linear controller, so the sums are their exact mean plus a Gaussian fluctuation of their exact covariance. The
noise is the tree's own, node by node: the same draws as in a full simulation of that seed. The regret is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import HushloopError
from ..learning.confidence import paper
from ..learning.learner import Knowledge
from ..learning.plan import Plan
from ..learning.planners.optimistic import optimistic
from ..learning.prefix_learner import PrefixLearner, paper_rule
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


def setup(problem: Problem, budget: Budget, users: int, noise: str) -> tuple[PrefixLearner, Tree]:
    """The paper's learner and its tree. `noise`: printed, exact (least noise that keeps ε), or isotropic as well.

    Isotropic noise also gets the tighter Λ = σ√m(√(2p) + √(2 ln(4K/α))) and ν that hold for it.
    """
    alpha = PROFILES["paper"].alpha
    learner = learner_of(problem, PROFILES["paper"], budget, users, 0, None)
    assert isinstance(learner, PrefixLearner)
    learner = replace(learner, planner=planned, per_start=False)
    constants = paper_constants(problem, budget, users, alpha)
    if noise == "printed":
        return learner, Tree.printed(learner.collection, constants.sigma, users, budget.participations)
    tree = Tree.spending(budget, learner.collection, users, isotropic=noise == "isotropic")
    sigma, root = tree.given, math.sqrt(tree.levels)
    regularisers = regularisers_of(problem, sigma.sigma_s * root, sigma.sigma_c * root, users, alpha, tree.isotropic)
    first = paper.start(problem, regularisers, alpha).belief
    return replace(learner, rule=paper_rule(problem, regularisers, alpha), first_belief=first), tree


def regularisers_of(
    problem: Problem, sigma_s: float, sigma_c: float, releases: int, alpha: float, tight: bool
) -> paper.Regularisers:
    """Assumption 2 for the noisiest of `releases` releases, as the paper prints it or as tightly as it may be."""
    p, entries = problem.p, problem.n * problem.p
    log_s, log_c = math.log(4 * releases / alpha), math.log(2 * releases / alpha)
    spread = math.sqrt(2 * p) + math.sqrt(2 * log_s) if tight else 4 * math.sqrt(p) + math.sqrt(8 * log_s)
    Lambda = sigma_s * spread
    cross = math.sqrt(entries) + math.sqrt(2 * log_c) if tight else math.sqrt(2 * entries) + math.sqrt(4 * log_c)
    return paper.Regularisers(2 * Lambda, Lambda, 3 * Lambda, sigma_c / math.sqrt(Lambda) * cross)


def long_run(
    plant: Plant, budget: Budget, users: int, seed: int, growth: float = 1.1, noise: str = "printed"
) -> Iterator[dict[str, Any]]:
    """One row for each time at which the paper is re-planned: users so far, how many since, and their mean loss."""
    problem = plant.problem
    learner, tree = setup(problem, budget, users, noise)
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
        index, users, users, S + N, C + L, tree.given.sigma_s * root, tree.given.sigma_c * root, tree.isotropic,
        tree.collection, "prefix", False,
    )  # fmt: skip
