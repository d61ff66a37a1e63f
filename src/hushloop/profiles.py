"""Profiles: plain values that name one choice for each part of an agent, and how they become one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from .agent import Agent
from .device import Collection
from .errors import InvalidInput
from .learning.belief import Belief
from .learning.block_learner import BlockLearner
from .learning.confidence import cumulative, paper
from .learning.confidence.paper import Regularisers
from .learning.learner import Guard, Learner, Order, Planner
from .learning.planners import PLANNERS, oracle
from .learning.planners.safe import safe
from .learning.prefix_learner import PrefixLearner, cumulative_rule, paper_rule
from .lq import Plant, Problem
from .privacy.budget import Budget
from .privacy.mechanisms import Blocks, Exact, Factorised, Mechanism, NoiseSource, Strategy, Tree
from .privacy.noise import ExactNoise, SeededNoise
from .privacy.paper import paper_collection, paper_constants
from .privacy.schedule import Schedule, every, geometric, whole
from .privacy.sensitivity import NoiseScales
from .privacy.terms import first_collection


@dataclass(frozen=True)
class Profile:
    """One choice for each part. None means that the agent chooses by itself, from public values."""

    name: str
    mechanism: str  # blocks | tree | factorised | none
    belief: str  # recursive | cumulative | paper
    planner: str  # excited | certainty | optimistic | relaxed | thompson | oracle | idle
    private: bool = True
    alpha: float = 0.1
    first: int | None = None
    growth: float | None = None
    energy: float | None = None
    excite: tuple[float, ...] | None = None
    safe: float | None = None  # τ
    baseline: Literal["idle", "nominal"] = "idle"

    def with_(self, **changes: Any) -> Profile:
        """A copy with the changes that are not None."""
        return replace(self, **{key: value for key, value in changes.items() if value is not None})

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


# `paper` looks at the releases, which there is one of after every episode, each time the users have grown by a
# twentieth; first = 1 and growth = 1 re-plan after every episode, as Algorithm 1 is printed (docs/theory/paper.md).
BELIEFS = ("recursive", "cumulative", "paper")

PROFILES = {
    "refined": Profile("refined", "blocks", "recursive", "excited"),
    "nonprivate": Profile("nonprivate", "none", "recursive", "excited", private=False),
    "paper": Profile("paper", "tree", "paper", "optimistic", first=64, growth=1.05),
    "ofu": Profile("ofu", "none", "paper", "optimistic", private=False),
}


def profile_named(name: str) -> Profile:
    if name not in PROFILES:
        raise InvalidInput("profile", f"is {name!r}", f"choose one of {', '.join(PROFILES)}")
    return PROFILES[name]


def build(
    problem: Problem,
    profile: Profile,
    budget: Budget | None = None,
    users: int | None = None,
    seed: int | None = None,
    source: NoiseSource | None = None,
    truth: Plant | None = None,
) -> Agent:
    """An agent, ready for people: its noise is exact and comes from the system's entropy.

    With a `seed` everything reproduces, and its noise protects nobody: that is for simulations. `truth` is for the
    planner `oracle` alone, a ruler in simulations.
    """
    if users is not None:
        whole("users", users)
    if profile.private and budget is None:
        raise InvalidInput("epsilon", f"is missing, and the profile {profile.name!r} is private", "say what to promise")
    if not profile.private and profile.mechanism != "none":
        raise InvalidInput(
            "mechanism", f"is {profile.mechanism!r} for the profile {profile.name!r}", "it promises nothing and has no "
            "noise: take `refined` or `paper`",
        )  # fmt: skip
    if source is None:
        source = ExactNoise() if seed is None else SeededNoise(seed)
    learner = learner_of(problem, profile, budget, users, seed or 0, truth)
    return Agent(problem, learner, Mechanism(strategy_of(problem, profile, budget, users, learner), source), users)


def learner_of(
    problem: Problem, profile: Profile, budget: Budget | None, users: int | None, seed: int, truth: Plant | None
) -> Learner:
    """The learner that a profile names."""
    if profile.belief not in BELIEFS:
        raise InvalidInput("belief", f"is {profile.belief!r}", f"choose one of {', '.join(BELIEFS)}")
    if profile.energy is not None:
        problem = problem.with_(energy=profile.energy)
    planner, guard = planner_named(problem, profile, truth), guard_of(profile)
    if profile.belief == "recursive":
        if profile.mechanism not in ("blocks", "none"):
            raise InvalidInput("mechanism", f"is {profile.mechanism!r}", "the recursive belief needs `blocks`")
        return BlockLearner(
            problem, budget if profile.private else None, profile.alpha, users, profile.first, profile.growth or 2.0,
            profile.excite, planner, guard, seed,
        )  # fmt: skip
    return _prefix_learner(problem, profile, budget, users, seed, planner, guard)


def first_order(problem: Problem, profile: Profile, budget: Budget | None, users: int | None) -> Order:
    """What an agent's first block runs and how it reports: made from public values before anybody has come."""
    learner = learner_of(problem, profile, budget, users, 0, None)
    return learner.order(learner.start())


