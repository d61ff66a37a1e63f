"""`hushloop run`: K users against a plant, with regret, coverage and guarantee."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import HushloopError, InvalidInput
from ._common import console, load_plant, output_options, print_json, print_table, remark
from ._config import with_config
from ._plot import log_plot

if TYPE_CHECKING:
    from ..privacy.budget import Budget
    from ..profiles import Profile
    from ..simulation import Progress, Result

KEYS = (
    "plant", "profile", "epsilon", "delta", "adjacency", "participations", "users", "seeds", "seed", "planner", "safe",
    "baseline", "mechanism", "growth", "first", "energy", "excite", "alpha",
)  # fmt: skip
EXAMPLE = "Example: hushloop run --plant toy --profile refined --epsilon 1 --users 262144 --seeds 8"


@click.command(epilog=EXAMPLE)
@click.option("--plant", default="toy", show_default=True, help="A plant of the gallery, or a plant file.")
@click.option("--profile", default="refined", show_default=True, help="refined, paper, ofu or nonprivate.")
@click.option("--epsilon", type=float, help="ε; for `paper` the printed one. nonprivate and ofu need none.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="δ.")
@click.option("--adjacency", default="replace-one", show_default=True, help="replace-one or zero-out.")
@click.option("--participations", type=int, default=1, show_default=True, help="Most reports of one person.")
@click.option("--users", type=int, default=2**17, show_default=True, help="K, the number of users.")
@click.option("--seeds", type=int, default=1, show_default=True, help="How many runs.")
@click.option("--seed", type=int, default=0, show_default=True, help="The first seed; all others count from it.")
@click.option("--planner", help="excited, certainty, optimistic, relaxed, thompson, oracle or idle.")
@click.option("--safe", type=float, help="τ: run only what costs at most (1+τ) × the baseline, certified.")
@click.option("--baseline", type=click.Choice(["idle", "nominal"]), default="idle", show_default=True)
@click.option("--mechanism", help="blocks, tree, factorised or none, instead of the profile's own.")
@click.option("--growth", type=float, help="Growth of the blocks; default: 2.")
@click.option("--first", type=int, help="Users of the first block; default: chosen from the prior and the budget.")
@click.option("--energy", type=float, help="E, a fixed energy budget; default: chosen block by block.")
@click.option("--excite", help="Excitation by block, A[,A…], the last one stays; default: chosen block by block.")
@click.option("--alpha", type=float, default=0.1, show_default=True, help="What coverage may fail with.")
@click.option("--config", type=click.Path(dir_okay=False), help="A TOML file with these options as keys.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Save run.json and releases.parquet.")
@output_options
def command(config: str | None, out: Path | None, as_json: bool, quiet: bool, **given: Any) -> None:
    """Play K users against a plant: regret, coverage, guarantee."""
    from ..simulation import simulate

    o = with_config(click.get_current_context(), given, config, KEYS)
    profile = chosen_profile(o)
    found = load_plant(o["plant"], "run")
    with live_plot(f"{found.name}, {profile.name}", quiet or as_json) as show:
        result = simulate(profile, found, o["users"], o["seeds"], budget_of(profile, o), o["seed"], progress=show)
    if not result.seeds:
        raise HushloopError("interrupted before the first seed was whole: nothing to report")
    if out is not None:
        result.save(out)
        remark(f"wrote {out / 'run.json'} and {out / 'releases.parquet'}", quiet)
    if as_json:
        print_json(result.summary())
    else:
        print_result(result)


def chosen_profile(o: dict[str, Any]) -> Profile:
    """The named profile with what the options change."""
    from ..profiles import profile_named

    profile = profile_named(o["profile"]).with_(
        planner=o["planner"], safe=o["safe"], baseline=o["baseline"], mechanism=o["mechanism"], growth=o["growth"],
        first=o["first"], energy=o["energy"], excite=excitations(o["excite"]), alpha=o["alpha"],
    )  # fmt: skip
    if o["planner"] in ("oracle", "idle") and o["epsilon"] is None:
        profile = profile.with_(mechanism="none", private=False)
    if o["mechanism"] in ("tree", "factorised") and profile.belief == "recursive":
        profile = profile.with_(belief="cumulative")
    if o["energy"] is not None and profile.belief == "paper":
        raise InvalidInput("energy", f"is {o['energy']}", "leave it out: with the belief of the paper it is H(1+γ²)")
    return profile.with_(private=profile.mechanism != "none")


def budget_of(profile: Profile, o: dict[str, Any]) -> Budget | None:
    from ..privacy.budget import Budget

    if not profile.private:
        return None
    if o["epsilon"] is None:
        raise InvalidInput(
            "epsilon", f"is missing, and {profile.name!r} is private", "say what to promise: --epsilon 1"
        )
    return Budget(o["epsilon"], o["delta"], o["adjacency"], o["participations"])


def excitations(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        values = tuple(float(part) for part in str(text).split(","))
    except ValueError:
        values = (math.nan,)
    if not all(math.isfinite(v) and v >= 0 for v in values):
        raise InvalidInput("excite", f"is {text!r}", "give numbers of at least 0, separated by commas: 0.5,0.3,0")
    return values


@contextmanager
def live_plot(title: str, silent: bool) -> Iterator[Callable[[Progress], None] | None]:
    """Loss by users so far, with rate and time left, on standard error; nothing where that is no terminal."""
    screen = console(stderr=True)
    if silent or not screen.is_terminal:
        yield None
        return
    from rich.live import Live
    from rich.text import Text

    totals: dict[float, list[float]] = {}
    begin = time.perf_counter()

    def show(progress: Progress) -> None:
        row = progress.row
        if row is not None:
            totals.setdefault(float(row["users"]), []).append(max(row["loss"], 1e-12))
        spent = time.perf_counter() - begin
        rate = progress.users / spent
        left = (progress.total - progress.users) / rate if rate else math.inf
        head = f"{title}: {progress.users:,} of {progress.total:,} users, {rate:,.0f}/s, {left:,.0f} s left\n"
        curve = [(users, sum(v) / len(v)) for users, v in sorted(totals.items())]
        live.update(Text(head + "mean loss of a user\n" + log_plot({"o": curve}, "users")))

    with Live(console=screen, transient=True, refresh_per_second=4) as live:
        yield show


def print_result(result: Result) -> None:
    """For people: what was promised, what was lost, release by release."""
    s = result.summary()
    rows = s["releases"]
    click.echo(log_plot({"o": [(r["users"], max(r["loss_mean"], 1e-12)) for r in rows]}, "users"))
    click.echo(f"mean loss of a user (doing nothing: {result.idle_cost - result.optimal_cost:.6g})\n")
    shown = rows if len(rows) <= 24 else [rows[i * (len(rows) - 1) // 23] for i in range(24)]
    print_table(
        ("users", "loss", "10 %", "90 %", "excitation", "clipped"),
        [
            (r["users"], r["loss_mean"], r["loss_low"], r["loss_high"], r["excitation_mean"], r["clipped_share"])
            for r in shown
        ],
    )
    print_table(("what", "value"), facts(s))


def facts(s: dict[str, Any]) -> list[tuple[str, str]]:
    """The summary in words."""
    regret, time_, guarantee = s["regret"], s["learning_time"], s["guarantee"]
    if guarantee is None:
        promise = "nothing: no noise is added"
    else:
        others = ", ".join(f"ε = {e:.4g} under {a}" for a, e in guarantee["also"].items())
        promise = (
            f"ε = {guarantee['epsilon']:.4g}, δ = {guarantee['delta']:.2g} under {guarantee['adjacency']}"
            f" (μ = {guarantee['mu']:.4g}; {others})"
        )
    kind = "exact" if regret["kind"] == "exact" else f"paired, ± {regret['stderr']:.3g}"
    spread = f"{regret['low']:.5g} to {regret['high']:.5g}"
    band = " to ".join("never" if time_[k] is None else f"{time_[k]:,.0f}" for k in ("low", "high"))
    median = "never" if time_["median"] is None else f"{time_['median']:,.0f} users"
    return [
        ("promised to each person", promise),
        ("cumulative regret", f"{regret['mean']:.5g} ({kind}); {spread} in eight of ten seeds"),
        ("learning time", f"{median} ({band})"),
        ("belief held the truth", f"{s['coverage']['covered']} of {s['coverage']['seeds']} seeds"),
        ("loss of the last users", f"{s['final_loss']['mean']:.4g}"),
        ("steps clipped / included", f"{s['clipped_share']:.3%} / {s['included_share']:.1%}"),
        ("plans that failed", str(s["planner"]["failed"])),
        ("time", f"{s['seconds']:.1f} s" + (", interrupted" if s["interrupted"] else "")),
    ]
