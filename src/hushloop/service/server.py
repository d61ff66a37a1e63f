"""From options to a listening server: files, store, curator, compiled kernels, then the port; SIGTERM ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from ..errors import HushloopError
from ..privacy.mechanisms import NoiseSource
from ..privacy.noise import ExactNoise, SeededNoise
from ..privacy.release import Sums
from .app import Service, application
from .clock import Clock
from .curator import Curator, Parts
from .dashboard.history import History
from .deployment import Deployment
from .highwater import HighWater
from .keys import OperatorKeys, ServerSecret
from .store import Store, open_store, sqlite_path

SWITCH = 0.00005
"""Seconds after which a busy thread lets another run: the writer asks for its turn at every statement of a commit."""

GRACE = 10
"""Seconds that requests in flight have when the server stops."""


BACKLOG = 2048
"""Connections that wait to be accepted."""


@dataclass(frozen=True)
class Files:
    """Where the secrets stand: beside an SQLite file, else beside the operator's key."""

    operator: Path
    secret: Path
    highwater: Path

    @staticmethod
    def beside(url: str, operator: Path) -> Files:
        base = sqlite_path(url) or operator
        if url == "memory:":  # a trial must not touch the files of a deployment that has the same operator
            base = operator.with_name(operator.name + ".memory")
        return Files(operator, base.with_name(base.name + ".secret"), base.with_name(base.name + ".highwater"))


def take_up(
    deployment: Deployment, url: str, files: Files, source: NoiseSource | None = None, store: Store | None = None
) -> Curator:
    """The curator of a store, new or old."""
    found = open_store(url) if store is None else store
    try:
        may_make = found.get("deployment") is None
        secret = ServerSecret.read(files.secret, may_make)
        highwater = HighWater(files.highwater)
        if url == "memory:":
            highwater.path.unlink(missing_ok=True)
        parts = Parts(deployment, found, secret, highwater, ExactNoise() if source is None else source, Clock())
        return Curator(parts)
    except BaseException:
        found.close()
        raise


def warm(deployment: Deployment) -> None:
    """Close a block of zeros once, on paper, and certify a controller for the dashboard: whatever is compiled is
    compiled before anybody waits for it. On a new machine that takes some seconds, once."""
    History(deployment)
    agent = deployment.fresh_agent(SeededNoise(0))
    assert agent.block is not None
    zero = Sums.zero(agent.block.collection.p, agent.block.collection.n)
    agent.receive_sums(Sums(agent.block.users, zero.S, zero.C))


class Server(uvicorn.Server):
    """Ends by itself on SIGTERM and SIGINT, so that the process can say 0 instead of dying of the signal."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def serve(
    deployment: Deployment, url: str, files: Files, host: str, port: int, say: Callable[[str], None] = lambda text: None
) -> None:
    """Serve until a signal comes."""
    os.umask(0o077)
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    sys.setswitchinterval(SWITCH)
    with bound(host, port) as door:
        operators = OperatorKeys(files.operator)
        curator = take_up(deployment, url, files)
        try:
            listen(deployment, curator, operators, host, door, say)
        finally:
            curator.close()


def listen(
    deployment: Deployment, curator: Curator, operators: OperatorKeys, host: str, door: socket.socket,
    say: Callable[[str], None],
) -> None:  # fmt: skip
    """Until a signal comes."""
    warm(deployment)
    if curator.parts.clock.lag:
        say(f"the clock is {curator.parts.clock.lag:.0f} s behind what the store has seen: time stands until then")
    config = uvicorn.Config(
        application(Service(curator, operators)), loop="uvloop", http="httptools", access_log=False,
        log_level="warning", server_header=False, date_header=False, lifespan="on", backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE,
    )  # fmt: skip
    say(f"http://{host}:{door.getsockname()[1]} serves {deployment.problem.name}; SIGTERM or Ctrl-C ends it")
    Server(config).run(sockets=[door])


def bound(host: str, port: int) -> socket.socket:
    """The port, taken before the store is touched; nobody is let in before the server listens on it."""
    door = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind((host, port))
    except (OSError, OverflowError) as why:
        door.close()
        raise HushloopError(f"cannot listen on {host}:{port} ({why}): is the port in use?") from why
    return door
