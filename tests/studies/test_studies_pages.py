"""The pages on studies: their Python runs, their commands exist, and no study is missing from the table."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from hushloop.cli import main
from hushloop.studies import STUDIES, find

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("reference/studies.md", "how-to/cluster.md", "tutorials/reproduce.md")


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["reference/studies.md", "tutorials/reproduce.md"])
def test_the_python_runs(page: str) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", text_of(page), flags=re.M | re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), {"__name__": "page"})


@pytest.mark.parametrize("page", PAGES)
def test_every_command_is_known_with_its_options_and_its_study(page: str) -> None:
    lines = re.findall(r"^\$ (hushloop .*)$", text_of(page), flags=re.M)
    assert lines
    for line in lines:
        command: click.Command = main
        words = shlex.split(line)[1:]
        while isinstance(command, click.Group):
            found = command.get_command(click.Context(command), words.pop(0))
            assert found is not None, line
            command = found
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, line
        if command.name in ("run", "show") and not words[0].startswith("--"):
            assert words[0] in STUDIES, line
        for setting in re.findall(r"--set (\w+)=", line):
            assert setting in find(words[0]).options, line


def test_the_table_has_every_study() -> None:
    listed = re.findall(r"^\| `([\w-]+)` \|", text_of("reference/studies.md"), flags=re.M)
    assert set(listed) == set(STUDIES)
