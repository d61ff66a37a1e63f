"""What all commands share: JSON that any reader takes, colour that can be turned off, remarks that can be silenced."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest

from hushloop.cli._common import cell_text, console, load_plant, plain, print_json, progress, remark
from hushloop.errors import HushloopError


@dataclass
class Pair:
    left: float
    right: tuple[int, ...]


def test_documents_are_plain(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": np.arange(3), "b": np.float64(0.1), "c": float("inf"), "d": Pair(np.nan, (1, 2)), 3: True})
    assert json.loads(capsys.readouterr().out) == {
        "a": [0, 1, 2],
        "b": 0.1,
        "c": None,
        "d": {"left": None, "right": [1, 2]},
        "3": True,
    }


def test_numbers_keep_every_digit_in_documents_and_six_in_tables() -> None:
    assert plain(1 / 3) == 1 / 3
    assert cell_text(1 / 3) == "0.333333"
    assert cell_text(True) == "yes"
    assert cell_text(12345678) == "12345678"


@pytest.mark.parametrize("no_color", [True, False])
def test_colour_is_off_where_no_color_asks_for_it(no_color: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    screen = console()
    with screen.capture() as seen:
        screen.print("[red]x[/red]")
    assert ("\x1b[31m" in seen.get()) == (not no_color)


@pytest.mark.parametrize("quiet", [True, False])
def test_remarks_go_to_standard_error_unless_quiet(quiet: bool, capsys: pytest.CaptureFixture[str]) -> None:
    remark("by the way", quiet)
    seen = capsys.readouterr()
    assert seen.out == ""
    assert seen.err == ("" if quiet else "by the way\n")


def test_progress_stays_off_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("working", 10) as step:
        step(10)
    assert capsys.readouterr().out == ""


def test_a_missing_plant_is_an_error_of_the_user() -> None:
    with pytest.raises(HushloopError, match="no plant of the gallery"):
        load_plant("nowhere", "run")
