"""`--safe τ`: run only what is certified to cost at most (1+τ) times the worst case of a named baseline.

The certificate is over the whole belief and for the controller as it runs: the relaxed worst case holds for linear
policies only, so the controller must also be shown never to clip. Where the plan fails, it is moved towards the
baseline; where nothing bolder passes, the baseline runs with as much excitation as does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, get_args

from ...errors import InvalidInput
from ...lq import Problem, idle_gains, optimal_gains, policy_cost, split
from ..belief import Array, Belief
from ..plan import Plan
from .relaxed import upper_bound, worst_cost

Baseline = Literal["idle", "nominal"]
BASELINES: tuple[str, ...] = get_args(Baseline)
FRACTIONS = (1.0, 0.75, 0.5, 0.25, 0.1)
"""How far from the baseline towards the plan."""
BISECTIONS = 20


def safe(problem: Problem, belief: Belief, plan: Plan, tau: float, baseline: Baseline = "idle") -> Plan:
    """The boldest controller between the baseline and `plan` whose certified worst cost is within (1+τ) × its.

    A baseline whose own worst case cannot be certified is run as it is, without excitation, and the plan says so.
    """
    if not (math.isfinite(tau) and tau >= 0.0):
        raise InvalidInput("safe", f"is {tau}", "give a finite number, at least 0: 0.1 allows a tenth more cost")
    base = baseline_gains(problem, baseline)
    own = worst_cost(problem, belief, base)
    if not math.isfinite(own):
        note = f"the worst case of the baseline {baseline!r} cannot be certified over this belief: it runs unexcited"
        return _run(problem, plan, base, 0.0, None, True, note)
    limit = (1.0 + tau) * own
    for fraction, excitation in _candidates(plan):
        gains = base + fraction * (plan.gains - base)
        if upper_bound(problem, belief, gains, excitation) > limit:  # cheap, and mostly what fails
            continue
        worst = worst_cost(problem, belief, gains, excitation)
        if worst <= limit:
            if fraction == 1.0 and excitation == plan.excitation:
                return replace(plan, upper_bound=worst)
            note = f"safe: {fraction:g} of the way from {baseline} to the plan, excitation {excitation:.4g}"
            return _run(problem, plan, gains, excitation, worst, False, note)
    excitation = _largest_excitation(problem, belief, base, plan.excitation, limit)
    worst = worst_cost(problem, belief, base, excitation)
    note = f"safe: nothing bolder than {baseline} is certified, excitation {excitation:.4g}"
    return _run(problem, plan, base, excitation, worst, False, note)


def baseline_gains(problem: Problem, baseline: Baseline) -> Array:
    """u = 0, or the optimal controller of the nominal model."""
    if baseline == "idle":
        return idle_gains(problem)
    if baseline == "nominal":
        return optimal_gains(problem, problem.nominal_A, problem.nominal_B)
    raise InvalidInput("baseline", f"is {baseline!r}", f"choose one of {', '.join(BASELINES)}")


def _candidates(plan: Plan) -> Iterator[tuple[float, float]]:
    """(fraction, excitation), the boldest first; less excitation is tried before smaller gains."""
    for fraction in FRACTIONS:
        for share in (1.0, 0.5, 0.25, 0.0) if plan.excitation > 0.0 else (0.0,):
            yield fraction, share * plan.excitation


def _largest_excitation(problem: Problem, belief: Belief, gains: Array, most: float, limit: float) -> float:
    """The most excitation, up to `most`, with which these gains stay certified; both bounds grow with it."""
    low, high = 0.0, most
    if worst_cost(problem, belief, gains, high) <= limit:
        return high
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if worst_cost(problem, belief, gains, middle) <= limit:
            low = middle
        else:
            high = middle
    return low


def _run(
    problem: Problem, plan: Plan, gains: Array, excitation: float, worst: float | None, failed: bool, note: str
) -> Plan:
    """`plan` with another controller: its value is the cost on the same model, its gap says nothing any more."""
    value = policy_cost(problem, *split(plan.Theta), gains, excitation=excitation)
    return replace(
        plan, gains=gains, excitation=excitation, value=value, upper_bound=worst, gap=None,
        failed=plan.failed or failed, note=note,
    )  # fmt: skip
