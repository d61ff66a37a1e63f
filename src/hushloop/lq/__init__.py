"""Exact finite-horizon LQ control; knows nothing of learning or privacy."""

from __future__ import annotations

from . import gallery
from .disturbance import Disturbance, Start
from .plant import Assumption, Plant
from .problem import About, Problem, Units, split, theta
from .riccati import (
    Solution,
    cost_gradient,
    idle_gains,
    mean_sums,
    optimal_cost,
    optimal_gains,
    policy_cost,
    riccati,
    second_moments,
    stage_costs,
)

__all__ = [
    "About",
    "Assumption",
    "Disturbance",
    "Plant",
    "Problem",
    "Solution",
    "Start",
    "Units",
    "cost_gradient",
    "gallery",
    "idle_gains",
    "mean_sums",
    "optimal_cost",
    "optimal_gains",
    "policy_cost",
    "riccati",
    "second_moments",
    "split",
    "stage_costs",
    "theta",
]
