"""What cells run: functions of plain options that return rows, importable by name in any worker."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..agent import Agent
from ..errors import InvalidInput
from ..lq import Plant
from ..lq.files import load
from ..privacy.budget import Budget
from ..privacy.mechanisms import Mechanism
from ..privacy.noise import SeededNoise
from ..profiles import Profile, learner_of, profile_named, strategy_of
from ..simulation.rows import simulate_rows
from .cell import Cell, Rows, named
from .long_paper import long_run, planned
from .plants import drawn_plant, random_plant

FLEET = "hushloop.studies.tasks:fleet"
LONG = "hushloop.studies.tasks:long_paper"
KEPT = (
    "seed", "users", "block_users", "loss", "loss_stderr", "exact", "excitation", "energy", "covered", "clipped_share",
    "included_share", "failed", "contradictions",
)  # fmt: skip


def plant_of(value: Any) -> Plant:
    """A plant from a cell's options: a name of the gallery, a random plant, or a draw from a prior."""
    if isinstance(value, dict):
        return random_plant(**value["random"]) if "random" in value else drawn_plant(**value["drawn"])
    found = load(value)
    if not isinstance(found, Plant):
        raise InvalidInput("plant", f"is {value!r}, a problem without its truth", "give the file A and B")
    return found


def fleet_cell(
    plant: Any, profile: str, users: int, seed: int, epsilon: float | None = None, *, delta: float = 1e-6,
    name: str | None = None, changes: dict[str, Any] | None = None, table: str = "cells", weight: float = 1.0,
    **tags: Any,
) -> Cell:  # fmt: skip
    """One seed of one agent. `changes` are fields of the profile; `tags` are copied into every row."""
    name = name or profile
    options = {
        "plant": plant, "profile": profile, "users": users, "seed": seed, "epsilon": epsilon, "delta": delta,
        "name": name, "changes": changes or {}, "tags": tags,
    }  # fmt: skip
    at = "" if epsilon is None else f", ε = {epsilon:g}"
    where = plant if isinstance(plant, str) else "random plant"
    return Cell(FLEET, options, f"{where}, {name}{at}, seed {seed}", users * weight, table)


def fleet(o: dict[str, Any]) -> Rows:
    """A row a release: loss, regret so far, coverage."""
    plant = plant_of(o["plant"])
    profile = profile_named(o["profile"]).with_(**o["changes"])
    budget = None if o["epsilon"] is None else Budget(o["epsilon"], o["delta"])

    def make(seed: int) -> Agent:
        return agent_of(plant, profile, budget if profile.private else None, o["users"], seed)

    runs = simulate_rows(make, plant, o["users"], (o["seed"],), workers=1)
    return rows_of(runs.rows, plant, {**_head(o, plant), **o["tags"]})


def agent_of(plant: Plant, profile: Profile, budget: Budget | None, users: int, seed: int) -> Agent:
    """An agent whose planner or mechanism may be anybody's own, named as module:function."""
    known = None if profile.belief == "recursive" else users
    own_planner, own_mechanism = ":" in profile.planner, ":" in profile.mechanism
    plain = replace(
        profile,
        planner="certainty" if own_planner else profile.planner,
        mechanism="blocks" if own_mechanism else profile.mechanism,
    )
    learner = learner_of(plant.problem, plain, budget, known, seed, plant)
    if own_planner:
        learner = replace(learner, planner=named(profile.planner))  # type: ignore[type-var]
    elif profile.planner == "optimistic":
        learner = replace(learner, planner=planned)  # type: ignore[type-var]
    strategy = named(profile.mechanism)(budget) if own_mechanism else None
    if strategy is None:
        strategy = strategy_of(plant.problem, plain, budget, known, learner)
    return Agent(plant.problem, learner, Mechanism(strategy, SeededNoise(seed)), known)


def rows_of(rows: Rows, plant: Plant, head: dict[str, Any]) -> Rows:
    """The columns that studies use, with the regret so far."""
    out, regret = [], 0.0
    for row in rows:
        regret += row["loss"] * row["block_users"]
        out.append({**head, **{key: row[key] for key in KEPT}, "regret": regret})
    return out


def long_paper(o: dict[str, Any]) -> Rows:
    """The paper to billions of users (see `long_paper.py`)."""
    plant = plant_of(o["plant"])
    head = {**_head(o, plant), **o["tags"], "seed": o["seed"]}
    out, regret = [], 0.0
    for row in long_run(plant, Budget(o["epsilon"], o["delta"]), o["users"], o["seed"], o["growth"], o["noise"]):
        regret += row["loss"] * row["block_users"]
        out.append({**head, **row, "regret": regret})
    return out


def long_cell(
    plant: Any, users: int, seed: int, epsilon: float, *, delta: float = 1e-6, growth: float = 1.1,
    noise: str = "printed", table: str = "cells", **tags: Any,
) -> Cell:  # fmt: skip
    """One seed of the paper to many users."""
    options = {
        "plant": plant, "users": users, "seed": seed, "epsilon": epsilon, "delta": delta, "growth": growth,
        "noise": noise, "name": "paper", "tags": tags,
    }  # fmt: skip
    return Cell(LONG, options, f"{plant}, paper to {users:,}, ε = {epsilon:g}, seed {seed}", 3e5, table)


def _head(o: dict[str, Any], plant: Plant) -> dict[str, Any]:
    return {
        "plant": plant.name, "agent": o["name"], "epsilon": o["epsilon"], "delta": o["delta"],
        "best": plant.optimal_cost, "idle": plant.idle_cost,
    }  # fmt: skip
