"""Every bound is attacked by gradient ascent, attained where that is said, and exceeded nowhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hushloop.audit.attack import Consecutive, Free, ascend, distance, report_distance, weighted_sums, worst_pair
from hushloop.device import Collection
from hushloop.device.report import GRID, episode_sums
from hushloop.errors import InvalidInput
from hushloop.lq.files import load
from hushloop.privacy import Budget
from hushloop.privacy.accounting import mu_of
from hushloop.privacy.budget import Adjacency
from hushloop.privacy.sensitivity import best_ratio, noise_scales, pair_sensitivity, separate_sensitivities
from hushloop.profiles import PROFILES, build
from hushloop.simulation.play import play, sums_of

CENTER = np.array([[0.4, 0.0], [0.1, 0.3], [0.1, 0.2]])
BOTH: tuple[Adjacency, Adjacency] = ("zero-out", "replace-one")


def collection(
    E: float = 2.0, rho: float = 1.0, Y: float | None = 1.0, H: int = 5, n: int = 2, d: int = 1,
    center: np.ndarray | None = None, shape: np.ndarray | None = None, paper: bool = False,
) -> Collection:  # fmt: skip
    p = n + d
    M = None if paper else rho * np.eye(p) if shape is None else shape
    return Collection(0, np.zeros((p, n)) if center is None else center, M, E, 0.1, Y, H)


ATTAINED = {
    "toy, E = 2": collection(),
    "learned, E = 2": collection(rho=0.1),
    "toy, full energy": collection(E=16.25),
    "paper": collection(E=16.25, paper=True),
    "recentred": collection(rho=0.5, Y=None, center=CENTER),
    "little energy": collection(E=0.3),
    "four states": collection(E=5.0, rho=0.2, Y=None, H=12, n=4, d=2),
}
OTHERS = {
    "flat shape": collection(Y=None, center=CENTER, shape=np.diag([0.5, 0.1, 0.3])),
    "one step": collection(H=1),
    "E + Y²": collection(E=2.0, H=40, paper=True),
}

SKEW = np.array([[1.2, 0.3, -0.1], [0.3, 0.6, 0.2], [-0.1, 0.2, 2.0]])
SHAPE = np.array([[0.5, 0.1, 0.0], [0.1, 0.3, 0.05], [0.0, 0.05, 0.4]])


def asked(E: float, E_M: float, T: np.ndarray | None = None, Y: float | None = None) -> Collection:
    return Collection(0, CENTER, SHAPE, E, 0.1, Y, 5, T, E_M)


WEIGHED = {
    "response budget": asked(3.0, 0.5),
    "both": asked(3.0, 0.3, SKEW),
    "bounded by Y": asked(3.0, 0.3, SKEW, 0.05),
    "more energy than the responses leave": asked(30.0, 0.3, SKEW),
    "more response than the energy leaves": asked(0.3, 3.0, SKEW),
}
"""Collections with a weighting T, a response budget E_M, or both. In the first two E_M/E lies within the spectrum of
T⁻¹M²T⁻¹, as in every collection that is designed; in the last two one budget can never be spent."""


def weights_of(c: Collection, adjacency: Adjacency, tilt: float) -> tuple[float, float]:
    scales = noise_scales(c, 1.0, adjacency)
    return 1.0 / scales.sigma_s, tilt / scales.sigma_c


@pytest.mark.slow
@pytest.mark.parametrize("tilt", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", ATTAINED)
def test_free_sequences_reach_the_bound_and_do_not_pass_it(name: str, adjacency: Adjacency, tilt: float) -> None:
    c = ATTAINED[name]
    a, b = weights_of(c, adjacency, tilt)
    bound = pair_sensitivity(c, a, b, adjacency)
    found = max(ascend(Free(c), a, b, adjacency, np.random.default_rng(seed))[1] for seed in (1, 2))
    assert 0.99 * bound <= found <= bound


@pytest.mark.slow
@pytest.mark.parametrize("tilt", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", [*ATTAINED, *OTHERS])
def test_real_trajectories_come_near_the_bound_and_do_not_pass_it(name: str, adjacency: Adjacency, tilt: float) -> None:
    c = {**ATTAINED, **OTHERS}[name]
    a, b = weights_of(c, adjacency, tilt)
    bound = pair_sensitivity(c, a, b, adjacency)
    pair = worst_pair(c, a, b, adjacency, np.random.default_rng(3))
    assert report_distance(c, pair, a, b) <= bound
    if name in ATTAINED:
        assert report_distance(c, pair, a, b) >= 0.93 * bound


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ATTAINED, *OTHERS])
def test_each_bound_alone_is_attained(name: str) -> None:
    c = {**ATTAINED, **OTHERS}[name]
    for adjacency in BOTH:
        S, C = separate_sensitivities(c, adjacency)
        reached_s = ascend(Free(c), 1.0, 0.0, adjacency, np.random.default_rng(4))[1]
        reached_c = ascend(Free(c), 0.0, 1.0, adjacency, np.random.default_rng(5))[1]
        assert reached_s <= S
        assert reached_c <= C or name == "E + Y²"  # that bound holds for real trajectories alone
        assert reached_s >= 0.99 * S
        assert reached_c >= 0.99 * C


def test_bounds_under_each_adjacency() -> None:
    c = collection()
    B2 = (math.sqrt(2.0) + 0.1 * math.sqrt(5.0)) ** 2
    assert separate_sensitivities(c, "zero-out") == pytest.approx((2.0, math.sqrt(2 * B2)), rel=1e-6)
    both = separate_sensitivities(c, "replace-one")
    assert both == pytest.approx((2 * math.sqrt(2), 2 * math.sqrt(2 * B2)), rel=1e-6)


@pytest.mark.parametrize("c", [*ATTAINED.values(), *OTHERS.values()], ids=[*ATTAINED, *OTHERS])
def test_replace_one_lies_between_one_and_two_roots_of_zero_out(c: Collection) -> None:
    for ratio in np.geomspace(1e-3, 1e3, 25):
        zero, replace = (pair_sensitivity(c, 1.0, float(ratio), key) for key in BOTH)
        assert math.sqrt(2) * zero * (1 - 1e-8) <= replace <= 2 * zero


def test_the_two_branches_meet() -> None:
    c = collection()
    edge = math.sqrt(2 * c.energy / c.response_energy)
    below, above = (pair_sensitivity(c, 1.0, edge * f, "replace-one") for f in (1 - 1e-9, 1 + 1e-9))
    assert below == pytest.approx(above, rel=1e-8)


@pytest.mark.parametrize("rho", [1e-4, 0.01, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("E", [0.3, 2.0, 16.25])
def test_no_other_weights_are_better_for_the_learner(E: float, rho: float, adjacency: Adjacency) -> None:
    """A scan over both branches, the boundary 2E/B₂ included, against the closed form."""
    c = collection(E=E, rho=rho)
    best = noise_scales(c, 1.0, adjacency)
    value = rho**2 * best.sigma_s**2 + best.sigma_c**2
    for ratio in (*np.geomspace(1e-6, 1e6, 2001).tolist(), math.sqrt(2 * E / c.response_energy)):
        delta = pair_sensitivity(c, 1.0, ratio, adjacency)
        assert value <= delta**2 * (rho**2 + 1.0 / ratio**2) * (1 + 1e-7)


def test_best_ratio_is_a_root_of_the_derivative_and_inside_the_first_branch() -> None:
    for E in (0.1, 2.0, 50.0):
        for B2 in (0.01, 2.7, 100.0):
            for rho in (1e-6, 0.1, 1.0, 10.0):
                s = best_ratio(E, B2, rho, "replace-one")
                assert 0 < s <= 2 * E / B2
                terms = 2 * B2 * rho**2 * s**2, B2 * s, -2 * E
                assert abs(sum(terms)) <= 1e-12 * max(map(abs, terms))


@pytest.mark.parametrize("adjacency", BOTH)
def test_the_scales_spend_mu_and_not_more(adjacency: Adjacency) -> None:
    for c in ATTAINED.values():
        scales = noise_scales(c, 0.3, adjacency)
        spent = pair_sensitivity(c, 1 / scales.sigma_s, 1 / scales.sigma_c, adjacency)
        assert 0.3 * (1 - 1e-10) <= spent <= 0.3


@pytest.mark.parametrize(("rho", "noise"), [(1.0, 27.3), (0.1, 4.9)])
def test_reference_noise_on_toy(rho: float, noise: float) -> None:
    scales = noise_scales(collection(rho=rho), mu_of(1.0, 1e-6), "replace-one")
    assert math.hypot(rho * scales.sigma_s, scales.sigma_c) == pytest.approx(noise, abs=0.05)


@pytest.mark.parametrize("M", [[[1.0, 0.5 + 4.9e-6], [0.5, 1.0]], [[1e-9, 9e-9], [0.0, 1e-9]]])
def test_a_shape_that_is_symmetric_only_nearly_stretches_no_more_than_rho(M: list[list[float]]) -> None:
    c = Collection(0, np.zeros((2, 1)), np.array(M), 1.0, 0.0, None, 1)
    z = np.linalg.svd(c.shape)[2][0]
    assert np.linalg.norm(c.shape @ z) <= c.rho
    assert np.linalg.norm(c.shape @ z) ** 2 <= c.response_energy


def test_the_grid_is_counted() -> None:
    c = collection(E=1e-6, rho=1e-3)
    a, b = 1.0, 1.0
    without = math.sqrt(c.energy**2 + c.energy * c.response_energy)
    assert pair_sensitivity(c, a, b, "zero-out") - without == pytest.approx(GRID * math.sqrt(9 + 6), rel=1e-3)


def test_rounding_to_the_grid_moves_a_pair_by_at_most_the_term_that_is_added() -> None:
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(2, 4000, 15)) * 50 * GRID
    moved = (np.trunc(x / GRID) - np.trunc(y / GRID)) * GRID
    assert (np.abs(moved) <= np.abs(x - y) + GRID).all()
    assert (np.linalg.norm(moved, axis=1) <= np.linalg.norm(x - y, axis=1) + GRID * math.sqrt(15)).all()


def test_random_reports_stay_within_the_pair_bound() -> None:
    rng = np.random.default_rng(7)
    for c in (*ATTAINED.values(), *OTHERS.values()):
        n, d = c.n, c.p - c.n
        for _ in range(50):
            pair = tuple(
                (rng.normal(size=(c.horizon + 1, n)) * scale, rng.normal(size=(c.horizon, d)) * scale)
                for scale in rng.choice([0.1, 1.0, 1e3, 1e200], size=2)
            )
            for a, b in ((1.0, 0.1), (1.0, 1.0), (0.1, 1.0)):
                assert report_distance(c, pair, a, b) <= pair_sensitivity(c, a, b, "replace-one")


def test_the_attack_speaks_of_reports_that_the_device_makes() -> None:
    c = collection(rho=0.5)
    a, b = weights_of(c, "replace-one", 1.0)
    rng = np.random.default_rng(8)
    _, value = ascend(Consecutive(c), a, b, "replace-one", rng, starts=6, rounds=100)
    again = worst_pair(c, a, b, "zero-out", rng)
    assert value > 0
    S, C = episode_sums(c, *again[1])
    assert not S.any()
    assert not C.any()


@pytest.mark.parametrize("mu", [0.0, -1.0, math.inf, math.nan])
def test_no_noise_for_no_budget(mu: float) -> None:
    with pytest.raises(InvalidInput, match="mu"):
        noise_scales(collection(), mu, "replace-one")


def test_a_belief_without_width_is_refused() -> None:
    with pytest.raises(InvalidInput, match="shape"):
        noise_scales(collection(), 1.0, "replace-one", rho=0.0)


@pytest.mark.parametrize(("a", "b"), [(-1.0, 1.0), (0.0, 0.0), (math.nan, 1.0), (math.inf, 1.0)])
def test_bad_weights_are_refused(a: float, b: float) -> None:
    with pytest.raises(InvalidInput, match="weights"):
        pair_sensitivity(collection(), a, b, "replace-one")


def test_an_unknown_adjacency_is_refused() -> None:
    with pytest.raises(InvalidInput, match="adjacency"):
        pair_sensitivity(collection(), 1.0, 1.0, "add-remove")  # type: ignore[arg-type]


def levelled(c: Collection, size: int) -> np.ndarray:
    """Unit vectors v (size, p) with ‖MT⁻¹v‖² = E_M/E: along T⁻¹v both budgets are spent together."""
    rng = np.random.default_rng(0)
    G = c.shape @ np.linalg.inv(np.eye(c.p) if c.weighting is None else c.weighting)
    values, U = np.linalg.eigh(G.T @ G)
    level = c.response_budget / c.energy
    assert values[0] < level < values[-1]
    low, high = (rng.normal(size=(size, c.p)) * f @ U.T for f in (values < level, values > level))
    rest = level - values
    # v = cos·low + sin·high: the weighted excesses of both parts cancel
    low, high = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (low, high))
    short, over = ((part @ U) ** 2 @ rest for part in (low, high))
    share = over / (over - short)
    return np.sqrt(share)[:, None] * low + np.sqrt(1 - share)[:, None] * high * rng.choice([-1, 1], size=(size, 1))


def along(c: Collection, v: np.ndarray, sign: float) -> tuple[np.ndarray, np.ndarray]:
    """H equal steps along T⁻¹v that spend both budgets, with responses at their limit."""
    T = np.eye(c.p) if c.weighting is None else c.weighting
    z = np.tile(np.linalg.solve(T, v) * math.sqrt(c.energy / c.horizon), (c.horizon, 1))
    y = np.zeros((c.horizon, c.n))
    y[:, 0] = sign * 1e6
    return z, y


@pytest.mark.parametrize("name", ["response budget", "both"])
def test_constructed_sequences_attain_the_bound_with_both_budgets(name: str) -> None:
    c = WEIGHED[name]
    v = levelled(c, 1500)
    inner = (v @ v.T) ** 2
    for tilt in (0.25, 1.0, 4.0):
        a, b = weights_of(c, "zero-out", tilt)
        z, y = along(c, v[0], 1.0)
        alone = weighted_sums(c, z[None, None], y[None, None])
        assert distance(a, b, alone, "zero-out")[0] == pytest.approx(pair_sensitivity(c, a, b, "zero-out"), rel=1e-6)
        a, b = weights_of(c, "replace-one", tilt)
        q = min(b**2 * c.response_energy / (2 * a**2), c.energy)
        i, j = np.unravel_index(np.argmin(np.abs(inner - q / c.energy * q / c.energy)), inner.shape)
        one, other = along(c, v[i], 1.0), along(c, v[j], -1.0 if v[i] @ v[j] > 0 else 1.0)
        pair = weighted_sums(c, np.stack([one[0], other[0]])[None], np.stack([one[1], other[1]])[None])
        bound = pair_sensitivity(c, a, b, "replace-one")
        assert 0.999 * bound <= distance(a, b, pair, "replace-one")[0] <= bound


@pytest.mark.slow
@pytest.mark.parametrize("tilt", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize("name", WEIGHED)
def test_attacks_on_weighed_collections_do_not_pass_the_bound(name: str, adjacency: Adjacency, tilt: float) -> None:
    c = WEIGHED[name]
    a, b = weights_of(c, adjacency, tilt)
    bound = pair_sensitivity(c, a, b, adjacency)
    free = ascend(Free(c), a, b, adjacency, np.random.default_rng(1))[1]
    real = report_distance(c, worst_pair(c, a, b, adjacency, np.random.default_rng(3)), a, b)
    assert max(free, real) <= bound
    if name in ("response budget", "both"):
        assert free >= 0.97 * bound
        assert real >= 0.92 * bound


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", BOTH)
@pytest.mark.parametrize(("name", "blocks"), [("toy", 0), ("toy", 5), ("stable3", 4), ("two-zone-heating", 3)])
def test_attacks_on_designed_collections(name: str, blocks: int, adjacency: Adjacency) -> None:
    """The collections that are asked in truth, with the scales that they are released with."""
    plant = load(name)
    agent = build(plant.problem, PROFILES["refined"], Budget(8.0, 1e-6, adjacency), seed=1)
    for _ in range(blocks):
        agent.receive_sums(sums_of(play(plant, agent.assignment(), 1, agent.knowledge.users, agent.room)))
    c, scales = agent.order.collection, agent.order.scales
    assert c.response_budget is not None
    a, b = 1 / scales.sigma_s, 1 / scales.sigma_c
    bound = pair_sensitivity(c, a, b, adjacency)
    assert bound <= mu_of(8.0, 1e-6)
    free = ascend(Free(c), a, b, adjacency, np.random.default_rng(1))[1]
    real = report_distance(c, worst_pair(c, a, b, adjacency, np.random.default_rng(3)), a, b)
    assert 0.6 * bound <= max(free, real) <= bound
