"""A fleet of simulated devices over real connections: every device ends accepted, and the way there is told."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TextIO

from ..device import Assignment
from ..errors import HushloopError
from ..lq import Plant
from .fleet import Fleet, Parcel, Recorded, Simulated
from .keepalive import Line, LostError, Target, header

TICKETS_AT_ONCE = 1000
PATIENCE = 30.0
"""Seconds that a device goes on trying while the server does not answer."""

STALE_PAUSE = 0.02
"""Seconds between two looks for the assignment after a block's last one."""


@dataclass
class Tally:
    """What has happened so far."""

    accepted: int = 0
    repeated: int = 0
    superseded: int = 0
    failed: int = 0
    latencies: list[float] = field(default_factory=list)  # seconds
    first_failure: str = ""

    @property
    def done(self) -> int:
        return self.accepted + self.repeated + self.failed

    def fail(self, why: str) -> None:
        self.failed += 1
        self.first_failure = self.first_failure or why

    def summary(self, seconds: float) -> dict[str, Any]:
        ordered = sorted(self.latencies)

        def quantile(q: float) -> float | None:
            return round(1e3 * ordered[min(len(ordered) - 1, int(q * len(ordered)))], 3) if ordered else None

        return {
            "accepted": self.accepted,
            "repeated": self.repeated,
            "superseded": self.superseded,
            "failed": self.failed,
            "rate": round((self.accepted + self.repeated) / max(seconds, 1e-9), 1),
            "p50_ms": quantile(0.5),
            "p99_ms": quantile(0.99),
        }


