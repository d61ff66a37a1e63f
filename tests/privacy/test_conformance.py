"""Every shipped mechanism passes the suite, with floats and with the deployment's whole numbers; broken ones do not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest

from hushloop.privacy import Budget, Sums
from hushloop.privacy.mechanisms import Blocks, Exact, Factorised, Mechanism, Noise, NoiseSource, Tree
from hushloop.privacy.mechanisms.base import Key, Memory, Step, Strategy
from hushloop.privacy.mechanisms.conformance import (
    COLLECTION,
    SIZES,
    NotConforming,
    check_covariance,
    check_mechanism,
    check_sensitivity,
    check_state,
    check_sums,
    run,
)
from hushloop.privacy.mechanisms.stream import StreamNoise
from hushloop.privacy.noise import ExactNoise
from hushloop.privacy.sensitivity import NoiseScales, noise_scales

BUDGET = Budget(1.0)
PRINTED = Tree.printed(COLLECTION, noise_scales(COLLECTION, 0.1, "replace-one"), 12)
STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "blocks": lambda: Blocks(BUDGET),
    "tree": lambda: Tree.spending(BUDGET, COLLECTION, sum(SIZES)),
    "tree as printed": lambda: PRINTED,
    "factorised": lambda: Factorised(COLLECTION, BUDGET, len(SIZES)),
    "none": Exact,
    "none, by blocks": lambda: Exact(kind="block"),
}


def made(strategy: Strategy) -> Callable[[NoiseSource], Mechanism]:
    return lambda source: Mechanism(strategy, source)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
def test_shipped_mechanisms_conform(name: str, adjacency: str) -> None:
    check_mechanism(made(STRATEGIES[name]()), adjacency)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_noise_that_is_foretold_is_the_noise_of_the_releases(name: str) -> None:
    mechanism = made(STRATEGIES[name]())(StreamNoise(0))
    releases = [r for r in run(mechanism) if r is not None]
    foretold = mechanism.noise(COLLECTION, [r.total_users for r in releases])
    for scales, release in zip(foretold, releases, strict=True):
        assert np.isclose(scales.sigma_s, release.sigma_s, rtol=1e-12)
        assert np.isclose(scales.sigma_c, release.sigma_c, rtol=1e-12)


@pytest.mark.parametrize("name", ["blocks", "tree", "factorised"])
def test_whole_number_noise_runs_and_is_saved(name: str) -> None:
    mechanism = made(STRATEGIES[name]())(ExactNoise())
    mechanism.open(COLLECTION, 2).close()
    block = mechanism.open(COLLECTION, 3)
    state = mechanism.state()
    again = Mechanism.from_state(mechanism.strategy, ExactNoise(), state)
    assert again.block is not None
    one, two = block.close(), again.block.close()
    assert one is not None
    assert two is not None
    assert (one.T1 == two.T1).all()
    assert (one.T2 == two.T2).all()


@dataclass(frozen=True)
class HalfTheNoise(Blocks):
    def draw(self, source: NoiseSource, key: Key, p: int, n: int, scales: NoiseScales) -> Noise:
        noise = super().draw(source, key, p, n, scales)
        return Noise(noise.N * 0.5, noise.L * 0.5)


@dataclass(frozen=True)
class OneDrawForAll(Blocks):
    def keys(self, memory: Memory, users: int) -> tuple[Key, ...]:
        return ((0, 0),)

    def release(self, memory: Memory, sums: Sums, noise: Mapping[Key, Noise]) -> Step:
        step = super().release({**memory, "index": 0}, sums, noise)
        return step._replace(memory={**memory, "index": memory["index"] + 1})


@dataclass(frozen=True)
class CountsTwice(Blocks):
    def release(self, memory: Memory, sums: Sums, noise: Mapping[Key, Noise]) -> Step:
        return super().release(memory, Sums(sums.users, sums.S * 2, sums.C * 2), noise)


@dataclass(frozen=True)
class Forgets(Exact):
    def load(self, value: Mapping[str, object]) -> Memory:
        return self.start(3, 2)


@pytest.mark.parametrize(
    ("broken", "check", "says"),
    [
        (HalfTheNoise(BUDGET), check_covariance, "covariance"),
        (OneDrawForAll(BUDGET), check_covariance, "covariance"),
        (CountsTwice(BUDGET), check_sums, "not the sum"),
        (Forgets(), check_state, "saved and loaded"),
    ],
)
def test_broken_mechanisms_do_not_conform(broken: Strategy, check: Callable[..., None], says: str) -> None:
    with pytest.raises(NotConforming, match=says):
        check(made(broken))


def test_too_large_a_promise_does_not_conform() -> None:
    tree = Tree.spending(BUDGET, COLLECTION, sum(SIZES))
    thin = NoiseScales(tree.given.sigma_s / 1.5, tree.given.sigma_c / 1.5)
    with pytest.raises(NotConforming, match="costs"):
        check_sensitivity(made(replace(tree, given=thin)), "replace-one")


def test_transcripts_are_reproducible_only_by_their_own_key() -> None:
    one, again, other = (run(Mechanism(Blocks(BUDGET), StreamNoise(seed))) for seed in (1, 1, 2))
    for a, b, c in zip(one, again, other, strict=True):
        assert a is not None
        assert b is not None
        assert c is not None
        assert np.array_equal(a.T1, b.T1)
        assert not np.allclose(a.T1, c.T1)
