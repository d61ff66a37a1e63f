"""The page itself: a view becomes one HTML document that loads nothing from anywhere."""

from __future__ import annotations

import base64
import datetime
import hashlib
import math
from decimal import ROUND_CEILING, Context
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ...privacy.clauses import above
from .charts import cost_chart, run_chart, timeline
from .tables import Table
from .view import EPISODES, View

if TYPE_CHECKING:
    from jinja2 import Template

FOLDED = ("controller", "trajectories")
"""Tables that are long."""

WIDE = ("costs", *FOLDED)


def render(view: View, tables: dict[str, Table]) -> bytes:
    charts = {
        "cost": cost_chart(view), "timeline": timeline(view), "runs": [run_chart(run) for run in view.runs]
    }  # fmt: skip
    text = template().render(
        view=view, charts=charts, tables=[t for t in tables.values() if t.name != "privacy"], privacy=tables["privacy"],
        folded=FOLDED, wide=WIDE, script=script(), style=part("page.css"), saving=saving(view), moment=moment(view),
        episodes=EPISODES, contradictions=view.points[-1].knowledge.contradictions,
    )  # fmt: skip
    return text.encode()


@cache
def template() -> Template:
    from jinja2 import Environment, StrictUndefined

    frame = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    frame.filters.update(cell=cell, above=above, short=short, label=label)
    return frame.from_string(part("page.html"))


def part(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def script() -> str:
    return part("page.js")


@cache
def policy() -> bytes:
    """Content-Security-Policy: the page's own style and script, and this server; nothing else."""
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; connect-src 'self';"
        " frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ).encode()


def saving(view: View) -> float | None:
    """How much less than doing nothing the controller is expected to cost, as a share."""
    last = view.points[-1]
    if not (view.releases and math.isfinite(last.idle.expected) and last.idle.expected > 0.0):
        return None
    return 1.0 - last.learner.expected / last.idle.expected


def moment(view: View) -> str:
    """The public deadline of the open block."""
    if view.deadline is None:
        return ""
    return datetime.datetime.fromtimestamp(view.deadline, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def cell(value: Any) -> str:
    """A table's cell for people."""
    if value is None:
        return "not certified"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def short(epsilon: float) -> str:
    """ε with three figures, rounded up."""
    if not (math.isfinite(epsilon) and epsilon > 0.0):
        return f"{epsilon:g}"
    context = Context(prec=3, rounding=ROUND_CEILING)
    return f"{context.create_decimal_from_float(epsilon).normalize():f}"


def label(column: str) -> str:
    return column.replace("_", " ")
