"""When releases happen: a public sequence of block sizes, fixed before the first report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import InvalidInput


@dataclass(frozen=True)
class Schedule:
    """Block t (from 0) has ⌊first·growthᵗ⌋ users; where `users` (K) is known, the last block is truncated to it."""

    first: int = 256
    growth: float = 2.0
    users: int | None = None

    def __post_init__(self) -> None:
        whole("first", self.first)
        if not (math.isfinite(self.growth) and self.growth >= 1.0):
            raise InvalidInput("growth", f"is {self.growth}", "give a finite number of at least 1, such as 2")
        if self.users is not None:
            whole("users", self.users)

    def sizes(self) -> Iterator[int]:
        """Users of block 0, 1, …; without end where K is unknown."""
        start, t = 0, 0
        while self.users is None or start < self.users:
            size = int(self.first * self.growth**t)
            if self.users is not None:
                size = min(size, self.users - start)
            yield size
            start, t = start + size, t + 1

    def end(self, t: int) -> int:
        """Users in blocks 0..t together."""
        total, seen = 0, -1
        for seen, size in enumerate(self.sizes()):
            total += size
            if seen == t:
                return total
        raise InvalidInput("t", f"is {t}", f"this schedule has {seen + 1} blocks")

    @property
    def blocks(self) -> int:
        """How many blocks there are; K must be known."""
        if self.users is None:
            raise InvalidInput("users", "is not known", "a schedule without K goes on for ever")
        return sum(1 for _ in self.sizes())


def every(size: int = 1, users: int | None = None) -> Schedule:
    """A release after each `size` users; 1 is every episode."""
    return Schedule(size, 1.0, users)


def geometric(first: int = 256, growth: float = 2.0, users: int | None = None) -> Schedule:
    """Blocks that grow by a factor."""
    return Schedule(first, growth, users)


def whole(key: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(key, f"is {value!r}", "give a whole number of at least 1")
