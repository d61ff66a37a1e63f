"""Secrets in files that only their owner can read: the server's own, and the operator's key."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from pathlib import Path

from ..errors import HushloopError
from .files import replace_private

SHORTEST_KEY = 16
"""Characters of an operator key."""


SERIAL = 16
"""Characters of a ticket that only say where it is looked up. Neighbours are issued together and spent together, so
that a group of reports touches few pages of the store."""


def make_tickets(count: int) -> list[str]:
    """Fresh secrets; what they have in common begins at random, and says nothing about how many there are."""
    base = secrets.randbits(43) << 20
    return [f"{base + k:0{SERIAL}x}{secrets.token_urlsafe(24)}" for k in range(count)]


@dataclass(frozen=True)
class ServerSecret:
    """What makes hashes and ids this server's own. Whoever has it can make assignments; it opens no report."""

    value: bytes

    @staticmethod
    def read(path: Path, may_make: bool) -> ServerSecret:
        """The secret in a file, which is made where it is missing and may be."""
        if not path.exists():
            if not may_make:
                raise HushloopError(
                    f"{path} is missing, and the store was made with it: tickets, report ids and assignments cannot be"
                    " checked without it; bring it back from where the store came from"
                )
            write_private(path, secrets.token_hex(32) + "\n")
        text = read_private(path).strip()
        if len(text) != 64:
            raise HushloopError(f"{path} does not hold 64 hexadecimal digits: bring the right file back")
        return ServerSecret(bytes.fromhex(text))

    def ticket_mark(self, ticket: str) -> str:
        """What is kept of a ticket: its first part, which is no secret, and a keyed hash of all of it."""
        place = ticket[:SERIAL] if ticket.isascii() and ticket[:SERIAL].isalnum() else ""
        return place + self._keyed(b"ticket", ticket.encode())

    def person_mark(self, pseudonym: str) -> str:
        """What is kept of a person."""
        return self._keyed(b"person", pseudonym.encode())

    def digest(self, content: bytes) -> str:
        """What is kept of a report's content: keyed, so that the store alone cannot be searched for known episodes."""
        return hashlib.blake2b(content, digest_size=16, key=self.value).hexdigest()

    def _keyed(self, purpose: bytes, content: bytes) -> str:
        return hmac.new(self.value, purpose + b"\0" + content, hashlib.sha256).hexdigest()[:32]


class OperatorKeys:
    """One key a line; two while a key is rotated. The file is read again when it changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            write_private(path, secrets.token_urlsafe(32) + "\n")
        self._stamp: tuple[int, int] = (-1, -1)
        self._keys: list[bytes] = []
        self._refresh()

    def accept(self, key: str) -> bool:
        """Whether it is one of the keys; every key is compared, each in constant time."""
        self._refresh()
        given = key.encode()
        found = [hmac.compare_digest(given, known) for known in self._keys]
        return any(found)

    def _refresh(self) -> None:
        try:
            stat = self.path.stat()
        except OSError:
            return  # keys that were read stay good while a file is being replaced
        if (stat.st_mtime_ns, stat.st_size) == self._stamp:
            return
        keys = [line.strip().encode() for line in read_private(self.path).splitlines() if line.strip()]
        if not keys or min(map(len, keys)) < SHORTEST_KEY or len(keys) > 2:
            raise HushloopError(
                f"{self.path} must hold one key, or two while it is rotated, of at least {SHORTEST_KEY} characters each"
            )
        self._keys, self._stamp = keys, (stat.st_mtime_ns, stat.st_size)


def read_private(path: Path) -> str:
    """The text of a file that nobody else may read."""
    try:
        if path.stat().st_mode & 0o077:
            raise HushloopError(f"{path} can be read by others: chmod 600 {path}")
        return path.read_text(encoding="utf-8")
    except OSError as why:
        raise HushloopError(f"cannot read {path}: {why.strerror}") from why


def write_private(path: Path, text: str) -> None:
    """Replace a file of mode 600; after a power cut the old or the new content is there."""
    try:
        replace_private(path, text)
    except OSError as why:
        raise HushloopError(f"cannot write {path}: {why.strerror}") from why
