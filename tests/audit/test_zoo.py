"""The zoo: each bug is caught by the audit that is shipped, and nobody honest is accused."""

from __future__ import annotations

import pytest

from hushloop.audit.zoo import BUDGET, audit_specimen, honest, sabotaged, zoo
from hushloop.errors import InvalidInput

EXACT = {
    "noise reused": "moves",
    "noise drawn once and subtracted": "moves",
    "half the noise": "moves",
    "√2 missing from replace-one": "moves",
    "last level of the tree forgotten": "moves",
    "data-dependent schedule": "decisions",
    "clip after sum": "moves",
    "seed reused after restart": "moves",
    "radius from raw sums": "decisions",
    "block recentred on its own sums": "decisions",
    "a user counted in two blocks": "moves",
}
SEEN_BY_CHANCE = {
    "noise reused",
    "noise drawn once and subtracted",
    "half the noise",
    "√2 missing from replace-one",
    "seed reused after restart",
    "block recentred on its own sums",
    "a user counted in two blocks",
}


def test_the_zoo_holds_what_it_should() -> None:
    assert set(sabotaged()) == set(EXACT)
    assert set(honest()) == {"blocks, fixed centre", "blocks, recentred", "tree", "factorised"}


@pytest.mark.parametrize("name", EXACT)
def test_the_exact_part_catches(name: str) -> None:
    audit = audit_specimen(name, sabotaged()[name], trials=100)
    assert audit.violated
    assert f"exact: {EXACT[name]}" in audit.by


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SEEN_BY_CHANCE))
def test_the_statistical_part_catches_by_itself_what_chance_can_show(name: str) -> None:
    audit = audit_specimen(name, sabotaged()[name])
    assert audit.certain.largest > audit.claim.epsilon


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(honest()))
@pytest.mark.parametrize("seed", [0, 1])
def test_nobody_honest_is_accused(name: str, seed: int) -> None:
    audit = audit_specimen(name, honest()[name], seed)
    assert not audit.violated, audit.by
    assert 0.9 * audit.exact.promised < audit.exact.cost <= audit.exact.promised
    assert audit.claim.epsilon == BUDGET.epsilon


@pytest.mark.parametrize("trials", [0, 99])
def test_too_few_trials_are_refused(trials: int) -> None:
    with pytest.raises(InvalidInput, match="at least 100"):
        zoo(trials=trials)
