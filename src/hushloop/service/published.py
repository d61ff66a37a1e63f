"""All that anybody but the curator may see, encoded once and swapped as a whole after each commit."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from .block import OpenSums
from .store import AssignmentRow, Store


@dataclass(frozen=True)
class Published:
    """Public values alone: made of releases, assignments and the deployment, never of an open block's content."""

    assignment: bytes
    etag: str
    releases: bytes
    releases_etag: str
    release_count: int
    users: int  # in closed blocks
    block_users: int | None  # public size of the open block; None when finished
    deadline: float | None
    restores: int  # acknowledged
    anonymous: bool  # tickets were issued for nobody in particular

    @property
    def finished(self) -> bool:
        return self.block_users is None

    @staticmethod
    def of(store: Store, latest: AssignmentRow, block: OpenSums | None) -> Published:
        document = json.loads(latest.body)
        document["closes"] = None if block is None else {"users": block.size, "deadline": block.deadline}
        assignment = json.dumps(document, allow_nan=False).encode()
        rows = store.releases()
        releases = ('{"releases":[' + ",".join(rows) + "]}").encode()
        return Published(
            assignment, etag(assignment), releases, etag(releases), len(rows),
            json.loads(rows[-1])["total_users"] if rows else 0,
            None if block is None else block.size, None if block is None else block.deadline,
            int(store.get("epoch") or 0), store.get("anonymous") is not None,
        )  # fmt: skip


def etag(body: bytes) -> str:
    return '"' + hashlib.sha256(body).hexdigest()[:32] + '"'
