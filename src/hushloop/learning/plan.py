"""What a planner returns, and what it may know: released values only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Plan:
    """A controller to run, what it promises, and how far that promise can be trusted."""

    gains: Array  # K (H, d, n)
    Theta: Array  # the model it was made for (p, n)
    value: float  # J of `gains` on `Theta`, what the planner promises
    excitation: float = 0.0
    energy: float | None = None  # E that the next collection should use, where the planner chooses it
    lower_bound: float | None = None  # D: certified lower bound of min J* over the belief
    upper_bound: float | None = None  # U: certified worst cost of these gains over the belief, where it was asked for
    gap: float | None = None  # value − D, of optimistic planners
    failed: bool = False  # fell back to a safe controller; `note` says why
    note: str = ""
