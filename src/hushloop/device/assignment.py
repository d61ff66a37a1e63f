"""What a device fetches: a controller to run and a collection that says how to report. Both are public values."""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput

Array = NDArray[np.float64]

SCALE_BITS = 30
"""Reports are whole multiples of 2⁻³⁰."""

SLACK = 1.0 - 2.0**-34
"""Every bound is enforced this much inside itself, which is far more than rounding in float64 can spend."""


def ordered_sum(terms: Array) -> Array:
    """Sum along the last axis, strictly left to right, so that every language gets the same bits."""
    total = np.zeros(terms.shape[:-1])
    for j in range(terms.shape[-1]):
        total = total + terms[..., j]
    return total


@dataclass(frozen=True, eq=False)
class Controller:
    """u_h = K_h x_h + e_h with e_h a fair ±excitation in each input, then cut to the actuator limits and to ‖u‖ ≤ γ."""

    gains: Array  # K (H, d, n)
    control_bound: float  # γ
    excitation: float = 0.0  # a
    control_low: Array | None = None  # (d,), at most 0
    control_high: Array | None = None  # (d,), at least 0

    def __post_init__(self) -> None:
        gains = np.ascontiguousarray(self.gains, dtype=float)
        if gains.ndim != 3 or not np.isfinite(gains).all():
            raise InvalidInput("gains", f"has shape {gains.shape}", "give finite K of shape (H, d, n)")
        object.__setattr__(self, "gains", gains)
        if not 1e-100 <= self.control_bound <= 1e100:
            raise InvalidInput("control_bound", f"is {self.control_bound}", "give a number from 1e-100 to 1e100")
        if not 0.0 <= self.excitation <= 1e100:
            raise InvalidInput("excitation", f"is {self.excitation}", "give a finite number, at least 0")
        for key, sign in (("control_low", -1.0), ("control_high", 1.0)):
            if getattr(self, key) is not None:
                side = np.asarray(getattr(self, key), dtype=float)
                if side.shape != (gains.shape[1],) or not (sign * side >= 0.0).all():
                    raise InvalidInput(key, f"is {side.tolist()}", f"give {gains.shape[1]} limits that allow 0")
                object.__setattr__(self, key, side)

    @property
    def horizon(self) -> int:
        return int(self.gains.shape[0])

    def control(self, h: int, x: Array, signs: Array) -> Array:
        """The control of step h (from 0) at state x; `signs` is ±1 for each input. Where it is not finite: 0."""
        with np.errstate(all="ignore"):
            return self._cut(ordered_sum(self.gains[h] * np.asarray(x, dtype=float)) + self.excitation * signs)

    def _cut(self, u: Array) -> Array:
        if not np.isfinite(u).all():
            return np.zeros_like(u)
        if self.control_low is not None:
            u = np.maximum(u, self.control_low)
        if self.control_high is not None:
            u = np.minimum(u, self.control_high)
        norm = math.sqrt(float(ordered_sum(u * u)))
        return np.asarray(u * (self.control_bound * SLACK / norm)) if norm > self.control_bound * SLACK else u


