"""The gallery: plants from the literature and from personal services, scaled, each with its story and source."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ...errors import HushloopError
from ..plant import Plant
from .literature import LITERATURE
from .services import SERVICES

BUILDERS: dict[str, Callable[[], Plant]] = {**LITERATURE, **SERVICES}


def names() -> tuple[str, ...]:
    """Every plant's name, in the order of the table in the docs."""
    return tuple(BUILDERS)


@cache
def get(name: str) -> Plant:
    """The plant of that name."""
    if name not in BUILDERS:
        raise HushloopError(f"no plant is called {name!r} in the gallery: choose one of {', '.join(BUILDERS)}")
    return BUILDERS[name]()
