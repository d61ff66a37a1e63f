"""Many independent audits of an honest claim: their bounds must lie close below ε, and rarely above it.

Run it with `python -m hushloop.audit.repeat --audits 200 --trials 100000 --mechanism blocks`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..lq import Plant
from ..lq.files import load
from ..privacy.budget import Budget
from .statistical import PILOT, learn_score, mean_shift_bound, score
from .targets import target_of


@dataclass(frozen=True)
class Repeated:
    """Mean-shift bounds at 95 % of many audits of one claim."""

    mechanism: str
    epsilon: float
    audits: int
    trials: int
    median: float
    above: int  # bounds above ε
    allowed: int  # more would be chance once in a million

    @property
    def honest(self) -> bool:
        return self.above <= self.allowed


def most_above(audits: int, miss: float = 0.05, chance: float = 1e-6) -> int:
    """The least k with P(Binomial(audits, miss) > k) ≤ chance."""
    from scipy.special import bdtrc

    return next(k for k in range(audits + 1) if k == audits or float(bdtrc(k, audits, miss)) <= chance)


def repeat(
    mechanism: str, audits: int, trials: int, epsilon: float = 1.0, users: int = 2**17, plant: str = "toy",
    seed: int = 0, step: Callable[[float], None] = lambda bound: None,
) -> Repeated:  # fmt: skip
    """Audit the same honest claim over and over, each time with fresh noise, by a score learned before all of them."""
    found = load(plant)
    problem = found.problem if isinstance(found, Plant) else found
    budget = Budget(epsilon)
    target = target_of(problem, "refined", budget, users, mechanism)
    learned = learn_score(target.statistical, *target.canary, seed, PILOT, True)
    bounds = []
    for i in range(audits):
        scores = score(target.statistical, *target.canary, 10 * (seed + i) + 1000, trials, True, budget.delta, learned)
        bounds.append(mean_shift_bound(scores, budget.delta, 0.05))
        step(bounds[-1])
    above = sum(bound > epsilon for bound in bounds)
    return Repeated(mechanism, epsilon, audits, trials, float(np.median(bounds)), above, most_above(audits))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m hushloop.audit.repeat", description=__doc__)
    parser.add_argument("--audits", type=int, default=200)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--mechanism", choices=("blocks", "tree", "factorised"), default="blocks")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    result = repeat(chosen.mechanism, chosen.audits, chosen.trials, chosen.epsilon, seed=chosen.seed)
    print(json.dumps(result.__dict__ | {"honest": result.honest}))
    return 0 if result.honest else 1


if __name__ == "__main__":
    sys.exit(main())
