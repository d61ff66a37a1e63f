"""Cells on a dask cluster that somebody else runs: the same bytes, workers may come and go."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

from ..errors import HushloopError, MissingExtra
from .cell import Cell, Outcome, execute
from .workers import DEATHS, Finished, Started

CONNECT = 20
"""Seconds to wait for the scheduler."""


def run_cluster(cells: Sequence[Cell], started: Started, address: str) -> Finished:
    """Every cell is one task. What a dying worker had begun is given to another, `DEATHS` times at most."""
    try:
        import distributed
    except ImportError:
        raise MissingExtra("distributed", "cluster") from None
    with _client(distributed, address) as client:
        by_key = {cell.key: cell for cell in cells}
        futures = []
        for cell in cells:  # keys are the cells' own, so that a lost and resubmitted task is the same task
            options: dict[str, Any] = {"key": cell.key, "pure": True, "retries": DEATHS}
            futures.append(client.submit(execute, cell.task, cell.options, **options))
            started(cell)
        waiting = distributed.as_completed(futures, loop=client.loop)  # type: ignore[no-untyped-call]
        for future in waiting:
            yield by_key[future.key], _outcome(distributed, future)
            future.release()


def _client(distributed: Any, address: str) -> Any:
    file = address.endswith(".json") or Path(address).is_file()
    place = {"scheduler_file": address} if file else {"address": address}
    try:
        return distributed.Client(**place, timeout=CONNECT, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as why:
        raise HushloopError(
            f"no dask scheduler answers at {address} ({type(why).__name__}): start one with `dask scheduler`, and name "
            "its address (tcp://HOST:8786) or its scheduler file"
        ) from why


def _outcome(distributed: Any, future: Any) -> Outcome:
    try:
        found: Outcome = future.result()
    except (distributed.scheduler.KilledWorker, CancelledError) as why:
        return Outcome(None, f"the workers that ran it died: {why}", {"seconds": None})
    except Exception as why:  # such as a worker with another version of the package
        return Outcome(None, f"{type(why).__name__}: {why}", {"seconds": None})
    return found
