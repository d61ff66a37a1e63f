"""Thompson sampling: the optimal controller of one model, drawn uniformly from the belief."""

from __future__ import annotations

import numpy as np

from ...errors import HushloopError
from ...lq import Problem, optimal_cost, split
from ...lq.batch import batched_gains
from ..belief import Belief
from ..plan import Plan
from .optimistic import fallback


def thompson(problem: Problem, belief: Belief, rng: np.random.Generator) -> Plan:
    """K(Θ̃) with Θ̃ uniform in the belief's ellipsoid, drawn again or pulled in where it leaves the prior ball."""
    try:
        Theta = belief.sample(1, rng)[0]
    except HushloopError:
        return fallback(problem, belief)
    value = optimal_cost(problem, *split(Theta))
    return Plan(batched_gains(problem, Theta[None])[0], Theta, value)
