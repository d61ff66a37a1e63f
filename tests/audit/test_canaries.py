"""Canaries stand close to their bounds, and never beyond, whatever the collection asks."""

from __future__ import annotations

import numpy as np
import pytest

from hushloop.audit.attack import report_distance, worst_pair
from hushloop.audit.canaries import climb, neighbours, worst_people, zeros
from hushloop.device import Collection, within_bounds
from hushloop.privacy import Adjacency
from hushloop.privacy.sensitivity import noise_scales, pair_sensitivity

PLAIN = Collection(0, np.zeros((3, 2)), np.eye(3), 10.0, 0.1, 1.0, 5)
WEIGHTED = Collection(
    0, np.zeros((3, 2)), np.eye(3), 0.9, 0.1, 1.0, 5, np.diag([0.65, 0.6, 0.8]) + 0.05, response_budget=2.4
)


@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
def test_the_climb_goes_up_where_collections_weigh_and_never_beyond_the_bound(adjacency: Adjacency) -> None:
    scales = noise_scales(WEIGHTED, 0.2, adjacency)
    a, b = 1 / scales.sigma_s, 1 / scales.sigma_c
    start = worst_pair(WEIGHTED, a, b, adjacency, np.random.default_rng(0))
    top = climb(WEIGHTED, start, a, b, adjacency, np.random.default_rng(1), 600)
    bound = pair_sensitivity(WEIGHTED, a, b, adjacency)
    before, after = (report_distance(WEIGHTED, pair, a, b) for pair in (start, top))
    assert before < after <= bound
    assert after > 0.8 * bound
    if adjacency == "zero-out":
        assert top[1][1].size == 0  # nobody moved the one who has no step


@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
def test_worst_people_send_reports_that_count(adjacency: Adjacency) -> None:
    one, other = worst_people(PLAIN, noise_scales(PLAIN, 0.2, adjacency), adjacency)
    assert within_bounds(PLAIN, *one(PLAIN))
    assert within_bounds(PLAIN, *other(PLAIN))
    assert (other is zeros) == (adjacency == "zero-out")


def test_neighbours_differ_in_one_person_at_one_place() -> None:
    pairs = neighbours(zeros, zeros, (0, 7))
    assert len(pairs) == 12
    assert {crowd.at for pair in pairs.values() for crowd in pair} == {0, 7}
    assert all(a.others is b.others and a.at == b.at for a, b in pairs.values())
