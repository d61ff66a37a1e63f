"""The routes: each reads one request, asks the writer or looks at what is published, and answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from .._version import __version__
from . import refusals
from .curator import Curator
from .dashboard import Board
from .dashboard.page import policy
from .declared import declared
from .http import JSON, address, answer, bearer, decode, read_body, refuse, tagged
from .judge import Incoming
from .keys import OperatorKeys
from .limits import Refusals
from .metrics import metrics
from .openapi import document
from .protocol import ErrorAnswer, ErrorBody, HealthAnswer, ReportAnswer, ReportIn, TicketRequest
from .refusals import Refusal, RefusedError, malformed
from .writer import Writer

LOG = logging.getLogger("hushloop.service")
LARGEST_REQUEST = 4096
"""Bytes of a request for tickets."""

Handler = Callable[["Service", Scope, Receive, Send], Awaitable[None]]


class Service:
    """What the routes share."""

    def __init__(self, curator: Curator, operators: OperatorKeys, largest_batch: int | None = None) -> None:
        self.curator = curator
        self.operators = operators
        self.writer = Writer(curator) if largest_batch is None else Writer(curator, largest_batch)
        self.deployment = curator.parts.deployment
        self.secret = curator.parts.secret
        self.sizes = self.deployment.sizes
        self.largest_report = 512 + 22 * sum(self.sizes)
        self.board = Board(self.deployment, curator.first_size)
        self.limit = Refusals()
        self.reports = msgspec.json.Decoder(ReportIn)
        self.requests = msgspec.json.Decoder(TicketRequest)
        self.encode = msgspec.json.Encoder().encode
        self.statements: dict[tuple[int, bool], dict[str, bytes]] = {}


async def post_report(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    who = address(scope)
    if service.limit.blocked(who):
        raise RefusedError(refusals.GUESSING)
    report: ReportIn = decode(service.reports, await read_body(scope, receive, service.largest_report))
    for name, entries, size in (("S", report.S, service.sizes[0]), ("C", report.C, service.sizes[1])):
        if len(entries) != size:
            raise RefusedError(malformed(f"`{name}` has {len(entries)} entries: send {size}", name))
    ticket = bearer(scope)
    content = service.encode((report.assignment_id, report.S, report.C))
    mark = service.secret.ticket_mark(ticket) if ticket else ""
    found = await service.writer.report(Incoming(report, service.secret.digest(content), mark))
    if isinstance(found, ReportAnswer):
        await answer(send, 200, service.encode(found))
        return
    if found is refusals.TICKET_UNKNOWN:
        service.limit.count(who)
    await refuse(send, found)


async def post_tickets(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    who = address(scope)
    if service.limit.blocked(who):
        raise RefusedError(refusals.GUESSING)
    if not service.operators.accept(bearer(scope)):
        service.limit.count(who)
        raise RefusedError(refusals.OPERATOR)
    request = decode(service.requests, await read_body(scope, receive, LARGEST_REQUEST))
    found = await service.writer.issue(request)
    if isinstance(found, Refusal):
        raise RefusedError(found)
    await answer(send, 200, service.encode(found))


async def get_assignment(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    published = service.curator.published
    await tagged(scope, send, published.assignment, published.etag)


async def get_releases(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    published = service.curator.published
    await tagged(scope, send, published.releases, published.releases_etag)


async def get_statement(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    published = service.curator.published
    key = (published.restores, published.anonymous)
    if key not in service.statements:
        made = await asyncio.to_thread(declared, service.deployment, published, service.curator.first_size)
        service.statements[key] = {
            "text/html": made.html().encode(),
            "text/markdown": made.markdown().encode(),
            "application/json": service.encode(made.to_dict()),
        }
    forms = service.statements[key]
    wanted = Request(scope).headers.get("accept", "")
    kind = next((name for name in forms if name in wanted), "application/json")
    text = b"; charset=utf-8" if kind.startswith("text/") else b""
    await answer(send, 200, forms[kind], kind.encode() + text, [(b"vary", b"accept")])


async def get_dashboard(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    shown = await service.board.shown(service.curator.published, status_of(service.curator))
    more = [(b"content-security-policy", policy()), (b"referrer-policy", b"no-referrer")]
    await tagged(scope, send, shown.page, shown.etag, b"text/html; charset=utf-8", more)


async def get_table(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    shown = await service.board.shown(service.curator.published, status_of(service.curator))
    name, _, form = scope["path_params"]["file"].rpartition(".")
    if name not in shown.tables or form not in ("csv", "json"):
        raise RefusedError(refusals.NO_TABLE)
    table = shown.tables[name]
    text, kind = (table.csv(), b"text/csv; charset=utf-8") if form == "csv" else (table.json(), JSON)
    await answer(send, 200, text.encode(), kind)


def status_of(curator: Curator) -> str:
    """ok, finished, or why nothing is accepted now."""
    if curator.lock is not None:
        return curator.lock.code
    return "finished" if curator.published.finished else "ok"


async def get_health(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    lock, finished = service.curator.lock, service.curator.published.finished
    status, problem = status_of(service.curator), service.deployment.problem
    body = HealthAnswer(status, problem.name, service.deployment.profile_name, __version__, finished)
    await answer(send, 200 if lock is None else 503, service.encode(body))


async def get_metrics(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    text = metrics(service.deployment, service.curator.published, service.curator.lock is None)
    await answer(send, 200, text.encode(), b"text/plain; version=0.0.4; charset=utf-8")


async def get_openapi(service: Service, scope: Scope, receive: Receive, send: Send) -> None:
    await answer(send, 200, service.encode(document(service.largest_report)))


ROUTES: tuple[tuple[str, str, Handler], ...] = (
    ("/v1/reports", "POST", post_report),
    ("/v1/tickets", "POST", post_tickets),
    ("/v1/assignment", "GET", get_assignment),
    ("/v1/releases", "GET", get_releases),
    ("/v1/statement", "GET", get_statement),
    ("/healthz", "GET", get_health),
    ("/metrics", "GET", get_metrics),
    ("/openapi.json", "GET", get_openapi),
    ("/", "GET", get_dashboard),
    ("/tables/{file}", "GET", get_table),
)


class Endpoint:
    """One route as a bare ASGI application: Starlette's request and response objects cost more than all the rest."""

    def __init__(self, service: Service, handler: Handler) -> None:
        self.service, self.handler = service, handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.handler(self.service, scope, receive, send)
        except RefusedError as why:
            await refuse(send, why.refusal)
        except Exception:
            LOG.exception("%s %s failed", scope["method"], scope["path"])
            await refuse(send, refusals.BROKEN)


def application(service: Service) -> Starlette:
    """The service as an ASGI application; its lifespan starts and stops the writer."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.writer.start()
        yield
        await service.writer.stop()

    return Starlette(
        routes=[Route(path, Endpoint(service, handler), methods=[method]) for path, method, handler in ROUTES],
        exception_handlers={HTTPException: _not_there},
        lifespan=lifespan,
    )


async def _not_there(request: Request, why: Any) -> Response:
    """404 and 405 in the shape of every other error."""
    code = HTTPStatus(why.status_code).phrase.lower().replace(" ", "_")
    body = msgspec.json.encode(ErrorAnswer(ErrorBody(code, f"{request.method} {request.url.path}: {why.detail}")))
    return Response(body, why.status_code, why.headers, JSON.decode())
