"""One cold optimistic plan, certified, on the 3-state Laplacian plant against the usual projected-gradient OFU.

n = d = 3, horizon 10, one core. The peer follows published code (robust-adaptive-lqr, `ofu.py`) in numpy: one start at
the estimate, the derivative of the cost taken entry by entry through the linearised recursion, fixed step 0.01,
projection onto the ellipsoid, at most 100 iterations, no certificate; here for the finite horizon. A second peer is
given the adjoint gradient and a line search. Beliefs: ellipsoids shaped like what episodes teach, and tilted ones.
"""

from __future__ import annotations

from collections.abc import Callable

from common import Claim, best, claim, show  # first: it sets the number of threads

# isort: split

import numpy as np

from hushloop.learning.belief import Belief
from hushloop.learning.planners.optimistic import STARTS, TOLERANCE, optimistic
from hushloop.lq import Disturbance, Problem, Start, cost_gradient, mean_sums, optimal_cost, riccati, split, theta

SIZES = (0.01, 0.05, 0.15)
STEP, ITERATIONS, RELATIVE = 0.01, 100, 1e-6


def laplacian(weight: float) -> tuple[Problem, np.ndarray]:
    """The problem with Q = weight·I, and its true Θ."""
    A = np.eye(3) + 0.01 * np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    problem = Problem(
        f"laplacian, Q = {weight:g} I", weight * np.eye(3), np.eye(3), 10, Start("fixed", np.full(3, 0.5)),
        Disturbance("sphere", 0.1, 3), control_bound=4.0, response_bound=3.0, radius=3.0,
    )  # fmt: skip
    return problem, theta(A, np.eye(3))


def beliefs(problem: Problem, truth: np.ndarray) -> list[Belief]:
    """Each size twice: axes as (E Σ zz')^{-1/2} under an excited controller, and axes tilted at random."""
    A, B = split(truth)
    S = mean_sums(problem, A, B, riccati(A, B, problem.Q, problem.R, problem.horizon).K, excitation=0.5)
    values, U = np.linalg.eigh(S)
    taught = (U / np.sqrt(values / values.max())) @ U.T
    rng = np.random.default_rng(0)
    out = []
    for size in SIZES:
        V = np.linalg.qr(rng.normal(size=(6, 6)))[0]
        for shape in (taught, (V * np.exp(0.5 * rng.normal(size=6))) @ V.T):
            off = rng.normal(size=truth.shape)
            center = truth + 0.5 * size * (shape @ off) / np.linalg.norm(off)
            out.append(Belief(center, size * shape, problem.nominal, problem.prior_radius))
    return out


def entrywise_gradient(problem: Problem, Theta: np.ndarray) -> np.ndarray:
    """∂J*/∂Θ, one linearised recursion an entry."""
    A, B = split(Theta)
    solution = riccati(A, B, problem.Q, problem.R, problem.horizon)
    out = np.zeros_like(Theta)
    X1, W, n = problem.X1, problem.W, problem.n
    for i, j in np.ndindex(Theta.shape):
        direction = np.zeros((n, problem.p))
        direction[j, i] = 1.0
        D, total = np.zeros((n, n)), 0.0
        for h in range(problem.horizon - 1, -1, -1):
            total += float(np.sum(D * W))
            K, P = solution.K[h], solution.P[h + 1]
            L = A + B @ K
            half = L.T @ P @ direction @ np.vstack([np.eye(n), K])
            D = L.T @ D @ L + half + half.T
        out[i, j] = total + float(np.sum(D * X1))
    return out


def project(belief: Belief, Theta: np.ndarray) -> np.ndarray:
    """Onto the ellipsoid, by Newton on its one multiplier."""
    m, U = np.linalg.eigh(belief.shape)
    off = U.T @ (Theta - belief.center)
    if np.sum((off / m[:, None]) ** 2) <= 1.0:
        return Theta
    rows, multiplier = np.sum(off**2, axis=1), 0.0
    for _ in range(60):
        D = m**2 + multiplier
        level = float(np.sum(m**2 * rows / D**2))
        step = level / float(np.sum(m**2 * rows / D**3)) * (np.sqrt(level) - 1.0)
        multiplier += step
        if step <= 1e-13 * multiplier:
            break
    return np.asarray(belief.center + U @ ((m**2 / (m**2 + multiplier))[:, None] * off))


