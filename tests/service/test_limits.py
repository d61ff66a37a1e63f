"""Refusals of one address: so many, then a pause that ends; other addresses are not touched."""

from __future__ import annotations

from curators_for_tests import Wall

from hushloop.service import limits
from hushloop.service.limits import Refusals


def test_a_bucket_fills_and_leaks() -> None:
    wall = Wall(0.0)
    found = Refusals(3, 60.0, wall)
    for _ in range(3):
        assert not found.blocked("a")
        found.count("a")
    assert found.blocked("a")
    assert not found.blocked("b")
    wall.now = 21.0  # one of three is forgotten each 20 seconds
    assert not found.blocked("a")
    found.count("a")
    found.count("a")
    assert found.blocked("a")
    wall.now = 1000.0
    assert not found.blocked("a")


def test_only_so_many_addresses_are_remembered(monkeypatch) -> None:
    monkeypatch.setattr(limits, "MOST_ADDRESSES", 5)
    found = Refusals(1, 60.0, Wall(0.0))
    for k in range(10):
        found.count(str(k))
    assert [found.blocked(str(k)) for k in range(10)] == [False] * 5 + [True] * 5
