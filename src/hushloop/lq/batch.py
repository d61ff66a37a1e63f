"""Many systems at once, compiled: optimal costs, their gradients, gains and policy costs of one `Problem`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InvalidInput
from .problem import Array, Problem

# The kernels are imported inside the functions: importing numba takes most of a second.


def values(problem: Problem, Theta: Any, X1: Array | None = None) -> Array:
    """J* (N,) of the systems Theta (N, p, n), each Θ = [A, B]'."""
    from ..kernels import riccati

    return riccati.value(
        _systems(problem, Theta), problem.Q, problem.R, _start(problem, X1), problem.W, problem.horizon
    )


def values_and_gradients(problem: Problem, Theta: Any, X1: Array | None = None) -> tuple[Array, Array]:
    """(J* (N,), its gradients in Θ (N, p, n)) of the systems Theta (N, p, n)."""
    from ..kernels import riccati

    systems = _systems(problem, Theta)
    return riccati.value_and_gradient(systems, problem.Q, problem.R, _start(problem, X1), problem.W, problem.horizon)


def batched_gains(problem: Problem, Theta: Any) -> Array:
    """Optimal gains (N, H, d, n) of the systems Theta (N, p, n)."""
    from ..kernels import riccati

    return riccati.gains(_systems(problem, Theta), problem.Q, problem.R, problem.horizon)


def policy_costs(problem: Problem, Theta: Any, K: Any, X1: Array | None = None, excitation: float = 0.0) -> Array:
    """Expected costs (N, M) of the linear policies K (M, H, d, n) on the systems Theta (N, p, n).

    `excitation` adds a fair ±a to each input. Exact while no control is clipped.
    """
    from ..kernels import riccati

    policies = np.ascontiguousarray(K, dtype=float)
    if policies.ndim != 4 or policies.shape[2:] != (problem.d, problem.n):
        raise InvalidInput("K", f"has shape {policies.shape}", f"give (M, H, {problem.d}, {problem.n})")
    X = _start(problem, X1)
    return riccati.policy_cost(_systems(problem, Theta), policies, problem.Q, problem.R, X, problem.W, excitation)


def _systems(problem: Problem, Theta: Any) -> Array:
    systems = np.ascontiguousarray(Theta, dtype=float)
    if systems.ndim != 3 or systems.shape[1:] != (problem.p, problem.n):
        raise InvalidInput("Theta", f"has shape {systems.shape}", f"give (N, {problem.p}, {problem.n})")
    return systems


def _start(problem: Problem, X1: Array | None) -> Array:
    return np.ascontiguousarray(problem.X1 if X1 is None else X1, dtype=float)
