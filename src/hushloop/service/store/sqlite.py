"""The store in one SQLite file: write-ahead log, synced at every commit, one server at a time."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from .base import FORMAT, AssignmentRow, Counted, Entry, OpenBlock, StoreError, TicketRow

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE reports (
        id TEXT PRIMARY KEY, digest TEXT NOT NULL, assignment INTEGER NOT NULL, zeros INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE tickets (
        mark TEXT PRIMARY KEY, person TEXT NOT NULL, expires REAL NOT NULL, spent INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID;
    CREATE INDEX tickets_person ON tickets (person) WHERE person <> '';
    CREATE TABLE open_block (
        one INTEGER PRIMARY KEY CHECK (one = 1), block INTEGER NOT NULL, reports INTEGER NOT NULL, sums TEXT NOT NULL,
        deadline REAL, seen REAL NOT NULL
    );
    CREATE TABLE snapshot (one INTEGER PRIMARY KEY CHECK (one = 1), body TEXT NOT NULL);
    CREATE TABLE assignments (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, epoch INTEGER NOT NULL, block INTEGER NOT NULL,
        body TEXT NOT NULL
    );
    CREATE TABLE releases (block INTEGER PRIMARY KEY, body TEXT NOT NULL);
    CREATE TABLE ledger (
        number INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL, chain TEXT NOT NULL
    );
    """,
)
"""MIGRATIONS[k] makes format k+1 of format k."""

PASSING = (apsw.FullError, apsw.ReadOnlyError, apsw.BusyError, apsw.LockedError)
"""Failures after which the file is as it was, so that the next commit may succeed."""


