"""`hushloop store`: check a store, read its ledger, copy it, and go on after a restore."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import HushloopError
from ._common import output_options, print_json, print_table, remark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..service.store import Store

F = TypeVar("F", bound=Callable[..., Any])
EXAMPLE = "Example: hushloop store check hush.db"


def store_argument(function: F) -> F:
    return click.argument("store", metavar="FILE|URL")(function)


def key_option(function: F) -> F:
    text = "For a store that is no file: the serving --operator-key-file, which names the files beside it."
    return click.option("--operator-key-file", type=click.Path(path_type=Path), help=text)(function)


@click.group(epilog=EXAMPLE)
def command() -> None:
    """Inspect and check a store. FILE is an SQLite file; the server may run meanwhile."""


@command.command(epilog=EXAMPLE)
@store_argument
@key_option
@output_options
def check(store: str, operator_key_file: Path | None, as_json: bool, quiet: bool) -> None:
    """Pages, the chains of ledger and assignments, releases against the ledger, and the high-water mark."""
    from ..service.inspection import check_store

    with opened(store) as found:
        result = check_store(found, files_of(store, operator_key_file).highwater)
    if as_json:
        print_json(result)
    else:
        print_table(
            ("what", "found"), [(name, "fine" if not wrong else "; ".join(wrong)) for name, wrong in parts(result)]
        )
    if not result["ok"]:
        raise HushloopError("the store is not sound: see docs/how-to/restore before it is used again")
    remark("sound", quiet)


@command.command(epilog="Example: hushloop store ledger hush.db --json")
@store_argument
@output_options
def ledger(store: str, as_json: bool, quiet: bool) -> None:
    """What was done, and what was spent on whom."""
    from ..service.inspection import spending

    with opened(store) as found:
        entries = [{"number": e.number, "at": e.at, "kind": e.kind, "what": json.loads(e.body)} for e in found.ledger()]
        spent = spending(found)
    if as_json:
        print_json({"entries": entries, "spent": spent})
        return
    shown = [(e["number"], moment(e["at"]), e["kind"], in_words(e["what"])) for e in entries]
    print_table(("", "when", "what", "of which"), shown)
    rows = [("nobody named" if k["tickets"] == 0 else f"{k['tickets']} each", k["people"]) for k in spent["people"]]
    print_table(("tickets", "people (or tickets, where nobody was named)"), rows)
    click.echo(spent["text"])


@command.command(epilog="Example: hushloop store backup hush.db copy.db")
@store_argument
@click.argument("target", type=click.Path(path_type=Path))
@output_options
def backup(store: str, target: Path, as_json: bool, quiet: bool) -> None:
    """Copy a store while its server runs. The copy holds the sums of the open block: guard it like the store."""
    with opened(store) as found:
        found.backup(str(target))
    if as_json:
        print_json({"backup": str(target), "bytes": target.stat().st_size})
    remark(f"wrote {target}; to go back to it charges everybody: see docs/how-to/restore", quiet)


@command.command("acknowledge-restore", epilog="Example: hushloop store acknowledge-restore hush.db --charge")
@store_argument
@key_option
@click.option("--charge", is_flag=True, help="Yes: count everybody's cost once more.")
@output_options
def acknowledge_restore(store: str, operator_key_file: Path | None, charge: bool, as_json: bool, quiet: bool) -> None:
    """Go on with an old copy, its server stopped: give up the open block, revoke tickets, charge everybody."""
    from ..service.highwater import HighWater
    from ..service.opening import acknowledge_restore as acknowledge
    from ..service.store import open_store

    if not charge:
        raise HushloopError(
            "this gives up the open block with its noise, revokes every unspent ticket, and counts what the promise"
            " costs each person once more, for good: say --charge to do it"
        )
    found = open_store(store, serving=True, make=False)
    try:
        if found.get("deployment") is None:
            raise HushloopError(f"{store} holds no deployment")
        facts = acknowledge(found, HighWater(files_of(store, operator_key_file).highwater), time.time())
    finally:
        found.close()
    if as_json:
        print_json(facts)
    else:
        print_table(("what", "value"), [(name.replace("_", " "), str(value)) for name, value in facts.items()])
    remark("start the server again; hand out new tickets", quiet)


@contextmanager
def opened(store: str) -> Iterator[Store]:
    from ..service.store import open_store

    found = open_store(store, serving=False, make=False)
    try:
        yield found
    finally:
        found.close()


def files_of(store: str, operator_key_file: Path | None) -> Any:
    from ..service.server import Files
    from ..service.store import sqlite_path

    if sqlite_path(store) is None and operator_key_file is None:
        raise HushloopError("the files of a store in a database stand beside the operator's key: --operator-key-file F")
    return Files.beside(store, operator_key_file or Path("operator.key"))


def parts(result: dict[str, Any]) -> list[tuple[str, list[str]]]:
    return [(name, wrong) for name, wrong in result.items() if isinstance(wrong, list)]


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def in_words(what: dict[str, Any]) -> str:
    if "deployment" in what:
        return str(what["deployment"]["problem"]["name"])
    return ", ".join(
        f"{name} {value:.6g}" if isinstance(value, float) else f"{name} {value}" for name, value in what.items()
    )
