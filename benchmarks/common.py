"""Shared by the benchmark scripts: one BLAS thread, best of several, and one way to print."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TypedDict

for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy is imported
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")


class Claim(TypedDict):
    """One measured claim: `ratio` is how many times better than the peer, `holds` looks at it alone."""

    claim: str
    ours: str
    peer: str
    ratio: float
    target: float | None
    holds: bool


def best(work: Callable[[], Any], rounds: int = 7, least: float = 0.05) -> float:
    """Seconds of a call: the fastest of `rounds` runs of as many calls as fill `least` seconds, once warm."""
    work()
    begin = time.perf_counter()
    work()
    calls = max(1, int(least / max(time.perf_counter() - begin, 1e-9)))
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            work()
        found.append((time.perf_counter() - begin) / calls)
    return min(found)


def best_of_each(works: dict[str, Callable[[], Any]], rounds: int = 5) -> dict[str, float]:
    """The best time of each, measured in turn so that a busy moment of the machine meets all of them."""
    times = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            times[name] = min(times[name], best(work, 2))
    return times


def claim(text: str, ours: str, peer: str, ratio: float, target: float | None) -> Claim:
    """A claim whose ratio should reach the target; without a target it is only shown."""
    return {
        "claim": text, "ours": ours, "peer": peer, "ratio": round(float(ratio), 3), "target": target,
        "holds": target is None or bool(ratio >= target),
    }  # fmt: skip


def missing(text: str, peer: str, target: float | None) -> Claim:
    """A claim that could not be measured: it does not hold."""
    return {"claim": text, "ours": "not measured", "peer": peer, "ratio": 0.0, "target": target, "holds": False}


def show(claims: list[Claim]) -> None:
    """JSON with --json, otherwise a table."""
    if "--json" in sys.argv[1:]:
        print(json.dumps(claims, indent=1))
        return
    for one in claims:
        print(f"{'holds' if one['holds'] else 'FAILS':6} {ratio_text(one):22} {one['claim']}")
        print(f"{'':29} ours: {one['ours']}; peer: {one['peer']}")


def ratio_text(one: Claim) -> str:
    return f"{one['ratio']:.3g}×" + ("" if one["target"] is None else f" (target {one['target']:g}×)")
