"""Group commit: requests wait in a queue, one thread commits them together, and only then are they answered."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from typing import Any

from .curator import Curator, failed
from .judge import Answer, Incoming
from .protocol import TicketRequest, TicketsAnswer
from .refusals import CROWDED, STOPPING, Refusal, RefusedError

MOST_WAITING = 4096
"""Reports in the queue; one more is told to come again."""

LARGEST_BATCH = 512

TICK = 0.5
"""Seconds between looks at the deadline."""

Waiting = tuple[Incoming, "asyncio.Future[Answer]"]
Job = tuple[TicketRequest, "asyncio.Future[TicketsAnswer | Refusal]"]


class Writer:
    """Owns the curator: after `start` no other thread touches it."""

    def __init__(self, curator: Curator, largest_batch: int = LARGEST_BATCH) -> None:
        self.curator = curator
        self._largest = largest_batch
        self._reports: deque[Waiting] = deque()
        self._jobs: deque[Job] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="hushloop-writer", daemon=True)

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def stop(self) -> None:
        """Everything that waits is committed and answered first."""
        self._stopping = True
        self._wake.set()
        await asyncio.to_thread(self._thread.join)

    def report(self, item: Incoming) -> asyncio.Future[Answer]:
        assert self._loop is not None
        future: asyncio.Future[Answer] = self._loop.create_future()
        if self._stopping or len(self._reports) >= MOST_WAITING:
            future.set_result(STOPPING if self._stopping else CROWDED)
            return future
        self._reports.append((item, future))
        self._wake.set()
        return future

    def issue(self, request: TicketRequest) -> asyncio.Future[TicketsAnswer | Refusal]:
        assert self._loop is not None
        future: asyncio.Future[TicketsAnswer | Refusal] = self._loop.create_future()
        if self._stopping:
            future.set_result(STOPPING)
            return future
        self._jobs.append((request, future))
        self._wake.set()
        return future

    def _run(self) -> None:
        while True:
            self._wake.wait(TICK)
            self._wake.clear()
            while self._jobs:
                self._issue(*self._jobs.popleft())
            while self._reports:
                self._commit()
            self._tend()
            if self._stopping and not self._reports and not self._jobs:
                return

    def _commit(self) -> None:
        batch = [self._reports.popleft() for _ in range(min(len(self._reports), self._largest))]
        try:
            answers = self.curator.take([item for item, _ in batch])
        except Exception as why:
            answers = [failed(self.curator, why)] * len(batch)
        self._reports.extendleft(reversed(batch[len(answers) :]))
        self._tell([(future, answer) for (_, future), answer in zip(batch, answers, strict=False)])
        self._tend()

    def _issue(self, request: TicketRequest, future: asyncio.Future[TicketsAnswer | Refusal]) -> None:
        answer: TicketsAnswer | Refusal
        try:
            answer = self.curator.issue(request)
        except RefusedError as refused:
            answer = refused.refusal
        except Exception as why:
            answer = failed(self.curator, why)
        self._tell([(future, answer)])

    def _tend(self) -> None:
        try:
            self.curator.tend()
        except Exception as why:
            failed(self.curator, why)

    def _tell(self, answers: list[tuple[asyncio.Future[Any], Any]]) -> None:
        """One hop to the event loop for the whole group."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(_resolve, answers)


def _resolve(answers: list[tuple[asyncio.Future[Any], Any]]) -> None:
    for future, answer in answers:
        if not future.done():  # its client may have gone
            future.set_result(answer)
