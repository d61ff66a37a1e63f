"""Many users, many seeds: an agent against a true plant, with exact regret and one row a release."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from typing import TYPE_CHECKING, Any

import numpy as np

from ..agent import Agent, controller
from ..device import Assignment
from ..learning.confidence.paper import events
from ..learning.learner import Order
from ..learning.prefix_learner import PrefixLearner
from ..lq import Plant
from ..lq.problem import Array
from ..privacy.release import Sums
from ..privacy.terms import first_collection
from .play import Ruler, Tally, play, sums_of

if TYPE_CHECKING:
    from ..kernels.episodes import EpisodeSums

ROW_SHARE = 0.02
"""Blocks shorter than this share of the users before them are put together in one row."""

Starts = Callable[[int], Array]
"""x₁ of user k (from 0): an adversary's, or somebody's own."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    users: int
    total: int
    row: Row | None  # the newest row


@dataclass(frozen=True, eq=False)
class Runs:
    """The rows of all seeds that were finished, in the order of the seeds."""

    rows: list[Row]
    seeds: tuple[int, ...]  # those that are whole
    seconds: float
    interrupted: bool


def simulate_rows(
    make: Callable[[int], Agent],
    plant: Plant,
    users: int,
    seeds: Iterable[int],
    starts: Starts | None = None,
    progress: Callable[[Progress], None] | None = None,
    workers: int | None = None,
) -> Runs:
    """Play `users` users with a fresh agent for each seed. Ctrl-C keeps the seeds that are whole."""
    warm_up(plant)
    begin = time.perf_counter()
    seeds = tuple(seeds)
    workers = min(len(seeds), workers or cpu_count() or 1)
    stop = threading.Event()
    done = [0] * len(seeds)

    def one(at: int) -> list[Row] | None:
        rows: list[Row] = []
        for row in play_seed(make(seeds[at]), plant, users, seeds[at], starts, None if workers == 1 else 1):
            rows.append(row)
            done[at] = row["users"]
            if progress is not None:
                progress(Progress(sum(done), users * len(seeds), row))
            if stop.is_set():
                return None
        return rows

    found: list[list[Row] | None] = [None] * len(seeds)
    interrupted = False
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(one, at) for at in range(len(seeds))]
        try:
            for at, future in enumerate(futures):
                found[at] = future.result()
        except KeyboardInterrupt:
            interrupted = True
            stop.set()
            for future in futures:
                future.cancel()
            for at, future in enumerate(futures):
                if future.done() and not future.cancelled() and future.exception() is None:
                    found[at] = future.result()
        except BaseException:  # one seed failed: the others need not go on
            stop.set()
            for future in futures:
                future.cancel()
            raise
    whole = tuple(seed for seed, rows in zip(seeds, found, strict=True) if rows is not None)
    return Runs([row for rows in found for row in rows or ()], whole, time.perf_counter() - begin, interrupted)


def play_seed(
    agent: Agent, plant: Plant, users: int, seed: int, starts: Starts | None = None, threads: int | None = None
) -> Iterable[Row]:
    """One agent's rows, as they come."""
    ruler = Ruler(plant)
    each_start = starts is not None or (agent.learner.plans_for_each_start and plant.problem.start.law != "fixed")
    done, pending = 0, _Pending(seed, ruler)
    exact: Sums | None = None
    if isinstance(agent.learner, PrefixLearner) and agent.learner.regularisers is not None:
        exact = Sums.zero(plant.problem.p, plant.problem.n)  # what the noise is measured against
    while done < users and not agent.finished:
        size = min(agent.room, users - done)
        own: Array | None = None
        if each_start:
            size = 1
            own = _start(plant, starts, seed, done)
        assignment = agent.assignment(None if own is None else own[0])
        played = play(plant, assignment, seed, done, size, own, threads, ruler.gains)
        order, before = agent.order, agent.mechanism.index
        sums = sums_of(played)
        agent.receive_sums(sums)
        exact = None if exact is None else exact + sums
        done += size
        pending.add(order, assignment, played, own)
        if agent.mechanism.index != before:
            pending.released(agent, exact)
        if pending.size >= ROW_SHARE * (done - pending.size) or done >= users or agent.finished:
            yield pending.row(agent, done)
            pending = _Pending(seed, ruler)


def warm_up(plant: Plant) -> None:
    """Compile, or load from the cache, what the runs will use, so that their time is theirs alone."""
    assignment = Assignment(
        "warm-up", controller(plant.problem, plant.optimal_gains), first_collection(plant.problem, 1.0)
    )
    play(plant, assignment, 0, 0, 1, compare=plant.optimal_gains)


class _Pending:
    """What happened since the last row."""

    def __init__(self, seed: int, ruler: Ruler) -> None:
        self.seed, self.ruler, self.size = seed, ruler, 0
        self.loss = Tally()
        self.excitation = self.promised = self.weight = 0.0
        self.clipped = self.steps = self.failed = 0
        self.gap: float | None = None
        self.covered = True
        self.measured = self.held = 0  # releases whose noise was held against Assumption 2, and those that met it

    def add(self, order: Order, assignment: Assignment, played: EpisodeSums, own: Array | None) -> None:
        n = played.users
        self.size += n
        self.loss.add(self.ruler, assignment, played, own)
        self.excitation += n * order.plan.excitation
        self.promised += n * order.plan.value
        if order.plan.gap is not None:
            self.gap = max(self.gap or 0.0, order.plan.gap)
        self.failed += order.plan.failed
        self.clipped += played.clipped_steps
        self.steps += played.steps
        self.weight += played.weight

    def released(self, agent: Agent, exact: Sums | None) -> None:
        self.covered &= agent.knowledge.belief.contains(self.ruler.plant.Theta)
        release, learner = agent.release, agent.learner
        if exact is None or release is None or release.users != exact.users:
            return
        assert isinstance(learner, PrefixLearner)
        assert learner.regularisers is not None
        S, C = exact.matrices(release.collection.p, release.collection.n)
        self.measured += 1
        self.held += events(release.T1 - S, release.T2 - C, learner.regularisers).hold

    def row(self, agent: Agent, done: int) -> Row:
        n, release = self.size, agent.release
        mean, stderr = self.loss.mean(n)
        return {
            "seed": self.seed,
            "releases": agent.mechanism.index,
            "users": done,
            "block_users": n,
            "loss": float(mean),
            "loss_stderr": float(stderr),
            "exact": not self.loss.cut,
            "excitation": float(self.excitation / n),
            "energy": None if release is None else release.collection.energy,
            "sigma_s": None if release is None else release.sigma_s,
            "sigma_c": None if release is None else release.sigma_c,
            "clipped_share": self.clipped / self.steps,
            "included_share": self.weight / self.steps,
            "covered": self.covered,
            "promised": float(self.promised / n),
            "cost": float(self.ruler.best + mean),
            "optimism_gap": None if self.gap is None else float(self.gap),
            "failed": self.failed,
            "contradictions": agent.knowledge.contradictions,
            "assumption_2_measured": self.measured,
            "assumption_2_held": self.held,
        }


def _start(plant: Plant, starts: Starts | None, seed: int, user: int) -> Array:
    if starts is not None:
        return np.asarray(starts(user), dtype=float).reshape(1, -1)
    return plant.problem.start.sample(1, np.random.default_rng((seed, user, 7)))
