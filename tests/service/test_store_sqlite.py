"""What is SQLite's own: the file's mode, its format, and what is said when the disk is full, read-only or damaged."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from hushloop.errors import InvalidInput
from hushloop.service.store import FORMAT, Counted, StoreError, open_store
from hushloop.service.store import sqlite as module
from hushloop.service.store.sqlite import SqliteStore

SECRET = "8377466119283344"


def test_every_file_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = SqliteStore(tmp_path / "s.db")
        with store.transaction():
            store.put("a", "1")
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert modes.keys() >= {"s.db", "s.db-wal", "s.db.lock"}
    assert {mode & 0o077 for mode in modes.values()} == {0}


def test_a_commit_is_synced(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)
    assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


def test_another_process_is_kept_out_and_let_in_after_a_kill(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from hushloop.service.store.sqlite import SqliteStore\n"
        "s = SqliteStore(Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path / "s.db"], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"open\n"
        with pytest.raises(StoreError, match=r"another server uses .*: stop it first"):
            SqliteStore(tmp_path / "s.db")
    finally:
        child.kill()
        child.communicate()
    SqliteStore(tmp_path / "s.db").close()


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "s.db").close()
    db = apsw.Connection(str(tmp_path / "s.db"))
    db.execute(f"PRAGMA user_version = {FORMAT + 1}")
    db.close()
    with pytest.raises(StoreError, match="update hushloop"):
        SqliteStore(tmp_path / "s.db")


def test_an_older_format_is_migrated_once_and_keeps_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(tmp_path / "s.db")
    with store.transaction():
        store.put("a", "1")
    store.close()
    monkeypatch.setattr(module, "FORMAT", FORMAT + 1)
    monkeypatch.setattr(module, "MIGRATIONS", (*module.MIGRATIONS, "ALTER TABLE meta ADD COLUMN note TEXT"))
    with pytest.raises(StoreError, match="start `hushloop serve` on it once"):
        SqliteStore(tmp_path / "s.db", serving=False, make=False)
    for _ in range(2):
        again = SqliteStore(tmp_path / "s.db")
        assert again.get("a") == "1"
        assert again._db.execute("PRAGMA user_version").fetchone() == (FORMAT + 1,)
        again.close()


def test_a_migration_that_fails_leaves_the_old_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    SqliteStore(tmp_path / "s.db").close()
    monkeypatch.setattr(module, "FORMAT", FORMAT + 1)
    monkeypatch.setattr(module, "MIGRATIONS", (*module.MIGRATIONS, "CREATE TABLE new (a); CREATE TABLE meta (b)"))
    with pytest.raises(StoreError):
        SqliteStore(tmp_path / "s.db")
    monkeypatch.undo()
    store = SqliteStore(tmp_path / "s.db")
    assert store._db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'new'").fetchone() == (0,)
    store.close()


def test_a_full_disk_is_said_and_passes(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="free some space") as caught, store.transaction():
        store.add_reports([Counted(f"{k:040}", "0" * 32, 1, False) for k in range(500)])
    assert not caught.value.lasting
    store._db.execute("PRAGMA max_page_count = 100000")
    with store.transaction():
        store.add_reports([Counted("a", "0" * 32, 1, False)])
    assert store.reports(["a", f"{0:040}"]).keys() == {"a"}
    store.close()


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot write .*: No such file"):
        SqliteStore(tmp_path / "missing" / "s.db")


def test_a_file_that_is_no_store_is_said(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_text("not a database, but long enough to be looked at" * 20)
    with pytest.raises(StoreError, match="no SQLite database"):
        SqliteStore(tmp_path / "s.db")


def test_a_damaged_page_is_found(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    with store.transaction():
        store.add_reports([Counted(f"{k:040}", "0" * 32, 1, False) for k in range(2000)])
    store.close()
    content = bytearray((tmp_path / "s.db").read_bytes())
    content[-4096:-3000] = b"\xff" * 1096
    (tmp_path / "s.db").write_bytes(content)
    store = SqliteStore(tmp_path / "s.db")
    assert store.problems() != []
    store.close()


def test_a_backup_is_whole_private_and_never_over_something(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    with store.transaction():
        store.put("a", "1")
    reader = SqliteStore(tmp_path / "s.db", serving=False, make=False)
    reader.backup(str(tmp_path / "copy.db"))
    assert (tmp_path / "copy.db").stat().st_mode & 0o077 == 0
    with pytest.raises(StoreError, match="exists: give a new name"):
        reader.backup(str(tmp_path / "copy.db"))
    reader.close()
    store.close()
    copy = SqliteStore(tmp_path / "copy.db")
    assert copy.get("a") == "1"
    copy.close()


def test_what_is_deleted_is_gone_from_the_file(tmp_path: Path) -> None:
    from hushloop.service.store import OpenBlock

    store = SqliteStore(tmp_path / "s.db")
    with store.transaction():
        store.set_open(OpenBlock(0, 1, f"[{SECRET}]", f'{{"noise": {SECRET}}}', None, 0.0))
    with store.transaction():
        store.set_open(None)
    store.close()  # the write-ahead log goes with the last connection
    assert SECRET.encode() not in (tmp_path / "s.db").read_bytes()
    assert not (tmp_path / "s.db-wal").exists()


@pytest.mark.parametrize("url", ["mysql://x/y", "http://x", "sqlite://s.db"])
def test_another_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="sqlite:///FILE or postgresql"):
        open_store(url)
