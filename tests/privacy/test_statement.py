"""The statement: complete for every mechanism, safe in its rounding, self-contained as HTML."""

from __future__ import annotations

import json
import math
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

from hushloop.device import Collection
from hushloop.errors import InvalidInput
from hushloop.lq import Disturbance, Problem, Start
from hushloop.privacy import Budget
from hushloop.privacy.accounting import epsilon_of
from hushloop.privacy.budget import RESERVED
from hushloop.privacy.clauses import Section, above
from hushloop.privacy.mechanisms import Blocks
from hushloop.privacy.noise import ExactNoise, SeededNoise
from hushloop.privacy.rendering import ticks
from hushloop.privacy.statement import Statement, statement
from hushloop.privacy.terms import first_collection, terms

DELTA = 1e-6 * (1 - RESERVED)


def problem(gamma: float = 1.5, name: str = "small") -> Problem:
    start = Start("fixed", np.array([0.6, 0.8]))
    return Problem(name, np.eye(2), 0.1 * np.eye(1), 5, start, Disturbance("sphere", 0.1, 2), gamma, 1.0)


@cache
def made(mechanism: str = "blocks", **more: object) -> Statement:
    if mechanism == "paper":
        return statement(problem(), "paper", Budget(1.0), users=2**17, **more)  # type: ignore[arg-type]
    return statement(problem(), "refined", Budget(1.0), users=5000, mechanism=mechanism, **more)  # type: ignore[arg-type]


PRIVATE = ["blocks", "tree", "factorised", "paper"]


@pytest.mark.parametrize("mechanism", PRIVATE)
def test_every_clause_is_there(mechanism: str) -> None:
    text = made(mechanism, verify=True).markdown()
    for needed in (
        "one person", "replace-one", "zero-out", "joint differential privacy", "| μ |", "‖S−S'‖", "clipped", "σ_S",
        "numpy", "opendp", "Schedule", "Composition", "ε for every δ", "not protected", "when", "curator itself",
        "enrolment lists", "publishes her own controls", "not claimed", "Assumptions", "dp-accounting",
        "Everybody".lower(), "order of arrival", "same reports are accepted", "counts towards its block",
    ):  # fmt: skip
        assert needed in text, needed


def test_the_neighbouring_relation_says_what_is_shared_and_what_differs() -> None:
    (section,) = [s for s in made().sections if s.title == "Neighbouring runs"]
    text = " ".join((*section.paragraphs, *section.items))
    for needed in ("tickets", "arms", "order of arrival", "assignment ids", "accepted", "anything, honest or not",
                   "another episode", "zeros", "not the add-or-remove", "weakens her own promise alone"):  # fmt: skip
        assert needed in text, needed


@pytest.mark.parametrize("mechanism", PRIVATE)
@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
def test_the_numbers_follow_from_each_other(mechanism: str, adjacency: str) -> None:
    budget = Budget(1.0, 1e-6, adjacency, 2)  # type: ignore[arg-type]
    if mechanism == "paper":
        t = terms(problem(), "paper", budget, 5000)
    else:
        t = terms(problem(), "refined", budget, 5000, mechanism)
    assert t.guarantee is not None
    assert t.guarantee.adjacency == adjacency
    assert t.guarantee.epsilon == pytest.approx(epsilon_of(t.mu[t.guarantee.adjacency], DELTA), rel=1e-12)
    assert t.mu["zero-out"] < t.mu["replace-one"]
    (also,) = t.guarantee.also.items()
    assert also[0] != adjacency
    assert also[1] == pytest.approx(epsilon_of(t.mu[also[0]], DELTA), rel=1e-12)  # type: ignore[index]
    if mechanism != "paper":
        assert t.holds
        assert 1 - 1e-6 <= t.guarantee.epsilon <= 1.0
        pair = t.sensitivity()[adjacency]["pair"] * (math.sqrt(13) if mechanism == "tree" else 1)
        assert 2 * pair == pytest.approx(t.mu[t.guarantee.adjacency], rel=1e-9)


