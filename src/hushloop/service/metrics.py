"""Metrics in the text format of Prometheus: public values alone, so no counter moves with the open block's reports."""

from __future__ import annotations

from .._version import __version__
from .deployment import Deployment
from .published import Published


def metrics(deployment: Deployment, published: Published, accepting: bool) -> str:
    """One page."""
    budget = deployment.budget
    lines: list[str] = []

    def add(name: str, kind: str, text: str, value: float, labels: str = "") -> None:
        lines.append(f"# HELP hushloop_{name} {text}\n# TYPE hushloop_{name} {kind}")
        lines.append(f"hushloop_{name}{labels} {value:.17g}")

    name = deployment.problem.name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    add("info", "gauge", "Always 1.", 1, f'{{version="{__version__}",plant="{name}",profile="refined"}}')
    add("accepting", "gauge", "Whether reports are accepted.", float(accepting and not published.finished))
    add("finished", "gauge", "Whether the last block has closed.", float(published.finished))
    add("releases_total", "counter", "Blocks that were closed and released.", published.release_count)
    add("released_users_total", "counter", "Users in closed blocks.", published.users)
    add("open_block_size", "gauge", "Public size of the open block; 0 when finished.", published.block_users or 0)
    add("deadline_seconds", "gauge", "When the open block closes at the latest; 0: never.", published.deadline or 0)
    add("restores_total", "counter", "Restores that were acknowledged and charged.", published.restores)
    add("epsilon", "gauge", "Promised.", budget.epsilon, f'{{adjacency="{budget.adjacency}"}}')
    add("delta", "gauge", "Promised.", budget.delta)
    add("participations", "gauge", "Most reports of one person.", budget.participations)
    return "\n".join(lines) + "\n"
