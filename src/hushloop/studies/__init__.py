"""Named experiments: a grid of cells, tables made of them, figures of the tables, and one report."""

from __future__ import annotations

import importlib
from typing import Any

from ..errors import InvalidInput
from .study import Drawing, Prepared, Progress, Ran, Study

STUDIES = {
    "headline": "headline",
    "regret": "regret",
    "theorem-1": "theorem_1",
    "theorem-3": "theorem_3",
    "corrections": "corrections",
    "ablation": "ablation",
    "mechanisms": "mechanisms",
    "planners": "planners",
    "coverage": "coverage",
    "dimension": "dimension",
    "services": "services",
    "accounting": "accounting",
    "demo": "demo",
}
"""Name → the module that has it as `STUDY`; one short file a study."""


def find(name: str) -> Study:
    """The study of that name, or of a module of yours: `module:STUDY`."""
    if ":" in name:
        from .cell import named

        found = named(name)
    elif name in STUDIES:
        found = importlib.import_module(f"{__name__}.{STUDIES[name]}").STUDY
    else:
        raise InvalidInput("study", f"is {name!r}", f"choose one of {', '.join(STUDIES)}")
    if not isinstance(found, Study):
        raise InvalidInput("study", f"is {name!r}, which is no Study", "name one as module:STUDY")
    return found


def study(name: str, quick: bool = False, **changes: Any) -> Prepared:
    """A study with its options settled: `study("regret", quick=True, seeds=4).run()`."""
    return find(name).prepared(quick, **changes)


__all__ = ["STUDIES", "Drawing", "Prepared", "Progress", "Ran", "Study", "find", "study"]
