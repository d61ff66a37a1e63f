"""How kernels are compiled: strict arithmetic, no interpreter lock, cached on disk until one of the sources changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

lane_jit = njit(nogil=True, error_model="numpy", forceinline=True)
"""For what is inlined into a kernel; it is cached there alone."""


def room_jit(function: Callable[..., Any]) -> Any:
    """Compile and cache a kernel.

    Numba's cache looks at the kernel's own file, but what is inlined comes from other files of this room: a change in
    any of them must make it stale.
    """
    compiled = njit(cache=True, nogil=True, error_model="numpy")(function)
    cache = compiled._cache._cache_file
    cache._source_stamp = (cache._source_stamp, _FINGERPRINT)
    return compiled


def fingerprint(folder: Path) -> str:
    """A digest of the sources in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_FINGERPRINT = fingerprint(Path(__file__).parent)
