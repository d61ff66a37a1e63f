"""The bodies of the protocol as typed values: they check what comes in, and the OpenAPI document is made of them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

ID = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_.:~-]+$")]
Whole = Annotated[int, Meta(ge=-(2**63) + 1, le=2**63 - 1)]

LARGEST_ISSUE = 100_000
"""Tickets in one request."""

LONGEST_LIFE = 10 * 366 * 86_400
"""Seconds that a ticket may live."""


class ReportIn(Struct, frozen=True, forbid_unknown_fields=True):
    """One user's report. S is the upper triangle row by row, C row by row, both in grid units of 2⁻³⁰."""

    report_id: ID
    assignment_id: Annotated[str, Meta(min_length=1, max_length=200)]
    S: list[Whole]
    C: list[Whole]


class ReportAnswer(Struct, frozen=True):
    """The report is counted, and durable. `zeros` says that it was beyond its bounds and counted as zeros."""

    report_id: str
    assignment_id: str
    accepted: bool
    zeros: bool
    repeated: bool


class TicketRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`for` is a pseudonym of one person, of whom a keyed hash is kept; `lifetime` is in seconds."""

    count: Annotated[int, Meta(ge=1, le=LARGEST_ISSUE)] = 1
    person: Annotated[str, Meta(min_length=1, max_length=200)] | None = msgspec.field(name="for", default=None)
    lifetime: Annotated[int, Meta(ge=1, le=LONGEST_LIFE)] = 90 * 86_400


class TicketsAnswer(Struct, frozen=True):
    """Secrets, each good for one report. They are shown once and kept nowhere."""

    tickets: list[str]
    expires: int  # seconds since 1970


class ReleaseOut(Struct, frozen=True):
    """One block's noisy sums, in the coordinates of its collection, and the exact scale of the noise in them."""

    index: int
    assignment_id: str
    users: int
    total_users: int
    T1: list[list[float]]
    T2: list[list[float]]
    sigma_s: float  # on the diagonal of T1; σ_s/√2 off it
    sigma_c: float  # on every entry of T2
    collection: dict[str, Any]


class ReleasesAnswer(Struct, frozen=True):
    """Every release so far, oldest first."""

    releases: list[ReleaseOut]


class HealthAnswer(Struct, frozen=True):
    """`status` is ok, finished, or why nothing is accepted now."""

    status: str
    plant: str
    profile: str
    version: str
    finished: bool


class ErrorBody(Struct, frozen=True, omit_defaults=True):
    """What was wrong: a code for programs, a sentence for people, and where one field is to blame, which."""

    code: str
    message: str
    field: str | None = None


class ErrorAnswer(Struct, frozen=True):
    """The one shape of every error."""

    error: ErrorBody
