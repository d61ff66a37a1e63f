"""Simulated devices: whose turn it is, and the report that a device makes under the assignment in force."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from ..device import Assignment
from ..device.report import IntArray
from ..lq import Plant
from ..simulation.reports import reports_of

BATCH = 1024
"""Devices whose episodes are computed at once."""


@dataclass(frozen=True)
class Parcel:
    """A report as it is sent."""

    body: bytes
    assignment_id: str
    secret: str = ""  # the ticket


class Fleet(Protocol):
    """What is to be sent, device by device."""

    @property
    def size(self) -> int: ...

    def parcel(self, device: int) -> Parcel: ...


class Simulated:
    """Device k is user k of `seed` on the plant, whatever assignment it runs."""

    def __init__(self, plant: Plant, seed: int, tickets: list[str]) -> None:
        self.plant, self.seed, self.tickets = plant, seed, tickets
        self.assignment: Assignment | None = None
        self._batches: dict[int, IntArray] = {}

    @property
    def size(self) -> int:
        return len(self.tickets)

    def obey(self, assignment: Assignment) -> None:
        """From now on episodes run under this assignment."""
        if self.assignment is None or assignment.id != self.assignment.id:
            self.assignment = assignment
            self._batches.clear()

    def parcel(self, device: int) -> Parcel:
        """The report of a fresh episode: its id is new every time."""
        assert self.assignment is not None
        entries = self._entries(self.assignment, device)
        cut = len(entries) - self.assignment.collection.center.size
        report = {
            "report_id": secrets.token_hex(16),
            "assignment_id": self.assignment.id,
            "S": entries[:cut],
            "C": entries[cut:],
        }
        return Parcel(json.dumps(report).encode(), self.assignment.id, self.tickets[device])

    def _entries(self, assignment: Assignment, device: int) -> list[int]:
        batch, at = divmod(device, BATCH)
        if batch not in self._batches:
            users = min(BATCH, self.size - batch * BATCH)
            self._batches[batch] = reports_of(self.plant, assignment, self.seed, batch * BATCH, users)
        found: list[int] = self._batches[batch][at].tolist()
        return found


class Recorded:
    """Reports that were sent before. They go without a ticket: the id of a counted report answers for itself."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._bodies = [line.strip().encode() for line in lines if line.strip()]

    @property
    def size(self) -> int:
        return len(self._bodies)

    def parcel(self, device: int) -> Parcel:
        return Parcel(self._bodies[device], "")
