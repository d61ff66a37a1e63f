"""The device's memory across restarts: the last assignment and the report that waits, in one small file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import HushloopError
from .files import replace_private


@dataclass(frozen=True)
class Memory:
    """What a device keeps. A report is here before it is sent, so that whatever happens it is sent as it was made."""

    ticket: str = ""  # digest of the ticket that the rest belongs to
    assignment: dict[str, Any] | None = None  # the last one that was fetched
    etag: str = ""
    report: dict[str, Any] | None = None  # waits to be delivered
    settled: str = ""  # how the ticket ended: accepted, repeated, spent, …


class Outbox:
    """A file that is replaced as a whole and flushed to the disk; without a path it lives in this process alone."""

    def __init__(self, path: str | Path | None, ticket: str) -> None:
        self.path = None if path is None else Path(path)
        mark = hashlib.sha256(ticket.encode()).hexdigest()
        found = self._read()
        if found.report is not None and found.ticket != mark:
            raise HushloopError(
                f"{self.path} holds a report that waits under another ticket: deliver it with that ticket first, or"
                " remove the file and with it the report"
            )
        if found.ticket != mark:
            found = replace(found, ticket=mark, settled="")
        self.memory = found

    def keep(self, **changes: Any) -> None:
        """Change some fields; they are on the disk when this returns."""
        self.memory = replace(self.memory, **changes)
        if self.path is not None:
            replace_private(self.path, json.dumps(asdict(self.memory)))

    def _read(self) -> Memory:
        if self.path is None or not self.path.exists():
            return Memory()
        try:
            return Memory(**json.loads(self.path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as why:
            raise HushloopError(f"{self.path} is no outbox that can be read ({why}): remove it to start anew") from why
