"""How many users a deployment will need: rehearsed on plants drawn from the prior, so from public values alone."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import HushloopError, InvalidInput
from ..lq import Plant
from ..lq.files import load
from ..privacy.budget import Budget
from ..profiles import PROFILES, learner_of
from .cell import Cell, Rows
from .figures import band_line, new_figure
from .rehearsal import rehearsal_cell
from .workers import run_local

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROWTH = 2.0
"""What `serve` runs."""

FACTORS = (0.125, 0.25, 0.5, 2.0, 4.0, 8.0)
"""The other ε of the table, over the one that was asked for."""

TRIALS, DRAWS, OTHERS = 8, 40, 8
"""Draws to choose the first block with, to answer with, and for each other ε."""

MOST = 2**18
"""Users in the longest rehearsal at ε ≥ 1, in proportion more below; who has not learned then is said to need more."""

SEED = 20_260
"""Of the advisor's draws from the prior."""


@dataclass(frozen=True, eq=False)
class Advice:
    """What was found; `users` is the learning time against doing nothing over what the prior allows."""

    plant: str
    budget: Budget
    within: float
    users: dict[str, float | None]  # low, median, high: 10–90 %; None: beyond the largest rehearsal
    nominal: dict[str, float | None]  # the same against the nominal controller
    choice: dict[str, Any]
    candidates: list[dict[str, Any]]
    table: list[dict[str, Any]]
    never: float  # share of draws that had not learned when the rehearsal ended

    def configuration(self) -> dict[str, Any]:
        """Keys that `run --config` and `serve --config` both take."""
        b = self.budget
        return {
            "plant": self.plant, "profile": "refined", "epsilon": b.epsilon, "delta": b.delta,
            "adjacency": str(b.adjacency), "participations": b.participations, "first": self.choice["first"],
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return {
            "plant": self.plant, "epsilon": self.budget.epsilon, "delta": self.budget.delta,
            "adjacency": str(self.budget.adjacency), "within": self.within, "users": self.users,
            "against_nominal": self.nominal, "never": self.never, "choice": self.choice,
            "candidates": self.candidates, "table": self.table, "configuration": self.configuration(),
        }  # fmt: skip

    def plot(self) -> Figure:
        """Users against ε."""
        import polars as pl

        figure, axes = new_figure(7.5, 4.6)
        for k, (key, label) in enumerate((("idle", "against doing nothing"), ("nominal", "against the nominal model"))):
            known = [row for row in self.table if row[key]["median"] is not None]
            if known:
                columns = {"users": "median", "users_low": "low", "users_high": "high"}
                data = {name: [_or(row[key][at], row[key]["median"]) for row in known] for name, at in columns.items()}
                frame = pl.DataFrame({"epsilon": [row["epsilon"] for row in known], **data})
                band_line(axes, frame, "users", k, label, x="epsilon")
        axes.set(xscale="log", yscale="log", xlabel="ε", title=self.plant,
                 ylabel=f"users until the next lose {self.within:.0%} or less")  # fmt: skip
        shown = [row["epsilon"] for row in self.table]
        axes.set_xticks(shown, [f"{e:g}" for e in shown])
        axes.set_xticks([], minor=True)
        axes.legend()
        return figure


def advise(
    plant: str,
    epsilon: float,
    within: float = 0.1,
    *,
    delta: float = 1e-6,
    adjacency: Any = "replace-one",
    participations: int = 1,
    draws: int = DRAWS,
    most: int | None = None,
    factors: Sequence[float] = FACTORS,
    workers: int | None = None,
    seed: int = SEED,
    progress: Callable[[int], None] = lambda step: None,
) -> Advice:
    """Rehearse `plant` (a name of the gallery or a file; a problem without its truth is enough)."""
    if not (math.isfinite(within) and 0 < within < 1):
        raise InvalidInput("within", f"is {within}", "give a share above 0 and below 1, such as 0.1")
    if draws < 10:
        raise InvalidInput("draws", f"is {draws}", "give at least 10, for a 10–90 % band")
    found = load(plant)
    problem = found.problem if isinstance(found, Plant) else found
    budget = Budget(epsilon, delta, adjacency, participations)
    common = {"within": within, "users": longest(epsilon, most)}
    short = {"within": within, "users": max(64, longest(epsilon, most) // 4)}
    first = first_block(problem, budget)
    trials = [
        rehearsal_cell(plant, budget, i, seed + 1, first=f, growth=g, **short)
        for f, g in ((max(1, first // 2), GROWTH), (first, GROWTH), (2 * first, GROWTH), (first, 1.5), (first, 3.0))
        for i in range(TRIALS)
    ]
    candidates = _candidates(_rows(trials, workers, progress), short["users"])
    served = [c for c in candidates if c["growth"] == GROWTH]
    chosen = int(min(served, key=lambda c: (c["users"] is None, c["users"] or 0.0))["first"])
    cells = [rehearsal_cell(plant, budget, i, seed, first=chosen, **common) for i in range(draws)]
    for factor in factors:
        other = Budget(epsilon * factor, delta, adjacency, participations)
        more = {"within": within, "users": longest(other.epsilon, most)}
        cells += [rehearsal_cell(plant, other, i, seed, **more) for i in range(OTHERS)]
    rows = _rows(cells, workers, progress)
    mine = [row for row in rows if row["epsilon"] == epsilon]
    table = [_shifted(mine, rows, epsilon * factor) for factor in sorted((*factors, 1.0))]
    choice = {"mechanism": "blocks", "first": chosen, "growth": GROWTH, **_by_block(mine)}
    never = sum(row["idle"] is None for row in mine) / len(mine)
    here = {key: spread(mine, key) for key in ("idle", "nominal")}
    return Advice(plant, budget, within, here["idle"], here["nominal"], choice, candidates, table, never)


def steps(draws: int = DRAWS) -> int:
    """How often `progress` is called."""
    return 5 * TRIALS + draws + len(FACTORS) * OTHERS


def longest(epsilon: float, most: int | None) -> int:
    """How long to rehearse: users are needed in proportion to 1/ε."""
    return most or min(2**24, int(MOST * max(1.0, 1.0 / epsilon)))


def first_block(problem: Any, budget: Budget) -> int:
    """What `refined` would choose by itself."""
    learner = learner_of(problem, PROFILES["refined"], budget, None, 0, None)
    return int(learner.first_block)  # type: ignore[attr-defined]


def _rows(cells: Sequence[Cell], workers: int | None, progress: Callable[[int], None]) -> Rows:
    import io

    import polars as pl

    found: dict[str, Rows] = {}
    for cell, outcome in run_local(cells, lambda cell: None, workers or os.cpu_count() or 1):
        if outcome.parquet is None:
            raise HushloopError(f"a rehearsal failed ({cell.label}): {(outcome.error or '').strip()[-400:]}")
        found[cell.key] = pl.read_parquet(io.BytesIO(outcome.parquet)).to_dicts()
        progress(1)
    return [row for cell in cells for row in found[cell.key]]


def _candidates(rows: Rows, most: float) -> list[dict[str, Any]]:
    """Geometric mean learning time of each first block and growth, over the same draws, cut at `most`."""
    groups: dict[tuple[int, float], list[float]] = {}
    for row in rows:
        groups.setdefault((row["first"], row["growth"]), []).append(_or(row["idle"], math.inf))
    return [
        {"first": first, "growth": growth, "users": _finite(float(np.exp(np.mean(np.log(np.minimum(values, most))))))}
        for (first, growth), values in groups.items()
    ]


def _shifted(mine: Rows, rows: Rows, epsilon: float) -> dict[str, Any]:
    """The band at another ε: that of all draws, shifted by how much the draws that were run at both ε took longer."""
    other = {row["index"]: row for row in rows if row["epsilon"] == epsilon}
    out: dict[str, Any] = {"epsilon": epsilon, "draws": len(other)}
    for key in ("idle", "nominal"):
        pairs = [(row[key], other[row["index"]][key]) for row in mine if row["index"] in other]
        ratios = [math.log(b / a) for a, b in pairs if a is not None and b is not None]
        shift = math.exp(float(np.median(ratios))) if ratios else math.inf
        band = {name: None if v is None else _finite(max(1.0, v * shift)) for name, v in spread(mine, key).items()}
        out[key] = band
    return out


def spread(rows: Rows, key: str) -> dict[str, float | None]:
    """10–90 % and the median, interpolated in logarithms; None where that lies beyond the rehearsal."""
    values = np.log(np.maximum([_or(row[key], math.inf) for row in rows], 1.0))
    out = {}
    for name, q in (("low", 0.1), ("median", 0.5), ("high", 0.9)):
        with np.errstate(invalid="ignore"):
            found = float(np.exp(np.quantile(values, q)))
        out[name] = _finite(found)
    return out


def _by_block(rows: Rows) -> dict[str, list[float]]:
    """Medians over draws of what each block asks for, for as many blocks as half of the draws have had."""
    count = sorted(len(row["blocks"]) for row in rows)[len(rows) // 2]
    out: dict[str, list[float]] = {"blocks": [], "energy": [], "excitation": []}
    for t in range(count):
        here = [row for row in rows if len(row["blocks"]) > t]
        for key, values in out.items():
            values.append(float(np.median([row[key][t] for row in here])))
    return out


def _or(value: float | None, other: Any) -> Any:
    return other if value is None else value


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