class Load:
    """One run of a fleet against a server."""

    def __init__(
        self, url: str, connections: int = 64, rate: float | None = None, record: TextIO | None = None,
        show: Callable[[Tally, int, float], None] | None = None,
    ) -> None:  # fmt: skip
        self.target = Target(url)
        self.connections, self.rate, self.record, self.show = connections, rate, record, show
        self.tally = Tally()
        self._next = 0
        self._begin = 0.0
        self._refresh = asyncio.Lock()
        self._lines: list[Line] = []

    async def simulate(self, devices: int, seed: int, key: str, plant: Plant | None = None) -> dict[str, Any]:
        """Issue tickets and let every device report once; the plant is the gallery's that the server names."""
        tickets = await self.issue(devices, key)
        fleet = Simulated(plant or await self.named_plant(), seed, tickets)
        fleet.obey(await self.assignment())
        return await self.drive(fleet)

    async def replay(self, lines: list[str]) -> dict[str, Any]:
        """Send again what was recorded."""
        return await self.drive(Recorded(lines))

    async def drive(self, fleet: Fleet) -> dict[str, Any]:
        """Every device in turn, over all connections at once."""
        self._begin = time.perf_counter()
        shown = asyncio.create_task(self._show(fleet.size))
        try:
            await asyncio.gather(*(self._worker(fleet) for _ in range(min(self.connections, fleet.size))))
        finally:
            shown.cancel()
            for line in self._lines:
                line.close()
        return self.tally.summary(time.perf_counter() - self._begin)

    async def issue(self, count: int, key: str) -> list[str]:
        """Tickets from the operator's key."""
        tickets: list[str] = []
        async with self._line() as line:
            while len(tickets) < count:
                body = json.dumps({"count": min(TICKETS_AT_ONCE, count - len(tickets))}).encode()
                status, _, answer = await line.ask(self.target.request("POST", "/v1/tickets", body, key))
                if status not in (200, 201):
                    raise HushloopError(f"the server issues no tickets: {message(status, answer)}")
                tickets += json.loads(answer)["tickets"]
        return tickets

    async def named_plant(self) -> Plant:
        """The plant of the gallery whose name the server's statement bears."""
        from ..lq import gallery

        name = str((await self._get("/v1/statement")).get("problem", ""))
        if name not in gallery.names():
            raise HushloopError(f"the server works on {name!r}, which is no plant of the gallery: name it with --plant")
        return gallery.get(name)

    async def assignment(self) -> Assignment:
        return Assignment.from_dict(await self._get("/v1/assignment"))

    async def _get(self, path: str) -> dict[str, Any]:
        async with self._line() as line:
            status, _, answer = await line.ask(self.target.request("GET", path))
        if status != 200:
            raise HushloopError(f"GET {path}: {message(status, answer)}")
        found: dict[str, Any] = json.loads(answer)
        return found

    @asynccontextmanager
    async def _line(self) -> AsyncIterator[Line]:
        try:
            line = await Line.open(self.target)
        except OSError as why:
            raise HushloopError(
                f"nobody answers at {self.target.host}:{self.target.port} ({why}): is it served?"
            ) from why
        try:
            yield line
        finally:
            line.close()

    async def _worker(self, fleet: Fleet) -> None:
        line: Line | None = None
        while self._next < fleet.size:
            device, self._next = self._next, self._next + 1
            await self._turn(device)
            line = await self._report(fleet, device, line)

    async def _turn(self, number: int) -> None:
        """Wait until it is this device's time, where a rate is asked for."""
        if self.rate is not None:
            await asyncio.sleep(max(0.0, self._begin + number / self.rate - time.perf_counter()))

    async def _report(self, fleet: Fleet, device: int, line: Line | None) -> Line | None:
        """Until the device's report is settled; the connection that may be used again."""
        parcel = fleet.parcel(device)
        give_up = time.perf_counter() + PATIENCE
        resent = False
        while True:
            try:
                line = line or await self._open()
                begin = time.perf_counter()
                request = self.target.request("POST", "/v1/reports", parcel.body, parcel.secret)
                status, headers, answer = await line.ask(request)
            except (OSError, LostError) as why:
                line, resent = None, isinstance(fleet, Simulated)
                if time.perf_counter() > give_up:
                    self.tally.fail(f"no answer: {why}")
                    return None
                await asyncio.sleep(0.1)
                continue
            self.tally.latencies.append(time.perf_counter() - begin)
            if status in (429, 503) and time.perf_counter() < give_up:
                await asyncio.sleep(float(header(headers, "retry-after") or 1.0))
            elif status == 409 and code(answer) == "superseded" and isinstance(fleet, Simulated):
                self.tally.superseded += 1
                await self._renew(fleet, parcel.assignment_id, give_up)
                parcel, resent = fleet.parcel(device), False
            else:
                self._settle(parcel, status, answer, resent)
                return line

    async def _open(self) -> Line:
        line = await Line.open(self.target)
        self._lines.append(line)
        return line

    def _settle(self, parcel: Parcel, status: int, answer: bytes, resent: bool) -> None:
        """`resent`: an answer to the same report of this run was lost, so that `repeated` means accepted."""
        if status not in (200, 201):
            self.tally.fail(message(status, answer))
            return
        if json.loads(answer).get("repeated") and not resent:
            self.tally.repeated += 1
            return
        self.tally.accepted += 1
        if self.record is not None:
            self.record.write(parcel.body.decode() + "\n")

    async def _renew(self, fleet: Simulated, stale: str, give_up: float) -> None:
        """Fetch the assignment that follows the stale one, once for all connections."""
        async with self._refresh:
            while fleet.assignment is not None and fleet.assignment.id == stale:
                found = await self.assignment()
                fleet.obey(found)
                if found.id == stale:
                    if time.perf_counter() > give_up:
                        raise HushloopError(f"the server turns reports of {stale} away and still hands it out")
                    await asyncio.sleep(STALE_PAUSE)

    async def _show(self, total: int) -> None:
        while self.show is not None:
            await asyncio.sleep(1.0)
            self.show(self.tally, total, time.perf_counter() - self._begin)


def run(work: Callable[[], Any]) -> Any:
    """Run a coroutine on the fastest event loop that is installed."""
    try:
        from uvloop import run as fast
    except ImportError:
        return asyncio.run(work())
    return fast(work())


def code(answer: bytes) -> str:
    """The server's own name of an error."""
    return str(_error(answer).get("code", ""))


def message(status: int, answer: bytes) -> str:
    return f"HTTP {status} {_error(answer).get('message', '')}".strip()


def _error(answer: bytes) -> dict[str, Any]:
    try:
        found = json.loads(answer).get("error", {})
    except (ValueError, AttributeError):
        return {}
    return found if isinstance(found, dict) else {"code": found}
