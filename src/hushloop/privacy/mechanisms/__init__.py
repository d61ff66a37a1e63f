"""Release mechanisms: how a stream of reports becomes noisy sums. One book-keeping, one strategy a file."""

from __future__ import annotations

from ..noise import NoiseSource
from .base import Key, Noise, Strategy
from .blocks import Blocks
from .mechanism import Block, Mechanism
from .none import Exact

__all__ = ["Block", "Blocks", "Exact", "Key", "Mechanism", "Noise", "NoiseSource", "Strategy"]
