"""Projected gradient descent of J* over an ellipsoid cut by a ball, from many starts, eight of them at a time.

Steps are spectral (Barzilai–Borwein) and taken in the ellipsoid's own coordinates V, where the feasible set is a unit
ball (cut by the prior's): a small belief, on which J* is nearly linear, is then solved in a few steps. A lane whose
start has converged takes the next start at once.
"""

from __future__ import annotations

import numpy as np

from .compiling import room_jit
from .optimistic_cost import eight_cost_gradients
from .optimistic_lanes import LANES, choose, load, root, splat, store
from .project_pair import project_pair

MEMORY = 4  # the line search compares with the worst of so many values, which lets spectral steps work
SUFFICIENT = 1e-4


def descent_workspace_size(n: int, d: int, horizon: int) -> int:
    """Lane vectors that one descent needs."""
    p = n + d
    return 7 * p * n + 12 + horizon * (2 * n * n + d * n) + n * p + d * d + 3 * n * n


@room_jit
def _project_lane(Y, lane, c, m, r, n):  # type: ignore[no-untyped-def]
    """Replace one lane of Y (p·n lanes) by its exact projection."""
    p = m.size
    bb, bc, cc = np.zeros(p), np.zeros(p), np.zeros(p)
    for i in range(p):
        for j in range(n):
            y = Y[(i * n + j) * LANES + lane]
            bb[i] += y * y
            bc[i] += y * c[i, j]
            cc[i] += c[i, j] * c[i, j]
    first, second, _ = project_pair(np.ones(p), m, bb, bc, cc, r)
    for i in range(p):
        D = 1.0 + first + second * m[i] * m[i]
        for j in range(n):
            k = (i * n + j) * LANES + lane
            Y[k] = (Y[k] - second * m[i] * c[i, j]) / D


