"""What is audited: anything that opens blocks, takes reports and publishes releases, driven through one small door."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..agent import Agent
from ..device import Collection, Report
from ..errors import HushloopError
from ..privacy.mechanisms import Mechanism, NoiseSource
from ..privacy.mechanisms.base import dump_collection
from ..privacy.release import Release, Sums


@dataclass(frozen=True, eq=False)
class Stage:
    """What a device may know while a block is open."""

    collection: Collection
    users: int
    assignment_id: str
    public: dict[str, Any] = field(default_factory=dict)


class Subject(Protocol):
    """A curator with whatever it publishes."""

    def open(self) -> Stage | None:
        """The next block, or None after the last."""
        ...

    def add(self, report: Report) -> bool: ...

    def add_sums(self, sums: Sums) -> None: ...

    def close(self) -> Release | None: ...

    def restart(self) -> None:
        """Save everything, forget it, load it again: between two blocks."""
        ...


Make = Callable[[NoiseSource], Subject]
Person = Callable[[Collection], tuple[NDArray[np.int64], NDArray[np.int64]]]
"""How one device makes its report: (S, C) in grid units under a collection."""


@dataclass(frozen=True, eq=False)
class Crowd:
    """One data set: the canary, who stands at place `at` (from 0), and everybody else."""

    canary: Person
    others: Person
    at: int = 0


@dataclass(frozen=True, eq=False)
class Transcript:
    """All that is published: releases, and everything else as text, each with the number of releases before it."""

    releases: list[Release]
    decisions: list[tuple[int, str]]


class Curation:
    """A mechanism with public sizes and a rule that makes each block's collection from the releases before it."""

    def __init__(self, mechanism: Mechanism, sizes: Iterable[int], rule: Callable[[list[Release]], Collection]) -> None:
        self.mechanism = mechanism
        self.sizes = list(sizes)
        self.rule = rule
        self.seen: list[Release] = []

    def open(self) -> Stage | None:
        index = self.mechanism.index
        if index >= len(self.sizes):
            return None
        stage = Stage(self.rule(self.seen), self.sizes[index], f"block-{index}")
        self.mechanism.open(stage.collection, stage.users, ids=[stage.assignment_id])
        return stage

    def add(self, report: Report) -> bool:
        assert self.mechanism.block is not None
        return self.mechanism.block.add(report)

    def add_sums(self, sums: Sums) -> None:
        assert self.mechanism.block is not None
        self.mechanism.block.add_sums(sums)

    def close(self) -> Release | None:
        assert self.mechanism.block is not None
        release = self.mechanism.block.close()
        if release is not None:
            self.seen.append(release)
        return release

    def restart(self) -> None:
        m = self.mechanism
        self.mechanism = Mechanism.from_state(m.strategy, m.source, m.state())


class AgentCuration:
    """A whole agent, with its learner and planner, for a number of blocks."""

    def __init__(self, agent: Agent, blocks: int) -> None:
        self.agent = agent
        self.left = blocks

    def open(self) -> Stage | None:
        block = self.agent.block
        if self.left == 0 or block is None:
            return None
        self.left -= 1
        assignment = self.agent.assignment()
        return Stage(block.collection, block.users, assignment.id, assignment.to_dict())

    def add(self, report: Report) -> bool:
        assert self.agent.block is not None
        return self.agent.block.add(report)

    def add_sums(self, sums: Sums) -> None:
        assert self.agent.block is not None
        self.agent.block.add_sums(sums)

    def close(self) -> Release | None:
        return self.agent.close()

    def restart(self) -> None:
        old, m = self.agent, self.agent.mechanism
        loaded = Mechanism.from_state(m.strategy, m.source, m.state())
        self.agent = Agent.from_state(old.problem, old.learner, loaded, old.state())


def play(subject: Subject, crowd: Crowd, before_close: Callable[[], None] = lambda: None) -> Transcript:
    """Run the whole stream once, with one restart and one report sent again in a later block."""
    releases: list[Release] = []
    decisions: list[tuple[int, str]] = []

    def publish(text: str) -> None:
        decisions.append((len(releases), text))

    start, sent = 0, None
    while (stage := subject.open()) is not None:
        publish(repr((dump_collection(stage.collection), stage.users, stage.assignment_id, stage.public)))
        if sent is not None:
            publish(reply(subject, sent))
            sent = None
        if start <= crowd.at < start + stage.users:
            add_others(subject, stage, crowd, crowd.at - start)
            S, C = crowd.canary(stage.collection)
            sent = Report(S, C, stage.assignment_id, "canary")
            publish(reply(subject, sent))
            add_others(subject, stage, crowd, start + stage.users - crowd.at - 1)
        else:
            add_others(subject, stage, crowd, stage.users)
        before_close()
        release = subject.close()
        if release is not None:
            publish(described(release))
            releases.append(release)
        if start == 0:
            subject.restart()
        start += stage.users
    return Transcript(releases, decisions)


def add_others(subject: Subject, stage: Stage, crowd: Crowd, count: int) -> None:
    if count > 0:
        S, C = crowd.others(stage.collection)
        subject.add_sums(Sums(count, S.astype(object) * count, C.astype(object) * count))


def reply(subject: Subject, report: Report) -> str:
    """What the device is told."""
    try:
        return str(subject.add(report))
    except HushloopError as why:
        return f"{type(why).__name__}: {why}"


def described(release: Release) -> str:
    """Everything that a release says but its noisy sums."""
    r = release
    names = (r.index, r.users, r.total_users, r.sigma_s, r.sigma_c, r.isotropic, r.kind, r.fresh)
    return repr((names, dump_collection(r.collection)))
