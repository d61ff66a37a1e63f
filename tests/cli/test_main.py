"""The frame of the command line: lazy, honest exit codes, no traceback."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import click
import pytest
from click.testing import CliRunner

import hushloop
from hushloop.cli import COMMANDS, main

HEAVY = ["numba", "scipy", "polars", "matplotlib"]
EXISTING = [name for name in COMMANDS if find_spec(f"hushloop.cli.{name}")]


def run(*args: str) -> object:
    return CliRunner().invoke(main, args)


def loaded_after(code: str, modules: list[str]) -> str:
    code = f"import sys\n{code}\nprint([m for m in {modules} if m in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stderr.strip()


def test_help_imports_nothing_heavy_and_no_command() -> None:
    code = "from hushloop.cli import main\nmain(['--help'], standalone_mode=False)"
    commands = [f"hushloop.cli.{name}" for name in COMMANDS]
    assert loaded_after(code, [*HEAVY, "numpy", "rich", *commands]) == "[]"


def test_the_package_imports_nothing_heavy() -> None:
    assert loaded_after("import hushloop", [*HEAVY, "numpy", "click", "rich", "msgspec"]) == "[]"


def test_plants_and_controllers_need_neither_numba_nor_polars() -> None:
    code = "import hushloop\nhushloop.load('glucose').optimal_cost\nhushloop.Assignment"
    assert loaded_after(code, ["numba", "polars", "matplotlib", "scipy.stats"]) == "[]"


def test_every_public_name_is_there_and_no_other() -> None:
    for name in hushloop.__all__:
        assert getattr(hushloop, name) is not None
    assert set(hushloop.PUBLIC) | {"__version__"} == set(hushloop.__all__)
    assert dir(hushloop) == sorted(hushloop.__all__)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        hushloop.nothing_of_the_kind  # noqa: B018


def test_help_lists_the_commands_that_exist_and_no_other() -> None:
    text = run("--help").output
    for name in COMMANDS:
        assert (f"\n  {name} " in text) == (name in EXISTING)


def leaves(command: click.Command, path: tuple[str, ...]) -> list[tuple[str, ...]]:
    found = [path]
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            found += leaves(command.commands[name], (*path, name))
    return found


ALL = [path for name in EXISTING for path in leaves(import_module(f"hushloop.cli.{name}").command, (name,))]


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_has_help_with_an_example(path: tuple[str, ...]) -> None:
    result = run(*path, "--help")
    assert result.exit_code == 0
    assert "Example" in result.output
    assert f"hushloop {path[0]}" in result.output


def test_the_version() -> None:
    assert run("--version").output.strip() == f"hushloop, version {hushloop.__version__}"


def test_what_a_user_can_mend_exits_with_3_and_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hushloop", "plants", "show", "toi"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.startswith("error: 'toi' is no plant of the gallery")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("args", [("plants", "show"), ("nonsense",), ("plants", "show", "toy", "--nonsense")])
def test_wrong_usage_exits_with_2(args: tuple[str, ...]) -> None:
    assert run(*args).exit_code == 2
