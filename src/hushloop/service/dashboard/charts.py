"""The page's drawings: SVG that takes its colours from the page, so that light and dark are one drawing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from .view import Run, View

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 460, 52, 22, 12, 44
"""In units of the drawing; text of 13 of them stays readable on a phone."""


@dataclass(frozen=True)
class Line:
    """A line with an optional band; values that are not finite leave a gap, bands without an end go to the frame."""

    name: str
    style: str  # CSS class
    values: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


@dataclass(frozen=True)
class Frame:
    """A drawing's axes: x is 0, 1, … and y runs from `bottom` to `top`."""

    count: int
    bottom: float
    top: float
    height: int

    def x(self, k: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (k / max(self.count - 1, 1) if self.count > 1 else 0.5)

    def y(self, value: float) -> float:
        share = (value - self.bottom) / (self.top - self.bottom)
        return self.height - BOTTOM - (self.height - TOP - BOTTOM) * min(max(share, 0.0), 1.0)


def cost_chart(view: View) -> Markup:
    """Expected cost by release with certified intervals, beside doing nothing and the nominal controller."""
    points = view.points
    least = [p.least for p in points]
    lines = [
        Line("doing nothing", "idle", [p.idle.expected for p in points], least, [p.idle.most for p in points]),
        Line("learned", "now", [p.learner.expected for p in points], least, [p.learner.most for p in points]),
    ]
    if view.problem.nominal.any():
        most = [p.nominal.most for p in points]
        lines.insert(1, Line("nominal controller", "nominal", [p.nominal.expected for p in points], least, most))
    middle = [v for line in lines for v in line.values if math.isfinite(v)]
    low, high = min([*least, *middle]), max(middle)
    span = high - low or abs(high) or 1.0
    frame = Frame(len(points), low - 0.06 * span, high + 0.6 * span, 300)
    labels = [compact(p.knowledge.users) for p in points]
    return draw(frame, lines, labels, "users in closed blocks", "Expected cost of one episode by release")


def run_chart(run: Run) -> Markup:
    """One variable over an episode, before the first release and now."""
    lines = [
        Line("before", "idle", run.before[0].tolist(), run.before[1].tolist(), run.before[2].tolist()),
        Line("now", "now", run.now[0].tolist(), run.now[1].tolist(), run.now[2].tolist()),
    ]
    values = [v for row in (*run.before, *run.now) for v in row.tolist() if math.isfinite(v)] or [0.0]
    low, high = min(values), max(values)
    span = high - low or abs(high) or 1.0
    frame = Frame(run.now.shape[1], low - 0.08 * span, high + 0.08 * span, 200)
    labels = [str(h + 1) for h in range(frame.count)]
    return draw(frame, lines, labels, "step", f"{run.name} over an episode")


def timeline(view: View) -> Markup:
    """Closed blocks along the users that they covered, then the open one by its public size."""
    sizes = [r.users for r in view.releases]
    total = sum(sizes) + (view.block_users or 0) or 1
    parts, at, height = [], 0.0, 74
    for k, users in enumerate([*sizes, *([view.block_users] if view.block_users else [])]):
        closed, width = k < len(sizes), (WIDTH - 4) * users / total
        title = f"block {k + 1}: {users:,} users" + ("" if closed else " at most, open")
        parts.append(
            f'<g class="{"closed" if closed else "open"}"><title>{title}</title>'
            f'<rect x="{2 + at:.1f}" y="14" width="{max(width - 1.5, 0.8):.1f}" height="30" rx="2"/>'
            + (f'<text x="{2 + at + width / 2:.1f}" y="34" text-anchor="middle">{k + 1}</text>' if width > 22 else "")
            + "</g>"
        )
        at += width
    parts.append(f'<text class="soft" x="2" y="64">0</text><text class="soft" x="{WIDTH - 2}" y="64" '
                 f'text-anchor="end">{total:,} users</text>')  # fmt: skip
    label = f"{len(sizes)} releases" + (", one block open" if view.block_users else "")
    return svg("".join(parts), height, label, "timeline")


def draw(frame: Frame, lines: Sequence[Line], labels: Sequence[str], below: str, title: str) -> Markup:
    parts = [axis(frame, labels, below)]
    parts += [band(frame, line) for line in lines if line.low is not None]
    parts += [path(frame, line) for line in lines]
    return svg("".join(parts), frame.height, title)


def axis(frame: Frame, labels: Sequence[str], below: str) -> str:
    out = []
    for value in steps(frame.bottom, frame.top):
        y = frame.y(value)
        out.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text class="soft" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.6g}</text>')
    every = max(1, math.ceil(len(labels) / 7))
    for k, label in enumerate(labels):
        if (len(labels) - 1 - k) % every == 0:
            out.append(f'<text class="soft" x="{frame.x(k):.1f}" y="{frame.height - 25}" text-anchor="middle">'
                       f"{escape(label)}</text>")  # fmt: skip
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<text class="soft" x="{middle}" y="{frame.height - 4}" text-anchor="middle">{escape(below)}</text>')
    return "".join(out)


def steps(low: float, high: float) -> list[float]:
    """About five round numbers between the two."""
    raw = (high - low) / 5.0
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(f * size for f in (1.0, 2.0, 2.5, 5.0, 10.0) if f * size >= raw)
    first = math.ceil(low / step)
    return [step * k for k in range(first, math.floor(high / step) + 1)]


def band(frame: Frame, line: Line) -> str:
    if line.low is None or line.high is None:
        return ""
    pairs = list(enumerate(zip(line.low, line.high, strict=True)))
    up = [f"{frame.x(k):.1f},{frame.y(h if not math.isnan(h) else frame.top):.1f}" for k, (_, h) in pairs]
    down = [f"{frame.x(k):.1f},{frame.y(low if not math.isnan(low) else frame.bottom):.1f}" for k, (low, _) in pairs]
    if frame.count == 1:
        x = frame.x(0)
        y1, y2 = (float(edge[0].split(",")[1]) for edge in (up, down))
        return f'<line class="band {line.style}" x1="{x}" x2="{x}" y1="{y1}" y2="{y2}" stroke-width="26"/>'
    return f'<polygon class="band {line.style}" points="{" ".join([*up, *reversed(down)])}"/>'


def path(frame: Frame, line: Line) -> str:
    there = [(k, v) for k, v in enumerate(line.values) if math.isfinite(v)]
    points = " ".join(f"{frame.x(k):.1f},{frame.y(v):.1f}" for k, v in there)
    dots = "".join(
        f'<circle class="{line.style}" cx="{frame.x(k):.1f}" cy="{frame.y(v):.1f}" r="3"/>' for k, v in there
    ) if frame.count <= 24 else ""  # fmt: skip
    return f'<polyline class="line {line.style}" points="{points}"/>{dots}'


def svg(body: str, height: int, title: str, style: str = "chart") -> Markup:
    label = escape(title)
    return Markup(
        f'<svg class="{style}" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{label}"><title>{label}</title>'
        f"{body}</svg>"
    )


def compact(users: int) -> str:
    """500, 1.5k, 2.05M."""
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        if users >= size:
            return f"{users / size:.3g}{unit}"
    return str(users)
