"""The dashboard of one server: brought up to date when somebody looks, and kept until the next release."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import dataclass

import msgspec

from ...device import Assignment
from ..declared import declared
from ..deployment import Deployment
from ..protocol import ReleasesAnswer
from ..published import Published
from .history import History
from .page import render
from .tables import Table, tables
from .view import View, runs


@dataclass(frozen=True)
class Shown:
    """The page and its tables."""

    page: bytes
    etag: str
    tables: dict[str, Table]


class Board:
    """`first_size` is the public size of the first block. Nothing here reads the store."""

    def __init__(self, deployment: Deployment, first_size: int) -> None:
        self.deployment, self.first_size = deployment, first_size
        self._history: History | None = None
        self._key: tuple[object, ...] = ()
        self._shown: Shown | None = None
        self._turn = asyncio.Lock()

    async def shown(self, published: Published, status: str) -> Shown:
        """What is shown now; made in a thread, once for all who look."""
        key = (published.etag, published.releases_etag, published.restores, published.anonymous, status)
        async with self._turn:
            if self._shown is None or key != self._key:
                self._shown = await asyncio.to_thread(self._make, published, status)
                self._key = key
            return self._shown

    def _make(self, published: Published, status: str) -> Shown:
        view = self.view(published, status)
        found = tables(view)
        page = render(view, found)
        return Shown(page, f'"{hashlib.sha256(page).hexdigest()[:32]}"', found)

    def view(self, published: Published, status: str) -> View:
        if self._history is None:
            self._history = History(self.deployment)
        history, problem = self._history, self.deployment.problem
        releases = msgspec.json.decode(published.releases, type=ReleasesAnswer).releases
        history.extend(releases)
        served = Assignment.from_dict(json.loads(published.assignment)).controller
        points = history.with_served(served)
        return View(
            problem, status, tuple(releases), points, served, history.first, published.block_users,
            published.deadline, declared(self.deployment, published, self.first_size),
            runs(problem, points[-1].knowledge.estimate.mean, history.first, served),
        )  # fmt: skip
