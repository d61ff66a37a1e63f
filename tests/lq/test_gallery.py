"""Every plant of the gallery is what its source says, well scaled, and worth controlling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

from hushloop.errors import HushloopError
from hushloop.lq import Plant, gallery, interop
from hushloop.lq.gallery.build import matrix_exponential, zero_order_hold

NAMES = gallery.names()


def test_the_reference_plant_has_the_reference_costs() -> None:
    toy = gallery.get("toy")
    assert toy.optimal_cost == pytest.approx(1.281667, abs=5e-7)
    assert toy.idle_cost == pytest.approx(1.445621, abs=5e-7)


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_lies_in_its_prior_and_is_not_its_centre(name: str) -> None:
    plant = gallery.get(name)
    pr, off = plant.problem, plant.Theta - plant.problem.nominal
    assert 0.0 < np.linalg.norm(off) <= pr.radius
    assert np.linalg.norm(off, 2) <= pr.operator_radius <= pr.radius


@pytest.mark.parametrize("name", NAMES)
def test_the_prior_is_honest_about_what_is_unknown(name: str) -> None:
    plant = gallery.get(name)
    assert plant.problem.radius >= np.linalg.norm(plant.Theta) / 4


@pytest.mark.parametrize("name", NAMES)
def test_control_is_worth_it_and_the_nominal_model_leaves_something_to_learn(name: str) -> None:
    plant = gallery.get(name)
    assert plant.idle_cost > 1.1 * plant.optimal_cost
    assert plant.nominal_cost > 1.03 * plant.optimal_cost


def play(plant: Plant, K: np.ndarray, users: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Largest ‖y‖ and the share of steps cut, u = Kx cut as the device does."""
    pr, rng = plant.problem, np.random.default_rng(0)
    x, largest, cut = pr.start.sample(users, rng), 0.0, 0
    for h in range(pr.horizon):
        raw = x @ K[h].T
        u = np.array([pr.cut(row) for row in raw])
        cut += (np.abs(u - raw).max(axis=1) > 1e-12).sum()
        z = np.hstack([x, u])
        x = z @ plant.Theta + pr.disturbance.sample(users, rng)
        largest = max(largest, np.linalg.norm(x - z @ pr.nominal, axis=1).max())
    return largest, cut / (users * pr.horizon)


@pytest.mark.parametrize("name", NAMES)
def test_the_response_bound_holds_and_the_optimum_is_rarely_cut(name: str) -> None:
    plant = gallery.get(name)
    largest, cut = play(plant, plant.optimal_gains)
    assert largest <= plant.problem.response_bound
    assert cut < 0.12
    assert play(plant, 0.0 * plant.optimal_gains)[0] <= plant.problem.response_bound


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_has_a_story_a_source_and_states_of_order_one(name: str) -> None:
    problem = gallery.get(name).problem
    assert problem.about.story.endswith(".")
    assert "\n" not in problem.about.story
    assert problem.about.source
    assert 0.1 <= problem.start.largest_norm <= 2.0


def test_matrix_exponential_agrees_with_scipy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        X = rng.normal(size=(5, 5)) * 10 ** rng.uniform(-3, 1)
        assert matrix_exponential(X) == pytest.approx(expm(X), rel=1e-10, abs=1e-10 * np.abs(expm(X)).max())


def test_zero_order_hold_agrees_with_fine_integration() -> None:
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
    x, u = rng.normal(size=3), rng.normal(size=2)
    Ad, Bd = zero_order_hold(A, B, 0.7)
    step = 0.7 / 2000
    y = x.copy()
    for _ in range(2000):  # midpoint rule
        y = y + step * (A @ (y + step / 2 * (A @ y + B @ u)) + B @ u)
    assert Ad @ x + Bd @ u == pytest.approx(y, abs=1e-5)


def test_units_lead_back_to_the_source() -> None:
    """Glucose in its own units: 5 minutes of insulin action X lower G by about 100·5·X."""
    plant = gallery.get("glucose")
    A, B = interop.to_engineering(interop.units_of(plant.problem), plant.A, plant.B)
    assert A[0, 0] == pytest.approx(1.0)
    assert A[0, 1] == pytest.approx(-100.0 * (1 - np.exp(-0.02 * 5)) / 0.02)
    assert A[2, 2] == pytest.approx(np.exp(-5 * 5 / 54))
    assert B[2, 0] == pytest.approx((1 - np.exp(-5 * 5 / 54)) * 54 / 5 / 120)


@pytest.mark.parametrize("name", ["glucose", "propofol", "two-zone-heating"])
def test_the_steady_input_is_what_the_lower_limit_leaves(name: str) -> None:
    problem = gallery.get(name).problem
    assert problem.units.input_setpoint + problem.units.input_scale * problem.control_low == pytest.approx(0.0)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(HushloopError, match="toy, laplacian"):
        gallery.get("toi")
