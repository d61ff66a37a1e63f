"""The best strategy for prefix sums: lower triangular C with unit columns, least worst row of D = A·C⁻¹."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidInput

Array = NDArray[np.float64]
BITS = 16
"""Entries of C are whole multiples of 2⁻¹⁶."""
LARGEST = 200
GAP = 1e-4
"""The worst row is within this of a proven lower bound."""


@dataclass(frozen=True, eq=False)
class Factorisation:
    """A = D·C for the prefix sums A (T, T)."""

    units: NDArray[np.int64]  # C in units of 2⁻ᴮᴵᵀˢ, lower triangular
    D: Array

    @property
    def C(self) -> Array:
        return np.asarray(self.units * 2.0**-BITS, dtype=np.float64)

    @property
    def worst(self) -> float:
        """Standard deviation of the noisiest prefix at unit sensitivity and μ = 1."""
        return float(np.sqrt((self.D**2).sum(axis=1).max()))


@lru_cache(maxsize=16)
def factorise(releases: int) -> Factorisation:
    """The strategy for so many releases, from the user's cache where it is there and proves sound."""
    if isinstance(releases, bool) or not isinstance(releases, int) or not 1 <= releases <= LARGEST:
        raise InvalidInput("releases", f"is {releases!r}", f"give 1 to {LARGEST}: let the blocks grow faster")
    path = cache_folder() / f"factorised-{_address(releases)}.npy"
    units = _read(path, releases)
    if units is None:
        units = on_grid(optimal_strategy(releases)[0])
        _write(path, units)
    return Factorisation(units, decoder(np.asarray(units * 2.0**-BITS, dtype=np.float64)))


def optimal_strategy(releases: int, gap: float = GAP) -> tuple[Array, float]:
    """(C, lower bound of the worst row): the factorisation norm γ₂ of A and a strategy that attains it to `gap`.

    γ₂(A) = max over unit a, b ≥ 0 of the nuclear norm of diag(a)·A·diag(b), from below for every a and b. At the
    maximum a² and b² are the diagonals of P·S·P' and Q·S·Q' of its SVD, which is iterated; M = C'C = b⁻¹QSQ'b⁻¹.
    """
    A = np.tril(np.ones((releases, releases)))
    a = b = np.full(releases, releases**-0.5)
    best = 0.0
    for _ in range(2000):
        P, s, Qt = np.linalg.svd(a[:, None] * A * b)
        best = max(best, float(s.sum()))
        C = unit_columns(np.asarray((Qt.T * s) @ Qt / np.outer(b, b)))
        if np.linalg.norm(decoder(C), axis=1).max() <= best * (1 + gap):
            return C, best
        a, b = np.sqrt(P**2 @ s / s.sum()), np.sqrt(Qt.T**2 @ s / s.sum())
    raise RuntimeError(f"the strategy for {releases} releases did not converge")


def unit_columns(M: Array) -> Array:
    """Lower triangular C with unit columns and C'C = M up to the scale of its columns."""
    scale = np.sqrt(np.diag(M))
    L = np.linalg.cholesky((M / np.outer(scale, scale))[::-1, ::-1])
    return np.ascontiguousarray(L[::-1, ::-1].T)


def decoder(C: Array) -> Array:
    """D = A·C⁻¹ of the prefix sums A."""
    A = np.tril(np.ones_like(C))
    return np.tril(np.linalg.solve(C.T, A.T).T)


def on_grid(C: Array) -> NDArray[np.int64]:
    """C in units of 2⁻ᴮᴵᵀˢ, each entry toward zero, so that no column's norm exceeds 1."""
    units = np.trunc(np.tril(C) * (1.0 - 1e-12) * 2.0**BITS).astype(np.int64)
    if not sound(units):
        raise RuntimeError("a column of the strategy exceeds norm 1")
    return units


def sound(units: NDArray[np.int64]) -> bool:
    """Lower triangular, invertible, every column of norm at most 1: in whole numbers. All that privacy asks of C."""
    norms = [sum(int(v) ** 2 for v in column) for column in units.T]
    triangular = not np.triu(units, 1).any() and bool(np.diag(units).all())
    return triangular and max(norms) <= 1 << (2 * BITS)


def cache_folder() -> Path:
    """HUSHLOOP_CACHE, or hushloop under XDG_CACHE_HOME, or under ~/.cache."""
    if own := os.environ.get("HUSHLOOP_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hushloop"


def _address(releases: int) -> str:
    """Of everything that the result depends on."""
    return hashlib.sha256(f"prefix sums, worst row, v1, {releases}, {BITS}, {GAP}".encode()).hexdigest()[:24]


def _read(path: Path, releases: int) -> NDArray[np.int64] | None:
    """A cached strategy, if it is there, whole and sound; the guarantee never rests on the file."""
    try:
        units = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if units.dtype != np.int64 or units.shape != (releases, releases) or not sound(units):
        return None
    return np.asarray(units)


def _write(path: Path, units: NDArray[np.int64]) -> None:
    with contextlib.suppress(OSError):  # a read-only home costs a second each time and nothing else
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as out:
            np.save(out, units)
        os.replace(name, path)
