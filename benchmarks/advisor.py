"""Whether the advisor's 10–90 % band holds what it should: plants drawn from five priors, none of which it has seen."""

from __future__ import annotations

from common import Claim, claim, show  # first: it sets the number of threads

# isort: split

import math
from io import BytesIO

import numpy as np
import polars as pl

from hushloop.privacy.budget import Budget
from hushloop.studies.advisor import advise, longest
from hushloop.studies.rehearsal import rehearsal_cell
from hushloop.studies.workers import run_local

PLANTS = ("toy", "laplacian", "stable3", "battery", "propofol")
EACH, EPSILON, UNSEEN = 16, 1.0, 77
"""Draws a prior, ε, and a seed that the advisor does not use."""


def measured(plant: str, first: int) -> list[float]:
    """Learning times of fresh plants under the configuration that was advised."""
    budget = Budget(EPSILON)
    users = longest(EPSILON, None)
    cells = [rehearsal_cell(plant, budget, i, UNSEEN, first=first, users=users) for i in range(EACH)]
    found = {}
    for cell, outcome in run_local(cells, lambda cell: None, 2):
        assert outcome.parquet is not None, outcome.error
        found[cell.key] = pl.read_parquet(BytesIO(outcome.parquet))["idle"][0]
    return [math.inf if found[cell.key] is None else float(found[cell.key]) for cell in cells]


def claims() -> list[Claim]:
    inside, total, widths = 0, 0, []
    for plant in PLANTS:
        advice = advise(plant, EPSILON, factors=())
        low, high = (advice.users[key] or math.inf for key in ("low", "high"))
        times = measured(plant, advice.choice["first"])
        inside += sum(low <= t <= high for t in times)
        total += len(times)
        a, b = np.quantile(np.log(times), [0.1, 0.9], method="nearest")
        if math.isfinite(b) and math.isfinite(high) and b > a:
            widths.append(math.log(high / low) / float(b - a))
    share = inside / total
    ratio = float(np.median(widths)) if widths else math.inf
    band = f"{inside} of {total}"
    return [
        claim("learning times inside the advised 10–90 % band: at least 65 %", band, "65 %", share / 0.65, 1.0),
        claim("and at most 92 %", band, "92 %", 0.92 / share, 1.0),
        claim(
            "width of the band in logarithms, median over priors", f"{ratio:.2f} × measured", "1.5", 1.5 / ratio, 1.0
        ),
    ]


if __name__ == "__main__":
    show(claims())
