"""The personal-service plants in their own units: what a person notices before and after the learning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..lq import Plant
from ..lq.files import load
from ..lq.problem import Array
from ..privacy.budget import Budget
from ..privacy.statement import Statement, statement
from ..profiles import profile_named
from ..simulation.rows import simulate_rows
from .cell import Cell, Rows
from .figures import COLORS, look, new_figure
from .study import Drawing, Frames, Options, Study, Tables
from .summary import lines
from .tasks import agent_of, fleet_cell, plant_of

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

BY = ("plant", "agent", "epsilon", "label")
WHO = ("doing nothing", "nominal model", "learned", "best possible")


def cells(o: Options) -> list[Cell]:
    out = []
    for plant in o["plants"]:
        at, seeds = (plant, "refined", o["users"]), range(o["seeds"])
        out += [fleet_cell(*at, seed, e, label=f"ε = {e:g}") for seed in seeds for e in o["epsilons"]]
        out += [fleet_cell(plant, "nonprivate", o["users"], seed, label="no promise") for seed in seeds]
        options = {"plant": plant, "epsilon": o["epsilons"][0], "users": o["users"], "seed": 0}
        out.append(Cell("hushloop.studies.services:units", options, f"{plant}, in its units", o["users"], "units"))
    return out


def units(o: dict[str, Any]) -> Rows:
    """Root mean square of each state and input over an episode, in engineering units, under four controllers."""
    plant = plant_of(o["plant"])
    agents = []

    def make(seed: int) -> Any:
        agents.append(agent_of(plant, profile_named("refined"), Budget(o["epsilon"]), o["users"], seed))
        return agents[-1]

    simulate_rows(make, plant, o["users"], (o["seed"],), workers=1)
    idle = np.zeros((plant.problem.horizon, plant.problem.d, plant.problem.n))
    nominal = Plant(plant.problem, plant.problem.nominal_A, plant.problem.nominal_B, True).optimal_gains
    gains = dict(zip(WHO, (idle, nominal, agents[-1].order.plan.gains, plant.optimal_gains), strict=True))
    out: Rows = []
    for who, K in gains.items():
        for name, value in zip(_names(plant), rms(plant, K), strict=True):
            cost = plant.cost(K)
            out.append({"plant": plant.name, "quantity": name, "controller": who, "rms": float(value), "cost": cost})
    return out


def rms(plant: Plant, gains: Array) -> Array:
    """√ of the mean square over the steps of an episode, of states and then inputs, in engineering units."""
    X, total = plant.problem.X1, np.zeros(plant.problem.p)
    for K in gains:
        G = np.vstack([np.eye(plant.problem.n), K])
        total += np.diag(G @ X @ G.T)
        L = plant.A + plant.B @ K
        X = L @ X @ L.T + plant.problem.W
    scaled = np.sqrt(total / len(gains))
    u = plant.problem.units
    return scaled if u is None else np.asarray(scaled * np.concatenate([u.state_scale, u.input_scale]))


def _names(plant: Plant) -> list[str]:
    u = plant.problem.units
    if u is not None:
        return [*u.state_names, *u.input_names]
    return [f"x{i + 1}" for i in range(plant.problem.n)] + [f"u{i + 1}" for i in range(plant.problem.d)]


def tables(frames: Frames, o: Options) -> dict[str, pl.DataFrame]:
    out = {"summary": lines(frames["cells"], BY)}
    if "units" in frames:
        columns = ["plant", "quantity", "controller"]
        wide = frames["units"].pivot("controller", index=["plant", "quantity"], values="rms", maintain_order=True)
        out["units"] = wide
        out["costs"] = (
            frames["units"]
            .unique(["plant", "controller"], maintain_order=True)
            .select(*columns[:1], "controller", "cost")
        )
    return out


def draw_times(t: Tables, o: Options) -> Figure:
    import polars as pl

    figure, axes = new_figure(9.0, 4.6)
    labels = [*(f"ε = {e:g}" for e in o["epsilons"]), "no promise"]
    for k, label in enumerate(labels):
        one = t["summary"].filter((pl.col("label") == label) & pl.col("time").is_not_null())
        at = np.array([o["plants"].index(p) for p in one["plant"]]) + (k - (len(labels) - 1) / 2) * 0.2
        high = one["time_high"].fill_null(strategy="zero").to_numpy()
        error = [(one["time"] - one["time_low"]).to_numpy(), np.maximum(high - one["time"].to_numpy(), 0.0)]
        style = {**look(k), "linestyle": "none", "markersize": 7}
        axes.errorbar(at, one["time"], yerr=error, capsize=3, label=label, **style)
    axes.set_xticks(range(len(o["plants"])), o["plants"])
    axes.set(yscale="log", ylabel="people until nine tenths are won")
    axes.legend()
    return figure


def draw_units(t: Tables, o: Options) -> Figure:
    """Each quantity as a share of what it is when nothing is done."""
    count = len(o["plants"])
    figure, axes = new_figure(12.0, 4.2, columns=count)
    for one, plant in zip(np.atleast_1d(axes), o["plants"], strict=True):
        costs = t["costs"].filter(t["costs"]["plant"] == plant)
        values = dict(zip(costs["controller"].to_list(), costs["cost"].to_list(), strict=True))
        shares = [values[who] / values[WHO[0]] for who in WHO]
        colors = [COLORS[6], COLORS[4], COLORS[0], COLORS[2]]
        one.bar(range(len(WHO)), shares, color=colors)
        for x, share in enumerate(shares):
            one.annotate(f"{share:.2f}", (x, share), (0, 3), textcoords="offset points", ha="center", fontsize=9)
        one.set_xticks(range(len(WHO)), WHO, rotation=90)
        one.set(title=plant)
        one.grid(axis="x", visible=False)
        one.set_ylim(0, 1.15 * max(shares))
    np.atleast_1d(axes)[0].set_ylabel("cost of an episode over idle's")
    return figure


def findings(t: Tables, o: Options) -> list[str]:
    out = []
    first = f"ε = {o['epsilons'][0]:g}"
    for row in t["summary"].filter(t["summary"]["label"] == first).iter_rows(named=True):
        time = "not within this study" if row["time"] is None else f"after {row['time']:,.0f} people"
        out.append(f"{row['plant']}, {first}: nine tenths of what control is worth are won {time} (median).")
    return out


def statements(o: Options) -> list[Statement]:
    budget = Budget(o["epsilons"][0])
    return [statement(load(p).problem, "refined", budget) for p in o["plants"]]  # type: ignore[union-attr]


STUDY = Study(
    name="services",
    title="Personal services, in their own units",
    question="What would a person notice, and how many people does it take?",
    options={
        "plants": ["glucose", "propofol", "car-following", "ev-charging", "battery", "two-zone-heating"],
        "epsilons": [1.0, 8.0],
        "users": 2**18,
        "seeds": 12,
    },
    quick={"plants": ["glucose", "propofol", "battery", "two-zone-heating"], "users": 2**15, "seeds": 3},
    cells=cells,
    tables=tables,
    drawings=(
        Drawing("times", "People until the next ones lose a tenth of what doing nothing loses.", draw_times),
        Drawing("units", "Cost of an episode under four controllers; table `units` has each quantity.", draw_units),
    ),
    findings=findings,
    statements=statements,
)
