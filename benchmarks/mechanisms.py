"""Noise of the worst prefix of 2¹⁷ users under each mechanism, measured on real releases of the shipped code.

First the table of the design: standard deviations at unit sensitivity and μ = 1, to 2 %. Then one entry of S at horizon
5, γ = 1, E = 10, ε = 1, δ = 1e-6, zero-out, blocks of 512·1.5ⁱ users, against the paper's tree as printed, and against
that tree at the same sensitivity and the same accounting.
"""

from __future__ import annotations

from common import Claim, claim, show  # first: it sets the number of threads

# isort: split

import numpy as np

from hushloop.device import Collection
from hushloop.lq import Plant
from hushloop.lq.files import load
from hushloop.privacy import Budget, Sums
from hushloop.privacy.accounting import epsilon_of
from hushloop.privacy.mechanisms import Blocks, Factorised, Mechanism, Strategy, Tree
from hushloop.privacy.mechanisms.stream import StreamNoise
from hushloop.privacy.paper import paper_tree
from hushloop.privacy.schedule import geometric

K, TRIALS = 2**17, 20_000
COLLECTION = Collection(0, np.zeros((3, 2)), np.eye(3), 10.0, 0.1, 1.0, 5)
UNIT = Budget(epsilon_of(1.0, 1e-6) * (1 + 1e-9), 1e-6, "zero-out")
ASKED = Budget(1.0, 1e-6, "zero-out")


def spreads(strategy: Strategy, collection: Collection, ends: list[int], add_up: bool = False) -> np.ndarray:
    """Standard deviation of a diagonal entry of T1 after each of `ends` users, over many runs of the real code."""
    mechanism = Mechanism(strategy, StreamNoise(1, trials=TRIALS))
    total, start, found = 0.0, 0, []
    for end in ends:
        block = mechanism.open(collection, end - start)
        zero = Sums.zero(3, 2)
        block.add_sums(Sums(end - start, zero.S, zero.C))
        release = block.close()
        assert release is not None
        total = total + release.T1 if add_up else release.T1
        found.append(np.sqrt(np.mean(np.diagonal(total, axis1=1, axis2=2) ** 2)))
        start = end
    return np.array(found)


def ends_of(first: int, growth: float) -> list[int]:
    return [int(end) for end in np.cumsum(list(geometric(first, growth, K).sizes()))]


def factorised(first: int, growth: float, budget: Budget, collection: Collection) -> tuple[Strategy, list[int]]:
    ends = ends_of(first, growth)
    return Factorised(collection, budget, len(ends)), ends


def table() -> list[Claim]:
    one = float(spreads(Blocks(UNIT), COLLECTION, [K])[0])
    doubling = ends_of(1, 2.0)
    measured = {
        "blocks, prefix by doubling": (spreads(Blocks(UNIT), COLLECTION, doubling, True).max(), 4.2),
        "tree, 18 levels": (spreads(Tree.spending(UNIT, COLLECTION, K), COLLECTION, [K - 1]).max(), 17.5),
    }
    for name, first, growth, known in (
        ("factorised, doubling", 1, 2.0, 1.74),
        ("factorised, growth 1.5", 1, 1.5, 1.86),
        ("factorised, growth 1.5 from 512", 512, 1.5, 1.60),
    ):
        strategy, ends = factorised(first, growth, UNIT, COLLECTION)
        measured[name] = (spreads(strategy, COLLECTION, ends).max(), known)
    return [
        claim(f"std of the worst prefix, {name}: agreement", f"{s / one:.4g}", f"table: {known}",
              1.0 - abs(s / one / known - 1.0), 0.98)
        for name, (s, known) in measured.items()
    ]  # fmt: skip


def against_the_paper() -> list[Claim]:
    plant = load("toy")
    assert isinstance(plant, Plant)
    printed = paper_tree(plant.problem.with_(control_bound=1.0), ASKED, K)
    as_printed = float(spreads(printed, printed.collection, [K - 1])[0])
    same = float(spreads(Tree.spending(ASKED, COLLECTION, K), COLLECTION, [K - 1])[0])
    strategy, ends = factorised(512, 1.5, ASKED, COLLECTION)
    ours = float(spreads(strategy, COLLECTION, ends).max())
    return [
        claim("noise of an entry of S, factorised against the paper as printed", f"{ours:.4g}", f"{as_printed:.5g}",
              as_printed / ours, 38.0),
        claim("noise of an entry of S, factorised against the paper's tree, same sensitivity and accounting",
              f"{ours:.4g}", f"{same:.5g}", same / ours, 10.0),
    ]  # fmt: skip


if __name__ == "__main__":
    show(table() + against_the_paper())
