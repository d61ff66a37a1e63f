"""How much noise the same ε asks for, by the paper's formula, by zero-concentrated privacy, and exactly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lq.files import load
from ..privacy.accounting import mu_of
from ..privacy.budget import Budget
from ..privacy.paper import paper_guarantee, printed_sigma, tree_depth
from .cell import Cell, Rows
from .figures import look, new_figure
from .study import Drawing, Frames, Options, Study, Tables

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

HERE = "hushloop.studies.accounting"


def cells(o: Options) -> list[Cell]:
    grid = [float(e) for e in np.geomspace(0.05, 20.0, o["points"])]
    options = {"epsilons": grid, "delta": o["delta"], "users": o["users"], "plant": o["plant"]}
    return [
        Cell(f"{HERE}:noise", options, "noise of a node", table="noise"),
        Cell(f"{HERE}:truth", options, "what the printed noise keeps", table="truth"),
    ]


def noise(o: dict[str, Any]) -> Rows:
    """σ of a node of either tree in units of Δ, both trees together at (ε, δ), m levels each."""
    m, log = tree_depth(o["users"]), math.log(1.0 / o["delta"])
    out = []
    for epsilon in o["epsilons"]:
        rho = (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2
        values = {
            "paper": printed_sigma(1.0, m, epsilon, o["delta"]),
            "zCDP": math.sqrt(m / rho),
            "exact": math.sqrt(2.0 * m) / mu_of(epsilon, o["delta"]),
        }
        out += [{"epsilon": epsilon, "accounting": name, "sigma": value} for name, value in values.items()]
    return out


def truth(o: dict[str, Any]) -> Rows:
    """ε that the printed noise truly keeps, under each adjacency."""
    problem = load(o["plant"]).problem  # type: ignore[union-attr]
    out = []
    for epsilon in o["epsilons"]:
        g = paper_guarantee(problem, Budget(epsilon, o["delta"]), o["users"])
        for adjacency, kept in ((g.adjacency, g.epsilon), *g.also.items()):
            out.append({"printed": epsilon, "adjacency": str(adjacency), "epsilon": float(kept)})
    return out


def tables(frames: Frames, o: Options) -> dict[str, pl.DataFrame]:
    return dict(frames)


def draw_noise(t: Tables, o: Options) -> Figure:
    figure, (left, right) = new_figure(10.0, 4.4, columns=2)
    exact = t["noise"].filter(t["noise"]["accounting"] == "exact")["sigma"].to_numpy()
    for k, name in enumerate(("paper", "zCDP", "exact")):
        one = t["noise"].filter(t["noise"]["accounting"] == name)
        left.plot(one["epsilon"], one["sigma"], label=name, markevery=4, **look(k))
        right.plot(one["epsilon"], one["sigma"].to_numpy() / exact, label=name, markevery=4, **look(k))
    left.set(xscale="log", yscale="log", xlabel="ε", ylabel="σ of a node, in units of Δ", title=f"δ = {o['delta']:g}")
    right.set(xscale="log", xlabel="ε", ylabel="σ over the exact σ", title="what looser accounting costs")
    left.legend()
    return figure


def draw_truth(t: Tables, o: Options) -> Figure:
    figure, axes = new_figure(6.4, 4.6)
    for k, name in enumerate(("replace-one", "zero-out")):
        one = t["truth"].filter(t["truth"]["adjacency"] == name)
        axes.plot(one["printed"], one["epsilon"], label=name, markevery=4, **look(k))
    ends = [float(t["truth"]["printed"].min()), float(t["truth"]["printed"].max())]  # type: ignore[arg-type]
    axes.plot(ends, ends, color="#999999", linewidth=1, label="as printed")
    axes.set(xscale="log", yscale="log", xlabel="ε as printed", ylabel="ε that truly holds", title=o["plant"])
    axes.legend()
    return figure


def findings(t: Tables, o: Options) -> list[str]:
    out = []
    for epsilon in (0.1, 1.0, 8.0):
        m = tree_depth(o["users"])
        exact = math.sqrt(2.0 * m) / mu_of(epsilon, o["delta"])
        ratio = printed_sigma(1.0, m, epsilon, o["delta"]) / exact
        out.append(f"At ε = {epsilon:g} exact accounting of both trees together allows {ratio:.2f} times less noise.")
    return out


STUDY = Study(
    name="accounting",
    title="Noise against ε: the paper's formula, zCDP, exact",
    question="How much noise does a promise really need?",
    options={"points": 41, "delta": 1e-6, "users": 2**18, "plant": "toy"},
    quick={"points": 21},
    cells=cells,
    tables=tables,
    drawings=(
        Drawing(
            "noise", "Noise of one node for both trees together at (ε, δ), and its ratio to the exact.", draw_noise
        ),
        Drawing("truth", "What the paper's printed noise keeps by exact accounting.", draw_truth),
    ),
    findings=findings,
)
