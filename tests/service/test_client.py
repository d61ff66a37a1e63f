"""A device: one report a ticket whatever happens, and a plant that is controlled all the time."""

from __future__ import annotations

import json
import random
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scripted import HORIZON, Asked, Scripted, assignment, error, scripted

from hushloop.device import make_report
from hushloop.errors import HushloopError, InvalidInput
from hushloop.service.client import LONGEST_PAUSE, Device

HEAVY = ("numba", "scipy", "polars", "msgspec", "starlette", "uvicorn", "click", "rich", "apsw", "opendp")


BASELINE = assignment("base", 0.3).controller


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted() as one:
        yield one


class Plant:
    """A stand-in for the hardware."""

    def __init__(self) -> None:
        self.episodes = 0
        self.x = np.zeros(2)

    def step(self, u: Any) -> list[float]:
        if u is None:
            self.episodes += 1
            self.x = np.array([0.6, 0.8 / self.episodes])
        else:
            self.x = np.array([[0.4, 0.1], [0.0, 0.3]]) @ self.x + np.array([0.1, 0.2]) * float(u[0])
        return list(self.x)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_device_needs_numpy_and_the_standard_library_alone() -> None:
    code = f"import sys, hushloop.service.client; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_one_episode_is_reported_as_it_ran(server: Scripted) -> None:
    outcome = Device(server.url, "ticket-1").run(Plant().step)
    assert outcome.status == "accepted"
    assert outcome.assignment_id == "first"
    assert outcome.answer["accepted"] is True
    (sent,) = server.reports
    made = make_report(server.current, outcome.states, outcome.controls, sent["report_id"]).to_dict()
    assert sent == made
    assert sum(map(abs, sent["S"])) > 0
    assert len(sent["report_id"]) == 32
    posted = server.asked[-1]
    assert posted.headers["authorization"] == "Bearer ticket-1"
    assert all("authorization" not in asked.headers for asked in server.asked[:-1])


def test_excitation_does_not_come_from_a_seeded_stream(server: Scripted) -> None:
    server.current = assignment("long", horizon=64)
    runs = []
    for number in range(2):
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        runs.append(Device(server.url, f"t{number}").run(Plant().step).controls)
    assert not np.array_equal(*runs)  # equal with probability 2⁻⁶⁴


def test_the_report_is_on_the_disk_before_it_is_sent(server: Scripted, tmp_path: Path) -> None:
    outbox, kept = tmp_path / "outbox", []

    def look(asked: Asked) -> str:
        if asked.path == "/v1/reports":
            kept.append(json.loads(outbox.read_text())["report"] == asked.body)
        return "as usual"

    server.answer = look
    Device(server.url, "secret-ticket", outbox).run(Plant().step)
    assert kept == [True]
    assert stat.S_IMODE(outbox.stat().st_mode) == 0o600
    assert json.loads(outbox.read_text())["report"] is None
    assert json.loads(outbox.read_text())["ticket"] != "t"


def test_a_lost_answer_is_asked_for_again_with_the_same_report(server: Scripted, tmp_path: Path) -> None:
    server.answer = lambda asked: None if asked.path == "/v1/reports" else "as usual"
    first = Device(server.url, "t", tmp_path / "outbox").episode(Plant().step)
    assert first.status == "waiting"
    server.answer = lambda asked: "as usual"
    plant = Plant()
    second = Device(server.url, "t", tmp_path / "outbox").run(plant.step)  # the process was restarted
    assert second.status == "accepted"
    assert len(server.reports) == 2
    assert server.reports[0] == server.reports[1]
    third = Device(server.url, "t", tmp_path / "outbox").episode(plant.step)
    assert third.status == "accepted"
    assert len(server.reports) == 2, "a settled ticket carries nothing more"
    quiet = -0.1 * third.states[:-1].sum(axis=1, keepdims=True)
    assert third.controls == pytest.approx(quiet), "an episode that is not reported explores nothing"
    assert second.controls[0] == pytest.approx(-0.1 * second.states[0].sum()), "nor does one while a report waits"


def test_superseded_runs_another_episode_under_the_new_assignment(server: Scripted) -> None:
    def close(asked: Asked) -> Any:
        if asked.path == "/v1/reports" and asked.body["assignment_id"] == "first":
            server.current = assignment("second")
            return error(409, "superseded")
        return "as usual"

    server.answer = close
    plant = Plant()
    outcome = Device(server.url, "t").run(plant.step)
    assert outcome.status == "accepted"
    assert outcome.assignment_id == "second"
    assert plant.episodes == 2
    old, new = server.reports
    assert old["report_id"] != new["report_id"]
    assert old["S"] != new["S"]


def test_an_assignment_is_fetched_once(server: Scripted, tmp_path: Path) -> None:
    device = Device(server.url, "t", tmp_path / "outbox")
    for _ in range(3):
        device.episode(Plant().step)
    asked = [one.headers.get("if-none-match") for one in server.asked if one.path == "/v1/assignment"]
    assert asked == [None, '"first"', '"first"']


