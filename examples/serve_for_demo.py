"""A server on this machine for as long as an example runs, with tickets for its devices."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HUSHLOOP = [sys.executable, "-m", "hushloop"]
DEVICES = 6
PROBLEM = """
name = "one room"
horizon = 12
Q = [[1.0]]
R = [[0.1]]
x1 = [-0.8]

[disturbance]
law = "rademacher"
bound = 0.05

[bounds]
control = 1.0
response = 0.6

[prior]
A = [[0.8]]
B = [[0.3]]
radius = 0.3

[units]
state_names = ["temperature"]
state_scale = [5.0]
state_setpoint = [21.0]
input_names = ["heating"]
"""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The server's address. The problem has no A and B: nobody knows them yet."""
    (folder / "room.toml").write_text(PROBLEM)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--plant", folder / "room.toml", "--epsilon", 1, "--first", 4, "--store", f"sqlite:///{folder}/hush.db"]
    options += ["--port", port, "--operator-key-file", folder / "operator.key", "--quiet"]
    with open(folder / "log", "w") as log:
        server = subprocess.Popen([*HUSHLOOP, "serve", *map(str, options)], stderr=log)
    try:
        wait(f"http://127.0.0.1:{port}/healthz", server, folder / "log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    while server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"the server has ended: {log.read_text()}")


def demonstrate(device: Callable[[str, str, Path], str]) -> None:
    """A few devices, one after the other; the fourth fills the first block, so that something is learned."""
    with tempfile.TemporaryDirectory() as name, served(folder := Path(name)) as url:
        options = ["--url", url, "--operator-key-file", folder / "operator.key", "--count", DEVICES, "--json"]
        issued = subprocess.run(
            [*HUSHLOOP, "tickets", "issue", *map(str, options)], check=True, capture_output=True
        ).stdout
        for number, ticket in enumerate(json.loads(issued)["tickets"], 1):
            print(f"room {number} {device(url, ticket, folder / f'outbox-{number}')}")
        with urllib.request.urlopen(f"{url}/v1/releases", timeout=5) as answer:
            print(f"releases: {len(json.load(answer)['releases'])}")
