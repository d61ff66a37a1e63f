"""From the μ of one report to the guarantee of one person."""

from __future__ import annotations

from ..accounting import epsilon_of, for_participations
from ..budget import RESERVED, Adjacency, Budget, Guarantee, other


def promise(
    mus: dict[Adjacency, float], delta: float, adjacency: Adjacency, participations: int, asked: Budget | None = None
) -> Guarantee:
    """A person with P reports spends P·μ. Where `asked` was met, ε at its own terms is never printed above it."""
    epsilons: dict[Adjacency, float] = {}
    for key, mu in mus.items():
        epsilons[key] = epsilon_of(for_participations(mu, participations), delta * (1.0 - RESERVED))
        if asked is not None and key == asked.adjacency and delta == asked.delta and mu <= asked.mu:
            epsilons[key] = min(epsilons[key], asked.epsilon)
    mu = for_participations(mus[adjacency], participations)
    return Guarantee(adjacency, epsilons[adjacency], delta, mu, {other(adjacency): epsilons[other(adjacency)]})
