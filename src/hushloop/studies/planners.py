"""Planners side by side over the same blocks and the same belief."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .cell import Cell
from .figures import regret_bars, regret_curves
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
    return regret_bars(t, o, [*kinds(o), "idle"])


def draw_curves(t: Tables, o: Options) -> Figure:
    return regret_curves(t, o, [*kinds(o), "idle"])


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
