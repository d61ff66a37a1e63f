"""`hushloop load`: a fleet of simulated devices against a server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from ._common import load_plant, output_options, print_json, print_table, remark

if TYPE_CHECKING:
    from ..service.load import Tally


@click.command(
    epilog="Example: hushloop load --url http://127.0.0.1:8000 --devices 3000 --operator-key-file operator.key"
)
@click.option("--url", required=True, help="Where the server is.")
@click.option("--plant", help="The true plant. Default: the one of the gallery that the server names.")
@click.option("--devices", type=click.IntRange(1), help="How many devices report, once each.")
@click.option("--rate", type=click.FloatRange(0, min_open=True), help="Devices a second. Default: as fast as they can.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the simulated plants.")
@click.option("--operator-key-file", type=click.Path(dir_okay=False, path_type=Path), help="Key that issues tickets.")
@click.option("--connections", type=click.IntRange(1, 4096), default=64, show_default=True, help="Kept open at once.")
@click.option("--record", type=click.Path(dir_okay=False, path_type=Path), help="Write accepted reports, one a line.")
@click.option(
    "--replay", type=click.Path(dir_okay=False, exists=True, path_type=Path), help="Send recorded reports again."
)
@output_options
def command(
    url: str, plant: str | None, devices: int | None, rate: float | None, seed: int, operator_key_file: Path | None,
    connections: int, record: Path | None, replay: Path | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Let a fleet of simulated devices report to a server over real connections.

    A device whose block closed while its report was on the way runs its episode again under the new assignment, so
    that all devices end accepted. --replay sends a recorded file again instead, without tickets: every report should
    then be answered as repeated.
    """
    from ..service.keys import read_private
    from ..service.load import Load, run

    _check(devices, operator_key_file, record, replay)

    async def work() -> dict[str, Any]:
        with recorder(record) as file:
            load = Load(url, connections, rate, file, None if quiet else show)
            if replay is not None:
                out = await load.replay(replay.read_text(encoding="utf-8").splitlines())
            else:
                assert devices is not None
                assert operator_key_file is not None
                truth = None if plant is None else load_plant(plant, "load")
                out = await load.simulate(devices, seed, (read_private(operator_key_file).split() or [""])[0], truth)
        if load.tally.first_failure:
            remark(f"{load.tally.failed} failed; the first: {load.tally.first_failure}")
        return out

    out = run(work)
    if as_json:
        print_json(out)
    else:
        print_table(list(out), [list(out.values())])


@contextmanager
def recorder(path: Path | None) -> Iterator[TextIO | None]:
    """The file of accepted reports, which nobody else may read: they are what the server never shows."""
    if path is None:
        yield None
        return
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        yield file


def _check(devices: int | None, key: Path | None, record: Path | None, replay: Path | None) -> None:
    if replay is not None:
        if devices is not None or record is not None:
            raise click.UsageError("--replay sends what was recorded: leave out --devices and --record")
    elif devices is None:
        raise click.UsageError("--devices is missing: say how many report")
    elif key is None:
        raise click.UsageError("--operator-key-file is missing: devices need tickets, and it issues them")


def show(tally: Tally, total: int, seconds: float) -> None:
    """The live line."""
    rate = (tally.accepted + tally.repeated) / max(seconds, 1e-9)
    remark(f"{tally.done:,} of {total:,} · {rate:,.0f}/s · {tally.superseded:,} superseded · {tally.failed:,} failed")
