"""Blocks: the promise for ever, scales that may change, and collections that may follow releases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushloop.device import Collection, Report
from hushloop.errors import HushloopError, InvalidInput
from hushloop.privacy import Adjacency, Budget, Sums
from hushloop.privacy.accounting import epsilon_of
from hushloop.privacy.budget import RESERVED
from hushloop.privacy.mechanisms import Blocks, Mechanism
from hushloop.privacy.mechanisms.stream import StreamNoise
from hushloop.privacy.noise import ExactNoise
from hushloop.privacy.sensitivity import NoiseScales, pair_sensitivity


def collection(radius: float = 1.0, energy: float = 2.0, block: int = 0) -> Collection:
    return Collection(block, np.full((3, 2), 0.1), np.eye(3) * radius, energy, 0.1, None, 5)


def test_each_block_may_have_its_own_collection_and_the_promise_stays() -> None:
    mechanism = Mechanism(Blocks(Budget(1.0)), StreamNoise(0))
    scales = []
    for t, radius in enumerate((1.0, 0.3, 0.1)):
        block = mechanism.open(collection(radius, block=t), 10)
        scales.append(block.scales)
        spent = pair_sensitivity(block.collection, 1 / block.scales.sigma_s, 1 / block.scales.sigma_c, "replace-one")
        assert spent <= mechanism.guarantee(1e-6, "replace-one").mu
        block.add_sums(Sums(10, *(x.astype(object) for x in (np.zeros(6, int), np.zeros(6, int)))))
        release = block.close()
        assert release is not None
        assert release.fresh
        assert (release.users, release.total_users) == (10, 10 * (t + 1))
    assert scales[2].sigma_c < scales[0].sigma_c / 3  # what recentring buys
    assert mechanism.guarantee(1e-6, "replace-one").epsilon <= 1.0


@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
def test_the_other_adjacency_holds_whatever_is_collected(adjacency: Adjacency) -> None:
    strategy = Blocks(Budget(2.0, 1e-6, adjacency))
    other: Adjacency = "zero-out" if adjacency == "replace-one" else "replace-one"
    promised = strategy.guarantee(1e-6, other).mu
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(300):
        c = collection(10 ** rng.uniform(-3, 2), 10 ** rng.uniform(-1, 3))
        scales = strategy.scales(c)
        worst = max(worst, pair_sensitivity(c, 1 / scales.sigma_s, 1 / scales.sigma_c, other))
    assert 0.5 * promised < worst <= promised
    assert strategy.guarantee(1e-6, adjacency).also[other] == epsilon_of(promised, 1e-6 * (1 - RESERVED))


def test_scales_of_ones_own_must_keep_the_budget() -> None:
    mechanism = Mechanism(Blocks(Budget(1.0)), StreamNoise(0))
    best = mechanism.strategy.scales(collection())
    mechanism.open(collection(), 3, NoiseScales(best.sigma_s * 2, best.sigma_c)).close()
    with pytest.raises(InvalidInput, match="add more noise"):
        mechanism.open(collection(), 3, NoiseScales(best.sigma_s / 2, best.sigma_c))
    with pytest.raises(InvalidInput, match="add more noise"):  # not by a billionth, for the printed ε has no slack
        mechanism.open(collection(), 3, NoiseScales(best.sigma_s * (1 - 5e-10), best.sigma_c * (1 - 5e-10)))


def test_more_reports_of_one_person_cost_more() -> None:
    once, thrice = (Blocks(Budget(1.0, participations=P)) for P in (1, 3))
    assert math.isclose(thrice.scales(collection()).sigma_s, 3 * once.scales(collection()).sigma_s, rel_tol=1e-9)
    assert thrice.guarantee(1e-6, "replace-one").epsilon <= 1.0


def test_a_public_deadline_may_close_a_block_early() -> None:
    mechanism = Mechanism(Blocks(Budget(1.0)), StreamNoise(0))
    block = mechanism.open(collection(), 10)
    block.add_sums(Sums.zero(3, 2))
    release = block.close()
    assert release is not None
    assert release.users == 0
    assert block.closed


def test_a_report_sent_twice_changes_nothing_in_any_later_block() -> None:
    mechanism = Mechanism(Blocks(Budget(1.0)), StreamNoise(0))
    report = Report(np.array([5, 0, 0, 0, 0, 0]), np.zeros(6, dtype=np.int64), "a", "r1")
    first = mechanism.open(collection(), 2, ids=["a"])
    assert first.add(report)
    assert not first.add(report)
    first.close()
    second = mechanism.open(collection(), 2, ids=["b"])
    with pytest.raises(HushloopError, match="not of block 1"):
        second.add(report)
    second.accept("a")  # pinned
    assert not second.add(report)
    assert second.count == 0
    changed = Report(report.S + 1, report.C, "a", "r1")
    with pytest.raises(InvalidInput, match="other content"):
        second.add(changed)


@pytest.mark.parametrize(
    ("S", "C"),
    [
        (np.zeros(5, dtype=np.int64), np.zeros(6, dtype=np.int64)),
        (np.zeros(6, dtype=np.int64), np.zeros((3, 2), dtype=np.int64)),
        (np.zeros(6), np.zeros(6, dtype=np.int64)),
    ],
)
def test_what_is_not_well_formed_is_no_report(S: np.ndarray, C: np.ndarray) -> None:
    block = Mechanism(Blocks(Budget(1.0)), StreamNoise(0)).open(collection(), 2, ids=["a"])
    with pytest.raises(InvalidInput, match="whole numbers"):
        block.add(Report(S, C, "a"))
    assert block.count == 0


def test_a_state_goes_back_only_where_it_came_from() -> None:
    from hushloop.privacy.mechanisms import Exact

    state = Mechanism(Blocks(Budget(1.0)), StreamNoise(0)).state()
    with pytest.raises(InvalidInput, match="saved by"):
        Mechanism.from_state(Exact(), StreamNoise(0), state)


def test_a_state_does_not_go_on_under_a_smaller_budget() -> None:
    mechanism = Mechanism(Blocks(Budget(8.0)), StreamNoise(0))
    mechanism.open(collection(), 10)
    Mechanism.from_state(Blocks(Budget(8.0)), StreamNoise(0), mechanism.state())
    for less in (Budget(0.1), Budget(8.0, participations=2), Budget(8.0, 1e-9)):
        with pytest.raises(InvalidInput, match="add more noise"):
            Mechanism.from_state(Blocks(less), StreamNoise(0), mechanism.state())


@pytest.mark.parametrize(
    ("epsilon", "refused"), [(0.1, False), (8.0, False), (15.0, False), (30.0, True), (100.0, True)]
)
def test_whole_numbers_are_refused_where_they_add_more_to_delta_than_is_reserved(epsilon: float, refused: bool) -> None:
    mechanism = Mechanism(Blocks(Budget(epsilon)), ExactNoise())
    if refused:
        with pytest.raises(InvalidInput, match="whole numbers"):
            mechanism.open(collection(), 10)
    else:
        mechanism.open(collection(), 10)
