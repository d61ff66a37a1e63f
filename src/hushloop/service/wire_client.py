"""One HTTP request from a device to the server, with the standard library alone."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ..errors import HushloopError, InvalidInput

LARGEST_ANSWER = 4_000_000
"""Bytes of an answer that are read; an assignment is a few kilobytes."""


class AwayError(HushloopError):
    """The server cannot be reached, or asks to be left alone for a while."""

    def __init__(self, why: str, retry_after: float | None = None) -> None:
        super().__init__(f"the server is away: {why}")
        self.retry_after = retry_after


@dataclass(frozen=True)
class Answer:
    """What came back: the status, its JSON document and the headers in lower case."""

    status: int
    document: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """The server's own name of an error, such as `superseded`."""
        error = self.document.get("error", {})
        return str(error.get("code", "")) if isinstance(error, dict) else str(error)

    @property
    def message(self) -> str:
        error = self.document.get("error", {})
        text = error.get("message", "") if isinstance(error, dict) else self.document.get("message", "")
        return str(text) or f"HTTP {self.status}"


class Wire:
    """Requests to one server. No redirect is followed and no proxy is asked: a ticket goes to its own server alone."""

    def __init__(self, url: str, timeout: float = 10.0, tls: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput("url", f"is {url!r}", "give http://HOST:PORT or https://HOST")
        self.host, self.port, self.base = parts.hostname, parts.port, parts.path.rstrip("/")
        self.timeout = timeout
        self.tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Answer:
        """The answer, whatever its status; `AwayError` where there is none, or where it is 429 or 5xx."""
        sent = {"Accept": "application/json", "Connection": "close", **(headers or {})}
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            sent["Content-Type"] = "application/json"
        connection = self._connection()
        try:
            connection.request(method, self.base + path, content, sent)
            reply = connection.getresponse()
            answer = _answer(reply, reply.read(LARGEST_ANSWER))
        except (OSError, http.client.HTTPException, ValueError) as why:
            raise AwayError(str(why) or type(why).__name__) from why
        finally:
            connection.close()
        if answer.status == 429 or answer.status >= 500:
            raise AwayError(answer.message, _seconds(answer.headers.get("retry-after")))
        return answer

    def _connection(self) -> http.client.HTTPConnection:
        if self.tls is not None:
            return http.client.HTTPSConnection(self.host, self.port, timeout=self.timeout, context=self.tls)
        return http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)


def _answer(reply: http.client.HTTPResponse, content: bytes) -> Answer:
    headers = {name.lower(): value for name, value in reply.getheaders()}
    document = json.loads(content) if content else {}
    if not isinstance(document, dict):
        raise ValueError("the answer is no JSON object")
    return Answer(reply.status, document, headers)


def _seconds(text: str | None) -> float | None:
    """A Retry-After in seconds; a date is as good as none."""
    return float(text) if text is not None and text.isdigit() else None
