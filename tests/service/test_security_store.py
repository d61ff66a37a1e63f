"""Rows of docs/reference/threats.md about what is kept: who reads it, edits it, or brings an old copy back."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
from curators_for_tests import assignment, curator, deployment, episode, fill, send, tickets, wire

from hushloop.privacy.budget import Budget
from hushloop.service import refusals
from hushloop.service.highwater import RolledBackError
from hushloop.service.inspection import check_store
from hushloop.service.keys import OperatorKeys, ServerSecret
from hushloop.service.protocol import ReportIn
from hushloop.service.refusals import RefusedError


def test_sums_do_not_overflow(tmp_path: Path) -> None:
    served = curator(tmp_path, deployment(first=5))
    given = tickets(served, 2)
    assert served.block is not None
    served.block.sums = [2**63 - 1] * 12
    for ticket, report in zip(given, "ab", strict=True):
        made = episode(assignment(served), np.random.default_rng(0), report)
        send(served, wire(made), ticket)
    expected = [2**63 - 1 + 2 * v for v in [*made.S.tolist(), *made.C.tolist()]]
    assert served.block.sums == expected
    served.close()
    served = curator(tmp_path, deployment(first=5))
    assert served.block is not None
    assert served.block.sums == expected
    served.close()


def test_a_block_closes_by_number_alone(tmp_path: Path) -> None:
    """Zeros, poison and honest reports: all count, and the block closes at the same report."""
    for name in ("zeros", "poison", "honest"):
        (tmp_path / name).mkdir()
        served = curator(tmp_path / name)
        closed = []
        for k, ticket in enumerate(tickets(served, 8)):
            made = wire(episode(assignment(served), np.random.default_rng(k)))
            S = {"zeros": [0] * 6, "poison": [2**62] * 6, "honest": made.S}[name]
            send(served, ReportIn(made.report_id, made.assignment_id, S, made.C), ticket)
            closed.append(served.published.release_count)
        assert closed == [0] * 7 + [1]
        served.close()


def test_participation_is_limited_for_ever(tmp_path: Path) -> None:
    what = deployment(budget=Budget(1.0, 1e-6, participations=2))
    served = curator(tmp_path, what)
    fill(served, 20)  # others, some blocks on
    for _ in range(2):
        tickets(served, 1, "ann")
    for _ in range(2):
        with pytest.raises(RefusedError, match="at most 2"):
            tickets(served, 1, "ann")
        served.close()
        served = curator(tmp_path, what)
    served.close()


def test_the_store_names_nobody(tmp_path: Path) -> None:
    served = curator(tmp_path)
    given = tickets(served, 1, "ann.example")
    served.close()
    content = b"".join(p.read_bytes() for p in tmp_path.iterdir() if p.name.startswith("hush.db"))
    assert b"ann.example" not in content
    assert given[0][16:].encode() not in content
    for guess in (given[0], "ann.example"):
        assert hashlib.sha256(guess.encode()).hexdigest()[:32].encode() not in content
    secret = ServerSecret.read(tmp_path / "secret", False)
    assert secret.person_mark("ann.example").encode() in content, "the test looks in the wrong place"


def test_closed_blocks_leave_no_sums_and_no_noise(tmp_path: Path) -> None:
    served = curator(tmp_path)
    fill(served, 7)
    assert served.block is not None
    sums, noise = (
        served.block.text(),
        json.dumps(json.loads(served.block.snapshot)["mechanism"]["block"]["noise"][0][1]),
    )

    def found() -> list[bool]:
        served.parts.store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # type: ignore[attr-defined]
        content = (tmp_path / "hush.db").read_bytes()
        return [text.encode() in content for text in (sums, noise)]

    assert found() == [True, True]
    fill(served, 1)
    assert served.published.release_count == 1
    assert found() == [False, False]
    served.close()


def test_files_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        served = curator(tmp_path)
        OperatorKeys(tmp_path / "operator.key")
        served.parts.store.backup(str(tmp_path / "copy.db"))
        modes = {p.name: p.stat().st_mode & 0o077 for p in tmp_path.iterdir()}
        served.close()
    finally:
        os.umask(before)
    assert len(modes) >= 6
    assert set(modes.values()) == {0}, modes
    os.chmod(tmp_path / "operator.key", 0o644)
    with pytest.raises(Exception, match="chmod 600"):
        OperatorKeys(tmp_path / "operator.key")


def test_an_old_copy_is_refused(tmp_path: Path) -> None:
    served = curator(tmp_path)
    served.parts.store.backup(str(tmp_path / "copy.db"))
    fill(served, 8)
    published = assignment(served).id
    served.close()
    (tmp_path / "copy.db").replace(tmp_path / "hush.db")
    with pytest.raises(RolledBackError):
        curator(tmp_path)
    (tmp_path / "highwater").write_text('{"epoch": 0, "index": 0}')  # somebody restores the mark as well
    served = curator(tmp_path)
    assert send(served, ReportIn("a", published, [0] * 6, [0] * 6), "") is refusals.ROLLED_BACK
    served.close()


def test_edits_are_found(tmp_path: Path) -> None:
    served = curator(tmp_path)
    fill(served, 30)
    store, mark = served.parts.store, tmp_path / "highwater"
    db = store._db  # type: ignore[attr-defined]
    assert check_store(store, mark)["ok"]
    for edit, part in (
        ("UPDATE releases SET body = replace(body, '\"users\":8', '\"users\":9') WHERE block = 0", "releases"),
        ("DELETE FROM releases WHERE block = 1", "releases"),
        ("UPDATE ledger SET body = replace(body, '\"users\": 8', '\"users\": 9')", "ledger"),
        ("DELETE FROM ledger WHERE number = 2", "ledger"),
        ("UPDATE ledger SET at = at - 1 WHERE number = 2", "ledger"),
        ("DELETE FROM assignments WHERE number = 1", "assignments"),
        ("UPDATE open_block SET reports = 100000", "open_block"),
    ):
        db.execute("BEGIN")
        db.execute(edit)
        assert db.changes() >= 1
        found = check_store(store, mark)
        db.execute("ROLLBACK")
        assert not found["ok"]
        assert found[part], f"nobody noticed: {edit}"
    served.close()
