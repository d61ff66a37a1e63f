"""A real server in a thread of the test, on a port of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import uvicorn

from hushloop.service.app import Service, application


@contextmanager
def running(service: Service) -> Iterator[httpx.Client]:
    config = uvicorn.Config(
        application(service), port=0, access_log=False, log_level="error", http="httptools", loop="uvloop",
        server_header=False, date_header=False, timeout_graceful_shutdown=5,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()
