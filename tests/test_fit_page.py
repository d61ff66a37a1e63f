"""The page on fitting: its example runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "fit.md"


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)
    space: dict = {"__name__": "page"}
    exec(compile(block, str(PAGE), "exec"), space)
    assert capsys.readouterr().out
    assert space["found"].belief.contains(space["plant"].Theta)