def test_noise_of_the_worst_release() -> None:
    document = made("paper").document
    noise = document["noise"]
    assert noise["release_std_s"] == pytest.approx(math.sqrt(17) * noise["sigma_s"])
    assert not noise["isotropic"]
    tree = terms(problem(), "refined", Budget(1.0), 7, "tree", first=1, growth=1.0)
    assert tree.release_std.sigma_c == pytest.approx(math.sqrt(3) * tree.scales.sigma_c)
    blocks = terms(problem(), "refined", Budget(1.0), 5000)
    assert blocks.release_std == blocks.scales
    factorised = terms(problem(), "refined", Budget(1.0), 5000, "factorised")
    assert 1.0 < factorised.release_std.sigma_s / factorised.scales.sigma_s < 2.0


def test_the_paper_beside_the_truth() -> None:
    holds, fails = made("paper"), statement(problem(0.05), "paper", Budget(20.0), users=2**17)
    assert holds.document["holds"] is True
    assert fails.document["holds"] is False
    assert "does not hold" in fails.markdown()
    assert "23.79" in fails.markdown()
    assert "The published claim" in holds.markdown()
    assert "The published claim" not in made().markdown()


@pytest.mark.parametrize("profile", ["nonprivate", "ofu"])
def test_no_guarantee_is_said_plainly(profile: str) -> None:
    s = statement(problem(), profile, verify=True)
    assert s.document["guarantee"] is None
    assert s.document["holds"] is None
    assert s.curve is None
    assert "Nothing is promised" in s.markdown()
    assert "holds" not in s.markdown().replace("holds exact", "")
    assert "<svg" not in s.html()


def test_verified_by_another_accountant() -> None:
    for mechanism in PRIVATE:
        document = made(mechanism, verify=True).document
        assert abs(document["verified"]["difference"]) < 1e-9
    assert "verified" not in made().document


