"""Named places in the server where a test may end the process as `kill -9` would; nothing happens anywhere else."""

from __future__ import annotations

import os
import signal

VARIABLE = "HUSHLOOP_FAULT"

POINTS = {
    "before-creation": "the first block has its noise, and nothing of the store is committed",
    "after-creation": "a new store is committed, its mark not yet raised",
    "before-commit": "a group of reports is written, not yet committed",
    "after-commit-before-reply": "a group of reports is durable, nobody has been told",
    "before-release": "a block is full, its release not begun",
    "during-release": "release, assignment and ledger are written in one transaction, not yet committed",
    "after-release-before-publish": "the release is durable, nobody can see it yet",
    "tickets-before-reply": "tickets are durable, the operator has not been told",
}
"""Name → what has happened when it is reached."""


class Fault:
    """`NAME` or `NAME:k`: the process ends when it reaches the place for the k-th time."""

    def __init__(self, text: str) -> None:
        name, _, times = text.partition(":")
        if name and name not in POINTS:
            raise ValueError(f"{VARIABLE} names {name!r}, which is no fault point; choose one of {', '.join(POINTS)}")
        self.name = name
        self.left = int(times or 1)

    def reach(self, point: str) -> None:
        if point != self.name:
            return
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


reach = Fault(os.environ.get(VARIABLE, "")).reach
"""Call `faults.reach("before-commit")` at the place itself."""
