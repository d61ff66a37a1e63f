"""Ids prove themselves: whatever is changed in one is noticed, and order is the order of publishing."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushloop.service.chain import Place, follows, make_id, read_id

SECRET = b"s" * 32
ID = make_id(SECRET, Place(0, 5), "before")


def test_an_id_says_where_it_stands_and_what_it_follows() -> None:
    assert read_id(SECRET, ID) == Place(0, 5)
    assert follows(ID, "before")
    assert not follows(ID, "another")


def test_another_server_did_not_make_it() -> None:
    assert read_id(b"t" * 32, ID) is None


@given(st.integers(0, len(ID) - 1), st.sampled_from(string.hexdigits[:16] + "-"))
def test_every_changed_character_is_noticed(at: int, letter: str) -> None:
    changed = ID[:at] + letter + ID[at + 1 :]
    assert (read_id(SECRET, changed) is None) == (changed != ID)


@given(st.text(max_size=120))
def test_any_text_is_judged(text: str) -> None:
    assert read_id(SECRET, text) is None


@pytest.mark.parametrize("text", ["", "-", "0-0-0-0", ID + "0", " " + ID, ID + "\n", ID.upper()])
def test_near_misses(text: str) -> None:
    assert read_id(SECRET, text) is None


def test_a_restore_comes_after_every_block_before_it() -> None:
    assert Place(0, 9) < Place(1, 0) < Place(1, 1)
