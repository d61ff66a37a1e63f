"""The truth: a `Problem` together with the A and B that only simulations and tests own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InvalidInput
from .problem import Array, Problem, finite, theta
from .riccati import Gains, idle_gains, optimal_cost, optimal_gains, policy_cost


@dataclass(frozen=True)
class Assumption:
    """One item of the paper's Assumption 1 and whether it holds here."""

    item: str
    holds: bool
    value: float
    bound: float


@dataclass(frozen=True, eq=False)
class Plant:
    """A true system. An uncontrollable one is refused unless its uncontrollable directions are stable and allowed."""

    problem: Problem
    A: Array  # (n, n)
    B: Array  # (n, d)
    allow_uncontrollable: bool = False

    def __post_init__(self) -> None:
        A, B = finite("A", self.A), finite("B", self.B)
        n, d = self.problem.n, self.problem.d
        if A.shape[0] != A.shape[1]:
            raise InvalidInput("A", f"has shape {A.shape}", "it must be square")
        if A.shape[0] != n:
            raise InvalidInput("A", f"has {A.shape[0]} rows", f"`Q` has {n}: give both the same")
        if B.shape[0] != n:
            raise InvalidInput("B", f"has {B.shape[0]} rows", f"give {n}, as many as `A`")
        if B.shape[1] != d:
            raise InvalidInput("B", f"has {B.shape[1]} columns", f"give {d}, as many as `R` has rows")
        object.__setattr__(self, "A", A)
        object.__setattr__(self, "B", B)
        with np.errstate(all="ignore"):
            overflows = not np.isfinite(np.abs(A).max() ** 2 + np.abs(B).max() ** 2) or self.optimal_cost == np.inf
        if overflows:
            raise InvalidInput(
                "A", "makes the optimal cost overflow", "rescale the states (see [units]) or shorten `horizon`"
            )
        directions = uncontrollable_modes(A, B)
        if directions:
            named = "; ".join(
                f"eigenvalue {complex_text(value)} along {np.round(v, 3).tolist()}" for value, v in directions
            )
            unstable = [value for value, _ in directions if abs(value) >= 1.0]
            if unstable:
                raise InvalidInput(
                    "B",
                    f"leaves an unstable direction uncontrollable ({named})",
                    "give the plant an input that reaches it",
                )
            if not self.allow_uncontrollable:
                raise InvalidInput(
                    "B",
                    f"leaves the plant uncontrollable ({named})",
                    "add an input that reaches these directions, or set `allow_uncontrollable = true`: they are stable",
                )

    @property
    def name(self) -> str:
        return self.problem.name

    @property
    def Theta(self) -> Array:
        """Θ* = [A, B]' (p, n)."""
        return theta(self.A, self.B)

    @property
    def spectral_radius(self) -> float:
        return float(np.abs(np.linalg.eigvals(self.A)).max())

    @property
    def optimal_cost(self) -> float:
        return optimal_cost(self.problem, self.A, self.B)

    @property
    def idle_cost(self) -> float:
        return self.cost(idle_gains(self.problem))

    @property
    def nominal_cost(self) -> float:
        """What the nominal model's controller costs on the truth."""
        return self.cost(optimal_gains(self.problem, self.problem.nominal_A, self.problem.nominal_B))

    @property
    def optimal_gains(self) -> Gains:
        return optimal_gains(self.problem, self.A, self.B)

    @staticmethod
    def from_statespace(system: Any, problem: Problem, allow_uncontrollable: bool = False) -> Plant:
        """The plant of a discrete-time `control.StateSpace` (python-control)."""
        from .interop import from_statespace

        return from_statespace(system, problem, allow_uncontrollable)

    def to_statespace(self) -> Any:
        """The plant as a `control.StateSpace` whose output is the state."""
        from .interop import to_statespace

        return to_statespace(self)

    def cost(self, K: Gains, excitation: float = 0.0, X1: Array | None = None) -> float:
        """Exact cost of a linear policy here (no clipping)."""
        return policy_cost(self.problem, self.A, self.B, K, X1, excitation)

    def check_assumptions(self) -> list[Assumption]:
        """The paper's Assumption 1 (a)–(e) and our prior, item by item. Reported, never required."""
        pr = self.problem
        norm_a, norm_b = float(np.linalg.norm(self.A, 2)), float(np.linalg.norm(self.B, 2))
        total = norm_a + pr.control_bound * norm_b + pr.disturbance_bound
        off = self.Theta - pr.nominal
        assert pr.operator_radius is not None
        below, at_most = np.nextafter(1.0, 0.0), 1.0

        def item(name: str, value: float, bound: float) -> Assumption:
            return Assumption(name, bool(value <= bound), float(value), float(bound))

        return [
            item("(a) ‖Θ*‖_F ≤ 1", float(np.linalg.norm(self.Theta)), at_most),
            item("(a) directions that no input reaches: 0", float(len(uncontrollable_modes(self.A, self.B))), 0.0),
            item("(b) ‖A‖ ≤ C_A < 1", norm_a, below),
            item("(b) ‖B‖ ≤ C_B < 1", norm_b, below),
            item("(c) ‖x₁‖ ≤ 1", pr.start.largest_norm, at_most),
            item("(d) ‖w‖ ≤ C_w < 1", pr.disturbance_bound, below),
            item("(e) C_A + γC_B + C_w ≤ 1", total, at_most),
            item("stable: ρ(A) < 1", self.spectral_radius, below),
            item("prior: ‖Θ* − Θ₀‖_F ≤ r₀", float(np.linalg.norm(off)), pr.radius),
            item("prior: ‖Θ* − Θ₀‖₂ ≤ r_op", float(np.linalg.norm(off, 2)), pr.operator_radius),
        ]


