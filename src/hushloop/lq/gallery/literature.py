"""Plants from the literature on learning and control."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..disturbance import Disturbance, Start
from ..plant import Plant
from ..problem import About, Problem


def toy() -> Plant:
    """Small enough that every figure about it can be checked by hand."""
    problem = Problem(
        name="toy",
        Q=np.eye(2),
        R=np.array([[0.1]]),
        horizon=5,
        start=Start("fixed", np.array([0.6, 0.8])),
        disturbance=Disturbance("sphere", 0.1, 2),
        control_bound=1.5,
        response_bound=1.0,
        radius=1.0,
        about=About("Two states, one input, five steps: the plant of the reference figures.", "hushloop"),
    )
    return Plant(problem, np.array([[0.45, 0.2], [0.0, 0.4]]), np.array([[0.1], [0.25]]))


LITERATURE: dict[str, Callable[[], Plant]] = {"toy": toy}
