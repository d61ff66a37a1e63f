"""What Θ may be: an ellipsoid, the same for every column of Θ, cut by a ball; and the estimate that steers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import HushloopError

Array = NDArray[np.float64]
COVERING_KAPPAS = np.array([0.0, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98])


@dataclass(frozen=True, eq=False)
class Belief:
    """{Θ_c + MV : ‖V‖_F ≤ 1} ∩ {‖Θ − Θ₀‖_F ≤ r}; `shape` M is symmetric positive definite (p, p)."""

    center: Array  # Θ_c (p, n)
    shape: Array  # M (p, p)
    ball_center: Array  # Θ₀ (p, n)
    ball_radius: float

    @staticmethod
    def ball(center: Array, radius: float) -> Belief:
        """The ball alone: what is believed before any release."""
        return Belief(center, radius * np.eye(center.shape[0]), center, radius)

    @cached_property
    def axes(self) -> tuple[Array, Array]:
        """Semi-axes m (p,), ascending, and their directions U (p, p), one a column: M = U diag(m) U'."""
        m, U = np.linalg.eigh(self.shape)
        return np.maximum(m, 0.0), U

    @property
    def semi_axes(self) -> Array:
        """The p different lengths; each serves n directions, one a column of Θ."""
        return self.axes[0]

    @cached_property
    def ball_matters(self) -> bool:
        """Whether the ball can cut anything off the ellipsoid."""
        reach = float(np.linalg.norm(self.center - self.ball_center)) + float(self.semi_axes[-1])
        return reach > self.ball_radius

    def coordinates(self, Theta: Array) -> Array:
        """V in the eigenbasis: Θ = Θ_c + U diag(m) V. Infinite along an axis of length 0."""
        m, U = self.axes
        off = U.T @ (Theta - self.center)
        with np.errstate(divide="ignore", invalid="ignore"):
            V = off / m[:, None]
        return np.where(off == 0.0, 0.0, V)

    def level(self, Theta: Array) -> float:
        """tr((Θ−Θ_c)'M⁻²(Θ−Θ_c)): at most 1 inside the ellipsoid."""
        return float(np.sum(self.coordinates(Theta) ** 2))

    def contains(self, Theta: Array, slack: float = 1e-9) -> bool:
        """Whether Θ lies in the ellipsoid and in the ball, up to a relative `slack`."""
        inside = float(np.linalg.norm(Theta - self.ball_center)) <= self.ball_radius * (1.0 + slack)
        return inside and self.level(Theta) <= 1.0 + slack

    def project(self, Theta: Array) -> Array:
        """The nearest point of the belief in Frobenius norm."""
        from ..kernels.project_pair import project_rows

        m, U = self.axes
        c = np.ascontiguousarray(U.T @ (self.center - self.ball_center))
        b = m[:, None] * (U.T @ (Theta - self.center))
        V = np.empty_like(b)
        if not project_rows(np.ascontiguousarray(b), c, m * m, m, self.ball_radius, V):
            raise empty_belief()
        return np.asarray(self.center + U @ (m[:, None] * V))

    @cached_property
    def is_empty(self) -> bool:
        """Whether the ellipsoid and the ball do not meet: then something that was assumed is wrong."""
        try:
            nearest = self.project(self.ball_center)
        except HushloopError:
            return True
        return float(np.linalg.norm(nearest - self.ball_center)) > self.ball_radius * (1.0 + 1e-9)

    def radius_along(self, direction: Array) -> float:
        """How far the ellipsoid reaches from its centre along a direction (p, n)."""
        size = float(np.linalg.norm(direction))
        level = self.level(self.center + direction / size)
        return 0.0 if math.isinf(level) else 1.0 / math.sqrt(level)

    def log_volume(self) -> float:
        """ln of the ellipsoid's volume in R^{pn}; the ball is left out."""
        p, n = self.center.shape
        N = p * n
        with np.errstate(divide="ignore"):
            stretch = n * float(np.sum(np.log(self.semi_axes)))
        return float(stretch + 0.5 * N * math.log(math.pi) - math.lgamma(0.5 * N + 1.0))

    def sample(self, size: int, rng: np.random.Generator, tries: int = 200) -> Array:
        """`size` draws (size, p, n), uniform in the ellipsoid; those outside the ball are drawn again.

        After `tries` rounds what is still outside is pulled onto the nearest point of the belief.
        """
        out = self._draw(size, rng)
        for _ in range(tries if self.ball_matters else 0):
            bad = np.linalg.norm((out - self.ball_center).reshape(size, -1), axis=1) > self.ball_radius
            if not bad.any():
                return out
            out[bad] = self._draw(int(bad.sum()), rng)
        return np.stack([T if self.contains(T) else self.project(T) for T in out]) if self.ball_matters else out

    def _draw(self, size: int, rng: np.random.Generator) -> Array:
        p, n = self.center.shape
        V = rng.normal(size=(size, p, n))
        V /= np.linalg.norm(V.reshape(size, -1), axis=1)[:, None, None]
        V *= rng.uniform(size=(size, 1, 1)) ** (1.0 / (p * n))
        return np.asarray(self.center + self.shape @ V)

    def coverings(self) -> list[tuple[Array, Array]]:
        """(centre, shape) of ellipsoids that each hold the belief: its own and, where the ball cuts it, a fusion.

        Every convex combination κ·(ellipsoid) + (1−κ)·(ball) holds both; the one of least squared axes is taken.
        """
        own = (self.center, self.shape)
        if not self.ball_matters:
            return [own]
        m, U = self.axes
        c = U.T @ (self.center - self.ball_center)
        center, axes = _least_fusion(m, c, self.ball_radius)
        return [own, (self.ball_center + U @ center, (U * axes) @ U.T)]


def _least_fusion(m: Array, c: Array, r: float) -> tuple[Array, Array]:
    """Centre (about Θ₀) and axes of the least of κ·Σ‖x_i−c_i‖²/m_i² + (1−κ)·‖x‖²/r² ≤ 1; κ = 0 is the ball.

    Where a combination holds no point its squared level is below 0; it is taken as a point.
    """
    if m[0] <= 0.0:
        return np.zeros_like(c), np.full(m.size, r)
    pull, hold = COVERING_KAPPAS[:, None] / m**2, (1.0 - COVERING_KAPPAS)[:, None] / r**2  # (κ, p)
    level = np.maximum(1.0 - np.sum(pull * hold / (pull + hold) * np.sum(c**2, axis=1), axis=1), 0.0)
    k = int(np.argmin(level * np.sum(1.0 / (pull + hold), axis=1)))
    total = pull[k] + hold[k]
    return (pull[k] / total)[:, None] * c, np.sqrt(level[k] / total)


def empty_belief() -> HushloopError:
    """The error for an ellipsoid and a ball that do not meet."""
    return HushloopError(
        "the belief is empty: the ellipsoid and the prior ball do not meet; "
        "the prior radius, the disturbance bound or the noise scales must be wrong for these data"
    )


@dataclass(frozen=True, eq=False)
class Estimate:
    """A Gaussian guess at Θ, each column with covariance Π⁻¹. It is no part of any guarantee."""

    mean: Array  # Θ̂ (p, n)
    precision: Array  # Π (p, p)
