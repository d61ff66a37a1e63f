"""The headline: how many people it takes until the next ones lose a tenth, the paper against the refined profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lq.files import load
from ..privacy.budget import Budget
from ..privacy.paper import paper_guarantee
from ..privacy.statement import Statement, statement
from .cell import Cell
from .figures import band_line, new_figure
from .study import Drawing, Frames, Options, Study, Tables
from .summary import lines
from .tasks import fleet_cell, long_cell

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

PAPER, PRINTED, EXACT = "paper", "refined, same printed ε", "refined, same exact guarantee"


def cells(o: Options) -> list[Cell]:
    """`printed` is the ε that the paper prints; the refined profile is also run at what that truly guarantees."""
    problem = load(o["plant"]).problem  # type: ignore[union-attr]
    out = []
    for epsilon in o["epsilons"]:
        exact = paper_guarantee(problem, Budget(epsilon), o["paper_users"][0]).epsilon
        for seed in range(o["seeds"]):
            for users in o["paper_users"]:
                tags = {"label": PAPER, "printed": epsilon, "scale": users}
                out.append(long_cell(o["plant"], users, seed, epsilon, **tags))
            for label, own in ((PRINTED, epsilon), (EXACT, exact)):
                own_tags = {"label": label, "printed": epsilon, "scale": o["users"]}
                out.append(fleet_cell(o["plant"], "refined", o["users"], seed, own, **own_tags))
    return out


def tables(frames: Frames, o: Options) -> dict[str, pl.DataFrame]:
    """Of the paper's runs, which differ in the K that its noise is made for, the one that learns soonest is kept.

    A K in which more than one seed of ten has not learned is no candidate.
    """
    import polars as pl

    found = lines(frames["cells"], ("label", "printed", "epsilon", "scale"))
    best = found.filter(pl.col("time_high").is_not_null()).sort("time").unique(["label", "printed"], keep="first")
    times = best.sort("label", "printed").select(
        "label", "printed", "epsilon", "scale", "seeds", "time_low", "time", "time_high"
    )
    paper = times.filter(pl.col("label") == PAPER).select("printed", pl.col("time").alias("paper"))
    return {"times": times.join(paper, on="printed", how="left").with_columns(
        (pl.col("paper") / pl.col("time")).alias("factor")
    ).drop("paper")}  # fmt: skip


def draw(t: Tables, o: Options) -> Figure:
    figure, axes = new_figure(8.0, 5.0)
    for k, label in enumerate((PAPER, PRINTED, EXACT)):
        one = t["times"].filter(t["times"]["label"] == label).sort("printed")
        band_line(axes, one, "time", k, label, x="printed")
        if k:
            for row in one.iter_rows(named=True):
                side = (6, -14) if label == PRINTED else (6, 8)
                axes.annotate(f"÷ {row['factor']:,.0f}", (row["printed"], row["time"]), side,
                              textcoords="offset points", fontsize=9)  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="ε as printed in the paper", title=o["plant"],
             ylabel="people until the next ones lose a tenth")  # fmt: skip
    axes.set_xlim(right=max(o["epsilons"]) * 2)
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.55))
    return figure


def findings(t: Tables, o: Options) -> list[str]:
    return [
        f"{row['label']}, printed ε = {row['printed']:g} (its own ε = {row['epsilon']:.3g}): {row['time']:,.0f} "
        f"people, {row['factor']:,.0f} times fewer than `paper`."
        for row in t["times"].filter(t["times"]["label"] != PAPER).iter_rows(named=True)
    ]


def statements(o: Options) -> list[Statement]:
    problem = load(o["plant"]).problem  # type: ignore[union-attr]
    pairs = [(Budget(e), users) for e in o["epsilons"] for users in o["paper_users"][:1]]
    refined = [statement(problem, "refined", b) for b, _ in pairs]
    return refined + [statement(problem, "paper", b, users=users) for b, users in pairs]


STUDY = Study(
    name="headline",
    title="How many people it takes",
    question="How many times fewer people does the refined profile need than the paper, for the same promise?",
    options={
        "plant": "toy", "epsilons": [0.1, 1.0, 8.0], "paper_users": [2**24, 2**28, 2**32], "users": 2**18, "seeds": 16,
    },
    quick={"paper_users": [2**32], "seeds": 4, "users": 2**17},
    cells=cells,
    tables=tables,
    drawings=(Drawing("times", "Learning time; median and 10–90 % over seeds, and the factor to the paper.", draw),),
    findings=findings,
    statements=statements,
)  # fmt: skip
