"""A PostgreSQL server of the tests' own: it listens on a socket in its folder, and ends with the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


def unprivileged() -> list[str]:
    """PostgreSQL refuses to run as root."""
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"] if os.getuid() == 0 else []


@pytest.fixture(scope="session")
def cluster(postgres: Path) -> Iterator[str]:
    """The URL of an empty cluster, made for this run of the tests."""
    tools = postgres.parent
    folder = Path(tempfile.mkdtemp(prefix="hush-pg-", dir="/tmp"))
    if os.getuid() == 0:
        shutil.chown(folder, "nobody", "nogroup")
    data, log = folder / "data", folder / "log"

    def run(*command: str | Path) -> None:
        # no pipes: the server would hold them open, and whoever reads them would wait for its end
        words = [*unprivileged(), *map(str, command)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, timeout=120)

    try:
        run(tools / "initdb", "-D", data, "-U", "hush", "-A", "trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c max_connections=20"
        run(tools / "pg_ctl", "-D", data, "-l", log, "-w", "-o", options, "start")
        try:
            yield f"postgresql://hush@/postgres?host={folder}"
        finally:
            run(tools / "pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(cluster: str) -> Iterator[str]:
    """A fresh database in it."""
    import psycopg

    name = f"t{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(cluster, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
    yield cluster.replace("/postgres?", f"/{name}?")
    with psycopg.connect(cluster, autocommit=True) as db:
        db.execute(f"DROP DATABASE {name} WITH (FORCE)")


_numbers = iter(range(1_000_000))
