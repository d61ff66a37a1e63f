"""The dashboard in a real browser: no error, nothing from outside, readable on a phone, and it updates itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from curators_for_tests import curator, deployment, fill
from http_for_tests import running

from hushloop.service.app import Service
from hushloop.service.keys import OperatorKeys

OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SMALLEST = """Math.min(...[...document.querySelectorAll("svg text")].map(
  t => parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getBoundingClientRect().width / 460))"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    found = Service(curator(tmp_path, deployment(first=8)), OperatorKeys(tmp_path / "operator.key"))
    yield found
    found.curator.close()


@contextmanager
def browser(chromium: Path) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        found = tool.chromium.launch(executable_path=str(chromium), args=OPTIONS)
        yield found
        found.close()


def opened(found: Any, url: str, width: int, scheme: str) -> tuple[Any, list[str], list[str]]:
    """A page, what went wrong in it, and the addresses that it asked for."""
    tab = found.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
    wrong: list[str] = []
    asked: list[str] = []
    tab.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    tab.on("pageerror", lambda why: wrong.append(str(why)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(url)
    return tab, wrong, asked


@pytest.mark.slow
@pytest.mark.parametrize("users", [0, 24])
def test_it_is_readable_at_every_width_in_light_and_dark(chromium: Path, service: Service, users: int) -> None:
    fill(service.curator, users)
    with running(service) as http, browser(chromium) as found:
        url = str(http.base_url)
        colors = set()
        for width in (380, 1400):
            for scheme in ("light", "dark"):
                tab, wrong, asked = opened(found, url, width, scheme)
                assert tab.evaluate(OVERFLOW) <= 0
                assert tab.evaluate(SMALLEST) >= 10.0, "text of the drawings, in pixels"
                colors.add(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
                for fold in tab.query_selector_all("summary"):
                    fold.click()
                assert tab.evaluate(OVERFLOW) <= 0
                assert [u for u in asked if not u.startswith(url) and not u.startswith("data:")] == []
                assert [w for w in wrong if "favicon" not in w] == []
                tab.context.close()
        assert len(colors) == 2


@pytest.mark.slow
def test_it_shows_a_release_without_being_asked(chromium: Path, service: Service) -> None:
    with running(service) as http, browser(chromium) as found:
        tab, wrong, _ = opened(found, str(http.base_url), 1400, "light")
        assert "Nothing has been released yet" in tab.inner_text("main")
        tab.click("summary >> nth=0")
        with httpx.Client(base_url=http.base_url) as operator:
            report_all(service, operator, 8)
        tab.wait_for_selector("text=Block 2 closes at 16 users")
        assert tab.evaluate("document.querySelector('details').open"), "what was unfolded stays so"
        assert tab.title() == "toy: 8 users, 1 releases"
        with tab.expect_download() as download:
            tab.click('a[href="/tables/releases.json"]')
        assert json.loads(Path(download.value.path()).read_text())["rows"][0]["users"] == 8
        assert [w for w in wrong if "favicon" not in w] == []


def report_all(service: Service, http: httpx.Client, users: int) -> None:
    """Over HTTP: the writer's thread owns the curator now."""
    import numpy as np
    from curators_for_tests import episode

    from hushloop.device import Assignment

    key = service.operators.path.read_text().strip()
    issued = http.post("/v1/tickets", json={"count": users}, headers={"authorization": f"Bearer {key}"})
    assignment = Assignment.from_dict(http.get("/v1/assignment").json())
    rng = np.random.default_rng(1)
    for ticket in issued.json()["tickets"]:
        body = episode(assignment, rng).to_dict()
        answer = http.post("/v1/reports", json=body, headers={"authorization": f"Bearer {ticket}"})
        assert answer.status_code == 200, answer.text


def test_the_page_over_http(service: Service) -> None:
    fill(service.curator, 8)
    with running(service) as http:
        page = http.get("/")
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in page.headers["content-security-policy"]
        again = http.get("/", headers={"if-none-match": page.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert http.get("/tables/costs.csv").headers["content-type"] == "text/csv; charset=utf-8"
        assert len(http.get("/tables/costs.csv").text.splitlines()) == 3
        assert len(http.get("/tables/costs.json").json()["rows"]) == 2
        for wrong in ("costs.xml", "secrets.csv", "costs", ".csv"):
            answer = http.get(f"/tables/{wrong}")
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
        report_all(service, http, 16)
        while len(http.get("/v1/releases").json()["releases"]) < 2:
            pass
        assert http.get("/", headers={"if-none-match": page.headers["etag"]}).status_code == 200
