"""The page at `/`: how the learning goes, made of released values alone."""

from .board import Board

__all__ = ["Board"]
