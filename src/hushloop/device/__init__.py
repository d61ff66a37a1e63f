"""What runs at the user's side: control, clip, sum. Needs numpy alone."""

from __future__ import annotations

from .assignment import SCALE_BITS, Assignment, Collection, Controller
from .report import Report, episode_sums, make_report, within_bounds

__all__ = [
    "SCALE_BITS",
    "Assignment",
    "Collection",
    "Controller",
    "Report",
    "episode_sums",
    "make_report",
    "within_bounds",
]
