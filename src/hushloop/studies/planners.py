"""Planners side by side over the same blocks and the same belief."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .cell import Cell
from .figures import band_line, bars, new_figure
from .study import Drawing, Frames, Options, Study, Tables
from .summary import curves, lines
from .tasks import fleet_cell

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

BY = ("plant", "agent", "epsilon", "label")
SHIPPED = ("excited", "certainty", "optimistic", "relaxed", "thompson")


def kinds(o: Options) -> dict[str, str]:
    """The shipped ones, and anybody's own: name → module:function."""
    return {**{name: name for name in SHIPPED}, **o["own"]}


def cells(o: Options) -> list[Cell]:
    out = []
    for seed in range(o["seeds"]):
        for name, planner in kinds(o).items():
            changes: dict[str, Any] = {"planner": planner}
            tags: dict[str, Any] = {"label": name, "name": name}
            out.append(
                fleet_cell(o["plant"], "refined", o["users"], seed, o["epsilon"], changes=changes, weight=1.5, **tags)
            )
    for name in ("idle", "oracle"):
        changes = {"planner": name, "mechanism": "none", "private": False}
        out.append(fleet_cell(o["plant"], "nonprivate", o["users"], 0, changes=changes, label=name, name=name))
    return out


def tables(frames: Frames, o: Options) -> dict[str, pl.DataFrame]:
    return {"curves": curves(frames["cells"], BY), "summary": lines(frames["cells"], BY)}


def draw_regret(t: Tables, o: Options) -> Figure:
    import polars as pl

    rows = t["summary"].filter(pl.col("label") != "oracle")
    figure, axes = new_figure(7.5, 0.9 + 0.5 * len(rows))
    bars(axes, rows["label"].to_list(), rows["regret"], rows["regret_low"], rows["regret_high"])
    axes.set(xscale="log", xlabel="regret", title=f"{o['plant']}, ε = {o['epsilon']:g}, {o['users']:,} users")
    axes.set_xlim(right=float(rows["regret_high"].max()) * 3)  # type: ignore[arg-type]
    return figure


def draw_curves(t: Tables, o: Options) -> Figure:
    figure, axes = new_figure(8.0, 4.8)
    for k, label in enumerate([*kinds(o), "idle"]):
        one = t["curves"].filter(t["curves"]["label"] == label)
        if len(one):
            band_line(axes, one, "regret", k, label)
    axes.set(xscale="log", yscale="log", xlabel="users", ylabel="cumulative regret", title=o["plant"])
    axes.legend()
    return figure


STUDY = Study(
    name="planners",
    title="Planners side by side",
    question="With the same data and the same promise, what is gained by planning differently?",
    options={"plant": "toy", "epsilon": 1.0, "users": 2**18, "seeds": 16, "own": {}},
    quick={"seeds": 4, "users": 2**17},
    cells=cells,
    tables=tables,
    drawings=(
        Drawing("regret", "Regret after all users; median, whiskers 10–90 % over seeds.", draw_regret),
        Drawing("curves", "Regret as people come; median and 10–90 % over seeds.", draw_curves),
    ),
)
