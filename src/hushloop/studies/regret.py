"""Regret of every profile on the same plants, from the first user to billions of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lq.files import load
from ..privacy.budget import Budget
from ..privacy.statement import Statement, statement
from .cell import Cell
from .figures import band_line, look, new_figure
from .study import Drawing, Frames, Options, Study, Tables
from .summary import curves, lines
from .tasks import fleet_cell, long_cell

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

BY = ("plant", "agent", "epsilon", "label")


def cells(o: Options) -> list[Cell]:
    out = []
    for plant in o["plants"]:
        for seed in range(o["seeds"]):
            for epsilon in o["epsilons"]:
                label = f"refined, ε = {epsilon:g}"
                out.append(fleet_cell(plant, "refined", o["users"], seed, epsilon, delta=o["delta"], label=label))
            out.append(fleet_cell(plant, "nonprivate", o["users"], seed, label="non-private"))
    for seed in range(o["paper_seeds"]):
        for epsilon in o["epsilons"]:
            label = f"paper, ε = {epsilon:g}"
            out.append(long_cell(o["paper_plant"], o["paper_users"], seed, epsilon, delta=o["delta"], label=label))
    return out + checks(o)


def checks(o: Options) -> list[Cell]:
    """The paper played in full, and the same seed in closed form over as many users."""
    at = {"delta": o["delta"], "table": "check"}
    users, epsilon, plant = o["check_users"], o["check_epsilon"], o["paper_plant"]
    out = []
    for seed in range(o["check_seeds"]):
        out.append(fleet_cell(plant, "paper", users, seed, epsilon, label="played in full", weight=50.0, **at))
        out.append(long_cell(plant, users, seed, epsilon, growth=1.02, label="closed form", **at))
    return out


def tables(frames: Frames, o: Options) -> dict[str, pl.DataFrame]:
    out = {"curves": curves(frames["cells"], BY), "summary": lines(frames["cells"], BY)}
    if "check" in frames:
        out["check"] = lines(frames["check"], ("plant", "epsilon", "label"))
        out["check_curves"] = curves(frames["check"], ("plant", "epsilon", "label"))
    return out


def order(o: Options) -> list[str]:
    """Labels from most noise to least."""
    private = [f"{name}, ε = {epsilon:g}" for name in ("paper", "refined") for epsilon in sorted(o["epsilons"])]
    return [*private, "non-private"]


def draw_regret(t: Tables, o: Options) -> Figure:
    figure, axes = new_figure(9.0, 5.6)
    table = t["curves"].filter(t["curves"]["plant"] == o["paper_plant"])
    for k, label in enumerate(order(o)):
        one = table.filter(table["label"] == label)
        if len(one):
            band_line(axes, one, "regret", k, label)
    idle = _idle(t, o)
    top = max(float(table["users"].max()), 2.0)  # type: ignore[arg-type]
    axes.plot([1, top], [idle, idle * top], color="#999999", linewidth=1, label="idle: nothing is learned")
    axes.set(xscale="log", yscale="log", xlabel="users", ylabel="cumulative regret", title=o["paper_plant"])
    axes.legend(loc="upper left")
    return figure


def draw_loss(t: Tables, o: Options) -> Figure:
    figure, axes = new_figure(9.0, 5.2)
    table = t["curves"].filter(t["curves"]["plant"] == o["paper_plant"])
    for k, label in enumerate(order(o)):
        one = table.filter((table["label"] == label) & (table["users"] >= 8))
        if len(one):
            band_line(axes, one, "loss", k, label)
    idle = _idle(t, o)
    axes.axhline(idle, color="#999999", linewidth=1)
    axes.axhline(idle / 10, color="#999999", linewidth=1, linestyle=":")
    for text, level in (("idle", idle), ("a tenth of idle", idle / 10)):
        axes.annotate(text, (1.0, level), (-2, 3), ("axes fraction", "data"), "offset points", ha="right", fontsize=9,
                      bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1})  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="users so far", ylabel="mean loss of a user", title=o["paper_plant"])
    axes.legend(loc="lower left", ncols=2)
    return figure


def draw_plants(t: Tables, o: Options) -> Figure:
    """Regret as a share of idle's on each plant."""
    import polars as pl

    figure, axes = new_figure(9.0, 4.8)
    table = t["summary"].filter(pl.col("agent") != "paper").join(_scales(t), on="plant")
    labels = [label for label in order(o) if label in table["label"].to_list()]
    for k, label in enumerate(labels):
        one = table.filter(pl.col("label") == label)
        at = [o["plants"].index(p) + (k - (len(labels) - 1) / 2) * 0.16 for p in one["plant"]]
        share = {key: (one[key] / (one["idle_loss"] * one["users"])).to_numpy() for key in
                 ("regret_low", "regret", "regret_high")}  # fmt: skip
        style = {**look(k + len(o["epsilons"])), "linestyle": "none", "markersize": 6}
        error = [share["regret"] - share["regret_low"], share["regret_high"] - share["regret"]]
        axes.errorbar(at, share["regret"], yerr=error, label=label, capsize=2, linewidth=1, **style)
    axes.set_xticks(range(len(o["plants"])), o["plants"])
    axes.set(yscale="log", ylabel="regret over idle's", title=f"{o['users']:,} users")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def draw_check(t: Tables, o: Options) -> Figure:
    figure, axes = new_figure(8.0, 4.4)
    table = t["check_curves"]
    for k, label in enumerate(("played in full", "closed form")):
        one = table.filter(table["label"] == label)
        if len(one):
            band_line(axes, one, "regret", k, label)
    title = f"{o['paper_plant']}, paper, ε = {o['check_epsilon']:g}"
    axes.set(xscale="log", yscale="log", xlabel="users", ylabel="cumulative regret", title=title)
    axes.legend()
    return figure


