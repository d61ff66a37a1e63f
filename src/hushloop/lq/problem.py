"""What everyone knows about a control problem: costs, horizon, start, disturbance, bounds, nominal model."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from .disturbance import Disturbance, Start

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Units:
    """Engineering units: physical state = set-point + scale · x, and the same for inputs. `dt` is one step."""

    state_names: tuple[str, ...]
    state_scale: Array
    state_setpoint: Array
    input_names: tuple[str, ...]
    input_scale: Array
    input_setpoint: Array
    dt: float
    dt_unit: str

    def __post_init__(self) -> None:
        for kind in ("state", "input"):
            size = len(getattr(self, f"{kind}_names"))
            for part in ("scale", "setpoint"):
                key = f"{kind}_{part}"
                values = np.asarray(getattr(self, key), dtype=float)
                if values.shape != (size,) or not np.isfinite(values).all():
                    raise InvalidInput(f"units.{key}", f"is {values.tolist()}", f"give {size} finite numbers")
                if part == "scale" and (values <= 0).any():
                    raise InvalidInput(f"units.{key}", f"is {values.tolist()}", "every scale must be above 0")
                object.__setattr__(self, key, values)
        if not (math.isfinite(self.dt) and self.dt > 0):
            raise InvalidInput("units.dt", f"is {self.dt}", "give a finite number above 0")


@dataclass(frozen=True)
class About:
    """Where a problem comes from: one line of story, and the source."""

    story: str = ""
    source: str = ""


@dataclass(frozen=True, eq=False)
class Problem:
    """A finite-horizon LQ problem without its truth; all that a deployment has. Shapes: n states, d inputs, p = n + d.

    The truth Θ* = [A, B]' (p×n) is believed to lie within `radius` of `nominal` in Frobenius norm and within
    `operator_radius` in operator norm. Privacy never depends on that; regret and coverage do.
    """

    name: str
    Q: Array  # (n, n) symmetric, positive semidefinite
    R: Array  # (d, d) symmetric, positive definite
    horizon: int
    start: Start
    disturbance: Disturbance
    control_bound: float  # γ: ‖u‖ ≤ γ, enforced by the device
    response_bound: float  # Y on ‖x_{h+1} − Θ₀'z_h‖, enforced by the device
    nominal: Array = field(default_factory=lambda: np.zeros((0, 0)))  # Θ₀ (p, n); empty means zero
    radius: float = 1.0  # r₀
    operator_radius: float | None = None  # ≤ radius; None means radius
    energy: float | None = None  # E, a fixed override of the budget that each block's collection chooses
    control_low: Array | None = None  # (d,) actuator limits beside γ, around 0
    control_high: Array | None = None
    units: Units | None = None
    about: About = About()

    def __post_init__(self) -> None:
        Q = symmetric("Q", self.Q)
        R = symmetric("R", self.R)
        n, d = Q.shape[0], R.shape[0]
        if isinstance(self.horizon, bool) or not isinstance(self.horizon, (int, np.integer)) or self.horizon < 1:
            raise InvalidInput("horizon", f"is {self.horizon!r}", "give a whole number of at least 1")
        if self.horizon > 1_000_000:
            raise InvalidInput("horizon", f"is {self.horizon}", "give at most a million steps: take longer ones")
        low_q = float(np.linalg.eigvalsh(Q)[0])
        if low_q < -1e-10 * max(1.0, float(np.abs(Q).max())):
            raise InvalidInput(
                "Q", f"has the negative eigenvalue {low_q:.6g}", "a state cost must be positive semidefinite"
            )
        low_r = float(np.linalg.eigvalsh(R)[0])
        if low_r <= 0:
            raise InvalidInput("R", f"has the eigenvalue {low_r:.6g}", "an input cost must be positive definite")
        if self.start.center.size != n:
            key = "x1" if self.start.law == "fixed" else "start.center"
            raise InvalidInput(key, f"has {self.start.center.size} entries", f"give {n}, as many as `Q` has rows")
        if self.disturbance.n != n:
            raise InvalidInput("disturbance", f"acts on {self.disturbance.n} states", f"`Q` has {n}")
        for key, value in (
            ("bounds.control", self.control_bound),
            ("bounds.response", self.response_bound),
            ("prior.radius", self.radius),
        ):
            if not math.isfinite(value) or value <= 0:
                raise InvalidInput(key, f"is {value}", "give a finite number above 0")
        if self.energy is not None and not (math.isfinite(self.energy) and self.energy > 0):
            raise InvalidInput("bounds.energy", f"is {self.energy}", "give a finite number above 0, or leave it out")
        nominal = np.zeros((n + d, n)) if self.nominal.size == 0 else finite("prior", self.nominal)
        if nominal.shape != (n + d, n):
            raise InvalidInput("prior", f"gives Θ₀ the shape {nominal.shape}", f"it must be ({n + d}, {n})")
        operator_radius = self.radius if self.operator_radius is None else float(self.operator_radius)
        if not math.isfinite(operator_radius) or not 0 < operator_radius <= self.radius:
            raise InvalidInput(
                "prior.operator_radius",
                f"is {operator_radius}",
                f"give a number above 0 and at most `radius`, {self.radius}",
            )
        low, high = limits(self.control_low, self.control_high, d)
        checked: tuple[tuple[str, Any], ...] = (
            ("Q", Q), ("R", R), ("horizon", int(self.horizon)), ("nominal", nominal), ("control_low", low),
            ("control_high", high), ("operator_radius", operator_radius), ("control_bound", float(self.control_bound)),
            ("response_bound", float(self.response_bound)), ("radius", float(self.radius)),
        )  # fmt: skip
        for name, entry in checked:
            object.__setattr__(self, name, entry)

    @property
    def n(self) -> int:
        """States."""
        return int(self.Q.shape[0])

    @property
    def d(self) -> int:
        """Inputs."""
        return int(self.R.shape[0])

    @property
    def p(self) -> int:
        """n + d: the length of z = [x; u]."""
        return self.n + self.d

    @cached_property
    def W(self) -> Array:
        """Covariance of the disturbance."""
        return self.disturbance.covariance

    @property
    def disturbance_bound(self) -> float:
        """C_w."""
        return self.disturbance.bound

    @cached_property
    def X1(self) -> Array:
        """Second moment of the start."""
        return self.start.second_moment

    @property
    def prior_radius(self) -> float:
        """r₀, tightened by the operator radius: ‖Δ‖_F ≤ √n·‖Δ‖₂."""
        assert self.operator_radius is not None
        return min(self.radius, math.sqrt(self.n) * self.operator_radius)

    @property
    def full_energy(self) -> float:
        """H(1+γ²): the energy budget at which every step of the paper's episodes has weight 1."""
        return self.horizon * (1.0 + self.control_bound**2)

    @property
    def nominal_A(self) -> Array:
        return np.ascontiguousarray(self.nominal[: self.n].T)

    @property
    def nominal_B(self) -> Array:
        return np.ascontiguousarray(self.nominal[self.n :].T)

    def cut(self, u: Array) -> Array:
        """What is applied of a control (d,): first within the actuator limits, then within ‖u‖ ≤ γ."""
        if self.control_low is not None:
            u = np.maximum(u, self.control_low)
        if self.control_high is not None:
            u = np.minimum(u, self.control_high)
        return np.asarray(u * min(1.0, self.control_bound / max(float(np.linalg.norm(u)), 1e-300)))

    def with_(self, **changes: Any) -> Problem:
        """A copy with some fields changed and all checks made again."""
        return replace(self, **changes)


