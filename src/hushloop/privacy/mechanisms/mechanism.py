"""The curator's book-keeping around any strategy: blocks that open, take reports, and close once, each exactly once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, final

import numpy as np

from ...device import Collection, Report, within_bounds
from ...errors import HushloopError, InvalidInput
from ..budget import Adjacency, Guarantee
from ..noise import NoiseSource
from ..release import Release, Sums
from ..schedule import whole
from ..sensitivity import NoiseScales
from .base import (
    Array,
    Key,
    Noise,
    Strategy,
    dump_collection,
    dump_sums,
    load_collection,
    load_sums,
    same_collection,
)


@final
class Mechanism:
    """A stream of blocks under one strategy. It holds raw sums: of all that it makes, only releases may be shown."""

    def __init__(self, strategy: Strategy, source: NoiseSource) -> None:
        self.strategy = strategy
        self.source = source
        self.index = 0  # blocks closed so far
        self.total_users = 0  # users in them
        self.collection: Collection | None = None  # of the latest block
        self.block: Block | None = None  # the open one
        self._memory: dict[str, Any] | None = None
        self._counted: dict[str, str] = {}  # report id → digest, so that a report sent twice counts once, for ever

    @property
    def name(self) -> str:
        return self.strategy.name

    def open(
        self, collection: Collection, users: int, scales: NoiseScales | None = None, ids: Iterable[str] = ()
    ) -> Block:
        """Fix the next block before its first report: collection, public size, noise, and the assignments it takes."""
        whole("users", users)
        if self.block is not None:
            raise HushloopError(f"block {self.block.index} is still open: close it before the next one opens")
        if self.collection is not None and collection is not self.collection:
            if self.strategy.fixed and not same_collection(collection, self.collection):
                raise InvalidInput(
                    "collection", f"differs from the first one, and `{self.name}` adds reports up across blocks",
                    "keep the first collection, or use `blocks`",
                )  # fmt: skip
            if (collection.p, collection.n) != (self.collection.p, self.collection.n):
                raise InvalidInput("collection", "has another shape than the first one", "start another mechanism")
        used = self.strategy.scales(collection) if scales is None else scales
        self.strategy.check(collection, used)
        if self._memory is None:
            self._memory = self.strategy.start(collection.p, collection.n)
        block = Block(self, collection, users, used, ids)
        block._prepare(users)
        self.collection, self.block = collection, block
        return block

    def guarantee(self, delta: float, adjacency: Adjacency) -> Guarantee:
        """What every transcript keeps for one person, however long it goes on."""
        return self.strategy.guarantee(delta, adjacency)

    def covariance(self, ends: Iterable[int]) -> Array:
        """Cov of releases after `ends` users, in units of σ² of a measurement: the same for each entry of T1 and T2."""
        W = self.strategy.weights(tuple(ends))
        return W @ W.T

    def noise(self, collection: Collection, ends: Iterable[int]) -> tuple[NoiseScales, ...]:
        """Exact noise of the releases after `ends` users, all collected like this."""
        scales = self.strategy.scales(collection)
        factors = np.sqrt(np.diag(self.covariance(ends)))
        return tuple(NoiseScales(scales.sigma_s * float(f), scales.sigma_c * float(f)) for f in factors)

    def state(self) -> dict[str, Any]:
        """Everything as plain numbers, text and lists, the noise already drawn included. As secret as the reports."""
        return {
            "strategy": self.name,
            "index": self.index,
            "total_users": self.total_users,
            "collection": None if self.collection is None else dump_collection(self.collection),
            "memory": None if self._memory is None else self.strategy.dump(self._memory),
            "counted": dict(self._counted),
            "block": None if self.block is None else self.block._state(),
        }

    @staticmethod
    def from_state(strategy: Strategy, source: NoiseSource, state: Mapping[str, Any]) -> Mechanism:
        """Go on from `state()`: noise that was drawn before is used, and none of its keys is drawn again."""
        if state["strategy"] != strategy.name:
            raise InvalidInput("strategy", f"is {strategy.name!r}", f"the state was saved by {state['strategy']!r}")
        out = Mechanism(strategy, source)
        out.index, out.total_users = state["index"], state["total_users"]
        out._counted = dict(state["counted"])
        if state["collection"] is not None:
            out.collection = load_collection(state["collection"])
            out._memory = strategy.load(state["memory"])
        if state["block"] is not None:
            assert out.collection is not None
            out.block = Block._from_state(out, out.collection, state["block"])
            strategy.check(out.collection, out.block.scales)  # its noise was drawn for the budget of the state
        return out


@final
class Block:
    """One open block. Its collection, size and noise cannot change, and it closes once."""

    __slots__ = ("_ids", "_noise", "_owner", "_sums", "collection", "index", "scales", "users")

    def __init__(
        self, owner: Mechanism, collection: Collection, users: int, scales: NoiseScales, ids: Iterable[str]
    ) -> None:
        self._owner = owner
        self._ids = set(ids)
        self._noise: dict[Key, Noise] = {}
        self._sums = Sums.zero(collection.p, collection.n)
        self.collection = collection
        self.index = owner.index
        self.users = users  # public size
        self.scales = scales

    @property
    def count(self) -> int:
        """Reports so far."""
        return self._sums.users

    @property
    def full(self) -> bool:
        return self._sums.users >= self.users

    @property
    def closed(self) -> bool:
        return self._owner.block is not self

    def accept(self, assignment_id: str) -> None:
        """Take reports that ran this assignment, too."""
        self._alive()
        self._ids.add(assignment_id)

    def add(self, report: Report) -> bool:
        """Count one report; False: it was counted before. One beyond its norm bounds counts as zeros."""
        self._alive()
        if report.assignment_id not in self._ids:
            raise HushloopError(
                f"the report ran assignment {report.assignment_id!r}, which is not of block {self.index}: "
                "fetch the current assignment and run another episode"
            )
        S, C = _well_formed(report, self.collection)
        if report.report_id and self._seen(report):
            return False
        self._room(1)
        if within_bounds(self.collection, S, C):
            more = Sums.of(report)
        else:
            more = Sums(1, *_zeros(self.collection))
        self._sums = self._sums + more
        if report.report_id:
            self._owner._counted[report.report_id] = _digest(report)
        return True

    def add_sums(self, sums: Sums) -> None:
        """Count many users at once (simulation): our own device code made the sums, so bounds are not rechecked."""
        self._alive()
        self._room(sums.users)
        if sums.S.shape != self._sums.S.shape or sums.C.shape != self._sums.C.shape:
            raise InvalidInput("sums", f"have {sums.S.size} and {sums.C.size} entries", "they fit another collection")
        self._sums = self._sums + sums

    def close(self) -> Release | None:
        """End the block, full or at a public deadline. None: the strategy has no release here; the sums stay inside."""
        self._alive()
        owner, strategy = self._owner, self._owner.strategy
        assert owner._memory is not None
        if not self.full:
            self._prepare(self._sums.users)
        total = owner.total_users + self._sums.users
        out: Release | None = None
        if strategy.keys(owner._memory, self._sums.users) is None:
            memory = strategy.skip(owner._memory, self._sums)
        else:
            memory, T1, T2, factor = strategy.release(owner._memory, self._sums, self._noise)
            prefix = strategy.kind == "prefix"
            out = Release(
                index=self.index, users=total if prefix else self._sums.users, total_users=total, T1=T1, T2=T2,
                sigma_s=self.scales.sigma_s * factor, sigma_c=self.scales.sigma_c * factor,
                isotropic=strategy.isotropic, collection=self.collection, kind=strategy.kind, fresh=not prefix,
            )  # fmt: skip
        # all at once, after everything that can fail
        owner._memory, owner.block, owner.index, owner.total_users = memory, None, owner.index + 1, total
        return out

    def _prepare(self, users: int) -> None:
        """Draw, ahead of the data, the noise that a release after so many users needs."""
        owner, c = self._owner, self.collection
        assert owner._memory is not None
        for key in owner.strategy.keys(owner._memory, users) or ():
            if key not in self._noise:
                self._noise[key] = owner.strategy.draw(owner.source, key, c.p, c.n, self.scales)

    def _alive(self) -> None:
        if self._owner.block is not self:
            raise HushloopError(f"block {self.index} is closed: open the next one")

    def _room(self, more: int) -> None:
        if self._sums.users + more > self.users:
            raise HushloopError(
                f"block {self.index} has {self._sums.users} of its {self.users} reports: {more} more do not fit"
            )

    def _seen(self, report: Report) -> bool:
        known = self._owner._counted.get(report.report_id)
        if known is not None and known != _digest(report):
            raise InvalidInput(
                "report_id", f"{report.report_id!r} was counted with other content", "give each report its own id"
            )
        return known is not None

    def _state(self) -> dict[str, Any]:
        return {
            "users": self.users,
            "scales": [self.scales.sigma_s, self.scales.sigma_c],
            "ids": sorted(self._ids),
            "noise": [[list(key), noise.to_dict()] for key, noise in self._noise.items()],
            "sums": dump_sums(self._sums),
        }

    @staticmethod
    def _from_state(owner: Mechanism, collection: Collection, value: Mapping[str, Any]) -> Block:
        block = Block(owner, collection, value["users"], NoiseScales(*value["scales"]), value["ids"])
        block._noise = {(key[0], key[1]): Noise.from_dict(noise) for key, noise in value["noise"]}
        block._sums = load_sums(value["sums"])
        return block


def _well_formed(report: Report, collection: Collection) -> tuple[Any, Any]:
    p, n = collection.p, collection.n
    for key, entries, size in (("S", report.S, p * (p + 1) // 2), ("C", report.C, p * n)):
        if entries.shape != (size,) or entries.dtype.kind not in "iu":
            raise InvalidInput(key, f"has shape {entries.shape} of {entries.dtype}", f"give {size} whole numbers")
    return report.S, report.C


def _zeros(collection: Collection) -> tuple[Any, Any]:
    zero = Sums.zero(collection.p, collection.n)
    return zero.S, zero.C


def _digest(report: Report) -> str:
    content = report.S.astype(np.int64).tobytes() + report.C.astype(np.int64).tobytes() + report.assignment_id.encode()
    return hashlib.sha256(content).hexdigest()[:32]
