"""One rehearsal of a deployment: a plant drawn from the prior, and `refined` on it until it has learned."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..agent import Agent
from ..lq import Plant
from ..lq.files import load
from ..privacy.budget import Budget
from ..privacy.mechanisms import Blocks, Mechanism
from ..privacy.noise import SeededNoise
from ..profiles import PROFILES, learner_of
from ..simulation.learning_time import learning_time
from ..simulation.rows import play_seed
from .cell import Cell, Rows
from .plants import from_prior

TASK = "hushloop.studies.rehearsal:rehearse"
BEYOND = 16
"""How many times longer than against doing nothing one waits for the other learning time."""


def rehearsal_cell(plant: str, budget: Budget, index: int, seed: int, **more: Any) -> Cell:
    """Draw number `index` of the prior."""
    options = {
        "plant": plant, "epsilon": budget.epsilon, "delta": budget.delta, "adjacency": budget.adjacency,
        "participations": budget.participations, "index": index, "seed": seed, "users": 2**19, "within": 0.1,
        "first": None, "growth": 2.0, **more,
    }  # fmt: skip
    return Cell(TASK, options, f"draw {index}, ε = {budget.epsilon:g}")


def rehearse(o: dict[str, Any]) -> Rows:
    """Learning times against doing nothing and against the nominal controller, and what each block asked for."""
    found = load(o["plant"])
    problem = found.problem if isinstance(found, Plant) else found
    plant = from_prior(problem, np.random.default_rng((o["seed"], o["index"])))
    budget = Budget(o["epsilon"], o["delta"], o["adjacency"], o["participations"])
    profile = PROFILES["refined"].with_(first=o["first"], growth=o["growth"])
    learner = learner_of(problem, profile, budget, None, 0, None)
    noise = SeededNoise(o["seed"] * 1_000_003 + o["index"])
    agent = Agent(problem, learner, Mechanism(Blocks(budget), noise))
    idle, nominal, blocks = follow(agent, plant, o)
    return [{
        "index": o["index"], "epsilon": o["epsilon"], "first": blocks[0][0], "growth": o["growth"],
        "idle": _or_none(idle), "nominal": _or_none(nominal), "blocks": [b[0] for b in blocks],
        "excitation": [b[1] for b in blocks], "energy": [b[2] for b in blocks],
    }]  # fmt: skip


def follow(agent: Agent, plant: Plant, o: dict[str, Any]) -> tuple[float, float, list[tuple[int, float, float]]]:
    """Play until both learning times are known, or for as long as it is worth waiting."""
    least = {"idle": plant.idle_cost - plant.optimal_cost, "nominal": plant.nominal_cost - plant.optimal_cost}
    times = dict.fromkeys(least, math.inf)
    ends: list[float] = []
    losses: list[float] = []
    blocks = [_asked(agent)]
    for row in play_seed(agent, plant, o["users"], o["index"], threads=1):
        ends.append(float(row["users"]))
        losses.append(float(row["loss"]))
        for key, worth in least.items():
            if math.isinf(times[key]):
                times[key] = learning_time(np.array(ends), np.array(losses), o["within"] * worth)
        if math.isfinite(times["idle"]) and (math.isfinite(times["nominal"]) or ends[-1] > BEYOND * times["idle"]):
            break
        blocks.append(_asked(agent))
    return times["idle"], times["nominal"], blocks


def _asked(agent: Agent) -> tuple[int, float, float]:
    return agent.order.users, float(agent.order.plan.excitation), float(agent.order.collection.energy)


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
