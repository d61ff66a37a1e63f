"""What every command shares: the options --json and --quiet, tables, progress, JSON documents, problem arguments."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import HushloopError

if TYPE_CHECKING:
    from rich.console import Console

    from ..lq import Plant, Problem

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """Adds --json as the argument `as_json`: standard output is then one JSON document and nothing else."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of tables.")(command)


def quiet_option(command: F) -> F:
    """Adds --quiet as the argument `quiet`: no progress, no remarks."""
    return click.option("--quiet", is_flag=True, help="No progress and no remarks on standard error.")(command)


def output_options(command: F) -> F:
    """--json and --quiet together."""
    return json_option(quiet_option(command))


def load_problem(name_or_path: str) -> Plant | Problem:
    """A plant of the gallery by name, or a plant or problem from a TOML file."""
    from ..lq.files import load

    return load(name_or_path)


def load_plant(name_or_path: str, command: str) -> Plant:
    """The same where the truth is needed; a problem file is refused."""
    from ..lq import Plant

    found = load_problem(name_or_path)
    if not isinstance(found, Plant):
        raise HushloopError(
            f"`{command}` needs the truth, and {name_or_path} is a problem file: give it `A` and `B`, or take a plant"
            " of the gallery (hushloop plants)"
        )
    return found


def plain(value: Any) -> Any:
    """What JSON can hold: arrays as lists, dataclasses as objects, numbers that are not finite as null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if hasattr(value, "tolist"):  # numpy arrays and scalars
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_json(document: Any) -> None:
    """The document on standard output."""
    click.echo(json.dumps(plain(document), ensure_ascii=False, allow_nan=False, indent=2))


def console(stderr: bool = False) -> Console:
    """A rich console; it honours NO_COLOR and drops colour when it is not a terminal."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def remark(text: str, quiet: bool = False) -> None:
    """A line for people on standard error."""
    if not quiet:
        click.echo(text, err=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str = "") -> None:
    """A table for people; numbers are aligned to the right."""
    from rich.table import Table

    cells = [[cell_text(v) for v in row] for row in rows]
    kinds = [[isinstance(v, (int, float)) and not isinstance(v, bool) for v in row] for row in rows]
    table = Table(title=title or None, title_justify="left")
    for j, name in enumerate(columns):
        right = bool(kinds) and all(row[j] for row in kinds)
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in cells:
        table.add_row(*row)
    console().print(table)


def cell_text(value: Any) -> str:
    """Six significant digits for floats, yes and no for truth values."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@contextmanager
def progress(label: str, total: int | None, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, silent where that is no terminal: `with progress(…) as step: step(1)`."""
    from rich.progress import Progress

    with Progress(console=console(stderr=True), disable=quiet, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda amount: bar.update(task, advance=amount)
