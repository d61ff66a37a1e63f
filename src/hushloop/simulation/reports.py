"""Reports of many simulated users one by one, as their devices would send them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..device import Assignment
from ..lq import Plant
from .play import disturbance_law, start_law


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
    collection: dict[str, Any] = {
        "center": g.center, "shape": g.shape, "energy": g.energy, "disturbance_bound": g.disturbance_bound,
        "response_bound": g.response_bound, "weighting": g.weighting, "response_budget": g.response_budget,
    }  # fmt: skip
    return each_report(X, U, **collection)[0]
