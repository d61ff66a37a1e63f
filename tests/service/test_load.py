"""The load generator: every device ends accepted, whatever the server answers on the way, and the count is true."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scripted import Asked, Scripted, assignment, error, scripted

from hushloop.cli import main
from hushloop.errors import HushloopError, InvalidInput
from hushloop.lq import gallery
from hushloop.service import load as module
from hushloop.service.fleet import Recorded, Simulated
from hushloop.service.keepalive import Target, header
from hushloop.service.load import Load, Tally, code, message

TOY = gallery.get("toy")


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted() as one:
        one.current = assignment("first", horizon=TOY.problem.horizon)
        yield one


def tickets(asked: Asked) -> Any:
    if asked.path == "/v1/tickets":
        return 200, {"tickets": [f"t{k}" for k in range(asked.body["count"])]}, {}
    return "as usual"


def run(load: Load, devices: int, plant: Any = TOY) -> dict[str, Any]:
    return asyncio.run(load.simulate(devices, 1, "the-operators-key", plant))


def test_every_device_reports_once_with_its_ticket(server: Scripted) -> None:
    server.answer = tickets
    sent = io.StringIO()
    found = run(Load(server.url, 4, record=sent), 30)
    assert (found["accepted"], found["repeated"], found["superseded"], found["failed"]) == (30, 0, 0, 0)
    posted = [asked for asked in server.asked if asked.path == "/v1/reports"]
    assert sorted(asked.headers["authorization"] for asked in posted) == sorted(f"Bearer t{k}" for k in range(30))
    assert len({asked.body["report_id"] for asked in posted}) == 30
    key = next(asked for asked in server.asked if asked.path == "/v1/tickets").headers["authorization"]
    assert key == "Bearer the-operators-key"
    by_id = {asked.body["report_id"]: asked.body for asked in posted}
    assert {row["report_id"]: row for row in map(json.loads, sent.getvalue().splitlines())} == by_id
    assert 0 < found["p50_ms"] <= found["p99_ms"]


def test_a_superseded_episode_runs_again_and_is_recorded_once(server: Scripted) -> None:
    counted = []

    def close_after_ten(asked: Asked) -> Any:
        if asked.path == "/v1/reports":
            if asked.body["assignment_id"] != server.current.id:
                return error(409, "superseded")
            counted.append(asked.body["report_id"])
            if len(counted) == 10:
                server.current = assignment("second", horizon=TOY.problem.horizon)
        return tickets(asked)

    server.answer = close_after_ten
    sent = io.StringIO()
    found = run(Load(server.url, 4, record=sent), 30)
    assert (found["accepted"], found["failed"]) == (30, 0)
    assert found["superseded"] >= 1
    rows = [json.loads(line) for line in sent.getvalue().splitlines()]
    assert sorted(row["report_id"] for row in rows) == sorted(counted)
    assert {row["assignment_id"] for row in rows} == {"first", "second"}


def test_lost_answers_are_asked_for_again(server: Scripted) -> None:
    """The report was counted before the connection was lost: the device is accepted, not repeated."""
    seen: set[str] = set()

    def lose_the_first(asked: Asked) -> Any:
        if asked.path == "/v1/reports":
            repeated = asked.body["report_id"] in seen
            seen.add(asked.body["report_id"])
            return (200, {"accepted": True, "repeated": True}, {}) if repeated else None
        return tickets(asked)

    server.answer = lose_the_first
    found = run(Load(server.url, 2), 6)
    assert (found["accepted"], found["repeated"], found["failed"]) == (6, 0, 0)


def test_crowding_is_waited_out(server: Scripted) -> None:
    told: list[str] = []

    def crowded_once(asked: Asked) -> Any:
        if asked.path == "/v1/reports" and asked.body["report_id"] not in told:
            told.append(asked.body["report_id"])
            return error(429, "crowded", Retry_After="0")
        return tickets(asked)

    server.answer = crowded_once
    found = run(Load(server.url, 2), 5)
    assert (found["accepted"], found["failed"]) == (5, 0)
    assert len(told) == 5


def test_failures_are_counted_and_the_first_is_told(server: Scripted) -> None:
    server.answer = lambda asked: error(410, "finished") if asked.path == "/v1/reports" else tickets(asked)
    load = Load(server.url, 2)
    found = run(load, 5)
    assert (found["accepted"], found["failed"]) == (0, 5)
    assert load.tally.first_failure == "HTTP 410 it is finished"


def test_a_server_that_never_answers_fails_in_the_end(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.3)
    server.answer = lambda asked: None if asked.path == "/v1/reports" else tickets(asked)
    found = run(Load(server.url, 2), 3)
    assert found["failed"] == 3
    assert found["p99_ms"] is None


def test_an_assignment_that_is_never_replaced_is_told(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    server.answer = lambda asked: error(409, "superseded") if asked.path == "/v1/reports" else tickets(asked)
    with pytest.raises(HushloopError, match="still hands it out"):
        run(Load(server.url, 1), 1)


def test_the_rate_is_kept(server: Scripted) -> None:
    """Device k never begins before k/rate seconds, so that all of them cannot have ended sooner."""
    server.answer = tickets
    load = Load(server.url, 4, rate=40.0)
    found = run(load, 12)
    assert found["accepted"] == 12
    assert found["rate"] <= 12 / (11 / 40.0)


def test_replay_sends_what_was_recorded_without_tickets(server: Scripted) -> None:
    bodies = [{"report_id": f"r{k}", "assignment_id": "first", "S": [1], "C": [2]} for k in range(7)]
    server.answer = lambda asked: (200, {"repeated": asked.body["report_id"] != "r0"}, {})
    found = asyncio.run(Load(server.url, 3).replay([json.dumps(body) for body in bodies] + ["", "  "]))
    assert (found["accepted"], found["repeated"], found["failed"]) == (1, 6, 0)
    assert all("authorization" not in asked.headers for asked in server.asked)
    assert sorted(body["report_id"] for body in server.reports) == [body["report_id"] for body in bodies]


def test_the_plant_is_the_one_that_the_server_names(server: Scripted) -> None:
    named = {"problem": "toy"}
    server.answer = lambda asked: (200, named, {}) if asked.path == "/v1/statement" else tickets(asked)
    assert run(Load(server.url, 1), 2, None)["accepted"] == 2
    named["problem"] = "a house of somebody's own"
    with pytest.raises(HushloopError, match="--plant"):
        run(Load(server.url, 1), 2, None)


def test_a_device_is_the_same_user_under_every_assignment() -> None:
    """Device k is user k of the seed: superseded or not, early or late, its report depends on nothing else."""
    fleet, other = (Simulated(TOY, 4, [f"t{k}" for k in range(1100)]) for _ in range(2))
    first, second = (assignment(name, horizon=TOY.problem.horizon) for name in ("first", "second"))
    fleet.obey(first)
    early = fleet.parcel(1050)
    fleet.obey(second)
    late = json.loads(fleet.parcel(1050).body)
    other.obey(second)
    assert {k: late[k] for k in "SC"} == {k: json.loads(other.parcel(1050).body)[k] for k in "SC"}
    assert {k: late[k] for k in "SC"} == {k: json.loads(early.body)[k] for k in "SC"}  # they differ in name alone
    assert late["report_id"] != json.loads(early.body)["report_id"]
    assert late["assignment_id"] == "second"
    assert json.loads(other.parcel(3).body)["S"] != late["S"]
    assert Recorded(["a", " ", "b\n"]).size == 2


def test_summary_of_known_latencies() -> None:
    tally = Tally(accepted=98, repeated=2, latencies=list(np.arange(1, 101) / 1000.0))
    found = tally.summary(4.0)
    assert (found["rate"], found["p50_ms"], found["p99_ms"]) == (25.0, 51.0, 100.0)


def test_requests_and_answers_as_bytes() -> None:
    target = Target("https://hush.example/base/")
    assert (target.secure, target.port) == (True, 443)
    sent = target.request("POST", "/v1/reports", b"{}", "secret")
    head, _, body = sent.partition(b"\r\n\r\n")
    assert body == b"{}"
    assert head.splitlines() == [
        b"POST /base/v1/reports HTTP/1.1", b"Host: hush.example", b"Authorization: Bearer secret",
        b"Content-Type: application/json", b"Content-Length: 2",
    ]  # fmt: skip
    assert header("http/1.1 429 x\r\nretry-after: 7\r\nb: c", "retry-after") == "7"
    assert code(b'{"error": {"code": "superseded", "message": "m"}}') == "superseded"
    assert (code(b"no json"), message(502, b"no json")) == ("", "HTTP 502")
    with pytest.raises(InvalidInput, match="url"):
        Target("hush.example")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--devices", "3"], "--operator-key-file"),
        ([], "--devices"),
        (["--replay", "FILE", "--devices", "3"], "--replay"),
    ],
)
def test_usage_errors(options: list[str], word: str, tmp_path: Path) -> None:
    (tmp_path / "sent").write_text("")
    given = [str(tmp_path / "sent") if option == "FILE" else option for option in options]
    done = CliRunner().invoke(main, ["load", "--url", "http://127.0.0.1:9", *given])
    assert done.exit_code == 2
    assert word in done.output


def test_nobody_there_is_said(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("a key of some length\n")
    key.chmod(0o600)
    options = ["--url", "http://127.0.0.1:9", "--devices", "1", "--operator-key-file", str(key)]
    done = CliRunner().invoke(main, ["load", *options])
    assert done.exit_code == 3
    assert "nobody answers" in done.output
