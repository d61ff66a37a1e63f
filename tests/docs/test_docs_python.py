"""The Python of the pages runs as it stands, the blocks of a page one after the other, in an empty folder."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from pages_for_tests import DOCS, PAGES, ROOT, blocks, name_of, text_of

ELSEWHERE = {
    "docs/how-to/fit.md": "tests/test_fit_page.py",
    "docs/how-to/own-planner.md": "tests/learning/test_own_planner_page.py",
}
"""Pages with a test of their own, which also looks at what comes out."""

SLOW = {"docs/reference/studies.md", "docs/tutorials/reproduce.md"}
HERE = [page for page in PAGES if blocks(text_of(page), "python") and name_of(page) not in ELSEWHERE]


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] if name_of(page) in SLOW else [], id=name_of(page)) for page in HERE],
)
def test_the_python_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page")  # classes look their module up
    monkeypatch.setitem(sys.modules, "page", module)
    for block in blocks(text_of(page), "python"):
        exec(compile(block, name_of(page), "exec"), vars(module))


def test_the_others_are_tested_where_it_is_said() -> None:
    for page, test in ELSEWHERE.items():
        assert blocks(text_of(ROOT / page), "python"), page
        assert (ROOT / page).relative_to(DOCS).name in (ROOT / test).read_text(encoding="utf-8"), test
