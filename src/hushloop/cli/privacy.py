"""`hushloop privacy`: what is promised to each person, exactly, as text, HTML or JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from ._common import load_problem, output_options, print_json, remark

if TYPE_CHECKING:
    from ..lq import Problem
    from ..privacy.budget import Budget

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
@click.option("--first", type=int, help="Users in the first block; default: as the profile chooses.")
@click.option("--energy", type=float, help="E of a report; default: as the profile chooses.")
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
    if profile == "refined" and choices["mechanism"] in (None, "blocks") and budget is not None:
        choices |= _first_block(problem, budget, users, choices)
    given = {key: value for key, value in choices.items() if value is not None}
    made = statement(problem, profile, budget, users=users, **given)
    if html_file is not None:
        _write(html_file, made.html())
        remark(f"wrote {html_file}", quiet)
    if as_json:
        print_json(made.to_dict())
    elif html_file is None:
        click.echo(made.markdown(), nl=False)


def _first_block(problem: Problem, budget: Budget, users: int | None, choices: dict[str, Any]) -> dict[str, Any]:
    """Size, collection and noise of the first block, as the agent chooses them before anybody has come."""
    from ..profiles import PROFILES, first_order

    chosen = {key: choices[key] for key in ("first", "growth", "energy")}
    order = first_order(problem, PROFILES["refined"].with_(**chosen), budget, users)
    return {"first": order.users, "block": (order.collection, order.scales)}


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as why:
        raise InvalidInput("html", f"is {path}, which cannot be written", str(why.strerror)) from why
