"""How a gallery entry is made: discretise exactly, change units, put the pieces together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..disturbance import Disturbance, Start
from ..plant import Plant
from ..problem import About, Array, Problem, Units, theta


def zero_order_hold(A: Array, B: Array, dt: float) -> tuple[Array, Array]:
    """(A, B) of one step of length dt of ẋ = Ax + Bu, u held constant."""
    n, d = B.shape
    block = np.zeros((n + d, n + d))
    block[:n] = np.hstack([A, B]) * dt
    full = matrix_exponential(block)
    return full[:n, :n], full[:n, n:]


def matrix_exponential(X: Array) -> Array:
    """e^X by scaling to norm ≤ 1/4, Taylor to order 16, and squaring; keeps scipy out of the gallery."""
    squarings = max(0, int(np.ceil(np.log2(max(float(np.abs(X).sum(axis=1).max()), 1e-300)))) + 2)
    small = X / 2.0**squarings
    out = term = np.eye(X.shape[0])
    for k in range(1, 17):
        term = term @ small / k
        out = out + term
    for _ in range(squarings):
        out = out @ out
    return out


def rescale(A: ArrayLike, B: ArrayLike, state_scale: ArrayLike, input_scale: ArrayLike) -> tuple[Array, Array]:
    """The system in x/state_scale and u/input_scale."""
    s, r = np.asarray(state_scale, dtype=float), np.asarray(input_scale, dtype=float)
    return np.asarray(A) * s / s[:, None], np.asarray(B) * r / s[:, None]


def entry(
    name: str,
    truth: tuple[ArrayLike, ArrayLike],
    nominal: tuple[ArrayLike, ArrayLike],
    *,
    Q: ArrayLike | None = None,
    R: ArrayLike | None = None,
    horizon: int,
    start: Start,
    noise: Disturbance,
    control: float,
    response: float,
    radius: float,
    operator_radius: float | None = None,
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
    units: Units | None = None,
    story: str,
    source: str,
) -> Plant:
    """A plant in scaled units; `nominal` is (A, B) of Θ₀, and Q, R default to the identity."""
    A, B = np.array(truth[0], dtype=float), np.array(truth[1], dtype=float)
    n, d = B.shape
    problem = Problem(
        name=name,
        Q=np.eye(n) if Q is None else np.asarray(Q, dtype=float),
        R=np.eye(d) if R is None else np.asarray(R, dtype=float),
        horizon=horizon,
        start=start,
        disturbance=noise,
        control_bound=control,
        response_bound=response,
        nominal=theta(np.asarray(nominal[0], dtype=float), np.asarray(nominal[1], dtype=float)),
        radius=radius,
        operator_radius=operator_radius,
        control_low=None if low is None else np.asarray(low, dtype=float),
        control_high=None if high is None else np.asarray(high, dtype=float),
        units=units,
        about=About(story, source),
    )
    return Plant(problem, A, B)


def units(
    states: Sequence[tuple[str, float, float]],
    inputs: Sequence[tuple[str, float, float]],
    dt: float,
    dt_unit: str,
) -> Units:
    """`states` and `inputs` as (name, scale, set-point)."""
    x_names, x_scale, x_point = zip(*states, strict=True)
    u_names, u_scale, u_point = zip(*inputs, strict=True)
    return Units(
        tuple(x_names), np.array(x_scale), np.array(x_point), tuple(u_names), np.array(u_scale), np.array(u_point),
        dt, dt_unit,
    )  # fmt: skip


def about_zero(names: Sequence[str], scale: Sequence[float] | float = 1.0) -> list[tuple[str, float, float]]:
    """Names with their scales, every set-point 0."""
    scales = [scale] * len(names) if isinstance(scale, float) else list(scale)
    return [(name, s, 0.0) for name, s in zip(names, scales, strict=True)]


def ball(center: Sequence[float], radius: float) -> Start:
    """Users who differ by up to `radius` about a public centre."""
    return Start("ball", np.array(center, dtype=float), radius)
