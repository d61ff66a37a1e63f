"""The exact part measures what a person spends to the last digit, on mechanisms of every kind."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushloop.audit.canaries import beyond_bounds, driven, neighbours, worst_people, zeros
from hushloop.audit.exact import ExactResult, exact_audit, spent, worst_of
from hushloop.audit.sources import Draw, Shifted, whole_units
from hushloop.audit.subject import Crowd, play
from hushloop.audit.zoo import COLLECTION, SIZES, USERS, curation, fixed, recentred
from hushloop.device import within_bounds
from hushloop.device.report import GRID
from hushloop.privacy import Budget
from hushloop.privacy.mechanisms import Blocks, Exact, Factorised, Strategy, Tree
from hushloop.privacy.mechanisms.stream import StreamNoise
from hushloop.privacy.sensitivity import NoiseScales

BUDGET = Budget(1.0)
STRATEGIES: dict[str, Strategy] = {
    "blocks": Blocks(BUDGET),
    "tree": Tree.spending(BUDGET, COLLECTION, USERS),
    "factorised": Factorised(COLLECTION, BUDGET, len(SIZES)),
}


def distance(strategy: Strategy) -> float:
    """How far the worst pair lies apart in units of one measurement's noise, straight from the reports."""
    scales = strategy.scales(COLLECTION)
    one, other = worst_people(COLLECTION, scales, "replace-one")
    (S, C), (S2, C2) = one(COLLECTION), other(COLLECTION)
    twice = np.where(np.subtract(*np.triu_indices(3)) == 0, 1.0, 2.0)
    s, c = (S - S2) * GRID / scales.sigma_s, (C - C2) * GRID / scales.sigma_c
    return math.sqrt(float((twice * s * s).sum() + (c * c).sum()))


@pytest.mark.parametrize(("name", "nodes"), [("blocks", 1), ("tree", 5), ("factorised", None)])
def test_the_cost_is_the_distance_of_the_reports_times_the_nodes_they_are_in(name: str, nodes: int | None) -> None:
    strategy = STRATEGIES[name]
    sizes = (1,) * USERS if name == "tree" else SIZES
    one, other = worst_people(COLLECTION, strategy.scales(COLLECTION), "replace-one")
    cost, equal = spent(curation(strategy, sizes), Crowd(one, zeros), Crowd(other, zeros), 0)
    assert equal
    if isinstance(strategy, Factorised):
        factor = float(np.linalg.norm(strategy.strategy.C[:, 0]))
    else:
        assert nodes is not None
        factor = math.sqrt(nodes)
    assert math.isclose(cost, distance(strategy) * factor, rel_tol=1e-6)


def test_mirrored_noise_counts_each_entry_of_a_pair_once() -> None:
    N, L = np.array([[0, 3], [3, 0]], dtype=object) * (1 << 30), np.zeros((2, 1), dtype=object)
    assert math.isclose(Draw(0, NoiseScales(3.0, 1.0), False).cost(N, L), 1.0)
    assert math.isclose(Draw(0, NoiseScales(3.0, 1.0), True).cost(N, L), 2.0)


def test_an_adaptive_agent_decides_the_same_when_releases_are_the_same() -> None:
    make = curation(STRATEGIES["blocks"], SIZES, recentred)
    one, other = worst_people(COLLECTION, STRATEGIES["blocks"].scales(COLLECTION), "replace-one")
    a, b = Crowd(one, one, 5), Crowd(other, one, 5)
    plain = [play(make(Shifted(StreamNoise(0))), crowd).decisions for crowd in (a, b)]
    assert plain[0] != plain[1]  # so equality below is not for want of anything to differ
    cost, equal = spent(make, a, b, 0)
    assert equal
    assert 0 < cost <= BUDGET.mu


def test_no_noise_cannot_hide_anybody() -> None:
    cost, _ = spent(curation(Exact(), SIZES), Crowd(driven(trajectory()), zeros), Crowd(zeros, zeros), 0)
    assert math.isinf(cost)


def trajectory() -> tuple[np.ndarray, np.ndarray]:
    return np.full((3, 2), 0.5), np.full((2, 1), 0.2)


def test_people_far_beyond_their_bounds_are_no_honest_devices_report() -> None:
    assert not within_bounds(COLLECTION, *beyond_bounds(COLLECTION))
    one, other = worst_people(COLLECTION, NoiseScales(10.0, 10.0), "zero-out")
    assert within_bounds(COLLECTION, *one(COLLECTION))
    assert other is zeros


def test_verdicts_are_joined() -> None:
    good = ExactResult(True, True, 0.2, 0.3, "a")
    bad = ExactResult(False, True, 0.4, 0.3, "b")
    assert worst_of([good, bad]) == ExactResult(False, True, 0.4, 0.3, "b")
    assert worst_of([good, good]).holds


def test_a_promise_that_is_too_good_fails_by_the_pair_that_breaks_it() -> None:
    strategy = STRATEGIES["blocks"]
    people = worst_people(COLLECTION, strategy.scales(COLLECTION), "replace-one")
    found = exact_audit(curation(strategy, SIZES, fixed), neighbours(*people), 0.9 * BUDGET.mu)
    assert not found.moves_within_sensitivity
    assert found.decisions_equal
    assert found.pair.startswith("worst pair")


def test_floats_become_whole_numbers_of_grid_units() -> None:
    made = whole_units(np.array([[1.0, -0.5], [1e6, GRID * 3.4]]))
    assert made.tolist() == [[1 << 30, -(1 << 29)], [10**6 << 30, 3]]
    assert all(type(v) is int for v in made.ravel())
