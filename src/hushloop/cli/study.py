"""`hushloop study`: list, show and run named experiments."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import HushloopError, InvalidInput
from ._common import console, output_options, print_json, print_table, remark

if TYPE_CHECKING:
    from ..studies import Progress, Ran
    from ..studies.cell import Cell


@click.group(epilog="Example: hushloop study run regret --quick --out regret")
def command() -> None:
    """Run a named experiment: cells, tables, figures, one report."""


@command.command("list", epilog="Example: hushloop study list")
@output_options
def list_(as_json: bool, quiet: bool) -> None:
    """The studies that are there."""
    from ..studies import STUDIES, find

    rows = [(name, find(name).question, len(find(name).prepared().cells)) for name in STUDIES]
    if as_json:
        print_json({"studies": [dict(zip(("name", "question", "cells"), row, strict=True)) for row in rows]})
    else:
        print_table(("study", "asks", "cells"), rows)


@command.command(epilog="Example: hushloop study show regret")
@click.argument("name")
@click.option("--quick", is_flag=True, help="As it runs with --quick.")
@output_options
def show(name: str, quick: bool, as_json: bool, **_: Any) -> None:
    """What a study asks, its options, its cells, its figures."""
    from ..studies import find

    found = find(name)
    prepared = found.prepared(quick)
    if as_json:
        print_json({
            "name": name, "title": found.title, "question": found.question, "options": prepared.options,
            "cells": [{"key": c.key, "label": c.label, "task": c.task} for c in prepared.cells],
            "figures": {d.name: d.caption for d in found.drawings},
        })  # fmt: skip
        return
    click.echo(f"{found.title}\n{found.question}\n")
    quickly = found.prepared(True).options
    print_table(("option", "value", "with --quick"), [(k, str(v), str(quickly[k])) for k, v in found.options.items()])
    print_table(("figure", "shows"), [(d.name, d.caption) for d in found.drawings])
    click.echo(f"{len(prepared.cells)} cells")


@command.command(epilog="Example: hushloop study run regret --quick --set seeds=4 --out regret")
@click.argument("name")
@click.option("--quick", is_flag=True, help="A smaller grid, for a few minutes at most.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="The folder.  [default: studies/NAME]")
@click.option("--resume", is_flag=True, help="Go on with what the folder holds; in an empty folder, start.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change an option; VALUE is JSON.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes on this machine.  [default: its cores]")
@click.option("--cluster", metavar="ADDRESS", help="A dask scheduler's address, or its scheduler file.")
@output_options
def run(
    name: str, quick: bool, out: Path | None, resume: bool, settings: tuple[str, ...], workers: int | None,
    cluster: str | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Run what is not there yet, then write the tables and the report.

    A killed run goes on with --resume; a changed option reruns only what it touches.
    """
    from ..studies import find
    from ..studies.report import write_report
    from ..studies.store import Store

    prepared = find(name).prepared(quick, **changes_of(settings))
    folder = out or Path("studies") / name.replace(":", "-")
    begin = time.perf_counter()
    with shown(name, quiet or as_json) as progress:
        ran = prepared.run(folder, workers, cluster, resume, progress)
        page = write_report(ran, Store(folder))
    seconds = time.perf_counter() - begin
    if as_json:
        print_json(document(ran, page, seconds))
    else:
        _print(ran, page, seconds)
    if ran.failures:
        raise HushloopError(f"{len(ran.failures)} cells failed; the report shows why: {page}")


def changes_of(settings: tuple[str, ...]) -> dict[str, Any]:
    """KEY=VALUE pairs; what is no JSON is text."""
    out: dict[str, Any] = {}
    for setting in settings:
        key, sign, value = setting.partition("=")
        if not sign:
            raise InvalidInput("set", f"is {setting!r}", "write it as KEY=VALUE, such as seeds=4")
        try:
            out[key] = json.loads(value)
        except ValueError:
            out[key] = value
    return out


def document(ran: Ran, page: Path, seconds: float) -> dict[str, Any]:
    """What --json prints."""
    return {
        **ran.prepared.about(), "cells": len(ran.prepared.cells), "failures": ran.failures, "findings": ran.findings,
        "tables": {name: len(table) for name, table in ran.tables.items()}, "report": str(page),
        "seconds": seconds, "cell_seconds": ran.seconds,
    }  # fmt: skip


def _print(ran: Ran, page: Path, seconds: float) -> None:
    for sentence in ran.findings:
        click.echo(f"- {sentence}")
    for label, why in ran.failures.items():
        click.echo(f"failed: {label}: {why.strip().splitlines()[-1]}")
    click.echo(f"{len(ran.prepared.cells)} cells, {seconds:.0f} s; report: {page}")


@contextmanager
def shown(name: str, silent: bool) -> Iterator[Progress | None]:
    """A bar for all cells and a line for each that is under way; one line a cell where there is no terminal."""
    screen = console(stderr=True)
    if silent:
        yield None
    elif not screen.is_terminal:
        yield lambda what, cell, done, total: remark(f"{done}/{total} {what} {cell.label if cell else name}")
    else:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=screen, transient=True) as bars:
            whole = bars.add_task(name, total=None)
            under_way: dict[str, Any] = {}

            def show(what: str, cell: Cell | None, done: int, total: int) -> None:
                bars.update(whole, completed=done, total=total)
                if cell is not None and what == "start":
                    under_way[cell.key] = bars.add_task("  " + cell.label, total=1)
                elif cell is not None and cell.key in under_way:
                    bars.remove_task(under_way.pop(cell.key))
                    if what == "failed":
                        bars.console.print(f"failed: {cell.label}")

            yield show
