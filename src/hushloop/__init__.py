"""hushloop: learn one controller from many people while promising each of them differential privacy."""

from __future__ import annotations

from ._version import __version__

__all__ = ["__version__"]
