"""A small study for a first look: one promise kept as published and as refined, beside none at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lq.files import load
from ..privacy.budget import Budget
from ..privacy.statement import Statement, statement
from .cell import Cell
from .figures import band_line, new_figure
from .study import Drawing, Frames, Options, Study, Tables
from .summary import curves, lines
from .tasks import fleet_cell

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

BY = ("plant", "agent", "epsilon", "label")


def cells(o: Options) -> list[Cell]:
    at, epsilon, out = (o["plant"], o["users"]), o["epsilon"], []
    for profile, label in agents(epsilon).items():
        promised = None if profile == "nonprivate" else epsilon
        out += [fleet_cell(at[0], profile, at[1], s, promised, label=label) for s in range(o["seeds"])]
    return out


def agents(epsilon: float) -> dict[str, str]:
    """Profile → what the figure calls it."""
    return {
        "paper": f"as published, printed ε = {epsilon:g}",
        "refined": f"refined, ε = {epsilon:g}",
        "nonprivate": "no promise",
    }


def tables(frames: Frames, o: Options) -> dict[str, pl.DataFrame]:
    return {"curves": curves(frames["cells"], BY), "summary": lines(frames["cells"], BY)}


def draw(t: Tables, o: Options) -> Figure:
    figure, axes = new_figure(8.0, 4.6)
    for k, label in enumerate(agents(o["epsilon"]).values()):
        one = t["curves"].filter(t["curves"]["label"] == label)
        if len(one):
            band_line(axes, one, "loss", k, label)
    plant = load(o["plant"])
    idle = float(plant.idle_cost - plant.optimal_cost)  # type: ignore[union-attr]
    axes.axhline(idle, color="#999999", linewidth=1, label="doing nothing")
    axes.set(xscale="log", yscale="log", xlabel="users so far", ylabel="mean loss of a user", title=o["plant"])
    axes.legend()
    return figure


def findings(t: Tables, o: Options) -> list[str]:
    out = []
    for row in t["summary"].iter_rows(named=True):
        when = f"not within {row['users']:,} users" if row["time"] is None else f"after {row['time']:,.0f} users"
        out.append(f"{row['label']}: nine tenths of what control is worth are won {when} (median of {row['seeds']}).")
    return out


def statements(o: Options) -> list[Statement]:
    problem = load(o["plant"]).problem  # type: ignore[union-attr]
    return [statement(problem, "refined", Budget(o["epsilon"]))]


STUDY = Study(
    name="demo",
    title="What a promise costs on one plant",
    question="How many people does it take to learn a good controller, with a privacy promise and without?",
    options={"plant": "toy", "epsilon": 1.0, "users": 2**16, "seeds": 4},
    quick={"seeds": 3},
    cells=cells,
    tables=tables,
    drawings=(Drawing("loss", "Loss of a user against the best controller; median and 10–90 % over seeds.", draw),),
    findings=findings,
    statements=statements,
)
