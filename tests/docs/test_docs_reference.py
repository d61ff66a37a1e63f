"""The reference has every public name with its parameters, and every column of the tables."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

import polars as pl
import pytest
from pages_for_tests import DOCS, text_of

import hushloop
from hushloop import Budget, gallery, simulate
from hushloop.studies.summary import curves, lines
from hushloop.studies.tasks import fleet, fleet_cell

API = text_of(DOCS / "reference" / "api.md")
TABLES = text_of(DOCS / "reference" / "tables.md")


def section(page: str, head: str) -> str:
    """What stands below a heading, up to the next of the same rank or above."""
    hashes = head.split(" ")[0]
    (found,) = re.findall(rf"^{re.escape(head)}\n(.*?)(?=^#{{2,{len(hashes)}}} |\Z)", page, flags=re.M | re.S)
    return found


def missing(columns: Iterable[str], text: str) -> set[str]:
    return {column for column in columns if f"`{column}`" not in text}


@pytest.mark.parametrize("name", sorted(hushloop.PUBLIC))
def test_every_public_name_has_its_signature(name: str) -> None:
    text, value = section(API, f"### {name}"), getattr(hushloop, name)
    if callable(value) and not (inspect.isclass(value) and issubclass(value, Exception)):
        (given,) = re.findall(rf"^`{name}\((.*?)\)`", text, flags=re.M | re.S)
        listed = [part.split("=")[0].strip() for part in given.split(",")]
        parameters = inspect.signature(value).parameters.values()
        assert listed == [("**" if p.kind is p.VAR_KEYWORD else "") + p.name for p in parameters]


def test_nothing_is_listed_that_is_not_there() -> None:
    assert set(re.findall(r"^### (\w+)$", API, flags=re.M)) == set(hushloop.PUBLIC)


def test_every_column_of_a_run() -> None:
    result = simulate("refined", gallery.get("toy"), 300, 1, Budget(1.0), workers=1)
    text = section(TABLES, "## A run")
    assert missing(result.table.columns, text) == set()
    assert missing(result.by_release()[0], text) == set()
    listed = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", text, flags=re.M)))
    assert set(listed) == set(result.table.columns)


def test_every_column_of_a_study() -> None:
    rows = pl.DataFrame(fleet(fleet_cell("toy", "refined", 300, 0, 1.0, label="one").options))
    assert missing(rows.columns, section(TABLES, "## A study's cells")) == set()
    made = section(TABLES, "## A study's tables")
    by = ("plant", "agent", "epsilon", "label")
    for table in (curves(rows, by), lines(rows, by)):
        assert missing(set(table.columns) - set(by), made) == set()
