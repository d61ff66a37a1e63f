"""Knowledge and orders survive JSON bit for bit, whatever a learner has put into them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from plants_for_tests import around, toy

from hushloop.learning.belief import Estimate
from hushloop.learning.learner import Knowledge
from hushloop.learning.plan import Plan
from hushloop.learning.wire import dump_knowledge, dump_order, dump_plan, load_knowledge, load_order, load_plan
from hushloop.lq.files import load
from hushloop.privacy import Budget
from hushloop.profiles import PROFILES, build

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("warm", [None, RNG.normal(size=(3, 2)), RNG.normal(size=(4, 3, 2))])
def test_knowledge(warm: np.ndarray | None) -> None:
    plant = toy()
    X = RNG.normal(size=(3, 3))
    estimate = Estimate(RNG.normal(size=(3, 2)), X @ X.T)
    before = Knowledge(around(plant, 0.2), estimate, 3, 700, 1, "a note", warm)
    after = load_knowledge(json.loads(json.dumps(dump_knowledge(before))))
    assert dump_knowledge(after) == dump_knowledge(before)
    assert (after.releases, after.users, after.contradictions, after.note) == (3, 700, 1, "a note")
    np.testing.assert_array_equal(after.belief.shape, before.belief.shape)
    np.testing.assert_array_equal(after.estimate.precision, estimate.precision)
    assert (after.warm is None) == (warm is None)
    if warm is not None:
        np.testing.assert_array_equal(after.warm, warm)


def test_plans_with_bounds_that_are_not_finite() -> None:
    before = Plan(RNG.normal(size=(5, 1, 2)), RNG.normal(size=(3, 2)), 1.3, 0.2, 2.0, 1.1, math.inf, 0.2, True, "why")
    after = load_plan(json.loads(json.dumps(dump_plan(before))))
    assert dump_plan(after) == dump_plan(before)
    assert after.upper_bound == math.inf
    np.testing.assert_array_equal(after.gains, before.gains)


@pytest.mark.parametrize(("name", "planner"), [
    ("refined", "excited"), ("refined", "optimistic"), ("refined", "relaxed"), ("nonprivate", "excited"),
    ("paper", "optimistic"), ("ofu", "thompson"),
])  # fmt: skip
def test_orders_of_every_kind(name: str, planner: str) -> None:
    problem = load("toy").problem
    agent = build(problem, PROFILES[name].with_(planner=planner), Budget(1.0), 50, seed=0)
    value = json.loads(json.dumps(dump_order(agent.order)))
    after = load_order(value)
    assert dump_order(after) == dump_order(agent.order)
    assert after.users == agent.order.users
    assert after.scales == agent.order.scales
    np.testing.assert_array_equal(after.plan.gains, agent.order.plan.gains)
    np.testing.assert_array_equal(after.moments, agent.order.moments)
    assert after.collection.integer_bounds == agent.order.collection.integer_bounds
