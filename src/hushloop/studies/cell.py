"""A cell: one piece of a study's work, named by what it computes and by nothing else."""

from __future__ import annotations

import hashlib
import importlib
import json
import platform
import time
import traceback
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..errors import InvalidInput

if TYPE_CHECKING:
    import polars as pl

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Cell:
    """`task` is "module:function"; it takes `options` (plain JSON values) and returns rows."""

    task: str
    options: dict[str, Any]
    label: str = field(compare=False)  # what progress calls it
    weight: float = field(default=1.0, compare=False)  # expected work: the heaviest cells start first
    table: str = "cells"  # the table that its rows join

    @cached_property
    def key(self) -> str:
        """The address: configuration and version, so that what changed runs again and what did not does not."""
        content = json.dumps([self.task, self.options, self.table, __version__], sort_keys=True, allow_nan=False)
        return hashlib.sha256(content.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Outcome:
    """What a worker sends back: a table as parquet bytes, or why there is none."""

    parquet: bytes | None
    error: str | None
    facts: dict[str, Any]  # durations and the like, which are kept out of the table


def execute(task: str, options: dict[str, Any]) -> Outcome:
    """Run one cell, wherever this is called."""
    begin = time.perf_counter()
    parquet, error = None, None
    try:
        parquet = parquet_bytes(frame_of(named(task)(options)))
    except Exception:  # whatever it was, it is recorded and shown
        error = traceback.format_exc(limit=-6)
    facts = {
        "seconds": round(time.perf_counter() - begin, 3),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "machine": platform.machine(),
        "python": platform.python_version(),
    }
    return Outcome(parquet, error, facts)


def named(path: str) -> Any:
    """The object that "module:name" names."""
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as why:
        raise InvalidInput(
            "task", f"is {path!r}, which cannot be imported ({why})", "name it as module:function"
        ) from why


def frame_of(rows: Rows) -> pl.DataFrame:
    import polars as pl

    return pl.DataFrame(rows, infer_schema_length=None)


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """The same bytes for the same table: fixed compression, one row group, no clock anywhere."""
    out = BytesIO()
    frame.write_parquet(out, compression="zstd", compression_level=3, statistics=False, row_group_size=2**30)
    return out.getvalue()
