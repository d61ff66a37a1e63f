"""Recorded trajectories of simulated users, as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from hushloop.kernels.reference_episodes import trajectories
from hushloop.lq import Plant
from hushloop.simulation.play import disturbance_law, start_law


def recorded(plant: Plant, users: int, excitation: float = 0.5, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """States (users, H+1, n) and controls (users, H, d) of idle users with excited inputs."""
    problem = plant.problem
    X, U, _ = trajectories(
        seed, 0, users, A=plant.A, B=plant.B, gains=np.zeros((problem.horizon, problem.d, problem.n)),
        control_bound=problem.control_bound, disturbance=disturbance_law(problem.disturbance),
        start=start_law(problem.start), excitation=excitation,
    )  # fmt: skip
    return X, U


def table(X: np.ndarray, U: np.ndarray) -> pl.DataFrame:
    """One row a step and one for the last state, its controls null."""
    users, rows, n = X.shape
    padded = np.concatenate([U, np.full((users, 1, U.shape[2]), np.nan)], axis=1)
    columns = {"user": np.repeat(np.arange(users), rows), "step": np.tile(np.arange(1, rows + 1), users)}
    columns |= {f"x{i + 1}": X[:, :, i].ravel() for i in range(n)}
    columns |= {f"u{i + 1}": padded[:, :, i].ravel() for i in range(U.shape[2])}
    return pl.DataFrame(columns).with_columns(pl.selectors.starts_with("u").exclude("user").fill_nan(None))


def write(frame: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    return path
