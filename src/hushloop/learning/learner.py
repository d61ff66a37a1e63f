"""What turns releases into the next order: the contract between an agent and whatever does its thinking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ..device import Collection
from ..lq import Problem
from ..privacy.release import Release
from ..privacy.sensitivity import NoiseScales
from .belief import Array, Belief, Estimate
from .plan import Plan


@dataclass(frozen=True, eq=False)
class Order:
    """What the next block runs and how it reports: made before its first report, from releases alone."""

    plan: Plan
    collection: Collection
    users: int  # the block's public size
    scales: NoiseScales | None  # noise that this collection asks for; None: what the mechanism finds
    moments: Array  # predicted E Σ zz' of one user (p, p)


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What a learner carries from release to release: plain values, nothing raw."""

    belief: Belief
    estimate: Estimate
    releases: int = 0
    users: int = 0  # in closed blocks
    contradictions: int = 0  # releases that fit no belief, after which the last good one was kept
    note: str = ""
    warm: Any = None  # where the next search starts


Planner = Callable[[Problem, Knowledge, int], Plan]
"""(problem, knowledge, seed of public draws) → plan."""

Guard = Callable[[Problem, Belief, Plan], Plan]
"""What a plan must pass before it is run: the plan itself, or a safer one."""


class Learner(Protocol):
    """Pure steps: knowledge in, knowledge out."""

    @property
    def plans_for_each_start(self) -> bool:
        """Whether `plan_for` looks at x1."""
        ...

    def start(self) -> Knowledge:
        """Before the first release."""
        ...

    def order(self, knowledge: Knowledge) -> Order:
        """What the next block runs."""
        ...

    def learn(self, knowledge: Knowledge, order: Order, release: Release) -> Knowledge:
        """Take in the release of the block that ran `order`."""
        ...

    def plan_for(self, knowledge: Knowledge, order: Order, x1: Array) -> Plan:
        """The plan for a user who starts at x1, made of releases and of that user's own start alone."""
        ...
