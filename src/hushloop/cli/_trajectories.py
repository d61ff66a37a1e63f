"""Trajectories of a plant under optimal control and under none, as text and as a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._common import print_json, print_table, remark

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..lq import Plant

USERS = 200


def show_plant(plant: Plant, out: Path, seed: int, as_json: bool, quiet: bool) -> None:
    """Optimal control against doing nothing: costs, and trajectories here and in files."""
    runs = {
        "optimal": states(plant, plant.optimal_gains, seed),
        "idle": states(plant, plant.optimal_gains * 0.0, seed),
    }
    written = draw(plant, runs, out)
    if as_json:
        costs = {"optimal_cost": plant.optimal_cost, "idle_cost": plant.idle_cost, "nominal_cost": plant.nominal_cost}
        print_json({"name": plant.name, **costs, "files": [str(path) for path in written]})
        return
    click.echo(f"{plant.name}: {plant.problem.about.story}")
    print_table(
        ("what the controller knows", "expected cost of one user"),
        [
            ("everything (optimal)", plant.optimal_cost),
            ("the nominal model alone", plant.nominal_cost),
            ("nothing (no control)", plant.idle_cost),
        ],
    )
    click.echo(f"\nDistance from the set-point, mean of {USERS} users: o optimal, · no control\n")
    click.echo(plot({"o": distances(runs["optimal"]), "·": distances(runs["idle"])}))
    for path in written:
        remark(f"wrote {path}", quiet)
    if not written:
        remark("no files: matplotlib is not installed (pip install 'hushloop[plots]')", quiet)


def states(plant: Plant, gains: NDArray[Any], seed: int) -> NDArray[Any]:
    """(USERS, H+1, n) under u = Kx, cut as the device cuts; the same users whatever the gains."""
    import numpy as np

    problem, rng = plant.problem, np.random.default_rng(seed)
    x = np.zeros((USERS, problem.horizon + 1, problem.n))
    x[:, 0] = problem.start.sample(USERS, rng)
    for h in range(problem.horizon):
        u = np.array([problem.cut(row) for row in x[:, h] @ gains[h].T])
        x[:, h + 1] = x[:, h] @ plant.A.T + u @ plant.B.T + problem.disturbance.sample(USERS, rng)
    return x


def distances(x: NDArray[Any]) -> list[float]:
    """Mean ‖x_h‖ of the users, for h = 1..H+1."""
    import numpy as np

    return [float(v) for v in np.linalg.norm(x, axis=2).mean(axis=0)]


def plot(curves: dict[str, list[float]], width: int = 60, height: int = 12) -> str:
    """Curves as text: one mark each, the first on top."""
    top = max(max(values) for values in curves.values()) or 1.0
    grid = [[" "] * width for _ in range(height)]
    for mark, values in reversed(curves.items()):
        last = len(values) - 1
        for column in range(width):
            at = column / (width - 1) * last
            left = min(int(at), last - 1)
            value = values[left] + (at - left) * (values[left + 1] - values[left])
            grid[height - 1 - round(value / top * (height - 1))][column] = mark
    labels = [f"{top:8.3g} |"] + [" " * 8 + " |"] * (height - 2) + [f"{0.0:8.3g} |"]
    lines = [label + "".join(row).rstrip() for label, row in zip(labels, grid, strict=True)]
    return "\n".join(
        [*lines, " " * 9 + "+" + "-" * width, " " * 10 + f"step 1{f'step {last + 1}':>{max(width - 6, 8)}}"]
    )


def draw(plant: Plant, runs: dict[str, NDArray[Any]], out: Path) -> list[Path]:
    """The figure as PNG and SVG; nothing where matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return []
    figure = Figure(figsize=(8, 3.2 * plant.problem.n**0.5), layout="constrained")
    names = plant.problem.units.state_names if plant.problem.units else [f"x{i + 1}" for i in range(plant.problem.n)]
    axes = figure.subplots(plant.problem.n, 1, sharex=True, squeeze=False)[:, 0]
    for i, axis in enumerate(axes):
        for (label, x), color in zip(runs.items(), ("tab:blue", "tab:orange"), strict=True):
            axis.plot(range(1, x.shape[1] + 1), x[:20, :, i].T, color=color, alpha=0.2, lw=0.8)
            axis.plot(range(1, x.shape[1] + 1), x[:, :, i].mean(axis=0), color=color, lw=2, label=label)
        axis.set_ylabel(names[i].split(",")[0], fontsize=8)
        axis.axhline(0.0, color="gray", lw=0.5)
    axes[0].legend(title=f"{plant.name}, scaled units")
    axes[-1].set_xlabel("step")
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / f"{plant.name}.{kind}" for kind in ("png", "svg")]
    for path in paths:
        figure.savefig(path)
    return paths
