"""`hushloop fit`: a private estimate, a certified belief and a controller from recorded trajectories."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InvalidInput
from ._common import load_problem, output_options, print_json, print_table, remark

if TYPE_CHECKING:
    from ..fitting import Fit

EXAMPLE = "Example: hushloop fit logs.parquet --plant problem.toml --epsilon 1 --delta 1e-6"


@click.command(epilog=EXAMPLE)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--plant", required=True, help="A problem or plant file, or a plant of the gallery.")
@click.option("--epsilon", type=float, required=True, help="ε.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="δ.")
@click.option("--adjacency", default="replace-one", show_default=True, help="replace-one or zero-out.")
@click.option("--participations", type=int, default=1, show_default=True, help="Most episodes of one person.")
@click.option("--alpha", type=float, default=0.1, show_default=True, help="What the belief may fail with.")
@click.option("--energy", type=float, help="E that an episode may spend; default: the problem's, or predicted.")
@click.option(
    "--excite", type=float, default=0.0, show_default=True, help="Typical size of the recorded inputs' own noise."
)
@click.option("--statement", "statement_file", type=click.Path(dir_okay=False, path_type=Path), help="Write it here.")
@output_options
def command(
    file: Path, plant: str, epsilon: float, delta: float, adjacency: Any, participations: int, alpha: float,
    energy: float | None, excite: float, statement_file: Path | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Learn a controller from recorded trajectories with one private release.

    FILE is .csv or .parquet with the columns user, step, x1…, u1…, one row a step. One more row an episode holds the
    state that its last control led to, its own controls empty. A user with several episodes needs a column `episode`.
    Units are the problem's own. Every option is public: choose it without looking at the data.
    """
    from ..fitting import fit
    from ..lq import Plant
    from ..privacy.budget import Budget

    if not (math.isfinite(excite) and excite >= 0):
        raise InvalidInput("excite", f"is {excite}", "give a finite number, at least 0")
    found = load_problem(plant)
    problem = found.problem if isinstance(found, Plant) else found
    result = fit(problem, file, Budget(epsilon, delta, adjacency, participations), alpha, energy, excite)
    if statement_file is not None:
        _write(statement_file, result.statement().markdown())
        remark(f"wrote {statement_file}", quiet)
    if as_json:
        print_json(result.to_dict())
    else:
        print_fit(result)


def print_fit(result: Fit) -> None:
    """For people: what was promised, what was found, and how far it can be trusted."""
    from ..lq import split

    g = result.guarantee
    others = ", ".join(f"ε = {e:.4g} under {a}" for a, e in g.also.items())
    low, high = result.certified
    print_table(
        ("what", "value"),
        [
            ("promised to each person", f"ε = {g.epsilon:.4g}, δ = {g.delta:.2g} under {g.adjacency} ({others})"),
            ("users / episodes", f"{result.users:,} / {result.episodes:,}"),
            ("semi-axes of the belief", "  ".join(f"{a:.4g}" for a in result.belief.semi_axes)),
            ("cost on the estimate", f"{result.plan.value:.6g}"),
            ("no controller can beat", f"{low:.6g}"),
            ("certified worst cost", f"{high:.6g}" if math.isfinite(high) else "none: too little is known"),
        ],
    )
    if result.contradicted:
        remark("the release fits no plant within the prior: check the prior's radius, the units and the bounds")
    A, B = split(result.estimate.mean)
    n, d = A.shape[0], B.shape[1]
    names = ("", *(f"x{j + 1}" for j in range(n)), *(f"u{j + 1}" for j in range(d)))
    rows = [(f"next x{i + 1}", *(float(v) for v in (*A[i], *B[i]))) for i in range(n)]
    print_table(names, rows, "Estimate")
    steps = [(h + 1, f"u{i + 1}", *(float(v) for v in K[i])) for h, K in enumerate(result.plan.gains) for i in range(d)]
    print_table(("step", "input", *names[1 : n + 1]), steps, "Gains")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as why:
        raise InvalidInput("statement", f"is {path}, which cannot be written", str(why.strerror)) from why