@room_jit
def descend(  # type: ignore[no-untyped-def]
    C, E, m, c, r, cut, starts, Q, R, X1, W, horizon, n, d, tolerance, most, work, points, values
):
    """Fill points (count, p, n) and values (count,) from starts V (count, p, n), which must be feasible.

    Θ = C + EV with E = U·diag(m) (p, p); m the semi-axes; c = U'(Θ_c − Θ₀); r the ball's radius and `cut` whether it
    matters; Q, R, X1, W shared by all; a start has converged when two steps in a row promise less than `tolerance` × J;
    at most `most` evaluations a start; `work` is a lane array. Returns how often the eight lanes were evaluated.
    """
    p = n + d
    size = p * n
    V = work
    D = V[LANES * size :]
    G = D[LANES * size :]
    Y = G[LANES * size :]  # trial point, then the point to project
    T = Y[LANES * size :]
    GT = T[LANES * size :]
    GY = GT[LANES * size :]
    J = GY[LANES * size :]
    alpha, step, gd, accept = J[LANES:], J[2 * LANES :], J[3 * LANES :], J[4 * LANES :]
    ss, sy, norm, out = J[5 * LANES :], J[6 * LANES :], J[7 * LANES :], J[8 * LANES :]
    inner = J[12 * LANES :]
    count = starts.shape[0]
    owner = np.full(LANES, -1)
    taken = np.zeros(LANES, dtype=np.int64)
    hits = np.zeros(LANES, dtype=np.int64)
    current = np.zeros(LANES)
    past = np.zeros((LANES, MEMORY))
    zero, one = splat(0.0), splat(1.0)
    for i in range(size):
        store(D, i, zero)
        store(G, i, zero)
    waiting, running = 0, 0
    for k in range(LANES):
        for i in range(p):
            for j in range(n):
                V[(i * n + j) * LANES + k] = starts[min(waiting, count - 1), i, j]
        alpha[k] = 0.0
        gd[k] = 0.0
        step[k] = 0.0
        if waiting < count:
            owner[k] = waiting
            waiting += 1
            running += 1
    evaluations = 0
    while running > 0:
        for i in range(size):
            store(Y, i, load(V, i) + load(alpha, 0) * load(D, i))
        for i in range(p):
            for j in range(n):
                s = splat(C[i, j])
                for q in range(p):
                    s = s + splat(E[i, q]) * load(Y, q * n + j)
                store(T, i * n + j, s)
        eight_cost_gradients(T, GT, J, Q, R, X1, W, horizon, n, d, inner)
        evaluations += 1
        a, b, g2 = zero, zero, zero
        for q in range(p):
            for j in range(n):
                s = zero
                for i in range(p):
                    s = s + splat(E[i, q]) * load(GT, i * n + j)
                store(GY, q * n + j, s)
                moved = load(alpha, 0) * load(D, q * n + j)
                a = a + moved * moved
                b = b + moved * (s - load(G, q * n + j))
                g2 = g2 + s * s
        store(ss, 0, a)
        store(sy, 0, b)
        store(norm, 0, root(g2))
        for k in range(LANES):
            accept[k] = 0.0
            if owner[k] < 0:
                continue
            value = J[k]
            if taken[k] == 0:  # the start itself
                accept[k] = 1.0
                step[k] = 1.0 / max(norm[k], 1e-300)
                past[k] = value
            else:
                reference = past[k].max() + SUFFICIENT * alpha[k] * gd[k]
                if np.isfinite(value) and np.isfinite(norm[k]) and value <= reference:
                    accept[k] = 1.0
                    step[k] = ss[k] / sy[k] if sy[k] > 0.0 else 10.0 / max(norm[k], 1e-300)
                    past[k, taken[k] % MEMORY] = value
                else:
                    curve = value - current[k] - alpha[k] * gd[k]
                    following = -0.5 * alpha[k] * alpha[k] * gd[k] / curve if curve > 0.0 else 0.1 * alpha[k]
                    if not np.isfinite(following):
                        following = 0.0
                    alpha[k] = min(0.5 * alpha[k], max(0.1 * alpha[k], following))
            if accept[k] > 0.0:
                current[k] = value
            taken[k] += 1
        taken_lanes = load(accept, 0)
        size2, reach = zero, zero
        for i in range(size):
            v = choose(taken_lanes, load(Y, i), load(V, i))
            g = choose(taken_lanes, load(GY, i), load(G, i))
            store(V, i, v)
            store(G, i, g)
            y = v - load(step, 0) * g
            store(Y, i, y)
            size2 = size2 + y * y
        length = root(size2)
        shrink = choose(length - one, one / length, one)
        if cut:
            for i in range(p):
                for j in range(n):
                    e = splat(m[i]) * (shrink * load(Y, i * n + j)) + splat(c[i, j])
                    reach = reach + e * e
        store(out, 0, reach)
        for i in range(size):
            store(Y, i, choose(taken_lanes, shrink * load(Y, i), load(V, i)))
        if cut:
            for k in range(LANES):
                if accept[k] > 0.0 and out[k] > r * r:
                    for i in range(p):
                        for j in range(n):
                            at = (i * n + j) * LANES + k
                            Y[at] = V[at] - step[k] * G[at]
                    _project_lane(Y, k, c, m, r, n)
        s = zero
        for i in range(size):
            direction = choose(taken_lanes, load(Y, i) - load(V, i), load(D, i))
            store(D, i, direction)
            s = s + direction * load(G, i)
        store(out, 0, s)
        for k in range(LANES):
            if owner[k] < 0:
                continue
            done = taken[k] >= most
            if accept[k] > 0.0:
                gd[k] = out[k]
                alpha[k] = 1.0
                if not -gd[k] > tolerance * abs(current[k]):
                    hits[k] += 1
                else:
                    hits[k] = 0
                done = done or hits[k] >= 2 or not -gd[k] > 0.0
            else:
                done = done or alpha[k] < 1e-9
            if done:
                values[owner[k]] = current[k]
                for i in range(p):
                    for j in range(n):
                        at = (i * n + j) * LANES + k
                        points[owner[k], i, j] = V[at]
                        if waiting < count:
                            V[at] = starts[waiting, i, j]
                            D[at] = 0.0
                taken[k] = 0
                hits[k] = 0
                alpha[k] = 0.0
                if waiting < count:
                    owner[k] = waiting
                    waiting += 1
                else:
                    owner[k] = -1
                    running -= 1
    return evaluations
