"""Canaries stand close to their bounds, and never beyond, whatever the collection asks."""

from __future__ import annotations

import numpy as np
import pytest

from hushloop.audit.canaries import neighbours, worst_people, zeros
from hushloop.device import Collection, within_bounds
from hushloop.device.report import GRID
from hushloop.privacy import Adjacency
from hushloop.privacy.sensitivity import noise_scales, pair_sensitivity

PLAIN = Collection(0, np.zeros((3, 2)), np.eye(3), 10.0, 0.1, 1.0, 5)
WEIGHTED = Collection(
    0, np.zeros((3, 2)), np.eye(3), 0.9, 0.1, 1.0, 5, np.diag([0.65, 0.6, 0.8]) + 0.05, response_budget=2.4
)


@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
@pytest.mark.parametrize("c", [PLAIN, WEIGHTED], ids=["plain", "weighted"])
def test_worst_people_stand_close_to_the_bound_and_never_beyond(c: Collection, adjacency: Adjacency) -> None:
    scales = noise_scales(c, 0.2, adjacency)
    a, b = 1 / scales.sigma_s, 1 / scales.sigma_c
    (S, C), (S2, C2) = (person(c) for person in worst_people(c, scales, adjacency))
    twice = np.where(np.equal(*np.triu_indices(3)), 1.0, 2.0)
    square = a**2 * np.sum(twice * ((S - S2) * GRID) ** 2) + b**2 * np.sum(((C - C2) * GRID) ** 2)
    bound = pair_sensitivity(c, a, b, adjacency)
    assert 0.9 * bound < np.sqrt(square) <= bound


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
