"""The pages on studies: the studies that they run exist with their settings, and none is missing from the table."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from hushloop.studies import STUDIES, find

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("reference/studies.md", "how-to/cluster.md", "tutorials/reproduce.md")


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_every_study_and_every_setting_is_known(page: str) -> None:
    lines = re.findall(r"^\$ hushloop study (?:run|show) (.*)$", text_of(page), flags=re.M)
    assert lines
    for line in lines:
        name = shlex.split(line)[0]
        assert name in STUDIES, line
        for setting in re.findall(r"--set (\w+)=", line):
            assert setting in find(name).options, line


def test_the_table_has_every_study() -> None:
    listed = re.findall(r"^\| `([\w-]+)` \|", text_of("reference/studies.md"), flags=re.M)
    assert set(listed) == set(STUDIES)
