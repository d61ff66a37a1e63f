"""What a profile promises for a problem, in numbers: guarantee, sensitivity, noise and schedule. No words yet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ..device import Collection
from ..errors import InvalidInput
from ..lq import Problem
from .budget import Adjacency, Budget, Guarantee
from .mechanisms.blocks import Blocks
from .mechanisms.factorised import Factorised
from .mechanisms.tree import Tree
from .paper import PaperConstants, most_nodes, paper_constants, paper_tree
from .schedule import Schedule, whole
from .sensitivity import NoiseScales, pair_sensitivity, separate_sensitivities

Profile = Literal["paper", "refined", "ofu", "nonprivate"]
PROFILES: tuple[str, ...] = get_args(Profile)
MechanismName = Literal["blocks", "tree", "factorised", "none"]
MECHANISMS: tuple[str, ...] = get_args(MechanismName)
Private = Blocks | Tree | Factorised
LISTED_ENDS = 1000
"""Schedules with more releases than this are described by their rule alone."""


@dataclass(frozen=True, eq=False)
class Terms:
    """The numbers behind a statement. No guarantee means that exact sums are released."""

    problem: Problem
    profile: str
    mechanism: str
    claimed: Budget | None
    guarantee: Guarantee | None
    mu: dict[Adjacency, float]  # per person, under each adjacency
    collection: Collection  # of the first block
    scales: NoiseScales  # noise of one measurement
    release_std: NoiseScales  # noise in the worst release
    isotropic: bool
    schedule: dict[str, Any]
    printed: PaperConstants | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the exact guarantee is at least as good as the claim."""
        if self.guarantee is None or self.claimed is None:
            return None
        return self.guarantee.epsilon <= self.claimed.epsilon

    def sensitivity(self) -> dict[str, Any]:
        """The bounds that the device enforces and what they make of the sensitivity, as plain numbers."""
        c = self.collection
        out: dict[str, Any] = {
            "energy": c.energy,
            "response_energy": c.response_energy,
            "weighting": None if c.weighting is None else c.weighting.tolist(),
            "response_budget": c.response_budget,
            "rho": c.rho,
            "disturbance_bound": c.disturbance_bound,
            "response_bound": c.response_bound,
            "horizon": c.horizon,
        }
        for key in _adjacencies():
            S, C = separate_sensitivities(c, key)
            out[key] = {"S": S, "C": C}
            if self.scales.sigma_s > 0:
                out[key]["pair"] = pair_sensitivity(c, 1 / self.scales.sigma_s, 1 / self.scales.sigma_c, key)
        if self.printed is not None:
            out["printed"] = {"delta_1": self.printed.delta_1, "delta_2": self.printed.delta_2}
        return out


def first_collection(problem: Problem, energy: float | None = None) -> Collection:
    """How the first block of `refined` reports: about Θ₀, within the prior, energy as given or as the plant says."""
    if energy is None:
        energy = problem.full_energy if problem.energy is None else problem.energy
    assert problem.operator_radius is not None
    shape = problem.operator_radius * np.eye(problem.p)
    return Collection(
        0, problem.nominal, shape, energy, problem.disturbance_bound, problem.response_bound, problem.horizon
    )


def terms(
    problem: Problem, profile: str, budget: Budget | None, users: int | None = None, mechanism: str | None = None,
    first: int = 256, growth: float = 2.0, energy: float | None = None,
    block: tuple[Collection, NoiseScales] | None = None,
) -> Terms:  # fmt: skip
    """The terms of a profile; `mechanism`, `first`, `growth` and `energy` replace what the profile would choose.

    `block` is how the first block of `refined` collects, and its noise, where a learner has chosen them.
    """
    _one_of("profile", profile, PROFILES)
    if mechanism is not None:
        _one_of("mechanism", mechanism, MECHANISMS)
    if users is not None:
        whole("users", users)
    if profile == "paper":
        return _paper_terms(problem, _needed(budget), users, mechanism, energy)
    if mechanism == "none" or (profile in ("ofu", "nonprivate") and mechanism is None):
        return _exact_terms(problem, profile, users, first, growth, energy)
    if profile != "refined":
        raise InvalidInput("mechanism", f"is {mechanism!r} for the profile {profile!r}", "it has none; take refined")
    schedule = Schedule(first, growth, users)
    return _refined_terms(problem, _needed(budget), schedule, mechanism or "blocks", energy, block)


