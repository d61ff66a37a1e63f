"""The published constants of Private-OFU-RL, as printed, and what noise of that size truly guarantees.

Chowdhury, Zhou, Shroff, "Adaptive Control of Differentially Private Linear Quadratic Systems", ISIT 2021.
docs/theory/privacy-of-the-paper.md has the corrections and the numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..device import Collection
from ..errors import InvalidInput
from ..lq import Problem
from .accounting import UP
from .budget import Budget, Guarantee
from .mechanisms.tree import Tree
from .sensitivity import NoiseScales


@dataclass(frozen=True)
class PaperConstants:
    """All that the paper derives from (K, H, γ, ε, δ, α); `sigma` is the noise of one node of either tree."""

    users: int  # K
    depth: int  # m
    delta_1: float  # Δ₁ = H(1+γ)²
    delta_2: float  # Δ₂ = H(1+γ)
    sigma: NoiseScales  # (σ₁, σ₂)
    Lambda: float  # Λ
    eta: float  # η = 2Λ
    lambda_min: float  # Λ
    lambda_max: float  # 3Λ
    nu: float  # ν


def tree_depth(users: int) -> int:
    """m = ⌈log₂ K⌉, at least 1: an episode lies in at most m nodes while the prefixes 0..K−1 are released.

    A release after the last episode of a K that is a power of 2 would need one level more.
    """
    if isinstance(users, bool) or not isinstance(users, int) or users < 1:
        raise InvalidInput("users", f"is {users!r}", "give a whole number of at least 1")
    return max(1, (users - 1).bit_length())


def most_nodes(users: int) -> int:
    """The most noisy nodes that one release sums: the largest number of binary ones in 0..K−1."""
    last = users - 1
    return max(last.bit_count(), last.bit_length() - 1)


def printed_sigma(sensitivity: float, depth: int, epsilon: float, delta: float) -> float:
    """σ = Δ√(8 m ln(2/δ))/ε."""
    return sensitivity * math.sqrt(8.0 * depth * math.log(2.0 / delta)) / epsilon * UP


def paper_constants(problem: Problem, budget: Budget, users: int, alpha: float = 0.1) -> PaperConstants:
    """The constants for the printed ε and δ of `budget`; its adjacency plays no part in them."""
    if not 0 < alpha <= 1:
        raise InvalidInput("alpha", f"is {alpha}", "give a number above 0 and at most 1")
    m, H, reach = tree_depth(users), problem.horizon, 1.0 + problem.control_bound
    delta_1, delta_2 = H * reach**2, H * reach
    sigma = NoiseScales(*(printed_sigma(bound, m, budget.epsilon, budget.delta) for bound in (delta_1, delta_2)))
    Lambda = sigma.sigma_s * math.sqrt(m) * (4.0 * math.sqrt(problem.p) + math.sqrt(8.0 * math.log(4 * users / alpha)))
    spread = math.sqrt(2.0 * problem.n * problem.p) + math.sqrt(4.0 * math.log(2 * users / alpha))
    nu = sigma.sigma_c * math.sqrt(m / Lambda) * spread
    return PaperConstants(users, m, delta_1, delta_2, sigma, Lambda, 2.0 * Lambda, Lambda, 3.0 * Lambda, nu)


def paper_collection(problem: Problem) -> Collection:
    """How `paper` reports: every step with weight 1, the response about Θ₀ clipped to Y and by nothing else."""
    return Collection(
        0, problem.nominal, None, problem.full_energy, problem.disturbance_bound, problem.response_bound,
        problem.horizon,
    )  # fmt: skip


def paper_tree(problem: Problem, budget: Budget, users: int) -> Tree:
    """The two counters with the printed noise. Each of the m nodes of a report sees the pair (S, C).

    Mirrored noise sees √Σ_{i≤j}(ΔS_ij)², which is at most ‖ΔS‖, with equality where ΔS is diagonal.
    """
    sigma = paper_constants(problem, budget, users).sigma
    return Tree.printed(paper_collection(problem), sigma, users, budget.participations)


def paper_guarantee(problem: Problem, budget: Budget, users: int) -> Guarantee:
    """What the printed noise truly keeps for one person, at the printed δ, under each adjacency."""
    return paper_tree(problem, budget, users).guarantee(budget.delta, budget.adjacency)
