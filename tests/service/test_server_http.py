"""The routes over HTTP: every status that is documented, in the one shape of errors, with its headers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from curators_for_tests import assignment, curator, deployment, episode
from http_for_tests import running

from hushloop.device import Assignment
from hushloop.service import writer
from hushloop.service.app import Service
from hushloop.service.keys import OperatorKeys


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Service]:
    """A server of the test's own."""
    found = Service(curator(tmp_path, deployment(first=8)), OperatorKeys(tmp_path / "operator.key"))
    yield found
    found.curator.close()


@pytest.fixture
def fresh_http(fresh: Service) -> Iterator[httpx.Client]:
    with running(fresh) as client:
        yield client


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One that all tests share which leave it as it was, but for some reports in a large block."""
    folder = tmp_path_factory.mktemp("shared")
    found = Service(curator(folder, deployment(first=100_000)), OperatorKeys(folder / "operator.key"))
    yield found
    found.curator.close()


@pytest.fixture(scope="module")
def http(service: Service) -> Iterator[httpx.Client]:
    with running(service) as client:
        yield client


def key(service: Service) -> dict[str, str]:
    return {"authorization": f"Bearer {service.operators.path.read_text().strip()}"}


@pytest.fixture(scope="module")
def operator(service: Service) -> dict[str, str]:
    return key(service)


def ticket(http: httpx.Client, operator: dict[str, str]) -> dict[str, str]:
    made = http.post("/v1/tickets", json={}, headers=operator).json()["tickets"]
    return {"authorization": f"Bearer {made[0]}"}


def report(service: Service, report_id: str = "", seed: int = 0) -> dict[str, Any]:
    return dict(episode(assignment(service.curator), np.random.default_rng(seed), report_id).to_dict())


def code(answer: Any) -> str:
    document = answer.json()
    assert document.keys() == {"error"}
    assert document["error"].keys() >= {"code", "message"}
    assert answer.headers["content-type"] == "application/json"
    return str(document["error"]["code"])


def test_a_device_fetches_reports_and_repeats(service: Service, http: httpx.Client, operator: dict[str, str]) -> None:
    fetched = http.get("/v1/assignment")
    assert Assignment.from_json(fetched.content).id == assignment(service.curator).id
    body, headers = report(service), ticket(http, operator)
    first = http.post("/v1/reports", json=body, headers=headers)
    assert (first.status_code, first.json()["accepted"], first.json()["repeated"]) == (200, True, False)
    again = http.post("/v1/reports", json=body)
    assert (again.status_code, again.json()) == (200, {**first.json(), "repeated": True})


def test_an_assignment_has_an_etag_until_it_changes(fresh: Service, fresh_http: httpx.Client) -> None:
    first = fresh_http.get("/v1/assignment")
    known = {"if-none-match": first.headers["etag"]}
    assert fresh_http.get("/v1/assignment", headers=known).status_code == 304
    assert (
        fresh_http.get("/v1/assignment", headers={"if-none-match": f'"x", W/{first.headers["etag"]}'}).status_code
        == 304
    )
    for k in range(8):
        answer = fresh_http.post("/v1/reports", json=report(fresh, f"r{k}", k), headers=ticket(fresh_http, key(fresh)))
        assert answer.status_code == 200
    ticket(fresh_http, key(fresh))  # the writer has closed the block before it issues another one
    changed = fresh_http.get("/v1/assignment", headers=known)
    assert changed.status_code == 200
    assert changed.headers["etag"] != first.headers["etag"]
    (release,) = fresh_http.get("/v1/releases").json()["releases"]
    assert release["assignment_id"] == first.json()["assignment_id"]
    assert release.keys() >= {"users", "T1", "T2", "sigma_s", "sigma_c", "index", "collection"}
    late = fresh_http.post(
        "/v1/reports", json={**report(fresh, "late"), "assignment_id": first.json()["assignment_id"]}
    )
    assert (late.status_code, code(late)) == (409, "superseded")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", None), (b"{", None), (b"null", None), (b"[]", None), (b'"x"', None), (b"\xff\xfe", None),
        (b"[" * 100_000, None), (b"{}", None), (b'{"report_id": 1}', "report_id"), (b'{"report_id": ""}', "report_id"),
        (b'{"report_id": "a b"}', "report_id"), (b'{"report_id": "\\ud800"}', None),
        (b'{"report_id": "a\\u0000"}', "report_id"),
        (b'{"report_id": "%s"}' % (b"a" * 65), "report_id"),
    ],
)  # fmt: skip
def test_what_is_no_report_is_refused_with_its_field(http: httpx.Client, body: bytes, field: str | None) -> None:
    answer = http.post("/v1/reports", content=body)
    assert answer.status_code in (413, 422)
    assert code(answer) in ("malformed", "too_large")
    assert answer.json()["error"].get("field") == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"S": [0] * 5}, "S"), ({"S": [0] * 7}, "S"), ({"C": []}, "C"), ({"S": [0.5] * 6}, "S"),
        ({"S": ["0"] * 6}, "S"),
        ({"S": [True] * 6}, "S"), ({"S": [None] * 6}, "S"), ({"C": [2**63] * 6}, "C"), ({"C": [-(2**63)] * 6}, "C"),
        ({"C": [10**30] * 6}, "C"), ({"assignment_id": ""}, "assignment_id"), ({"assignment_id": "x"}, "assignment_id"),
        ({"assignment_id": None}, "assignment_id"), ({"S": None}, "S"), ({"more": 1}, None),
    ],
)  # fmt: skip
def test_a_report_that_is_not_well_formed_spends_nothing(
    service: Service, http: httpx.Client, operator: dict[str, str], changes: dict[str, Any], field: str | None
) -> None:
    headers = ticket(http, operator)
    answer = http.post("/v1/reports", json={**report(service), **changes}, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["error"].get("field") == field
    assert http.post("/v1/reports", json=report(service), headers=headers).status_code == 200


def test_the_largest_report_fits_and_a_larger_one_is_not_read(
    service: Service, http: httpx.Client, operator: dict[str, str]
) -> None:
    longest = {
        "report_id": "a" * 64, "assignment_id": assignment(service.curator).id,
        "S": [-(2**63) + 1] * 6, "C": [-(2**63) + 1] * 6,
    }  # fmt: skip
    found = http.post("/v1/reports", content=json.dumps(longest, indent=1), headers=ticket(http, operator))
    assert (found.status_code, found.json()["zeros"]) == (200, True)
    large = http.post("/v1/reports", content=b" " * (service.largest_report + 1))
    assert (large.status_code, code(large)) == (413, "too_large")

    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            yield b" " * 1024

    assert http.post("/v1/reports", content=endless()).status_code == 413


def test_tickets_by_status(service: Service, http: httpx.Client, operator: dict[str, str]) -> None:
    body = report(service)
    missing = http.post("/v1/reports", json=body)
    assert (missing.status_code, code(missing), missing.headers["www-authenticate"]) == (
        401,
        "ticket_missing",
        "Bearer",
    )
    unknown = http.post("/v1/reports", json=body, headers={"authorization": "Bearer " + "0" * 48})
    assert (unknown.status_code, code(unknown)) == (401, "ticket_unknown")
    basic = http.post("/v1/reports", json=body, headers={"authorization": "Basic eDp5"})
    assert code(basic) == "ticket_missing"
    good = ticket(http, operator)
    assert http.post("/v1/reports", json=body, headers=good).status_code == 200
    spent = http.post("/v1/reports", json=report(service, "other", 1), headers=good)
    assert (spent.status_code, code(spent)) == (410, "ticket_spent")
    conflict = http.post("/v1/reports", json={**body, "S": [0] * 6})
    assert (conflict.status_code, code(conflict)) == (409, "conflict")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"count": 0}',
        b'{"count": 100001}',
        b'{"count": "1"}',
        b'{"for": ""}',
        b'{"lifetime": 0}',
        b'{"x": 1}',
    ],
)
def test_a_request_for_tickets_that_is_not_well_formed(
    http: httpx.Client, operator: dict[str, str], body: bytes
) -> None:
    answer = http.post("/v1/tickets", content=body, headers=operator)
    assert (answer.status_code, code(answer)) == (422, "malformed")


def test_only_the_operator_issues_tickets_and_only_p_for_one_person(
    http: httpx.Client, operator: dict[str, str]
) -> None:
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": operator["authorization"] + "x"}):
        refused = http.post("/v1/tickets", json={}, headers=headers)
        assert (refused.status_code, code(refused)) == (401, "operator_key")
    assert len(http.post("/v1/tickets", json={"for": "ann"}, headers=operator).json()["tickets"]) == 1
    limit = http.post("/v1/tickets", json={"for": "ann"}, headers=operator)
    assert (limit.status_code, code(limit), limit.json()["error"]["field"]) == (409, "participation_limit", "for")


def test_a_full_queue_asks_to_come_again(
    service: Service, http: httpx.Client, operator: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = ticket(http, operator)
    monkeypatch.setattr(writer, "MOST_WAITING", 0)
    busy = http.post("/v1/reports", json=report(service), headers=headers)
    assert (busy.status_code, code(busy), busy.headers["retry-after"]) == (429, "busy", "1")
    monkeypatch.undo()
    assert http.post("/v1/reports", json=report(service), headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("accept", "kind", "words"),
    [
        ("*/*", "application/json", '"adjacency":"replace-one"'),
        ("text/markdown", "text/markdown; charset=utf-8", "# Privacy statement"),
        ("text/html,application/xhtml+xml", "text/html; charset=utf-8", "<!doctype html>"),
    ],
)
def test_the_statement_in_three_forms(fresh_http: httpx.Client, accept: str, kind: str, words: str) -> None:
    answer = fresh_http.get("/v1/statement", headers={"accept": accept})
    assert answer.headers["content-type"] == kind
    assert words in answer.text
    assert "The unit is the person" in answer.text


def test_the_statement_names_the_ticket_where_nobody_was_named(fresh: Service, fresh_http: httpx.Client) -> None:
    ticket(fresh_http, key(fresh))
    assert "The unit is the ticket, not the person" in fresh_http.get("/v1/statement").text


def test_health_and_metrics(fresh_http: httpx.Client) -> None:
    assert fresh_http.get("/healthz").json()["status"] == "ok"
    assert fresh_http.get("/healthz").json()["plant"] == "toy"
    text = fresh_http.get("/metrics").text
    for line in text.splitlines():
        assert line.startswith(("# HELP hushloop_", "# TYPE hushloop_", "hushloop_")), line
    assert "\nhushloop_open_block_size 8\n" in text
    assert '\nhushloop_epsilon{adjacency="replace-one"} 1\n' in text


@pytest.mark.parametrize("path", ["/nowhere", "/v1", "/v1/reports/1", "/%00", "/docs"])
def test_what_is_not_there(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, code(answer)) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/v1/reports"), ("GET", "/v1/tickets"), ("POST", "/v1/assignment"), ("DELETE", "/metrics")],
)
def test_other_methods(http: httpx.Client, method: str, path: str) -> None:
    answer = http.request(method, path)
    assert (answer.status_code, code(answer)) == (405, "method_not_allowed")
    assert answer.headers["allow"]


def test_a_failing_store_answers_503_and_counts_nothing(
    fresh: Service, fresh_http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hushloop.service.store import StoreError

    headers = ticket(fresh_http, key(fresh))
    lasting = False

    def fail(*args: object) -> None:
        raise StoreError("out of order", lasting=lasting)

    monkeypatch.setattr(fresh.curator.parts.store, "add_sums", fail)
    passing = fresh_http.post("/v1/reports", json=report(fresh), headers=headers)
    assert (passing.status_code, code(passing), passing.headers["retry-after"]) == (503, "storage", "30")
    assert fresh_http.get("/healthz").status_code == 200
    lasting = True
    assert code(fresh_http.post("/v1/reports", json=report(fresh), headers=headers)) == "broken"
    monkeypatch.undo()
    assert code(fresh_http.post("/v1/reports", json=report(fresh), headers=headers)) == "broken", (
        "it must not go on by itself"
    )
    assert (fresh_http.get("/healthz").status_code, fresh_http.get("/healthz").json()["status"]) == (503, "broken")