def usual(problem: Problem, belief: Belief) -> float:
    """The value that the published way reaches."""
    Theta = belief.center
    value = optimal_cost(problem, *split(Theta))
    for _ in range(ITERATIONS):
        following = project(belief, Theta - STEP * entrywise_gradient(problem, Theta))
        there = optimal_cost(problem, *split(following))
        if abs(value - there) <= RELATIVE * value:
            break
        Theta, value = following, there
    return value


def kinder(problem: Problem, belief: Belief) -> float:
    """The same with the adjoint gradient and a step that grows and shrinks."""
    Theta, step = belief.center, STEP
    value, gradient = cost_gradient(problem, *split(Theta))
    for _ in range(ITERATIONS):
        following = project(belief, Theta - step * gradient)
        there, fresh = cost_gradient(problem, *split(following))
        if there > value:
            step *= 0.5
            continue
        done = value - there <= RELATIVE * value
        Theta, value, gradient, step = following, there, fresh, 2.0 * step
        if done:
            break
    return value


def fresh(belief: Belief) -> Belief:
    """Nothing prepared: a cold plan starts from the four values."""
    return Belief(belief.center, belief.shape, belief.ball_center, belief.ball_radius)


def main() -> list[Claim]:
    problems = [laplacian(weight) for weight in (10.0, 1.0)]
    cases = [(problem, belief) for problem, truth in problems for belief in beliefs(problem, truth)]
    plans = [optimistic(problem, belief) for problem, belief in cases]

    def seconds(work: Callable[[Problem, Belief], object], least: float) -> list[float]:
        return [best(lambda case=case: work(case[0], fresh(case[1])), 3, least) for case in cases]

    def without_certificate(problem: Problem, belief: Belief) -> object:
        return optimistic(problem, belief, certify=False)

    ours = seconds(optimistic, 0.02)
    bare = seconds(without_certificate, 0.02)
    replan = [
        best(lambda c=c, p=p: optimistic(c[0], fresh(c[1]), p.Theta, starts=8, certify=False), 3, 0.02)
        for c, p in zip(cases, plans, strict=True)
    ]
    gaps = [(plan.gap or 0.0) / plan.value for plan in plans]
    what = f"one cold optimistic plan, laplacian H=10, {STARTS} starts to convergence, certified"
    cost = f"{1e3 * np.mean(ours):.2f} ms ({1e3 * min(ours):.2f}–{1e3 * max(ours):.2f}), {len(cases)} beliefs"
    out = []
    for name, peer, target in (
        ("projected-gradient OFU as published (numpy, 1 start, entrywise derivatives, no certificate)", usual, 50.0),
        ("the same with adjoint gradients and a line search", kinder, None),
    ):
        times = seconds(peer, 0.0)
        values = [peer(problem, belief) for problem, belief in cases]
        worst = min(value / plan.value for value, plan in zip(values, plans, strict=True))
        better = worst >= 1.0 - TOLERANCE
        least = min(t / o for t, o in zip(times, ours, strict=True))
        ratio = sum(times) / sum(ours) if better else 0.0
        theirs = f"{1e3 * np.mean(times):.1f} ms; {least:.3g} times ours where it is fastest"
        out.append(claim(f"{what}, against {name}", cost, theirs, ratio, target))
        text = f"value of that plan against {name.split(' (')[0]}; least peer/ours, 1 is equal"
        out.append(claim(text, "J*(Θ̃)", "its value", worst, 1.0 - TOLERANCE))
    text = "certificate: (J*(Θ̃) − D)/J*(Θ̃) at most 2 % on every belief; 2 % over the largest"
    out.append(claim(text, f"largest gap {100 * max(gaps):.2f} %", "2 %", 0.02 / max(gaps), 1.0))
    text = "cost of the certificate: cold plan with it over the same without"
    out.append(
        claim(
            text, f"{1e3 * np.mean(ours):.2f} ms", f"{1e3 * np.mean(bare):.2f} ms", np.mean(ours) / np.mean(bare), None
        )
    )
    text = "warm re-plan, 8 starts and the mirrored, not certified, over a cold one"
    out.append(claim(text, f"{1e3 * np.mean(replan):.2f} ms", cost, np.mean(ours) / np.mean(replan), None))
    return out


if __name__ == "__main__":
    show(main())
