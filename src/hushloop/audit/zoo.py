"""Mechanisms with one known bug each, and honest ones: the audit must catch the first and accuse none of the second."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ..device import Collection
from ..errors import InvalidInput
from ..privacy.budget import Adjacency, Budget
from ..privacy.mechanisms import Blocks, Factorised, Mechanism, NoiseSource, Strategy, Tree
from ..privacy.release import Release
from ..privacy.sensitivity import NoiseScales
from .audit import Audit, Claim, Target, run_audit
from .canaries import neighbours, worst_people
from .sabotage import (
    CountsTwice,
    DrawnOnce,
    Halved,
    OwnCentre,
    RawRadius,
    RawSchedule,
    Renumbered,
    Reused,
    SumThenClip,
)
from .subject import Crowd, Curation, Make, Person, Subject

COLLECTION = Collection(0, np.zeros((3, 2)), np.eye(3), 2.0, 0.1, 1.0, 5)
BUDGET = Budget(1.0)
USERS = 16
SIZES = (4, 4, 8)
TRIALS = 20_000


@dataclass(frozen=True, eq=False)
class Specimen:
    """How a subject is made from a source of noise, and how its transcripts can be drawn."""

    make: Make
    strategy: Strategy  # whose promise is put to the test
    at_once: bool = True
    trials: int = TRIALS


def fixed(seen: list[Release]) -> Collection:
    """The same collection for every block."""
    return COLLECTION


def recentred(seen: list[Release]) -> Collection:
    """Centre and shape from the latest release alone: a plain ridge estimate, and a belief that shrinks."""
    if not seen:
        return COLLECTION
    last = seen[-1]
    ridge = np.eye(3) * 4 * last.sigma_s
    center = last.collection.center + np.linalg.lstsq(last.T1 + ridge, last.T2, rcond=None)[0]
    norm = float(np.linalg.norm(center))
    return Collection(len(seen), center / max(1.0, norm), np.eye(3) * 0.7 ** len(seen), 2.0, 0.1, None, 5)


def curation(
    strategy: Strategy, sizes: tuple[int, ...], rule: Callable[[list[Release]], Collection] = fixed
) -> Callable[[NoiseSource], Curation]:
    return lambda source: Curation(Mechanism(strategy, source), sizes, rule)


def around(wrap: Callable[[Any], Subject], inner: Callable[[NoiseSource], Curation]) -> Make:
    return lambda source: wrap(inner(source))


def on(wrap: Callable[[NoiseSource], NoiseSource], inner: Callable[[NoiseSource], Curation]) -> Make:
    return lambda source: inner(wrap(source))


def honest() -> dict[str, Specimen]:
    blocks, tree = Blocks(BUDGET), Tree.spending(BUDGET, COLLECTION, USERS)
    factorised = Factorised(COLLECTION, BUDGET, len(SIZES))
    return {
        "blocks, fixed centre": Specimen(curation(blocks, SIZES), blocks),
        "blocks, recentred": Specimen(curation(blocks, SIZES, recentred), blocks, False, 400),
        "tree": Specimen(curation(tree, (1,) * USERS), tree),
        "factorised": Specimen(curation(factorised, SIZES), factorised),
    }


def sabotaged() -> dict[str, Specimen]:
    blocks, tree = Blocks(BUDGET), Tree.spending(BUDGET, COLLECTION, USERS)
    plain, episodes = curation(blocks, SIZES), curation(tree, (1,) * USERS)
    zero_out = Blocks(Budget(BUDGET.epsilon, BUDGET.delta, "zero-out"))
    shallow = Tree.spending(BUDGET, COLLECTION, USERS // 2)
    forgotten = replace(shallow, levels=tree.levels)
    return {
        "noise reused": Specimen(on(Reused, plain), blocks),
        "noise drawn once and subtracted": Specimen(on(DrawnOnce, episodes), tree),
        "half the noise": Specimen(on(Halved, plain), blocks),
        "√2 missing from replace-one": Specimen(curation(zero_out, SIZES), blocks),
        "last level of the tree forgotten": Specimen(curation(forgotten, (1,) * USERS), tree),
        "data-dependent schedule": Specimen(around(RawSchedule, plain), blocks),
        "clip after sum": Specimen(around(SumThenClip, plain), blocks),
        "seed reused after restart": Specimen(lambda source: Renumbered(plain, source), blocks),
        "radius from raw sums": Specimen(around(RawRadius, plain), blocks),
        "block recentred on its own sums": Specimen(around(OwnCentre, plain), blocks),
        "a user counted in two blocks": Specimen(around(CountsTwice, plain), blocks),
    }


def audit_specimen(name: str, specimen: Specimen, seed: int = 0, trials: int | None = None) -> Audit:
    """The audit that is shipped, told nothing but what is claimed."""
    adjacency: Adjacency = BUDGET.adjacency
    one, other = people(specimen.strategy.scales(COLLECTION), adjacency)
    mu = specimen.strategy.guarantee(BUDGET.delta, adjacency).mu
    claim = Claim(BUDGET.epsilon, BUDGET.delta, adjacency, mu)
    pairs = neighbours(one, other, (0, USERS // 2))
    target = Target(name, claim, ((specimen.make, pairs),), specimen.make, (Crowd(other, other), Crowd(one, other)),
                    specimen.at_once)  # fmt: skip
    return run_audit(target, specimen.trials if trials is None else min(trials, specimen.trials), seed)


@cache
def people(scales: NoiseScales, adjacency: Adjacency) -> tuple[Person, Person]:
    return worst_people(COLLECTION, scales, adjacency)


def zoo(seed: int = 0, trials: int | None = None, step: Callable[[str], None] = lambda name: None) -> dict[str, Any]:
    """{sabotaged: [{name, caught, by}], honest: [{name, accused, by}]}."""
    if trials is not None and (not math.isfinite(trials) or trials < 100):
        raise InvalidInput("trials", f"is {trials}", "give at least 100")
    out: dict[str, Any] = {"sabotaged": [], "honest": []}
    for kind, verdict, animals in (("sabotaged", "caught", sabotaged()), ("honest", "accused", honest())):
        for name, specimen in animals.items():
            step(name)
            audit = audit_specimen(name, specimen, seed, trials)
            out[kind].append({"name": name, verdict: audit.violated, "by": audit.by})
    return out
