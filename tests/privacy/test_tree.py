"""The tree: nodes, memory, jumps that equal the stream bit for bit, levels and promises."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushloop.device import Collection
from hushloop.errors import InvalidInput
from hushloop.privacy import Budget, Release, Sums
from hushloop.privacy.mechanisms import Mechanism, Tree
from hushloop.privacy.mechanisms.stream import StreamNoise
from hushloop.privacy.mechanisms.tree import new_nodes
from hushloop.privacy.sensitivity import NoiseScales

COLLECTION = Collection(0, np.zeros((3, 2)), np.eye(3), 2.0, 0.1, 1.0, 5)
BUDGET = Budget(1.0)


def users_sums(first: int, end: int) -> Sums:
    k = end - first
    total = sum(range(first, end))
    return Sums(k, np.array([total * (i + 1) for i in range(6)], dtype=object), np.array([k] * 6, dtype=object))


def released(tree: Tree, ends: list[int], seed: int = 3) -> list[Release | None]:
    mechanism = Mechanism(tree, StreamNoise(seed))
    out, start = [], 0
    for end in ends:
        block = mechanism.open(COLLECTION, end - start)
        block.add_sums(users_sums(start, end))
        out.append(block.close())
        start = end
    return out


@settings(derandomize=True, deadline=None)
@given(st.integers(0, 10**9), st.integers(0, 10**6))
def test_nodes_cover_each_prefix_once(k: int, more: int) -> None:
    covered = 0
    for level, index in new_nodes(0, k):
        assert index << level == covered
        covered += 1 << level
    assert covered == k
    kept = set(new_nodes(0, k)) & set(new_nodes(0, k + more))
    assert set(new_nodes(0, k + more)) == kept | set(new_nodes(k, k + more))
    assert len(new_nodes(0, k)) == k.bit_count()


def test_a_person_lies_in_one_node_a_level() -> None:
    K = 64
    used = {node for k in range(1, K + 1) for node in new_nodes(0, k)}
    for person in range(K):
        levels = [level for level, index in used if index << level <= person < (index + 1) << level]
        assert len(levels) == len(set(levels)) <= K.bit_length()
    assert sum(index << level == 0 for level, index in used) == K.bit_length()  # the first person is in all of them


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.sets(st.integers(1, 300), min_size=1, max_size=8))
def test_a_jump_gives_the_streams_release_bit_for_bit(ends: set[int]) -> None:
    tree = Tree.spending(BUDGET, COLLECTION, 300)
    stream = released(tree, list(range(1, 301)))
    for end, jumped in zip(sorted(ends), released(tree, sorted(ends)), strict=True):
        streamed = stream[end - 1]
        assert jumped is not None
        assert streamed is not None
        assert (jumped.T1 == streamed.T1).all()
        assert (jumped.T2 == streamed.T2).all()
        assert jumped.sigma_s == streamed.sigma_s == tree.given.sigma_s * math.sqrt(end.bit_count())


def test_memory_stays_logarithmic() -> None:
    tree = Tree.spending(BUDGET, COLLECTION, 4096)
    mechanism = Mechanism(tree, StreamNoise(0))
    sizes = []
    for _ in range(4096):
        block = mechanism.open(COLLECTION, 1)
        block.add_sums(users_sums(0, 1))
        block.close()
        assert mechanism._memory is not None
        assert len(mechanism._memory["nodes"]) <= tree.levels
        sizes.append(len(json.dumps(mechanism.state())))
    assert max(sizes) < 1000 * (tree.levels + 1)
    assert len(mechanism._memory["nodes"]) == 1 if mechanism._memory else False


def test_an_early_deadline_gives_the_release_of_the_users_that_came() -> None:
    tree = Tree.spending(BUDGET, COLLECTION, 64)
    mechanism = Mechanism(tree, StreamNoise(3))
    block = mechanism.open(COLLECTION, 40)
    block.add_sums(users_sums(0, 21))
    early, straight = block.close(), released(tree, [21])[0]
    assert early is not None
    assert straight is not None
    assert (early.T1 == straight.T1).all()


@pytest.mark.parametrize("users", [1, 2, 3, 7, 8, 9, 1000, 1024])
def test_levels_as_printed_and_one_more_where_the_last_release_needs_it(users: int) -> None:
    printed = Tree.printed(COLLECTION, NoiseScales(3.0, 2.0), users)
    ours = Tree.spending(BUDGET, COLLECTION, users)
    assert printed.levels == max(1, math.ceil(math.log2(users)))
    assert not printed.isotropic
    assert released(ours, [users])[0] is not None
    last = released(printed, [users])[0]
    assert (last is None) == (users > 1 and users.bit_count() == 1)
    if users > 1:
        assert released(printed, [users - 1])[0] is not None


def test_the_budget_is_spent_and_not_exceeded() -> None:
    for users in (1, 5, 2**17):
        tree = Tree.spending(BUDGET, COLLECTION, users)
        promise = tree.guarantee(1e-6, "replace-one")
        assert 1 - 1e-9 < promise.epsilon <= 1.0
        assert promise.mu <= BUDGET.mu
        assert promise.also["zero-out"] < 1.0


def test_worst_prefix_at_two_to_the_seventeen() -> None:
    K = 2**17
    tree = Tree.spending(BUDGET, COLLECTION, K)
    assert tree.levels == 18
    W = tree.weights((1, K - 1, K))
    assert np.array_equal((W**2).sum(axis=1), [1, 17, 1])
    assert math.isclose(math.sqrt(18 * 17), 17.49, rel_tol=1e-3)


def test_shared_nodes_correlate_releases() -> None:
    mechanism = Mechanism(Tree.spending(BUDGET, COLLECTION, 8), StreamNoise(0))
    assert np.array_equal(mechanism.covariance((4, 5, 6, 8)), [[1, 1, 1, 0], [1, 2, 1, 0], [1, 1, 2, 0], [0, 0, 0, 1]])


def test_another_collection_or_noise_is_refused() -> None:
    mechanism = Mechanism(Tree.spending(BUDGET, COLLECTION, 8), StreamNoise(0))
    with pytest.raises(InvalidInput, match="not the one"):
        mechanism.open(Collection(0, np.zeros((3, 2)), np.eye(3), 4.0, 0.1, 1.0, 5), 1)
    with pytest.raises(InvalidInput, match="one tree has one noise"):
        mechanism.open(COLLECTION, 1, NoiseScales(1.0, 1.0))
