"""Theorem 1 measured: how the regret of optimism without privacy grows with users, horizon, states and inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .cell import Cell
from .figures import COLORS, band_line, look, new_figure
from .study import Drawing, Frames, Options, Study, Tables
from .summary import band, curves, power_law
from .tasks import fleet_cell

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

BOUND = {"K": 0.5, "H": 1.5, "n": 2.0, "d": 1.0}
"""H^{3/2}·√K·n(n+d), logarithms left out."""

NAMES = {"K": "users K", "H": "horizon H", "n": "states n", "d": "inputs d"}


def cells(o: Options) -> list[Cell]:
    """One size is changed at a time; several random plants of each size."""
    out = []
    base = o["base"]
    sizes = {"n": o["states"], "d": o["inputs"], "horizon": o["horizons"]}
    for seed in range(o["seeds"]):
        for axis, values in sizes.items():
            for value in values:
                size = {**base, axis: value, "seed": seed}
                changes = {"first": 1, "growth": o["growth"]}
                tags: dict[str, Any] = {"axis": {"horizon": "H"}.get(axis, axis), "value": float(value)}
                weight = 20.0 * size["n"] ** 2 * size["horizon"]
                out.append(
                    fleet_cell({"random": size}, "ofu", o["users"], seed, changes=changes, weight=weight, **tags)
                )
    return out


def tables(frames: Frames, o: Options) -> dict[str, pl.DataFrame]:
    import polars as pl

    rows = frames["cells"]
    last = rows.sort("users").group_by(["axis", "value", "seed"], maintain_order=True).agg(pl.col("regret").last())
    sizes = []
    for (axis, value), group in last.sort("axis", "value").group_by(["axis", "value"], maintain_order=True):
        sizes.append({"axis": axis, "value": value, "seeds": len(group), **band("regret", group["regret"].to_numpy())})
    grown = rows.filter((pl.col("axis") == "n") & (pl.col("value") == o["base"]["n"]))
    growth = curves(grown, ("axis",)).drop("axis")
    late = growth.filter(pl.col("users") >= o["users"] / 30)
    powers = [_power("K", late["users"], late["regret"])]
    found = pl.DataFrame(sizes)
    for axis in ("H", "n", "d"):
        one = found.filter(pl.col("axis") == axis)
        powers.append(_power(axis, one["value"], one["regret"]))
    return {"powers": pl.DataFrame(powers), "sizes": found, "growth": growth}


def _power(axis: str, x: Any, y: Any) -> dict[str, Any]:
    power, low, high = power_law(x, y)
    return {"axis": axis, "power": power, "low": low, "high": high, "bound": BOUND[axis]}


def draw(t: Tables, o: Options) -> Figure:
    figure, axes = new_figure(12.0, 3.9, columns=4)
    band_line(axes[0], t["growth"], "regret", 0, "measured")
    _slope(axes[0], t["growth"]["users"].to_numpy(), t["growth"]["regret"].to_numpy(), BOUND["K"])
    for k, axis in enumerate(("H", "n", "d"), 1):
        one = t["sizes"].filter(t["sizes"]["axis"] == axis)
        error = [(one["regret"] - one["regret_low"]).to_numpy(), (one["regret_high"] - one["regret"]).to_numpy()]
        axes[k].errorbar(one["value"], one["regret"], yerr=error, capsize=3, label="measured", **look(0))
        _slope(axes[k], one["value"].to_numpy(), one["regret"].to_numpy(), BOUND[axis])
        axes[k].set_xticks(one["value"].to_list(), [f"{v:g}" for v in one["value"]])
        axes[k].set_xticks([], minor=True)
    for one, axis in zip(axes, ("K", "H", "n", "d"), strict=True):
        row = t["powers"].filter(t["powers"]["axis"] == axis).row(0, named=True)
        title = f"power {row['power']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        one.set(xscale="log", yscale="log", xlabel=NAMES[axis], title=title)
        if axis != "K":
            _ticks(one, t, axis)
    for one in axes[1:]:
        one.margins(y=0.15)
        one.legend(handles=[one.lines[-1]], loc="lower right")
    axes[0].legend(loc="upper left")
    axes[0].set_ylabel("cumulative regret")
    return figure


def _ticks(axes: Any, t: Tables, axis: str) -> None:
    values = t["sizes"].filter(t["sizes"]["axis"] == axis)["value"].to_list()
    axes.set_xticks(values, [f"{v:g}" for v in values])
    axes.set_xticks([], minor=True)


def _slope(axes: Any, x: Any, y: Any, power: float) -> None:
    """The bound's power, drawn through the last point."""
    late = x >= x[-1] / 30
    line = y[-1] * (x[late] / x[-1]) ** power
    axes.plot(x[late], line, color=COLORS[6], linewidth=1.2, linestyle="--", label=f"bound's power, {power:g}")


def findings(t: Tables, o: Options) -> list[str]:
    return [
        f"Regret grows with the {NAMES[r['axis']]} to the power {r['power']:.2f} (95 %: {r['low']:.2f} to "
        f"{r['high']:.2f}); the bound has {r['bound']:g}, logarithms left out."
        for r in t["powers"].iter_rows(named=True)
    ]


STUDY = Study(
    name="theorem-1",
    title="Theorem 1 measured: optimism without privacy",
    question="Do the powers of the regret bound show in practice?",
    options={
        "base": {"n": 2, "d": 1, "horizon": 5},
        "states": [1, 2, 3, 4, 6, 8],
        "inputs": [1, 2, 3, 4],
        "horizons": [3, 5, 10, 20, 40],
        "users": 2**15,
        "growth": 1.02,
        "seeds": 12,
    },
    quick={
        "states": [1, 2, 3, 4],
        "inputs": [1, 2, 3, 4],
        "horizons": [3, 5, 8, 12],
        "users": 2**12,
        "growth": 1.05,
        "seeds": 8,
    },
    cells=cells,
    tables=tables,
    drawings=(
        Drawing("powers", "Regret against each size, with the fitted power, its 95 % interval and the bound's.", draw),
    ),
    findings=findings,
)
