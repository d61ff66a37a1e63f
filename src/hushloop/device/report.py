"""One user's report: weighted sums of one episode that provably stay within the declared bounds, as exact integers.

The arithmetic is float64, every sum strictly left to right, no fused multiply-add: another language gets the same
bits (docs/reference/wire.md). The order, step by step:
t_r = Σ_c T[r,c]z_c (t = z where T is none); e = Σ t_i²; q = Σ_r(Σ_c M[r,c]z_c)²; w = min(1, (E − Σe)/e, (E_M − Σq)/q),
a term with a zero below left out; where w < 1 the budget is spent and every later w is 0, so w never grows again;
y_j = x⁺_j − Σ_i Θ_c[i,j]z_i; y ← y·(limit/‖y‖) where ‖y‖ > limit, limit = min(√q + C_w, Y); S[i,k] += w·(t_i·t_k);
C[i,j] += w·(t_i·y_j); then trunc(entry·2³⁰). A trajectory with a value that is not finite, and sums that are
not finite or beyond their bounds (which rounding alone never brings about), report zeros.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidInput
from .assignment import SCALE_BITS, SLACK, Array, Assignment, Collection, ordered_sum

IntArray = NDArray[np.int64]
GRID = 2.0**-SCALE_BITS


@dataclass(frozen=True, eq=False)
class Report:
    """Grid units: S the upper triangle row by row (p(p+1)/2), C row by row (pn)."""

    S: IntArray
    C: IntArray
    assignment_id: str
    report_id: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "report_id": self.report_id,
            "assignment_id": self.assignment_id,
            "S": self.S.tolist(),
            "C": self.C.tolist(),
        }

    @staticmethod
    def from_dict(value: dict[str, Any]) -> Report:
        """The report of a decoded JSON object; what is not whole numbers below 2⁶³ is refused."""
        for key in ("S", "C"):
            entries = value.get(key)
            if not isinstance(entries, list) or not all(type(v) is int and -(2**63) < v < 2**63 for v in entries):
                raise InvalidInput(key, "is no list of whole numbers below 2⁶³", "send grid units, entry by entry")
        ids = {key: value.get(key, "") for key in ("assignment_id", "report_id")}
        for key, text in ids.items():
            if not isinstance(text, str):
                raise InvalidInput(key, f"is {text!r}", "send a string")
        return Report(np.array(value["S"], dtype=np.int64), np.array(value["C"], dtype=np.int64), **ids)

    def to_json(self) -> str:
        return json.dumps(self.to_dict())

    @staticmethod
    def from_json(text: str | bytes) -> Report:
        return Report.from_dict(json.loads(text))


def make_report(assignment: Assignment, states: Any, controls: Any, report_id: str = "") -> Report:
    """Sum one trajectory: states (T+1, n), controls as applied (T, d), T ≤ H. What is not finite reports zeros."""
    S, C = episode_sums(assignment.collection, np.asarray(states, dtype=float), np.asarray(controls, dtype=float))
    return Report(S, C, assignment.id, report_id)


def episode_sums(collection: Collection, states: Array, controls: Array) -> tuple[IntArray, IntArray]:
    """(S, C) of one trajectory in grid units."""
    p, n = collection.p, collection.n
    steps = controls.shape[0] if controls.ndim == 2 else -1
    if steps < 0 or states.shape != (steps + 1, n) or controls.shape[1] != p - n:
        raise InvalidInput(
            "trajectory",
            f"has states {states.shape} and controls {controls.shape}",
            f"give (T+1, {n}) and (T, {p - n})",
        )
    if steps > collection.horizon:
        raise InvalidInput("trajectory", f"has {steps} steps", f"at most {collection.horizon} belong to one report")
    upper = np.triu_indices(p)
    if np.isfinite(states).all() and np.isfinite(controls).all():
        with np.errstate(all="ignore"):
            S, C = _weighted_sums(collection, states, controls)
            units = np.trunc(np.concatenate([S[upper], C.ravel()]) * 2.0**SCALE_BITS)
        if (np.abs(units) < 2.0**63).all():  # false for NaN too
            whole = units.astype(np.int64)
            S_units, C_units = whole[: upper[0].size], whole[upper[0].size :]
            if within_bounds(collection, S_units, C_units):
                return S_units, C_units
    return np.zeros(upper[0].size, dtype=np.int64), np.zeros(p * n, dtype=np.int64)


def _weighted_sums(collection: Collection, states: Array, controls: Array) -> tuple[Array, Array]:
    p, n = collection.p, collection.n
    S, C = np.zeros((p, p)), np.zeros((p, n))
    spent, spent_response, w = 0.0, 0.0, 1.0
    for h in range(controls.shape[0]):
        if w < 1.0:  # a budget is spent: no later step may weigh anything
            break
        z = np.concatenate([states[h], controls[h]])
        t = z if collection.weighting is None else ordered_sum(collection.weighting * z)
        size, reach = _square(t), 0.0
        if collection.shape is not None:
            reach = _square(ordered_sum(collection.shape * z))
        if size == 0.0:
            continue
        w = _share(1.0, collection.energy, spent, size)
        if collection.response_budget is not None:
            w = _share(w, collection.response_budget, spent_response, reach)
        spent += size
        spent_response += reach
        y = states[h + 1] - ordered_sum(collection.center.T * z)
        limit = response_limit(collection, reach)
        norm = math.sqrt(_square(y))
        if not norm <= limit:
            y = y * (limit / norm)
        S += w * (t[:, None] * t[None, :])
        C += w * (t[:, None] * y[None, :])
    return S, C


def _square(v: Array) -> float:
    return float(ordered_sum(v * v))


def _share(w: float, budget: float, spent: float, size: float) -> float:
    """The weight that what is left of a budget allows a step of this size."""
    left = budget * SLACK - spent
    if left <= 0.0:
        return 0.0
    return w if size == 0.0 else min(w, left / size)


def response_limit(collection: Collection, reach: float) -> float:
    """What ‖y‖ is clipped to where ‖Mz‖² = reach."""
    limit = math.inf
    if collection.shape is not None:
        limit = (math.sqrt(reach) + collection.disturbance_bound) * SLACK
    if collection.response_bound is not None:
        limit = min(limit, collection.response_bound * SLACK)
    return limit


def within_bounds(collection: Collection, S: IntArray, C: IntArray) -> bool:
    """The curator's check, in whole numbers: ‖S‖ ≤ E, 0 ≤ S_ii, tr S ≤ E, ‖C‖² ≤ E·B₂. Sizes must be right already."""
    return units_within_bounds(collection, S.tolist(), C.tolist())


def units_within_bounds(collection: Collection, S: Sequence[int], C: Sequence[int]) -> bool:
    """The same for plain lists, as they come off the wire."""
    largest_trace, largest_square, largest_cross = collection.integer_bounds
    diagonal, at = [], 0
    for row in range(collection.p, 0, -1):
        diagonal.append(S[at])
        at += row
    return (
        min(diagonal) >= 0
        and sum(diagonal) <= largest_trace
        and 2 * sum(v * v for v in S) - sum(v * v for v in diagonal) <= largest_square
        and sum(v * v for v in C) <= largest_cross
    )
