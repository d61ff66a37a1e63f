"""The guide to own planners: its example runs, and what it makes keeps the page's own rules."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from hushloop.learning.block_learner import BlockLearner
from hushloop.learning.planners import PLANNERS

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "own-planner.md"


def test_the_example_runs_and_learns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(PLANNERS, "cautious", None)  # taken out again afterwards
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)
    space: dict = {"__name__": "page"}
    exec(compile(block, str(PAGE), "exec"), space)
    regret, order = capsys.readouterr().out.splitlines()
    assert float(regret) > 0
    assert order.startswith("0.3 ")
    problem, cautious = space["plant"].problem, space["cautious"]
    knowledge = BlockLearner(problem, space["budget"]).start()
    one, other = (cautious(problem, knowledge, 0) for _ in range(2))
    assert one.gains.shape == (5, 1, 2)
    np.testing.assert_array_equal(one.gains, other.gains)
    assert space["result"].summary()["planner"]["failed"] == 0