def _paper_terms(
    problem: Problem, budget: Budget, users: int | None, mechanism: str | None, energy: float | None
) -> Terms:
    if mechanism not in (None, "tree"):
        raise InvalidInput("mechanism", f"is {mechanism!r} for the profile 'paper'", "the paper is its tree")
    if energy is not None:
        raise InvalidInput("energy", f"is {energy} for the profile 'paper'", "leave it out: there it is H(1+γ²)")
    if users is None:
        raise InvalidInput("users", "is missing", "the noise of the paper grows with K: name it")
    constants = paper_constants(problem, budget, users)
    tree = paper_tree(problem, budget, users)
    schedule = {"kind": "every-episode", "first": 1, "growth": 1.0, "users": users, "releases": users}
    return Terms(
        problem, "paper", "tree", budget, tree.guarantee(budget.delta, budget.adjacency), _mus(tree, budget),
        tree.collection, constants.sigma, scaled(constants.sigma, math.sqrt(max(1, most_nodes(users)))), False,
        {**schedule, "levels": constants.depth}, constants,
    )  # fmt: skip


def _refined_terms(
    problem: Problem, budget: Budget, schedule: Schedule, mechanism: str, energy: float | None,
    block: tuple[Collection, NoiseScales] | None,
) -> Terms:  # fmt: skip
    collection = first_collection(problem, energy) if block is None else block[0]
    strategy = strategy_of(mechanism, budget, schedule, collection)
    scales = strategy.scales(collection) if block is None else block[1]
    strategy.check(collection, scales)
    return Terms(
        problem, "refined", mechanism, budget, strategy.guarantee(budget.delta, budget.adjacency),
        _mus(strategy, budget), collection, scales, scaled(scales, worst_factor(strategy, schedule)),
        strategy.isotropic, schedule_document(schedule),
    )  # fmt: skip


def _exact_terms(
    problem: Problem, profile: str, users: int | None, first: int, growth: float, energy: float | None
) -> Terms:
    none = NoiseScales(0.0, 0.0)
    schedule = schedule_document(Schedule(first, growth, users))
    return Terms(
        problem, profile, "none", None, None, {}, first_collection(problem, energy), none, none, True, schedule
    )


def strategy_of(mechanism: str, budget: Budget, schedule: Schedule, collection: Collection) -> Private:
    """The release strategy of that name under this budget."""
    if mechanism == "blocks":
        return Blocks(budget)
    if schedule.users is None:
        raise InvalidInput("users", "is missing", f"the noise of `{mechanism}` depends on K: name it, or take `blocks`")
    if mechanism == "tree":
        return Tree.spending(budget, collection, schedule.users)
    return Factorised(collection, budget, schedule.blocks)


def worst_factor(strategy: Private, schedule: Schedule) -> float:
    """Standard deviation of the noisiest release, in units of one measurement."""
    if strategy.kind == "block":
        return 1.0
    ends = schedule_ends(schedule)
    if isinstance(strategy, Tree):
        return math.sqrt(max(end.bit_count() for end in ends))
    return float(np.sqrt((strategy.weights(ends) ** 2).sum(axis=1).max()))


def schedule_ends(schedule: Schedule) -> tuple[int, ...]:
    """Users in closed blocks at each release; K must be known."""
    return tuple(int(end) for end in np.cumsum(list(schedule.sizes())))


def schedule_document(schedule: Schedule) -> dict[str, Any]:
    """The rule, and where K is known and the list is short, every release."""
    out: dict[str, Any] = {
        "kind": "geometric" if schedule.growth > 1 else "every-episode" if schedule.first == 1 else "every-n",
        "first": schedule.first,
        "growth": schedule.growth,
        "users": schedule.users,
    }
    if schedule.users is not None:
        ends = schedule_ends(schedule)
        out["releases"] = len(ends)
        if len(ends) <= LISTED_ENDS:
            out["ends"] = list(ends)
    return out


def scaled(scales: NoiseScales, factor: float) -> NoiseScales:
    return NoiseScales(scales.sigma_s * factor, scales.sigma_c * factor)


def _adjacencies() -> tuple[Adjacency, ...]:
    return get_args(Adjacency)


def _mus(strategy: Private, budget: Budget) -> dict[Adjacency, float]:
    """μ of one person under each adjacency."""
    return {key: strategy.guarantee(budget.delta, key).mu for key in _adjacencies()}


def _needed(budget: Budget | None) -> Budget:
    if budget is None:
        raise InvalidInput("epsilon", "is missing", "say what is to be promised, such as 1")
    return budget


def _one_of(key: str, value: str, names: tuple[str, ...]) -> None:
    if value not in names:
        raise InvalidInput(key, f"is {value!r}", f"choose one of {', '.join(names)}")
