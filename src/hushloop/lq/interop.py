"""To and from other worlds: python-control, engineering units, gymnasium.

Signs: python-control plays u = −Kx; here, and in `lqr_gains`, u_h = K_h x_h, so K_h = −(R + B'PB)⁻¹B'PA.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InvalidInput, MissingExtra
from .plant import Plant
from .problem import Array, Problem, Units, finite, symmetric
from .riccati import Gains, riccati


def lqr_gains(A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, horizon: int) -> Gains:
    """Finite-horizon LQR gains (H, d, n) of x⁺ = Ax + Bu, without a terminal cost: play u_h = K_h x_h.

    A long horizon's first gain is −K of `control.dlqr(A, B, Q, R)`.
    """
    a, b, q, r = finite("A", A), finite("B", B), symmetric("Q", Q), symmetric("R", R)
    n, d = b.shape
    if a.shape != (n, n) or q.shape != (n, n) or r.shape != (d, d):
        raise InvalidInput(
            "A", f"has shape {a.shape} beside B {b.shape}, Q {q.shape}, R {r.shape}", "give (n,n), (n,d), (n,n), (d,d)"
        )
    if horizon < 1:
        raise InvalidInput("horizon", f"is {horizon}", "give at least 1")
    return riccati(a, b, q, r, horizon).K


def from_statespace(system: Any, problem: Problem, allow_uncontrollable: bool = False) -> Plant:
    """The plant of a discrete-time `control.StateSpace`; C and D are not looked at: the state is observed."""
    dt = getattr(system, "dt", None)
    if dt is None or dt == 0:
        raise InvalidInput("dt", f"is {dt}: the system is in continuous time", "discretise it: control.c2d(system, dt)")
    return Plant(problem, np.asarray(system.A), np.asarray(system.B), allow_uncontrollable)


def to_statespace(plant: Plant) -> Any:
    """The plant as a `control.StateSpace` in discrete time whose output is the state; dt is that of its units."""
    try:
        import control
    except ImportError as why:
        raise MissingExtra("control", "interop") from why
    n, d = plant.B.shape
    units = plant.problem.units
    dt = True if units is None else units.dt
    names = {} if units is None else {"states": list(units.state_names), "inputs": list(units.input_names)}
    return control.ss(plant.A, plant.B, np.eye(n), np.zeros((n, d)), dt, name=plant.name, **names)


@dataclass(frozen=True, eq=False)
class EngineeringController:
    """The linear policy `gains` between a state and an input in engineering units, cut as the device cuts it."""

    problem: Problem
    gains: Gains  # (H, d, n), of scaled states and inputs

    def control(self, h: int, state: ArrayLike) -> Array:
        """The input of step h (from 0) at a state in engineering units."""
        units = units_of(self.problem)
        x = (np.asarray(state, dtype=float) - units.state_setpoint) / units.state_scale
        return np.asarray(units.input_setpoint + units.input_scale * self.problem.cut(self.gains[h] @ x))

    @property
    def physical_gains(self) -> Gains:
        """K (H, d, n) of u = u_s + K(x − x_s) in engineering units, where nothing is cut."""
        units = units_of(self.problem)
        return np.asarray(self.gains * units.input_scale[:, None] / units.state_scale)


def to_scaled(units: Units, A: ArrayLike, B: ArrayLike) -> tuple[Array, Array]:
    """(A, B) of x = (state − set-point)/scale from those in engineering units; the set-point must be an equilibrium."""
    s, r = units.state_scale, units.input_scale
    return finite("A", A) * s / s[:, None], finite("B", B) * r / s[:, None]


def to_engineering(units: Units, A: ArrayLike, B: ArrayLike) -> tuple[Array, Array]:
    """The inverse of `to_scaled`."""
    s, r = units.state_scale, units.input_scale
    return finite("A", A) / s * s[:, None], finite("B", B) / r * s[:, None]


def units_of(problem: Problem) -> Units:
    """The problem's units, or ones that change nothing."""
    if problem.units is not None:
        return problem.units
    n, d = problem.n, problem.d
    states, inputs = tuple(f"x{i + 1}" for i in range(n)), tuple(f"u{i + 1}" for i in range(d))
    return Units(states, np.ones(n), np.zeros(n), inputs, np.ones(d), np.zeros(d), 1.0, "step")


def environment(plant: Plant) -> Any:
    """One episode of the plant as a `gymnasium.Env`: observations are states, actions controls, rewards −costs."""
    try:
        from .environment import PlantEnvironment
    except ImportError as why:
        raise MissingExtra("gymnasium", "interop") from why
    return PlantEnvironment(plant)
