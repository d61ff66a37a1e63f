"""From reports to releases; knows nothing of learning."""

from __future__ import annotations

from .budget import ADJACENCIES, Adjacency, Budget, Guarantee
from .release import Release, Sums

__all__ = ["ADJACENCIES", "Adjacency", "Budget", "Guarantee", "Release", "Sums"]
