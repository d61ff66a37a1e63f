"""Bounded, zero-mean laws with an exact covariance: the disturbance w_h, and the start x₁ about its centre."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput

Array = NDArray[np.float64]
Law = Literal["sphere", "ball", "truncated-normal", "rademacher"]
LAWS: tuple[str, ...] = get_args(Law)


def unit_variance(law: Law, n: int, bound: float, std: float | None) -> float:
    """Variance of one coordinate of the isotropic law on n coordinates with ‖v‖ ≤ bound."""
    if bound == 0.0:
        return 0.0
    if law in ("sphere", "rademacher"):
        return bound**2 / n
    if law == "ball":
        return bound**2 / (n + 2)
    from scipy.special import gammainc

    s = default_std(bound) if std is None else std
    half = bound**2 / (2.0 * s**2)
    return float(s**2 * gammainc(n / 2 + 1, half) / gammainc(n / 2, half))


def default_std(bound: float) -> float:
    """Standard deviation of a truncated normal before truncation, where none is given."""
    return bound / 2.0


def draw_isotropic(law: Law, n: int, bound: float, std: float | None, size: int, rng: np.random.Generator) -> Array:
    """`size` independent draws (size, n), each of norm at most `bound`."""
    if law == "rademacher":
        return rng.choice([-1.0, 1.0], size=(size, n)) * (bound / math.sqrt(n))
    if law == "truncated-normal":
        s = default_std(bound) if std is None else std
        out = rng.normal(scale=s, size=(size, n))
        bad = np.linalg.norm(out, axis=1) > bound
        while bad.any():
            out[bad] = rng.normal(scale=s, size=(int(bad.sum()), n))
            bad = np.linalg.norm(out, axis=1) > bound
        return out
    direction = rng.normal(size=(size, n))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    if law == "ball":
        direction *= rng.uniform(size=(size, 1)) ** (1.0 / n)
    return direction * bound


def _check_law(table: str, law: str, bound: float, std: float | None, size: str = "bound") -> None:
    if law not in LAWS:
        raise InvalidInput(f"{table}.law", f"is {law!r}", f"choose one of {', '.join(LAWS)}")
    if not math.isfinite(bound) or bound < 0:
        raise InvalidInput(f"{table}.{size}", f"is {bound}", "give a finite number that is not negative")
    if std is not None:
        if law != "truncated-normal":
            raise InvalidInput(
                f"{table}.std", f"is given for the law {law!r}", "leave it out; only truncated-normal has one"
            )
        if not math.isfinite(std) or std <= 0:
            raise InvalidInput(f"{table}.std", f"is {std}", "give a finite number above 0")


@dataclass(frozen=True, eq=False)
class Disturbance:
    """w = scale · v with v isotropic, ‖v‖ ≤ bound and ‖scale‖₂ ≤ 1, so that ‖w‖ ≤ bound = C_w always holds."""

    law: Law
    bound: float
    n: int
    std: float | None = None
    scale: Array | None = None  # (n, n); None is the identity

    def __post_init__(self) -> None:
        _check_law("disturbance", self.law, self.bound, self.std)
        if self.scale is not None:
            scale = np.asarray(self.scale, dtype=float)
            if scale.ndim == 1:
                scale = np.diag(scale)
            if scale.shape != (self.n, self.n) or not np.isfinite(scale).all():
                raise InvalidInput(
                    "disturbance.scale",
                    f"has shape {scale.shape}",
                    f"give {self.n} finite numbers or a {self.n}×{self.n} matrix",
                )
            largest = float(np.linalg.norm(scale, 2)) if self.n else 0.0
            if largest > 1.0 + 1e-12:
                raise InvalidInput(
                    "disturbance.scale",
                    f"has largest singular value {largest:.6g}, so ‖w‖ could exceed `bound`",
                    f"divide it by {largest:.6g} and multiply `bound` by the same",
                )
            object.__setattr__(self, "scale", scale)

    @property
    def covariance(self) -> Array:
        """W = E[ww'], exactly."""
        variance = unit_variance(self.law, self.n, self.bound, self.std)
        L = np.eye(self.n) if self.scale is None else self.scale
        return np.asarray(variance * (L @ L.T))

    def sample(self, size: int, rng: np.random.Generator) -> Array:
        """(size, n) independent draws, for tests and small simulations; the kernels draw their own."""
        v = draw_isotropic(self.law, self.n, self.bound, self.std, size, rng)
        return v if self.scale is None else v @ self.scale.T


StartLaw = Literal["fixed", "ball", "truncated-normal"]
START_LAWS: tuple[str, ...] = get_args(StartLaw)


@dataclass(frozen=True, eq=False)
class Start:
    """The law of x₁: a fixed point that everyone knows, or users who differ about a centre.

    `public` says that x₁ is not the user's own data, so a planner may look at the very x₁ of a user.
    """

    law: StartLaw
    center: Array
    radius: float = 0.0
    std: float | None = None
    public: bool = False

    def __post_init__(self) -> None:
        center = np.asarray(self.center, dtype=float)
        object.__setattr__(self, "center", center)
        if self.law not in START_LAWS:
            raise InvalidInput("start.law", f"is {self.law!r}", f"choose one of {', '.join(START_LAWS)}")
        if center.ndim != 1 or not np.isfinite(center).all():
            key = "x1" if self.law == "fixed" else "start.center"
            raise InvalidInput(key, f"is {center.tolist()}", "give a list of finite numbers")
        if self.law == "fixed":
            if self.std is not None:
                raise InvalidInput("start.std", f"is {self.std} for a fixed start", "leave it out")
            if self.radius:
                raise InvalidInput(
                    "start.radius", f"is {self.radius} for a fixed start", "leave it out or name another law"
                )
            object.__setattr__(self, "public", True)
        else:
            _check_law("start", self.law, self.radius, self.std, "radius")

    @property
    def covariance(self) -> Array:
        n = self.center.size
        if self.law == "fixed":
            return np.zeros((n, n))
        return unit_variance(self.law, n, self.radius, self.std) * np.eye(n)

    @property
    def second_moment(self) -> Array:
        """X₁ = E[x₁x₁'], exactly."""
        return np.asarray(np.outer(self.center, self.center) + self.covariance)

    @property
    def largest_norm(self) -> float:
        """The largest ‖x₁‖ that can occur."""
        return float(np.linalg.norm(self.center)) + self.radius

    def sample(self, size: int, rng: np.random.Generator) -> Array:
        if self.law == "fixed":
            return np.tile(self.center, (size, 1))
        return self.center + draw_isotropic(self.law, self.center.size, self.radius, self.std, size, rng)
