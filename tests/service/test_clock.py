"""Time never runs backwards, and a clock that does is noticed."""

from __future__ import annotations

from curators_for_tests import Wall

from hushloop.service.clock import Clock


def test_time_stands_while_the_machine_is_behind() -> None:
    wall = Wall(100.0)
    clock = Clock(wall)
    assert clock.now() == 100.0
    wall.now = 50.0
    assert clock.now() == 100.0
    wall.now = 101.0
    assert clock.now() == 101.0


def test_time_the_store_has_seen_counts_too() -> None:
    clock = Clock(Wall(100.0))
    clock.seen(5000.0)
    clock.seen(200.0)
    assert clock.now() == 5000.0
    assert clock.lag == 4900.0


def test_a_small_step_back_is_not_worth_a_word() -> None:
    wall = Wall(100.0)
    clock = Clock(wall)
    clock.now()
    wall.now = 70.0
    assert clock.lag == 0.0
