"""The loop around anybody's plant: devices' own reports, saving and loading, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hushloop.agent import Agent
from hushloop.device import Report
from hushloop.errors import HushloopError, InvalidInput
from hushloop.kernels.reference_episodes import trajectories
from hushloop.lq import Plant
from hushloop.lq.files import load
from hushloop.privacy import Budget
from hushloop.privacy.mechanisms import Mechanism
from hushloop.privacy.noise import SeededNoise
from hushloop.profiles import PROFILES, build
from hushloop.simulation.play import disturbance_law, play, start_law, sums_of

TOY = load("toy")
KINDS = {
    "refined": (PROFILES["refined"].with_(first=8), None),
    "refined, K known": (PROFILES["refined"].with_(first=8), 40),
    "nonprivate": (PROFILES["nonprivate"].with_(first=8), None),
    "thompson": (PROFILES["refined"].with_(first=8, planner="thompson"), None),
    "paper": (PROFILES["paper"].with_(first=1, growth=1.0), 40),
    "ofu": (PROFILES["ofu"], 40),
    "factorised": (PROFILES["refined"].with_(mechanism="factorised", belief="cumulative", first=8, growth=2.0), 40),
}


def agent_of(kind: str, plant: Plant = TOY, epsilon: float = 8.0, seed: int = 2) -> Agent:
    profile, users = KINDS[kind]
    return build(plant.problem, profile, Budget(epsilon), users, seed=seed)


def report_of(agent: Agent, plant: Plant, seed: int, user: int, report_id: str = "") -> Report:
    """What the device of this user sends: the trajectory is the one that the kernels simulate."""
    assignment = agent.assignment()
    c, problem = assignment.controller, plant.problem
    X, U, _ = trajectories(
        seed, user, 1, A=plant.A, B=plant.B, gains=c.gains, control_bound=c.control_bound, excitation=c.excitation,
        disturbance=disturbance_law(problem.disturbance), start=start_law(problem.start),
        control_low=c.control_low, control_high=c.control_high,
    )  # fmt: skip
    return assignment.report(X[0], U[0], report_id)


def test_five_lines_around_a_loop_of_ones_own() -> None:
    agent = build(TOY.problem, PROFILES["refined"].with_(first=16), Budget(8.0), seed=1)
    rng = np.random.default_rng(0)
    for _ in range(16 + 32):
        assignment = agent.assignment(x1 := TOY.problem.start.center)
        states, controls = [x1], []
        for h in range(TOY.problem.horizon):
            controls.append(assignment.control(h, states[-1], rng))
            w = rng.normal(size=2)
            states.append(TOY.A @ states[-1] + TOY.B @ controls[-1] + 0.1 * w / np.linalg.norm(w))
        assert agent.receive(assignment.report(states, controls))
    assert agent.mechanism.index == 2
    assert agent.knowledge.users == 48
    assert agent.release is not None
    assert agent.release.users == 32


@pytest.mark.parametrize("kind", KINDS)
def test_reports_one_by_one_are_worth_what_the_simulation_counts(kind: str) -> None:
    one, many = agent_of(kind), agent_of(kind)
    done = 0
    while done < 24:
        size = many.room
        played = play(TOY, many.assignment(), 7, done, size, threads=1)
        many.receive_sums(sums_of(played))
        for user in range(done, done + size):
            assert one.receive(report_of(one, TOY, 7, user))
        done += size
        assert one.mechanism.index == many.mechanism.index
        if many.release is not None:
            np.testing.assert_array_equal(one.release.T1, many.release.T1)
            np.testing.assert_array_equal(one.release.T2, many.release.T2)
        np.testing.assert_array_equal(one.order.plan.gains, many.order.plan.gains)


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded_at_any_report_it_goes_on_bit_for_bit(kind: str) -> None:
    for cut in (0, 5, 8, 13):
        straight, halted = agent_of(kind), agent_of(kind)
        for user in range(30):
            if user == cut:
                saved = json.loads(json.dumps(halted.state()))
                mechanism = Mechanism.from_state(halted.mechanism.strategy, SeededNoise(2), saved["mechanism"])
                halted = Agent.from_state(TOY.problem, halted.learner, mechanism, saved)
            report = report_of(straight, TOY, 3, user, f"report {user}")
            assert straight.receive(report)
            assert halted.receive(report)
        assert json.dumps(straight.state()) == json.dumps(halted.state())
        assert straight.knowledge.users > cut


def test_noise_drawn_before_the_save_is_used_after_it() -> None:
    agent = agent_of("refined")
    for user in range(3):
        agent.receive(report_of(agent, TOY, 0, user))
    saved = json.loads(json.dumps(agent.state()))
    mechanism = Mechanism.from_state(agent.mechanism.strategy, SeededNoise(999), saved["mechanism"])
    other = Agent.from_state(TOY.problem, agent.learner, mechanism, saved)
    for user in range(3, 8):
        report = report_of(agent, TOY, 0, user)
        agent.receive(report)
        other.receive(report)
    np.testing.assert_array_equal(agent.release.T1, other.release.T1)
    np.testing.assert_array_equal(agent.order.plan.gains, other.order.plan.gains)
    agent.close()
    other.close()
    assert not np.array_equal(agent.release.T1, other.release.T1)


def test_a_report_sent_twice_counts_once_even_after_loading() -> None:
    agent = agent_of("refined")
    report = report_of(agent, TOY, 0, 0, "mine")
    assert agent.receive(report)
    assert not agent.receive(report)
    assert agent.room == 7
    saved = json.loads(json.dumps(agent.state()))
    mechanism = Mechanism.from_state(agent.mechanism.strategy, agent.mechanism.source, saved["mechanism"])
    again = Agent.from_state(TOY.problem, agent.learner, mechanism, saved)
    assert not again.receive(report)
    with pytest.raises(InvalidInput, match="other content"):
        again.receive(report_of(agent, TOY, 0, 1, "mine"))


@pytest.mark.parametrize("kind", ["refined", "paper", "ofu", "factorised"])
def test_a_report_belongs_to_the_block_of_its_assignment(kind: str) -> None:
    agent = agent_of(kind)
    late = report_of(agent, TOY, 0, 99)
    assert late.assignment_id == agent.assignment_id
    user = 0
    while agent.mechanism.index == 0:
        agent.receive(report_of(agent, TOY, 0, user))
        user += 1
    assert agent.assignment_id != late.assignment_id
    room = agent.room
    with pytest.raises(HushloopError, match="fetch the current assignment"):
        agent.receive(late)
    assert agent.room == room


@pytest.mark.parametrize("kind", ["refined, K known", "paper", "ofu", "factorised"])
def test_after_the_last_user_nothing_is_counted(kind: str) -> None:
    agent = agent_of(kind)
    for user in range(40):
        assert not agent.finished
        agent.receive(report_of(agent, TOY, 0, user))
    assert agent.finished
    assert agent.room == 0
    assert agent.knowledge.users == 40
    for act in (lambda: agent.receive(report_of(agent, TOY, 0, 40)), agent.close):
        with pytest.raises(HushloopError, match="all 40 users have reported"):
            act()
    saved = json.loads(json.dumps(agent.state()))
    mechanism = Mechanism.from_state(agent.mechanism.strategy, agent.mechanism.source, saved["mechanism"])
    assert Agent.from_state(TOY.problem, agent.learner, mechanism, saved).finished


@pytest.mark.parametrize("kind", ["refined", "refined, K known"])
def test_a_block_may_close_at_a_deadline_full_empty_or_in_between(kind: str) -> None:
    agent = agent_of(kind)
    agent.receive(report_of(agent, TOY, 0, 0))
    release = agent.close()
    assert (release.users, release.total_users) == (1, 1)
    before = agent.knowledge.estimate
    release = agent.close()
    assert (release.users, release.total_users) == (0, 1)
    np.testing.assert_array_equal(agent.knowledge.estimate.mean, before.mean)
    assert agent.mechanism.index == 2
    assert agent.assignment_id == "block-2"
    assert agent.knowledge.belief.contains(TOY.Theta)


def test_order_and_assignment_depend_on_releases_alone() -> None:
    """Two crowds, the same releases: the same next order, bit for bit."""
    one, other = agent_of("refined"), agent_of("refined")
    for user in range(8):
        one.receive(report_of(one, TOY, 0, user))
    for user in range(8):
        other.receive(report_of(other, TOY, 5, user))
    assert not np.array_equal(one.release.T1, other.release.T1)
    learner = other.learner
    knowledge = learner.learn(learner.start(), learner.order(learner.start()), one.release)
    order = learner.order(knowledge)
    np.testing.assert_array_equal(order.plan.gains, one.order.plan.gains)
    np.testing.assert_array_equal(order.collection.weighting, one.order.collection.weighting)
    assert order.scales == one.order.scales


@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
@pytest.mark.parametrize("participations", [1, 4])
def test_guarantee_is_what_was_asked_for(adjacency: str, participations: int) -> None:
    budget = Budget(1.0, 1e-6, adjacency, participations)
    agent = build(TOY.problem, PROFILES["refined"], budget)
    found = agent.guarantee(1e-6, adjacency)
    assert 0.999 < found.epsilon <= 1.0
    assert found.also.keys() == {"replace-one", "zero-out"} - {adjacency}
    assert build(TOY.problem, PROFILES["nonprivate"]).guarantee(1e-6, adjacency).epsilon == float("inf")


def test_a_step_of_learning_that_fails_is_tried_again_and_the_release_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    straight, shaken = agent_of("refined"), agent_of("refined")
    learn = type(shaken.learner).learn

    def fails(*_: object) -> None:
        raise MemoryError

    for user in range(12):
        report = report_of(straight, TOY, 1, user)
        straight.receive(report)
        if user == 7:
            monkeypatch.setattr(type(shaken.learner), "learn", fails)
            with pytest.raises(MemoryError):
                shaken.receive(report)
            assert not shaken.finished
            monkeypatch.setattr(type(shaken.learner), "learn", learn)
        else:
            shaken.receive(report)
    assert straight.state() == shaken.state()