@dataclass(frozen=True, eq=False)
class Collection:
    """How the reports of one block are made. Fixed before the block's first report, from released values alone.

    The response y = x⁺ − Θ_c'z is clipped to ‖Mz‖ + C_w, and to Y where `response_bound` is given
    (which is sound only while Θ_c is the nominal model). `shape` None means that only Y clips, as in the paper.
    Sums are made of Tz, T the `weighting` (None: the identity), so that noise falls where knowledge is not missing.
    Two budgets weigh the steps: Σ w‖Tz‖² ≤ E, and Σ w‖Mz‖² ≤ `response_budget` where that is given.
    """

    block: int
    center: Array  # Θ_c (p, n)
    shape: Array | None  # M (p, p), symmetric positive semidefinite
    energy: float  # E
    disturbance_bound: float  # C_w
    response_bound: float | None  # Y
    horizon: int  # H
    weighting: Array | None = None  # T (p, p), symmetric positive definite
    response_budget: float | None = None  # E_M

    def __post_init__(self) -> None:
        center = np.ascontiguousarray(self.center, dtype=float)
        if center.ndim != 2 or not np.isfinite(center).all():
            raise InvalidInput("center", f"has shape {center.shape}", "give a finite p×n matrix")
        object.__setattr__(self, "center", center)
        p = center.shape[0]
        if self.shape is not None:
            shape = np.ascontiguousarray(self.shape, dtype=float)
            if shape.shape != (p, p) or not np.isfinite(shape).all() or not np.allclose(shape, shape.T):
                raise InvalidInput("shape", f"has shape {shape.shape}", f"give a finite symmetric {p}×{p} matrix")
            object.__setattr__(self, "shape", shape)
        elif self.response_bound is None:
            raise InvalidInput("shape", "and `response_bound` are both missing", "one of them must bound the response")
        if self.weighting is not None:
            weighting = np.ascontiguousarray(self.weighting, dtype=float)
            if weighting.shape != (p, p) or not np.isfinite(weighting).all() or (weighting != weighting.T).any():
                raise InvalidInput(
                    "weighting", f"has shape {weighting.shape}", f"give a finite symmetric {p}×{p} matrix"
                )
            if not np.linalg.eigvalsh(weighting)[0] > 0.0:
                raise InvalidInput("weighting", "is not positive definite", "releases could not be read back from Tz")
            if self.response_budget is None and self.response_bound is None:
                raise InvalidInput("weighting", "comes without `response_budget`", "one must bound the responses")
            object.__setattr__(self, "weighting", weighting)
        if self.response_budget is not None and not (
            self.shape is not None and math.isfinite(self.response_budget) and self.response_budget > 0
        ):
            raise InvalidInput(
                "response_budget", f"is {self.response_budget}", "give a finite number above 0, and a `shape`"
            )
        if not 2.0**-SCALE_BITS <= self.energy <= 2.0**32:
            raise InvalidInput("energy", f"is {self.energy}", "give a number from 2⁻³⁰, the grid, to 2³²")
        if self.horizon < 1:
            raise InvalidInput("horizon", f"is {self.horizon}", "give at least 1")
        if not (math.isfinite(self.disturbance_bound) and self.disturbance_bound >= 0):
            raise InvalidInput("disturbance_bound", f"is {self.disturbance_bound}", "give a finite number, at least 0")
        if self.response_bound is not None and not (math.isfinite(self.response_bound) and self.response_bound > 0):
            raise InvalidInput("response_bound", f"is {self.response_bound}", "give a finite number above 0")
        if not self.energy * self.response_energy <= 2.0**64:
            raise InvalidInput(
                "energy",
                f"{self.energy:.6g} times the largest Σ w‖y‖², {self.response_energy:.6g}, is beyond 2⁶⁴",
                "rescale the states, or lower the energy or the response's bounds: the sums would not fit 64 bits",
            )

    @property
    def p(self) -> int:
        return int(self.center.shape[0])

    @property
    def n(self) -> int:
        return int(self.center.shape[1])

    @cached_property
    def rho(self) -> float:
        """‖M‖₂, rounded up; infinite where M is unbounded. It holds where M is symmetric up to rounding alone, too."""
        if self.shape is None:
            return math.inf
        return float(np.linalg.norm(self.shape, 2)) * (1.0 + 1e-12)

    @cached_property
    def response_energy(self) -> float:
        """B₂ ≥ Σ w‖y‖², the least of the bounds that the device enforces."""
        disturbance = self.disturbance_bound * math.sqrt(self.horizon)
        bounds = []
        if self.weighting is None:
            bounds.append((self.rho * math.sqrt(self.energy) + disturbance) ** 2)
        if self.response_budget is not None:
            bounds.append((math.sqrt(self.response_budget) + disturbance) ** 2)
        if self.response_bound is not None:
            bounds.append(self.horizon * self.response_bound**2)
            if self.weighting is None and not self.center.any():
                bounds.append(self.energy + self.response_bound**2)
        return min(bounds) * (1.0 + 1e-12)

    @cached_property
    def integer_bounds(self) -> tuple[int, int, int]:
        """The largest tr S, ‖S‖² and ‖C‖² in grid units: E, E² and E·B₂, rounded down exactly."""
        energy = Fraction(self.energy) * (1 << SCALE_BITS)
        cross = energy * Fraction(self.response_energy) * (1 << SCALE_BITS)
        return int(energy), int(energy**2), int(cross)


