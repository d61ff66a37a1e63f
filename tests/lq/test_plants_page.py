"""The tables of docs/reference/plants.md are those of the gallery; a change of either shows here what to paste."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hushloop.lq import gallery

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "plants.md"


def start_text(name: str) -> str:
    start = gallery.get(name).problem.start
    center = np.array2string(start.center, separator=", ", formatter={"float_kind": lambda v: f"{v:g}"})
    if start.center.size > 4:
        center = f"{start.center[0]:g} in each"
    return f"{start.law}, {center}" + (f", radius {start.radius:g}" if start.radius else "")


def cost_row(name: str) -> str:
    plant = gallery.get(name)
    pr = plant.problem
    costs = " | ".join(f"{v:.4g}" for v in (plant.optimal_cost, plant.nominal_cost, plant.idle_cost))
    return f"| `{name}` | {pr.n} | {pr.d} | {pr.horizon} | {plant.spectral_radius:.3g} | {costs} | {pr.about.story} |"


def bound_row(name: str) -> str:
    plant = gallery.get(name)
    pr = plant.problem
    noise = pr.disturbance.law + (", scaled" if pr.disturbance.scale is not None else "")
    size, off = np.linalg.norm(plant.Theta), np.linalg.norm(plant.Theta - pr.nominal)
    bounds = f"{pr.disturbance_bound:g} | {pr.control_bound:g} | {pr.response_bound:g}"
    prior = f"{pr.radius:g} | {pr.operator_radius:g} | {off:.2f} | {size:.2f}"
    return f"| `{name}` | {start_text(name)} | {noise} | {bounds} | {prior} |"


def unit_row(name: str) -> str | None:
    units = gallery.get(name).problem.units
    if units is None:
        return None
    scales = [", ".join(f"{v:.4g}" for v in side) for side in (units.state_scale, units.input_scale)]
    points = [", ".join(f"{v:.4g}" for v in side) for side in (units.state_setpoint, units.input_setpoint)]
    if len(units.state_names) > 4:
        scales = [f"{side[0]:.4g} each" for side in (units.state_scale, units.input_scale)]
        points = ["0 each", "0 each"]
        states, inputs = f"{units.state_names[0]}, …", f"{units.input_names[0]}, …"
    else:
        states, inputs = "; ".join(units.state_names), "; ".join(units.input_names)
    step = f"{units.dt:g} {units.dt_unit}"
    return f"| `{name}` | {states} | {scales[0]} | {points[0]} | {inputs} | {scales[1]} | {points[1]} | {step} |"


@pytest.mark.parametrize("row", [cost_row, bound_row, unit_row], ids=lambda row: row.__name__)
@pytest.mark.parametrize("name", gallery.names())
def test_the_page_has_the_row(name: str, row: object) -> None:
    wanted = row(name)
    assert wanted is None or wanted in PAGE.read_text(encoding="utf-8").splitlines()