def _prefix_learner(
    problem: Problem, profile: Profile, budget: Budget | None, users: int | None, seed: int,
    planner: Planner | None, guard: Guard | None,
) -> PrefixLearner:  # fmt: skip
    if profile.mechanism == "blocks":
        raise InvalidInput("mechanism", "is 'blocks'", f"the belief {profile.belief!r} needs sums of everybody so far")
    schedule = schedule_of(profile, users)
    paper_like, regularisers = profile.belief == "paper", None
    collection = paper_collection(problem) if paper_like else first_collection(problem)
    noise = _noise_of(problem, profile, budget, schedule, collection)
    if paper_like:
        regularisers = Regularisers.ridge(ridge_strength(problem))
        if profile.private:
            regularisers = Regularisers.private(paper_constants(problem, _needed(budget), _known(users), profile.alpha))
        rule = paper_rule(problem, regularisers, profile.alpha)
        first_belief = paper.start(problem, regularisers, profile.alpha).belief
    else:
        worst = noise(_known(users)) if profile.private else NoiseScales(0.0, 0.0)
        releases = schedule.blocks if schedule.users is not None else 1
        rule = cumulative_rule(problem, cumulative.rule(problem, worst.sigma_s, worst.sigma_c, releases, profile.alpha))
        first_belief = Belief.ball(problem.nominal, problem.prior_radius)
    return PrefixLearner(
        problem, collection, schedule, rule, first_belief, planner, noise, paper_like, profile.excite, guard, seed,
        regularisers,
    )  # fmt: skip


def ridge_strength(problem: Problem) -> float:
    """λ of `ofu`: the ridge at which its bias r₀√λ is C_w√(np), the size of what the disturbance adds."""
    return max(problem.n * problem.p * (problem.disturbance_bound / problem.prior_radius) ** 2, 1e-9)


def strategy_of(
    problem: Problem, profile: Profile, budget: Budget | None, users: int | None, learner: Learner
) -> Strategy:
    """The release strategy that a profile names."""
    if profile.mechanism == "none":
        return Exact(kind="block" if isinstance(learner, BlockLearner) else "prefix")
    if isinstance(learner, PrefixLearner):
        return _prefix_strategy(problem, profile, _needed(budget), learner.schedule, learner.collection)
    return Blocks(_needed(budget))


def _prefix_strategy(
    problem: Problem, profile: Profile, budget: Budget, schedule: Schedule, collection: Collection
) -> Strategy:
    users = _known(schedule.users)
    if profile.mechanism == "factorised":
        return Factorised(collection, budget, schedule.blocks)
    if profile.mechanism != "tree":
        raise InvalidInput("mechanism", f"is {profile.mechanism!r}", "choose one of blocks, tree, factorised, none")
    if profile.belief == "paper":
        constants = paper_constants(problem, budget, users, profile.alpha)
        return Tree.printed(collection, constants.sigma, users, budget.participations)
    return Tree.spending(budget, collection, users)


