"""A study's folder: cells by address, tables, and what is known about each run, all written at once or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import HushloopError
from .cell import Cell, Outcome, parquet_bytes

if TYPE_CHECKING:
    import polars as pl


class Store:
    """DIR/cells/KEY.parquet with KEY.json beside it, DIR/tables/NAME.parquet and DIR/study.json."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.cells = self.folder / "cells"

    @property
    def started(self) -> bool:
        return (self.folder / "study.json").exists() or self.cells.exists()

    def prepare(self) -> None:
        try:
            self.cells.mkdir(parents=True, exist_ok=True)
        except OSError as why:
            raise HushloopError(f"{self.folder} cannot be written ({why.strerror}): choose another --out") from why

    def has(self, cell: Cell) -> bool:
        return self._path(cell).exists()

    def read(self, cell: Cell) -> pl.DataFrame:
        import polars as pl

        return pl.read_parquet(self._path(cell))

    def keep(self, cell: Cell, outcome: Outcome) -> None:
        """The table of a cell, or what went wrong; durations and times of day go into the JSON file."""
        about = {"task": cell.task, "options": cell.options, "label": cell.label, **outcome.facts}
        if outcome.parquet is None:
            write(self._failure(cell), document({**about, "error": outcome.error}))
            return
        write(self.cells / f"{cell.key}.json", document(about))
        write(self._path(cell), outcome.parquet)
        self._failure(cell).unlink(missing_ok=True)

    def failure(self, cell: Cell) -> str | None:
        """Why a cell has no table, where it was tried."""
        path = self._failure(cell)
        return None if self.has(cell) or not path.exists() else str(json.loads(path.read_text())["error"])

    def seconds(self, cell: Cell) -> float | None:
        path = self.cells / f"{cell.key}.json"
        return float(json.loads(path.read_text())["seconds"]) if path.exists() else None

    def write_tables(self, tables: dict[str, pl.DataFrame]) -> None:
        (self.folder / "tables").mkdir(exist_ok=True)
        for name, frame in tables.items():
            write(self.folder / "tables" / f"{name}.parquet", parquet_bytes(frame))

    def write_about(self, about: dict[str, Any]) -> None:
        write(self.folder / "study.json", document(about))

    def about(self) -> dict[str, Any]:
        """What was run here."""
        path = self.folder / "study.json"
        try:
            found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as why:
            raise HushloopError(
                f"{self.folder} holds no study (no readable study.json): run `hushloop study run NAME --out DIR` first"
            ) from why
        return found

    def _path(self, cell: Cell) -> Path:
        return self.cells / f"{cell.key}.parquet"

    def _failure(self, cell: Cell) -> Path:
        return self.cells / f"{cell.key}.failed.json"


def write(path: Path, content: bytes) -> None:
    """All of it or nothing: a killed run leaves a .tmp file that nobody reads."""
    part = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def document(value: Any) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
