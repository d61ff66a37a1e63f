"""hushloop: learn one controller from many people while promising each of them differential privacy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .agent import Agent
    from .device import Assignment, Collection, Controller, Report
    from .errors import HushloopError
    from .lq import Disturbance, Plant, Problem, Start, gallery
    from .lq.files import load
    from .lq.interop import lqr_gains
    from .privacy.budget import Budget
    from .profiles import nonprivate, ofu, paper_agent, refined
    from .simulation import simulate
    from .studies import study

PUBLIC = {
    "Agent": "agent",
    "Assignment": "device",
    "Budget": "privacy.budget",
    "Collection": "device",
    "Controller": "device",
    "Disturbance": "lq",
    "HushloopError": "errors",
    "Plant": "lq",
    "Problem": "lq",
    "Report": "device",
    "Start": "lq",
    "gallery": "lq",
    "load": "lq.files",
    "lqr_gains": "lq.interop",
    "nonprivate": "profiles",
    "ofu": "profiles",
    "paper_agent": "profiles",
    "refined": "profiles",
    "simulate": "simulation",
    "study": "studies",
}
"""The public surface: name → the module that has it, imported when it is first asked for. One line a name here, and
one above for the type checkers."""

__all__ = [
    "Agent",
    "Assignment",
    "Budget",
    "Collection",
    "Controller",
    "Disturbance",
    "HushloopError",
    "Plant",
    "Problem",
    "Report",
    "Start",
    "__version__",
    "gallery",
    "load",
    "lqr_gains",
    "nonprivate",
    "ofu",
    "paper_agent",
    "refined",
    "simulate",
    "study",
]


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'hushloop' has no attribute {name!r}")
    value = getattr(import_module(f"hushloop.{PUBLIC[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
