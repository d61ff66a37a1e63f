"""Orders depend on knowledge alone, blocks grow as announced, and each collection is fit for its release."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from plants_for_tests import scalar, toy, wide

from hushloop.errors import InvalidInput
from hushloop.learning.block_learner import AHEAD, LEAST_FIRST, BlockLearner
from hushloop.learning.learner import Knowledge
from hushloop.learning.planners.rulers import idle
from hushloop.learning.planners.safe import safe
from hushloop.learning.wire import dump_order
from hushloop.lq import Plant
from hushloop.privacy import Budget
from hushloop.privacy.mechanisms import Blocks, Mechanism
from hushloop.privacy.noise import SeededNoise
from hushloop.simulation.play import play, sums_of

ONE = Budget(1.0)


def learner_of(plant: Plant, **changes) -> BlockLearner:
    return BlockLearner(plant.problem, **{"budget": ONE, "first": 64, **changes})


def after(learner: BlockLearner, plant: Plant, blocks: int, seed: int = 0) -> Knowledge:
    from hushloop.agent import Agent

    agent = Agent(plant.problem, learner, Mechanism(Blocks(learner.budget), SeededNoise(seed)))
    for _ in range(blocks):
        agent.receive_sums(sums_of(play(plant, agent.assignment(), seed, agent.knowledge.users, agent.room)))
    return agent.knowledge


@pytest.mark.parametrize("plant", [toy(), wide(), scalar()], ids=["toy", "wide", "scalar"])
def test_an_order_is_a_function_of_knowledge_alone(plant: Plant) -> None:
    one, other = learner_of(plant), learner_of(plant, seed=77)
    for blocks in (0, 2):
        knowledge = after(one, plant, blocks)
        np.random.seed(blocks)  # noqa: NPY002 (nothing may look at the global stream)
        assert dump_order(one.order(knowledge)) == dump_order(one.order(knowledge))
        # the seed is that of planners that draw; the greedy one draws the same models for everybody
        assert dump_order(one.order(knowledge)) == dump_order(other.order(knowledge))


def test_planners_that_draw_use_the_learners_seed() -> None:
    from hushloop.learning.planners import PLANNERS

    seeds = [learner_of(toy(), planner=PLANNERS["thompson"], seed=s) for s in (1, 1, 2)]
    plans = [one.order(one.start()).plan.gains for one in seeds]
    assert (plans[0] == plans[1]).all()
    assert not (plans[0] == plans[2]).all()


def test_blocks_grow_and_the_last_is_cut_to_the_users_left() -> None:
    learner = learner_of(toy(), first=10, growth=1.5, users=50)
    knowledge, sizes = learner.start(), []
    while knowledge.users < 50:
        sizes.append(learner.size(knowledge))
        knowledge = dataclasses.replace(knowledge, releases=len(sizes), users=knowledge.users + sizes[-1])
    assert sizes == [10, 15, 22, 3]


@pytest.mark.parametrize("growth", [1.0, 1.1, 1.5, 2.0, 3.7])
def test_full_blocks_grow_by_the_factor_and_no_block_outgrows_those_who_came(growth: float) -> None:
    learner = learner_of(toy(), first=10, growth=growth)
    full = in_time = learner.start()
    for t in range(30):
        assert learner.size(full) == int(10 * growth**t)
        full = dataclasses.replace(full, releases=t + 1, users=full.users + learner.size(full))
    for t in range(3000):  # a deadline comes when 7 have reported
        assert 10 <= learner.size(in_time) <= 10 + growth * (in_time.users + t)
        in_time = dataclasses.replace(in_time, releases=t + 1, users=in_time.users + 7)


def test_frames_are_centred_on_the_belief_and_look_ahead() -> None:
    plant = toy()
    learner = learner_of(plant)
    begin = learner.frame(learner.start(), 64)
    np.testing.assert_array_equal(begin.center, plant.problem.nominal)
    np.testing.assert_array_equal(begin.shape, plant.problem.operator_radius * np.eye(3))
    assert (begin.response_bound, begin.ahead) == (plant.problem.response_bound, AHEAD * 64)
    knowledge = after(learner, plant, 6)
    frame = learner.frame(knowledge, 100)
    np.testing.assert_array_equal(frame.center, knowledge.belief.center)
    np.testing.assert_array_equal(frame.shape, knowledge.belief.shape)
    assert frame.response_bound is None  # Y is sound about the nominal model alone
    assert learner_of(plant, users=knowledge.users + 150).frame(knowledge, 100).ahead == 50


def test_the_response_clip_never_binds_for_a_plant_inside_the_belief() -> None:
    """What makes the belief of the next release valid: ‖x⁺ − Θ_c'z‖ ≤ ‖Mz‖ + C_w for all z."""
    plant = toy()
    learner = learner_of(plant)
    rng = np.random.default_rng(0)
    for blocks in (0, 3, 6):
        order = learner.order(after(learner, plant, blocks))
        c = order.collection
        z = rng.normal(size=(500, 3))
        reach = np.linalg.norm(z @ (plant.Theta - c.center), axis=1)
        assert (reach <= np.linalg.norm(z @ c.shape, axis=1)).all()


