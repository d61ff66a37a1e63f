"""One audit: what is claimed, whether it is broken, and what shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..privacy.budget import Adjacency
from .exact import ExactResult, exact_audit, worst_of
from .statistical import CERTAIN, Bounds, Scores, lower_bounds, score
from .subject import Crowd, Make


@dataclass(frozen=True)
class Claim:
    """(ε, δ) as it is printed, and the μ that the mechanism promises per person."""

    epsilon: float
    delta: float
    adjacency: Adjacency
    mu: float


@dataclass(frozen=True, eq=False)
class Target:
    """What is audited. The exact part may run a richer subject beside the statistical one."""

    name: str
    claim: Claim
    exact: tuple[tuple[Make, Mapping[str, tuple[Crowd, Crowd]]], ...]  # each with named pairs of neighbours
    statistical: Make
    canary: tuple[Crowd, Crowd]
    at_once: bool = True  # no collection depends on a release, so that many trials run as one


@dataclass(frozen=True, eq=False)
class Audit:
    """The result."""

    name: str
    claim: Claim
    trials: int
    bound: Bounds  # at 95 %
    certain: Bounds  # at 1 − 10⁻⁶
    exact: ExactResult
    scores: Scores

    @property
    def violated(self) -> bool:
        """The claim is false: for certain, or but for one chance in a million."""
        return not self.exact.holds or self.certain.largest > self.claim.epsilon

    @property
    def by(self) -> list[str]:
        """What accuses it."""
        found = []
        if not self.exact.moves_within_sensitivity:
            found.append("exact: moves")
        if not self.exact.decisions_equal:
            found.append("exact: decisions")
        c = self.certain
        for name, value in (("mean shift", c.mean_shift), ("gdp", c.gdp), ("clopper-pearson", c.clopper_pearson)):
            if value > self.claim.epsilon:
                found.append(f"statistical: {name}")
        return found

    def to_dict(self) -> dict[str, Any]:
        b, c, e = self.bound, self.certain, self.exact
        return {
            "subject": self.name,
            "claimed": {k: getattr(self.claim, k) for k in ("epsilon", "delta", "adjacency", "mu")},
            "trials": self.trials,
            "bound": {"mean_shift": b.mean_shift, "gdp": b.gdp, "clopper_pearson": b.clopper_pearson},
            "certain": {"mean_shift": c.mean_shift, "gdp": c.gdp, "clopper_pearson": c.clopper_pearson},
            "violated": self.violated,
            "by": self.by,
            "exact": {
                "moves_within_sensitivity": e.moves_within_sensitivity,
                "decisions_equal": e.decisions_equal,
                "cost": e.cost,
                "promised": e.promised,
                "pair": e.pair,
            },
        }


def run_audit(target: Target, trials: int, seed: int = 0) -> Audit:
    """Both parts."""
    exact = worst_of([exact_audit(make, pairs, target.claim.mu, seed) for make, pairs in target.exact])
    scores = score(target.statistical, *target.canary, seed, trials, target.at_once, target.claim.delta)
    delta = target.claim.delta
    bound, certain = lower_bounds(scores, delta), lower_bounds(scores, delta, CERTAIN / 3)
    return Audit(target.name, target.claim, trials, bound, certain, exact, scores)
