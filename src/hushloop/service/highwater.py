"""How far this server has published, in a file outside the store: an old backup is below its mark."""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import HushloopError
from .chain import Place
from .keys import write_private


class RolledBackError(HushloopError):
    """The store is older than what was published."""


class HighWater:
    """The largest place that was ever about to be published. It only rises."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Place | None:
        if not self.path.exists():
            return None
        try:
            value = json.loads(self.path.read_text(encoding="utf-8"))
            return Place(int(value["epoch"]), int(value["index"]))
        except (OSError, ValueError, KeyError, TypeError) as why:
            raise HushloopError(f"{self.path} cannot be read ({why}): bring it back from where it came from") from why

    def raise_to(self, place: Place) -> None:
        """Durable when this returns."""
        known = self.read()
        if known is None or known < place:
            write_private(self.path, json.dumps({"epoch": place.epoch, "index": place.index}) + "\n")

    def check(self, place: Place, fresh: bool) -> None:
        """Refuse a store that stands below the mark, or one that has a history where there is no mark."""
        known = self.read()
        if known is None and not fresh:
            raise RolledBackError(
                f"{self.path} is missing, so nobody can tell whether this store is the newest: bring the file back, or "
                "say that the store was restored: hushloop store acknowledge-restore"
            )
        if known is not None and place < known:
            raise RolledBackError(
                f"the store stands at block {place.index} (restore {place.epoch}), and block {known.index} (restore"
                f" {known.epoch}) was published: going on would use noise twice. Bring the newest store back, or give"
                " up what is lost and charge for it: hushloop store acknowledge-restore"
            )
