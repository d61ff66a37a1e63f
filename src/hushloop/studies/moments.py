"""Mean and covariance of one user's sums (S, C) under a linear controller, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..device import Collection
from ..errors import InvalidInput
from ..lq import Plant
from ..lq.problem import Array


@dataclass(frozen=True, eq=False)
class Moments:
    """Of the entries (upper triangle of S row by row, then C row by row) of one user's sums."""

    mean: Array  # (e,)
    covariance: Array  # (e, e)
    control_reach: float  # the largest ‖u_h‖ that can occur, at most
    response_reach: float  # and ‖x_{h+1} − Θ_c'z_h‖

    def total(self, users: int, rng: np.random.Generator) -> Array:
        """Sums of many users: their exact mean, and a Gaussian fluctuation of their exact covariance."""
        values, U = np.linalg.eigh(self.covariance)
        root = np.sqrt(users * np.maximum(values, 0.0))
        return np.asarray(users * self.mean + U @ (root * rng.standard_normal(values.size)))


def user_moments(plant: Plant, gains: Array, collection: Collection) -> Moments:
    """ξ = (1, x₁ − centre, w₁, …, w_H): z_h and y_h are linear in ξ, and each entry of (S, C) a quadratic form."""
    blocks = _blocks(plant)
    Z, Y = _maps(plant, gains, collection)
    p = plant.problem.p
    upper = [(i, j) for i in range(p) for j in range(i, p)]
    forms = [np.einsum("ha,hb->ab", Z[:, i], Z[:, j]) for i, j in upper]
    forms += [np.einsum("ha,hb->ab", Z[:, i], Y[:, j]) for i in range(p) for j in range(plant.problem.n)]
    F = np.stack([(f + f.T) / 2 for f in forms])
    return Moments(
        _mean(F, blocks), _covariance(F, blocks),
        _reach(np.einsum("hij,hja->hia", gains, Z[:, : plant.problem.n]), blocks), _reach(Y, blocks),
    )  # fmt: skip


@dataclass(frozen=True)
class _Block:
    """Where one isotropic vector lies in ξ: its largest norm, its variance in each entry, and E‖v‖⁴/(n(n+2))."""

    at: slice
    bound: float
    variance: float
    fourth: float


def _blocks(plant: Plant) -> list[_Block]:
    problem, n = plant.problem, plant.problem.n
    start, noise = problem.start, problem.disturbance
    laws = [("sphere", 0.0) if start.law == "fixed" else (start.law, start.radius)]
    laws += [(noise.law, noise.bound)] * problem.horizon
    out = []
    for k, (law, bound) in enumerate(laws):
        if law not in ("sphere", "ball"):
            raise InvalidInput("plant", f"has the law {law!r}", "closed forms are known for sphere, ball and fixed")
        variance = bound**2 / (n if law == "sphere" else n + 2)
        fourth = bound**4 / (n * (n + 2)) if law == "sphere" else bound**4 / ((n + 2) * (n + 4))
        out.append(_Block(slice(1 + k * n, 1 + (k + 1) * n), bound, variance, fourth))
    return out


def _maps(plant: Plant, gains: Array, collection: Collection) -> tuple[Array, Array]:
    """z_h = Z_h ξ (H, p, D) and y_h = Y_h ξ (H, n, D)."""
    problem, n = plant.problem, plant.problem.n
    D = 1 + n * (problem.horizon + 1)
    X = np.zeros((n, D))
    X[:, 0] = problem.start.center
    X[:, 1 : 1 + n] = np.eye(n)
    scale = np.eye(n) if problem.disturbance.scale is None else problem.disturbance.scale
    Z, Y = [], []
    for h, K in enumerate(gains):
        z = np.vstack([X, K @ X])
        noise = np.zeros((n, D))
        noise[:, 1 + (h + 1) * n : 1 + (h + 2) * n] = scale
        X = plant.A @ X + plant.B @ z[n:] + noise
        Z.append(z)
        Y.append(X - collection.center.T @ z)
    return np.stack(Z), np.stack(Y)


def _mean(F: Array, blocks: list[_Block]) -> Array:
    spread = sum(b.variance * np.trace(F[:, b.at, b.at], axis1=1, axis2=2) for b in blocks)
    return np.asarray(F[:, 0, 0] + spread)


def _covariance(F: Array, blocks: list[_Block]) -> Array:
    """Laws are symmetric, so odd moments vanish; within a block E[v_a v_b v_c v_d] = fourth·(three pairings)."""
    out = np.zeros((len(F), len(F)))
    for i, b in enumerate(blocks):
        f = F[:, 0, b.at]
        inner = F[:, b.at, b.at]
        trace = np.trace(inner, axis1=1, axis2=2)
        out += 4.0 * b.variance * f @ f.T
        out += 2.0 * b.fourth * np.einsum("eij,fij->ef", inner, inner)
        out += (b.fourth - b.variance**2) * np.outer(trace, trace)
        for c in blocks[:i]:
            cross = F[:, b.at, c.at]
            out += 4.0 * b.variance * c.variance * np.einsum("eij,fij->ef", cross, cross)
    return out


def _reach(maps: Array, blocks: list[_Block]) -> float:
    """The largest norm over steps that any draw can give, at most (triangle inequality over the blocks of ξ)."""
    return max(
        float(np.linalg.norm(m[:, 0])) + sum(b.bound * float(np.linalg.norm(m[:, b.at], 2)) for b in blocks)
        for m in maps
    )