def test_without_a_server_the_plant_is_still_controlled(tmp_path: Path) -> None:
    clock, plant = Clock(), Plant()
    with scripted() as server:
        device = Device(server.url, "t", tmp_path / "outbox", baseline=BASELINE, timeout=5.0, clock=clock)
        server.answer = lambda asked: error(503, "stopping", Retry_After="2")
        idle = device.episode(plant.step)
        assert (idle.status, idle.assignment_id) == ("silent", "")
        assert idle.controls.shape == (HORIZON, 1)
        assert idle.controls[0] == pytest.approx(-0.1 * idle.states[0].sum()), "a baseline explores nothing"
        requests = len(server.asked)
        for _ in range(5):
            device.episode(plant.step)
        assert len(server.asked) == requests, "a server that is away is left alone until the pause is over"
        clock.now += 2.1
        server.answer = lambda asked: error(503, "stopping") if asked.path == "/v1/reports" else "as usual"
        assert device.episode(plant.step).status == "waiting"
    clock.now += LONGEST_PAUSE  # nobody listens at all now
    kept = device.episode(plant.step)
    assert (kept.status, kept.assignment_id) == ("waiting", "first")
    assert plant.episodes == 8


def test_pauses_grow_and_end(server: Scripted) -> None:
    clock = Clock()
    device = Device(server.url, "t", baseline=BASELINE, clock=clock)
    server.answer = lambda asked: error(500, "broken")
    tries = []
    for _ in range(6000):
        before = len(server.asked)
        device.episode(Plant().step)
        if len(server.asked) > before:
            tries.append(clock.now)
        clock.now += 0.5
    gaps = np.diff(tries)
    assert len(tries) < 40
    assert gaps[0] <= 1.0
    assert 100.0 < gaps.max() <= LONGEST_PAUSE + 0.5


def test_with_nothing_to_run_it_says_so(server: Scripted) -> None:
    server.answer = lambda asked: error(503, "stopping")
    with pytest.raises(HushloopError, match="baseline"):
        Device(server.url, "t").episode(Plant().step)


@pytest.mark.parametrize(("code", "status"), [("ticket_spent", "spent"), ("finished", "finished")])
def test_a_ticket_that_is_no_more_ends_the_run(server: Scripted, code: str, status: str) -> None:
    server.answer = lambda asked: error(410, code) if asked.path == "/v1/reports" else "as usual"
    device = Device(server.url, "t")
    assert device.run(Plant().step).status == status
    assert device.settled
    device.episode(Plant().step)
    assert len(server.reports) == 1


def test_a_refused_report_is_told_and_not_kept(server: Scripted, tmp_path: Path) -> None:
    server.answer = lambda asked: error(422, "unknown_assignment") if asked.path == "/v1/reports" else "as usual"
    device = Device(server.url, "t", tmp_path / "outbox")
    with pytest.raises(HushloopError, match="it is unknown_assignment"):
        device.run(Plant().step)
    server.answer = lambda asked: "as usual"
    assert device.run(Plant().step).status == "accepted"
    assert server.reports[0]["report_id"] != server.reports[1]["report_id"]


def test_a_redirect_takes_no_ticket_elsewhere(server: Scripted) -> None:
    with scripted() as thief:
        server.answer = lambda asked: (
            (307, {}, {"Location": f"{thief.url}/v1/reports"}) if asked.path == "/v1/reports" else "as usual"
        )
        with pytest.raises(HushloopError, match="refused"):
            Device(server.url, "t").run(Plant().step)
        assert thief.asked == []


def test_an_outbox_belongs_to_its_ticket(server: Scripted, tmp_path: Path) -> None:
    outbox = tmp_path / "outbox"
    server.answer = lambda asked: None if asked.path == "/v1/reports" else "as usual"
    Device(server.url, "one", outbox).episode(Plant().step)
    with pytest.raises(HushloopError, match="another ticket"):
        Device(server.url, "two", outbox)
    server.answer = lambda asked: "as usual"
    assert Device(server.url, "one", outbox).run(Plant().step).status == "accepted"
    assert Device(server.url, "two", outbox).run(Plant().step).status == "accepted"
    outbox.write_text("{")
    with pytest.raises(HushloopError, match="remove it"):
        Device(server.url, "three", outbox)


@pytest.mark.parametrize("url", ["127.0.0.1:80", "ftp://host/", "http://"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(InvalidInput, match="url"):
        Device(url, "t")


def test_an_answer_that_is_no_assignment_is_not_believed(server: Scripted) -> None:
    server.answer = lambda asked: (200, {"assignment_id": "x"}, {})
    with pytest.raises(InvalidInput, match="missing"):
        Device(server.url, "t").episode(Plant().step)