def _noise_of(
    problem: Problem, profile: Profile, budget: Budget | None, schedule: Schedule, collection: Collection
) -> Callable[[int], NoiseScales]:
    """Noise of the noisiest release, whatever the number of users: what a planner expects of the next one."""
    if not profile.private or profile.mechanism == "none":
        return lambda users: NoiseScales(0.0, 0.0)
    if profile.belief == "paper":
        return lambda users: paper_constants(problem, _needed(budget), _known(schedule.users), profile.alpha).sigma
    strategy = _prefix_strategy(problem, profile, _needed(budget), schedule, collection)
    ends = tuple(int(end) for end in np.cumsum(list(schedule.sizes())))
    factor = float(np.sqrt((strategy.weights(ends) ** 2).sum(axis=1).max()))
    scales = strategy.scales(collection)
    worst = NoiseScales(scales.sigma_s * factor, scales.sigma_c * factor)
    return lambda users: worst


def schedule_of(profile: Profile, users: int | None) -> Schedule:
    """When prefixes are released: `paper` and `ofu` after every episode, the others on a geometric schedule."""
    if profile.first is None and profile.growth is None and profile.belief == "paper":
        return every(1, users)
    return geometric(profile.first or 512, profile.growth or 1.5, users)


def planner_named(problem: Problem, profile: Profile, truth: Plant | None) -> Planner | None:
    """The planner that a profile names; None is the greedy one with excitation, which learners know by themselves."""
    if profile.planner not in PLANNERS:
        raise InvalidInput("planner", f"is {profile.planner!r}", f"choose one of {', '.join(PLANNERS)}")
    if profile.planner == "excited":
        return None
    if profile.planner == "oracle":
        if truth is None:
            raise InvalidInput("planner", "is 'oracle', which needs the truth", "it is a ruler for simulations alone")
        return oracle(truth)
    return PLANNERS[profile.planner]


def guard_of(profile: Profile) -> Guard | None:
    """--safe τ: what a plan must pass before it is run."""
    if profile.safe is None:
        return None
    tau, baseline = profile.safe, profile.baseline
    return lambda problem, belief, plan: safe(problem, belief, plan, tau, baseline)


def _needed(budget: Budget | None) -> Budget:
    if budget is None:
        raise InvalidInput("epsilon", "is missing", "say what is to be promised, such as 1")
    return budget


def _known(users: int | None) -> int:
    if users is None:
        raise InvalidInput("users", "is missing", "the noise of this profile depends on K: name it, or take `refined`")
    return users


def refined(
    problem: Problem, budget: Budget, users: int | None = None, seed: int | None = None, **changes: Any
) -> Agent:
    """The default: blocks, recursive belief, greedy with excitation. Needs no K."""
    return build(problem, PROFILES["refined"].with_(**changes), budget, users, seed)


def paper_agent(problem: Problem, budget: Budget, users: int, seed: int | None = None, **changes: Any) -> Agent:
    """Private-OFU-RL as published, for the printed ε and δ."""
    return build(problem, PROFILES["paper"].with_(**changes), budget, users, seed)


def ofu(problem: Problem, users: int | None = None, seed: int | None = None, **changes: Any) -> Agent:
    """Theorem 1 without privacy: H_k = λI, L_k = 0."""
    return build(problem, PROFILES["ofu"].with_(**changes), None, users, seed)


def nonprivate(problem: Problem, users: int | None = None, seed: int | None = None, **changes: Any) -> Agent:
    """`refined` without noise."""
    return build(problem, PROFILES["nonprivate"].with_(**changes), None, users, seed)
