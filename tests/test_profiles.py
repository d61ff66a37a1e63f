"""Each profile builds; what cannot work says why; every mechanism meets every belief."""

from __future__ import annotations

import pytest

from hushloop.errors import HushloopError, InvalidInput
from hushloop.learning.block_learner import BlockLearner
from hushloop.learning.planners import PLANNERS
from hushloop.learning.prefix_learner import PrefixLearner
from hushloop.lq.files import load
from hushloop.privacy import Budget
from hushloop.privacy.noise import ExactNoise, SeededNoise
from hushloop.profiles import BELIEFS, PROFILES, build, nonprivate, ofu, paper_agent, profile_named, refined
from hushloop.simulation.play import play, sums_of

TOY = load("toy")
PROBLEM = TOY.problem
BUDGET = Budget(1.0)


def run_on(agent, users: int) -> None:
    done = 0
    while done < users and not agent.finished:
        size = min(agent.room, users - done)
        agent.receive_sums(sums_of(play(TOY, agent.assignment(), 0, done, size, threads=1)))
        done += size


@pytest.mark.parametrize("name", PROFILES)
def test_each_profile_builds_from_its_name(name: str) -> None:
    profile = profile_named(name)
    agent = build(PROBLEM, profile, BUDGET, 100, seed=0)
    assert profile.to_dict()["name"] == name
    assert (agent.guarantee(1e-6, "replace-one").epsilon < float("inf")) == profile.private
    assert isinstance(agent.learner, BlockLearner if profile.belief == "recursive" else PrefixLearner)
    run_on(agent, 100)
    assert agent.knowledge.users == 100


def test_shortcuts_are_the_profiles() -> None:
    assert refined(PROBLEM, BUDGET, first=32).order.users == 32
    assert paper_agent(PROBLEM, BUDGET, 50).mechanism.name == "tree"
    assert ofu(PROBLEM, 50).mechanism.name == nonprivate(PROBLEM).mechanism.name == "none"


def test_people_get_exact_noise_and_simulations_a_seed() -> None:
    for make in (
        lambda **more: build(PROBLEM, PROFILES["refined"], BUDGET, **more),
        lambda **more: refined(PROBLEM, BUDGET, **more),
    ):
        assert make().mechanism.source == ExactNoise()
        assert make(seed=3).mechanism.source == SeededNoise(3)
    one, two = (refined(PROBLEM, BUDGET, first=16) for _ in range(2))
    for agent in (one, two):
        run_on(agent, 16)
    assert not (one.release.T1 == two.release.T1).all()


def test_names_that_are_not_known_are_refused_with_those_that_are() -> None:
    with pytest.raises(InvalidInput, match="choose one of refined"):
        profile_named("best")
    base = PROFILES["refined"]
    for key in ("belief", "planner", "mechanism"):
        with pytest.raises(InvalidInput, match=f"`{key}` is 'nonsense'"):
            build(PROBLEM, base.with_(**{key: "nonsense"}), BUDGET, 100)


def test_what_is_needed_is_asked_for() -> None:
    with pytest.raises(InvalidInput, match="epsilon"):
        build(PROBLEM, PROFILES["refined"])
    with pytest.raises(InvalidInput, match=r"users.*noise of this profile depends on K"):
        build(PROBLEM, PROFILES["paper"], BUDGET)
    with pytest.raises(InvalidInput, match="needs the truth"):
        build(PROBLEM, PROFILES["refined"].with_(planner="oracle"), BUDGET)
    for name, mechanism in (("nonprivate", "blocks"), ("ofu", "tree")):
        with pytest.raises(InvalidInput, match=r"mechanism.*promises nothing"):
            build(PROBLEM, PROFILES[name].with_(mechanism=mechanism), BUDGET, 100)
    for users in (0, -3, 2.5, True):
        with pytest.raises(InvalidInput, match="users"):
            build(PROBLEM, PROFILES["refined"], BUDGET, users)


WORKS = {
    ("recursive", "blocks"), ("recursive", "none"), ("cumulative", "factorised"), ("cumulative", "tree"),
    ("cumulative", "none"), ("paper", "tree"), ("paper", "none"), ("paper", "factorised"),
}  # fmt: skip


@pytest.mark.parametrize("mechanism", ["blocks", "tree", "factorised", "none"])
@pytest.mark.parametrize("belief", BELIEFS)
def test_every_mechanism_works_with_every_belief_or_says_why_not(belief: str, mechanism: str) -> None:
    private = mechanism != "none"
    profile = PROFILES["refined"].with_(belief=belief, mechanism=mechanism, private=private, first=16, growth=2.0)
    if (belief, mechanism) not in WORKS:
        with pytest.raises(HushloopError, match=mechanism):
            build(PROBLEM, profile, BUDGET, 100)
        return
    agent = build(PROBLEM, profile, BUDGET, 100, seed=0)
    run_on(agent, 100)
    assert agent.knowledge.users == 100
    assert agent.knowledge.belief.contains(TOY.Theta)
    if private and belief != "paper":
        assert 0.99 < agent.guarantee(1e-6, "replace-one").epsilon <= 1.0


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("base", ["refined", "factorised", "ofu"])
def test_every_planner_works_with_blocks_and_with_prefixes(base: str, planner: str) -> None:
    profile = {
        "refined": PROFILES["refined"].with_(planner=planner, first=16),
        "factorised": PROFILES["refined"].with_(mechanism="factorised", belief="cumulative", planner=planner, first=16),
        "ofu": PROFILES["ofu"].with_(planner=planner, first=16, growth=2.0),
    }[base]
    agent = build(PROBLEM, profile, BUDGET, 60, seed=0, truth=TOY)
    run_on(agent, 60)
    assert agent.knowledge.users == 60
    assert agent.order.plan.gains.shape == (5, 1, 2)


def test_excitation_energy_growth_and_first_are_taken_as_given() -> None:
    agent = refined(PROBLEM, BUDGET, first=10, growth=3.0, energy=2.5, excite=(0.3, 0.1))
    seen = []
    for _ in range(3):
        seen.append((agent.order.users, agent.order.plan.excitation, agent.order.collection.energy))
        run_on(agent, agent.room)
    assert seen == [(10, 0.3, 2.5), (30, 0.1, 2.5), (90, 0.1, 2.5)]


@pytest.mark.parametrize("base", ["refined", "factorised"])
def test_safe_passes_every_plan_through_the_certificate(base: str) -> None:
    profile = PROFILES["refined"].with_(safe=0.1, first=16)
    if base == "factorised":
        profile = profile.with_(mechanism="factorised", belief="cumulative")
    agent = build(PROBLEM, profile, BUDGET, 100, seed=0)
    run_on(agent, 60)
    plan = agent.order.plan
    assert plan.note.startswith("safe:") or plan.upper_bound is not None or plan.failed
    assert agent.assignment().controller.excitation == plan.excitation


def test_nothing_but_the_oracle_sees_the_truth() -> None:
    for name, profile in PROFILES.items():
        one, other = (build(PROBLEM, profile, BUDGET, 50, seed=0, truth=truth) for truth in (None, TOY))
        assert (one.order.plan.gains == other.order.plan.gains).all(), name
