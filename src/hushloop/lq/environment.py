"""An episode of a plant as a gymnasium environment; needs the extra `interop`."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from .plant import Plant

Array = NDArray[np.float64]


def largest_state(plant: Plant) -> float:
    """A bound on ‖x‖ over an episode."""
    pr = plant.problem
    fresh = float(np.linalg.norm(plant.B, 2)) * pr.control_bound + pr.disturbance_bound
    norm_a, out, now = float(np.linalg.norm(plant.A, 2)), pr.start.largest_norm, pr.start.largest_norm
    for _ in range(pr.horizon):
        now = norm_a * now + fresh
        out = max(out, now)
    return out * (1.0 + 1e-9)


class PlantEnvironment(gymnasium.Env[Array, Array]):
    """H steps of x⁺ = Ax + Bu + w with reward −(x'Qx + u'Ru). An action is u/γ, cut to the actuator limits and to γ."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, plant: Plant) -> None:
        self.plant = plant
        pr = plant.problem
        largest = largest_state(plant)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (pr.d,), dtype=np.float64)
        self.observation_space = gymnasium.spaces.Box(-largest, largest, (pr.n,), dtype=np.float64)
        self.state = np.zeros(pr.n)
        self.step_index = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self.state = self.plant.problem.start.sample(1, self.np_random)[0]
        self.step_index = 0
        return self.state.copy(), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        pr, x = self.plant.problem, self.state
        u = pr.cut(pr.control_bound * np.asarray(action, dtype=float))
        cost = float(x @ pr.Q @ x + u @ pr.R @ u)
        self.state = self.plant.A @ x + self.plant.B @ u + pr.disturbance.sample(1, self.np_random)[0]
        self.step_index += 1
        return self.state.copy(), -cost, self.step_index >= pr.horizon, False, {"applied": u}
