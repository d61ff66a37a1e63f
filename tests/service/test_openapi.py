"""The OpenAPI document says what the server does: every route, every status; and no request of its making is a 500."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from curators_for_tests import assignment, curator, deployment
from http_for_tests import running
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hushloop.service.app import ROUTES, Service
from hushloop.service.keys import OperatorKeys
from hushloop.service.openapi import document


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("openapi")
    found = Service(curator(folder, deployment(first=100_000)), OperatorKeys(folder / "operator.key"))
    yield found
    found.curator.close()


@pytest.fixture(scope="module")
def http(service: Service) -> Iterator[httpx.Client]:
    with running(service) as client:
        yield client


def test_every_route_is_in_the_document_and_no_other() -> None:
    found = {(path, method.upper()) for path, entry in document(1000)["paths"].items() for method in entry}
    assert found == {(path, method) for path, method, _ in ROUTES}


def test_it_is_json_and_its_references_resolve() -> None:
    made = json.loads(json.dumps(document(1000)))
    names = made["components"]["schemas"].keys()
    text = json.dumps(made)
    for part in text.split('"$ref": "#/components/schemas/')[1:]:
        assert part.split('"')[0] in names
    assert set(made["components"]["schemas"]["TicketRequest"]["properties"]) == {"count", "for", "lifetime"}


def test_the_page_names_every_route_and_every_code() -> None:
    """docs/reference/service-api.md against the code."""
    from hushloop.service import refusals

    page = (Path(__file__).parents[2] / "docs" / "reference" / "service-api.md").read_text(encoding="utf-8")
    for path, method, _ in ROUTES:
        assert f"`{method} {path}`" in page
    made = [refusals.malformed(""), refusals.too_large(1), refusals.limit_reached(1, 0)]
    for refusal in [v for v in vars(refusals).values() if isinstance(v, refusals.Refusal)] + made:
        assert f"| {refusal.status} | `{refusal.code}` |" in page, refusal.code


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pytest.PytestWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(("path", "method"), [(path, method) for path, method, _ in ROUTES])
def test_no_request_is_a_500(service: Service, http: httpx.Client, path: str, method: str) -> None:
    """Requests made from the document, good ones and broken ones, with and without credentials."""
    import schemathesis
    from schemathesis.generation import GenerationMode
    from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

    schema = schemathesis.openapi.from_url(f"{http.base_url}/openapi.json".replace("//openapi", "/openapi"))
    schema.config.generation.update(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
    key = service.operators.path.read_text().strip()
    ticket = http.post("/v1/tickets", json={}, headers={"authorization": f"Bearer {key}"}).json()["tickets"][0]
    now = assignment(service.curator).id

    @given(case=schema[path][method].as_strategy(), bearer=st.sampled_from([key, ticket, None]), known=st.booleans())
    @settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
    def attack(case: Any, bearer: str | None, known: bool) -> None:
        if known and isinstance(case.body, dict) and "assignment_id" in case.body:
            case.body["assignment_id"] = now
        service.limit = type(service.limit)()  # a fuzzer is refused more often than anybody
        headers = {} if bearer is None else {"Authorization": f"Bearer {bearer}"}
        answer = case.call(headers=headers)
        assert answer.status_code < 500, answer.text
        if answer.status_code != 405 and not (answer.status_code == 400 and not answer.content):
            case.validate_response(answer, checks=[status_code_conformance, response_schema_conformance])

    attack()
    assert http.get("/healthz").json()["status"] == "ok"
