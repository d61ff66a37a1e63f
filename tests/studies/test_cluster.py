"""A scheduler and two workers as processes; one is killed midway, and the bytes are those of a single process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

pytest.importorskip("distributed")
BIN = Path(sys.executable).parent
LIMIT = 60.0


@contextmanager
def process(folder: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    child = subprocess.Popen(
        [str(BIN / words[0]), *words[1:]], env=environment, cwd=folder, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def wait_for(what: str, there: object) -> None:
    end = time.monotonic() + LIMIT
    while not there():  # type: ignore[operator]
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.05)


@pytest.mark.slow
def test_a_killed_worker_changes_no_byte(tmp_path: Path) -> None:
    scheduler_file = tmp_path / "scheduler.json"
    worker = ("dask", "worker", "--scheduler-file", str(scheduler_file), "--nthreads", "1", "--no-nanny",
              "--no-dashboard", "--local-directory", str(tmp_path))  # fmt: skip
    study = ("study", "run", "demo", "--set", "seeds=6", "--set", "users=8192", "--out")
    far, near = tmp_path / "far", tmp_path / "near"
    port = ("--port", "0", "--no-dashboard", "--scheduler-file", str(scheduler_file))
    with ExitStack() as stack:
        stack.enter_context(process(tmp_path, "dask", "scheduler", *port))
        wait_for("the scheduler", scheduler_file.exists)
        first, _ = (stack.enter_context(process(tmp_path, *worker)) for _ in range(2))
        run = stack.enter_context(process(tmp_path, "hushloop", *study, str(far), "--cluster", str(scheduler_file)))
        wait_for("the first cell", lambda: list(far.rglob("*.parquet")))
        first.send_signal(signal.SIGKILL)
        assert run.wait(LIMIT) == 0
    subprocess.run([str(BIN / "hushloop"), *study, str(near), "--workers", "1"], check=True, capture_output=True)
    tables = {str(p.relative_to(near)): p.read_bytes() for p in near.rglob("*.parquet")}
    assert len(tables) > 18
    assert tables == {str(p.relative_to(far)): p.read_bytes() for p in far.rglob("*.parquet")}


def test_a_scheduler_that_is_not_there_is_named() -> None:
    from hushloop.errors import HushloopError
    from hushloop.studies import cluster
    from hushloop.studies.cell import Cell

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "CONNECT", 0.3)
        with pytest.raises(HushloopError, match="no dask scheduler answers"):
            list(cluster.run_cluster([Cell("tiny_study:rows", {}, "")], lambda cell: None, "tcp://127.0.0.1:9"))