class SqliteStore:
    """See `Store`. `vfs` names another file system layer, for tests."""

    def __init__(self, path: Path, *, serving: bool = True, make: bool = True, vfs: str | None = None) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"
        self._lock: int | None = None
        fresh = not path.exists()
        if fresh and not make:
            raise StoreError(f"{path} does not exist: give the file that `hushloop serve --store` made")
        if serving:
            self._lock = self._only_server()
        try:
            with self._explained():
                if fresh and make:
                    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
                flags = apsw.SQLITE_OPEN_READWRITE if serving or make else apsw.SQLITE_OPEN_READONLY
                self._db = apsw.Connection(str(path), flags=flags, vfs=vfs)
                self._db.set_busy_timeout(5000)
                self._prepare(serving)
        except BaseException:
            self._unlock()
            raise

    def _only_server(self) -> int:
        """A lock that ends with the process. The file stays: to remove it would let two servers in."""
        name = self.path.with_name(self.path.name + ".lock")
        try:
            found = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as why:
            raise StoreError(f"cannot write {name}: {why.strerror}") from why
        try:
            fcntl.flock(found, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(found)
            raise StoreError(f"another server uses {self.path}: stop it first, or take another store") from None
        return found

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _prepare(self, serving: bool) -> None:
        db = self._db
        version = int(_one(db.execute("PRAGMA user_version")))
        if version > FORMAT:
            raise StoreError(f"{self.path} has format {version}, and this version knows {FORMAT}: update hushloop")
        if not serving:
            if version != FORMAT:
                raise StoreError(f"{self.path} has format {version}: start `hushloop serve` on it once to migrate it")
            return
        db.execute("PRAGMA journal_mode = WAL")
        # FULL: a commit is on the disk when it returns. secure_delete: sums and noise that are no longer needed go.
        db.execute("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA secure_delete = ON")
        db.execute("PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 4000")
        for step in range(version, FORMAT):
            with self.transaction():
                db.execute(MIGRATIONS[step])
                db.execute(f"PRAGMA user_version = {step + 1}")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except apsw.NotADBError as why:
            raise StoreError(f"{self.path} is no SQLite database: give another file") from why
        except PASSING as why:
            text = f"{self.path} cannot be written now ({why}): free some space, or make it writable"
            raise StoreError(text, lasting=False) from why
        except apsw.Error as why:
            raise StoreError(
                f"{self.path} cannot be used ({type(why).__name__}: {why}): see docs/how-to/restore"
            ) from why
        except OSError as why:
            raise StoreError(f"cannot open {self.path}: {why.strerror}") from why

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def get(self, key: str) -> str | None:
        rows = self._rows("SELECT value FROM meta WHERE key = ?", key)
        return rows[0][0] if rows else None

    def put(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def reports(self, ids: Sequence[str]) -> dict[str, Counted]:
        sql = "SELECT r.id, digest, assignment, zeros FROM json_each(?) j JOIN reports r ON r.id = j.value"
        return {row[0]: Counted(row[0], row[1], row[2], bool(row[3])) for row in self._rows(sql, json.dumps(ids))}

    def add_reports(self, rows: Sequence[Counted]) -> None:
        packed = [f"{row.digest}{int(row.zeros)}{row.report_id}" for row in rows]
        # one step for the whole group, since each hands the interpreter's lock over; OR FAIL spares a copy of each page
        # that only a half-done statement would need: whatever fails, the transaction is rolled back
        self._db.execute(
            """INSERT OR FAIL INTO reports SELECT substr(value, 34), substr(value, 1, 32), ?, substr(value, 33, 1)
               FROM json_each(?)""",
            (rows[0].assignment, json.dumps(packed)),
        )

    def tickets(self, marks: Sequence[str]) -> dict[str, TicketRow]:
        sql = "SELECT t.mark, expires, spent FROM json_each(?) j JOIN tickets t ON t.mark = j.value"
        return {row[0]: TicketRow(row[1], bool(row[2])) for row in self._rows(sql, json.dumps(marks))}

    def spend(self, marks: Sequence[str]) -> None:
        sql = "UPDATE OR FAIL tickets SET spent = 1 FROM json_each(?) j WHERE mark = j.value"
        self._db.execute(sql, (json.dumps(marks),))

    def add_tickets(self, marks: Sequence[str], person: str, expires: float) -> None:
        sql = "INSERT INTO tickets (mark, person, expires) SELECT value, ?, ? FROM json_each(?)"
        self._db.execute(sql, (person, expires, json.dumps(marks)))

    def issued(self, person: str) -> int:
        return int(self._rows("SELECT count(*) FROM tickets WHERE person = ?", person)[0][0])

    def people(self) -> list[tuple[int, int]]:
        sql = """SELECT tickets, count(*) FROM (SELECT count(*) AS tickets FROM tickets WHERE person <> ''
                 GROUP BY person) GROUP BY tickets ORDER BY tickets"""
        anonymous = self._rows("SELECT count(*) FROM tickets WHERE person = ''")[0][0]
        return ([(0, anonymous)] if anonymous else []) + [(row[0], row[1]) for row in self._rows(sql)]

    def revoke(self) -> int:
        self._db.execute("UPDATE tickets SET expires = 0 WHERE spent = 0 AND expires > 0")
        return int(self._db.changes())

    def open_block(self) -> OpenBlock | None:
        rows = self._rows("SELECT block, reports, sums, body, deadline, seen FROM open_block JOIN snapshot USING (one)")
        return OpenBlock(*rows[0]) if rows else None

    def set_open(self, block: OpenBlock | None) -> None:
        self._db.execute("DELETE FROM open_block; DELETE FROM snapshot")
        if block is not None:
            self._db.execute(
                "INSERT INTO open_block VALUES (1, ?, ?, ?, ?, ?)",
                (block.block, block.reports, block.sums, block.deadline, block.seen),
            )
            self._db.execute("INSERT INTO snapshot VALUES (1, ?)", (block.snapshot,))

    def add_sums(self, count: int, sums: str, seen: float) -> None:
        self._db.execute("UPDATE open_block SET reports = ?, sums = ?, seen = ?", (count, sums, seen))

    def assignments(self) -> list[AssignmentRow]:
        sql = "SELECT id, epoch, block, body FROM assignments ORDER BY number"
        return [AssignmentRow(*row) for row in self._rows(sql)]

    def add_assignment(self, row: AssignmentRow) -> None:
        self._db.execute("INSERT INTO assignments (id, epoch, block, body) VALUES (?, ?, ?, ?)", row)

    def releases(self) -> list[str]:
        return [row[0] for row in self._rows("SELECT body FROM releases ORDER BY block")]

    def add_release(self, block: int, body: str) -> None:
        self._db.execute("INSERT INTO releases VALUES (?, ?)", (block, body))

    def ledger(self) -> list[Entry]:
        sql = "SELECT number, at, kind, body, chain FROM ledger ORDER BY number"
        return [Entry(*row) for row in self._rows(sql)]

    def append(self, entry: Entry) -> None:
        self._db.execute("INSERT INTO ledger VALUES (?, ?, ?, ?, ?)", entry)

    def problems(self) -> list[str]:
        try:
            found = [str(row[0]) for row in self._rows("PRAGMA integrity_check")]
        except StoreError as why:
            return [str(why)]
        return [] if found == ["ok"] else found

    def backup(self, path: str) -> None:
        if Path(path).exists():
            raise StoreError(f"{path} exists: give a new name")
        with self._explained():
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            copy = apsw.Connection(path)
            with copy.backup("main", self._db, "main") as backup:
                backup.step()
            copy.close()

    def close(self) -> None:
        try:
            self._db.close()
        finally:
            self._unlock()

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        with self._explained():
            return self._db.execute(sql, values).fetchall()


def _one(cursor: Any) -> Any:
    return cursor.fetchone()[0]
