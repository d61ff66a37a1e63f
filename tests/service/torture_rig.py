"""A curator under torture: devices that report in groups, and what must be true of whatever is found afterwards."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import msgspec
import numpy as np

from hushloop.device.report import GRID
from hushloop.lq import gallery
from hushloop.privacy.budget import Budget
from hushloop.privacy.mechanisms.base import Noise, sums_of
from hushloop.privacy.noise import ExactNoise
from hushloop.service.block import whole_array
from hushloop.service.clock import Clock
from hushloop.service.curator import Curator, Parts
from hushloop.service.deployment import Deployment
from hushloop.service.highwater import HighWater
from hushloop.service.judge import Incoming
from hushloop.service.keys import ServerSecret
from hushloop.service.protocol import ReportAnswer, ReportIn, TicketRequest
from hushloop.service.refusals import SUPERSEDED
from hushloop.service.store import Store, StoreError, open_store
from hushloop.service.store.sqlite import SqliteStore

FIRST = 8
ENTRIES = 12  # 6 of S and 6 of C on `toy`


def open_patiently(url: str) -> Store:
    """PostgreSQL frees the lock of a killed server when it notices that its connection is gone."""
    give_up = time.monotonic() + 20.0
    while True:
        try:
            return open_store(url)
        except StoreError as why:
            if "another server" not in str(why) or time.monotonic() > give_up:
                raise
        time.sleep(0.02)


def deployment() -> Deployment:
    plant = gallery.get("toy")
    return Deployment(plant.problem, Budget(1.0, 1e-6), first=FIRST)


@dataclass
class Rig:
    """What survives a crash: the folder, and what the world outside remembers."""

    folder: Path
    rng: random.Random
    url: str | None = None  # of a PostgreSQL database; None: SQLite in the folder
    make: Callable[[Parts], Curator] = Curator
    witness: Callable[[str, Any], None] = lambda kind, value: None  # told of all that the world sees, as it sees it
    curator: Curator | None = None
    tickets: list[str] = field(default_factory=list)  # unspent, as far as their owners know
    sent: dict[str, ReportIn] = field(default_factory=dict)
    carried: dict[str, str] = field(default_factory=dict)  # report id → ticket
    acknowledged: set[str] = field(default_factory=set)
    noise: dict[str, Noise] = field(default_factory=dict)  # assignment id → what was drawn when its block opened
    published: list[Any] = field(default_factory=list)  # releases that anybody has seen
    assignments: list[str] = field(default_factory=list)  # ids that anybody has seen

    @property
    def path(self) -> Path:
        return self.folder / "hush.db"

    def start(self, vfs: str | None = None) -> None:
        """Start or start again, on the disk's files as they are."""
        store = SqliteStore(self.path, vfs=vfs) if self.url is None else open_patiently(self.url)
        try:
            secret = ServerSecret.read(self.folder / "secret", may_make=store.get("secret") is None)
            parts = Parts(deployment(), store, secret, HighWater(self.folder / "highwater"), ExactNoise(), Clock())
            self.curator = self.make(parts)
        except BaseException:
            with suppress(apsw.Error):  # a disk without power
                store.close()
            raise
        self.look()

    @property
    def live(self) -> Curator:
        assert self.curator is not None
        return self.curator

    def look(self) -> None:
        """See all that is published now, and peek at the noise that was drawn before any report came."""
        releases = json.loads(self.live.published.releases)["releases"]
        assert releases[: len(self.published)] == self.published, "a published release has changed"
        if releases != self.published:
            self.witness("published", releases)
        self.published = releases
        current = json.loads(self.live.published.assignment)["assignment_id"]
        if current not in self.assignments:
            self.assignments.append(current)
            self.witness("assignment", current)
        block = self.live.block
        if block is not None:
            state = json.loads(block.snapshot)["mechanism"]["block"]["noise"]
            drawn = Noise.from_dict(state[0][1])
            if block.assignment_id not in self.noise:
                self.witness("noise", [block.assignment_id, drawn.to_dict()])
            known = self.noise.setdefault(block.assignment_id, drawn)
            assert (known.N == drawn.N).all(), "noise was drawn again for the same block"
            assert (known.L == drawn.L).all(), "noise was drawn again for the same block"

    def issue(self, count: int) -> None:
        made = self.live.issue(TicketRequest(count)).tickets
        self.tickets += made
        self.witness("tickets", made)

    def new_report(self) -> tuple[ReportIn, str]:
        """Of an episode under the assignment in force, with a ticket that carried no report yet."""
        block = self.live.block
        assert block is not None
        S = [self.rng.randrange(2**20) for _ in range(6)]
        C = [self.rng.randrange(-(2**20), 2**20) for _ in range(6)]
        report = ReportIn(f"{self.rng.getrandbits(64):016x}", block.assignment_id, S, C)
        ticket = self.tickets.pop()
        self.sent[report.report_id], self.carried[report.report_id] = report, ticket
        self.witness("sent", [msgspec.to_builtins(report), ticket])
        return report, ticket

    def send(self, batch: list[tuple[ReportIn, str]]) -> None:
        """One group; acknowledged is what was answered. The rest of the group goes again as a server would send it."""
        while batch:
            answers = self.live.take([self.incoming(report, ticket) for report, ticket in batch])
            for (report, ticket), answer in zip(batch, answers, strict=False):
                if isinstance(answer, ReportAnswer):
                    self.acknowledged.add(report.report_id)
                    self.witness("acknowledged", report.report_id)
                elif answer is SUPERSEDED:
                    self.sent.pop(report.report_id)  # its owner runs another episode
                    self.tickets.append(ticket)
                    self.witness("superseded", report.report_id)
                else:
                    raise AssertionError(f"{answer}")
            batch = batch[len(answers) :]
            self.look()
        self.live.tend()
        self.look()

    def incoming(self, report: ReportIn, ticket: str) -> Incoming:
        secret = self.live.parts.secret
        content = json.dumps([report.assignment_id, report.S, report.C]).encode()
        return Incoming(report, secret.digest(content), secret.ticket_mark(ticket) if ticket else "")

    def retry_unanswered(self) -> None:
        """What devices do after a crash: the same reports again, under the same ids."""
        lost = [name for name in self.sent if name not in self.acknowledged]
        self.send([(self.sent[name], self.carried[name]) for name in lost])

    def check(self) -> None:
        """Nothing acknowledged is lost, nothing is counted twice, sums and releases are those of a replay."""
        counted = self.live.parts.store.reports(list(self.sent))
        missing = self.acknowledged - counted.keys()
        assert not missing, f"{len(missing)} acknowledged reports are lost"
        sums: dict[str, tuple[int, list[int]]] = {}
        for name in counted:
            report = self.sent[name]
            users, entries = sums.get(report.assignment_id, (0, [0] * ENTRIES))
            sums[report.assignment_id] = users + 1, [a + b for a, b in zip(entries, report.S + report.C, strict=True)]
        block = self.live.block
        assert block is not None
        assert (block.count, block.sums) == sums.get(block.assignment_id, (0, [0] * ENTRIES)), "the open sums are wrong"
        releases = json.loads(self.live.published.releases)["releases"]
        for release in releases:
            self.check_release(release, *sums[release["assignment_id"]])
        assert {r["assignment_id"] for r in releases} | {block.assignment_id} >= sums.keys()
        known = {row.id for row in self.live.parts.store.assignments()}
        assert set(self.assignments) <= known, "a published assignment is gone"

    def check_release(self, release: dict[str, Any], users: int, entries: list[int]) -> None:
        """Exactly the replayed sums plus the noise that was there before them."""
        assert release["users"] == users
        S, C = sums_of(whole_array(entries[:6]), whole_array(entries[6:]), 3, 2)
        T1, T2 = self.noise[release["assignment_id"]].hide(S, C)
        assert np.array_equal(T1, np.array(release["T1"])), "a release is not its sums plus its noise"
        assert np.array_equal(T2, np.array(release["T2"])), "a release is not its sums plus its noise"
        assert np.isclose(float(T1[0, 0]) / GRID, round(float(T1[0, 0]) / GRID))

    def check_repeats(self) -> None:
        """Everything again, three times each: the stored answer, and nothing moves."""
        before = self.live.block
        assert before is not None
        stood = before.count, list(before.sums)
        everything = [self.incoming(self.sent[name], "") for name in sorted(self.acknowledged)] * 3
        for at in range(0, len(everything), 50):
            for answer in self.live.take(everything[at : at + 50]):
                assert isinstance(answer, ReportAnswer), answer
                assert answer.repeated, "a report was counted again"
        after = self.live.block
        assert after is not None
        assert (after.count, after.sums) == stood

    def recall(self, kind: str, value: Any) -> None:
        """What a witness was told, by one that lives on."""
        if kind == "sent":
            report, ticket = msgspec.convert(value[0], ReportIn), value[1]
            self.sent[report.report_id], self.carried[report.report_id] = report, ticket
            self.tickets.remove(ticket)
        elif kind == "superseded":
            self.tickets.append(self.carried[self.sent.pop(value).report_id])
        elif kind == "noise":
            self.noise[value[0]] = Noise.from_dict(value[1])
        elif kind == "published":
            self.published = value
        elif kind == "acknowledged":
            self.acknowledged.add(value)
        else:
            {"tickets": self.tickets.extend, "assignment": self.assignments.append}[kind](value)

    def stop(self) -> None:
        if self.curator is not None:
            curator, self.curator = self.curator, None
            curator.close()
