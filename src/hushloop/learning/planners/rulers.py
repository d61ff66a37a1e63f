"""The two ends of every plot: the controller of the truth, and doing nothing."""

from __future__ import annotations

from ...lq import Plant, Problem, idle_gains
from ...lq.batch import policy_costs
from ..learner import Knowledge, Planner
from ..plan import Plan


def idle(problem: Problem, knowledge: Knowledge, seed: int) -> Plan:
    """u = 0."""
    gains = idle_gains(problem)
    mean = knowledge.estimate.mean
    return Plan(gains, mean, float(policy_costs(problem, mean[None], gains[None])[0, 0]))


def oracle(truth: Plant) -> Planner:
    """The true plant's controller: a ruler for simulations, and the only planner that may see the truth."""
    gains, cost = truth.optimal_gains, truth.optimal_cost

    def plan(problem: Problem, knowledge: Knowledge, seed: int) -> Plan:
        return Plan(gains, truth.Theta, cost)

    return plan
