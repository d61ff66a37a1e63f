"""The profile `paper`, re-planned after every episode, against a line-by-line transcription of Algorithm 1."""

from __future__ import annotations

import numpy as np
import pytest
from paper_transcription import Constants, algorithm_1, printed_constants

from hushloop.agent import Agent
from hushloop.learning.planners.optimistic import optimistic
from hushloop.lq import Plant, Start
from hushloop.lq.files import load
from hushloop.privacy import Budget
from hushloop.privacy.noise import SeededNoise
from hushloop.privacy.paper import paper_constants
from hushloop.profiles import PROFILES, build, ridge_strength

ALPHA, SEED = 0.1, 3


def play(agent: Agent, plant: Plant, episodes: int):
    """Real devices under the agent's own assignments; what the agent held at the start of each episode."""
    rng = np.random.default_rng(7)
    problem = plant.problem
    for _ in range(episodes):
        held = agent.knowledge, agent.order.plan
        assignment = agent.assignment()
        states, controls = [problem.start.sample(1, rng)[0]], []
        for h in range(problem.horizon):
            controls.append(assignment.control(h, states[-1], rng))
            push = problem.disturbance.sample(1, rng)[0]
            states.append(plant.A @ states[-1] + plant.B @ controls[-1] + push)
        agent.receive(assignment.report(np.array(states), np.array(controls)))
        yield held, (np.array(states), np.array(controls))


def compare(agent: Agent, plant: Plant, episodes: int, constants: Constants, noise, plan_from: int) -> int:
    """Hold every episode to the transcription; how many plans were not trivial."""
    played = list(play(agent, plant, episodes))
    problem = plant.problem
    slow = algorithm_1(
        [trajectory for _, trajectory in played], noise, constants, problem.Q, problem.R, problem.W, problem.horizon,
        problem.disturbance_bound, ALPHA, lambda k: k >= plan_from and k % 4 == 0,
    )  # fmt: skip
    bold = 0
    for ((knowledge, plan), _), line in zip(played, slow, strict=True):
        if line.k == 1:
            continue
        estimate = knowledge.estimate
        grid = line.k * 2.0**-30  # what cutting reports to their grid can have moved a sum
        np.testing.assert_allclose(estimate.precision, line.V, rtol=1e-9, atol=1.1 * grid)
        np.testing.assert_allclose(estimate.mean, line.Theta_hat, rtol=1e-9, atol=4 * grid / constants.eta)
        V_half = np.linalg.cholesky(np.linalg.inv(knowledge.belief.shape @ knowledge.belief.shape))
        beta = float(np.sqrt(np.abs(np.linalg.eigvalsh(line.V)).max()) / np.linalg.norm(V_half, 2))
        assert beta == pytest.approx(line.beta, rel=1e-6)
        if not np.isnan(line.J):
            assert plan.value <= line.J + 1e-6
            assert plan.value == pytest.approx(line.J, abs=1e-6)
            bold += float(np.abs(plan.gains).max()) > 1e-3
    return bold


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1e5])
def test_private_with_the_same_noise(epsilon: float) -> None:
    plant = load("toy")
    problem, K = plant.problem, 240
    budget = Budget(epsilon)
    agent = build(problem, PROFILES["paper"].with_(first=1, growth=1.0), budget, K, SEED)
    constants, sigma_1, sigma_2 = printed_constants(2, 1, 5, 1.5, K, epsilon, 1e-6, ALPHA)
    scales = paper_constants(problem, budget, K, ALPHA).sigma
    assert (scales.sigma_s, scales.sigma_c) == pytest.approx((sigma_1, sigma_2), rel=1e-9)
    source = SeededNoise(SEED)

    def noise(first: int, last: int):
        length = last - first + 1
        level = length.bit_length() - 1
        return source.draw(3, 2, scales, level << 48 | (first - 1) // length, isotropic=False)

    assert compare(agent, plant, K, constants, noise, 60) > 20


@pytest.mark.slow
@pytest.mark.parametrize("name", ["toy", "chained"])
def test_without_privacy(name: str) -> None:
    """`chained` has two inputs."""
    plant = load(name)
    if name == "chained":
        # the transcription knows the paper's set alone: Θ₀ = 0 and the unit ball
        start = Start("fixed", np.array([0.6, 0.5]))
        problem = plant.problem.with_(nominal=np.zeros((4, 2)), radius=1.0, operator_radius=1.0, start=start)
        plant = Plant(problem, plant.A * 0.45, plant.B * 0.3)
    agent = build(plant.problem, PROFILES["ofu"], None, None, SEED)
    ridge = ridge_strength(plant.problem)
    assert compare(agent, plant, 60, Constants(ridge, ridge, ridge, 0.0), None, 4) >= 14  # of 15


def test_value_of_the_plan_is_that_of_its_model() -> None:
    plant = load("toy")
    agent = build(plant.problem, PROFILES["ofu"], None, None, SEED)
    for (knowledge, plan), _ in play(agent, plant, 12):
        again = optimistic(plant.problem, knowledge.belief, certify=False)
        assert plan.value == pytest.approx(again.value, rel=1e-6)