def uncontrollable_modes(A: Array, B: Array) -> list[tuple[complex, Array]]:
    """(eigenvalue, direction) of what no input reaches: v with v'B = 0 and v'A = λv', the real part of v named.

    The reachable space is grown from B by A with relative tolerances after balancing, so the units of states and
    inputs do not matter, and no eigenvalue has to be guessed first (a Hautus test misses defective ones).
    """
    scale = balancing(A, B)
    A, B = A * scale / scale[:, None], B / scale[:, None]
    reached = orthonormal(B / np.maximum(np.abs(B).max(axis=0), np.finfo(float).tiny))
    fresh = reached
    size = max(float(np.linalg.norm(A, 2)), np.finfo(float).tiny)
    while fresh.shape[1] and reached.shape[1] < A.shape[0]:
        step = A @ fresh / size
        for _ in range(2):  # twice is enough
            step = step - reached @ (reached.T @ step)
        fresh = orthonormal(step)
        reached = np.hstack([reached, fresh])
    if reached.shape[1] == A.shape[0]:
        return []
    rest = np.linalg.svd(reached, full_matrices=True)[0][:, reached.shape[1] :]
    values, left = np.linalg.eig((rest.T @ A @ rest).T)
    found = []
    for value, y in zip(values, left.T, strict=True):
        v = (rest @ y) / scale
        found.append((complex(value), np.real(v / v[int(np.argmax(np.abs(v)))])))
    return found


def orthonormal(X: Array, tolerance: float = 1e-10) -> Array:
    """A basis of the columns of X whose parts stand out from rounding."""
    if not X.size:
        return X[:, :0]
    U, singular, _ = np.linalg.svd(X, full_matrices=False)
    return np.ascontiguousarray(U[:, singular > tolerance])


def balancing(A: Array, B: Array) -> Array:
    """Powers of 2 (n,) for the states, so that each state drives others about as strongly as it is driven."""
    n = A.shape[0]
    scale = np.ones(n)
    off = np.abs(A - np.diag(np.diag(A)))
    inputs = np.abs(B)
    for _ in range(20):
        for i in range(n):
            columns = (inputs / scale[:, None]).max(axis=0)
            driven = float(np.sum(off[i] * scale) / scale[i])
            driven += float(np.sum(inputs[i] / scale[i] / np.where(columns > 0, columns, 1.0)))
            drives = float(np.sum(off[:, i] / scale) * scale[i])
            if driven > 0:
                ratio = driven / drives if drives > 0 else driven**2
                scale[i] *= 2.0 ** np.clip(np.round(np.log2(ratio) / 2.0), -60, 60)
    return scale


def complex_text(value: complex) -> str:
    return f"{value.real:.4g}" if abs(value.imag) < 1e-12 else f"{value.real:.4g}{value.imag:+.4g}i"
