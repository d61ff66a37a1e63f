"""`hushloop advise`: how many users a deployment will need, before the first of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import HushloopError
from ._common import output_options, print_json, print_table, progress, remark

if TYPE_CHECKING:
    from ..studies.advisor import Advice


@click.command(epilog="Example: hushloop advise --plant toy --epsilon 1 --write toy.toml")
@click.option("--plant", default="toy", show_default=True, help="A plant of the gallery, or a plant or problem file.")
@click.option("--epsilon", type=float, required=True, help="ε.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="δ.")
@click.option("--adjacency", default="replace-one", show_default=True, help="replace-one or zero-out.")
@click.option("--participations", type=int, default=1, show_default=True, help="Most reports of one person.")
@click.option("--within", type=float, default=0.1, show_default=True, help="Share of the loss that may be left.")
@click.option("--draws", type=int, default=40, show_default=True, help="Plants drawn from the prior.")
@click.option("--most", type=click.IntRange(min=64), help="Users in the longest rehearsal.  [default: 262144 / ε]")
@click.option("--workers", type=click.IntRange(min=1), help="Processes.  [default: the cores]")
@click.option(
    "--figure", type=click.Path(dir_okay=False, path_type=Path), help="Write `users against ε` as PNG or SVG."
)
@click.option(
    "--write", type=click.Path(dir_okay=False, path_type=Path), help="Save a configuration for run and serve."
)
@output_options
def command(
    plant: str, epsilon: float, within: float, draws: int, figure: Path | None, write: Path | None, as_json: bool,
    quiet: bool, **more: Any,
) -> None:  # fmt: skip
    """Rehearse a deployment on plants that the prior allows.

    Only public values are used: the nominal model and its radius, never the truth, even where a plant has one. The
    answer is the learning time against doing nothing: users until the next ones lose at most --within of what idle
    loses; beside it stands the same against the nominal controller. Bands hold eight of ten plants of the prior.
    """
    from ..studies.advisor import advise, steps

    with progress("rehearsing", steps(draws), quiet or as_json) as step:
        advice = advise(plant, epsilon, within, draws=draws, progress=step, **more)
    if figure is not None:
        save_figure(advice, figure)
        remark(f"wrote {figure}", quiet)
    if write is not None:
        save(advice, write)
        remark(f"wrote {write}: for hushloop serve --config {write}, or hushloop run where the truth is known", quiet)
    if as_json:
        print_json(advice.to_dict())
    else:
        _print(advice)


def save(advice: Advice, path: Path) -> None:
    """The configuration as TOML."""
    lines = [f"# hushloop advise --plant {advice.plant} --epsilon {advice.budget.epsilon:g}: {words(advice.users)}"]
    for key, value in advice.configuration().items():
        lines.append(f"{key} = {_toml(value)}")
    try:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as why:
        raise HushloopError(f"{path} cannot be written: {why.strerror}") from why


def save_figure(advice: Advice, path: Path) -> None:
    try:
        advice.plot().savefig(path, dpi=150)
    except (OSError, ValueError) as why:
        raise HushloopError(f"{path} cannot be written ({why}): name a .png or .svg file") from why


def words(users: dict[str, float | None]) -> str:
    """A band in words."""
    low, median, high = ("more than rehearsed" if v is None else f"{v:,.0f}" for v in users.values())
    return f"{median} (users; eight of ten: {low} to {high})"


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return repr(value)


def _print(advice: Advice) -> None:
    click.echo(f"{advice.plant}, ε = {advice.budget.epsilon:g}, δ = {advice.budget.delta:g}, {advice.budget.adjacency}")
    click.echo(f"against doing nothing:    {words(advice.users)}")
    click.echo(f"against the nominal model: {words(advice.nominal)}")
    if advice.never:
        click.echo(
            f"{advice.never:.0%} of the plants drawn had not learned when the rehearsal ended; some never can: "
            "limits cut their best controller"
        )
    rows = [(row["epsilon"], words(row["idle"]), words(row["nominal"])) for row in advice.table]
    print_table(("ε", "users, against doing nothing", "against the nominal model"), rows)
    c = advice.choice
    blocks = zip(c["blocks"], c["excitation"], c["energy"], strict=True)
    print_table(("block", "users", "excitation", "energy"), [(t, int(u), a, e) for t, (u, a, e) in enumerate(blocks)],
                f"first block {c['first']}, growth {c['growth']:g}, {c['mechanism']}; as predicted")  # fmt: skip
