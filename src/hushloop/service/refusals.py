"""Every way in which the server says no: one value each, with its status, its code and words that name the remedy."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from .protocol import ErrorAnswer, ErrorBody


@dataclass(frozen=True)
class Refusal:
    """An error answer. `retry_after` is in seconds."""

    status: int
    code: str
    message: str
    field: str | None = None
    retry_after: int | None = None

    def body(self) -> bytes:
        return msgspec.json.encode(ErrorAnswer(ErrorBody(self.code, self.message, self.field)))


class RefusedError(Exception):
    """Carries a refusal out of nested code to the place that answers."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


CONFLICT = Refusal(
    409, "conflict", "this report_id was counted with other content: give each report its own id", "report_id"
)
SUPERSEDED = Refusal(
    409, "superseded",
    "the block of this assignment has closed: fetch the new assignment and run another episode; the ticket is good",
    "assignment_id",
)  # fmt: skip
FORGED = Refusal(
    422, "unknown_assignment", "this server never published that assignment: send the id that you fetched",
    "assignment_id",
)  # fmt: skip
FINISHED = Refusal(410, "finished", "the last user has reported: nothing more is counted; the controller stays served")
TICKET_MISSING = Refusal(401, "ticket_missing", "send the ticket as `Authorization: Bearer TICKET`")
TICKET_UNKNOWN = Refusal(401, "ticket_unknown", "this server never issued that ticket: ask its operator for one")
TICKET_SPENT = Refusal(410, "ticket_spent", "this ticket has carried its report: one ticket, one report")
TICKET_EXPIRED = Refusal(410, "ticket_expired", "this ticket is too old: ask the operator for another")
OPERATOR = Refusal(401, "operator_key", "send the operator key as `Authorization: Bearer KEY`")
NO_TABLE = Refusal(404, "not_found", "there is no such table: the page at / links to those there are")
CROWDED = Refusal(429, "busy", "too many reports wait: try again later", retry_after=1)
GUESSING = Refusal(429, "too_many_refusals", "too many refused requests from this address: wait", retry_after=60)
ROLLED_BACK = Refusal(
    503, "rolled_back",
    "the store is older than what this server has published, so going on would use noise twice: "
    "the operator must restore the newest store, or run `hushloop store acknowledge-restore`",
)  # fmt: skip
STORAGE = Refusal(503, "storage", "the store cannot be written now; nothing was counted: try again", retry_after=30)
BROKEN = Refusal(
    503, "broken", "the server has stopped counting after an error of its own: see its log", retry_after=60
)
STOPPING = Refusal(503, "stopping", "the server is stopping; nothing was counted: try again", retry_after=5)


def malformed(message: str, field: str | None = None) -> Refusal:
    return Refusal(422, "malformed", message, field)


def too_large(limit: int) -> Refusal:
    return Refusal(413, "too_large", f"the body is longer than {limit} bytes")


def limit_reached(limit: int, left: int) -> Refusal:
    reports = f"{limit} report" + ("s" if limit != 1 else "")
    return Refusal(
        409,
        "participation_limit",
        f"one person may send at most {reports}, ever: {left} more may be issued here",
        "for",
    )
