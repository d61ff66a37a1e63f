"""How often one address may be refused: tickets and keys cannot be guessed at speed, and logs cannot be flooded."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

REFUSALS, WINDOW = 60, 60.0
"""Refused credentials that one address may have, and the seconds in which all of them are forgotten again."""

MOST_ADDRESSES = 10_000


class Refusals:
    """A leaking bucket for each address; the addresses that were quiet the longest are forgotten first."""

    def __init__(
        self, most: int = REFUSALS, window: float = WINDOW, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._leak, self._clock = most, most / window, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def blocked(self, address: str) -> bool:
        """Whether nothing is looked at for this address just now."""
        return self._level(address) >= self._most

    def count(self, address: str) -> None:
        """One more refusal."""
        self._buckets[address] = (self._level(address) + 1.0, self._clock())
        self._buckets.move_to_end(address)
        if len(self._buckets) > MOST_ADDRESSES:
            self._buckets.popitem(last=False)

    def _level(self, address: str) -> float:
        found = self._buckets.get(address)
        if found is None:
            return 0.0
        return max(0.0, found[0] - self._leak * (self._clock() - found[1]))
