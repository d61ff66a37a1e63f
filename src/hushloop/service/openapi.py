"""The OpenAPI document, made of the very structs that check the bodies."""

from __future__ import annotations

from typing import Any

import msgspec

from .._version import __version__
from .protocol import (
    ErrorAnswer,
    HealthAnswer,
    ReleasesAnswer,
    ReportAnswer,
    ReportIn,
    TicketRequest,
    TicketsAnswer,
)

TYPES = (ReportIn, ReportAnswer, TicketRequest, TicketsAnswer, ReleasesAnswer, HealthAnswer, ErrorAnswer)
REFUSED = {
    401: "The ticket or the key is missing or unknown.",
    404: "There is no such table.",
    409: "`conflict`, `superseded` or `participation_limit`.",
    410: "`ticket_spent`, `ticket_expired` or `finished`.",
    413: "The body is too large.",
    422: "The body is not well formed, or names an assignment that was never published; nothing is spent or counted.",
    429: "Too many reports wait, or too many requests of this address were refused: see Retry-After.",
    503: "Nothing is accepted now; nothing was counted.",
}


def document(largest_body: int) -> dict[str, Any]:
    """The whole document; `largest_body` is the longest report that is read."""
    _, components = msgspec.json.schema_components(TYPES, ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hushloop",
            "version": __version__,
            "description": "Devices fetch an assignment, run one episode and send one report; noisy sums are released.",
        },
        "paths": _paths(largest_body),
        "components": {
            "schemas": components,
            "securitySchemes": {
                "ticket": {"type": "http", "scheme": "bearer", "description": "A single-use ticket."},
                "operator": {"type": "http", "scheme": "bearer", "description": "A line of the operator key file."},
            },
        },
    }


def _paths(largest_body: int) -> dict[str, Any]:
    text = f"Count one report. At most {largest_body} bytes. The same id and content again gets the stored answer."
    return {
        "/v1/tickets": {"post": _post("Issue tickets.", "operator", TicketRequest, TicketsAnswer, (401, 409, 410))},
        "/v1/reports": {"post": _post(text, "ticket", ReportIn, ReportAnswer, (401, 409, 410))},
        "/v1/assignment": {"get": _get("What a device runs, and how it reports (see the wire format).", None, True)},
        "/v1/releases": {"get": _get("Every release so far.", ReleasesAnswer, True)},
        "/v1/statement": {"get": _get("What is promised: JSON, or by Accept Markdown or HTML.")},
        "/healthz": {"get": _get("Whether the server answers, and for which plant.", HealthAnswer)},
        "/metrics": {"get": _text("Public values in the text format of Prometheus.")},
        "/openapi.json": {"get": _get("This document.")},
        "/": {"get": _text("The dashboard.", "text/html")},
        "/tables/{file}": {"get": _table()},
    }


def _post(summary: str, scheme: str, body: type, answer: type, refused: tuple[int, ...]) -> dict[str, Any]:
    codes = sorted({*refused, 413, 422, 429, 503})
    return {
        "summary": summary,
        "security": [{scheme: []}],
        "requestBody": {"required": True, "content": {"application/json": {"schema": _ref(body)}}},
        "responses": {"200": _answer("Durable.", answer), **{str(code): _refusal(code) for code in codes}},
    }


def _get(summary: str, answer: type | None = None, tagged: bool = False) -> dict[str, Any]:
    responses = {"200": _answer("As it stands.", answer), "503": _refusal(503)}
    if tagged:
        responses["304"] = {"description": "As the ETag in If-None-Match says."}
    return {"summary": summary, "responses": responses}


def _text(summary: str, kind: str = "text/plain") -> dict[str, Any]:
    return {"summary": summary, "responses": {"200": {"description": "Text.", "content": {kind: {}}}}}


def _table() -> dict[str, Any]:
    kinds: dict[str, Any] = {"text/csv": {}, "application/json": {"schema": {"type": "object"}}}
    return {
        "summary": "A table of the dashboard, such as costs.csv or releases.json.",
        "parameters": [{"name": "file", "in": "path", "required": True, "schema": {"type": "string"}}],
        "responses": {"200": {"description": "The table.", "content": kinds}, "404": _refusal(404)},
    }


def _answer(text: str, answer: type | None) -> dict[str, Any]:
    schema = {"type": "object"} if answer is None else _ref(answer)
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _refusal(code: int) -> dict[str, Any]:
    return {"description": REFUSED[code], "content": {"application/json": {"schema": _ref(ErrorAnswer)}}}


def _ref(kind: type) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{kind.__name__}"}
