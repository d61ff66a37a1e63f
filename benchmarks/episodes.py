"""Simulated steps per second with exact sums of every report, against a scalar loop in numba with numpy's generator.

n = 2 states, d = 1 input, horizon 5, one core. Both run the same controller with excitation and clip, the same energy
budget, recentring and response clip, sum S and C on the grid, and sum the cost. Neither runs a comparator.
"""

from __future__ import annotations

import math

from common import Claim, best_of_each, claim, show  # first: it sets the number of threads

# isort: split

import numpy as np
from numba import njit

from hushloop.kernels.episodes import Law, episodes
from hushloop.kernels.reference_riccati import gains

USERS, HORIZON = 100_000, 5
A, B = np.array([[0.45, 0.2], [0.0, 0.4]]), np.array([[0.1], [0.25]])
Q, R = np.eye(2), 0.1 * np.eye(1)
START = np.array([0.6, 0.8])
K = np.ascontiguousarray(gains(np.vstack([A.T, B.T])[None], Q, R, HORIZON)[0])
CENTER, SHAPE = 0.8 * np.vstack([A.T, B.T]), 0.7 * np.eye(3)
CLIP, EXCITATION, ENERGY, NOISE, CEILING = 1.5, 0.2, 3.0, 0.1, 1.0


@njit(error_model="numpy", nogil=True)
def scalar_loop(rng, users, A, B, Q, R, K, start, a, clip, center, M, energy, noise, ceiling, S, C):
    """One user after the other, small arrays, nothing clever."""
    horizon, d, n = K.shape
    p = n + d
    z, x, after, y = np.zeros(p), np.zeros(n), np.zeros(n), np.zeros(n)
    s, c = np.zeros((p, p)), np.zeros((p, n))
    cost = 0.0
    for _ in range(users):
        s[:] = 0.0
        c[:] = 0.0
        x[:] = start
        spent, w = 0.0, 1.0
        for h in range(horizon):
            square = 0.0
            for i in range(n):
                z[i] = x[i]
            for i in range(d):
                u = a if rng.random() < 0.5 else -a
                for j in range(n):
                    u += K[h, i, j] * x[j]
                z[n + i] = u
                square += u * u
            if math.sqrt(square) > clip:
                for i in range(d):
                    z[n + i] *= clip / math.sqrt(square)
            angle = 2.0 * math.pi * rng.random()
            after[0], after[1] = noise * math.cos(angle), noise * math.sin(angle)
            for i in range(n):
                for j in range(n):
                    after[i] += A[i, j] * x[j]
                    cost += Q[i, j] * x[i] * x[j]
                for j in range(d):
                    after[i] += B[i, j] * z[n + j]
            for i in range(d):
                for j in range(d):
                    cost += R[i, j] * z[n + i] * z[n + j]
            size, reach, norm = 0.0, 0.0, 0.0
            for i in range(p):
                size += z[i] * z[i]
                entry = 0.0
                for j in range(p):
                    entry += M[i, j] * z[j]
                reach += entry * entry
            if w == 1.0 and size > 0.0:
                w = max(0.0, min(1.0, (energy - spent) / size))
                spent += size
                for j in range(n):
                    y[j] = after[j]
                    for i in range(p):
                        y[j] -= center[i, j] * z[i]
                    norm += y[j] * y[j]
                limit = min(math.sqrt(reach) + noise, ceiling)
                norm = math.sqrt(norm)
                if norm > limit:
                    for j in range(n):
                        y[j] *= limit / norm
                for i in range(p):
                    for k in range(i, p):
                        s[i, k] += w * z[i] * z[k]
                    for j in range(n):
                        c[i, j] += w * z[i] * y[j]
            x[:] = after
        for i in range(p):
            for k in range(i, p):
                S[i, k] += np.int64(s[i, k] * 2.0**30)
            for j in range(n):
                C[i, j] += np.int64(c[i, j] * 2.0**30)
    return cost


def measure() -> list[Claim]:
    rng = np.random.default_rng(0)

    def ours(threads: int = 1):
        return episodes(
            1, 0, USERS, A=A, B=B, Q=Q, R=R, gains=K, control_bound=CLIP, excitation=EXCITATION, center=CENTER,
            shape=SHAPE, energy=ENERGY, disturbance_bound=NOISE, response_bound=CEILING,
            disturbance=Law("sphere", NOISE), start=Law("fixed", center=START), threads=threads,
        )  # fmt: skip

    def peer():
        S, C = np.zeros((3, 3), dtype=np.int64), np.zeros((3, 2), dtype=np.int64)
        given = (K, START, EXCITATION, CLIP, CENTER, SHAPE, ENERGY, NOISE, CEILING, S, C)
        return scalar_loop(rng, USERS, A, B, Q, R, *given), S, C

    same_work(ours(), peer())
    times = best_of_each({"ours": ours, "peer": peer})
    rates = {name: USERS * HORIZON / seconds / 1e6 for name, seconds in times.items()}
    one, two = ours(1), ours(2)
    same = one.cost == two.cost and (one.S == two.S).all() and (one.C == two.C).all()
    return [
        claim(
            "simulated steps with exact sums, n=2, d=1, one core, against a scalar numba loop",
            f"{rates['ours']:.1f} million steps/s", f"{rates['peer']:.1f} million steps/s",
            rates["ours"] / rates["peer"], 2.0,
        ),
        claim(
            "the same bits on 2 threads as on 1 (1 means every bit)",
            "2 threads", "1 thread", 1.0 if same else 0.0, 1.0,
        ),
    ]  # fmt: skip


def same_work(ours, peer) -> None:
    """The two agree in the mean, to 6 standard errors or so: they did the same work."""
    cost, S, C = peer
    assert abs(cost - ours.cost) / USERS < 0.01
    np.testing.assert_allclose(S[np.triu_indices(3)] / USERS, ours.S.astype(float) / USERS, atol=0.01 * 2**30)
    np.testing.assert_allclose(C.ravel() / USERS, ours.C.astype(float) / USERS, atol=0.01 * 2**30)


if __name__ == "__main__":
    show(measure())
