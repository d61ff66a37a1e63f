"""Release mechanisms side by side: the noise in a prefix sum, and the regret that an agent has with each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lq.files import load
from ..privacy.budget import Budget
from ..privacy.mechanisms import Blocks, Factorised, Strategy, Tree
from ..privacy.terms import first_collection
from .cell import Cell, Rows
from .figures import look, new_figure, regret_bars, regret_curves
from .study import Drawing, Frames, Options, Study, Tables
from .summary import curves, lines
from .tasks import fleet_cell

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

BY = ("plant", "agent", "epsilon", "label")


def kinds(o: Options) -> dict[str, dict[str, Any]]:
    """The shipped ones, and anybody's own: name → changes of the profile `refined`.

    Prefix sums need one collection for the whole stream, so their energy budget is fixed beforehand.
    """
    prefix = {"belief": "cumulative", "first": 512, "growth": 1.5, "energy": o["prefix_energy"]}
    shipped: dict[str, dict[str, Any]] = {"blocks": {}}
    shipped |= {name: {"mechanism": name, **prefix} for name in ("factorised", "tree")}
    return {**shipped, **o["own"]}


def cells(o: Options) -> list[Cell]:
    options = {"plant": o["plant"], "epsilon": o["epsilon"], "users": o["users"]}
    out = [Cell("hushloop.studies.mechanisms:noise", options, "noise of prefix sums", table="noise")]
    for seed in range(o["seeds"]):
        for name, changes in kinds(o).items():
            tags: dict[str, Any] = {"label": name, "name": name}
            out.append(
                fleet_cell(o["plant"], "refined", o["users"], seed, o["epsilon"], changes=changes, weight=2.0, **tags)
            )
        out.append(fleet_cell(o["plant"], "nonprivate", o["users"], seed, label="none", name="none"))
    return out


def noise(o: dict[str, Any]) -> Rows:
    """Standard deviation of a prefix sum, over that of one release that spends the whole budget."""
    problem = load(o["plant"]).problem  # type: ignore[union-attr]
    budget, collection = Budget(o["epsilon"]), first_collection(problem)
    ends = tuple(256 * (2**t - 1) for t in range(1, int(math.log2(o["users"] / 256 + 1)) + 1))
    strategies: dict[str, Strategy] = {
        "blocks": Blocks(budget),
        "factorised": Factorised(collection, budget, len(ends)),
        "tree": Tree.spending(budget, collection, o["users"]),
    }
    one = Blocks(budget).scales(collection).sigma_s
    out = []
    for name, strategy in strategies.items():
        W = strategy.weights(ends)
        W = np.tril(np.ones_like(W)) if name == "blocks" else W  # blocks added up by whoever wants prefixes
        scale = strategy.scales(collection).sigma_s / one
        for end, row in zip(ends, W, strict=True):
            out.append({"mechanism": name, "users": end, "noise": float(scale * np.linalg.norm(row))})
    return out


def tables(frames: Frames, o: Options) -> dict[str, pl.DataFrame]:
    cells = frames["cells"]
    return {"noise": frames["noise"], "curves": curves(cells, BY), "summary": lines(cells, BY)}


def draw_noise(t: Tables, o: Options) -> Figure:
    figure, axes = new_figure(7.0, 4.4)
    for k, name in enumerate(("blocks", "factorised", "tree")):
        one = t["noise"].filter(t["noise"]["mechanism"] == name)
        label = "blocks, added up" if name == "blocks" else name
        axes.plot(one["users"], one["noise"], label=label, **look(k))
    axes.axhline(1.0, color="#999999", linewidth=1, label="one block alone")
    axes.set(xscale="log", yscale="log", xlabel="users in the prefix", ylabel="noise, in units of one release")
    axes.legend()
    return figure


def draw_regret(t: Tables, o: Options) -> Figure:
    return regret_bars(t, o, [*kinds(o), "none"])


def draw_curves(t: Tables, o: Options) -> Figure:
    return regret_curves(t, o, [*kinds(o), "none"])


STUDY = Study(
    name="mechanisms",
    title="Release mechanisms side by side",
    question="What does it cost to release prefix sums, and what do independent blocks save?",
    options={"plant": "toy", "epsilon": 1.0, "users": 2**18, "seeds": 16, "prefix_energy": 2.0, "own": {}},
    quick={"seeds": 4, "users": 2**17},
    cells=cells,
    tables=tables,
    drawings=(
        Drawing("noise", "Noise in the sums of everybody so far, doubling schedule, same guarantee.", draw_noise),
        Drawing("regret", "Regret of the greedy agent with excitation under each mechanism.", draw_regret),
        Drawing("curves", "The same, as people come; median and 10–90 % over seeds.", draw_curves),
    ),
)
