"""From the words of the command line to something that can be audited: the code that simulations and agents run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..device import Collection
from ..errors import InvalidInput
from ..lq import Problem
from ..privacy.budget import Budget
from ..privacy.mechanisms import Mechanism, NoiseSource, Strategy, Tree
from ..privacy.mechanisms.stream import StreamNoise
from ..privacy.paper import paper_tree
from ..privacy.release import Release
from ..privacy.schedule import Schedule
from ..privacy.terms import strategy_of, terms
from .audit import Claim, Target
from .canaries import neighbours, worst_people
from .subject import AgentCuration, Crowd, Curation, Make

AGENT_BLOCKS = 4
"""Blocks of a whole agent that the exact part plays: the second is the first that any release has shaped."""


def target_of(
    problem: Problem, profile: str, budget: Budget, users: int, mechanism: str | None = None,
    first: int = 256, growth: float = 2.0, energy: float | None = None,
) -> Target:  # fmt: skip
    """A profile on a problem. The canary is the worst pair of the first block's collection, at its first place."""
    t = terms(problem, profile, budget, users, mechanism, first, growth, energy)
    if t.guarantee is None:
        raise InvalidInput("profile", f"is {profile!r}, which promises nothing", "audit `refined` or `paper`")
    schedule = Schedule(first, growth, users)
    strategy: Strategy
    if profile == "paper":
        strategy = paper_tree(problem, budget, users)
    else:
        strategy = strategy_of(t.mechanism, budget, schedule, t.collection)
    sizes = dyadic_sizes(strategy, users) if isinstance(strategy, Tree) else tuple(schedule.sizes())
    one, other = worst_people(t.collection, t.scales, budget.adjacency)
    statistical = fixed_curation(strategy, sizes, t.collection)
    exact: list[tuple[Make, dict[str, tuple[Crowd, Crowd]]]] = [(statistical, neighbours(one, other, (0, sizes[0])))]
    if t.mechanism == "blocks":
        make = agent_curation(problem, budget, users)
        block = make(StreamNoise(0)).agent.block
        assert block is not None
        people = worst_people(block.collection, block.scales, budget.adjacency)
        exact.append((make, neighbours(*people, (0, block.users))))
    claim = Claim(budget.epsilon, budget.delta, budget.adjacency, t.guarantee.mu)
    name = f"{profile} on {problem.name}: {t.mechanism}"
    return Target(name, claim, tuple(exact), statistical, (Crowd(other, other), Crowd(one, other)))


def dyadic_sizes(tree: Tree, users: int) -> tuple[int, ...]:
    """Block sizes that release after 1, 2, 4, … users: each adds the one node of its level that holds the first person.

    The releases in between add only nodes without her, and so tell nothing more about her.
    """
    ends = [1 << level for level in range(tree.levels) if 1 << level <= users]
    return tuple(int(size) for size in np.diff([0, *ends]))


def fixed_curation(strategy: Strategy, sizes: tuple[int, ...], collection: Collection) -> Make:
    def rule(seen: list[Release]) -> Collection:
        return collection

    return lambda source: Curation(Mechanism(strategy, source), sizes, rule)


def agent_curation(problem: Problem, budget: Budget, users: int) -> Callable[[NoiseSource], AgentCuration]:
    """The whole `refined` agent: learner, planner, excitation and recentring."""
    from ..profiles import build, profile_named

    refined = profile_named("refined")
    return lambda source: AgentCuration(build(problem, refined, budget, users, source=source), AGENT_BLOCKS)
