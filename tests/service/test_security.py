"""One test for each row of docs/reference/threats.md, here and in test_security_store.py."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from curators_for_tests import assignment, curator, episode, send, tickets
from http_for_tests import running

from hushloop.device.report import within_bounds
from hushloop.service import keys, limits
from hushloop.service.app import Service
from hushloop.service.chain import Place, make_id
from hushloop.service.keys import OperatorKeys, ServerSecret
from hushloop.service.protocol import ReportAnswer, ReportIn

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "threats.md"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = Service(curator(tmp_path), OperatorKeys(tmp_path / "operator.key"))
    yield found
    found.curator.close()


@pytest.fixture
def http(service: Service) -> Iterator[httpx.Client]:
    with running(service) as client:
        yield client


def operator(service: Service) -> dict[str, str]:
    return {"authorization": f"Bearer {service.operators.path.read_text().strip()}"}


def body(service: Service, report_id: str = "", seed: int = 0) -> dict[str, Any]:
    return dict(episode(assignment(service.curator), np.random.default_rng(seed), report_id).to_dict())


def count(service: Service) -> int:
    assert service.curator.block is not None
    return service.curator.block.count


def test_the_table_and_the_tests_are_the_same() -> None:
    named = re.findall(r"\| `(test_\w+)` \|", PAGE.read_text(encoding="utf-8"))
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][2:]
    code = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_security*.py"))
    tests = set(re.findall(r"^def (test_\w+)", code, re.MULTILINE)) - {"test_the_table_and_the_tests_are_the_same"}
    assert len(named) == len(rows)
    assert sorted(named) == sorted(tests)


def test_reports_without_a_good_ticket_count_nothing(service: Service, http: httpx.Client) -> None:
    for header in (None, "Bearer", "Bearer " + "0" * 48, "Bearer ' OR 1=1 --", operator(service)["authorization"]):
        answer = http.post(
            "/v1/reports", json=body(service), headers={} if header is None else {"authorization": header}
        )
        assert answer.status_code == 401
    assert count(service) == 0


def test_guessing_is_slowed_down(service: Service, http: httpx.Client) -> None:
    wrong = {"authorization": "Bearer x"}
    codes = [http.post("/v1/tickets", json={}, headers=wrong).status_code for _ in range(limits.REFUSALS + 10)]
    assert codes[: limits.REFUSALS] == [401] * limits.REFUSALS
    assert codes[-1] == 429, "one guess a second is all that is left"
    for path in ("/v1/tickets", "/v1/reports"):
        blocked = http.post(path, json={}, headers=operator(service))
        assert (blocked.status_code, blocked.headers["retry-after"]) == (429, "60")
    assert http.get("/v1/assignment").status_code == 200
    behind_the_proxy = {**operator(service), "x-forwarded-for": "203.0.113.7"}
    assert http.post("/v1/tickets", json={}, headers=behind_the_proxy).status_code == 200, "another address pays for it"


def test_secrets_are_compared_in_constant_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key goes through `hmac.compare_digest`, also after one has matched; so do the codes of assignments."""
    compared: list[bytes | str] = []

    def compare(one: Any, other: Any) -> bool:
        compared.append(other)
        return bool(one == other)

    keys.write_private(tmp_path / "k", "a" * 20 + "\n" + "b" * 20 + "\n")
    operators = OperatorKeys(tmp_path / "k")
    monkeypatch.setattr(hmac, "compare_digest", compare)
    assert operators.accept("a" * 20)
    assert compared == [b"a" * 20, b"b" * 20]
    from hushloop.service.chain import read_id

    assert read_id(b"s", make_id(b"s", Place(0, 0), "")) == Place(0, 0)
    assert len(compared) == 3


def test_bodies_and_queues_are_bounded(service: Service, http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(10_000):
            yield b"[" * 1024

    for path, headers in (("/v1/reports", {}), ("/v1/tickets", operator(service))):
        assert http.post(path, content=endless(), headers=headers).status_code == 413
        assert http.post(path, content=b" " * 10**7, headers=headers).status_code == 413
    from hushloop.service import writer

    monkeypatch.setattr(writer, "MOST_WAITING", 0)
    assert http.post("/v1/reports", json=body(service)).status_code == 429


def test_no_body_makes_the_server_fail(service: Service, http: httpx.Client) -> None:
    valid = json.dumps(body(service)).encode()
    rng = np.random.default_rng(0)
    for k in range(300):
        broken = bytearray(valid)
        for at in rng.integers(0, len(valid), 1 + k % 4):
            broken[at] = rng.integers(256)
        answer = http.post("/v1/reports", content=bytes(broken[: rng.integers(1, len(valid) + 1)]))
        assert 400 <= answer.status_code < 500
        assert answer.json()["error"]["code"] in ("malformed", "ticket_missing", "unknown_assignment")
    assert http.get("/healthz").json()["status"] == "ok"


def test_nothing_public_moves_with_the_open_block(service: Service, http: httpx.Client) -> None:
    given = http.post("/v1/tickets", json={"count": 5}, headers=operator(service)).json()["tickets"]
    paths = ("/v1/assignment", "/v1/releases", "/v1/statement", "/healthz", "/metrics", "/openapi.json")
    before = {path: (http.get(path).content, dict(http.get(path).headers)) for path in paths}
    for k, ticket in enumerate(given):
        headers = {"authorization": f"Bearer {ticket}"}
        sent = body(service, f"r{k}", k) if k else {**body(service), "S": [2**60] + [0] * 5}
        answer = http.post("/v1/reports", json=sent, headers=headers)
        assert answer.json().keys() == {"report_id", "assignment_id", "accepted", "zeros", "repeated"}
        assert {path: (http.get(path).content, dict(http.get(path).headers)) for path in paths} == before
    assert count(service) == 5


def test_a_forged_assignment_locks_nothing(service: Service, http: httpx.Client) -> None:
    real = assignment(service.curator).id
    for forged in (make_id(b"guess" * 8, Place(0, 1), real), make_id(b"guess" * 8, Place(9, 9), ""), real[:-1] + "x"):
        answer = http.post("/v1/reports", json={**body(service), "assignment_id": forged})
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "unknown_assignment")
    assert http.get("/healthz").status_code == 200


