"""`hushloop demo`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from hushloop.cli import main


@pytest.mark.slow
def test_three_ways_with_promise_and_report(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["demo", "--out", str(tmp_path), "--quiet"])
    assert result.exit_code == 0, result.output
    assert "replace-one" in result.output
    assert "as published" in result.output
    assert "no promise" in result.output
    page = (tmp_path / "report.html").read_text()
    assert "<svg" in page
    assert "replace-one" in page
