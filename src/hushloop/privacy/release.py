"""Exact sums of reports, which never leave the curator, and releases, which are all that does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..device import Collection, Report
from ..device.report import GRID

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sums:
    """Exact sums of many reports in grid units, as whole numbers without limit of size (object arrays of int)."""

    users: int
    S: NDArray[Any]  # upper triangle row by row, p(p+1)/2
    C: NDArray[Any]  # row by row, p·n

    @staticmethod
    def zero(p: int, n: int) -> Sums:
        return Sums(0, np.array([0] * (p * (p + 1) // 2), dtype=object), np.array([0] * (p * n), dtype=object))

    @staticmethod
    def of(report: Report) -> Sums:
        return Sums(1, report.S.astype(object), report.C.astype(object))

    def __add__(self, more: Sums) -> Sums:
        return Sums(self.users + more.users, self.S + more.S, self.C + more.C)

    def matrices(self, p: int, n: int) -> tuple[Array, Array]:
        """(S, C) as float matrices (p, p) and (p, n), each entry correctly rounded."""
        S = np.array([float(int(v)) * GRID for v in self.S])[upper_index(p)]
        return S, np.array([float(int(v)) * GRID for v in self.C]).reshape(p, n)


@cache
def upper_index(p: int) -> NDArray[np.intp]:
    """Where entry (i, j) lies in an upper triangle that is stored row by row."""
    out = np.zeros((p, p), dtype=np.intp)
    rows, columns = np.triu_indices(p)
    out[rows, columns] = out[columns, rows] = np.arange(rows.size)
    return out


@dataclass(frozen=True, eq=False)
class Release:
    """Noisy sums and everything needed to use them; whatever is computed from it is post-processing."""

    index: int  # 0, 1, …
    users: int  # users whose reports T1 and T2 sum up
    total_users: int  # users in closed blocks up to and with this one
    T1: Array  # (p, p) symmetric
    T2: Array  # (p, n)
    sigma_s: float  # standard deviation of the noise on a diagonal entry of T1
    sigma_c: float  # and on an entry of T2
    isotropic: bool  # off-diagonal noise on T1 has σ_S/√2; False: mirrored, σ_S everywhere
    collection: Collection
    kind: str  # "block": sums of one block alone; "prefix": of everybody so far
    fresh: bool = True  # noise independent of every other release
