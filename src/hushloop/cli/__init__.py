"""The command line: one lazy table of commands, one place where errors become exit code 3."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

import click

from .._version import __version__
from ..errors import HushloopError

COMMANDS: dict[str, str] = {
    "demo": "Learn a plant as published, as refined and without a promise.",
    "plants": "List, show, draw, check and export plants.",
    "run": "Simulate an agent on a plant and report its regret.",
    "privacy": "What is promised to each person, exactly.",
    "advise": "How many users a deployment will need.",
    "fit": "Learn a controller from recorded trajectories.",
    "audit": "Try to break the promise.",
    "study": "Run a named experiment.",
    "report": "Write the report of a study.",
    "serve": "Serve assignments and collect reports.",
    "tickets": "Issue tickets to devices.",
    "store": "Inspect and check a store.",
    "load": "Generate load against a server.",
}
"""Name → one line of help. NAME lives in the module cli/NAME.py, which exposes a click command called `command`."""


class RefusedError(click.ClickException):
    """What a user can mend: one line on standard error, no traceback."""

    exit_code = HushloopError.exit_code

    def show(self, file: Any = None) -> None:
        click.echo(f"error: {self.message}", file=file, err=file is None)


class LazyGroup(click.Group):
    """A group that imports a command's module only when that command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in COMMANDS if find_spec(f"{__name__}.{name}") is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except HushloopError as why:
            raise RefusedError(str(why)) from why


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: hushloop plants show toy",
)
@click.version_option(__version__, prog_name="hushloop")
def main() -> None:
    """Learn one controller from many people while promising each of them differential privacy."""
