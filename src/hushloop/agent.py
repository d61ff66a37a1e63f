"""The loop: a curator's mechanism and a learner, around anybody's plant. All that leaves it is made of releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .device import Assignment, Controller, Report
from .errors import HushloopError
from .learning.learner import Knowledge, Learner, Order
from .learning.wire import dump_knowledge, dump_order, load_knowledge, load_order
from .lq import Problem
from .lq.problem import Array
from .privacy.budget import Adjacency, Guarantee
from .privacy.mechanisms import Block, Mechanism
from .privacy.release import Release, Sums


class Agent:
    """Five lines around any loop: `assignment(x1)`, `assignment.control(h, x)`, `assignment.report(…)`, `receive`.

    Raw sums live in the mechanism's open block and nowhere else. When the block has its public number of reports it
    closes: one release, one step of the learner, the next order.
    """

    def __init__(self, problem: Problem, learner: Learner, mechanism: Mechanism, users: int | None = None) -> None:
        self.problem = problem
        self.learner = learner
        self.mechanism = mechanism
        self.users = users  # K, after which nothing more is learned
        self.knowledge: Knowledge = learner.start()
        self.order: Order = learner.order(self.knowledge)
        self.release: Release | None = None  # the latest that was learned from
        self._unlearned: Release | None = None
        self._open()

    @property
    def block(self) -> Block | None:
        """The open block; None when the last user has reported."""
        return self.mechanism.block

    @property
    def finished(self) -> bool:
        return self.users is not None and self.mechanism.total_users >= self.users

    @property
    def room(self) -> int:
        """Reports that the open block still takes. The curator's own business: not to be shown."""
        return 0 if self.block is None else self.block.users - self.block.count

    @property
    def assignment_id(self) -> str:
        return f"block-{self.mechanism.index}"

    def assignment(self, x1: Array | None = None) -> Assignment:
        """What the next user's device runs. `x1` matters to `paper` alone, which plans for each user's own start."""
        plan = self.order.plan
        if x1 is not None:
            plan = self.learner.plan_for(self.knowledge, self.order, x1)
        return Assignment(
            self.assignment_id, controller(self.problem, plan.gains, plan.excitation), self.order.collection
        )

    def receive(self, report: Report) -> bool:
        """Count one report; False where it was counted before. The report that fills the block closes it."""
        counted = self._block().add(report)
        self._close_when_full()
        return counted

    def receive_sums(self, sums: Sums) -> None:
        """Count many users at once, all of whom ran the present assignment (simulation)."""
        self._block().add_sums(sums)
        self._close_when_full()

    def close(self) -> Release | None:
        """End the open block now: at a public deadline, never because of what is in it."""
        release = self._unlearned = self._block().close()
        self._go_on()
        return release

    def guarantee(self, delta: float, adjacency: Adjacency) -> Guarantee:
        return self.mechanism.guarantee(delta, adjacency)

    def state(self) -> dict[str, Any]:
        """Everything at this very report, noise included, as plain values. As secret as the reports themselves."""
        if not self.finished:
            self._block()
        return {
            "mechanism": self.mechanism.state(),
            "knowledge": dump_knowledge(self.knowledge),
            "order": dump_order(self.order),
            "users": self.users,
        }

    @staticmethod
    def from_state(problem: Problem, learner: Learner, mechanism: Mechanism, state: Mapping[str, Any]) -> Agent:
        """Go on from `state()` with the same learner; `mechanism` is the one restored by `Mechanism.from_state`."""
        out = Agent.__new__(Agent)
        out.problem, out.learner, out.mechanism = problem, learner, mechanism
        out.users = state["users"]
        out.knowledge = load_knowledge(state["knowledge"])
        out.order = load_order(state["order"])
        out.release = out._unlearned = None
        return out

    def _go_on(self) -> None:
        """Learn from the release, if that is still to be done, and open the next block; can be tried again."""
        if self._unlearned is not None:
            self.knowledge = self.learner.learn(self.knowledge, self.order, self._unlearned)
            self.release, self._unlearned = self._unlearned, None
        if not self.finished:
            self.order = self.learner.order(self.knowledge)
            self._open()

    def _open(self) -> None:
        order = self.order
        self.mechanism.open(order.collection, order.users, order.scales, ids=(self.assignment_id,))

    def _block(self) -> Block:
        if self.mechanism.block is None:
            if self.finished:
                raise HushloopError(f"all {self.users} users have reported: nothing more is counted under this budget")
            self._go_on()
        assert self.mechanism.block is not None
        return self.mechanism.block

    def _close_when_full(self) -> None:
        if self._block().full:
            self.close()


def controller(problem: Problem, gains: Array, excitation: float = 0.0) -> Controller:
    """Gains with the problem's own limits."""
    return Controller(gains, problem.control_bound, excitation, problem.control_low, problem.control_high)
