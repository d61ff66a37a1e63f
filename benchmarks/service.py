"""Reports that are durable before they are answered, a second, at 64 connections, with the fleet on the same cores.

Four servers of the same code run side by side and are measured in turn: SQLite with group commit, as it is deployed;
the same with its store switched off; the same with one transaction for each report; and PostgreSQL where it is
installed. Each server is a process of its own, and the fleet is this one. A commit waits for one fsync, so the first
ratio depends on the disk: what 64 reports in flight can hide of its latency.
"""

from __future__ import annotations

from common import Claim, claim, show  # first: it sets the number of threads

# isort: split

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from hushloop.lq import gallery
from hushloop.service.load import Load, run

ROUNDS, CONNECTIONS = 16, 64
DEVICES = {"sqlite": 2500, "memory": 2500, "row": 400, "postgres": 1500}
"""How many report in a round: short ones, so that each server meets a quiet moment; the slow ones get fewer."""

Figures = dict[str, Any]


def serve(kind: str, folder: Path, port: int, url: str) -> None:
    """One server, in this process."""
    from hushloop.privacy.budget import Budget
    from hushloop.service import server
    from hushloop.service.deployment import Deployment

    if kind == "row":
        service = server.Service
        server.Service = lambda curator, operators: service(curator, operators, largest_batch=1)  # type: ignore
    deployment = Deployment(gallery.get("toy").problem, Budget(1.0, 1e-6), first=2**20)
    server.serve(deployment, url, server.Files.beside(url, folder / "operator.key"), "127.0.0.1", port)


@contextmanager
def served(kind: str, folder: Path, url: str) -> Iterator[Callable[[int, int], Figures]]:
    """A server in a process of its own, warm; (devices, seed) → how a fleet fared with it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder.mkdir(exist_ok=True)
    command = [sys.executable, __file__, "serve", kind, str(folder), str(port), url]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(command, stderr=log)
    try:
        while process.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5).close()
                break
            except OSError:
                time.sleep(0.05)
        else:
            raise SystemExit(f"{kind}: {(folder / 'log').read_text()}")
        yield lambda devices, seed: fleet(f"http://127.0.0.1:{port}", folder, devices, seed)
    finally:
        process.terminate()
        process.wait()


def fleet(url: str, folder: Path, devices: int, seed: int) -> Figures:
    key = (folder / "operator.key").read_text().split()[0]

    async def work() -> Figures:
        return await Load(url, CONNECTIONS).simulate(devices, seed, key)

    found: Figures = run(work)
    if found["accepted"] != devices:
        raise SystemExit(f"not every report was accepted: {found}")
    return found


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """A throwaway PostgreSQL of its own, as an unprivileged user when this is root; "" where it is not installed."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    initdb = shutil.which("initdb") or next((str(place / "initdb") for place in places), "")
    if not initdb:
        yield ""
        return
    bin_folder, data = Path(initdb).resolve().parent, folder / "cluster"
    data.mkdir()
    root = os.geteuid() == 0
    if root:
        shutil.chown(data, "nobody")
    as_user = ["setpriv", "--reuid=nobody", "--clear-groups"] if root else []
    subprocess.run([*as_user, bin_folder / "initdb", "-A", "trust", "-U", "hush", "-D", data], check=True, stdout=2)
    options = f"-k {data} -c listen_addresses=''"
    control = [*as_user, bin_folder / "pg_ctl", "-D", data, "-w"]
    subprocess.run([*control, "-o", options, "-l", data / "log", "start"], check=True, stdout=2)
    try:
        yield f"postgresql://hush@/postgres?host={data}"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, stdout=2)


def measure(folder: Path) -> dict[str, Figures]:
    """The best round of each, all of them measured in turn."""
    best: dict[str, Figures] = {}
    with ExitStack() as stack:
        urls = {"sqlite": f"sqlite:///{folder}/sqlite/hush.db", "memory": "memory:"}
        urls["row"] = f"sqlite:///{folder}/row/hush.db"
        urls["postgres"] = stack.enter_context(cluster(folder))
        works = {kind: stack.enter_context(served(kind, folder / kind, url)) for kind, url in urls.items() if url}
        for turn in range(ROUNDS):
            for kind, work in works.items():
                found = work(DEVICES[kind], turn)
                if kind not in best or found["rate"] > best[kind]["rate"]:
                    best[kind] = found
    return best


def said(found: Figures) -> str:
    return f"{found['rate']:,.0f}/s, p50 {found['p50_ms']:.1f} ms, p99 {found['p99_ms']:.1f} ms"


def claims(best: dict[str, Figures]) -> list[Claim]:
    ours = best["sqlite"]
    out = [
        claim(f"durable reports on SQLite at {CONNECTIONS} connections, against {text}", said(ours), said(best[kind]),
              ours["rate"] / best[kind]["rate"], target)
        for kind, text, target in (
            ("memory", "the same app with its store switched off", 0.8),
            ("row", "a transaction for each report", 3.0),
        )
    ]  # fmt: skip
    if "postgres" in best:
        beside, text = best["postgres"], "durable reports on PostgreSQL, against SQLite"
        out.append(claim(text, said(beside), said(ours), beside["rate"] / ours["rate"], None))
    return out


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        serve(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
    else:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
            os.chmod(name, 0o755)
            show(claims(measure(Path(name))))
