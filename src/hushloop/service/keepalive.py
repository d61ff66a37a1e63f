"""One keep-alive connection that asks and waits, with as little work for each request as can be."""

from __future__ import annotations

import asyncio
import ssl
from typing import cast
from urllib.parse import urlsplit

from ..errors import HushloopError, InvalidInput

LONGEST_WAIT = 30.0
"""Seconds without an answer after which a connection counts as lost."""


class LostError(ConnectionError):
    """The connection ended before the answer was whole."""


class Target:
    """Where requests go, and what heads every one of them."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput("url", f"is {url!r}", "give http://HOST:PORT or https://HOST")
        self.secure = parts.scheme == "https"
        self.host, self.port = parts.hostname, parts.port or (443 if self.secure else 80)
        self.base = parts.path.rstrip("/")
        self._host_line = f"Host: {parts.netloc.rpartition('@')[2]}\r\n"

    def request(self, method: str, path: str, body: bytes = b"", secret: str = "", more: str = "") -> bytes:
        """The bytes of a request; `secret` goes into its Authorization, `more` is header lines with their ends."""
        head = f"{method} {self.base}{path} HTTP/1.1\r\n{self._host_line}"
        if secret:
            head += f"Authorization: Bearer {secret}\r\n"
        if body or method == "POST":
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"{head}{more}\r\n".encode() + body


class Line(asyncio.Protocol):
    """A connection: one request in flight at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[tuple[int, str, bytes]] | None = None
        self._received = b""

    @staticmethod
    async def open(target: Target) -> Line:
        """Connected; `OSError` where nobody listens."""
        loop = asyncio.get_running_loop()
        context = ssl.create_default_context() if target.secure else None
        _, line = await loop.create_connection(Line, target.host, target.port, ssl=context)
        return line

    async def ask(self, request: bytes) -> tuple[int, str, bytes]:
        """(status, headers in lower case, body)."""
        if self._transport is None:
            raise LostError("the connection is closed")
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        late = loop.call_later(LONGEST_WAIT, self._transport.abort)
        try:
            self._transport.write(request)
            return await self._waiting
        finally:
            late.cancel()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, why: Exception | None) -> None:
        self._transport = None
        self._give(LostError(str(why or "the server closed the connection")))

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, rest = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        headers = head.decode("latin-1").lower()
        size = _length(headers)
        if size is None:
            self._give(HushloopError("the server's answer has no Content-Length: load needs one"))
            self.close()
        elif len(rest) >= size:
            self._received = rest[size:]
            answer = int(headers[9:12]), headers, rest[:size]
            if "\r\nconnection: close" in headers and self._transport is not None:
                self._transport.close()
                self._transport = None
            self._give(answer)

    def _give(self, answer: tuple[int, str, bytes] | Exception) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting.done():
            return
        if isinstance(answer, Exception):
            waiting.set_exception(answer)
        else:
            waiting.set_result(answer)


def header(headers: str, name: str) -> str | None:
    """The value of a header, in lower case."""
    _, found, rest = headers.partition(f"\r\n{name}:")
    return rest.partition("\r\n")[0].strip() if found else None


def _length(headers: str) -> int | None:
    if headers[9:12] in ("204", "304"):
        return 0
    text = header(headers, "content-length")
    return int(text) if text is not None and text.isdigit() else None
