"""A planner and a release mechanism of one's own, for the tutorial own_planner.py: workers import them by name."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hushloop.learning.learner import Knowledge
from hushloop.learning.plan import Plan
from hushloop.lq import Problem, optimal_gains, policy_cost, split
from hushloop.privacy.mechanisms import Blocks, Key, Noise, NoiseSource
from hushloop.privacy.mechanisms.base import Memory, Step
from hushloop.privacy.release import Sums
from hushloop.privacy.sensitivity import NoiseScales

LOUDER = 2.0


def decaying(problem: Problem, knowledge: Knowledge, seed: int) -> Plan:
    """Greedy at the estimate, with an excitation that fades as releases come: the textbook's forced exploration."""
    Theta = knowledge.estimate.mean
    gains = optimal_gains(problem, *split(Theta))
    return Plan(gains, Theta, policy_cost(problem, *split(Theta), gains), excitation=0.5 * 0.6**knowledge.releases)


class Louder(Blocks):
    """Independent blocks with twice the noise that the budget asks for: what a margin of safety costs."""

    def draw(self, source: NoiseSource, key: Key, p: int, n: int, scales: NoiseScales) -> Noise:
        more = NoiseScales(LOUDER * scales.sigma_s, LOUDER * scales.sigma_c)
        return super().draw(source, key, p, n, more)

    def release(self, memory: Memory, sums: Sums, noise: Mapping[Key, Noise]) -> Step:
        return super().release(memory, sums, noise)._replace(factor=LOUDER)

    def weights(self, ends: tuple[int, ...]) -> np.ndarray:
        return LOUDER * super().weights(ends)
