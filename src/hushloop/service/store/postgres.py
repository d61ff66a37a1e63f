"""The store in a PostgreSQL database: the same rows, one server at a time by an advisory lock."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...errors import MissingExtra
from .base import FORMAT, AssignmentRow, Counted, Entry, OpenBlock, StoreError, TicketRow

try:
    import psycopg
except ImportError:  # said when a store is opened
    psycopg = None  # type: ignore[assignment]

SERVER = 0x68757368  # "hush": the advisory lock of the one server
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL);
    CREATE TABLE reports (
        id text PRIMARY KEY, digest text NOT NULL, assignment bigint NOT NULL, zeros boolean NOT NULL
    );
    CREATE TABLE tickets (
        mark text PRIMARY KEY, person text NOT NULL, expires double precision NOT NULL,
        spent boolean NOT NULL DEFAULT false
    );
    CREATE INDEX tickets_person ON tickets (person) WHERE person <> '';
    CREATE TABLE open_block (
        one integer PRIMARY KEY CHECK (one = 1), block bigint NOT NULL, reports bigint NOT NULL, sums text NOT NULL,
        deadline double precision, seen double precision NOT NULL
    );
    CREATE TABLE snapshot (one integer PRIMARY KEY CHECK (one = 1), body text NOT NULL);
    CREATE TABLE assignments (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, epoch bigint NOT NULL,
        block bigint NOT NULL, body text NOT NULL
    );
    CREATE TABLE releases (block bigint PRIMARY KEY, body text NOT NULL);
    CREATE TABLE ledger (
        number bigint PRIMARY KEY, at double precision NOT NULL, kind text NOT NULL, body text NOT NULL,
        chain text NOT NULL
    );
    """,
)
"""MIGRATIONS[k] makes format k+1 of format k."""


LOCK_TRIES, LOCK_PAUSE = 20, 0.1


