"""`hushloop audit`: try to break the promise, exactly and statistically."""

from __future__ import annotations

from typing import Any

import click

from ..errors import InvalidInput
from ._common import load_problem, output_options, print_json, print_table, progress, remark

EXAMPLE = "Example: hushloop audit --plant toy --profile refined --epsilon 1 --trials 20000"


@click.command(epilog=EXAMPLE)
@click.option("--plant", default="toy", show_default=True, help="A plant of the gallery, or a plant or problem file.")
@click.option("--profile", default="refined", show_default=True, help="refined or paper.")
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="ε that is claimed.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="δ.")
@click.option("--adjacency", default="replace-one", show_default=True, help="replace-one or zero-out.")
@click.option("--users", type=int, default=2**17, show_default=True, help="K, the number of users.")
@click.option("--mechanism", help="blocks, tree or factorised, instead of the profile's own.")
@click.option("--growth", type=float, default=2.0, show_default=True, help="Growth of the blocks.")
@click.option("--first", type=int, default=256, show_default=True, help="Users in the first block.")
@click.option("--energy", type=float, help="E of a report; default: the plant's.")
@click.option("--trials", type=int, help="Transcripts a side.  [default: 100000; 20000 with --zoo]")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the audit's own noise.")
@click.option("--zoo", is_flag=True, help="Audit eleven sabotaged mechanisms and four honest ones instead.")
@click.option("--out", type=click.Path(file_okay=False), help="Write the figure into this folder.")
@output_options
def command(zoo: bool, as_json: bool, quiet: bool, trials: int | None, seed: int, **options: Any) -> None:
    """Try to break what is promised.

    The exact part forces two runs on neighbouring data to release the same and measures what the noise had to make up
    for. The statistical part bounds ε from below over whole transcripts of the real code. `violated` means an exact
    failure, or a bound that exceeds the claim but for one chance in a million.
    """
    if trials is not None and trials < 100:
        raise InvalidInput("trials", f"is {trials}", "give at least 100")
    if seed < 0:
        raise InvalidInput("seed", f"is {seed}", "give a number of at least 0")
    if zoo:
        _zoo(trials, seed, as_json, quiet)
    else:
        _one(100_000 if trials is None else trials, seed, as_json, quiet, **options)


def _zoo(trials: int | None, seed: int, as_json: bool, quiet: bool) -> None:
    from ..audit.zoo import zoo

    with progress("zoo", 15, quiet or as_json) as step:
        found = zoo(seed, trials, lambda name: step(1))
    if as_json:
        print_json(found)
        return
    for kind, verdict in (("sabotaged", "caught"), ("honest", "accused")):
        rows = [(a["name"], a[verdict], ", ".join(a["by"])) for a in found[kind]]
        print_table((kind, verdict, "by"), rows)


def _one(
    trials: int, seed: int, as_json: bool, quiet: bool, plant: str, profile: str, epsilon: float, delta: float,
    adjacency: Any, out: str | None, **choices: Any,
) -> None:  # fmt: skip
    from ..audit.audit import run_audit
    from ..audit.targets import target_of
    from ..lq import Plant
    from ..privacy.budget import Budget

    found = load_problem(plant)
    problem = found.problem if isinstance(found, Plant) else found
    audit = run_audit(target_of(problem, profile, Budget(epsilon, delta, adjacency), **choices), trials, seed)
    if out is not None:
        from ..audit.figure import write_figure

        remark(f"wrote {write_figure(audit, out)}", quiet)
    if as_json:
        print_json(audit.to_dict())
    else:
        _table(audit)


def _table(audit: Any) -> None:
    e, b, c = audit.exact, audit.bound, audit.certain
    claim = audit.claim
    rows = [
        ("claimed ε", claim.epsilon), ("δ", f"{claim.delta:g}"), ("adjacency", claim.adjacency),
        ("promised μ", e.promised), ("μ that neighbours were found to spend", e.cost),
        ("moves stay within the sensitivity", e.moves_within_sensitivity), ("decisions are equal", e.decisions_equal),
        ("trials a side", audit.trials), ("ε is at least, 95 %: mean shift", b.mean_shift), ("… μ-GDP", b.gdp),
        ("… Clopper–Pearson", b.clopper_pearson), ("ε is at least, but for 10⁻⁶", c.largest),
        ("violated", audit.violated),
    ]  # fmt: skip
    print_table((audit.name, ""), rows)
