"""Every internal link of the pages leads somewhere: to a file, to a page, to a heading."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages_for_tests import PAGES, name_of, prose, text_of


def anchors(page: Path) -> set[str]:
    """Headings as GitHub and MyST make anchors of them."""
    heads = re.findall(r"^#+ (.*)$", prose(text_of(page)), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def broken(page: Path) -> list[str]:
    """Links that lead nowhere. Code in the prose is no link."""
    out = []
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", prose(text_of(page)))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page if not path else page.parent / path
        if not file.exists() or (anchor and anchor not in anchors(file)):
            out.append(target)
    return out


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_internal_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# A head, of sorts\n")
    page = tmp_path / "page.md"
    page.write_text("[](there.md) [](there.md#a-head-of-sorts) [x](away.md) [y](there.md#other) `[z](code.md)`\n")
    assert broken(page) == ["away.md", "there.md#other"]
