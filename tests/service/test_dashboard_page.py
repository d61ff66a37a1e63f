"""The page: everything inline, what people wrote escaped, ε rounded up, tables that can be read again."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import re
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from curators_for_tests import TOY, deployment
from hypothesis import given
from hypothesis import strategies as st
from test_dashboard_history import learned

from hushloop.lq.problem import About
from hushloop.service.dashboard.board import Board
from hushloop.service.dashboard.charts import compact, cost_chart, run_chart, steps, timeline
from hushloop.service.dashboard.page import policy, render, script, short
from hushloop.service.dashboard.tables import tables
from hushloop.service.dashboard.view import Run, View
from hushloop.service.deployment import Deployment
from hushloop.service.protocol import ReleasesAnswer
from hushloop.service.published import Published, etag


@cache
def view(blocks: int, name: str = "toy", story: str = "") -> View:
    problem = dataclasses.replace(TOY.problem, name=name, about=About(story or TOY.problem.about.story))
    what = Deployment(problem, deployment().budget, first=500)
    agent, releases = learned(deployment(first=500), blocks)
    body, text = agent.assignment().to_json().encode(), msgspec.json.encode(ReleasesAnswer(releases))
    published = Published(
        body, etag(body), text, etag(text), blocks, releases[-1].total_users if releases else 0, agent.block.users,
        1_700_000_000.0, 0, False,
    )  # fmt: skip
    return Board(what, 500).view(published, "ok")


def page(v: View) -> str:
    return render(v, tables(v)).decode()


@pytest.mark.parametrize("blocks", [0, 1, 6])
def test_nothing_is_loaded_from_anywhere(blocks: int) -> None:
    text = page(view(blocks))
    assert not re.findall(r"""\b(?:src|srcset|data|action)\s*=|url\(|@import|<(?:img|link|iframe|object)\b""", text)
    links = re.findall(r'href="([^"]*)"', text)
    assert all(link.startswith("/") and not link.startswith("//") for link in links)
    assert "http" not in script()
    assert b"default-src 'none'" in policy()
    assert text.count("<script>") == 1


@pytest.mark.parametrize("blocks", [0, 6])
def test_it_says_what_an_operator_looks_for(blocks: int) -> None:
    v = view(blocks)
    text = page(v)
    for adjacency in ("replace-one", "zero-out"):
        assert f"{adjacency}, at δ = 1e-06" in text
    assert f"Block {blocks + 1} closes at {v.block_users:,} users, or on 2023-11-14 22:13 UTC." in text
    assert f"<b>{v.users:,}</b>" in text
    assert text.count("<svg") == 2 + 3
    assert v.statement.sections[-1].title in text
    for table in tables(v).values():
        assert f'href="/tables/{table.name}.csv"' in text
        assert f'href="/tables/{table.name}.json"' in text


def test_what_people_wrote_is_text_and_never_markup() -> None:
    wild = '<script>alert("x")</script>&'
    text = page(view(1, wild, wild))
    assert wild not in text
    assert "&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt;&amp;" in text


@pytest.mark.parametrize("status", ["finished", "rolled_back"])
def test_a_server_that_counts_nothing_says_so(status: str) -> None:
    text = page(dataclasses.replace(view(1), status=status, block_users=None, deadline=None))
    assert status.replace("_", " ") in text
    assert "closes at" not in text


@given(st.floats(1e-9, 1e6))
def test_epsilon_is_rounded_up_and_hardly(epsilon: float) -> None:
    shown = Fraction(short(epsilon))
    assert Fraction(epsilon) <= shown <= Fraction(epsilon) * Fraction(101, 100)


def test_whole_epsilons_stay_whole() -> None:
    assert [short(e) for e in (1.0, 8.0, 20.0, 0.1, 1234.0, math.inf)] == ["1", "8", "20", "0.101", "1240", "inf"]


def test_epsilon_is_never_shown_below_itself_in_the_table() -> None:
    v = view(1)
    text = page(v)
    cells = [float(x) for x in re.findall(r"<td[^>]*>(?:replace-one|zero-out)</td><td[^>]*>([^<]*)<", text)]
    assert len(cells) >= 2
    for shown, exact in zip(cells, v.epsilons.values(), strict=False):
        assert exact <= shown <= exact * 1.0001


def test_tables_come_back_from_csv_and_json() -> None:
    v = view(6)
    for table in tables(v).values():
        rows = list(csv.DictReader(io.StringIO(table.csv())))
        again = json.loads(table.json())["rows"]
        assert len(rows) == len(again) == len(table.rows) > 0
        for row, entry, cells in zip(rows, again, table.rows, strict=True):
            assert tuple(entry.values()) == cells
            for text, cell in zip(row.values(), cells, strict=True):
                assert text == ("" if cell is None else str(cell))


def test_the_tables_hold_the_views_numbers() -> None:
    v = view(6)
    found = {name: json.loads(table.json())["rows"] for name, table in tables(v).items()}
    assert [row["users_in_all"] for row in found["releases"]] == [r.total_users for r in v.releases]
    assert found["costs"][-1]["expected"] == v.points[-1].learner.expected
    mean = v.points[-1].knowledge.estimate.mean
    assert [row["estimate"] for row in found["model"]] == mean.T.ravel().tolist()
    assert found["controller"][3]["x2_now"] == v.served.gains[3, 0, 1]
    assert found["controller"][3]["x2_before"] == v.first.gains[3, 0, 1]
    assert {row["adjacency"]: row["epsilon"] for row in found["privacy"]} == v.epsilons
    assert found["trajectories"][0]["now_mean"] == v.runs[0].now[0, 0]


def test_the_reference_has_every_column() -> None:
    text = (Path(__file__).parents[2] / "docs" / "reference" / "tables.md").read_text(encoding="utf-8")
    page = text.split("## The dashboard's downloads")[1]
    for table in tables(view(1)).values():
        (row,) = re.findall(rf"^\| `{table.name}` \| (.*) \|$", page, flags=re.M)
        for column in table.columns:
            assert f"`{re.sub('^x[0-9]+_', '…_', column)}`" in row


def test_what_is_not_certified_is_said() -> None:
    v = view(1)
    open_end = dataclasses.replace(v.points[-1].learner, most=math.inf)
    v = dataclasses.replace(v, points=(v.points[0], dataclasses.replace(v.points[1], learner=open_end)))
    assert json.loads(tables(v)["costs"].json())["rows"][-1]["certified_most"] is None
    assert "not certified" in page(v)
    drawn(cost_chart(v))


def test_a_release_that_contradicts_the_belief_is_not_hidden() -> None:
    v = view(1)
    assert "contradicted" not in page(v)
    known = dataclasses.replace(v.points[1].knowledge, contradictions=1)
    v = dataclasses.replace(v, points=(v.points[0], dataclasses.replace(v.points[1], knowledge=known)))
    assert "1 of 1 releases contradicted" in page(v)


def drawn(svg: Any) -> list[tuple[float, float]]:
    """Every point of a drawing; it is well-formed, and stays within its frame."""
    root = ElementTree.fromstring(str(svg))
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    found = [tuple(map(float, pair.split(","))) for e in root.iter() for pair in e.attrib.get("points", "").split()]
    found += [(float(e.attrib["cx"]), float(e.attrib["cy"])) for e in root.iter() if "cx" in e.attrib]
    assert found or "timeline" in root.attrib["class"]
    assert all(0 <= x <= width and 0 <= y <= height for x, y in found)
    return [(x, y) for x, y in found]


@pytest.mark.parametrize("blocks", [0, 1, 6])
def test_drawings_stay_within_their_frames(blocks: int) -> None:
    v = view(blocks)
    drawn(cost_chart(v))
    drawn(timeline(v))
    for run in v.runs:
        drawn(run_chart(run))


@pytest.mark.parametrize("value", [0.0, 3.7, -1e9, 1e-12, math.nan, math.inf])
def test_any_numbers_can_be_drawn(value: float) -> None:
    flat = np.full((3, 4), value)
    svg = run_chart(Run("x <&>", flat, flat))
    assert "x &lt;&amp;&gt;" in str(svg)
    ElementTree.fromstring(str(svg))


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_an_axis_has_a_few_round_numbers_in_it(low: float, span: float) -> None:
    found = steps(low, low + span)
    assert 1 <= len(found) <= 7
    slack = 1e-9 * (abs(low) + span)
    assert all(low - slack <= v <= low + span + slack for v in found)


def test_users_are_counted_in_few_letters() -> None:
    assert [compact(k) for k in (0, 500, 1500, 127_500, 2_047_500)] == ["0", "500", "1.5k", "128k", "2.05M"]