class Loads(HTMLParser):
    """Counts what a browser would fetch, and checks that tags nest."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [f"{tag} {k}={v}" for k, v in attrs if k in ("src", "href", "srcset", "data", "action")]
        if tag in ("script", "link", "img", "iframe"):
            self.fetched.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Closed at once."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("mechanism", PRIVATE)
def test_html_is_whole_and_loads_nothing(mechanism: str) -> None:
    page = made(mechanism).html()
    parser = Loads()
    parser.feed(page)
    assert parser.fetched == []
    assert parser.open == []
    assert "url(" not in page
    assert "@import" not in page
    assert page.count("<polyline") == 2
    assert "nan" not in page.split("<svg")[1].split("</svg>")[0]


def test_names_are_escaped() -> None:
    page = statement(problem(name="<script>alert(1)</script>"), "refined", Budget(1.0)).html()
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_curve_is_exact_and_marks_delta() -> None:
    s = made()
    assert s.curve is not None
    assert s.curve.mark == 1e-6
    i = int(np.argmin(np.abs(np.log10(s.curve.deltas) + 6)))
    assert s.curve.epsilons["replace-one"][i] == pytest.approx(1.0, rel=1e-9)
    for line in s.curve.epsilons.values():
        assert list(line) == sorted(line, reverse=True)


def test_noise_that_the_sampler_cannot_draw_is_said() -> None:
    text = statement(problem(), "refined", Budget(1e-12, 1e-18)).markdown()
    assert "cannot draw this noise" in text


def test_a_curve_of_zeros_is_no_figure() -> None:
    assert "ε is 0 at every δ" in statement(problem(), "refined", Budget(1e-20, 5e-16)).html()


def test_an_adjacency_whose_curve_is_zero_has_no_line() -> None:
    assert statement(problem(), "refined", Budget(1e-20, 1.2e-15)).html().count("<polyline") == 1


def test_document_is_json() -> None:
    for mechanism in PRIVATE:
        text = json.dumps(made(mechanism).to_dict() | {"sensitivity": None}, allow_nan=False)
        assert json.loads(text)["guarantee"]["delta"] == 1e-6


def test_a_named_source_stands_alone() -> None:
    exact, seeded = made(source=ExactNoise()).markdown(), made(source=SeededNoise(1)).markdown()
    assert "`numpy`" not in exact
    assert "`opendp`" in exact
    assert "whole numbers add less than" in exact
    assert "whole numbers add less than" not in seeded
    assert "`numpy`" in seeded
    assert "`opendp`" not in seeded


def test_other_rooms_can_add_sections() -> None:
    more = made().with_sections(Section("Tickets", ("A ticket carries a participation.",)))
    titles = [s.title for s in more.sections]
    assert titles[-3:] == ["Tickets", "What is not protected", "Assumptions"]
    assert "A ticket carries" in more.html()


def test_the_schedule_is_listed_where_it_is_short() -> None:
    assert made().document["schedule"]["ends"] == [256, 768, 1792, 3840, 5000]
    assert "ends" not in made("paper").document["schedule"]
    endless = statement(problem(), "refined", Budget(1.0))
    assert "for ever" in endless.markdown()
    assert endless.document["schedule"]["users"] is None


def test_what_the_first_block_really_collects_is_what_is_stated() -> None:
    T, B = np.diag([1.0, 2.0, 0.5]), Budget(1.0)
    c = Collection(0, np.zeros((3, 2)), np.eye(3), 1.1, 0.1, 1.0, 5, T, 0.7)
    s = statement(problem(), "refined", B, block=(c, Blocks(B).scales(c)))
    assert "Σ w‖t‖² ≤ E = 1.1 and Σ w‖Mz‖² ≤ 0.7, t = Tz for a public matrix T" in s.markdown()
    assert "numbers of the first block" in s.markdown()
    stated = s.document["sensitivity"]
    assert (stated["weighting"], stated["response_budget"]) == (T.tolist(), 0.7)
    assert stated["response_energy"] == c.response_energy
    assert s.document["noise"]["sigma_s"] == Blocks(B).scales(c).sigma_s
    with pytest.raises(InvalidInput, match="add more noise"):
        statement(problem(), "refined", B, block=(c, Blocks(Budget(1.1)).scales(c)))


def test_the_first_collection_is_the_prior() -> None:
    c = first_collection(problem())
    assert c.energy == problem().full_energy
    assert (c.shape == np.eye(3)).all()
    assert first_collection(problem().with_(energy=2.0)).energy == 2.0
    assert first_collection(problem().with_(energy=2.0), 3.0).energy == 3.0


@pytest.mark.parametrize(
    ("key", "arguments"),
    [
        ("profile", {"profile": "best", "budget": Budget(1.0)}),
        ("mechanism", {"profile": "refined", "budget": Budget(1.0), "mechanism": "magic"}),
        ("mechanism", {"profile": "paper", "budget": Budget(1.0), "mechanism": "blocks", "users": 10}),
        ("mechanism", {"profile": "ofu", "budget": Budget(1.0), "mechanism": "blocks", "users": 10}),
        ("epsilon", {"profile": "refined", "budget": None}),
        ("users", {"profile": "paper", "budget": Budget(1.0)}),
        ("users", {"profile": "refined", "budget": Budget(1.0), "users": 0}),
        ("users", {"profile": "refined", "budget": Budget(1.0), "mechanism": "tree"}),
        ("energy", {"profile": "paper", "budget": Budget(1.0), "users": 10, "energy": 2.0}),
        ("energy", {"profile": "refined", "budget": Budget(1.0), "energy": 0.0}),
        ("energy", {"profile": "refined", "budget": Budget(1.0), "energy": math.nan}),
        ("growth", {"profile": "refined", "budget": Budget(1.0), "growth": 0.5}),
        ("first", {"profile": "refined", "budget": Budget(1.0), "first": 0}),
    ],
)
def test_bad_input_is_named(key: str, arguments: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        terms(problem(), **arguments)  # type: ignore[arg-type]
    assert caught.value.key == key


@pytest.mark.parametrize("value", [0.0, 1.0, 0.54232721, 5.285056418, 123456.7, 0.9999999999, 1e-30, math.inf])
def test_printed_epsilon_is_never_below_the_truth(value: float) -> None:
    assert float(above(value)) >= value
    assert float(above(value)) <= value * (1 + 1.1e-5)


def test_ticks_lie_on_the_axis() -> None:
    assert ticks(0.0, 1.0) == [1.0, 2.0, 5.0, 10.0]
    assert ticks(-3.0, 3.5) == pytest.approx([10.0**k for k in range(-3, 4)])
