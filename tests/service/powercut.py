"""A disk that loses power: an APSW file system layer that knows which writes were synced and which were not.

Real files hold what a running process sees. Beside each of them lies what would be left after a power cut: the content
at the last sync, and the writes since, of which any subset of sectors may have arrived. A new file whose
directory was never synced may be gone, a removed one may be back. Shared memory is always gone.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

SECTOR = 512


@dataclass
class Content:
    """What is durable of one file, and what is on its way."""

    durable: bytearray = field(default_factory=bytearray)
    named: bool = False  # its name is durable
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)  # (offset, data) or (new size, None)

    def settle(self) -> None:
        for at, data in self.pending:
            apply(self.durable, at, data)
        self.pending.clear()
        self.named = True


class PowerCut(apsw.VFS):
    """One disk under one name. `cut_at` is the number of the write or sync at which the power goes."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self.name, self.rng = name, rng
        self.contents: dict[str, Content] = {}
        self.removed: dict[str, Content] = {}  # names that may come back
        self.events = 0
        self.cut_at: int | None = None
        self.dead = False
        self.full = False  # every write fails as on a full disk
        self.read_only = False  # every write fails as on a disk that was mounted read-only
        self.ignore_syncs = False  # a broken disk, or a program that forgot to sync
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        self.alive()
        if name is None:  # a temporary file, which nobody expects back
            return apsw.VFSFile("", name, flags)
        path = str(Path(name.filename() if isinstance(name, apsw.URIFilename) else str(name)))
        if path not in self.contents:
            found = Path(path).read_bytes() if os.path.exists(path) else b""
            self.contents[path] = Content(bytearray(found), named=bool(found))
        return DiskFile(self, path, name, flags)

    def xDelete(self, name: str, sync: bool) -> None:
        self.event()
        gone = self.contents.pop(name, None)
        if gone is not None and gone.named and not sync:
            self.removed[name] = gone
        super().xDelete(name, sync)

    def alive(self) -> None:
        if self.dead:
            raise apsw.IOError("the power is gone")

    def event(self) -> None:
        """Count one write or sync; the power may go here."""
        self.alive()
        self.events += 1
        if self.events == self.cut_at:
            self.dead = True
            raise apsw.IOError("the power is gone")

    def wrote(self, path: str, at: int, data: bytes | None) -> None:
        if self.full and data is not None:
            raise apsw.FullError("no space is left")
        if self.read_only:
            raise apsw.ReadOnlyError("the disk is read-only")
        self.contents[path].pending.append((at, data))  # on its way even when the power goes now
        self.event()

    def synced(self, path: str) -> None:
        self.event()
        if self.ignore_syncs:
            return
        content = self.contents[path]
        if not content.named:  # SQLite syncs the directory of a new file with it
            self.removed.clear()
        content.settle()

    def wreck(self) -> None:
        """Make the real files what a disk would hold now. Nothing may have them open any more."""
        self.dead = True
        for path, content in self.contents.items():
            if not content.named and self.rng.random() < 0.5:
                Path(path).unlink(missing_ok=True)
                continue
            for at, data in self.pending_in_some_order(content):
                apply(content.durable, at, data)
            replace(Path(path), content.durable)
        for path, content in self.removed.items():
            if path not in self.contents and self.rng.random() < 0.5:
                replace(Path(path), content.durable)
        for path in list(self.contents):
            Path(path + "-shm").unlink(missing_ok=True)

    def pending_in_some_order(self, content: Content) -> list[tuple[int, bytes | None]]:
        """A random subset of what was on its way, sector by sector."""
        out: list[tuple[int, bytes | None]] = []
        share = self.rng.choice((0.0, 0.5, 0.9, 1.0))
        for at, data in content.pending:
            pieces = [(at, None)] if data is None else sectors(at, data)
            out += [piece for piece in pieces if self.rng.random() < share]
        return out


class DiskFile(apsw.VFSFile):
    """A file of the disk."""

    def __init__(self, disk: PowerCut, path: str, name: Any, flags: list[int]) -> None:
        self.disk, self.path = disk, path
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        self.disk.alive()
        return bytes(super().xRead(amount, offset))

    def xWrite(self, data: bytes, offset: int) -> None:
        self.disk.wrote(self.path, offset, bytes(data))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:
        self.disk.wrote(self.path, size, None)
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:
        self.disk.synced(self.path)


def replace(path: Path, content: bytes | bytearray) -> None:
    """A new file under the name: what a dead connection still holds of the old one is no part of it."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def sectors(at: int, data: bytes) -> list[tuple[int, bytes]]:
    """A write as the sectors that a disk knows."""
    out, end = [], at + len(data)
    while at < end:
        upto = min(end, (at // SECTOR + 1) * SECTOR)
        out.append((at, data[len(data) - (end - at) : len(data) - (end - upto)]))
        at = upto
    return out


def apply(content: bytearray, at: int, data: bytes | None) -> None:
    if data is None:
        del content[at:]
        content.extend(bytes(max(0, at - len(content))))
        return
    content.extend(bytes(max(0, at + len(data) - len(content))))
    content[at : at + len(data)] = data