def theta(A: Array, B: Array) -> Array:
    """Θ = [A, B]' (p, n)."""
    return np.ascontiguousarray(np.hstack([A, B]).T)


def split(Theta: Array) -> tuple[Array, Array]:
    """(A, B) of Θ = [A, B]'."""
    n = Theta.shape[1]
    return np.ascontiguousarray(Theta[:n].T), np.ascontiguousarray(Theta[n:].T)


def finite(key: str, value: Any) -> Array:
    """A float matrix without NaN or infinities."""
    out = np.asarray(value, dtype=float)
    if out.ndim != 2 or out.size == 0:
        raise InvalidInput(key, f"has shape {out.shape}", "give a matrix: a list of rows of equal length")
    if not np.isfinite(out).all():
        i, j = np.argwhere(~np.isfinite(out))[0]
        raise InvalidInput(
            key, f"has the entry {out[i, j]} in row {i + 1}, column {j + 1}", "every entry must be finite"
        )
    return out


def symmetric(key: str, value: Any) -> Array:
    """A symmetric float matrix."""
    out = finite(key, value)
    if out.shape[0] != out.shape[1]:
        raise InvalidInput(key, f"has shape {out.shape}", "it must be square")
    if not np.allclose(out, out.T, rtol=0, atol=1e-9 * max(1.0, float(np.abs(out).max()))):
        i, j = np.unravel_index(int(np.argmax(np.abs(out - out.T))), out.shape)
        raise InvalidInput(
            key,
            f"is not symmetric: row {i + 1}, column {j + 1} is {out[i, j]:.6g} and its mirror is {out[j, i]:.6g}",
            "make both entries their mean; the cost is the same",
        )
    return np.asarray((out + out.T) / 2)


def limits(low: Any, high: Any, d: int) -> tuple[Array | None, Array | None]:
    """Actuator limits (d,) around 0; a missing side is infinite, and both missing is None."""
    if low is None and high is None:
        return None, None
    out = []
    for key, value, default in (("bounds.control_low", low, -np.inf), ("bounds.control_high", high, np.inf)):
        side = np.full(d, default) if value is None else np.asarray(value, dtype=float)
        if side.shape != (d,) or np.isnan(side).any():
            raise InvalidInput(key, f"has shape {side.shape}", f"give {d} numbers, one for each input")
        out.append(side)
    if (out[0] > 0).any():
        raise InvalidInput(
            "bounds.control_low",
            f"is {out[0].tolist()}, above 0",
            "move the set-point of the input so that 0 is allowed",
        )
    if (out[1] < 0).any():
        raise InvalidInput(
            "bounds.control_high",
            f"is {out[1].tolist()}, below 0",
            "move the set-point of the input so that 0 is allowed",
        )
    return out[0], out[1]
