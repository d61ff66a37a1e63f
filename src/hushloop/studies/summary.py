"""From rows to tables: bands over seeds on a grid of users, and one line for each agent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..simulation.learning_time import learning_time

if TYPE_CHECKING:
    import polars as pl

TENTH = 0.1


def curves(rows: pl.DataFrame, by: Sequence[str], points_per_decade: int = 8) -> pl.DataFrame:
    """Regret and loss of a user at geometric numbers of users: median and 10–90 % over seeds, for each group."""
    import polars as pl

    out: list[dict[str, Any]] = []
    for key, group in rows.group_by(list(by), maintain_order=True):
        runs = [run.sort("users") for _, run in group.group_by("seed", maintain_order=True)]
        last = min(int(run["users"][-1]) for run in runs)
        grid = _grid(min(int(run["users"][0]) for run in runs), last, points_per_decade)
        regret = np.stack([np.interp(grid, _from_zero(run["users"]), _from_zero(run["regret"])) for run in runs])
        loss = np.stack([_at(run, grid) for run in runs])
        for i, users in enumerate(grid):
            row = dict(zip(by, key, strict=True))
            row.update({"users": int(users), "seeds": len(runs)})
            row.update(band("regret", regret[:, i]) | band("loss", loss[:, i]))
            out.append(row)
    return pl.DataFrame(out, infer_schema_length=None)


def lines(rows: pl.DataFrame, by: Sequence[str], within: float = TENTH) -> pl.DataFrame:
    """One line a group: final regret, learning time at `within` of idle's loss, coverage, the last users' loss."""
    import polars as pl

    out: list[dict[str, Any]] = []
    for key, group in rows.group_by(list(by), maintain_order=True):
        runs = [run.sort("users") for _, run in group.group_by("seed", maintain_order=True)]
        row = dict(zip(by, key, strict=True))
        row.update({"users": int(runs[0]["users"][-1]), "seeds": len(runs)})
        row.update(band("regret", np.array([run["regret"][-1] for run in runs])))
        row["regret_mean"] = float(np.mean([run["regret"][-1] for run in runs]))
        row.update(time_band([time_of(run, within) for run in runs]))
        row.update(band("final_loss", np.array([run["loss"][-1] for run in runs])))
        row["covered"] = sum(bool(run["covered"].all()) for run in runs)
        out.append(row)
    return pl.DataFrame(out, infer_schema_length=None)


def time_of(run: pl.DataFrame, within: float = TENTH) -> float:
    """Learning time of one seed."""
    bound = within * float(run["idle"][0] - run["best"][0])
    return learning_time(run["users"].to_numpy().astype(float), run["loss"].to_numpy(), bound)


def band(name: str, values: Any) -> dict[str, float]:
    """Median and 10–90 %."""
    low, middle, high = (float(v) for v in np.quantile(values, [0.1, 0.5, 0.9]))
    return {f"{name}_low": low, f"{name}": middle, f"{name}_high": high}


def time_band(values: Sequence[float]) -> dict[str, float | None]:
    """The same for learning times, which may be infinite: None."""
    out: dict[str, float | None] = {}
    for key, q in (("time_low", 0.1), ("time", 0.5), ("time_high", 0.9)):
        found = float(np.quantile(values, q, method="lower" if q < 0.5 else "higher"))
        out[key] = found if math.isfinite(found) else None
    return out


def power_law(x: Any, y: Any) -> tuple[float, float, float]:
    """The exponent of y ∝ x^b by least squares on logarithms, and its 95 % interval (Student)."""
    from scipy.special import stdtrit

    u, v = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    u = u - u.mean()
    slope = float(u @ (v - v.mean()) / (u @ u))
    rest = v - v.mean() - slope * u
    free = max(len(u) - 2, 1)
    reach = float(stdtrit(free, 0.975)) * math.sqrt(float(rest @ rest) / free / float(u @ u))
    return slope, slope - reach, slope + reach


def _grid(first: int, last: int, per_decade: int) -> Any:
    count = max(2, int(per_decade * math.log10(last / max(first, 1))) + 2)
    return np.unique(np.round(np.geomspace(max(first, 1), last, count)).astype(np.int64))


def _from_zero(values: Any) -> Any:
    return np.concatenate([[0.0], values.to_numpy().astype(float)])


def _at(run: pl.DataFrame, grid: Any) -> Any:
    """Loss of the block that user number `grid` lies in."""
    at = np.searchsorted(run["users"].to_numpy(), grid, side="left")
    return run["loss"].to_numpy()[np.minimum(at, len(run) - 1)]
