"""The one writer: counts groups of reports, closes blocks, issues tickets. Nothing here knows of HTTP or of threads."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import HushloopError
from ..privacy.budget import Budget
from ..privacy.mechanisms import NoiseSource
from . import faults, opening, refusals
from .block import OpenSums, close_block, encode_release, open_rows
from .chain import Place
from .clock import Clock
from .deployment import Deployment
from .highwater import HighWater
from .judge import Answer, Desk, Incoming
from .keys import ServerSecret, make_tickets
from .protocol import ReleaseOut, TicketRequest, TicketsAnswer
from .published import Published
from .refusals import RefusedError
from .store import Store, StoreError
from .store.base import Entry, chained

LOG = logging.getLogger("hushloop.service")


@dataclass(frozen=True, eq=False)
class Parts:
    """What a curator is made of."""

    deployment: Deployment
    store: Store
    secret: ServerSecret
    highwater: HighWater
    source: NoiseSource
    clock: Clock


class Curator:
    """State is in the store; what is here is a copy of it, brought forward after each commit and never before."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.lock: refusals.Refusal | None = None  # why nothing is accepted any more
        opening.prepare(parts)
        self._load()

    def _load(self) -> None:
        store = self.parts.store
        rows = store.assignments()
        latest = rows[-1]
        self.place = Place(latest.epoch, latest.block)
        self._ids = frozenset(row.id for row in rows)
        entries = store.ledger()
        self._last: Entry | None = entries[-1] if entries else None
        found = store.open_block()
        self.block = None if found is None else OpenSums.of(found, len(rows), latest.id)
        self.first_size = int(json.loads(rows[0].body)["closes"]["users"])  # public
        self.published = Published.of(store, latest, self.block)

    def take(self, batch: Sequence[Incoming]) -> list[Answer]:
        """Answers for the first reports of the batch, durable when this returns; the rest wait for the next block."""
        if self.lock is not None:
            return [self.lock] * len(batch)
        store, clock = self.parts.store, self.parts.clock
        self.tend()
        now = clock.now()
        before = None if self.block is None else (self.block.count, self.block.sums)
        desk = Desk(self.parts.secret.value, self._ids, self.place, now)
        try:
            with store.transaction():
                known = store.reports([item.report.report_id for item in batch])
                tickets = store.tickets([item.mark for item in batch if item.mark])
                verdicts = desk.judge(batch, self.block, known, tickets)
                if verdicts.counted:
                    assert self.block is not None
                    store.add_reports(verdicts.counted)
                    store.spend(verdicts.spent)
                    store.add_sums(self.block.count, self.block.text(), now)
                faults.reach("before-commit")
        except BaseException:
            if self.block is not None and before is not None:
                self.block.count, self.block.sums = before
            raise
        faults.reach("after-commit-before-reply")
        if verdicts.newer is not None:
            self._rolled_back(verdicts.newer)
        return verdicts.answers

    def tend(self) -> None:
        """Close the open block if it is full, or if its deadline has come."""
        block = self.block
        if block is None or self.lock is not None:
            return
        late = block.deadline is not None and self.parts.clock.now() >= block.deadline
        if block.full or (late and block.count > 0):
            self._close(block)
        elif late:
            self._move_deadline(block)

    def issue(self, request: TicketRequest) -> TicketsAnswer:
        """Fresh tickets, durable when this returns."""
        if self.lock is not None:
            raise RefusedError(self.lock)
        if self.block is None:
            raise RefusedError(refusals.FINISHED)
        parts, now = self.parts, self.parts.clock.now()
        store, limit = parts.store, parts.deployment.budget.participations
        person = "" if request.person is None else parts.secret.person_mark(request.person)
        made = make_tickets(request.count)
        expires = now + request.lifetime
        with store.transaction():
            if person:
                left = limit - store.issued(person)
                if request.count > left:
                    raise RefusedError(refusals.limit_reached(limit, max(left, 0)))
            store.add_tickets([parts.secret.ticket_mark(ticket) for ticket in made], person, expires)
            if not person:
                store.put("anonymous", "yes")
            entry = chained(self._last, now, "tickets", {"count": request.count, "named": bool(person)})
            store.append(entry)
        self._last = entry
        if not person and not self.published.anonymous:
            self._load()
        faults.reach("tickets-before-reply")
        return TicketsAnswer(made, int(expires))

    def close(self) -> None:
        self.parts.store.close()

    def _close(self, block: OpenSums) -> None:
        """Release, next knowledge, plan, noise, assignment and ledger in one transaction; published after it."""
        faults.reach("before-release")
        parts, now = self.parts, self.parts.clock.now()
        store, deployment = parts.store, parts.deployment
        closed = close_block(deployment, parts.source, block)
        place = Place(self.place.epoch, block.block + 1) if closed.next_agent is not None else self.place
        release = closed.release
        entry = chained(self._last, now, "release", spent_on(release, deployment.budget))
        with store.transaction():
            store.add_release(block.block, encode_release(release))
            store.append(entry)
            if closed.next_agent is None:
                store.set_open(None)
                entry = chained(entry, now, "finished", {"users": release.total_users})
                store.append(entry)
            else:
                row, opened = open_rows(
                    closed.next_agent, parts.secret.value, place.epoch, block.assignment_id, now, deployment.deadline
                )
                store.set_open(opened)
                store.add_assignment(row)
            faults.reach("during-release")
        parts.highwater.raise_to(place)
        faults.reach("after-release-before-publish")
        self._load()
        LOG.info("block %d is closed and released", block.block)

    def _move_deadline(self, block: OpenSums) -> None:
        """Nobody has come: the same block, with its noise, stays open until the next deadline."""
        store, now, step = self.parts.store, self.parts.clock.now(), self.parts.deployment.deadline
        assert step is not None
        assert block.deadline is not None
        moved = block.deadline + step * (1 + (now - block.deadline) // step)
        found = store.open_block()
        assert found is not None
        with store.transaction():
            store.set_open(found._replace(deadline=moved, seen=now))
        self._load()

    def _rolled_back(self, newer: Place) -> None:
        """A device ran what this store has never published: stop, and stay stopped after a restart."""
        self.lock = refusals.ROLLED_BACK
        LOG.error(
            "a device ran block %d (restore %d), and this store stands at block %d (restore %d): it is an old copy."
            " Nothing is accepted until the newest store is back or `hushloop store acknowledge-restore` has run",
            newer.index, newer.epoch, self.place.index, self.place.epoch,
        )  # fmt: skip
        above = Place(max(newer.epoch, self.place.epoch), newer.index)
        self.parts.highwater.raise_to(above if above > self.place else Place(self.place.epoch, self.place.index + 1))


def spent_on(release: ReleaseOut, budget: Budget) -> dict[str, object]:
    """The ledger's words on a release: whom it covers, and what it cost each of them."""
    return {
        "block": release.index, "assignment_id": release.assignment_id, "users": release.users,
        "sigma_s": release.sigma_s, "sigma_c": release.sigma_c, "mu": budget.mu, "epsilon": budget.epsilon,
        "delta": budget.delta, "adjacency": budget.adjacency,
    }  # fmt: skip


def failed(curator: Curator, why: Exception) -> refusals.Refusal:
    """What a batch is told when the store or the closing of a block has failed; a lasting failure locks the curator."""
    if isinstance(why, StoreError) and not why.lasting:
        LOG.error("%s", why)
        return refusals.STORAGE
    text = str(why) if isinstance(why, HushloopError) else "an error of the server's own"
    LOG.error("nothing more is counted until the server has been started again: %s", text, exc_info=why)
    curator.lock = refusals.BROKEN
    return refusals.BROKEN
