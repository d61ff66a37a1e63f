"""What a store must do, and the rows that it keeps. It keeps sums and marks; no report, no ticket, no person."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from ...errors import HushloopError

FORMAT = 1
"""The format that this version writes; older ones are migrated when they are opened."""


class StoreError(HushloopError):
    """The store cannot be used as it is. `lasting`: not before the server has been started again."""

    def __init__(self, text: str, lasting: bool = True) -> None:
        super().__init__(text)
        self.lasting = lasting


class Counted(NamedTuple):
    """One report that was counted: never its content."""

    report_id: str
    digest: str  # 32 hexadecimal digits
    assignment: int  # its number, from 1
    zeros: bool


class TicketRow(NamedTuple):
    """A ticket, by its mark."""

    expires: float
    spent: bool


class AssignmentRow(NamedTuple):
    """One published assignment, whole."""

    id: str
    epoch: int
    block: int
    body: str


class OpenBlock(NamedTuple):
    """The block that takes reports. The sums and the snapshot, noise included, are as secret as the reports."""

    block: int
    reports: int
    sums: str  # JSON: entries of S, then of C, exact
    snapshot: str  # JSON: the agent as it stood when the block opened
    deadline: float | None
    seen: float  # the latest time


class Entry(NamedTuple):
    """A line of the ledger, chained to the one before it."""

    number: int
    at: float
    kind: str
    body: str  # JSON
    chain: str


class Store(Protocol):
    """One writer. Everything between `transaction()` and its end is durable together, or not at all."""

    url: str

    def transaction(self) -> AbstractContextManager[None]: ...

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, value: str) -> None: ...

    def reports(self, ids: Sequence[str]) -> dict[str, Counted]: ...

    def add_reports(self, rows: Sequence[Counted]) -> None:
        """At least one, all of the same assignment."""
        ...

    def tickets(self, marks: Sequence[str]) -> dict[str, TicketRow]: ...

    def spend(self, marks: Sequence[str]) -> None: ...

    def add_tickets(self, marks: Sequence[str], person: str, expires: float) -> None:
        """`person` is "" where nobody was named."""
        ...

    def issued(self, person: str) -> int:
        """Tickets that this person was ever given."""
        ...

    def people(self) -> list[tuple[int, int]]:
        """(tickets, how many people were given so many); tickets for nobody in particular count as person 0."""
        ...

    def revoke(self) -> int:
        """No ticket that is still unspent is good any more."""
        ...

    def open_block(self) -> OpenBlock | None: ...

    def set_open(self, block: OpenBlock | None) -> None: ...

    def add_sums(self, count: int, sums: str, seen: float) -> None:
        """The open block's new count and sums."""
        ...

    def assignments(self) -> list[AssignmentRow]: ...

    def add_assignment(self, row: AssignmentRow) -> None: ...

    def releases(self) -> list[str]: ...

    def add_release(self, block: int, body: str) -> None: ...

    def ledger(self) -> list[Entry]: ...

    def append(self, entry: Entry) -> None: ...

    def problems(self) -> list[str]:
        """What the database itself finds wrong with its pages."""
        ...

    def backup(self, path: str) -> None:
        """A consistent copy while the server runs."""
        ...

    def close(self) -> None: ...


def chained(previous: Entry | None, at: float, kind: str, body: dict[str, Any]) -> Entry:
    """The entry that follows."""
    number = 1 if previous is None else previous.number + 1
    text = json.dumps(body, sort_keys=True)
    return Entry(number, at, kind, text, link("" if previous is None else previous.chain, number, at, kind, text))


def link(previous: str, number: int, at: float, kind: str, body: str) -> str:
    return hashlib.sha256(json.dumps([previous, number, at, kind, body]).encode()).hexdigest()


def broken_links(entries: Iterable[Entry]) -> list[str]:
    """What is wrong with a ledger's chain."""
    out, before, expected = [], "", 1
    for entry in entries:
        if entry.number != expected:
            out.append(f"ledger: entry {expected} is missing")
        if entry.chain != link(before, entry.number, entry.at, entry.kind, entry.body):
            out.append(f"ledger: entry {entry.number} was changed, or one before it")
        before, expected = entry.chain, entry.number + 1
    return out
