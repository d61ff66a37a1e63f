"""A server that answers what a test tells it to, and keeps what it was asked."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from hushloop.device import Assignment, Collection, Controller

HORIZON = 4


def assignment(name: str, excitation: float = 0.3, horizon: int = HORIZON) -> Assignment:
    controller = Controller(np.full((horizon, 1, 2), -0.1), 1.5, excitation)
    return Assignment(name, controller, Collection(0, np.zeros((3, 2)), np.eye(3), 10.0, 0.1, 1.0, horizon))


@dataclass
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


Reply = tuple[int, dict[str, Any], dict[str, str]] | None
"""Status, document and headers; None drops the connection without a word."""


@dataclass
class Scripted:
    """`answer` decides; without one an assignment is handed out and every report accepted."""

    current: Assignment = field(default_factory=lambda: assignment("first"))
    asked: list[Asked] = field(default_factory=list)
    answer: Callable[[Asked], Reply | str] = lambda asked: "as usual"
    url: str = ""

    def reply(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        told = self.answer(asked)
        if not isinstance(told, str):
            return told
        if asked.path == "/v1/assignment":
            tag = f'"{self.current.id}"'
            if asked.headers.get("if-none-match") == tag:
                return 304, {}, {"ETag": tag}
            return 200, self.current.to_dict(), {"ETag": tag}
        return 200, {"report_id": asked.body["report_id"], "accepted": True, "repeated": False}, {}

    @property
    def reports(self) -> list[Any]:
        return [one.body for one in self.asked if one.path == "/v1/reports"]


def error(status: int, code: str, **headers: str) -> Reply:
    return status, {"error": {"code": code, "message": f"it is {code}"}}, headers


@contextmanager
def scripted() -> Iterator[Scripted]:
    script = Scripted()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            size = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(size)) if size else None
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = script.reply(Asked(self.command, self.path, headers, body))
            if reply is None:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            status, document, more = reply
            content = b"" if status == 304 else json.dumps(document).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **more}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = handle_one

        def log_message(self, *_: Any) -> None:
            pass

        def finish(self) -> None:
            with suppress(OSError, ValueError):  # the test dropped the connection
                super().finish()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
