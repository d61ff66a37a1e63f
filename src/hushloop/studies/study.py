"""What a study is: a grid of cells, the tables made of them, and figures of the tables."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..errors import HushloopError, InvalidInput
from .cell import Cell
from .store import Store
from .workers import Finished, Started, run_local

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

    from ..privacy.statement import Statement

Options = Mapping[str, Any]
Frames = Mapping[str, "pl.DataFrame"]
"""Rows of all finished cells by `Cell.table`; a table none of whose cells has finished is not there."""

Tables = Mapping[str, "pl.DataFrame"]
Progress = Callable[[str, Cell | None, int, int], None]
"""(what happened: start | done | failed | found, the cell, how many are finished, of how many)."""


@dataclass(frozen=True)
class Drawing:
    """A figure of a study's tables, with the sentence that stands below it."""

    name: str
    caption: str
    draw: Callable[[Tables, Options], Figure]


@dataclass(frozen=True, eq=False)
class Study:
    """One named experiment. `quick` are the options of a run of a few minutes at most."""

    name: str
    title: str
    question: str
    options: dict[str, Any]
    quick: dict[str, Any]
    cells: Callable[[Options], Sequence[Cell]]
    tables: Callable[[Frames, Options], dict[str, pl.DataFrame]]
    drawings: tuple[Drawing, ...]
    findings: Callable[[Tables, Options], list[str]] = field(default=lambda tables, options: [])
    statements: Callable[[Options], list[Statement]] = field(default=lambda options: [])

    def prepared(self, quick: bool = False, **changes: Any) -> Prepared:
        """The study with its options settled."""
        for key, value in changes.items():
            _check(self, key, value)
        return Prepared(self, quick, changes, {**self.options, **(self.quick if quick else {}), **changes})


@dataclass(frozen=True, eq=False)
class Prepared:
    """A study and its options; `run` runs it."""

    study: Study
    quick: bool
    changes: dict[str, Any]
    options: dict[str, Any]

    @property
    def cells(self) -> list[Cell]:
        return list(self.study.cells(self.options))

    def run(
        self,
        out: str | Path | None = None,
        workers: int | None = None,
        cluster: str | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> Ran:
        """Run what is not there yet, then make the tables. Without `out` nothing is left on the disk."""
        if out is None:
            with tempfile.TemporaryDirectory(prefix="hushloop-") as folder:
                return self._run(Store(folder), workers, cluster, progress or _silent)
        store = Store(out)
        if store.started and not resume:
            raise HushloopError(f"{out} holds a study already: --resume goes on with it, or choose another --out")
        return self._run(store, workers, cluster, progress or _silent)

    def about(self) -> dict[str, Any]:
        """What `study.json` says."""
        return {
            "study": self.study.name, "quick": self.quick, "changes": self.changes, "options": self.options,
            "version": __version__,
        }  # fmt: skip

    def _run(self, store: Store, workers: int | None, cluster: str | None, progress: Progress) -> Ran:
        cells = self.cells
        store.prepare()
        store.write_about(self.about())
        missing = sorted((c for c in cells if not store.has(c)), key=lambda c: -c.weight)
        done = len(cells) - len(missing)
        progress("found", None, done, len(cells))

        def started(cell: Cell) -> None:
            progress("start", cell, done, len(cells))

        for cell, outcome in _execute(missing, started, workers, cluster):
            store.keep(cell, outcome)
            done += 1
            progress("done" if outcome.error is None else "failed", cell, done, len(cells))
        return finish(self, store)


@dataclass(frozen=True, eq=False)
class Ran:
    """Tables of what has finished, and what has failed."""

    prepared: Prepared
    tables: dict[str, pl.DataFrame]
    failures: dict[str, str]  # label → error
    missing: int  # cells that have not run yet
    seconds: float  # of work, over all cells

    def plot(self, name: str | None = None) -> Any:
        """One matplotlib Figure by its name, or all of them as a dict."""
        study, options = self.prepared.study, self.prepared.options
        found = {d.name: d for d in study.drawings}
        if name is not None and name not in found:
            raise InvalidInput("figure", f"is {name!r}", f"choose one of {', '.join(found)}")
        if name is not None:
            return found[name].draw(self.tables, options)
        return {d.name: d.draw(self.tables, options) for d in study.drawings}

    @property
    def findings(self) -> list[str]:
        """What the tables say, in sentences."""
        return self.prepared.study.findings(self.tables, self.prepared.options)


def finish(prepared: Prepared, store: Store) -> Ran:
    """Make the tables of the cells that are there."""
    import polars as pl

    frames: dict[str, list[pl.DataFrame]] = {}
    failures, missing, seconds = {}, 0, 0.0
    for cell in prepared.cells:
        if store.has(cell):
            frames.setdefault(cell.table, []).append(store.read(cell))
            seconds += store.seconds(cell) or 0.0
        elif (error := store.failure(cell)) is not None:
            failures[cell.label] = error
        else:
            missing += 1
    whole = {name: pl.concat(parts, how="diagonal_relaxed") for name, parts in frames.items()}
    if not whole:
        raise _nothing(prepared, "no cell", failures)
    try:
        tables = prepared.study.tables(whole, prepared.options)
    except KeyError as table:  # none of the cells that it is made of has finished
        if not failures and not missing:
            raise
        raise _nothing(prepared, f"no cell for the table {table}", failures) from table
    store.write_tables(tables)
    return Ran(prepared, tables, failures, missing, seconds)


def _nothing(prepared: Prepared, what: str, failures: dict[str, str]) -> HushloopError:
    label, why = next(iter(failures.items()), ("", "some have not run: --resume runs them"))
    return HushloopError(f"{what} of {prepared.study.name} has finished; {label}: {why.strip()[-300:]}")


def _execute(cells: list[Cell], started: Started, workers: int | None, cluster: str | None) -> Finished:
    if cluster is not None:
        from .cluster import run_cluster

        return run_cluster(cells, started, cluster)
    import os

    return run_local(cells, started, workers or os.cpu_count() or 1)


def _check(study: Study, key: str, value: Any) -> None:
    if key not in study.options:
        known = ", ".join(study.options)
        raise InvalidInput(key, f"is no option of the study {study.name!r}", f"it has {known}")
    default = study.options[key]
    number = isinstance(default, (int, float)) and not isinstance(default, bool)
    same = isinstance(value, (int, float)) if number else isinstance(value, type(default))
    if default is not None and not same:
        raise InvalidInput(key, f"is {value!r}", f"give a value like {default!r}")


def _silent(what: str, cell: Cell | None, done: int, total: int) -> None:
    pass
