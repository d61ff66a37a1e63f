"""Where a curator's state is kept: one file a database, one suite of tests for all."""

from __future__ import annotations

from pathlib import Path

from ...errors import InvalidInput
from .base import FORMAT, AssignmentRow, Counted, Entry, OpenBlock, Store, StoreError, TicketRow

__all__ = [
    "FORMAT",
    "AssignmentRow",
    "Counted",
    "Entry",
    "OpenBlock",
    "Store",
    "StoreError",
    "TicketRow",
    "open_store",
    "sqlite_path",
]


def sqlite_path(url: str) -> Path | None:
    """The file of an SQLite URL or of a bare path; None for a database elsewhere."""
    if url.startswith("sqlite:///"):
        return Path(url.removeprefix("sqlite:///"))
    if "://" in url or url == "memory:":
        return None
    return Path(url)


def open_store(url: str, *, serving: bool = True, make: bool = True) -> Store:
    """The store at sqlite:///FILE, postgresql://…, or memory:. `serving` keeps every other server out of it."""
    if url == "memory:":
        from .memory import MemoryStore

        return MemoryStore()
    if url.startswith(("postgresql://", "postgres://")):
        from .postgres import PostgresStore

        return PostgresStore(url, serving=serving, make=make)
    path = sqlite_path(url)
    if path is None:
        raise InvalidInput("store", f"is {url!r}", "give sqlite:///FILE or postgresql://USER@HOST/DATABASE")
    from .sqlite import SqliteStore

    return SqliteStore(path, serving=serving, make=make)
