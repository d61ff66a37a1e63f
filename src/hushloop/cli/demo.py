"""`hushloop demo`: one plant learned as published, as refined and without a promise, with the report of that study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._common import load_plant, output_options, print_json, print_table, remark
from ._plot import log_plot

if TYPE_CHECKING:
    from ..studies import Ran

MARKS = "po·"


@click.command(epilog="Example: hushloop demo --epsilon 8 --out demo")
@click.option("--plant", default="toy", show_default=True, help="A plant of the gallery.")
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="ε; for the paper the printed one.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("demo"), show_default=True)
@output_options
def command(plant: str, epsilon: float, out: Path, as_json: bool, quiet: bool) -> None:
    """Learn one plant three ways: loss by users, what is promised, and a report to look at."""
    from ..studies import find
    from ..studies.report import write_report
    from ..studies.store import Store
    from .study import shown

    truth = load_plant(plant, "demo")
    prepared = find("demo").prepared(plant=plant, epsilon=epsilon)
    with shown("demo", quiet or as_json) as progress:
        ran = prepared.run(out, resume=True, progress=progress)
        page = write_report(ran, Store(out))
    if as_json:
        print_json({"plant": plant, "epsilon": epsilon, "findings": ran.findings, "report": str(page)})
        return
    click.echo(f"{truth.name}: {truth.problem.about.story}")
    click.echo(
        f"Best cost of a user {truth.optimal_cost:.4f}, doing nothing {truth.idle_cost:.4f}: "
        f"{truth.idle_cost - truth.optimal_cost:.4f} is lost while nothing is learned.\n"
    )
    show(ran, quiet)
    click.echo(f"\nThe report, with figures and the whole privacy statement: {page}")


def show(ran: Ran, quiet: bool) -> None:
    """Curves, numbers, and what is promised, in the terminal."""
    from ..studies import find

    curves = ran.tables["curves"]
    labels = list(dict.fromkeys(curves["label"].to_list()))
    marks = dict(zip(MARKS, labels, strict=False))
    lines = {mark: _points(curves.filter(curves["label"] == label)) for mark, label in marks.items()}
    click.echo("Mean loss of a user against the best controller, by users so far:\n")
    click.echo(log_plot(lines, "users"))
    click.echo("   ".join(f"{mark} {label}" for mark, label in marks.items()) + "\n")
    summary = ran.tables["summary"]
    print_table(
        ("agent", "regret", "users until a tenth of idle's loss"),
        [
            (row["label"], row["regret"], "not yet" if row["time"] is None else f"{row['time']:,.0f}")
            for row in summary.iter_rows(named=True)
        ],
    )
    for statement in find("demo").statements(ran.prepared.options):
        g = statement.to_dict()["guarantee"]
        others = ", ".join(f"{e:.3g} under {a}" for a, e in g["also"].items())
        click.echo(
            f"refined promises each person, whatever the others send and however long it goes on:\n"
            f"ε = {g['epsilon']:.4g}, δ = {g['delta']:.2g} under {g['adjacency']} (ε = {others})"
        )
    for label, why in ran.failures.items():
        remark(f"failed: {label}: {why.strip().splitlines()[-1]}", quiet)


def _points(curve: Any) -> list[tuple[float, float]]:
    return [(float(u), max(float(v), 1e-12)) for u, v in zip(curve["users"], curve["loss"], strict=True)]
