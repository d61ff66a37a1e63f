"""Reports of many simulated users one by one, as their devices would send them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..device import Assignment, Collection
from ..lq import Plant
from ..lq.problem import Array
from .play import disturbance_law, start_law

CHUNK = 16_384
"""Episodes that are summed at once."""


def reports_of(plant: Plant, assignment: Assignment, seed: int, first_user: int, users: int) -> NDArray[np.int64]:
    """(users, p(p+1)/2 + pn): the entries of S, then of C, in grid units, of users first_user.. of `seed`.

    The same bits as `device.make_report` of the same trajectories, and their sums are those of `play`.
    """
    from ..kernels.reference_episodes import each_report, trajectories

    problem, c, g = plant.problem, assignment.controller, assignment.collection
    X, U, _ = trajectories(
        seed, first_user, users, A=plant.A, B=plant.B, gains=c.gains, control_bound=c.control_bound,
        disturbance=disturbance_law(problem.disturbance), start=start_law(problem.start), excitation=c.excitation,
        control_low=c.control_low, control_high=c.control_high,
    )  # fmt: skip
    return each_report(X, U, **as_keywords(g))[0]


def summed(collection: Collection, states: Array, controls: Array) -> tuple[NDArray[Any], NDArray[Any]]:
    """(S, C) of many episodes of one length, states (k, T+1, n), controls (k, T, d), as whole numbers of any size.

    The same bits as adding up `device.make_report` of each.
    """
    from ..kernels.reference_episodes import each_report

    upper = collection.p * (collection.p + 1) // 2
    total = np.array([0] * (upper + collection.p * collection.n), dtype=object)
    for at in range(0, states.shape[0], CHUNK):
        units = each_report(states[at : at + CHUNK], controls[at : at + CHUNK], **as_keywords(collection))[0]
        total = total + units.astype(object).sum(axis=0)
    return total[:upper], total[upper:]


def as_keywords(g: Collection) -> dict[str, Any]:
    """A collection as the loops take it."""
    return {
        "center": g.center, "shape": g.shape, "energy": g.energy, "disturbance_bound": g.disturbance_bound,
        "response_bound": g.response_bound, "weighting": g.weighting, "response_budget": g.response_budget,
    }  # fmt: skip
