"""Release mechanisms: how a stream of reports becomes noisy sums. One book-keeping, one strategy a file."""

from __future__ import annotations

from ..noise import NoiseSource
from .base import Key, Noise, Strategy
from .blocks import Blocks
from .factorised import Factorised
from .mechanism import Block, Mechanism
from .none import Exact
from .tree import Tree

__all__ = [
    "Block",
    "Blocks",
    "Exact",
    "Factorised",
    "Key",
    "Mechanism",
    "Noise",
    "NoiseSource",
    "Strategy",
    "Tree",
]
