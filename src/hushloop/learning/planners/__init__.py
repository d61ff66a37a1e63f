"""Planners: what is believed becomes a controller. One file each; `PLANNERS` names those that a profile may name."""

from __future__ import annotations

import numpy as np

from ...lq import Problem
from ..learner import Knowledge, Planner
from ..plan import Plan
from .excited import greedy
from .optimistic import optimistic
from .relaxed import relaxed
from .rulers import idle, oracle
from .thompson import thompson

CERTIFIED = 16


def _certainty(problem: Problem, knowledge: Knowledge, seed: int) -> Plan:
    likely = greedy(problem, knowledge.estimate, seed)
    return Plan(likely.gains, knowledge.estimate.mean, likely.value)


def _optimistic(problem: Problem, knowledge: Knowledge, seed: int) -> Plan:
    """Certified at first and then every CERTIFIED-th time: the certificate is a report, nothing hangs on it."""
    certify = knowledge.releases < CERTIFIED or knowledge.releases % CERTIFIED == 0
    return optimistic(problem, knowledge.belief, knowledge.warm, certify=certify)


def _relaxed(problem: Problem, knowledge: Knowledge, seed: int) -> Plan:
    return relaxed(problem, knowledge.belief)


def _thompson(problem: Problem, knowledge: Knowledge, seed: int) -> Plan:
    return thompson(problem, knowledge.belief, np.random.default_rng(seed))


PLANNERS: dict[str, Planner | None] = {
    "excited": None,  # greedy with excitation, which a learner designs together with its collection
    "certainty": _certainty,
    "optimistic": _optimistic,
    "relaxed": _relaxed,
    "thompson": _thompson,
    "idle": idle,
    "oracle": None,  # made from the truth by `oracle`
}

__all__ = ["PLANNERS", "oracle"]
