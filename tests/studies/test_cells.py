"""Cells: an address of content alone, the same bytes each time, failures kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hushloop.errors import HushloopError, InvalidInput
from hushloop.studies.cell import Cell, execute, frame_of, named, parquet_bytes
from hushloop.studies.store import Store, write

ROWS = "tiny_study:rows"


def test_an_address_is_made_of_task_options_and_table() -> None:
    cell = Cell(ROWS, {"a": 1, "b": [2.0]}, "one")
    assert cell.key == Cell(ROWS, {"b": [2.0], "a": 1}, "another label", 9.0).key
    others = [Cell(ROWS, {"a": 2, "b": [2.0]}, ""), Cell("tiny_study:fails", cell.options, ""),
              Cell(ROWS, cell.options, "", table="other")]  # fmt: skip
    assert len({cell.key, *(c.key for c in others)}) == 4


def test_another_version_is_another_address(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Cell(ROWS, {}, "").key
    monkeypatch.setattr("hushloop.studies.cell.__version__", "0.0.0-other")
    assert Cell(ROWS, {}, "").key != before


def test_the_same_table_is_the_same_bytes() -> None:
    rows = [{"seed": k, "loss": 0.1 * k, "label": "ε"} for k in range(1000)]
    assert parquet_bytes(frame_of(rows)) == parquet_bytes(frame_of(list(rows)))


def test_a_failing_cell_is_an_outcome_and_no_exception() -> None:
    outcome = execute("tiny_study:fails", {"why": "no luck"})
    assert outcome.parquet is None
    assert "no luck" in (outcome.error or "")


def test_what_cannot_be_imported_names_itself() -> None:
    with pytest.raises(InvalidInput, match="nowhere:nothing"):
        named("nowhere:nothing")


def test_a_kept_failure_gives_way_to_a_table(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.prepare()
    cell = Cell(ROWS, {"seed": 1}, "one")
    store.keep(cell, execute("tiny_study:fails", {"why": "first"}))
    assert "first" in (store.failure(cell) or "")
    assert not store.has(cell)
    store.keep(cell, execute(cell.task, cell.options))
    assert store.failure(cell) is None
    assert store.read(cell).equals(pl.DataFrame({"seed": [1], "square": [1]}))


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.parquet"
    write(path, b"old")

    def torn(self: Path, target: Any) -> None:
        raise OSError("killed here")

    monkeypatch.setattr(Path, "replace", torn)
    with pytest.raises(OSError, match="killed here"):
        write(path, b"new and longer")
    assert path.read_bytes() == b"old"


def test_a_folder_without_a_study_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(HushloopError, match="hushloop study run"):
        Store(tmp_path).about()
