"""The audit as a figure: the scores on either data set, and the lower bound on ε against the number of trials."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import InvalidInput, MissingExtra
from .audit import Audit
from .statistical import Scores, mean_shift_bound

LEAST = 200


def bound_by_trials(audit: Audit, points: int = 16) -> list[tuple[int, float]]:
    """(N, mean-shift bound at 95 % of the first N trials a side)."""
    s, top = audit.scores, audit.scores.one.size
    counts = np.unique(np.geomspace(min(LEAST, top), top, points).astype(int))
    part = [Scores(s.one[:n], s.other[:n], s.middle, s.tail) for n in counts]
    return [(int(n), mean_shift_bound(x, audit.claim.delta, 0.05)) for n, x in zip(counts, part, strict=True)]


def write_figure(audit: Audit, folder: str | Path) -> Path:
    """`audit.png` in that folder, made if it is not there."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plots") from None
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    one, other = audit.scores.one, audit.scores.other
    scale = float(one.std()) or 1.0
    one, other = (one - audit.scores.middle) / scale, (other - audit.scores.middle) / scale
    both = np.concatenate([one, other])
    low, high = (float(v) for v in np.quantile(both, [0.0005, 0.9995]))
    bins = np.linspace(low, high, 60)
    if low < high:
        left.hist(one, bins, alpha=0.55, color="#3465a4", label="one data set")
        left.hist(other, bins, alpha=0.55, color="#cc6600", label="its neighbour")
    left.set(xlabel="score of a transcript, in deviations from the threshold", ylabel="transcripts", title=audit.name)
    left.legend(frameon=False)
    trials, bounds = zip(*bound_by_trials(audit), strict=True)
    right.semilogx(trials, bounds, "o-", color="#3465a4", label="mean-shift bound, 95 %")
    right.axhline(audit.claim.epsilon, color="black", linestyle="--", label="claimed ε")
    right.set(xlabel="trials a side", ylabel="ε", title=f"{audit.claim.adjacency}, δ = {audit.claim.delta:g}")
    right.legend(frameon=False)
    path = Path(folder) / "audit.png"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    except OSError as why:
        raise InvalidInput("out", f"is {folder}, which cannot be written", str(why.strerror)) from why
    return path
