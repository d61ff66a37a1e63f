"""Assignment ids that prove themselves: each names the one before it and carries the server's MAC.

EPOCH-INDEX-PREVIOUS-MAC: how many restores were acknowledged, the block, a hash of the id before, and a code that only
this server can make. An id that this server made but does not know was published by a newer copy of its store.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass

FORM = re.compile(r"^(\d{1,9})-(\d{1,18})-([0-9a-f]{16})-([0-9a-f]{32})$")


@dataclass(frozen=True, order=True)
class Place:
    """Where an assignment stands; a later one is larger."""

    epoch: int
    index: int


def make_id(secret: bytes, place: Place, previous: str) -> str:
    """The id of the assignment that comes after `previous` ("" for the first)."""
    before = hashlib.sha256(previous.encode()).hexdigest()[:16]
    text = f"{place.epoch}-{place.index}-{before}"
    return f"{text}-{_mac(secret, text)}"


def read_id(secret: bytes, text: str) -> Place | None:
    """Where an authentic id stands; None for a forged one."""
    found = FORM.match(text)
    if found is None:
        return None
    body, mac = text.rsplit("-", 1)
    if not hmac.compare_digest(_mac(secret, body), mac):
        return None
    return Place(int(found[1]), int(found[2]))


def follows(text: str, previous: str) -> bool:
    """Whether an id names `previous` as the one before it."""
    return text.split("-")[2:3] == [hashlib.sha256(previous.encode()).hexdigest()[:16]]


def _mac(secret: bytes, text: str) -> str:
    return hmac.new(secret, b"assignment\0" + text.encode(), hashlib.sha256).hexdigest()[:32]
