"""Budgets: what is refused, and what one report may spend."""

from __future__ import annotations

import math

import pytest

from hushloop.errors import InvalidInput
from hushloop.privacy import Budget
from hushloop.privacy.accounting import epsilon_of, for_participations, mu_of
from hushloop.privacy.budget import RESERVED, other


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("epsilon", {"epsilon": 0.0}),
        ("epsilon", {"epsilon": -1.0}),
        ("epsilon", {"epsilon": math.nan}),
        ("epsilon", {"epsilon": math.inf}),
        ("epsilon", {"epsilon": 1e300}),
        ("delta", {"epsilon": 1.0, "delta": 1.0}),
        ("delta", {"epsilon": 1.0, "delta": 0.0}),
        ("delta", {"epsilon": 1.0, "delta": math.nan}),
        ("adjacency", {"epsilon": 1.0, "adjacency": "add-remove"}),
        ("participations", {"epsilon": 1.0, "participations": 0}),
        ("participations", {"epsilon": 1.0, "participations": True}),
        ("participations", {"epsilon": 1.0, "participations": 1.5}),
    ],
)
def test_what_means_nothing_is_refused_by_name(key: str, values: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as caught:
        Budget(**values)  # type: ignore[arg-type]
    assert caught.value.key == key
    assert caught.value.remedy


@pytest.mark.parametrize("participations", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 8.0, 100.0])
@pytest.mark.parametrize("delta", [1e-15, 1e-6, 0.1])
def test_all_reports_of_a_person_together_keep_the_budget(epsilon: float, delta: float, participations: int) -> None:
    mu = Budget(epsilon, delta, participations=participations).mu
    spent = epsilon_of(for_participations(mu, participations), delta * (1 - RESERVED))
    assert epsilon * (1 - 1e-9) <= spent <= epsilon


def test_one_report_of_several_may_spend_its_share() -> None:
    assert Budget(1.0, participations=4).mu == pytest.approx(mu_of(1.0, 1e-6 * (1 - RESERVED)) / 4, rel=1e-12)
    assert Budget(1.0).mu < mu_of(1.0, 1e-6)


def test_adjacency_is_replace_one_unless_said() -> None:
    assert Budget(1.0).adjacency == "replace-one"
    assert other("replace-one") == "zero-out"
    assert other("zero-out") == "replace-one"