class PostgresStore:
    """See `Store`. Everything is in the schema `hushloop` of the database; commits wait for the disk."""

    def __init__(self, url: str, *, serving: bool = True, make: bool = True) -> None:
        if psycopg is None:
            raise MissingExtra("psycopg", "postgres")
        self.url = url
        with self._explained():
            self._db = psycopg.connect(url, autocommit=True, application_name="hushloop")
        try:
            with self._explained():
                self._prepare(serving, make)
        except BaseException:
            self._db.close()
            raise

    def _locked(self) -> bool:
        """Be the one server. A server that has just stopped may keep its lock until PostgreSQL has seen it go."""
        for _ in range(LOCK_TRIES):
            if self._rows("SELECT pg_try_advisory_lock(%s)", SERVER)[0][0]:
                return True
            time.sleep(LOCK_PAUSE)
        return False

    def _prepare(self, serving: bool, make: bool) -> None:
        if serving and not self._locked():
            raise StoreError(f"another server uses {self._name}: stop it first, or take another database")
        version = 0
        if self._rows("SELECT 1 FROM pg_namespace WHERE nspname = 'hushloop'"):
            version = self._rows("SELECT format FROM hushloop.format")[0][0]
        elif not make:
            raise StoreError(f"{self._name} holds no store: give the URL that `hushloop serve --store` has used")
        if version > FORMAT:
            raise StoreError(f"{self._name} has format {version}, and this version knows {FORMAT}: update hushloop")
        if not serving and version != FORMAT:
            raise StoreError(f"{self._name} has format {version}: start `hushloop serve` on it once to migrate it")
        for step in range(version, FORMAT):
            with self.transaction():
                if step == 0:
                    self._run("CREATE SCHEMA hushloop")
                    self._run("CREATE TABLE hushloop.format AS SELECT 0 AS format")
                self._run("SET LOCAL search_path TO hushloop")
                self._run(MIGRATIONS[step])
                self._run("UPDATE hushloop.format SET format = %s", step + 1)
        self._run("SET search_path TO hushloop")
        self._run("SET synchronous_commit TO on")

    @property
    def _name(self) -> str:
        """The database without a password."""
        info = self._db.info
        return f"{info.dbname} on {info.host}"

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.DiskFull as why:
            raise StoreError(f"the database has no space left ({_said(why)}): free some", lasting=False) from why
        except psycopg.errors.ReadOnlySqlTransaction as why:
            raise StoreError(f"the database is read-only ({_said(why)}): make it writable", lasting=False) from why
        except psycopg.Error as why:
            raise StoreError(f"the database cannot be used ({type(why).__name__}: {_said(why)})") from why

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._explained(), self._db.transaction():
            yield

    def get(self, key: str) -> str | None:
        rows = self._rows("SELECT value FROM meta WHERE key = %s", key)
        return rows[0][0] if rows else None

    def put(self, key: str, value: str) -> None:
        self._run("INSERT INTO meta VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value", key, value)

    def reports(self, ids: Sequence[str]) -> dict[str, Counted]:
        sql = "SELECT id, digest, assignment, zeros FROM reports WHERE id = ANY(%s)"
        return {row[0]: Counted(*row) for row in self._rows(sql, list(ids))}

    def add_reports(self, rows: Sequence[Counted]) -> None:
        sql = "INSERT INTO reports SELECT * FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::boolean[])"
        self._run(sql, *(list(column) for column in zip(*rows, strict=True)))

    def tickets(self, marks: Sequence[str]) -> dict[str, TicketRow]:
        sql = "SELECT mark, expires, spent FROM tickets WHERE mark = ANY(%s)"
        return {row[0]: TicketRow(row[1], row[2]) for row in self._rows(sql, list(marks))}

    def spend(self, marks: Sequence[str]) -> None:
        self._run("UPDATE tickets SET spent = true WHERE mark = ANY(%s)", list(marks))

    def add_tickets(self, marks: Sequence[str], person: str, expires: float) -> None:
        sql = "INSERT INTO tickets (mark, person, expires) SELECT unnest(%s::text[]), %s, %s"
        self._run(sql, list(marks), person, expires)

    def issued(self, person: str) -> int:
        return int(self._rows("SELECT count(*) FROM tickets WHERE person = %s", person)[0][0])

    def people(self) -> list[tuple[int, int]]:
        sql = """SELECT tickets, count(*) FROM (SELECT count(*) AS tickets FROM tickets WHERE person <> ''
                 GROUP BY person) AS each GROUP BY tickets ORDER BY tickets"""
        anonymous = self._rows("SELECT count(*) FROM tickets WHERE person = ''")[0][0]
        return ([(0, anonymous)] if anonymous else []) + [(row[0], row[1]) for row in self._rows(sql)]

    def revoke(self) -> int:
        return self._run("UPDATE tickets SET expires = 0 WHERE NOT spent AND expires > 0")

    def open_block(self) -> OpenBlock | None:
        rows = self._rows("SELECT block, reports, sums, body, deadline, seen FROM open_block JOIN snapshot USING (one)")
        return OpenBlock(*rows[0]) if rows else None

    def set_open(self, block: OpenBlock | None) -> None:
        self._run("DELETE FROM open_block")
        self._run("DELETE FROM snapshot")
        if block is not None:
            self._run(
                "INSERT INTO open_block VALUES (1, %s, %s, %s, %s, %s)",
                block.block, block.reports, block.sums, block.deadline, block.seen,
            )  # fmt: skip
            self._run("INSERT INTO snapshot VALUES (1, %s)", block.snapshot)

    def add_sums(self, count: int, sums: str, seen: float) -> None:
        self._run("UPDATE open_block SET reports = %s, sums = %s, seen = %s", count, sums, seen)

    def assignments(self) -> list[AssignmentRow]:
        return [AssignmentRow(*r) for r in self._rows("SELECT id, epoch, block, body FROM assignments ORDER BY number")]

    def add_assignment(self, row: AssignmentRow) -> None:
        self._run("INSERT INTO assignments (id, epoch, block, body) VALUES (%s, %s, %s, %s)", *row)

    def releases(self) -> list[str]:
        return [row[0] for row in self._rows("SELECT body FROM releases ORDER BY block")]

    def add_release(self, block: int, body: str) -> None:
        self._run("INSERT INTO releases VALUES (%s, %s)", block, body)

    def ledger(self) -> list[Entry]:
        return [Entry(*row) for row in self._rows("SELECT number, at, kind, body, chain FROM ledger ORDER BY number")]

    def append(self, entry: Entry) -> None:
        self._run("INSERT INTO ledger VALUES (%s, %s, %s, %s, %s)", *entry)

    def problems(self) -> list[str]:
        """Pages are the database server's business: pg_amcheck looks at them. Here every row is read once."""
        for table in ("meta", "reports", "tickets", "open_block", "snapshot", "assignments", "releases", "ledger"):
            self._rows(f"SELECT count(*) FROM {table}")
        return []

    def backup(self, path: str) -> None:
        raise StoreError("a PostgreSQL store is backed up by pg_dump --schema=hushloop, which is consistent as well")

    def close(self) -> None:
        self._db.close()

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        with self._explained():
            return self._db.execute(sql, values or None).fetchall()

    def _run(self, sql: str, *values: Any) -> int:
        with self._explained():
            return self._db.execute(sql, values or None).rowcount


def _said(why: Exception) -> str:
    return " ".join(str(why).split())
