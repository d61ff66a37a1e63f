"""Which answer each report of a batch gets, and which of them count: no input and no output, so every rule is in sight.

The order is part of the protocol: the report's id, then its assignment, then whether anything is counted at all, then
the ticket. A report that was counted before gets its stored answer whatever has happened since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..device.report import units_within_bounds
from . import refusals
from .block import OpenSums
from .chain import Place, read_id
from .protocol import ReportAnswer, ReportIn
from .refusals import Refusal
from .store import Counted, TicketRow


@dataclass(frozen=True, slots=True)
class Incoming:
    """A well-formed report, with what is looked up for it. `mark` is "" where no ticket came with it."""

    report: ReportIn
    digest: str
    mark: str


Answer = ReportAnswer | Refusal


@dataclass
class Verdicts:
    """Answers for the first reports of a batch; the others wait where the block became full."""

    answers: list[Answer] = field(default_factory=list)
    counted: list[Counted] = field(default_factory=list)
    spent: list[str] = field(default_factory=list)
    newer: Place | None = None  # an authentic assignment that this store has never published


@dataclass(frozen=True, eq=False)
class Desk:
    """What reports are judged by: the published ids, the present place, and the time."""

    secret: bytes
    published: frozenset[str]
    place: Place
    now: float

    def judge(
        self, batch: Sequence[Incoming], block: OpenSums | None, known: dict[str, Counted],
        tickets: Mapping[str, TicketRow],
    ) -> Verdicts:  # fmt: skip
        """Verdicts, with the block's sums and the known ids brought forward in place."""
        out = Verdicts()
        tickets = dict(tickets)
        for item in batch:
            if block is not None and block.full:
                break
            answer = self._one(item, block, known, tickets, out)
            if answer is refusals.ROLLED_BACK:
                out.newer = read_id(self.secret, item.report.assignment_id)
            out.answers.append(answer)
        return out

    def _one(
        self, item: Incoming, block: OpenSums | None, known: dict[str, Counted], tickets: dict[str, TicketRow],
        out: Verdicts,
    ) -> Answer:  # fmt: skip
        report = item.report
        before = known.get(report.report_id)
        if before is not None:
            if before.digest != item.digest:
                return refusals.CONFLICT
            return ReportAnswer(report.report_id, report.assignment_id, True, before.zeros, True)
        if block is None or report.assignment_id != block.assignment_id:
            return self._elsewhere(report.assignment_id, block)
        refused = self._ticket(item.mark, tickets)
        if refused is not None:
            return refused
        tickets[item.mark] = tickets[item.mark]._replace(spent=True)
        zeros = not units_within_bounds(block.collection, report.S, report.C)
        row = Counted(report.report_id, item.digest, block.number, zeros)
        known[report.report_id] = row
        out.counted.append(row)
        out.spent.append(item.mark)
        block.count += 1
        if not zeros:
            block.sums = [a + b for a, b in zip(block.sums, (*report.S, *report.C), strict=True)]
        return ReportAnswer(report.report_id, report.assignment_id, True, zeros, False)

    def _elsewhere(self, assignment_id: str, block: OpenSums | None) -> Refusal:
        """A report that did not run the open block's assignment."""
        if assignment_id not in self.published:
            place = read_id(self.secret, assignment_id)
            if place is None:
                return refusals.FORGED
            if place.epoch >= self.place.epoch:
                return refusals.ROLLED_BACK
        return refusals.FINISHED if block is None else refusals.SUPERSEDED

    def _ticket(self, mark: str, tickets: Mapping[str, TicketRow]) -> Refusal | None:
        if not mark:
            return refusals.TICKET_MISSING
        row = tickets.get(mark)
        if row is None:
            return refusals.TICKET_UNKNOWN
        if row.spent:
            return refusals.TICKET_SPENT
        return refusals.TICKET_EXPIRED if row.expires <= self.now else None