@dataclass(frozen=True, eq=False)
class Assignment:
    """A controller and a collection under one id."""

    id: str
    controller: Controller
    collection: Collection

    def __post_init__(self) -> None:
        horizon, d, n = self.controller.gains.shape
        if horizon != self.collection.horizon or n != self.collection.n or n + d != self.collection.p:
            raise InvalidInput(
                "gains", f"has shape {(horizon, d, n)}", "it does not fit the collection's horizon and centre"
            )

    def control(self, h: int, x: Array, rng: np.random.Generator | None = None) -> Array:
        """The control of step h (from 0): excited, then clipped. Without `rng` the signs come from system entropy."""
        d = self.controller.gains.shape[1]
        if self.controller.excitation == 0.0:
            signs = np.zeros(d)
        elif rng is None:
            signs = np.array([1.0 if _SYSTEM.getrandbits(1) else -1.0 for _ in range(d)])
        else:
            signs = rng.choice([-1.0, 1.0], size=d)
        return self.controller.control(h, x, signs)

    def report(self, states: Any, controls: Any, report_id: str = "") -> Any:
        """The report of one trajectory: states (T+1, n), controls (T, d), T ≤ H."""
        from .report import make_report

        return make_report(self, states, controls, report_id)

    def to_dict(self) -> dict[str, Any]:
        c, g = self.controller, self.collection
        return {
            "assignment_id": self.id,
            "controller": {
                "gains": c.gains.tolist(),
                "control_bound": c.control_bound,
                "excitation": c.excitation,
                "control_low": _limits_out(c.control_low),
                "control_high": _limits_out(c.control_high),
            },
            "collection": {
                "block": g.block,
                "center": g.center.tolist(),
                "shape": None if g.shape is None else g.shape.tolist(),
                "energy": g.energy,
                "disturbance_bound": g.disturbance_bound,
                "response_bound": g.response_bound,
                "horizon": g.horizon,
                "weighting": None if g.weighting is None else g.weighting.tolist(),
                "response_budget": g.response_budget,
                "scale_bits": SCALE_BITS,
            },
        }

    @staticmethod
    def from_dict(value: dict[str, Any]) -> Assignment:
        try:
            return Assignment._from_dict(value)
        except KeyError as why:
            raise InvalidInput(str(why.args[0]), "is missing in the assignment", "fetch it again") from why

    @staticmethod
    def _from_dict(value: dict[str, Any]) -> Assignment:
        c, g = value["controller"], value["collection"]
        if g.get("scale_bits", SCALE_BITS) != SCALE_BITS:
            raise InvalidInput(
                "scale_bits", f"is {g['scale_bits']}", f"this version speaks {SCALE_BITS}: update the device"
            )
        return Assignment(
            value["assignment_id"],
            Controller(
                np.array(c["gains"], dtype=float), c["control_bound"], c["excitation"],
                _limits_in(c.get("control_low"), -math.inf), _limits_in(c.get("control_high"), math.inf),
            ),
            Collection(
                g["block"], np.array(g["center"], dtype=float),
                None if g["shape"] is None else np.array(g["shape"], dtype=float),
                g["energy"], g["disturbance_bound"], g["response_bound"], g["horizon"],
                None if g.get("weighting") is None else np.array(g["weighting"], dtype=float),
                g.get("response_budget"),
            ),
        )  # fmt: skip

    def to_json(self) -> str:
        """Every float in the shortest form that reads back to the same bits."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @staticmethod
    def from_json(text: str | bytes) -> Assignment:
        return Assignment.from_dict(json.loads(text))


_SYSTEM = random.SystemRandom()


def _limits_out(side: Array | None) -> list[float | None] | None:
    return None if side is None else [float(v) if math.isfinite(v) else None for v in side]


def _limits_in(side: list[float | None] | None, missing: float) -> Array | None:
    return None if side is None else np.array([missing if v is None else v for v in side], dtype=float)
