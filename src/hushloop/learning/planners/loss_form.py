"""What an error in Θ costs: the second-order loss of the controller made for Θ + D when the truth is Θ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...lq import Problem
from ..belief import Array


@dataclass(frozen=True, eq=False)
class LossForm:
    """For many models at once (leading axis m): the loss form summed over columns, and excitation's price."""

    form: Array  # Σ_j 𝓗_jj (m, p, p): loss ≈ tr(form · Cov) for errors with covariance Cov in each column
    price: Array  # Σ_h tr(R + B'P_{h+1}B) (m,): the cost of excitation of variance 1 in each input
    gains: Array  # K (m, H, d, n)
    value: Array  # J* (m,)


def loss_forms(problem: Problem, Thetas: Array) -> LossForm:
    """Σ_h tr(M_h dK_h X_h dK_h') along every entry of Θ, by the exact derivative of the Riccati recursion."""
    m, p, n = Thetas.shape
    d, H = problem.d, problem.horizon
    A, B = Thetas[:, :n].swapaxes(1, 2), Thetas[:, n:].swapaxes(1, 2)
    P = np.zeros((m, n, n))
    dP = np.zeros((m, p, n, n, n))  # along entry (i, j) of Θ
    Ks, Ms, dKs = np.zeros((H, m, d, n)), np.zeros((H, m, d, d)), np.zeros((H, m, p, n, d, n))
    Ls = np.zeros((H, m, n, n))
    value, price = np.zeros(m), np.zeros(m)
    for h in range(H - 1, -1, -1):
        value += np.einsum("mij,ij->m", P, problem.W)
        PB = P @ B
        M = problem.R + B.swapaxes(1, 2) @ PB
        K = -np.linalg.solve(M, PB.swapaxes(1, 2) @ A)
        L = A + B @ K
        PL = P @ L
        G = np.concatenate([np.broadcast_to(np.eye(n), (m, n, n)), K], axis=1)  # (m, p, n)
        # dL along (i, j) is e_j G_i', so P dL = P_j G_i' and dB'PL is the row (PL)_j at input i − n
        inner = np.einsum("mkl,mijln->mijkn", B.swapaxes(1, 2), dP @ L[:, None, None])
        inner += np.einsum("mjk,min->mijkn", PB, G)
        for k in range(d):
            inner[:, n + k, :, k, :] += PL
        Ks[h], Ms[h], Ls[h] = K, M, L
        dKs[h] = -np.linalg.solve(M[:, None, None], inner)
        LdP = L.swapaxes(1, 2)[:, None, None] @ dP @ L[:, None, None]
        cross = np.einsum("mia,mjb->mijab", G, PL)
        dP = LdP + cross + cross.swapaxes(3, 4)
        price += np.trace(M, axis1=1, axis2=2)
        P = problem.Q + A.swapaxes(1, 2) @ PL
        P = (P + P.swapaxes(1, 2)) / 2
    value += np.einsum("mij,ij->m", P, problem.X1)
    X = np.broadcast_to(problem.X1, (m, n, n))
    form = np.zeros((m, p, p))
    for h in range(H):
        weighted = np.einsum("mkl,mijln,mnq->mijkq", Ms[h], dKs[h], X)
        form += np.einsum("mijkq,mljkq->mil", weighted, dKs[h])
        X = Ls[h] @ X @ Ls[h].swapaxes(1, 2) + problem.W
    return LossForm(form, price, Ks.swapaxes(0, 1), value)
