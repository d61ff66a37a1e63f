"""What a run gives: one table row a release, a summary document, and the configuration and version that made it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._version import __version__
from .learning_time import learning_time, spread
from .rows import Row

if TYPE_CHECKING:
    import polars as pl

TENTH = 0.1
"""Learning is measured by the users it takes until the next ones lose a tenth of what idle loses."""


@dataclass(frozen=True, eq=False)
class Result:
    """Rows of all finished seeds, and what is needed to make them again."""

    rows: list[Row]
    seeds: tuple[int, ...]
    configuration: dict[str, Any]  # plant, profile, budget, users, seed: as given, resolved
    guarantee: dict[str, Any] | None
    optimal_cost: float
    idle_cost: float
    nominal_cost: float
    seconds: float
    interrupted: bool = False
    version: str = __version__

    @property
    def table(self) -> pl.DataFrame:
        """One row a release (short blocks put together), with seed, version and the main settings in every row."""
        import polars as pl

        keep = {key: self.configuration.get(key) for key in ("plant", "profile", "epsilon", "delta", "adjacency")}
        rows = [{**row, **keep, "version": self.version} for row in self.rows]
        return pl.DataFrame(rows, infer_schema_length=None)

    def of_seed(self, seed: int) -> list[Row]:
        return [row for row in self.rows if row["seed"] == seed]

    @property
    def regrets(self) -> list[float]:
        """Cumulative regret of each seed."""
        return [math.fsum(r["loss"] * r["block_users"] for r in self.of_seed(seed)) for seed in self.seeds]

    @property
    def learning_times(self) -> list[float]:
        bound = TENTH * (self.idle_cost - self.optimal_cost)
        out = []
        for seed in self.seeds:
            rows = self.of_seed(seed)
            ends, losses = np.array([r["users"] for r in rows], dtype=float), np.array([r["loss"] for r in rows])
            out.append(learning_time(ends, losses, bound))
        return out

    def summary(self) -> dict[str, Any]:
        """The JSON document of `hushloop run`."""
        if not self.seeds:
            return {**self._head(), "interrupted": True, "regret": None}
        regrets = self.regrets
        exact = all(row["exact"] for row in self.rows)
        variance = [sum((r["loss_stderr"] * r["block_users"]) ** 2 for r in self.of_seed(seed)) for seed in self.seeds]
        gaps = [row["optimism_gap"] for row in self.rows if row["optimism_gap"] is not None]
        last = [self.of_seed(seed)[-1] for seed in self.seeds]
        steps = sum(row["block_users"] for row in self.rows)
        return {
            **self._head(),
            "regret": {
                "kind": "exact" if exact else "paired",
                "per_seed": regrets,
                "mean": float(np.mean(regrets)),
                "low": float(np.quantile(regrets, 0.1)),
                "high": float(np.quantile(regrets, 0.9)),
                "stderr": math.sqrt(sum(variance)) / len(regrets),
            },
            "coverage": {
                "seeds": len(self.seeds),
                "covered": sum(all(row["covered"] for row in self.of_seed(seed)) for seed in self.seeds),
            },
            "learning_time": spread(self.learning_times),
            "final_loss": {"mean": float(np.mean([row["loss"] for row in last]))},
            "clipped_share": sum(row["clipped_share"] * row["block_users"] for row in self.rows) / steps,
            "included_share": sum(row["included_share"] * row["block_users"] for row in self.rows) / steps,
            "planner": {
                "failed": sum(row["failed"] for row in self.rows),
                "optimism_gap_max": max(gaps) if gaps else None,
            },
            "assumption_2": self.assumption_2(),
            "releases": self.by_release(),
            "seconds": self.seconds,
            "interrupted": self.interrupted,
        }

    def assumption_2(self) -> dict[str, int] | None:
        """How many releases met ‖H‖ ≤ λ_max, ‖H⁻¹‖ ≤ 1/λ_min, ‖L‖_{H⁻¹} ≤ ν, where the paper's belief counts on it."""
        measured = sum(row["assumption_2_measured"] for row in self.rows)
        held = sum(row["assumption_2_held"] for row in self.rows)
        return {"releases": measured, "held": held} if measured else None

    def by_release(self) -> list[dict[str, Any]]:
        """Means over seeds at each release; schedules are public, so all seeds share them."""
        groups: dict[int, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(row["users"], []).append(row)
        return [
            {
                "users": users,
                "block_users": rows[0]["block_users"],
                "loss_mean": _mean(rows, "loss"),
                "loss_low": float(np.quantile([r["loss"] for r in rows], 0.1)),
                "loss_high": float(np.quantile([r["loss"] for r in rows], 0.9)),
                "excitation_mean": _mean(rows, "excitation"),
                "energy_mean": _mean(rows, "energy"),
                "optimism_gap_mean": _mean(rows, "optimism_gap"),
                "promised_mean": _mean(rows, "promised"),
                "cost_mean": _mean(rows, "cost"),
                "clipped_share": _mean(rows, "clipped_share"),
            }
            for users, rows in sorted(groups.items())
        ]

    def save(self, folder: Path) -> None:
        """DIR/run.json and DIR/releases.parquet."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.json").write_text(json.dumps(finite(self.summary()), indent=2, ensure_ascii=False))
        self.table.write_parquet(folder / "releases.parquet")

    def _head(self) -> dict[str, Any]:
        return {
            "plant": self.configuration["plant"],
            "profile": self.configuration["resolved"],
            "guarantee": self.guarantee,
            "optimal_cost": self.optimal_cost,
            "idle_cost": self.idle_cost,
            "nominal_cost": self.nominal_cost,
            "configuration": self.configuration,
            "version": self.version,
        }


def _mean(rows: list[Row], key: str) -> float | None:
    found = [row[key] for row in rows if row[key] is not None]
    return float(np.mean(found)) if found else None


def finite(value: Any) -> Any:
    """Infinities and NaN as null, all the way down."""
    if isinstance(value, dict):
        return {key: finite(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
