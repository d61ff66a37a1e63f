"""Private identification from recorded trajectories: one release, then a belief, an estimate and a controller."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .device import Collection
from .errors import InvalidInput
from .learning.belief import Belief, Estimate
from .learning.block_learner import BlockLearner
from .learning.confidence import recursive
from .learning.design import block_scales, collect
from .learning.plan import Plan
from .learning.planners.excited import greedy
from .lq import Problem, split
from .lq.problem import Array
from .privacy.budget import Adjacency, Budget, Guarantee
from .privacy.mechanisms import Blocks, Mechanism, NoiseSource
from .privacy.noise import ExactNoise
from .privacy.release import Release, Sums
from .privacy.schedule import Schedule
from .privacy.sensitivity import NoiseScales
from .privacy.terms import Terms, first_collection, schedule_document
from .simulation.reports import summed
from .trajectories import Trajectories, read_trajectories

if TYPE_CHECKING:
    from .privacy.statement import Statement


@dataclass(frozen=True, eq=False)
class Fit:
    """What one release of recorded trajectories teaches. All of it may be shown."""

    problem: Problem
    budget: Budget
    users: int
    episodes: int
    collection: Collection
    scales: NoiseScales
    release: Release
    guarantee: Guarantee
    belief: Belief
    estimate: Estimate
    plan: Plan
    certified: tuple[float, float]  # bounds: of the best cost possible, and of this controller's; may be infinite
    contradicted: bool  # the release fits no plant within the prior: belief and bounds are those of the prior
    source: NoiseSource

    def statement(self) -> Statement:
        """What is promised to the people in the file."""
        from .privacy.statement import state

        keys: tuple[Adjacency, Adjacency] = ("replace-one", "zero-out")
        strategy = Blocks(self.budget)
        mus = {key: strategy.guarantee(self.budget.delta, key).mu for key in keys}
        schedule = schedule_document(Schedule(self.episodes, 2.0, self.episodes))
        return state(
            Terms(
                self.problem, "fit", "blocks", self.budget, self.guarantee, mus, self.collection, self.scales,
                self.scales, True, schedule,
            ),
            self.source,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The JSON document of `hushloop fit`."""
        A, B = split(self.estimate.mean)
        belief = self.belief
        return {
            "plant": self.problem.name,
            "users": self.users,
            "episodes": self.episodes,
            "guarantee": asdict(self.guarantee),
            "estimate": {"A": A, "B": B, "precision": self.estimate.precision},
            "belief": {
                "axes": belief.semi_axes, "center": belief.center, "shape": belief.shape,
                "ball_center": belief.ball_center, "ball_radius": belief.ball_radius,
                "contradicted": self.contradicted,
            },
            "gains": self.plan.gains,
            "value": self.plan.value,
            "certified": {"low": self.certified[0], "high": self.certified[1]},
            "collection": {"energy": self.collection.energy, "response_energy": self.collection.response_energy},
            "release": {
                "T1": self.release.T1, "T2": self.release.T2, "sigma_s": self.scales.sigma_s,
                "sigma_c": self.scales.sigma_c, "source": self.source.name,
            },
            "statement": self.statement().to_dict(),
        }  # fmt: skip


def fit(
    problem: Problem,
    data: Trajectories | str | Path,
    budget: Budget,
    alpha: float = 0.1,
    energy: float | None = None,
    excitation: float = 0.0,
    source: NoiseSource | None = None,
) -> Fit:
    """Learn from recorded episodes with one noisy release. Everything but `data` must be public: chosen without it.

    `energy` is E, what the weights of an episode's steps may spend; without it, a tenth more than is predicted for
    episodes whose inputs were excited by ±`excitation`.
    """
    if not isinstance(data, Trajectories):
        data = read_trajectories(data, problem, budget.participations)
    _check(problem, data, budget)
    source = ExactNoise() if source is None else source
    learner = BlockLearner(problem, budget, alpha, first=data.episodes)
    begin = learner.start()
    prior = greedy(problem, begin.estimate, 0)
    moments = prior.S0 + excitation**2 * prior.S1
    if energy is None:
        energy = collect(problem, learner.frame(begin, data.episodes), moments, None).energy
    collection = first_collection(problem, energy)
    scales = block_scales(collection, begin.estimate.precision, budget.mu, budget.adjacency)
    release, guarantee = _release(collection, scales, data, budget, source)
    importance = moments + 0.05 * float(np.trace(moments)) / problem.p * np.eye(problem.p)
    state = recursive.update(problem, recursive.start(problem), release, recursive.alpha_of(alpha, 0, 1), importance)
    likely = greedy(problem, state.estimate, 0)
    return Fit(
        problem, budget, data.users, data.episodes, collection, scales, release, guarantee, state.belief,
        state.estimate, Plan(likely.gains, state.estimate.mean, likely.value),
        _certified(problem, state.belief, likely.gains), state.contradictions > 0, source,
    )  # fmt: skip


def _check(problem: Problem, data: Trajectories, budget: Budget) -> None:
    """What the guarantee counts on, also where the trajectories come from no file."""
    if data.longest > problem.horizon:
        raise InvalidInput("trajectories", f"have {data.longest} steps", f"at most {problem.horizon} belong to one")
    if data.most > budget.participations or data.episodes > data.users * data.most:
        raise InvalidInput(
            "participations", f"is {budget.participations}, and {data.users} users have {data.episodes} episodes, at "
            f"most {data.most} each", "keep fewer of them, or promise for more: the noise grows with it",
        )  # fmt: skip


def _release(
    collection: Collection, scales: NoiseScales, data: Trajectories, budget: Budget, source: NoiseSource
) -> tuple[Release, Guarantee]:
    """One block, opened with its noise before the first sum is made."""
    mechanism = Mechanism(Blocks(budget), source)
    block = mechanism.open(collection, data.episodes, scales)
    for group in data.groups:
        S, C = summed(collection, group.states, group.controls)
        block.add_sums(Sums(group.states.shape[0], S, C))
    release = block.close()
    assert release is not None
    return release, mechanism.guarantee(budget.delta, budget.adjacency)


def _certified(problem: Problem, belief: Belief, gains: Array) -> tuple[float, float]:
    from .learning.planners.relaxed import certified_interval

    return certified_interval(problem, belief, gains)
