"""`simulate`: a profile against a plant, everything resolved and said in the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from typing import Any

from ..agent import Agent
from ..errors import InvalidInput
from ..learning.block_learner import BlockLearner
from ..lq import Plant
from ..privacy.budget import Budget
from ..privacy.schedule import whole
from ..profiles import Profile, build, profile_named
from .result import Result
from .rows import Progress, Starts, simulate_rows


def simulate(
    profile: str | Profile,
    plant: Plant,
    users: int,
    seeds: int | Iterable[int] = 1,
    budget: Budget | None = None,
    seed: int = 0,
    starts: Starts | None = None,
    progress: Callable[[Progress], None] | None = None,
    workers: int | None = None,
) -> Result:
    """Play K = `users` users with each seed. `seeds` is how many, counted from `seed`, or the seeds themselves.

    `starts` gives x₁ of each user (from 0) instead of the plant's law. A profile that needs no K is not told it.
    """
    whole("users", users)
    if isinstance(seeds, int):
        whole("seeds", seeds)
        seeds = range(seed, seed + seeds)
    seeds = tuple(seeds)
    for one in seeds:
        if isinstance(one, bool) or not isinstance(one, int) or not 0 <= one < 2**62:
            raise InvalidInput("seed", f"is {one!r}", "give whole numbers from 0 to 2⁶²")
    given = profile_named(profile) if isinstance(profile, str) else profile
    resolved = resolve(given, plant, budget)
    known = None if resolved.belief == "recursive" else users

    def make(one: int) -> Agent:
        return build(plant.problem, resolved, budget, known, one, truth=plant)

    first = make(seeds[0])
    runs = simulate_rows(make, plant, users, seeds, starts, progress, workers)
    configuration = {
        "plant": plant.name,
        "profile": resolved.name,
        "resolved": resolved.to_dict(),
        "users": users,
        "seeds": list(seeds),
        **({} if budget is None or not resolved.private else asdict(budget)),
    }
    return Result(
        runs.rows, runs.seeds, configuration, _guarantee(first, resolved, budget), plant.optimal_cost, plant.idle_cost,
        plant.nominal_cost, runs.seconds, runs.interrupted,
    )  # fmt: skip


def resolve(profile: Profile, plant: Plant, budget: Budget | None) -> Profile:
    """The profile with everything filled in that the agent picks before the first user, the same for all seeds."""
    if profile.private and budget is None:
        raise InvalidInput("epsilon", f"is missing, and the profile {profile.name!r} is private", "say what to promise")
    if profile.belief != "recursive":
        return profile
    problem = plant.problem if profile.energy is None else plant.problem.with_(energy=profile.energy)
    budget = budget if profile.private else None
    learner = BlockLearner(problem, budget, profile.alpha, first=profile.first, growth=profile.growth or 2.0)
    return replace(profile, first=learner.first_block, growth=learner.growth)


def _guarantee(agent: Agent, profile: Profile, budget: Budget | None) -> dict[str, Any] | None:
    """What the run promises; None where nothing is."""
    if budget is None or not profile.private or profile.mechanism == "none":
        return None
    return asdict(agent.guarantee(budget.delta, budget.adjacency))
