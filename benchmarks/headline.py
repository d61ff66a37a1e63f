"""People until the next ones lose a tenth, on `toy` at ε = .1, 1, 8: the paper's best against `refined`, 16 seeds."""

from __future__ import annotations

from common import Claim, claim, show  # first: it sets the number of threads

# isort: split

from hushloop.studies import study
from hushloop.studies.headline import EXACT, PAPER, PRINTED

MOST = {0.1: 7000.0, 1.0: 750.0, 8.0: 260.0}
"""What `refined` may need at the same printed ε."""


def claims() -> list[Claim]:
    table = study("headline").run().tables["times"]
    times = {(row["label"], row["printed"]): row for row in table.iter_rows(named=True)}
    out = []
    for epsilon, most in MOST.items():
        paper = f"{times[PAPER, epsilon]['time']:,.0f} people"
        for label in (PRINTED, EXACT):
            row = times[label, epsilon]
            text = f"learning time on toy, printed ε = {epsilon:g}, {label}"
            out.append(claim(text, f"{row['time']:,.0f} people", paper, row["factor"], None))
        ours = times[PRINTED, epsilon]["time"]
        out.append(claim(f"the same against {most:,.0f} people", f"{ours:,.0f}", f"{most:,.0f}", most / ours, 1.0))
    return out


if __name__ == "__main__":
    show(claims())
