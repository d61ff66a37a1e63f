"""Tries to break the promise: an exact part, a statistical part, and a zoo of bugs that it must catch."""

from __future__ import annotations

from .audit import Audit, Claim, Target, run_audit
from .statistical import Bounds
from .subject import Crowd, Curation, Stage, Subject
from .targets import target_of

__all__ = ["Audit", "Bounds", "Claim", "Crowd", "Curation", "Stage", "Subject", "Target", "run_audit", "target_of"]
