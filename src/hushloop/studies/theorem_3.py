"""Theorem 3 measured: what privacy costs against ε and δ, for the paper once it has learned, and for `refined`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lq.files import load
from ..privacy.budget import Budget
from ..privacy.statement import Statement, statement
from .cell import Cell
from .figures import COLORS, look, new_figure
from .study import Drawing, Frames, Options, Study, Tables
from .summary import lines, power_law
from .tasks import fleet_cell, long_cell

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

AXES = {"epsilon": ("ε", -0.5), "delta": ("ln(1/δ)", 0.25)}


def cells(o: Options) -> list[Cell]:
    out = []
    points = [("epsilon", e, o["delta"]) for e in o["epsilons"]] + [("delta", o["epsilon"], d) for d in o["deltas"]]
    for seed in range(o["seeds"]):
        for axis, epsilon, delta in points:
            tags = {"axis": axis, "delta": delta}
            out.append(long_cell(o["plant"], o["paper_users"], seed, epsilon, **tags))
            out.append(fleet_cell(o["plant"], "refined", o["users"], seed, epsilon, **tags))
        out.append(fleet_cell(o["plant"], "nonprivate", o["users"], seed, axis="none"))
    return out


def tables(frames: Frames, o: Options) -> dict[str, pl.DataFrame]:
    import polars as pl

    found = lines(frames["cells"], ("agent", "axis", "epsilon", "delta"))
    free = float(found.filter(pl.col("agent") == "nonprivate")["regret_mean"][0])
    cost = found.filter(pl.col("agent") != "nonprivate").with_columns((pl.col("regret_mean") - free).alias("cost"))
    cost = cost.with_columns(_linear(cost, o).alias("share_of_idle"))
    powers = []
    for agent in ("paper", "refined"):
        for axis in AXES:
            one = cost.filter((pl.col("agent") == agent) & (pl.col("axis") == axis))
            one = one.filter(pl.col("share_of_idle") < o["left"])
            x = one["epsilon"].to_numpy() if axis == "epsilon" else np.log(1.0 / one["delta"].to_numpy())
            if len(one) >= 3:
                power, low, high = power_law(x, one["cost"].to_numpy())
                name, bound = AXES[axis]
                powers.append({"agent": agent, "axis": name, "power": power, "low": low, "high": high,
                               "bound": bound, "points": len(one)})  # fmt: skip
    return {"powers": pl.DataFrame(powers), "cost": cost}


def _linear(table: pl.DataFrame, o: Options) -> pl.Series:
    """Regret as a share of what doing nothing loses: near 1 the agent is still on the linear part."""
    plant = load(o["plant"])
    idle = float(plant.idle_cost - plant.optimal_cost)  # type: ignore[union-attr]
    return table["regret_mean"] / (idle * table["users"])


def draw(t: Tables, o: Options) -> Figure:
    figure, axes = new_figure(10.0, 4.4, columns=2)
    for one, axis in zip(axes, AXES, strict=True):
        name, bound = AXES[axis]
        for k, agent in enumerate(("paper", "refined")):
            table = t["cost"].filter((t["cost"]["agent"] == agent) & (t["cost"]["axis"] == axis))
            x = table["epsilon"].to_numpy() if axis == "epsilon" else np.log(1.0 / table["delta"].to_numpy())
            label = f"{agent}, {int(table['users'][0]):,} users" + _power_text(t, agent, name)
            one.plot(x, table["cost"], label=label, **look(k))
            middle = math.exp(float(np.log(x).mean()))
            level = math.exp(float(np.interp(math.log(middle), np.log(x), np.log(table["cost"].to_numpy()))))
            text = f"bound's power, {bound:g}" if k else None
            one.plot(x, level * (x / middle) ** bound, color=COLORS[6], linewidth=1.2, linestyle="--", label=text)
        one.set(xscale="log", yscale="log", xlabel=name, ylabel="cost of privacy: regret above non-private")
        low, high = one.get_ylim()
        one.set_ylim(low, high * (high / low) ** 0.35)
        one.legend(loc="upper left")
    ticks = sorted({round(float(v)) for v in np.log(1.0 / np.array(o["deltas"]))})
    axes[1].set_xticks(ticks, [str(v) for v in ticks])
    axes[1].set_xticks([], minor=True)
    return figure


def _power_text(t: Tables, agent: str, name: str) -> str:
    rows = t["powers"].filter((t["powers"]["agent"] == agent) & (t["powers"]["axis"] == name))
    return f": power {rows['power'][0]:.2f}" if len(rows) else ""


def findings(t: Tables, o: Options) -> list[str]:
    """Exponents as they were measured."""
    rows: list[dict[str, Any]] = t["powers"].to_dicts()
    return [
        f"`{r['agent']}`: the cost of privacy goes with {r['axis']} to the power {r['power']:.2f} (95 %: "
        f"{r['low']:.2f} to {r['high']:.2f}, {r['points']} points); the bound has {r['bound']:g}."
        for r in rows
    ] + [f"Points where more than {o['left']:.0%} of idle's loss is still lost are left out of the fits."]


def statements(o: Options) -> list[Statement]:
    problem = load(o["plant"]).problem  # type: ignore[union-attr]
    return [statement(problem, "paper", Budget(o["epsilon"], o["delta"]), users=o["paper_users"])]


STUDY = Study(
    name="theorem-3",
    title="Theorem 3 measured: the cost of privacy",
    question="Does the regret that privacy adds go with ε to the −1/2 and with ln(1/δ) to the 1/4?",
    options={
        "plant": "toy", "epsilons": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], "epsilon": 8.0,
        "deltas": [1e-2, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12], "delta": 1e-6, "paper_users": 2**30, "users": 2**20,
        "seeds": 12, "left": 0.2,
    },
    quick={"epsilons": [1.0, 4.0, 16.0, 64.0], "deltas": [1e-2, 1e-4, 1e-8, 1e-12], "users": 2**17, "seeds": 4},
    cells=cells,
    tables=tables,
    drawings=(Drawing("cost", "Mean regret above the non-private agent's, with the bound's powers.", draw),),
    findings=findings,
    statements=statements,
)  # fmt: skip
