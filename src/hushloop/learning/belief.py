"""What Θ may be: an ellipsoid, the same for every column of Θ, cut by a ball; and the estimate that steers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Belief:
    """{Θ_c + MV : ‖V‖_F ≤ 1} ∩ {‖Θ − Θ₀‖_F ≤ r}; `shape` M is symmetric positive definite (p, p)."""

    center: Array  # Θ_c (p, n)
    shape: Array  # M (p, p)
    ball_center: Array  # Θ₀ (p, n)
    ball_radius: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """A Gaussian guess at Θ, each column with covariance Π⁻¹. It is no part of any guarantee."""

    mean: Array  # Θ̂ (p, n)
    precision: Array  # Π (p, p)
