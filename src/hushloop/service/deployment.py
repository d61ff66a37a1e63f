"""What a deployment is: the problem, the promise and the schedule, fixed in its store for ever."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..agent import Agent
from ..errors import HushloopError, InvalidInput
from ..learning.learner import Order
from ..lq import Problem
from ..privacy.budget import Budget
from ..privacy.mechanisms import Blocks, Mechanism, NoiseSource
from ..privacy.schedule import whole
from ..profiles import PROFILES, Profile, first_order, learner_of

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


@dataclass(frozen=True, eq=False)
class Deployment:
    """`deadline` is in seconds after a block has opened; None: a block waits for its last report."""

    problem: Problem
    budget: Budget
    users: int | None = None
    first: int | None = None
    deadline: float | None = None

    def __post_init__(self) -> None:
        for key in ("users", "first"):
            if getattr(self, key) is not None:
                whole(key, getattr(self, key))
        if self.deadline is not None and not (math.isfinite(self.deadline) and self.deadline >= 1):
            raise InvalidInput("deadline", f"is {self.deadline} seconds", "give at least 1s, such as 12h")

    profile_name = "refined"

    @cached_property
    def profile(self) -> Profile:
        return PROFILES[self.profile_name].with_(first=self.first)

    @cached_property
    def first_order(self) -> Order:
        """What the first block runs and how it reports."""
        return first_order(self.problem, self.profile, self.budget, self.users)

    @property
    def sizes(self) -> tuple[int, int]:
        """Entries of S and of C in a report."""
        p = self.problem.p
        return p * (p + 1) // 2, p * self.problem.n

    def fresh_agent(self, source: NoiseSource) -> Agent:
        """The agent before anybody has reported, its first noise drawn."""
        learner = learner_of(self.problem, self.profile, self.budget, self.users, 0, None)
        return Agent(self.problem, learner, Mechanism(Blocks(self.budget), source), self.users)

    def agent(self, state: dict[str, Any], source: NoiseSource) -> Agent:
        """The agent of a snapshot."""
        learner = learner_of(self.problem, self.profile, self.budget, self.users, 0, None)
        mechanism = Mechanism.from_state(Blocks(self.budget), source, state["mechanism"])
        return Agent.from_state(self.problem, learner, mechanism, state)

    def document(self) -> dict[str, Any]:
        """All of it as plain values; two deployments are the same when these are."""
        problem = plain(self.problem)
        problem.pop("about")
        return {
            "problem": problem,
            "profile": self.profile_name,
            "budget": plain(self.budget),
            "users": self.users,
            "first": self.first,
            "deadline": self.deadline,
        }

    def check_same(self, stored: str) -> None:
        """Refuse to go on with a store that was made for something else."""
        old, new = json.loads(stored), json.loads(json.dumps(self.document()))
        changed = sorted(flat_difference(old, new))
        if changed:
            key, was, now = changed[0]
            raise HushloopError(
                f"the store was made with {key} = {was}, and now it is {now}: what is promised cannot change under way."
                " Start with the old value, or with a new store"
            )


def plain(value: Any) -> Any:
    """Dataclasses as objects, arrays as lists, infinities as text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def flat_difference(old: Any, new: Any, key: str = "") -> list[tuple[str, str, str]]:
    """(key, old, new) for everything that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        out = []
        for name in sorted(old.keys() | new.keys()):
            out += flat_difference(old.get(name), new.get(name), f"{key}.{name}" if key else name)
        return out
    return [] if old == new else [(key, json.dumps(old), json.dumps(new))]


def duration(text: str | float | None, key: str = "deadline") -> float | None:
    """Seconds of 90, 90s, 15m, 12h or 7d."""
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd]?)\s*", str(text))
    if found is None:
        raise InvalidInput(key, f"is {text!r}", "give a number with s, m, h or d: 12h")
    return float(found[1]) * UNITS[found[2] or "s"]
