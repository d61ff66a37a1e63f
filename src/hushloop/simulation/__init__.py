"""Many users, many seeds, exact regret."""

from __future__ import annotations

from .learning_time import learning_time
from .result import Result
from .rows import Progress
from .run import simulate

__all__ = ["Progress", "Result", "learning_time", "simulate"]
