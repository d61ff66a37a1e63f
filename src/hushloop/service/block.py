"""One block's life: it opens with its noise drawn, sums whole numbers, and closes into a release and the next one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from ..agent import Agent
from ..device import Assignment, Collection
from ..privacy.mechanisms import NoiseSource
from ..privacy.mechanisms.base import dump_collection
from ..privacy.release import Release, Sums
from .chain import Place, make_id
from .deployment import Deployment
from .protocol import ReleaseOut
from .store import AssignmentRow, OpenBlock


@dataclass(eq=False)
class OpenSums:
    """The open block in memory, between two commits. Secret."""

    block: int
    number: int  # of its assignment, from 1
    assignment_id: str
    collection: Collection
    size: int  # public
    deadline: float | None  # public
    snapshot: str
    count: int
    sums: list[int]  # entries of S, then of C

    @property
    def full(self) -> bool:
        return self.count >= self.size

    @property
    def room(self) -> int:
        return self.size - self.count

    def text(self) -> str:
        return json.dumps(self.sums)

    @staticmethod
    def of(row: OpenBlock, number: int, assignment_id: str) -> OpenSums:
        state = json.loads(row.snapshot)
        agent_block = state["mechanism"]["block"]
        assignment = Assignment.from_dict(json.loads(state["assignment"]))
        return OpenSums(
            row.block, number, assignment_id, assignment.collection, agent_block["users"], row.deadline, row.snapshot,
            row.reports, json.loads(row.sums),
        )  # fmt: skip


@dataclass(frozen=True)
class Closed:
    """What closing a block makes: a release, and the next block unless the deployment is finished."""

    release: ReleaseOut
    next_agent: Agent | None


def open_rows(
    agent: Agent, secret: bytes, epoch: int, previous: str, opened: float, deadline: float | None
) -> tuple[AssignmentRow, OpenBlock]:
    """What is stored when an agent's open block is published: the assignment, and the secret beginning."""
    block = agent.block
    assert block is not None
    identity = make_id(secret, Place(epoch, block.index), previous)
    closes = None if deadline is None else opened + deadline
    document = {
        **agent.assignment().to_dict(), "assignment_id": identity, "closes": {"users": block.users, "deadline": closes}
    }  # fmt: skip
    body = json.dumps(document, allow_nan=False)
    p, n = block.collection.p, block.collection.n
    zeros = json.dumps([0] * (p * (p + 1) // 2 + p * n))
    snapshot = json.dumps({**agent.state(), "assignment": body})
    return AssignmentRow(identity, epoch, block.index, body), OpenBlock(block.index, 0, zeros, snapshot, closes, opened)


def close_block(deployment: Deployment, source: NoiseSource, block: OpenSums) -> Closed:
    """The release, the next knowledge, the next plan and its noise: all from the snapshot and the sums."""
    agent = deployment.agent(json.loads(block.snapshot), source)
    collection = block.collection
    upper = collection.p * (collection.p + 1) // 2
    S, C = whole_array(block.sums[:upper]), whole_array(block.sums[upper:])
    agent.receive_sums(Sums(block.count, S, C))
    if agent.mechanism.index == block.block:  # a deadline, and the block is not full
        agent.close()
    release = agent.release
    assert release is not None
    return Closed(release_out(release, block.assignment_id), None if agent.finished else agent)


def whole_array(values: Sequence[int]) -> Any:
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def release_out(release: Release, assignment_id: str) -> ReleaseOut:
    """What is published of a release: everything that the learner saw."""
    return ReleaseOut(
        release.index, assignment_id, release.users, release.total_users, release.T1.tolist(), release.T2.tolist(),
        release.sigma_s, release.sigma_c, dump_collection(release.collection),
    )  # fmt: skip


def encode_release(release: ReleaseOut) -> str:
    return msgspec.json.encode(release).decode()
