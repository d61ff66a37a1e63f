"""`hushloop privacy`: what is promised to each person, exactly, as text, HTML or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..errors import InvalidInput
from ._common import load_problem, output_options, print_json, remark

EXAMPLE = "Example: hushloop privacy --plant toy --profile refined --epsilon 1 --delta 1e-6 --users 131072 --verify"


@click.command(epilog=EXAMPLE)
@click.option("--plant", default="toy", show_default=True, help="A plant of the gallery, or a plant or problem file.")
@click.option("--profile", default="refined", show_default=True, help="paper, refined, ofu or nonprivate.")
@click.option("--epsilon", type=float, help="ε that is asked for; for `paper` the printed one.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="δ.")
@click.option("--users", type=int, help="K, the number of users; needed where the noise depends on it.")
@click.option("--adjacency", default="replace-one", show_default=True, help="replace-one or zero-out.")
@click.option("--participations", type=int, default=1, show_default=True, help="Most reports of one person.")
@click.option("--mechanism", help="blocks, tree, factorised or none, instead of the profile's own.")
@click.option("--growth", type=float, default=2.0, show_default=True, help="Growth of the blocks.")
@click.option("--first", type=int, default=256, show_default=True, help="Users in the first block.")
@click.option("--energy", type=float, help="E of a report; default: the plant's.")
@click.option("--verify", is_flag=True, help="Recompute ε with dp-accounting.")
@click.option("--html", "html_file", type=click.Path(dir_okay=False), help="Write the statement as one HTML file.")
@output_options
def command(
    plant: str, profile: str, epsilon: float | None, delta: float, users: int | None, adjacency: Any,
    participations: int, html_file: str | None, as_json: bool, quiet: bool, **choices: Any,
) -> None:  # fmt: skip
    """State what is promised to each person: ε under each adjacency, sensitivity, noise, schedule, assumptions."""
    from ..lq import Plant
    from ..privacy.budget import Budget
    from ..privacy.statement import statement

    found = load_problem(plant)
    problem = found.problem if isinstance(found, Plant) else found
    budget = None if epsilon is None else Budget(epsilon, delta, adjacency, participations)
    made = statement(problem, profile, budget, users=users, **choices)
    if html_file is not None:
        _write(html_file, made.html())
        remark(f"wrote {html_file}", quiet)
    if as_json:
        print_json(made.to_dict())
    elif html_file is None:
        click.echo(made.markdown(), nl=False)


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as why:
        raise InvalidInput("html", f"is {path}, which cannot be written", str(why.strerror)) from why
