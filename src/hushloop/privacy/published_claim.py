"""The clause of a privacy statement that sets the paper's published claim beside the truth."""

from __future__ import annotations

import math

from .accounting import zcdp_epsilon, zcdp_of
from .clauses import Section, above, number, ordered_epsilons
from .terms import Terms


def published_claim(terms: Terms) -> Section | None:
    """The published claim beside the truth."""
    c, claimed, guarantee = terms.printed, terms.claimed, terms.guarantee
    if c is None or claimed is None or guarantee is None:
        return None
    exact = dict(ordered_epsilons(terms))
    counter = math.sqrt(c.depth) * c.delta_1 / c.sigma.sigma_s
    half = zcdp_epsilon(zcdp_of(counter), claimed.delta / 2)
    rows = (
        ("printed ε", number(claimed.epsilon)),
        ("exactly, zero-out", above(exact["zero-out"])),
        ("exactly, replace-one (the definition)", above(exact["replace-one"])),
    )
    return Section(
        "The published claim",
        (
            f"The noise is the published one: m = ⌈log₂ K⌉ = {c.depth}, Δ₁ = H(1+γ)² = {number(c.delta_1)}, "
            f"Δ₂ = H(1+γ) = {number(c.delta_2)}, σ = Δ√(8 m ln(2/δ))/ε; η = 2Λ, λ_min = Λ = {number(c.Lambda)}, "
            f"λ_max = 3Λ, ν = {number(c.nu)}. m covers releases before each of the K episodes; one after the last "
            "episode of "
            "a K that is a power of 2 would need m + 1. The exact ε does not depend on K: m cancels.",
            "The printed Δ are zero-out bounds while the definition is replace-one; they are also larger than the "
            "device's "
            "true bounds, since ‖z‖² ≤ 1 + γ² and not (1+γ)². By the paper's own conversion, ρ + 2√(ρ ln(2/δ)), each "
            "counter "
            f"comes to {above(half)} where it must stay below ε/2 = {number(claimed.epsilon / 2)}: the printed σ is "
            "approximate. The exact accounting of the pair decides:",
            "With a nominal model Θ₀ that is not zero the algorithm runs in Θ − Θ₀ and its unit ball has the prior's "
            "radius.",
        ),
        (), ("", "ε"), rows,
    )  # fmt: skip
