"""`hushloop tickets`: what an operator hands to devices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..errors import HushloopError
from ._common import output_options, print_json, remark

AT_ONCE = 10_000
EXAMPLE = "Example: hushloop tickets issue --url http://127.0.0.1:8080 --operator-key-file operator.key --count 3"


@click.group(epilog=EXAMPLE)
def command() -> None:
    """Issue tickets to devices."""


@command.command(epilog=EXAMPLE)
@click.option("--url", required=True, help="The server.")
@click.option("--operator-key-file", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Its key.")
@click.option("--count", type=click.IntRange(1), default=1, show_default=True, help="How many.")
@click.option("--for", "person", help="A pseudonym of the one person they are for; at most P, ever.")
@click.option("--lifetime", help="How long they are good, such as 90d; default: the server's, 90 days.")
@output_options
def issue(
    url: str, operator_key_file: Path, count: int, person: str | None, lifetime: str | None, as_json: bool, quiet: bool
) -> None:
    """Print fresh tickets, one a line. Each is good for one report; the server keeps no copy."""
    from ..service.deployment import duration
    from ..service.keys import read_private

    key = read_private(operator_key_file).split()[0]
    request: dict[str, Any] = {}
    if person is not None:
        request["for"] = person
    if lifetime is not None:
        request["lifetime"] = int(duration(lifetime, "lifetime") or 0)
    made: list[str] = []
    while len(made) < count:
        document = ask(url, key, {**request, "count": min(AT_ONCE, count - len(made))})
        made += document["tickets"]
    if as_json:
        print_json({"tickets": made, "expires": document["expires"]})
        return
    for ticket in made:
        click.echo(ticket)
    remark(f"{len(made)} tickets, good for one report each; nobody can show them again", quiet)


def ask(url: str, key: str, request: dict[str, Any]) -> dict[str, Any]:
    from ..service.wire_client import Wire

    answer = Wire(url, timeout=60.0).ask("POST", "/v1/tickets", request, {"Authorization": f"Bearer {key}"})
    if answer.status != 200:
        raise HushloopError(f"the server issues no tickets: {answer.message}")
    return answer.document
