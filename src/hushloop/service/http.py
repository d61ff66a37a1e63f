"""Small pieces of HTTP: a body within a limit, a bearer token, an answer without ceremony."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from .refusals import Refusal, RefusedError, malformed, too_large

JSON = b"application/json"
COMMON = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole body; one that is longer than the limit is not read to its end."""
    length = header(scope, b"content-length")
    if length.isdigit() and int(length) > limit:
        raise RefusedError(too_large(limit))
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body", False) and len(body) <= limit:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RefusedError(malformed("the body ended too early"))
        body += message.get("body", b"")
    if len(body) > limit:
        raise RefusedError(too_large(limit))
    return body


def header(scope: Scope, name: bytes) -> bytes:
    """The first header of that name, b"" where there is none."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""


def bearer(scope: Scope) -> str:
    """The token of `Authorization: Bearer TOKEN`, "" where there is none."""
    kind, _, token = header(scope, b"authorization").partition(b" ")
    return token.strip().decode("latin-1") if kind.lower() == b"bearer" else ""


def address(scope: Scope) -> str:
    """Who asks: behind a proxy on this machine, what the proxy says."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def decode(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    """A checked body, or a refusal that names the field."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError as why:
        text = str(why)
        place = text.rpartition("$.")[2].rstrip("`") if "$." in text else None
        raise RefusedError(malformed(text, None if place is None else place.split("[")[0])) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as why:
        raise RefusedError(malformed(f"the body is no JSON document: {why}")) from None


async def answer(
    send: Send, status: int, body: bytes, kind: bytes = JSON, more: list[tuple[bytes, bytes]] | None = None
) -> None:
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *(more or []), *COMMON]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Send, refusal: Refusal) -> None:
    more = []
    if refusal.retry_after is not None:
        more.append((b"retry-after", b"%d" % refusal.retry_after))
    if refusal.status == 401:
        more.append((b"www-authenticate", b"Bearer"))
    await answer(send, refusal.status, refusal.body(), more=more)


async def tagged(
    scope: Scope, send: Send, body: bytes, etag: str, kind: bytes = JSON,
    more: list[tuple[bytes, bytes]] | None = None,
) -> None:  # fmt: skip
    """The body, or 304 where the client has it already."""
    mark = etag.encode()
    known = [part.strip().removeprefix(b"W/") for part in header(scope, b"if-none-match").split(b",")]
    if mark in known or known == [b"*"]:
        await send({"type": "http.response.start", "status": 304, "headers": [(b"etag", mark), *COMMON]})
        await send({"type": "http.response.body", "body": b""})
        return
    await answer(send, 200, body, kind, [(b"etag", mark), *(more or [])])
