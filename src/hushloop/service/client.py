"""A device's side of the service: fetch the assignment, control the plant, report once. Needs numpy alone."""

from __future__ import annotations

import random
import secrets
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..device import Assignment, Controller
from ..errors import HushloopError
from .outbox import Outbox
from .wire_client import Answer, AwayError, Wire

Array = NDArray[np.float64]

Step = Callable[[Array | None], Any]
"""`step(None)` begins an episode and returns its first state; `step(u)` applies the control and returns the next."""

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 300.0
"""Seconds between attempts while the server is away: doubled each time, and drawn at random below that."""

SETTLED = ("accepted", "spent", "finished")


@dataclass(frozen=True, eq=False)
class Outcome:
    """One episode: what was done, and what has become of the report by now."""

    status: str  # accepted | waiting | superseded | spent | finished | silent (nothing was to be reported)
    assignment_id: str  # "" where the baseline ran
    states: Array  # (H+1, n)
    controls: Array  # (H, d)
    answer: dict[str, Any]  # the server's last word on the report, {} where it has none yet


class Device:
    """One ticket, one report. The plant is controlled all the time, whether or not the server can be reached."""

    def __init__(
        self,
        url: str,
        ticket: str,
        outbox: str | Path | None = None,
        baseline: Controller | None = None,
        timeout: float = 10.0,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`baseline` runs before any assignment was fetched; `timeout` is in seconds, for each request."""
        self.wire = Wire(url, timeout, tls)
        self.outbox = Outbox(outbox, ticket)
        self.baseline = baseline
        self._ticket, self._clock = ticket, clock
        self._failures, self._not_before = 0, -1.0
        self._answer: dict[str, Any] = {}

    @property
    def settled(self) -> bool:
        """Whether the ticket has done its work."""
        return self.outbox.memory.settled in SETTLED

    def run(self, step: Step, episodes: int | None = None) -> Outcome:
        """Control episode after episode until the report is settled, or for so many episodes."""
        done = 0
        while True:
            outcome = self.episode(step)
            done += 1
            if self.settled or done == episodes:
                return outcome

    def episode(self, step: Step) -> Outcome:
        """One episode under the newest assignment there is. Nothing is asked of the server while it lasts."""
        self._deliver()
        assignment = self._fetch()
        if assignment is not None and not self.settled and self.outbox.memory.report is None:
            return self._reported(assignment, step)
        states, controls = self._unreported(assignment, step)
        return Outcome(self._status(), "" if assignment is None else assignment.id, states, controls, self._answer)

    def _reported(self, assignment: Assignment, step: Step) -> Outcome:
        """An episode that is reported: in the outbox first, then on its way."""
        states, controls = control(assignment.control, assignment.controller.horizon, step)
        self.outbox.keep(report=assignment.report(states, controls, secrets.token_hex(16)).to_dict())
        return Outcome(self._deliver(), assignment.id, states, controls, self._answer)

    def _unreported(self, assignment: Assignment | None, step: Step) -> tuple[Array, Array]:
        """An episode that nobody hears of, and that explores nothing: excitation serves reports alone."""
        found = self.baseline if assignment is None else assignment.controller
        if found is None:
            raise HushloopError(
                f"no assignment was ever fetched from {self.wire.host} and there is no `baseline`: give one, or wait"
                " until the server answers"
            )
        still = np.zeros(found.gains.shape[1])
        return control(lambda h, x: found.control(h, x, still), found.horizon, step)

    def _status(self) -> str:
        memory = self.outbox.memory
        return "waiting" if memory.report is not None else memory.settled or "silent"

    def _fetch(self) -> Assignment | None:
        """The assignment in force; the last one where the server is away; None where there never was one."""
        memory = self.outbox.memory
        known = {"If-None-Match": memory.etag} if memory.assignment is not None and memory.etag else {}
        answer = self._ask("GET", "/v1/assignment", None, known)
        if answer is not None and answer.status == 200:
            self._believe(answer)
        elif answer is not None and answer.status != 304:
            raise HushloopError(f"the server gives no assignment: {answer.message}")
        found = self.outbox.memory.assignment
        return None if found is None else Assignment.from_dict(found)

    def _believe(self, answer: Answer) -> None:
        Assignment.from_dict(answer.document)  # refused before it is kept
        self.outbox.keep(assignment=answer.document, etag=answer.headers.get("etag", ""))

    def _deliver(self) -> str:
        """Send what waits; the status that comes of it, "" where nothing did."""
        report = self.outbox.memory.report
        if report is None:
            return ""
        answer = self._ask("POST", "/v1/reports", report, {"Authorization": f"Bearer {self._ticket}"})
        if answer is None:
            return "waiting"
        self._answer = answer.document
        if answer.status in (200, 201):
            return self._settle("accepted")
        if answer.status == 410:
            return self._settle("finished" if answer.code == "finished" else "spent")
        if answer.status == 409 and answer.code == "superseded":
            self.outbox.keep(report=None)
            return "superseded"
        self.outbox.keep(report=None, assignment=None, etag="")  # it would be refused for ever
        raise HushloopError(f"the server refused the report: {answer.message}")

    def _settle(self, how: str) -> str:
        self.outbox.keep(report=None, settled=how)
        return how

    def _ask(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Answer | None:
        """The answer, or None while the server is away; it is left alone until the pause is over."""
        if self._clock() < self._not_before:
            return None
        try:
            answer = self.wire.ask(method, path, body, headers)
        except AwayError as why:
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._failures, 30)) * _ENTROPY.uniform(0.5, 1.0)
            self._failures += 1
            self._not_before = self._clock() + max(pause, min(why.retry_after or 0.0, LONGEST_PAUSE))
            return None
        self._failures, self._not_before = 0, -1.0
        return answer


def control(law: Callable[[int, Array], Array], horizon: int, step: Step) -> tuple[Array, Array]:
    """Play one episode: states (H+1, n) and the controls as they were applied (H, d)."""
    states, controls = [np.asarray(step(None), dtype=float)], []
    for h in range(horizon):
        controls.append(law(h, states[-1]))
        states.append(np.asarray(step(controls[-1]), dtype=float))
    return np.array(states), np.array(controls)


_ENTROPY = random.SystemRandom()
