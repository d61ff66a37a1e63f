"""From the paper to the refined profile, one idea at a time, and the refined profile without each of its ideas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cell import Cell
from .figures import COLORS, bars, new_figure
from .study import Drawing, Frames, Options, Study, Tables
from .summary import lines
from .tasks import long_cell
from .variants import variant_cell

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

BY = ("group", "scale", "label")
LONG = {
    "paper, as printed": "printed",
    "+ exact accounting": "exact",
    "+ isotropic noise, tight bounds": "isotropic",
}
PREFIX = {
    "+ factorised, geometric schedule": "factorised",
    "+ energy budget": "energy",
    "+ cumulative belief": "cumulative",
    "+ greedy with excitation": "greedy",
}
BLOCKS = {
    "+ blocks, recentred": ["weighting", "response budget"],
    "+ response budget and weighting": [],
}
LAST = {
    "refined": [],
    "without excitation": ["excitation"],
    "without recentring": ["recentring"],
    "without response budget and weighting": ["weighting", "response budget"],
    "without weighting": ["weighting"],
    "without any energy budget": ["energy budget"],
}


def cells(o: Options) -> list[Cell]:
    out = []
    plant, epsilon = o["plant"], o["epsilon"]
    for users in o["users"]:
        for seed in range(o["seeds"]):
            for label, noise in LONG.items():
                tags = {"label": label, "group": "steps", "scale": users}
                out.append(long_cell(plant, users, seed, epsilon, noise=noise, **tags))
            at = (plant, epsilon, users, seed)
            out += [variant_cell(*at, label, "steps", prefix=prefix) for label, prefix in PREFIX.items()]
            out += [variant_cell(*at, label, "steps", without=lacking) for label, lacking in BLOCKS.items()]
            out += [variant_cell(*at, label, "without", without=lacking) for label, lacking in LAST.items()]
    return out


def tables(frames: Frames, o: Options) -> dict[str, pl.DataFrame]:
    return {"ablation": lines(frames["cells"], BY)}


def draw(t: Tables, o: Options, group: str, title: str) -> Figure:
    rows = t["ablation"].filter(t["ablation"]["group"] == group)
    names = list(dict.fromkeys(rows["label"].to_list()))
    figure, axes = new_figure(11.0, 1.0 + 0.42 * len(names), columns=len(o["users"]), sharey=True)
    every = [axes] if len(o["users"]) == 1 else list(axes)
    for one, users in zip(every, o["users"], strict=True):
        found = rows.filter(rows["scale"] == users)
        by = {row["label"]: row for row in found.iter_rows(named=True)}
        here = [name for name in names if name in by]
        middle, low, high = ([by[name][key] for name in here] for key in ("regret", "regret_low", "regret_high"))
        colors = [COLORS[2] if name == "refined" or name.startswith("+ response") else COLORS[0] for name in here]
        bars(one, here, middle, low, high, colors)
        one.set(xscale="log", xlabel="regret", title=f"{users:,} users")
        one.set_xlim(min(low) / 2, max(high) * 6)
    figure.suptitle(f"{title}: {o['plant']}, ε = {o['epsilon']:g}", fontsize=11)
    return figure


def draw_steps(t: Tables, o: Options) -> Figure:
    return draw(t, o, "steps", "One idea more at a time")


def draw_without(t: Tables, o: Options) -> Figure:
    return draw(t, o, "without", "Without each idea")


def findings(t: Tables, o: Options) -> list[str]:
    out = []
    for users in o["users"]:
        rows = t["ablation"].filter((t["ablation"]["group"] == "steps") & (t["ablation"]["scale"] == users))
        regret = dict(zip(rows["label"].to_list(), rows["regret"].to_list(), strict=True))
        names = [*LONG, *PREFIX, *BLOCKS]
        if names[0] in regret and names[-1] in regret:
            factor = regret[names[0]] / regret[names[-1]]
            out.append(f"At {users:,} users the first bar is {factor:,.0f} times the last (medians).")
    return [
        *out,
        "The first three bars are the paper re-planned at geometric times, in closed form with a Gaussian fluctuation "
        "(see the study `regret`); the others are played in full.",
    ]


STUDY = Study(
    name="ablation",
    title="From the paper to the refined profile, one idea at a time",
    question="Which idea saves how much?",
    options={"plant": "toy", "epsilon": 1.0, "users": [2**18, 2**21], "seeds": 12},
    quick={"seeds": 3},
    cells=cells,
    tables=tables,
    drawings=(
        Drawing("steps", "Regret as ideas are added, from top to bottom; median and 10–90 % over seeds.", draw_steps),
        Drawing("without", "Regret of the refined profile without one of its ideas.", draw_without),
    ),
    findings=findings,
)
