"""Writes docs/reference/cli.md from the commands' own help: `python docs/make_cli_page.py`; a test compares the two."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from hushloop.cli import main

PAGE = Path(__file__).parent / "reference" / "cli.md"
HEAD = """# Command line

Made from the commands' own help by `python docs/make_cli_page.py`. Every command has `--help`. With `--json` standard
output is one JSON document and nothing else; progress and remarks go to standard error, and `NO_COLOR` is honoured.

Exit codes: 0 all is well, 2 the command line is wrong, 3 the input is: one line says what and how to mend it.
"""


def commands(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    """The command and all below it, in the order of their help."""
    yield context.command_path, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, click.Context(below, context, name, **below.context_settings))


def page() -> str:
    """The whole page; the width is fixed, so that it does not depend on the terminal."""
    top = click.Context(main, info_name="hushloop", terminal_width=100, max_content_width=100, **main.context_settings)
    parts = [HEAD]
    for path, command, context in commands(main, top):
        parts.append(f"## {path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
