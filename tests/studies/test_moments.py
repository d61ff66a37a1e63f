"""Closed forms of one user's sums against users who are played."""

from __future__ import annotations

import numpy as np
import pytest

from hushloop.agent import controller
from hushloop.device import Assignment
from hushloop.errors import InvalidInput
from hushloop.lq import Disturbance, Plant, Start
from hushloop.lq.files import load
from hushloop.privacy.paper import paper_collection
from hushloop.simulation.play import play
from hushloop.studies.moments import user_moments

TOY = load("toy")
assert isinstance(TOY, Plant)
GROUP, GROUPS = 100, 1500


def plants() -> list[Plant]:
    problem = TOY.problem
    ball = problem.with_(start=Start("ball", np.array([0.4, 0.5]), 0.2), disturbance=Disturbance("ball", 0.15, 2))
    stretched = problem.with_(disturbance=Disturbance("sphere", 0.2, 2, scale=np.array([[1.0, 0.0], [0.3, 0.5]]) / 1.1))
    return [TOY, Plant(ball, TOY.A, TOY.B), Plant(stretched, TOY.A, TOY.B)]


@pytest.mark.parametrize("number", range(3))
def test_mean_and_covariance_are_those_of_played_users(number: int) -> None:
    """Each of 12 means and 78 covariances within 6 standard errors: a false alarm in 5·10⁶."""
    plant = plants()[number]
    collection = paper_collection(plant.problem)
    gains = 0.8 * plant.optimal_gains
    found = user_moments(plant, gains, collection)
    assert found.control_reach <= plant.problem.control_bound
    assert found.response_reach <= plant.problem.response_bound
    run = Assignment("moments", controller(plant.problem, gains), collection)
    sums = []
    for k in range(GROUPS):
        played = play(plant, run, 5, k * GROUP, GROUP, threads=1)
        sums.append(np.concatenate([played.S.astype(float), played.C.astype(float)]) * 2.0**-30)
    off = (np.stack(sums) - GROUP * found.mean) / np.sqrt(GROUP)
    deviation = np.sqrt(np.diag(found.covariance))
    assert (np.abs(off.mean(axis=0)) <= 6 * deviation / np.sqrt(GROUPS) + 1e-7).all()
    products = off[:, :, None] * off[:, None, :]
    error = products.std(axis=0) / np.sqrt(GROUPS)
    assert (np.abs(products.mean(axis=0) - found.covariance) <= 6 * error + 1e-9).all()


def test_reach_is_attained_at_most() -> None:
    found = user_moments(TOY, TOY.optimal_gains, paper_collection(TOY.problem))
    largest = 0.0
    rng = np.random.default_rng(1)
    for _ in range(300):
        x = TOY.problem.start.center
        for K in TOY.optimal_gains:
            u = K @ x
            largest = max(largest, float(np.linalg.norm(u)))
            x = TOY.A @ x + TOY.B @ u + TOY.problem.disturbance.sample(1, rng)[0]
    assert 0.8 * found.control_reach <= largest <= found.control_reach


def test_a_law_without_closed_form_is_refused() -> None:
    plant = Plant(TOY.problem.with_(disturbance=Disturbance("rademacher", 0.1, 2)), TOY.A, TOY.B)
    with pytest.raises(InvalidInput, match="rademacher"):
        user_moments(plant, plant.optimal_gains, paper_collection(plant.problem))
