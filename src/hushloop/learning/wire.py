"""Orders and knowledge as plain lists and numbers, so that an agent can be saved at any report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from ..device import Collection
from ..privacy.mechanisms.base import dump_collection, load_collection
from ..privacy.sensitivity import NoiseScales
from .belief import Array, Belief, Estimate
from .learner import Knowledge, Order
from .plan import Plan


def dump_plan(plan: Plan) -> dict[str, Any]:
    return {f.name: plain(getattr(plan, f.name)) for f in fields(plan)}


def load_plan(value: Mapping[str, Any]) -> Plan:
    return Plan(**{**value, "gains": np.array(value["gains"]), "Theta": np.array(value["Theta"])})


def dump_belief(belief: Belief) -> dict[str, Any]:
    return {f.name: plain(getattr(belief, f.name)) for f in fields(belief)}


def load_belief(value: Mapping[str, Any]) -> Belief:
    arrays = {name: np.array(value[name]) for name in ("center", "shape", "ball_center")}
    return Belief(**arrays, ball_radius=value["ball_radius"])


def dump_knowledge(knowledge: Knowledge) -> dict[str, Any]:
    out = {f.name: plain(getattr(knowledge, f.name)) for f in fields(knowledge)}
    out["belief"] = dump_belief(knowledge.belief)
    out["estimate"] = {"mean": plain(knowledge.estimate.mean), "precision": plain(knowledge.estimate.precision)}
    return out


def load_knowledge(value: Mapping[str, Any]) -> Knowledge:
    estimate = Estimate(np.array(value["estimate"]["mean"]), np.array(value["estimate"]["precision"]))
    warm = None if value["warm"] is None else np.array(value["warm"])
    return Knowledge(**{**value, "belief": load_belief(value["belief"]), "estimate": estimate, "warm": warm})


def dump_order(order: Order) -> dict[str, Any]:
    scales = order.scales
    return {
        "plan": dump_plan(order.plan),
        "collection": dump_collection(order.collection),
        "users": order.users,
        "scales": None if scales is None else [scales.sigma_s, scales.sigma_c],
        "moments": plain(order.moments),
    }


def load_order(value: Mapping[str, Any]) -> Order:
    collection: Collection = load_collection(value["collection"])
    scales = None if value["scales"] is None else NoiseScales(*value["scales"])
    moments: Array = np.array(value["moments"])
    return Order(load_plan(value["plan"]), collection, value["users"], scales, moments)


def plain(value: Any) -> Any:
    """An array as nested lists; anything else as it is."""
    return value.tolist() if isinstance(value, np.ndarray) else value
