"""`hushloop plants`: list, show, export and check plants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._common import load_plant, load_problem, output_options, plain, print_json, print_table, remark

if TYPE_CHECKING:
    from ..lq import Plant, Problem


@click.group("plants", invoke_without_command=True, epilog="Example: hushloop plants --json")
@output_options
@click.pass_context
def command(ctx: click.Context, as_json: bool, quiet: bool) -> None:
    """List the gallery; `show`, `draw`, `export` and `check` single plants."""
    if ctx.invoked_subcommand is not None:
        return
    from ..lq import gallery

    rows = [summary(gallery.get(name)) for name in gallery.names()]
    if as_json:
        print_json({"plants": rows})
        return
    print_table(
        ("name", "n", "d", "horizon", "story"), [(r["name"], r["n"], r["d"], r["horizon"], r["story"]) for r in rows]
    )
    remark("`hushloop plants show NAME` prints one of them.", quiet)


@command.command(epilog="Example: hushloop plants show toy --json")
@click.argument("name_or_file")
@output_options
def show(name_or_file: str, as_json: bool, quiet: bool) -> None:
    """Matrices, costs and assumptions of a plant of the gallery or of a TOML file."""
    document = describe(load_problem(name_or_file))
    if as_json:
        print_json(document)
    else:
        print_description(document)


@command.command(epilog="Example: hushloop plants draw uav --out demo")
@click.argument("name_or_file", default="toy")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("demo"), show_default=True)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the users' starts and disturbances.")
@output_options
def draw(name_or_file: str, out: Path, seed: int, as_json: bool, quiet: bool) -> None:
    """Trajectories under optimal control and under none, here and in files."""
    from ._trajectories import show_plant

    show_plant(load_plant(name_or_file, "plants draw"), out, seed, as_json, quiet)


@command.command(epilog="Example: hushloop plants export toy > toy.toml")
@click.argument("name_or_file")
def export(name_or_file: str) -> None:
    """Print a plant as a TOML file that reads back to the same numbers."""
    from ..lq.export import to_toml

    click.echo(to_toml(load_problem(name_or_file)), nl=False)


@command.command(epilog="Example: hushloop plants check my-plant.toml")
@click.argument("file")
@output_options
def check(file: str, as_json: bool, quiet: bool) -> None:
    """Check a plant file: exit code 0 when it is sound, 3 with the key, the line and the remedy when it is not."""
    document = describe(load_problem(file))
    missed = [a["item"] for a in document["assumptions"] or [] if not a["holds"]]
    if as_json:
        print_json({"file": file, "name": document["name"], "kind": document["kind"], "missed_assumptions": missed})
        return
    click.echo(f"{file}: a sound {document['kind']} file, {document['n']} states, {document['d']} inputs")
    for item in missed:
        remark(f"note: {item} does not hold; privacy does not depend on it, regret and coverage do", quiet)


def summary(value: Plant | Problem) -> dict[str, Any]:
    problem = problem_of(value)
    return {
        "name": problem.name,
        "n": problem.n,
        "d": problem.d,
        "horizon": problem.horizon,
        "story": problem.about.story,
        "source": problem.about.source,
    }


def problem_of(value: Plant | Problem) -> Problem:
    from ..lq import Plant

    return value.problem if isinstance(value, Plant) else value


def describe(value: Plant | Problem) -> dict[str, Any]:
    """Everything that `plants show --json` prints; what a problem file does not know is null."""
    from ..lq import Plant

    truth = value if isinstance(value, Plant) else None
    pr = problem_of(value)
    known: dict[str, Any] = dict.fromkeys(
        ("A", "B", "optimal_cost", "idle_cost", "nominal_cost", "spectral_radius", "assumptions")
    )
    if truth is not None:
        known = {key: getattr(truth, key) for key in known if key != "assumptions"}
        known["assumptions"] = truth.check_assumptions()
    document = {
        **summary(value),
        "kind": "problem" if truth is None else "plant",
        "Q": pr.Q,
        "R": pr.R,
        **known,
        "start": {
            "law": pr.start.law,
            "center": pr.start.center,
            "radius": pr.start.radius,
            "std": pr.start.std,
            "public": pr.start.public,
        },
        "disturbance": {
            "law": pr.disturbance.law,
            "bound": pr.disturbance_bound,
            "std": pr.disturbance.std,
            "scale": pr.disturbance.scale,
            "covariance": pr.W,
        },
        "bounds": {
            "control": pr.control_bound,
            "response": pr.response_bound,
            "energy": pr.energy,
            "control_low": pr.control_low,
            "control_high": pr.control_high,
        },
        "prior": {
            "A": pr.nominal_A,
            "B": pr.nominal_B,
            "radius": pr.radius,
            "operator_radius": pr.operator_radius,
        },
        "units": pr.units,
    }
    readable: dict[str, Any] = plain(document)
    return readable


def print_description(document: dict[str, Any]) -> None:
    click.echo(f"{document['name']}: {document['story'] or 'no story'}")
    if document["source"]:
        click.echo(f"source: {document['source']}")
    rows = [("states n", document["n"]), ("inputs d", document["d"]), ("horizon H", document["horizon"])]
    costs = ("optimal_cost", "idle_cost", "nominal_cost", "spectral_radius")
    rows += [(key.replace("_", " "), "unknown" if document[key] is None else document[key]) for key in costs]
    rows += [(f"{t} {k}", v) for t in ("disturbance", "bounds") for k, v in document[t].items() if is_number(v)]
    rows += [(f"prior {k}", document["prior"][k]) for k in ("radius", "operator_radius")]
    print_table(("quantity", "value"), rows)
    for key in ("A", "B", "Q", "R"):
        click.echo(f"{key} = " + ("unknown" if document[key] is None else matrix_text(document[key])))
    click.echo(f"nominal A = {matrix_text(document['prior']['A'])}")
    click.echo(f"nominal B = {matrix_text(document['prior']['B'])}")
    if document["assumptions"] is not None:
        print_table(
            ("the paper's Assumption 1 and the prior", "holds", "value", "bound"),
            [(a["item"], a["holds"], a["value"], a["bound"]) for a in document["assumptions"]],
        )


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def matrix_text(rows: list[list[float]]) -> str:
    return "[" + ", ".join("[" + ", ".join(f"{v:.6g}" for v in row) + "]" for row in rows) + "]"
