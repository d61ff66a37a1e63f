"""Small deployments, curators in a folder, and reports that devices of `toy` would make."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hushloop.device import Assignment, Report
from hushloop.lq import gallery
from hushloop.privacy.budget import Budget
from hushloop.privacy.mechanisms import NoiseSource
from hushloop.privacy.noise import ExactNoise, Pair, SeededNoise
from hushloop.privacy.sensitivity import NoiseScales
from hushloop.service.clock import Clock
from hushloop.service.curator import Curator, Parts
from hushloop.service.deployment import Deployment
from hushloop.service.highwater import HighWater
from hushloop.service.judge import Answer, Incoming
from hushloop.service.keys import ServerSecret
from hushloop.service.protocol import ReportAnswer, ReportIn, TicketRequest
from hushloop.service.store import Store, open_store

TOY = gallery.get("toy")


class Wall:
    """A machine's clock that a test moves."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@dataclass
class Recorded:
    """Exact noise, remembered by its number; a second one plays it again."""

    draws: dict[int, Pair] = field(default_factory=dict)
    replay: bool = False
    name = "recorded"
    description = "exact noise that a test remembers"
    grid = True

    def draw(self, p: int, n: int, scales: NoiseScales, index: int, isotropic: bool = True) -> Pair:
        if not self.replay:
            assert index not in self.draws, "noise was drawn twice for one block"
            self.draws[index] = ExactNoise().draw(p, n, scales, index, isotropic)
        return self.draws[index]


def deployment(first: int = 8, **changes: Any) -> Deployment:
    budget = changes.pop("budget", Budget(1.0, 1e-6))
    return Deployment(TOY.problem, budget, first=first, **changes)


def curator(
    folder: Path, what: Deployment | None = None, url: str = "", source: NoiseSource | None = None,
    wall: Wall | None = None, store: Store | None = None,
) -> Curator:  # fmt: skip
    """Start, or start again, in a folder."""
    found = store or open_store(url or f"sqlite:///{folder}/hush.db")
    try:
        secret = ServerSecret.read(folder / "secret", found.get("deployment") is None)
        parts = Parts(
            what or deployment(), found, secret, HighWater(folder / "highwater"),
            SeededNoise(1) if source is None else source, Clock(wall or Wall()),
        )  # fmt: skip
        return Curator(parts)
    except BaseException:
        found.close()
        raise


def assignment(found: Curator) -> Assignment:
    return Assignment.from_json(found.published.assignment)


def tickets(found: Curator, count: int, person: str | None = None, lifetime: int = 3600) -> list[str]:
    return found.issue(TicketRequest(count, person, lifetime)).tickets


def episode(of: Assignment, rng: np.random.Generator, report_id: str = "") -> Report:
    """One user's report, by the device's own code."""
    problem = TOY.problem
    states, controls = [problem.start.sample(1, rng)[0]], []
    for h in range(problem.horizon):
        controls.append(of.control(h, states[-1], rng))
        w = problem.disturbance.sample(1, rng)[0]
        states.append(TOY.A @ states[-1] + TOY.B @ controls[-1] + w)
    return of.report(np.array(states), np.array(controls), report_id or secrets.token_hex(16))


def wire(report: Report) -> ReportIn:
    return ReportIn(report.report_id, report.assignment_id, report.S.tolist(), report.C.tolist())


def incoming(found: Curator, report: ReportIn, ticket: str) -> Incoming:
    secret = found.parts.secret
    content = json.dumps([report.assignment_id, report.S, report.C]).encode()
    return Incoming(report, secret.digest(content), secret.ticket_mark(ticket) if ticket else "")


def send(found: Curator, report: ReportIn, ticket: str) -> Answer:
    """One report in a group of its own; a block that it fills is closed."""
    answers = found.take([incoming(found, report, ticket)])
    found.tend()
    return answers[0]


def fill(found: Curator, users: int, seed: int = 0) -> list[Report]:
    """That many honest users, each under the assignment of her time."""
    rng = np.random.default_rng(seed)
    sent = []
    for ticket in tickets(found, users):
        sent.append(episode(assignment(found), rng))
        answer = send(found, wire(sent[-1]), ticket)
        assert isinstance(answer, ReportAnswer), answer
        assert not answer.zeros
    return sent
