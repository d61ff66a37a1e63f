"""Public schedules: sizes, ends, truncation."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushloop.errors import InvalidInput
from hushloop.privacy.schedule import Schedule, every, geometric


def test_every_episode_and_every_n() -> None:
    assert list(every(1, 4).sizes()) == [1, 1, 1, 1]
    assert list(every(3, 8).sizes()) == [3, 3, 2]
    assert list(itertools.islice(every(5).sizes(), 3)) == [5, 5, 5]


def test_geometric_blocks_are_truncated_to_the_known_users() -> None:
    assert list(geometric(256, 2.0, 2000).sizes()) == [256, 512, 1024, 208]
    assert geometric(256, 2.0).end(9) == 256 * (2**10 - 1)
    assert geometric(512, 1.5, 2**17).blocks == 12


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 50), st.floats(1.0, 3.0), st.integers(1, 5000))
def test_sizes_are_positive_and_add_up(first: int, growth: float, users: int) -> None:
    schedule = Schedule(first, growth, users)
    sizes = list(schedule.sizes())
    assert sum(sizes) == users == schedule.end(len(sizes) - 1)
    assert min(sizes) >= 1
    assert all(a <= b for a, b in itertools.pairwise(sizes[:-1]))


@pytest.mark.parametrize(
    "bad", [{"first": 0}, {"first": 2.5}, {"growth": 0.9}, {"growth": float("nan")}, {"users": 0}, {"users": True}]
)
def test_what_is_no_schedule_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        Schedule(**bad)


def test_questions_without_an_answer_are_refused() -> None:
    with pytest.raises(InvalidInput, match="not known"):
        _ = geometric().blocks
    with pytest.raises(InvalidInput, match="3 blocks"):
        every(3, 8).end(3)