def test_gains_excitation_and_energy_can_be_fixed() -> None:
    learner = learner_of(toy(), excite=(0.4, 0.2), planner=idle)
    knowledge = learner.start()
    for releases, expected in ((0, 0.4), (1, 0.2), (7, 0.2)):
        plan = learner.order(dataclasses.replace(knowledge, releases=releases)).plan
        assert plan.excitation == expected
        assert not plan.gains.any()
    fixed = BlockLearner(toy().problem.with_(energy=3.0), ONE, first=64)
    order = fixed.order(fixed.start())
    assert order.collection.energy == 3.0
    assert order.collection.weighting is None


def test_a_guard_may_replace_the_plan_and_the_collection_follows() -> None:
    plant = toy()
    bold = learner_of(plant, excite=(1.0,))
    guarded = learner_of(plant, excite=(1.0,), guard=lambda problem, belief, plan: safe(problem, belief, plan, 0.01))
    knowledge = after(bold, plant, 1)
    asked, got = bold.order(knowledge), guarded.order(knowledge)
    assert got.plan.excitation < asked.plan.excitation
    assert np.trace(got.moments) < np.trace(asked.moments)


def test_learning_shrinks_belief_noise_and_excitation() -> None:
    plant = toy()
    learner = learner_of(plant, budget=Budget(8.0))
    knowledge = [after(learner, plant, k) for k in (0, 4, 8)]
    orders = [learner.order(k) for k in knowledge]
    assert knowledge[0].belief.semi_axes.max() >= knowledge[1].belief.semi_axes.max()
    assert knowledge[2].belief.semi_axes.max() < 0.5
    responses = [o.collection.response_energy for o in orders]
    assert responses[2] < responses[0]
    assert orders[2].plan.excitation < orders[0].plan.excitation
    assert all(k.belief.contains(plant.Theta) for k in knowledge)


@pytest.mark.parametrize("plant", [toy(), wide(), scalar()], ids=["toy", "wide", "scalar"])
def test_first_block_is_a_power_of_two_of_public_origin(plant: Plant) -> None:
    size = BlockLearner(plant.problem, ONE).first_block
    assert size >= LEAST_FIRST
    assert size & (size - 1) == 0
    assert BlockLearner(plant.problem, ONE, users=5).first_block == 5


@pytest.mark.parametrize(
    ("key", "value"),
    [("alpha", 0.0), ("alpha", 1.0), ("alpha", float("nan")), ("growth", 0.9), ("first", 0), ("users", 0)],
)
def test_what_makes_no_sense_is_refused(key: str, value: float) -> None:
    with pytest.raises(InvalidInput, match=key):
        learner_of(toy(), **{key: value})
