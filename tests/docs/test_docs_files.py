"""Plant and problem files that the pages show are sound, and the examples use the same room as the tutorial."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages_for_tests import DOCS, PAGES, ROOT, blocks, name_of, text_of

from hushloop import Plant, load

SHOWN = [
    (name_of(page), block) for page in PAGES for block in blocks(text_of(page)) if re.search("^horizon *=", block, re.M)
]


def test_some_are_shown() -> None:
    assert {page for page, _ in SHOWN} >= {"docs/reference/plant-file.md", "docs/tutorials/thermostat-fleet.md"}


@pytest.mark.parametrize(("page", "block"), SHOWN, ids=[page for page, _ in SHOWN])
def test_a_file_that_is_shown_is_sound(page: str, block: str, tmp_path: Path) -> None:
    (tmp_path / "shown.toml").write_text(block)
    assert isinstance(load(tmp_path / "shown.toml"), Plant) == ("\nA = " in block.split("\n[")[0])


def test_the_example_serves_the_room_of_the_tutorial() -> None:
    (room,) = blocks(text_of(DOCS / "tutorials" / "thermostat-fleet.md"), "toml")
    assert room in (ROOT / "examples" / "serve_for_demo.py").read_text(encoding="utf-8")
