"""The frame holds together: the lock, the citation, the links between pages, the docs' configuration."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import hushloop

ROOT = Path(__file__).parents[1]
PIN = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9._+!-]+")


def lock_names() -> set[str]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    assert [line for line in lines if not PIN.fullmatch(line)] == []
    return {line.split("==")[0].lower().replace("_", "-") for line in lines}


def test_the_lock_is_plain_pins_and_covers_every_dependency_but_jax() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + [d for name, deps in extras.items() if name != "bench" for d in deps]
    names = {re.split(r"[\[<>=]", d)[0].lower() for d in wanted} - {"hushloop"}
    locked = lock_names()
    assert names <= locked
    assert not locked & {"jax", "jaxlib", "hushloop", "pip"}


def test_the_citation_has_the_version() -> None:
    assert f"version: {hushloop.__version__}\n" in (ROOT / "CITATION.cff").read_text()


PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "benchmarks").glob("*.md")),
]


@pytest.mark.parametrize("page", [p for p in PAGES if "_build" not in p.parts], ids=lambda p: str(p.relative_to(ROOT)))
def test_links_to_other_files_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = [
        link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link and not link.startswith("mailto:")
    ]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_pages_start_with_a_title(page: Path) -> None:
    assert page.read_text(encoding="utf-8").startswith("# ")


def test_every_make_target_has_a_line_of_help() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    for target in phony[1].split():
        assert re.search(rf"^{target}:.*##", makefile, re.MULTILINE), target
