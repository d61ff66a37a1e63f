"""Where cells run: in this process, in processes of this machine, or on a dask cluster."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from .cell import Cell, Outcome, execute

Finished = Iterator[tuple[Cell, Outcome]]
Started = Callable[[Cell], None]
DEATHS = 3
"""How often a cell may take its process down before it is given up."""

SINGLE = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""One thread a worker: the matrices are small, and the cores are shared out by cells."""


def run_here(cells: Sequence[Cell], started: Started) -> Finished:
    """One after the other, in this process."""
    for cell in cells:
        started(cell)
        yield cell, execute(cell.task, cell.options)


def run_local(cells: Sequence[Cell], started: Started, workers: int) -> Finished:
    """In `workers` processes of this machine. What a dying process had begun is run again by a fresh pool."""
    if workers <= 1 or len(cells) <= 1:
        yield from run_here(cells, started)
        return
    left = {cell.key: cell for cell in cells}
    deaths: dict[str, int] = {}
    while left:
        for cell, outcome in _one_pool(list(left.values()), started, workers, deaths):
            del left[cell.key]
            yield cell, outcome
        for key in [key for key, count in deaths.items() if count >= DEATHS and key in left]:
            yield left.pop(key), Outcome(None, f"the process that ran it died {DEATHS} times", {"seconds": None})


def _one_pool(cells: list[Cell], started: Started, workers: int, deaths: dict[str, int]) -> Finished:
    """Cells that finish before the pool breaks; at most `workers` are under way, so that a death has few suspects."""
    import multiprocessing

    waiting = list(reversed(cells))
    running: dict[Future[Outcome], Cell] = {}
    context = multiprocessing.get_context("spawn")
    with _SingleThreads(), ProcessPoolExecutor(min(workers, len(cells)), context, _die_with_parent) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    cell = waiting.pop()
                    running[pool.submit(execute, cell.task, cell.options)] = cell
                    started(cell)
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    outcome = future.result()
                    yield running.pop(future), outcome
        except BrokenProcessPool:
            for cell in running.values():
                deaths[cell.key] = deaths.get(cell.key, 0) + 1
        except BaseException:
            left = list((getattr(pool, "_processes", None) or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in left:
                process.terminate()
            raise


class _SingleThreads:
    """One thread a worker while processes are spawned; what was set before is put back."""

    def __enter__(self) -> None:
        self.before = {name: os.environ.get(name) for name in SINGLE}
        os.environ.update(dict.fromkeys(SINGLE, "1"))

    def __exit__(self, *_: Any) -> None:
        for name, value in self.before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _die_with_parent() -> None:
    """A worker ends with the process that started it, even where that was killed."""
    import multiprocessing
    from multiprocessing.connection import wait as wait_for

    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
