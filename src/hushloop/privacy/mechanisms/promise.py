"""From the μ of one report to the guarantee of one person."""

from __future__ import annotations

from ..accounting import epsilon_of
from ..budget import Adjacency, Budget, Guarantee, other


def promise(mus: dict[Adjacency, float], budget: Budget, delta: float, adjacency: Adjacency) -> Guarantee:
    """A person with P reports spends P·μ. At the budget's own terms ε is never above what was asked."""
    P = budget.participations
    epsilons: dict[Adjacency, float] = {}
    for key, mu in mus.items():
        epsilons[key] = epsilon_of(P * mu, delta)
        if key == budget.adjacency and delta == budget.delta and mu <= budget.mu:
            epsilons[key] = min(epsilons[key], budget.epsilon)
    also = other(adjacency)
    return Guarantee(adjacency, epsilons[adjacency], delta, P * mus[adjacency], {also: epsilons[also]})
