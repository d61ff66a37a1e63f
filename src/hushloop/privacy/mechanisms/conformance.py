"""What every mechanism must do, as a suite that the author of a new one can run: `check_mechanism(make)`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...device import Collection, Report
from ...errors import HushloopError
from ..budget import Adjacency
from ..noise import NoiseSource, Pair
from ..release import Release, Sums
from ..sensitivity import NoiseScales
from .base import Array
from .mechanism import Block, Mechanism
from .stream import StreamNoise

Make = Callable[[NoiseSource], Mechanism]
"""A fresh mechanism for `COLLECTION` and at least `len(SIZES)` blocks of these sizes, on this source of noise."""

COLLECTION = Collection(0, np.zeros((3, 2)), np.eye(3), 2.0, 0.1, 1.0, 5)
SIZES = (3, 1, 4, 2, 1)
TRIALS = 20_000
FALSE_ALARM = 1e-6
"""Chance that an honest mechanism fails `check_covariance`: a bound, not an estimate."""


class NotConforming(HushloopError):
    """What a mechanism does that it must not, or does not that it must."""


def check_mechanism(make: Make, adjacency: Adjacency = "replace-one") -> None:
    """Raise `NotConforming` at the first thing that is wrong."""
    check_typestate(make)
    check_reports(make)
    check_state(make)
    check_sums(make)
    check_covariance(make)
    check_sensitivity(make, adjacency)


def check_typestate(make: Make) -> None:
    """Blocks open one at a time, take what belongs to them and no more, and close once."""
    mechanism = make(StreamNoise(1))
    block = mechanism.open(COLLECTION, 2)
    refused("a second block opens while the first is open", lambda: mechanism.open(COLLECTION, 2))
    block.add_sums(users_sums(0, 2))
    refused("a full block takes more", lambda: block.add_sums(users_sums(2, 3)))
    block.close()
    refused("a block closes twice", block.close)
    refused("a closed block takes more", lambda: block.add_sums(users_sums(0, 1)))
    refused("a block for nobody opens", lambda: mechanism.open(COLLECTION, 0))
    if mechanism.strategy.fixed:
        other = Collection(1, np.full((3, 2), 0.1), np.eye(3), 2.0, 0.1, None, 5)
        refused("the collection changes although sums add up across blocks", lambda: mechanism.open(other, 2))


def check_reports(make: Make) -> None:
    """A report counts once, in the block whose assignment it ran, as zeros where it is beyond its bounds."""
    mechanism = make(NoNoise())
    block = mechanism.open(COLLECTION, 3, ids=["a"])
    S, C = one_user(0)
    refused("a report of another assignment counts", lambda: block.add(Report(S, C, "b", "1")))
    refused("a report of the wrong size counts", lambda: block.add(Report(S[1:], C, "a", "1")))
    must(block.add(Report(S, C, "a", "1")), "a report that belongs to the block is not counted")
    must(not block.add(Report(S, C, "a", "1")), "a report sent twice counts twice")
    block.accept("b")
    block.add(Report(S, C, "b", "2"))
    block.add(Report(S + (1 << 40), C, "a", "3"))
    must(block.count == 3, "a report beyond its bounds does not count towards the block")
    release = block.close()
    if release is not None:
        expected = Sums(2, 2 * S.astype(object), 2 * C.astype(object)).matrices(3, 2)
        must(np.allclose(release.T1, expected[0], atol=1e-7), "a report beyond its bounds does not count as zeros")


def check_state(make: Make) -> None:
    """Saved and loaded after any report, through JSON, a mechanism releases the same bits."""
    straight = [b for b in run(make(StreamNoise(2))) if b is not None]
    mechanism = make(StreamNoise(2))
    saved = []
    for start, size in blocks_of(SIZES):
        block = mechanism.open(COLLECTION, size)
        for user in range(start, start + size):
            block.add_sums(users_sums(user, user + 1))
            state = json.loads(json.dumps(mechanism.state()))
            mechanism = Mechanism.from_state(mechanism.strategy, StreamNoise(3), state)
            block = opened(mechanism)
        release = block.close()
        mechanism.source = StreamNoise(2)
        if release is not None:
            saved.append(release)
    same = all((x.T1 == y.T1).all() and (x.T2 == y.T2).all() for x, y in zip(straight, saved, strict=True))
    must(same, "a mechanism that was saved and loaded releases something else")


def check_sums(make: Make) -> None:
    """Without noise a release is the sum that its kind says."""
    ends = np.cumsum(SIZES)
    for t, release in enumerate(run(make(NoNoise()))):
        if release is None:
            continue
        prefix = release.kind == "prefix"
        first = 0 if prefix else int(ends[t]) - SIZES[t]
        S, C = users_sums(first, int(ends[t])).matrices(3, 2)
        near = np.allclose(release.T1, S, atol=1e-9) and np.allclose(release.T2, C, atol=1e-9)
        must(near, f"release {t} is not the sum of its {'prefix' if prefix else 'block'}")
        must(release.users == int(ends[t]) - first, f"release {t} says that it covers {release.users} users")


def check_covariance(make: Make) -> None:
    """The noise of many transcripts has the covariance that is declared, every entry of every release together."""
    mechanism = make(StreamNoise(4, trials=TRIALS))
    releases = [r for r in run(mechanism) if r is not None]
    X = np.concatenate([np.atleast_2d(noise_entries(r, *exact_of(r))) for r in releases], axis=1)  # (N, T·q)
    found = X.T @ X / X.shape[0]
    declared = declared_covariance(mechanism, releases)
    scale = np.sqrt(np.diag(declared))
    # Laurent and Massart on (x ± y)²: four tails for each pair of entries
    x = math.log(4 * declared.size / FALSE_ALARM)
    slack = 2 * math.sqrt(x / X.shape[0]) + 2 * x / X.shape[0]
    off = np.abs(found - declared) - slack * np.outer(scale, scale)
    if off.max() > 1e-9:
        i, j = np.unravel_index(int(off.argmax()), off.shape)
        raise NotConforming(
            f"the noise of entries {i} and {j} has covariance {found[i, j]:.6g}, declared {declared[i, j]:.6g}"
        )


def check_sensitivity(make: Make, adjacency: Adjacency) -> None:
    """Wherever a person stands, her report moves the transcript by at most μ, measured by the declared noise."""
    mechanism = make(StreamNoise(5))
    reference = [r for r in run(mechanism) if r is not None]
    declared = declared_covariance(mechanism, reference)
    if not declared.any():
        return
    mu = mechanism.guarantee(1e-6, adjacency).mu
    for user in range(sum(SIZES)):
        moved = [r for r in run(make(StreamNoise(5)), user, adjacency) if r is not None]
        pairs = zip(moved, reference, strict=True)
        shift = np.concatenate([noise_entries(a, b.T1, b.T2).ravel() for a, b in pairs])
        cost = math.sqrt(float(shift @ np.linalg.solve(declared, shift)))
        must(cost <= mu * (1 + 1e-6), f"the report of user {user} costs μ = {cost:.6g}, promised is {mu:.6g}")


def declared_covariance(mechanism: Mechanism, releases: list[Release]) -> Array:
    """(T·q, T·q) over releases and their entries: the upper triangle of T1, then T2."""
    p, n = releases[0].collection.p, releases[0].collection.n
    G = mechanism.covariance([r.total_users for r in releases])
    factors = np.sqrt(np.diag(G))
    safe = np.where(factors > 0, factors, 1.0)
    size = p * (p + 1) // 2
    spread = np.array([[r.sigma_s] * size + [r.sigma_c] * (p * n) for r in releases]) / safe[:, None]
    off = np.concatenate([(np.subtract(*np.triu_indices(p)) != 0), np.zeros(p * n, dtype=bool)])
    isotropic = np.array([r.isotropic for r in releases])
    spread = np.where(off[None] & isotropic[:, None], spread / math.sqrt(2.0), spread)
    q = size + p * n
    blocks = np.einsum("ij,ie,je->ije", G, spread, spread)
    out = np.zeros((len(releases), q, len(releases), q))
    out[:, np.arange(q), :, np.arange(q)] = np.moveaxis(blocks, 2, 0)
    return out.reshape(len(releases) * q, -1)


def noise_entries(release: Release, T1: Array, T2: Array) -> Array:
    """What a release has beyond (T1, T2): (…, q)."""
    rows, columns = np.triu_indices(release.collection.p)
    N, L = release.T1 - T1, release.T2 - T2
    return np.concatenate([N[..., rows, columns], L.reshape(*L.shape[:-2], -1)], axis=-1)


def exact_of(release: Release) -> tuple[Array, Array]:
    return users_sums(release.total_users - release.users, release.total_users).matrices(3, 2)


def run(mechanism: Mechanism, changed: int = -1, adjacency: Adjacency = "replace-one") -> list[Release | None]:
    """One transcript over `SIZES`; user `changed` sends the opposite of the pair that the others send, or zeros."""
    out = []
    for start, size in blocks_of(SIZES):
        block = mechanism.open(COLLECTION, size)
        block.add_sums(users_sums(start, start + size, changed, adjacency))
        out.append(block.close())
    return out


def blocks_of(sizes: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(sum(sizes[:t]), size) for t, size in enumerate(sizes)]


def users_sums(first: int, end: int, changed: int = -1, adjacency: Adjacency = "replace-one") -> Sums:
    total = Sums.zero(3, 2)
    for user in range(first, end):
        S, C = one_user(user)
        if user == changed:
            S, C = (S[::-1].copy(), -C) if adjacency == "replace-one" else (0 * S, 0 * C)
        total = total + Sums(1, S.astype(object), C.astype(object))
    return total


def one_user(user: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A report close to its bounds: z = (√E, 0, 0) for one step, ‖y‖ near 1; users differ a little."""
    energy = (1 << 31) - 16 - user
    S = np.array([energy, 0, 0, 0, 0, 0], dtype=np.int64)
    C = np.array([1_400_000_000 + user, 0, 0, 0, 0, 0], dtype=np.int64)
    return S, C


class NoNoise:
    """Zeros."""

    name = "zeros"
    description = "no noise at all: for tests"
    grid = False

    def draw(self, p: int, n: int, scales: NoiseScales, index: int, isotropic: bool = True) -> Pair:
        return np.zeros((p, p)), np.zeros((p, n))


def opened(mechanism: Mechanism) -> Block:
    if mechanism.block is None:
        raise NotConforming("the open block is lost when a mechanism is saved and loaded")
    return mechanism.block


def must(holds: Any, problem: str) -> None:
    if not holds:
        raise NotConforming(problem)


def refused(problem: str, attempt: Callable[[], Any]) -> None:
    try:
        attempt()
    except HushloopError:
        return
    raise NotConforming(problem)
