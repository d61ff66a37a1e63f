"""A random life of a store: enrol, report, send again, restart, crash, bring an old copy back; four seeded bugs."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bugs import BUGS
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from torture_rig import Rig

from hushloop.service.curator import Curator, Parts
from hushloop.service.highwater import RolledBackError
from hushloop.service.protocol import ReportAnswer
from hushloop.service.refusals import CONFLICT, TICKET_SPENT


class Life(RuleBasedStateMachine):
    """Drives one store through whatever may happen to it; `make` is the curator, or one with a bug."""

    make: Callable[[Parts], Curator] = Curator

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        (self.home / "store").mkdir()
        self.rig = Rig(self.home / "store", random.Random(0), make=type(self).make)
        self.copies = 0
        self.old: tuple[Path, str, int] | None = None  # a copy, the assignment when it was made, reports counted

    @initialize()
    def begin(self) -> None:
        self.rig.start()
        self.rig.issue(10)

    @rule(count=st.integers(1, 20))
    def enrol(self, count: int) -> None:
        self.rig.issue(count)

    @precondition(lambda self: self.rig.tickets)
    @rule(count=st.integers(1, 6))
    def report(self, count: int) -> None:
        self.rig.send([self.rig.new_report() for _ in range(min(count, len(self.rig.tickets)))])

    @precondition(lambda self: self.rig.tickets)
    @rule()
    def fill_the_block(self) -> None:
        """The block closes and is released."""
        block = self.rig.live.block
        assert block is not None
        if block.room <= 64:
            self.rig.issue(block.room)
            self.rig.send([self.rig.new_report() for _ in range(block.room)])

    @precondition(lambda self: self.rig.acknowledged)
    @rule(which=st.integers(0, 10**6), changed=st.booleans())
    def send_again(self, which: int, changed: bool) -> None:
        """The stored answer; with other content a conflict; with a spent ticket and a new id nothing is counted."""
        names = sorted(self.rig.acknowledged)
        report, ticket = (book[names[which % len(names)]] for book in (self.rig.sent, self.rig.carried))
        (answer,) = self.rig.live.take([self.rig.incoming(report, ticket)])
        assert isinstance(answer, ReportAnswer), answer
        assert answer.repeated
        if changed:
            other = type(report)(report.report_id, report.assignment_id, [*report.S[:-1], report.S[-1] + 1], report.C)
            assert self.rig.live.take([self.rig.incoming(other, ticket)]) == [CONFLICT]
            block = self.rig.live.block
            assert block is not None
            fresh = type(report)("x" + report.report_id, block.assignment_id, report.S, report.C)
            assert self.rig.live.take([self.rig.incoming(fresh, ticket)]) == [TICKET_SPENT]

    @rule()
    def restart(self) -> None:
        self.rig.stop()
        self.rig.start()

    @rule()
    def back_up(self) -> None:
        self.copies += 1
        path = self.home / f"copy-{self.copies}.db"
        self.rig.live.parts.store.backup(str(path))
        block = self.rig.live.block
        assert block is not None
        self.old = path, block.assignment_id, len(self.rig.acknowledged)

    @precondition(lambda self: self.old is not None and self.old[1] != self.rig.assignments[-1])
    @rule()
    def restore(self) -> None:
        """A copy from before the last release: refused, the newest store goes on."""
        assert self.old is not None
        self.rig.stop()
        newest = self.home / "newest.db"
        shutil.move(self.rig.path, newest)
        shutil.copy(self.old[0], self.rig.path)
        with pytest.raises(RolledBackError, match="noise twice"):
            self.rig.start()
        for suffix in ("", "-wal", "-shm"):
            self.rig.path.with_name(self.rig.path.name + suffix).unlink(missing_ok=True)
        shutil.move(newest, self.rig.path)
        self.rig.start()

    @invariant()
    def whole(self) -> None:
        if self.rig.curator is not None:
            self.rig.check()

    def teardown(self) -> None:
        try:
            if self.rig.curator is not None and self.rig.acknowledged:
                self.rig.stop()
                self.rig.start()
                self.rig.check()
                self.rig.check_repeats()
        finally:
            self.rig.stop()
            shutil.rmtree(self.home)


def live(make: Callable[[Parts], Curator], examples: int, steps: int = 20) -> None:
    machine: Any = type("Machine", (Life,), {"make": staticmethod(make)})
    how = settings(
        max_examples=examples, stateful_step_count=steps, report_multiple_bugs=False, phases=[Phase.generate]
    )
    run_state_machine_as_test(machine, settings=how)


def test_a_random_life() -> None:
    live(Curator, 6)


@pytest.mark.slow
def test_many_random_lives() -> None:
    live(Curator, 60, 40)


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_seeded_bug_is_found(bug: type[Curator]) -> None:
    with pytest.raises(AssertionError):
        live(bug, 60)
