"""How the price of learning grows with states, inputs and horizon, on random plants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .cell import Cell
from .figures import look, new_figure
from .study import Drawing, Frames, Options, Study, Tables
from .summary import lines
from .tasks import fleet_cell

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

AXES = {"n": "states n", "d": "inputs d", "horizon": "horizon H"}
LABELS = ("refined", "nonprivate")


def cells(o: Options) -> list[Cell]:
    out = []
    sizes = {"n": o["states"], "d": o["inputs"], "horizon": o["horizons"]}
    for seed in range(o["seeds"]):
        for axis, values in sizes.items():
            for value in values:
                size = {**o["base"], axis: value, "seed": seed}
                tags: dict[str, Any] = {"axis": axis, "value": value}
                work = float((size["n"] + size["d"]) ** 2 * size["horizon"])
                for profile in LABELS:
                    epsilon = o["epsilon"] if profile == "refined" else None
                    out.append(fleet_cell({"random": size}, profile, o["users"], seed, epsilon, weight=work, **tags))
    return out


def tables(frames: Frames, o: Options) -> dict[str, pl.DataFrame]:
    import polars as pl

    rows = frames["cells"]
    shares = rows.group_by(["agent", "axis", "value", "seed"], maintain_order=True).agg(
        (pl.col("idle") - pl.col("best")).first().alias("idle_loss")
    )
    mean = shares.group_by(["agent", "axis", "value"], maintain_order=True).agg(pl.col("idle_loss").mean())
    found = lines(rows, ("agent", "axis", "value")).join(mean, on=["agent", "axis", "value"])
    return {"dimension": found.with_columns((pl.col("regret") / pl.col("idle_loss")).alias("users_lost"))}


def draw(t: Tables, o: Options) -> Figure:
    figure, axes = new_figure(11.0, 4.2, columns=3, sharey=True)
    for one, (axis, title) in zip(axes, AXES.items(), strict=True):
        for k, agent in enumerate(LABELS):
            table = t["dimension"].filter((t["dimension"]["agent"] == agent) & (t["dimension"]["axis"] == axis))
            scale = table["idle_loss"].to_numpy()
            error = [
                (table["regret"] - table["regret_low"]).to_numpy() / scale,
                (table["regret_high"] - table["regret"]).to_numpy() / scale,
            ]
            one.errorbar(table["value"], table["users_lost"], yerr=error, capsize=3, label=agent, **look(k))
            one.set_xscale("log")
            one.set_xticks(table["value"].to_list(), [str(v) for v in table["value"]])
            one.set_xticks([], minor=True)
        one.set(yscale="log", xlabel=title)
    axes[0].set_ylabel("regret, in users who were left idle")
    axes[0].legend(loc="upper left")
    return figure


STUDY = Study(
    name="dimension",
    title="Learning in more dimensions",
    question="How much more does a promise cost for larger plants?",
    options={
        "base": {"n": 3, "d": 2, "horizon": 8},
        "states": [1, 2, 4, 8, 12, 20],
        "inputs": [1, 2, 4, 8],
        "horizons": [2, 5, 10, 20, 50],
        "epsilon": 1.0,
        "users": 2**18,
        "seeds": 8,
    },
    quick={"states": [1, 2, 4, 6], "inputs": [1, 2, 4], "horizons": [2, 5, 15], "users": 2**15, "seeds": 3},
    cells=cells,
    tables=tables,
    drawings=(
        Drawing(
            "dimension", "Regret over what one user loses when nothing is done; median, 10–90 % over plants.", draw
        ),
    ),
)
