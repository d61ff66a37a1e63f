"""The pages that readers get, and what is in them: blocks, command lines, links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    + [page for page in DOCS.rglob("*.md") if "_build" not in page.parts]
)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(text: str, language: str = r"\w*") -> list[str]:
    """What stands between the fences of that language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.M | re.S)


def prose(text: str) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def typed(text: str) -> Iterator[str]:
    """`hushloop …` lines of fenced blocks, with or without a prompt."""
    for block in blocks(text):
        for line in block.replace("\\\n", " ").splitlines():
            if found := re.match(r"(?:\$ )?(hushloop [a-z-].*)", line):
                yield found[1]


def mentioned(text: str) -> list[str]:
    """The same inside sentences, where they may leave out what the reader knows."""
    return re.findall(r"`(hushloop [a-z-][^`]*)`", prose(text))


def words_of(line: str) -> list[str]:
    """A line's words up to a comment, a pipe or a redirection; brackets of a synopsis are taken off."""
    words = shlex.split(re.sub(r"[\[\]]", "", line), comments=True)
    ends = [k for k, word in enumerate(words) if word[0] in "|>&;"]
    return words[1 : ends[0] if ends else None]
