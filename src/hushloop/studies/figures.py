"""One look for all figures: colours that everybody can tell apart, bands over seeds, medians marked, print in grey."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

from ..errors import MissingExtra

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444", "#8A7A00")
"""After Okabe and Ito."""

DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)), (0, (1, 1)), (0, (9, 2)), "-", "--")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
STYLE: dict[Any, Any] = {
    "font.size": 10.5, "axes.titlesize": 11, "axes.labelsize": 10.5, "legend.fontsize": 9, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": "#dddddd", "grid.linewidth": 0.6,
    "svg.fonttype": "path", "lines.linewidth": 1.8, "axes.axisbelow": True, "legend.frameon": False,
}  # fmt: skip


def new_figure(width: float = 8.0, height: float = 4.6, columns: int = 1, **more: Any) -> tuple[Figure, Any]:
    """(figure, its axes): no pyplot and no window."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plots") from None
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, columns, **more)
    return figure, axes


def look(k: int) -> dict[str, Any]:
    """Colour, dash and mark number k."""
    return {
        "color": COLORS[k % len(COLORS)], "linestyle": DASHES[k % len(DASHES)], "marker": MARKS[k % len(MARKS)],
        "markersize": 4.5, "markeredgewidth": 0,
    }  # fmt: skip


def band_line(axes: Axes, table: pl.DataFrame, y: str, k: int, label: str, x: str = "users") -> None:
    """The median as a marked line, 10–90 % as a band."""
    xs = table[x].to_numpy()
    style = look(k)
    axes.fill_between(
        xs, table[f"{y}_low"].to_numpy(), table[f"{y}_high"].to_numpy(), color=style["color"], alpha=0.18, linewidth=0
    )
    axes.plot(xs, table[y].to_numpy(), label=label, markevery=max(1, len(xs) // 8), **style)


def bars(axes: Axes, names: list[str], middle: Any, low: Any, high: Any, colors: Any = None) -> None:
    """Horizontal bars with the 10–90 % range as a whisker, the value beside, first on top."""
    import numpy as np

    middle, low, high = (np.asarray(v, dtype=float) for v in (middle, low, high))
    at = np.arange(len(names))[::-1]
    axes.barh(at, middle, color=COLORS[0] if colors is None else colors, height=0.62)
    whisker = np.maximum([middle - low, high - middle], 0.0)
    axes.errorbar(middle, at, xerr=whisker, fmt="none", ecolor="#333333", capsize=3, linewidth=1)
    for y, value, top in zip(at, middle, high, strict=True):
        axes.annotate(f"{value:,.3g}" if value < 1000 else f"{value:,.0f}", (max(value, top), y), (6, 0),
                      textcoords="offset points", va="center", fontsize=9)  # fmt: skip
    axes.set_yticks(at, names)
    axes.grid(axis="y", visible=False)


def regret_bars(t: Mapping[str, pl.DataFrame], o: Mapping[str, Any], labels: Sequence[str]) -> Figure:
    """Regret after all users, a bar a label; whiskers 10–90 % over seeds."""
    rows = t["summary"].filter(t["summary"]["label"].is_in(list(labels)))
    figure, axes = new_figure(7.5, 0.9 + 0.52 * len(rows))
    bars(axes, rows["label"].to_list(), rows["regret"], rows["regret_low"], rows["regret_high"])
    axes.set(xscale="log", xlabel="regret", title=f"{o['plant']}, ε = {o['epsilon']:g}, {o['users']:,} users")
    axes.set_xlim(right=float(rows["regret_high"].max()) * 3)  # type: ignore[arg-type]
    return figure


def regret_curves(t: Mapping[str, pl.DataFrame], o: Mapping[str, Any], labels: Sequence[str]) -> Figure:
    """Regret as people come, a line a label; median and 10–90 % over seeds."""
    figure, axes = new_figure(8.0, 4.7)
    for k, label in enumerate(labels):
        one = t["curves"].filter(t["curves"]["label"] == label)
        if len(one):
            band_line(axes, one, "regret", k, label)
    axes.set(xscale="log", yscale="log", xlabel="users", ylabel="cumulative regret", title=o["plant"])
    axes.legend()
    return figure


def svg_text(figure: Figure, name: str) -> str:
    """The figure as one <svg> element to put into a page: no header, ids of its own, the same bytes each time."""
    import matplotlib as mpl

    out = StringIO()
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{name}-", text)
    return re.sub(r'<svg [^>]*?viewBox="([^"]+)"[^>]*>', _opening, text, count=1, flags=re.DOTALL)


def _opening(match: re.Match[str]) -> str:
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    return f'<svg {names} viewBox="{match[1]}" role="img">'


def png_bytes(figure: Figure) -> bytes:
    out = BytesIO()
    figure.savefig(out, format="png", dpi=150, metadata={"Software": None})
    return out.getvalue()
