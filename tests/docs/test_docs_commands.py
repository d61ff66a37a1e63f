"""Command lines of the pages: each is known with its options, and those that are quick are run."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from pages_for_tests import DOCS, PAGES, ROOT, blocks, mentioned, name_of, prose, text_of, typed, words_of

from hushloop.cli import main

LINES = {line: page for page in PAGES for line in [*typed(text_of(page)), *mentioned(text_of(page))]}
TO_TYPE = {line for page in PAGES for line in typed(text_of(page))}
QUICK = ("plants", "privacy", "--version", "--help")


def wrong(line: str) -> str | None:
    """What the command line does not know; None where it knows everything."""
    words, command = words_of(line), main
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            return words[0]
        command = found
        words = words[1:]
    known = {"-h", "--help"} | {option for parameter in command.params for option in parameter.opts}
    return next((word for word in words if word.startswith("-") and word.split("=")[0] not in known), None)


@pytest.mark.parametrize("line", LINES)
def test_the_command_exists_and_has_the_options(line: str) -> None:
    assert wrong(line) is None, name_of(LINES[line])


def test_what_does_not_exist_is_seen() -> None:
    assert wrong("hushloop plants show toy --json") is None
    assert wrong("hushloop plant show toy") == "plant"
    assert wrong("hushloop plants shew toy") == "shew"
    assert wrong("hushloop plants show toy --jason | less") == "--jason"


def runs(line: str) -> bool:
    """Quick, and without a file that the reader has to make first."""
    words = words_of(line)
    return words[0] in QUICK and not any(word.endswith(".toml") for word in words)


@pytest.mark.parametrize("line", [line for line in sorted(TO_TYPE) if runs(line)])
def test_quick_ones_run(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(main, words_of(line))
    assert ran.exit_code == 0, ran.output
    assert ran.output


def test_the_reference_is_the_help_of_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    from make_cli_page import PAGE, page

    assert PAGE.read_text(encoding="utf-8") == page(), "run `python docs/make_cli_page.py`"


def test_scripts_and_targets_exist() -> None:
    """`python FILE`, `python -m MODULE` and `make TARGET`, wherever they are typed or mentioned."""
    targets = set(re.findall(r"^([a-z-]+):", text_of(ROOT / "Makefile"), flags=re.M))
    seen = 0
    for page in PAGES:
        code = "\n".join(
            [*blocks(text_of(page), r"(?:console|text)"), *re.findall(r"`([^`\n]+)`", prose(text_of(page)))]
        )
        for script in re.findall(r"\bpython ((?:examples|docs|benchmarks)/\S+)", code):
            assert (ROOT / script).is_file(), name_of(page)
        for module in re.findall(r"\bpython -m (hushloop[\w.]*)", code):
            assert find_spec(module) is not None, name_of(page)
        for target in re.findall(r"^(?:\$ )?make ([a-z-]+)", code, flags=re.M):
            assert target in targets, name_of(page)
            seen += 1
    assert seen > 0
