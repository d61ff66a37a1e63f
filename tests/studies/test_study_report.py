"""The report: one page that loads nothing, the same bytes each time, figures and a summary beside it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from hushloop.cli import main
from hushloop.studies import study
from hushloop.studies.report import command_of, report
from hushloop.studies.store import Store


class Page(HTMLParser):
    """Ids, references to them, and whatever a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.uses: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            value = value or ""
            if key == "id":
                self.ids.append(value)
            if key == "xlink:href" and value.startswith("#"):
                self.uses.append(value[1:])
            if key in ("src", "srcset", "data") or (key.endswith("href") and tag not in ("a", "use")):
                self.loads.append(value)
            self.uses += re.findall(r"url\(#([^)]+)\)", value)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    study("tiny_study:STUDY", failures=["<b>luck</b>"]).run(tmp_path / "out", workers=1)
    return tmp_path / "out"


def test_the_page_loads_nothing_and_every_reference_is_inside(folder: Path) -> None:
    html = report(folder).read_text(encoding="utf-8")
    page = Page()
    page.feed(html)
    assert page.loads == []
    assert "@import" not in html
    assert not re.search(r"url\(\s*[\"']?https?:", html)
    assert html.count("<svg") == 1
    assert page.uses
    assert set(page.uses) <= set(page.ids)
    assert len(set(page.ids)) == len(page.ids)


def test_what_failed_stands_in_the_page_escaped(folder: Path) -> None:
    html = report(folder).read_text(encoding="utf-8")
    assert "1 cells failed" in html
    assert "&lt;b&gt;luck&lt;/b&gt;" in html
    assert "<b>luck" not in html
    assert "Squares &lt;of seeds&gt;" in html
    assert "missing: no figure" in html


def test_the_same_folder_gives_the_same_page(folder: Path) -> None:
    first = report(folder).read_bytes()
    png = (folder / "figures" / "squares.png").read_bytes()
    assert report(folder).read_bytes() == first
    assert (folder / "figures" / "squares.png").read_bytes() == png


def test_figures_and_summary_are_beside_it(folder: Path) -> None:
    report(folder)
    assert (folder / "figures" / "squares.png").read_bytes().startswith(b"\x89PNG")
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert "| seed | square |" in text
    assert "$ hushloop study run tiny_study:STUDY" in text


def test_the_command_makes_the_same_study_again() -> None:
    prepared = study("tiny_study:STUDY", quick=True, failures=["a b"])
    words = command_of(prepared)
    assert words.startswith("hushloop study run tiny_study:STUDY --quick --set")
    assert "'failures=[\"a b\"]'" in words


def test_another_version_is_not_mixed_in(folder: Path) -> None:
    store = Store(folder)
    store.write_about({**store.about(), "version": "0.0.0"})
    result = CliRunner().invoke(main, ["report", str(folder)])
    assert result.exit_code == 3
    assert "0.0.0" in result.stderr


def test_the_command_line(folder: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    document = json.loads(run(main, ["report", str(folder), "--json"]).stdout)
    assert Path(document["report"]).exists()
    assert len(document["figures"]) == 1
    listed = json.loads(run(main, ["study", "list", "--json"]).stdout)["studies"]
    assert {"regret", "ablation", "demo"} <= {row["name"] for row in listed}
    shown = json.loads(run(main, ["study", "show", "regret", "--quick", "--json"]).stdout)
    assert shown["options"]["seeds"] == 6
    out = str(tmp_path / "cli")
    done = run(main, ["study", "run", "tiny_study:STUDY", "--set", "seeds=3", "--workers", "1", "--out", out, "--json"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["tables"] == {"squares": 3}
    failed = run(
        main,
        ["study", "run", "tiny_study:STUDY", "--set", 'failures=["a"]', "--workers", "1", "--out", out, "--resume"],
    )
    assert failed.exit_code == 3
    assert "1 cells failed" in failed.stderr


def test_a_setting_without_a_value_is_refused() -> None:
    result = CliRunner().invoke(main, ["study", "run", "demo", "--set", "seeds"])
    assert result.exit_code == 3
    assert "KEY=VALUE" in result.stderr
