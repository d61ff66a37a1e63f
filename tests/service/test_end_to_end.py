"""Servers, devices and fleets as they are used: over HTTP, with kills, and held to what simulation predicts."""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from replayed import BUDGET, assert_standard_normal, noise_in, recorded, replay, scores
from served import Served, summary

from hushloop.device import Assignment
from hushloop.lq import gallery
from hushloop.service.client import Device
from hushloop.service.fleet import Simulated
from hushloop.service.keepalive import Line, Target
from hushloop.simulation.run import simulate

FLEET = int(os.environ.get("HUSHLOOP_FLEET", "50000"))
EXAMPLE = Path(__file__).parents[2] / "examples" / "thermostat.py"


def test_a_device_and_a_server(tmp_path: Path) -> None:
    """Reports, a release, a server that is away, and one that comes back from kill -9."""
    plant = gallery.get("toy")
    rng = np.random.default_rng(1)

    class Hardware:
        def step(self, u: Any) -> Any:
            x1 = plant.problem.start.sample(1, rng)[0]
            self.x = x1 if u is None else plant.A @ self.x + plant.B @ u + plant.problem.disturbance.sample(1, rng)[0]
            return self.x

    with Served(tmp_path, "--first", 2) as server:
        tickets = server.tickets(4)
        devices = [Device(server.url, ticket, tmp_path / f"outbox-{k}") for k, ticket in enumerate(tickets)]
        late = devices[2].episode  # fetches nothing yet
        first = [devices[k].run(Hardware().step) for k in (0, 1)]
        assert [one.status for one in first] == ["accepted", "accepted"]
        assert first[0].assignment_id == first[1].assignment_id
        server.releases(1)
        second = late(Hardware().step)
        assert second.status == "accepted"
        assert second.assignment_id != first[0].assignment_id
        server.kill()
        away = Device(server.url, tickets[2], tmp_path / "outbox-2").episode(Hardware().step)
        assert (away.status, away.assignment_id) == ("accepted", second.assignment_id)  # settled before
        server.start()
        assert devices[3].run(Hardware().step).status == "accepted"
        again = Device(server.url, tickets[0], tmp_path / "another").run(Hardware().step)
        assert again.status == "spent"


def test_the_thermostat_demonstrates_itself() -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[2] for line in lines[:-1]] == ["accepted:"] * 6
    assert lines[-1] == "releases: 1"


@pytest.mark.slow
def test_a_fleet_and_its_record(tmp_path: Path) -> None:
    """Blocks close under way; the record holds what was counted, and what it holds is answered as repeated."""
    with Served(tmp_path, "--first", 60) as server:
        options = ("--devices", 300, "--operator-key-file", server.key, "--seed", 3)
        found = server.fleet(*options, "--record", tmp_path / "sent", "--connections", 16)
        assert (found["accepted"], found["repeated"], found["failed"]) == (300, 0, 0)
        assert found["superseded"] > 0
        assert 0 < found["p50_ms"] <= found["p99_ms"]
        before = server.get("/v1/releases")
        reports = recorded(tmp_path / "sent")
        assert [len(reports[release["assignment_id"]]) for release in before["releases"]] == [60, 120]
        again = server.fleet("--replay", tmp_path / "sent")
        assert (again["accepted"], again["repeated"], again["failed"]) == (0, 300, 0)
        assert server.get("/v1/releases") == before
        replay(before["releases"], reports, 60)


@pytest.mark.slow
def test_duplicates_from_64_connections_count_once(tmp_path: Path) -> None:
    """Every report three times, at about the same time, over 64 connections."""
    users = 400
    with Served(tmp_path, "--first", users) as server:
        fleet = Simulated(gallery.get("toy"), 5, server.tickets(users))
        fleet.obey(Assignment.from_dict(server.get("/v1/assignment")))
        parcels = [fleet.parcel(device) for device in range(users - 1)] * 3
        random.Random(1).shuffle(parcels)
        parcels += [fleet.parcel(users - 1)]
        answers = asyncio.run(send_all(server.url, parcels))
        assert sum(not answer["repeated"] for answer in answers) == users
        assert sum(answer["repeated"] for answer in answers) == 2 * (users - 1)
        (release,) = server.releases(1)
        assert release["users"] == users
        sent = {json.loads(parcel.body)["report_id"]: parcel.body.decode() for parcel in parcels}
        (tmp_path / "sent").write_text("\n".join(sent.values()))
        reports = recorded(tmp_path / "sent")[release["assignment_id"]]
        assert_standard_normal(scores(release, noise_in(release, reports)))


