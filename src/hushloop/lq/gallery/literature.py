"""Plants from the literature on learning and control; costs are the literature's, in its own units."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..disturbance import Disturbance, Start
from ..plant import Plant
from .build import about_zero, ball, entry, rescale, units


def toy() -> Plant:
    return entry(
        "toy",
        ([[0.45, 0.2], [0.0, 0.4]], [[0.1], [0.25]]),
        (np.zeros((2, 2)), np.zeros((2, 1))),
        R=[[0.1]],
        horizon=5,
        start=Start("fixed", np.array([0.6, 0.8])),
        noise=Disturbance("sphere", 0.1, 2),
        control=1.5,
        response=1.0,
        radius=1.0,
        story="Two states, one input, five steps: the plant of the reference figures.",
        source="hushloop",
    )


def _laplacian(name: str, weight: float, horizon: int, start: Start, story: str) -> Plant:
    chain = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    return entry(
        name,
        (np.eye(3) + 0.01 * chain, np.eye(3)),
        (0.9 * np.eye(3), 0.45 * np.eye(3)),
        Q=weight * np.eye(3),
        horizon=horizon,
        start=start,
        noise=Disturbance("ball", 0.08, 3),
        control=1.5,
        response=1.0,
        radius=1.05,
        operator_radius=0.65,
        units=units(about_zero(("x1", "x2", "x3")), about_zero(("u1", "u2", "u3")), 1.0, "step"),
        story=story,
        source="Dean et al. 2018",
    )


def laplacian() -> Plant:
    start = ball((0.6, -0.5, 0.4), 0.2)
    return _laplacian("laplacian", 10.0, 8, start, "Three coupled nodes, slightly unstable; state dear, input cheap.")


def laplacian_cheap_state() -> Plant:
    start = ball((0.5, 0.4, 0.4), 0.1)
    story = "The same three nodes with a state cost of 1/1000: control pays only over a long horizon."
    return _laplacian("laplacian-cheap-state", 1e-3, 60, start, story)


def boeing747() -> Plant:
    states, inputs = (1.0, 1.0, 0.25, 0.5), (0.25, 0.25)
    A = [[0.99, 0.03, -0.02, -0.32], [0.01, 0.47, 4.7, 0.0], [0.02, -0.06, 0.4, 0.0], [0.01, -0.04, 0.72, 0.99]]
    B = [[0.01, 0.99], [-3.44, 1.66], [-0.83, 0.44], [-0.47, 0.25]]
    truth = rescale(A, B, states, inputs)
    return entry(
        "boeing747",
        truth,
        (0.8 * truth[0], 0.6 * truth[1]),
        Q=np.diag(np.square(states)),
        R=np.diag(np.square(inputs)),
        horizon=10,
        start=ball((0.6, 0.5, -0.2, 0.4), 0.2),
        noise=Disturbance("sphere", 0.08, 4),
        control=2.0,
        response=1.2,
        radius=0.8,
        operator_radius=0.7,
        units=units(
            about_zero(("forward speed", "vertical speed", "pitch rate", "pitch angle"), states),
            about_zero(("elevator", "thrust"), inputs),
            1.0,
            "s",
        ),
        story="An airliner's longitudinal motion about level flight.",
        source="Linearised Boeing 747, a standard example of adaptive control",
    )


def uav() -> Plant:
    A, B = np.kron(np.eye(2), [[1.0, 0.5], [0.0, 1.0]]), np.kron(np.eye(2), [[0.125], [0.5]])
    A0, B0 = np.kron(np.eye(2), [[1.0, 0.4], [0.0, 0.75]]), np.kron(np.eye(2), [[0.05], [0.18]])
    return entry(
        "uav",
        (A, B),
        (A0, B0),
        Q=np.diag([1.0, 0.1, 2.0, 0.2]),
        horizon=12,
        start=ball((0.7, 0.0, -0.6, 0.0), 0.2),
        noise=Disturbance("truncated-normal", 0.08, 4),
        control=1.5,
        response=1.0,
        radius=0.65,
        operator_radius=0.45,
        units=units(
            about_zero(("x", "speed along x", "y", "speed along y")),
            about_zero(("push along x", "push along y")), 0.5, "s",
        ),
        story="A small drone in the plane, returning to a point.",
        source="Zhao et al.; Lale et al.",
    )  # fmt: skip


def transient() -> Plant:
    A = np.eye(3) + 1.1 * np.eye(3, k=-1)
    return entry(
        "transient",
        (A, np.eye(3)),
        (0.9 * np.eye(3) + 0.7 * np.eye(3, k=-1), 0.5 * np.eye(3)),
        horizon=6,
        start=Start("fixed", np.array([0.8, 0.3, -0.3])),
        noise=Disturbance("rademacher", 0.08, 3),
        control=2.0,
        response=5.0,
        radius=1.2,
        operator_radius=0.9,
        story="A cascade that amplifies before it settles.",
        source="Non-normal growth, a standard example of learning LQ control",
    )


def _chained(name: str, B: list[list[float]], B0: list[list[float]], horizon: int, story: str) -> Plant:
    single = len(B[0]) == 1
    A0 = [[0.9, 0.1], [0.0, 0.8]] if single else [[0.6, 0.0], [0.0, 0.6]]
    return entry(
        name,
        ([[1.0, 0.1], [0.0, 1.0]], B),
        (A0, B0),
        horizon=horizon,
        start=ball((0.7, 0.4), 0.2),
        noise=Disturbance("sphere", 0.05 if single else 0.08, 2),
        control=1.5,
        response=1.0,
        radius=0.4 if single else 0.9,
        operator_radius=0.3 if single else 0.7,
        story=story,
        source="Chained integrators, a standard example of learning LQ control",
    )


def chained() -> Plant:
    return _chained("chained", [[1.0, 0.0], [0.0, 1.0]], [[0.6, 0.0], [0.0, 0.6]], 10, "Two integrators in a chain.")


def chained_single() -> Plant:
    return _chained("chained-single", [[0.0], [0.1]], [[0.0], [0.06]], 40, "The chain driven at its end alone.")


def pendulum() -> Plant:
    states, inputs = (0.15, 0.15, 0.15, 0.15), (0.5,)
    A = [[1, 0, 0.05, 0], [0, 1, 0, 0.05], [0, 0.4905, 1, -0.05], [0, 0.981, 0, 0.9]]
    A0 = [[1, 0, 0.05, 0], [0, 1, 0, 0.05], [0, 0.35, 0.9, 0], [0, 0.7, 0, 0.8]]
    return entry(
        "pendulum",
        rescale(A, [[0.0], [0.0], [0.05], [0.05]], states, inputs),
        rescale(A0, [[0.0], [0.0], [0.03], [0.03]], states, inputs),
        Q=np.diag(np.square(states)) / 0.0225,
        R=np.diag(np.square(inputs)) / 0.0225,
        horizon=20,
        start=ball((0.0, 0.08, 0.0, 0.08), 0.03),
        noise=Disturbance("sphere", 0.02, 4),
        control=1.5,
        response=1.5,
        radius=0.6,
        operator_radius=0.4,
        units=units(
            about_zero(("cart position", "angle", "cart speed", "angular speed"), states),
            about_zero(("force",), inputs), 0.05, "s",
        ),
        story="A pendulum balanced on a cart.",
        source="Linearised cart-pole, step 0.05 s",
    )  # fmt: skip


def stable3() -> Plant:
    A = np.array([[0.3, 0.1, 0.2], [0.1, 0.4, 0.0], [0.0, 0.7, 0.6]])
    B = np.array([[0.5, 0.4, 0.5], [0.6, 0.3, 0.0], [0.3, 0.0, 0.2]])
    return entry(
        "stable3",
        (A, B),
        (np.diag([0.3, 0.3, 0.5]), [[0.3, 0.3, 0.3], [0.3, 0.3, 0.0], [0.3, 0.0, 0.0]]),
        Q=2.0 * np.eye(3),
        horizon=6,
        start=ball((0.5, 0.5, 0.6), 0.15),
        noise=Disturbance("ball", 0.1, 3),
        control=1.5,
        response=1.4,
        radius=0.9,
        operator_radius=0.8,
        story="Three stable states under three inputs that overlap.",
        source="A standard example of safe learning of LQ control",
    )


LITERATURE: dict[str, Callable[[], Plant]] = {
    "toy": toy,
    "laplacian": laplacian,
    "laplacian-cheap-state": laplacian_cheap_state,
    "boeing747": boeing747,
    "uav": uav,
    "transient": transient,
    "chained": chained,
    "chained-single": chained_single,
    "pendulum": pendulum,
    "stable3": stable3,
}
