"""The published constants, computed here a second time, and the guarantee that they truly give."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushloop.errors import InvalidInput
from hushloop.lq import Disturbance, Problem, Start
from hushloop.privacy import Budget
from hushloop.privacy.paper import (
    most_nodes,
    paper_collection,
    paper_constants,
    paper_guarantee,
    printed_sigma,
    tree_depth,
)


def problem(gamma: float = 1.5, **changes: object) -> Problem:
    start = Start("fixed", np.array([0.6, 0.8]))
    made = Problem("small", np.eye(2), 0.1 * np.eye(1), 5, start, Disturbance("sphere", 0.1, 2), gamma, 1.0)
    return made.with_(**changes)


@pytest.mark.parametrize(
    ("gamma", "printed", "zero_out", "replace_one"),
    [(1.5, 1.0, 0.3232, 0.5423), (1.5, 8.0, 3.064, 5.285), (0.05, 20.0, 14.07, 23.79)],
)
def test_the_true_epsilon_of_the_printed_noise(
    gamma: float, printed: float, zero_out: float, replace_one: float
) -> None:
    got = paper_guarantee(problem(gamma), Budget(printed), 2**17)
    assert got.adjacency == "replace-one"
    assert got.epsilon == pytest.approx(replace_one, rel=2e-3)
    assert got.also["zero-out"] == pytest.approx(zero_out, rel=2e-3)
    turned = paper_guarantee(problem(gamma), Budget(printed, adjacency="zero-out"), 2**17)
    assert turned.epsilon == got.also["zero-out"]
    assert turned.also["replace-one"] == got.epsilon


def test_one_level_more_would_miss_the_reference_figures() -> None:
    """17 levels for 2¹⁷ users: the release before an episode is what the paper makes, none follows the last one."""
    seventeen = paper_guarantee(problem(0.05), Budget(20.0), 2**17)
    assert abs(seventeen.epsilon - 23.8) < 0.05
    from hushloop.privacy.accounting import epsilon_of

    assert epsilon_of(seventeen.mu * math.sqrt(18 / 17), 1e-6) > 24.5


def test_the_guarantee_does_not_depend_on_the_number_of_users() -> None:
    values = [paper_guarantee(problem(), Budget(1.0), users).epsilon for users in (1, 2, 1000, 2**17, 2**30)]
    assert values == pytest.approx([values[0]] * 5, rel=1e-9)


def test_constants_as_printed() -> None:
    K, H, gamma, n, d, eps, delta, alpha = 1000, 5, 1.5, 2, 1, 8.0, 1e-6, 0.1
    c = paper_constants(problem(), Budget(eps, delta), K, alpha)
    m = math.ceil(math.log2(K))
    sigma1 = math.sqrt(8 * m * (H * (1 + gamma) ** 2) ** 2 * math.log(2 / delta)) / eps
    sigma2 = math.sqrt(8 * m * (H * (1 + gamma)) ** 2 * math.log(2 / delta)) / eps
    Lam = sigma1 * math.sqrt(m) * (4 * math.sqrt(n + d) + math.sqrt(8 * math.log(4 * K / alpha)))
    nu = sigma2 * math.sqrt(m / Lam) * (math.sqrt(2 * n * (n + d)) + math.sqrt(4 * math.log(2 * K / alpha)))
    assert (c.users, c.depth, c.delta_1, c.delta_2) == (K, m, 31.25, 12.5)
    got = (c.sigma.sigma_s, c.sigma.sigma_c, c.Lambda, c.eta, c.lambda_min, c.lambda_max, c.nu)
    assert got == pytest.approx((sigma1, sigma2, Lam, 2 * Lam, Lam, 3 * Lam, nu), rel=1e-12)
    assert c.sigma.sigma_s >= sigma1
    assert printed_sigma(1.0, 1, 1.0, 2 / math.e) == pytest.approx(math.sqrt(8))


@pytest.mark.parametrize("users", [1, 2, 3, 4, 5, 7, 8, 9, 1000, 1024, 1025])
def test_an_episode_lies_in_at_most_depth_nodes_of_all_releases(users: int) -> None:
    nodes = {node for k in range(users) for node in cover(k)}
    load = [sum(low <= episode <= high for low, high in nodes) for episode in range(1, users + 1)]
    assert max(load) <= tree_depth(users)
    if users > 1:
        assert max(load) == math.ceil(math.log2(users)) == tree_depth(users)
    assert most_nodes(users) == max(len(cover(k)) for k in range(users))


def test_a_release_after_the_last_of_a_power_of_two_needs_one_level_more() -> None:
    for users in (2, 8, 64):
        nodes = {node for k in range(users + 1) for node in cover(k)}
        assert max(sum(low <= e <= high for low, high in nodes) for e in range(1, users + 1)) == tree_depth(users) + 1


def cover(k: int) -> list[tuple[int, int]]:
    """Dyadic intervals that cover 1..k, by taking the largest that fits from the left."""
    out, start = [], 0
    for level in reversed(range(k.bit_length())):
        if k >> level & 1:
            out.append((start + 1, start + (1 << level)))
            start += 1 << level
    return out


def test_what_its_device_enforces() -> None:
    c = paper_collection(problem())
    assert c.shape is None
    assert c.energy == 5 * (1 + 1.5**2)
    assert c.response_bound == 1.0
    assert not c.center.any()


@pytest.mark.parametrize("users", [0, -3, True, 2.0])
def test_bad_numbers_of_users_are_refused(users: object) -> None:
    with pytest.raises(InvalidInput, match="users"):
        tree_depth(users)  # type: ignore[arg-type]


@pytest.mark.parametrize("alpha", [0.0, 1.5, math.nan])
def test_bad_alpha_is_refused(alpha: float) -> None:
    with pytest.raises(InvalidInput, match="alpha"):
        paper_constants(problem(), Budget(1.0), 100, alpha)


def test_more_participations_cost_more() -> None:
    one = paper_guarantee(problem(), Budget(1.0), 1000)
    three = paper_guarantee(problem(), Budget(1.0, participations=3), 1000)
    assert three.mu == pytest.approx(3 * one.mu, rel=1e-12)
