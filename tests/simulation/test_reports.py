"""Reports one by one: the bits that a device makes, and the sums that the compiled loop makes."""

from __future__ import annotations

import numpy as np
import pytest

from hushloop.agent import Agent
from hushloop.device import make_report
from hushloop.kernels.reference_episodes import trajectories
from hushloop.lq import Plant, gallery
from hushloop.privacy.budget import Budget
from hushloop.profiles import refined
from hushloop.simulation.play import disturbance_law, play, start_law, sums_of
from hushloop.simulation.reports import reports_of

USERS = 300


def later_block(plant: Plant) -> Agent:
    """An agent past its first releases, so that weighting, response budget and excitation are all in use."""
    agent = refined(plant.problem, Budget(1.0, 1e-6), seed=3, first=64)
    for _ in range(2):
        played = play(plant, agent.assignment(), 1, 0, agent.room)
        agent.receive_sums(sums_of(played))
    return agent


@pytest.mark.parametrize("name", ["toy", "two-zone-heating", "ev-charging"])
def test_each_report_is_the_devices_own_and_the_sums_agree(name: str) -> None:
    plant = gallery.get(name)
    assignment = later_block(plant).assignment()
    c = assignment.controller
    found = reports_of(plant, assignment, 5, 1000, USERS)
    X, U, _ = trajectories(
        5, 1000, USERS, A=plant.A, B=plant.B, gains=c.gains, control_bound=c.control_bound, excitation=c.excitation,
        disturbance=disturbance_law(plant.problem.disturbance), start=start_law(plant.problem.start),
        control_low=c.control_low, control_high=c.control_high,
    )  # fmt: skip
    for user in range(USERS):
        report = make_report(assignment, X[user], U[user])
        assert found[user].tolist() == [*report.S.tolist(), *report.C.tolist()]
    played = play(plant, assignment, 5, 1000, USERS)
    assert found.astype(object).sum(axis=0).tolist() == [*played.S.tolist(), *played.C.tolist()]
    assert np.abs(found).max() > 2**20