def findings(t: Tables, o: Options) -> list[str]:
    """What the summary says about the headline."""
    import polars as pl

    out = []
    rows = t["summary"].filter(pl.col("plant") == o["paper_plant"])
    for epsilon in o["epsilons"]:
        time = {a: _time(rows, a, epsilon) for a in ("paper", "refined")}
        if time["paper"] and time["refined"]:
            factor = time["paper"] / time["refined"]
            out.append(
                f"At ε = {epsilon:g} the median learning time on {o['paper_plant']} is {time['refined']:,.0f} users "
                f"for `refined` and {time['paper']:,.0f} for `paper`: {factor:,.0f} times fewer."
            )
    if "check" in t:
        both = {row["label"]: row["regret"] for row in t["check"].iter_rows(named=True)}
        if len(both) == 2:
            out.append(
                f"The closed form was held against the full simulation over {o['check_users']:,} users: regret "
                f"{both['closed form']:,.6g} against {both['played in full']:,.6g} (medians)."
            )
    out.append(
        "`paper` is re-planned at geometric times, which is post-processing of its releases; between them its sums are "
        "their exact mean with a Gaussian fluctuation of their exact covariance, and its noise is the tree's own, node "
        "by node."
    )
    return out


def _time(rows: pl.DataFrame, agent: str, epsilon: float) -> float | None:
    found = rows.filter((rows["agent"] == agent) & (rows["epsilon"] == epsilon))
    return found["time"][0] if len(found) else None


def _scales(t: Tables) -> pl.DataFrame:
    import polars as pl

    from .tasks import plant_of

    names = t["summary"]["plant"].unique(maintain_order=True).to_list()
    found = [(name, plant_of(name)) for name in names]
    return pl.DataFrame({"plant": names, "idle_loss": [p.idle_cost - p.optimal_cost for _, p in found]})


def _idle(t: Tables, o: Options) -> float:
    plant = load(o["paper_plant"])
    return float(plant.idle_cost - plant.optimal_cost)  # type: ignore[union-attr]


def statements(o: Options) -> list[Statement]:
    plant = load(o["paper_plant"])
    budgets = [Budget(epsilon, o["delta"]) for epsilon in o["epsilons"]]
    private = [statement(plant.problem, "refined", b) for b in budgets]  # type: ignore[union-attr]
    return private + [statement(plant.problem, "paper", b, users=o["paper_users"]) for b in budgets]  # type: ignore[union-attr]


STUDY = Study(
    name="regret",
    title="Regret of the paper, of the refined profile, and without privacy",
    question="How much is lost while learning under a privacy promise, and from how many users on does it pay?",
    options={
        "plants": ["toy", "laplacian", "glucose", "propofol", "two-zone-heating"],
        "epsilons": [0.1, 1.0, 8.0],
        "delta": 1e-6,
        "users": 2**21,
        "seeds": 24,
        "paper_plant": "toy",
        "paper_users": 2**32,
        "paper_seeds": 16,
        "check_users": 2**21,
        "check_epsilon": 8.0,
        "check_seeds": 1,
    },
    quick={
        "plants": ["toy", "laplacian"],
        "users": 2**18,
        "seeds": 6,
        "paper_seeds": 6,
        "check_users": 2**13,
        "check_epsilon": 5000.0,
    },
    cells=cells,
    tables=tables,
    drawings=(
        Drawing("regret", "Cumulative regret; median and 10–90 % over seeds.", draw_regret),
        Drawing("loss", "What a user loses against the best controller, by her place in the stream.", draw_loss),
        Drawing("plants", "Regret after all users as a share of what doing nothing loses.", draw_plants),
        Drawing("check", "The paper played user by user, and in closed form with the same noise.", draw_check),
    ),
    findings=findings,
    statements=statements,
)
