"""A statement as Markdown, and as one HTML file that loads nothing from anywhere."""

from __future__ import annotations

import math
import re
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .clauses import Section
    from .statement import Curve, Statement

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 320, 56, 24, 16, 44
COLORS = ("#2166ac", "#b2431e")
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #667; --paper: #fff; --line: #ccd; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6ea; --soft: #99a; --paper: #16181d; --line: #3a3f4a; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
       max-width: 46rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .8rem; text-align: left;
       font-variant-numeric: tabular-nums; }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg .grid { stroke: var(--line); } svg .mark { stroke: var(--soft); stroke-dasharray: 4 3; }
"""


def markdown(statement: Statement) -> str:
    """The whole statement; the curve is a table."""
    parts = [f"# {statement.title}"]
    for section in statement.sections:
        parts += [f"## {section.title}", *section.paragraphs]
        if section.items:
            parts.append("\n".join(f"- {item}" for item in section.items))
        if section.rows:
            head = [_row(section.columns), "|" + " --- |" * len(section.columns)]
            parts.append("\n".join([*head, *(_row(row) for row in section.rows)]))
    return "\n\n".join(parts) + "\n"


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def html(statement: Statement) -> str:
    """The whole statement with the curve as a drawing inside it."""
    body = [f"<h1>{escape(statement.title)}</h1>"]
    for section in statement.sections:
        body.append(_section(section))
        if statement.curve is not None and section.columns[:1] == ("δ",):
            body.append(svg(statement.curve))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(statement.title)}</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _section(section: Section) -> str:
    out = [f"<h2>{escape(section.title)}</h2>"]
    out += [f"<p>{_inline(text)}</p>" for text in section.paragraphs]
    if section.items:
        out.append("<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in section.items) + "</ul>")
    if section.rows:
        head = "".join(f"<th>{_inline(cell)}</th>" for cell in section.columns)
        rows = "".join("<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>" for row in section.rows)
        out.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
    return "\n".join(out)


def _inline(text: str) -> str:
    """Escaped text with **bold** and `code`."""
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(text))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", text)


def svg(curve: Curve) -> str:
    """ε against δ, both on logarithmic axes, one line for each adjacency."""
    values = [e for line in curve.epsilons.values() for e in line if e > 0 and math.isfinite(e)]
    if not values:
        return "<p>ε is 0 at every δ drawn here.</p>"
    low, high = math.log10(min(values)), math.log10(max(values))
    low, high = low - 0.05, high + max(0.05, 0.3 - (high - low))
    first, last = math.log10(curve.deltas[0]), math.log10(curve.deltas[-1])

    def across(delta: float) -> float:
        return LEFT + (math.log10(delta) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def up(epsilon: float) -> float:
        return HEIGHT - BOTTOM - (math.log10(epsilon) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="epsilon as a function of delta">']
    for k in range(round(first), round(last) + 1, 2):
        x = across(10.0**k)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">1e{k}</text>')
    for tick in ticks(low, high):
        y = up(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:.3g}</text>')
    if curve.deltas[0] <= curve.mark <= curve.deltas[-1]:
        x = across(curve.mark)
        parts.append(f'<line class="mark" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>')
    for color, (key, line) in zip(COLORS, curve.epsilons.items(), strict=False):
        points = [(across(d), up(e)) for d, e in zip(curve.deltas, line, strict=True) if e > 0 and math.isfinite(e)]
        if not points:
            continue
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline fill="none" stroke="{color}" stroke-width="2" points="{path}"/>')
        x, y = points[len(points) // 4]
        parts.append(f'<text x="{x + 6:.1f}" y="{y - 6:.1f}" style="fill:{color}">{escape(key)}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">δ</text>')
    parts.append(f'<text x="14" y="{TOP + 10}">ε</text></svg>')
    return "\n".join(parts)


def ticks(low: float, high: float) -> list[float]:
    """1, 2, 5 times powers of ten between 10^low and 10^high; powers alone where those would crowd."""
    steps = (1.0, 2.0, 5.0) if high - low < 3 else (1.0,)
    found = [s * 10.0**k for k in range(math.floor(low), math.ceil(high) + 1) for s in steps]
    return [value for value in found if low <= math.log10(value) <= high]
