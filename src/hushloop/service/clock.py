"""Time that never runs backwards for tickets and deadlines, whatever the machine's clock does."""

from __future__ import annotations

import time
from collections.abc import Callable

BEHIND = 60.0
"""Seconds that the machine's clock may lag before it is worth a warning."""


class Clock:
    """Seconds since 1970; at least the latest time that the store has seen."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._floor = 0.0

    def now(self) -> float:
        self._floor = max(self._floor, self._wall())
        return self._floor

    def seen(self, moment: float) -> None:
        """Time has reached this moment before."""
        self._floor = max(self._floor, moment)

    @property
    def lag(self) -> float:
        """How far the machine's clock is behind; 0 where it is not worth a word."""
        lag = self._floor - self._wall()
        return lag if lag > BEHIND else 0.0