async def send_all(url: str, parcels: list[Any]) -> list[dict[str, Any]]:
    """The last parcel alone after all others, so that the block is still open for every copy."""
    target, answers, waiting = Target(url), [], list(parcels[:-1])

    async def worker(line: Line) -> None:
        while waiting:
            parcel = waiting.pop()
            status, _, body = await line.ask(target.request("POST", "/v1/reports", parcel.body, parcel.secret))
            assert status == 200, body
            answers.append(json.loads(body))

    lines = [await Line.open(target) for _ in range(64)]
    await asyncio.gather(*(worker(line) for line in lines))
    waiting.append(parcels[-1])
    await worker(lines[0])
    for line in lines:
        line.close()
    return answers


@pytest.mark.slow
def test_kills_under_load(tmp_path: Path) -> None:
    """The server is killed twice while a fleet reports; the fleet goes on, and every report is counted once."""
    with Served(tmp_path, "--first", 500) as server:
        fleet = server.load("--devices", 6000, "--operator-key-file", server.key, "--record", tmp_path / "sent")
        for _ in range(2):
            time.sleep(1.2)
            server.kill()
            server.start()
        found = summary(fleet)
        assert (found["accepted"], found["failed"]) == (6000, 0)
        releases = server.get("/v1/releases")["releases"]
        reports = recorded(tmp_path / "sent")
        replay(releases, reports, 500)
        values = [z for one in releases for z in scores(one, noise_in(one, reports[one["assignment_id"]]))]
        assert len(values) >= 36
        assert_standard_normal(values)
        again = server.fleet("--replay", tmp_path / "sent")
        assert (again["accepted"], again["repeated"]) == (0, 6000)


@pytest.mark.slow
def test_a_whole_learning_run_over_http(tmp_path: Path) -> None:
    """The published assignments are an agent's own, the noise is the declared one, the loss is what is predicted."""
    plant = gallery.get("toy")
    with Served(tmp_path) as server:
        found = server.fleet("--devices", FLEET, "--operator-key-file", server.key, "--record", tmp_path / "sent")
        assert (found["accepted"], found["failed"]) == (FLEET, 0)
        releases, last = server.get("/v1/releases")["releases"], server.get("/v1/assignment")
    agent = replay(releases, recorded(tmp_path / "sent"), None)
    own = json.loads(json.dumps(agent.assignment().to_dict()))
    assert {key: last[key] for key in ("controller", "collection")} == {
        key: own[key] for key in ("controller", "collection")
    }
    values = [
        z for release, pair in zip(releases, agent.mechanism.source.pairs, strict=True) for z in scores(release, pair)
    ]
    assert_standard_normal(values)
    served = Assignment.from_dict(last)
    loss = plant.cost(served.controller.gains, served.controller.excitation) - plant.optimal_cost
    predicted = simulate("refined", plant, FLEET, 32, BUDGET)
    losses = [[row["loss"] for row in predicted.rows if row["seed"] == seed][-1] for seed in range(32)]
    assert loss < highest_plausible(losses)
    assert loss < 0.05 * (plant.idle_cost - plant.optimal_cost)


def highest_plausible(losses: list[float], alarm: float = 1e-6) -> float:
    """The upper prediction limit of one more loss, were their logarithms normal (Student's t, exact)."""
    from scipy.special import stdtrit

    logs = np.log(losses)
    m = len(losses)
    spread = float(logs.std(ddof=1)) * math.sqrt(1 + 1 / m)
    return math.exp(float(logs.mean()) + float(stdtrit(m - 1, 1 - alarm)) * spread)
