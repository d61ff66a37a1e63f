"""Other worlds: python-control, gymnasium, engineering units."""

from __future__ import annotations

import builtins
from typing import Any

import control
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from hushloop.errors import InvalidInput, MissingExtra
from hushloop.lq import Plant, gallery, interop


@pytest.mark.parametrize("name", ["toy", "stable3", "propofol"])
def test_a_plant_survives_python_control(name: str) -> None:
    plant = gallery.get(name)
    system = plant.to_statespace()
    again = Plant.from_statespace(system, plant.problem)
    assert (again.A == plant.A).all()
    assert (again.B == plant.B).all()
    assert system.isdtime()
    assert again.optimal_cost == plant.optimal_cost


def test_dt_and_names_are_those_of_the_units() -> None:
    system = gallery.get("glucose").to_statespace()
    assert system.dt == 5.0
    assert system.input_labels == ["insulin rate, mU/min"]


def test_a_continuous_system_is_refused() -> None:
    plant = gallery.get("toy")
    with pytest.raises(InvalidInput, match="c2d"):
        Plant.from_statespace(control.ss(plant.A, plant.B, np.eye(2), np.zeros((2, 1))), plant.problem)


@pytest.mark.parametrize("name", ["toy", "boeing747", "car-following"])
def test_long_horizon_gains_are_minus_those_of_dlqr(name: str) -> None:
    plant = gallery.get(name)
    pr = plant.problem
    K, _, _ = control.dlqr(plant.A, plant.B, pr.Q, pr.R)
    assert interop.lqr_gains(plant.A, plant.B, pr.Q, pr.R, 2000)[0] == pytest.approx(-np.asarray(K), abs=1e-9)


@pytest.mark.parametrize(
    ("change", "key"), [({"B": np.eye(3)}, "A"), ({"R": np.eye(2)}, "A"), ({"horizon": 0}, "horizon")]
)
def test_gains_of_matrices_that_do_not_fit_are_refused(change: dict[str, Any], key: str) -> None:
    given = {"A": np.eye(2), "B": np.ones((2, 1)), "Q": np.eye(2), "R": np.eye(1), "horizon": 3}
    with pytest.raises(InvalidInput, match=f"`{key}`"):
        interop.lqr_gains(**given | change)


@pytest.mark.parametrize("name", gallery.names())
def test_the_environment_passes_gymnasiums_check(name: str) -> None:
    check_env(interop.environment(gallery.get(name)), skip_render_check=True)


def test_an_episode_of_the_environment_costs_what_the_plant_says() -> None:
    plant = gallery.get("toy")
    env, K, costs = interop.environment(plant), plant.optimal_gains, []
    for seed in range(1500):
        x, _ = env.reset(seed=seed)
        cost, done, h = 0.0, False, 0
        while not done:
            x, reward, done, _, _ = env.step(K[h] @ x / plant.problem.control_bound)
            cost, h = cost - reward, h + 1
        costs.append(cost)
    assert h == plant.problem.horizon
    assert abs(np.mean(costs) - plant.optimal_cost) < 5 * np.std(costs) / np.sqrt(len(costs))


def test_the_environment_cuts_actions_as_the_device_does() -> None:
    env = interop.environment(gallery.get("glucose"))
    env.reset(seed=0)
    applied = env.step(np.array([-99.0]))[4]["applied"]
    assert applied == pytest.approx(gallery.get("glucose").problem.control_low)
    assert env.step(np.array([99.0]))[4]["applied"] == pytest.approx([1.5])


@pytest.mark.parametrize("name", ["glucose", "pendulum", "two-zone-heating"])
def test_units_map_there_and_back(name: str) -> None:
    plant = gallery.get(name)
    units = interop.units_of(plant.problem)
    A, B = interop.to_engineering(units, plant.A, plant.B)
    back = interop.to_scaled(units, A, B)
    assert back[0] == pytest.approx(plant.A, rel=1e-12)
    assert back[1] == pytest.approx(plant.B, rel=1e-12)


@pytest.mark.parametrize("name", ["glucose", "toy"])
def test_a_controller_mapped_to_engineering_units_does_the_same(name: str) -> None:
    plant = gallery.get(name)
    units = interop.units_of(plant.problem)
    mapped = interop.EngineeringController(plant.problem, plant.optimal_gains)
    for x in (np.full(plant.problem.n, 0.4), np.full(plant.problem.n, 40.0)):
        u = plant.problem.cut(plant.optimal_gains[1] @ x)
        physical = mapped.control(1, units.state_setpoint + units.state_scale * x)
        assert physical == pytest.approx(units.input_setpoint + units.input_scale * u)


@pytest.mark.parametrize(("package", "call"), [("control", "to_statespace"), ("gymnasium", "environment")])
def test_a_missing_package_is_named_with_its_remedy(package: str, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.split(".")[0] in (package, "environment"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"pip install 'hushloop\[interop\]'"):
        getattr(interop, call)(gallery.get("toy"))
