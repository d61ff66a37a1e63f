"""Personal services, where one controller serves many people and each person's data are private.

Costs are set on the scaled states and inputs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..disturbance import Disturbance
from ..plant import Plant
from .build import about_zero, ball, entry, rescale, units, zero_order_hold


def glucose() -> Plant:
    A = np.array([[0.0, -100.0, 0.0], [0.0, -0.02, 1.3e-5], [0.0, 0.0, -5.0 / 54.0]])
    B = np.array([[0.0], [0.0], [1.0 / 120.0]])
    states, inputs, basal = (20.0, 0.01, 50.0), (300.0,), 25.0
    truth = rescale(*zero_order_hold(A, B, 5.0), states, inputs)
    weaker = rescale(*zero_order_hold(A * [[1, 0.6, 1], [1, 1.5, 0.7], [1, 1, 1.4]], 0.35 * B, 5.0), states, inputs)
    steady = basal / 120.0 * 54.0 / 5.0
    return entry(
        "glucose",
        truth,
        weaker,
        horizon=24,
        start=ball((1.2, 0.0, 0.0), 0.4),
        noise=Disturbance("ball", 0.1, 3, scale=np.diag([1.0, 0.2, 0.2])),
        control=1.5,
        response=0.8,
        radius=0.45,
        operator_radius=0.35,
        low=[-basal / inputs[0]],
        units=units(
            [("glucose above target, mg/dL", states[0], 0.0),
             ("insulin action, 1/min", states[1], 1.3e-5 * steady / 0.02),
             ("plasma insulin, mU/L", states[2], steady)],
            [("insulin rate, mU/min", inputs[0], basal)], 5.0, "min",
        ),
        story="An insulin pump at night: bring glucose down; the pump cannot draw insulin back.",
        source="Bergman-type minimal model",
    )  # fmt: skip


def propofol() -> Plant:
    k10, k12, k13, k21, k31, ke0, volume = 0.119, 0.112, 0.042, 0.055, 0.0033, 0.26, 0.228
    A = np.array([[-(k10 + k12 + k13), k21, k31, 0], [k12, -k21, 0, 0], [k13, 0, -k31, 0], [ke0, 0, 0, -ke0]])
    B = np.array([[1.0 / volume], [0.0], [0.0], [0.0]])
    states, inputs, target = (1.0, 2.0, 2.0, 1.0), (0.5,), 3.0
    truth = rescale(*zero_order_hold(A, B, 1.0 / 6.0), states, inputs)
    other = rescale(*zero_order_hold(1.3 * A, 0.35 * B, 1.0 / 6.0), states, inputs)
    return entry(
        "propofol",
        truth,
        (0.85 * other[0], other[1]),
        horizon=30,
        start=ball((-0.5, -0.1, 0.0, -0.8), 0.2),
        noise=Disturbance("truncated-normal", 0.05, 4, scale=np.diag([1.0, 0.3, 0.3, 0.5])),
        control=1.5,
        response=0.8,
        radius=0.55,
        operator_radius=0.35,
        low=[-k10 * target * volume / inputs[0]],
        units=units(
            [("plasma, µg/mL", states[0], target), ("muscle, µg/mL", states[1], target * k12 / k21),
             ("fat, µg/mL", states[2], target * k13 / k31), ("effect site, µg/mL", states[3], target)],
            [("infusion, mg/kg/min", inputs[0], k10 * target * volume)], 10.0, "s",
        ),
        story="Anaesthesia too light: deepen it without overshoot; the pump cannot draw the drug back.",
        source="Marsh pharmacokinetic model with effect site",
    )  # fmt: skip


def car_following() -> Plant:
    A = [[1.0, 0.1, -0.168], [0.0, 1.0, -0.1], [0.0, 0.0, 0.74555]]
    A0 = [[1.0, 0.1, -0.1], [0.0, 1.0, -0.06], [0.0, 0.0, 0.6]]
    return entry(
        "car-following",
        (A, [[0.0], [0.0], [0.26718]]),
        (A0, [[0.0], [0.0], [0.1]]),
        horizon=40,
        start=ball((0.7, 0.3, 0.0), 0.2),
        noise=Disturbance("sphere", 0.04, 3, scale=np.diag([0.5, 1.0, 0.5])),
        control=1.5,
        response=0.8,
        radius=0.42,
        operator_radius=0.3,
        units=units(
            about_zero(("gap error, m", "relative speed, m/s", "acceleration, m/s²")),
            about_zero(("commanded acceleration, m/s²",)), 0.1, "s",
        ),
        story="A car keeps its distance in the manner of its driver.",
        source="Adaptive cruise control with a first-order drive train",
    )  # fmt: skip


def ev_charging() -> Plant:
    chargers = 10
    one = np.eye(chargers)
    return entry(
        "ev-charging",
        (one, -one),
        (0.9 * one, -0.45 * one),
        R=0.1 * one,
        horizon=5,
        start=ball([0.3] * chargers, 0.3),
        noise=Disturbance("sphere", 0.1, chargers),
        control=1.5,
        response=0.9,
        radius=1.9,
        operator_radius=0.6,
        units=units(
            about_zero([f"energy owed {i + 1}, kWh" for i in range(chargers)], 10.0),
            about_zero([f"energy a step {i + 1}, kWh" for i in range(chargers)], 10.0), 1.0, "h",
        ),
        story="Ten two-way chargers in one garage, each with energy still owed to its car.",
        source="Integrator model of charging",
    )  # fmt: skip


def battery() -> Plant:
    return entry(
        "battery",
        ([[1.0]], [[1.0]]),
        ([[0.85]], [[0.6]]),
        Q=[[100.0]],
        horizon=6,
        start=ball((0.8,), 0.3),
        noise=Disturbance("ball", 0.1, 1),
        control=1.5,
        response=1.0,
        radius=0.5,
        units=units(
            about_zero(("charge above target, kWh",), 2.0), about_zero(("charging, kWh a step",), 2.0), 1.0, "h"
        ),
        story="A home battery held at its target while the load of the house moves it.",
        source="E⁺ = E + u − load, the load's mean taken into the set-point",
    )


def two_zone_heating() -> Plant:
    A = 1e-4 * np.array([[-8.0, 2.0, 0.0, 0.0], [3.0, -9.0, 0.0, 6.0], [0.0, 0.0, -15.0, 5.0], [0.0, 2.0, 4.0, -6.0]])
    B = 1e-4 * np.array([[-2.5, 0.0], [0.0, 0.0], [0.0, -2.0], [0.0, 0.0]])
    states, inputs, steady = (2.0, 2.0, 2.0, 2.0), (10.0, 10.0), 10.0
    truth = rescale(*zero_order_hold(A, B, 300.0), states, inputs)
    other = rescale(*zero_order_hold(1.5 * A, 0.25 * B, 300.0), states, inputs)
    return entry(
        "two-zone-heating",
        truth,
        other,
        horizon=12,
        start=ball((0.7, 0.5, 0.6, 0.4), 0.2),
        noise=Disturbance("sphere", 0.05, 4),
        control=1.5,
        response=0.7,
        radius=0.5,
        operator_radius=0.3,
        low=[-steady / inputs[0]] * 2,
        units=units(
            about_zero(("zone 1, K", "wall 1, K", "zone 2, K", "wall 2, K"), states),
            [("power to zone 1, kW", inputs[0], steady), ("power to zone 2, kW", inputs[1], steady)], 300.0, "s",
        ),
        story="Two zones and their walls after a warm spell; a unit's power cannot be negative.",
        source="Kumar & Rawlings",
    )  # fmt: skip


SERVICES: dict[str, Callable[[], Plant]] = {
    "glucose": glucose,
    "propofol": propofol,
    "car-following": car_following,
    "ev-charging": ev_charging,
    "battery": battery,
    "two-zone-heating": two_zone_heating,
}
