"""A store that keeps nothing past the process: for trying things out, and to measure what durability costs."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .base import AssignmentRow, Counted, Entry, OpenBlock, StoreError, TicketRow


class MemoryStore:
    """See `Store`. A transaction that fails is not undone: there is no disk that could fail."""

    url = "memory:"

    def __init__(self) -> None:
        self._meta: dict[str, str] = {}
        self._reports: dict[str, Counted] = {}
        self._tickets: dict[str, TicketRow] = {}
        self._people: Counter[str] = Counter()
        self._open: OpenBlock | None = None
        self._assignments: list[AssignmentRow] = []
        self._releases: dict[int, str] = {}
        self._ledger: list[Entry] = []

    @contextmanager
    def transaction(self) -> Iterator[None]:
        yield

    def get(self, key: str) -> str | None:
        return self._meta.get(key)

    def put(self, key: str, value: str) -> None:
        self._meta[key] = value

    def reports(self, ids: Sequence[str]) -> dict[str, Counted]:
        return {i: self._reports[i] for i in ids if i in self._reports}

    def add_reports(self, rows: Sequence[Counted]) -> None:
        self._reports.update((row.report_id, row) for row in rows)

    def tickets(self, marks: Sequence[str]) -> dict[str, TicketRow]:
        return {m: self._tickets[m] for m in marks if m in self._tickets}

    def spend(self, marks: Sequence[str]) -> None:
        for mark in marks:
            self._tickets[mark] = self._tickets[mark]._replace(spent=True)

    def add_tickets(self, marks: Sequence[str], person: str, expires: float) -> None:
        self._tickets.update((mark, TicketRow(expires, False)) for mark in marks)
        self._people[person] += len(marks)

    def issued(self, person: str) -> int:
        return self._people[person]

    def people(self) -> list[tuple[int, int]]:
        named = Counter(count for person, count in self._people.items() if person and count)
        anonymous = [(0, self._people[""])] if self._people[""] else []
        return anonymous + sorted(named.items())

    def revoke(self) -> int:
        good = [m for m, t in self._tickets.items() if not t.spent and t.expires > 0]
        self._tickets.update((m, TicketRow(0.0, False)) for m in good)
        return len(good)

    def open_block(self) -> OpenBlock | None:
        return self._open

    def set_open(self, block: OpenBlock | None) -> None:
        self._open = block

    def add_sums(self, count: int, sums: str, seen: float) -> None:
        assert self._open is not None
        self._open = self._open._replace(reports=count, sums=sums, seen=seen)

    def assignments(self) -> list[AssignmentRow]:
        return list(self._assignments)

    def add_assignment(self, row: AssignmentRow) -> None:
        self._assignments.append(row)

    def releases(self) -> list[str]:
        return [self._releases[block] for block in sorted(self._releases)]

    def add_release(self, block: int, body: str) -> None:
        self._releases[block] = body

    def ledger(self) -> list[Entry]:
        return copy.copy(self._ledger)

    def append(self, entry: Entry) -> None:
        self._ledger.append(entry)

    def problems(self) -> list[str]:
        return []

    def backup(self, path: str) -> None:
        raise StoreError("a store in memory has no backup: take sqlite:///FILE")

    def close(self) -> None:
        """Nothing is kept."""
