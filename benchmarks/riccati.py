"""Value and gradient of J* together, for 1024 systems at once, against peers that compute the value alone.

n = 4 states, d = 2 inputs, horizon 20, one core. Peers: the Riccati recursion batched in numpy, JAX's vmap of it (and
its value_and_grad beside it), and a loop over python-control's `dlqr`, which solves the infinite horizon.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from common import Claim, best_of_each, claim, missing, show  # first: it sets the number of threads

# isort: split

import numpy as np

from hushloop.kernels import riccati

COUNT, N, D, HORIZON = 1024, 4, 2, 20
Q, R, X1, W = np.eye(N), 0.1 * np.eye(D), np.eye(N) / N, 0.01 * np.eye(N)


def systems() -> np.ndarray:
    """Random Θ = [A, B]' with ρ(A) below 1."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(COUNT, N, N))
    A *= 0.9 / np.abs(np.linalg.eigvals(A)).max(axis=1)[:, None, None]
    B = rng.normal(size=(COUNT, N, D))
    return np.ascontiguousarray(np.swapaxes(np.concatenate([A, B], axis=2), 1, 2))


def numpy_values(A: np.ndarray, B: np.ndarray, solve: Callable[..., np.ndarray] = np.linalg.solve) -> np.ndarray:
    """The value alone; what can be transposed beforehand is."""
    At, Bt = np.ascontiguousarray(np.swapaxes(A, 1, 2)), np.ascontiguousarray(np.swapaxes(B, 1, 2))
    P, total = np.zeros_like(A), np.zeros(len(A))
    for _ in range(HORIZON):
        total += np.einsum("cij,ij->c", P, W)
        PA, PB = P @ A, P @ B
        F = Bt @ PA
        P = Q + At @ PA - np.swapaxes(F, 1, 2) @ solve(R + Bt @ PB, F)
    return total + np.einsum("cij,ij->c", P, X1)


def solve_two(M: np.ndarray, F: np.ndarray) -> np.ndarray:
    """M⁻¹F of symmetric 2×2 matrices in closed form: twice as fast as LAPACK in a loop, and good for d = 2 alone."""
    inverse = np.empty_like(M)
    inverse[:, 0, 0], inverse[:, 1, 1] = M[:, 1, 1], M[:, 0, 0]
    inverse[:, 0, 1] = inverse[:, 1, 0] = -M[:, 0, 1]
    inverse /= (M[:, 0, 0] * M[:, 1, 1] - M[:, 0, 1] ** 2)[:, None, None]
    return inverse @ F


def jax_works(A: np.ndarray, B: np.ndarray) -> dict[str, object]:
    """vmap of the value, and of the value with its gradient, in float64; empty without jax."""
    try:
        import jax
    except ImportError:
        return {}
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    jnp = jax.numpy

    def value(a, b):
        def step(P, _):
            PA, PB = P @ a, P @ b
            F = b.T @ PA
            after = Q + a.T @ PA - F.T @ jnp.linalg.solve(R + b.T @ PB, F)
            return after, jnp.sum(P * W)

        P, traces = jax.lax.scan(step, jnp.zeros((N, N)), None, length=HORIZON)
        return jnp.sum(P * X1) + traces.sum()

    a, b = jnp.asarray(A), jnp.asarray(B)
    values = jax.jit(jax.vmap(value))
    both = jax.jit(jax.vmap(jax.value_and_grad(value, argnums=(0, 1))))
    np.testing.assert_allclose(np.asarray(values(a, b)), numpy_values(A, B), rtol=1e-9)
    return {
        "jax": lambda: values(a, b).block_until_ready(),
        "jax both": lambda: jax.block_until_ready(both(a, b)),
    }


def control_works(A: np.ndarray, B: np.ndarray) -> dict[str, object]:
    try:
        import control
    except ImportError:
        return {}
    return {"control": lambda: [control.dlqr(a, b, Q, R) for a, b in zip(A[:32], B[:32], strict=True)]}


def measure() -> list[Claim]:
    Theta = systems()
    A = np.ascontiguousarray(np.swapaxes(Theta[:, :N], 1, 2))
    B = np.ascontiguousarray(np.swapaxes(Theta[:, N:], 1, 2))
    J, _ = riccati.value_and_gradient(Theta, Q, R, X1, W, HORIZON)
    np.testing.assert_allclose(J, numpy_values(A, B), rtol=1e-9)
    times = best_of_each(
        {
            "ours": lambda: riccati.value_and_gradient(Theta, Q, R, X1, W, HORIZON),
            "numpy": lambda: numpy_values(A, B),
            "numpy two": lambda: numpy_values(A, B, solve_two),
            **jax_works(A, B),
            **control_works(A, B),
        }
    )
    each = {name: seconds / (32 if name == "control" else COUNT) * 1e6 for name, seconds in times.items()}
    ours = f"value + gradient {each['ours']:.2f} µs a system"
    claims = []
    for name, what, target in (
        ("numpy", "numpy, batched, value alone", 4.0),
        ("numpy two", "the same with 2×2 inverses in closed form", None),
        ("jax", "JAX vmap, value alone", 6.0),
        ("jax both", "JAX vmap, value and gradient", None),
        ("control", "python-control dlqr, infinite horizon, gain alone", None),
    ):
        text = f"J* and its gradient, n=4, d=2, H=20, 1024 at once, against {what}"
        if name in each:
            claims.append(claim(text, ours, f"{each[name]:.2f} µs a system", each[name] / each["ours"], target))
        else:
            package = "control" if name == "control" else "jax"
            print(f"{package} is not installed, so one claim is not measured: pip install {package}", file=sys.stderr)
            claims.append(missing(text, f"{package} is not installed", target))
    return claims


if __name__ == "__main__":
    show(measure())