def test_one_ticket_counts_once_under_concurrency(service: Service, http: httpx.Client) -> None:
    (ticket,) = http.post("/v1/tickets", json={}, headers=operator(service)).json()["tickets"]
    same = body(service, "same")

    async def rush() -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=http.base_url, timeout=20) as client:
            headers = {"authorization": f"Bearer {ticket}"}
            sent = [body(service, f"r{k}", k) for k in range(24)] + [same] * 24
            return await asyncio.gather(*(client.post("/v1/reports", json=b, headers=headers) for b in sent))

    answers = asyncio.run(rush())
    accepted = {a.json()["report_id"] for a in answers if a.status_code == 200}
    assert len(accepted) == 1
    assert sum(not a.json()["repeated"] for a in answers if a.status_code == 200) == 1
    assert {a.status_code for a in answers} <= {200, 410}
    assert count(service) == 1


def test_poison_is_bounded(service: Service) -> None:
    """Whatever one report holds, the sums move by no more than what the bounds allow."""
    served = service.curator
    assert served.block is not None
    rng = np.random.default_rng(0)
    for k, ticket in enumerate(tickets(served, 7)):
        before = list(served.block.sums)
        entries = [int(v) for v in rng.integers(-(2**62), 2**62, 12) >> int(rng.integers(0, 62))]
        answer = send(served, ReportIn(f"p{k}", assignment(served).id, entries[:6], entries[6:]), ticket)
        assert isinstance(answer, ReportAnswer)
        moved = np.array([b - a for a, b in zip(before, served.block.sums, strict=True)])
        assert within_bounds(served.block.collection, moved[:6], moved[6:])
        assert answer.zeros == (not moved.any())


def test_digests_cannot_be_searched(service: Service, http: httpx.Client) -> None:
    """The same content under another server's secret has another digest, and a plain hash is nowhere."""
    content = service.encode(("assignment", [1, 2], [3]))
    assert service.secret.digest(content) != ServerSecret(b"0" * 32).digest(content)
    assert service.secret.digest(content) != hashlib.blake2b(content, digest_size=16).hexdigest()
    sent = body(service)
    (ticket,) = http.post("/v1/tickets", json={}, headers=operator(service)).json()["tickets"]
    http.post("/v1/reports", json=sent, headers={"authorization": f"Bearer {ticket}"})
    (row,) = service.curator.parts.store.reports([sent["report_id"]]).values()
    plain = service.encode((sent["assignment_id"], sent["S"], sent["C"]))
    assert row.digest == service.secret.digest(plain)


def test_logs_hold_no_secret_and_no_count(
    service: Service, http: httpx.Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(logging.getLogger("httpx"), "disabled", True)
    monkeypatch.setattr(logging.getLogger("httpcore"), "disabled", True)
    given = http.post("/v1/tickets", json={"count": 9, "lifetime": 77}, headers=operator(service)).json()["tickets"]
    sent = [body(service, f"logged-{k}", k) for k in range(8)]
    for report, ticket in zip(sent, given, strict=False):
        http.post("/v1/reports", json=report, headers={"authorization": f"Bearer {ticket}"})
    http.post("/v1/reports", content=b"{secret")
    http.post("/v1/tickets", json={}, headers=operator(service))
    lines = [f"{r.getMessage()} {r.exc_text or ''}" for r in caplog.records if r.name.startswith("hushloop")]
    assert lines == ["block 0 is closed and released "]


def test_the_default_address_is_local() -> None:
    from hushloop.cli.serve import command

    assert {option.name: option.default for option in command.params}["host"] == "127.0.0.1"


def test_no_ambient_authority(http: httpx.Client) -> None:
    for path in ("/v1/assignment", "/v1/reports", "/v1/tickets", "/healthz", "/nowhere"):
        for method in ("GET", "POST", "OPTIONS"):
            headers = http.request(method, path, headers={"origin": "https://elsewhere.example"}).headers
            assert "set-cookie" not in headers
            assert not any(name.startswith("access-control") for name in headers)
