"""How often the belief holds the truth at every release, against what α allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .cell import Cell
from .figures import look, new_figure
from .study import Drawing, Frames, Options, Study, Tables
from .tasks import fleet_cell

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

KINDS: dict[str, dict[str, Any]] = {
    "recursive": {},
    "cumulative": {"mechanism": "factorised", "belief": "cumulative", "first": 512, "growth": 1.5},
}


def cells(o: Options) -> list[Cell]:
    out = []
    for plant in o["plants"]:
        for alpha in o["alphas"]:
            for name, changes in KINDS.items():
                for seed in range(o["seeds"]):
                    more = {**changes, "alpha": alpha}
                    tags = {"label": name, "alpha": alpha}
                    out.append(fleet_cell(plant, "refined", o["users"], seed, o["epsilon"], changes=more, **tags))
    return out


def tables(frames: Frames, o: Options) -> dict[str, pl.DataFrame]:
    """Share of seeds covered throughout, with its Clopper–Pearson interval at 95 %."""
    import polars as pl
    from scipy.special import betaincinv

    runs = (
        frames["cells"].group_by(["plant", "label", "alpha", "seed"], maintain_order=True).agg(pl.col("covered").all())
    )
    found = runs.group_by(["plant", "label", "alpha"], maintain_order=True).agg(
        pl.col("covered").sum().cast(pl.Int64), pl.len().cast(pl.Int64).alias("seeds")
    )
    low, high = [], []
    for row in found.iter_rows(named=True):
        k, n = row["covered"], row["seeds"]
        low.append(0.0 if k == 0 else float(betaincinv(k, n - k + 1, 0.025)))
        high.append(1.0 if k == n else float(betaincinv(k + 1, n - k, 0.975)))
    share = pl.col("covered") / pl.col("seeds")
    return {"coverage": found.with_columns(share.alias("share"), pl.Series("low", low), pl.Series("high", high))}


def draw(t: Tables, o: Options) -> Figure:
    figure, axes = new_figure(7.5, 4.6)
    k = 0
    for plant in o["plants"]:
        for name in KINDS:
            one = t["coverage"].filter((t["coverage"]["label"] == name) & (t["coverage"]["plant"] == plant))
            if len(one):
                x = one["alpha"].to_numpy() * 1.03 ** (k - 1.5)
                error = [(one["share"] - one["low"]).to_numpy(), (one["high"] - one["share"]).to_numpy()]
                axes.errorbar(x, one["share"], yerr=error, capsize=3, label=f"{plant}, {name}", **look(k))
                k += 1
    alphas = np.geomspace(min(o["alphas"]), max(o["alphas"]), 50)
    axes.plot(alphas, 1 - alphas, color="#999999", linewidth=1, label="1 − α")
    axes.set(xscale="log", xlabel="α", ylabel="share of seeds covered at every release", ylim=(0.4, 1.02))
    axes.set_xticks(o["alphas"], [f"{a:g}" for a in o["alphas"]])
    axes.set_xticks([], minor=True)
    axes.legend(loc="lower left")
    return figure


def findings(t: Tables, o: Options) -> list[str]:
    short = t["coverage"].filter(t["coverage"]["high"] < 1 - t["coverage"]["alpha"])
    out = [
        f"{row['plant']}, {row['label']}: {row['covered']} of {row['seeds']} covered at α = {row['alpha']:g}, "
        "significantly below 1 − α."
        for row in short.iter_rows(named=True)
    ]
    return out or ["No setting covers significantly less often than 1 − α."]


STUDY = Study(
    name="coverage",
    title="How often the belief holds the truth",
    question="Does the belief keep what α promises, and how much slack does it have?",
    options={"plants": ["toy", "laplacian"], "alphas": [0.02, 0.1, 0.5], "epsilon": 1.0, "users": 2**16, "seeds": 200},
    quick={"plants": ["toy"], "seeds": 20, "users": 2**14},
    cells=cells,
    tables=tables,
    drawings=(Drawing("coverage", "Seeds covered at every release, with 95 % Clopper–Pearson intervals.", draw),),
    findings=findings,
)
