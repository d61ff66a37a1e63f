"""What a recorded fleet must have led to: exact sums a block, the noise in each release, and an agent of the same."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushloop.agent import Agent
from hushloop.device import Report
from hushloop.device.report import GRID
from hushloop.lq import gallery
from hushloop.privacy.budget import Budget
from hushloop.privacy.mechanisms.base import sums_of
from hushloop.privacy.noise import Pair
from hushloop.privacy.sensitivity import NoiseScales
from hushloop.profiles import PROFILES, build
from hushloop.service.block import whole_array

BUDGET = Budget(1.0, 1e-6)


def recorded(path: Path) -> dict[str, list[Report]]:
    """Accepted reports by their assignment, in the order in which they were accepted."""
    out: dict[str, list[Report]] = {}
    for line in path.read_text().splitlines():
        report = Report.from_json(line)
        out.setdefault(report.assignment_id, []).append(report)
    return out


def noise_in(release: dict[str, Any], reports: Iterable[Report]) -> Pair:
    """(N, L) in grid units: what was released, less the replayed sums. Exact: all of it is below 2⁵³."""
    reports = list(reports)
    S = sum((r.S.astype(object) for r in reports), whole_array([0] * 6))
    C = sum((r.C.astype(object) for r in reports), whole_array([0] * 6))
    square, cross = sums_of(S, C, 3, 2)
    released = [whole_array([int(v / GRID) for v in np.array(release[k]).ravel()]) for k in ("T1", "T2")]
    assert max(abs(v) for part in released for v in part) < 2**53
    return released[0].reshape(3, 3) - square, released[1].reshape(3, 2) - cross


def scores(release: dict[str, Any], noise: Pair) -> list[float]:
    """The noise of each independent entry over its declared scale."""
    N, L = (part.astype(float) * GRID for part in noise)
    upper = [(i, j) for i in range(3) for j in range(i, 3)]
    S = [N[i, j] / (release["sigma_s"] * (1.0 if i == j else math.sqrt(0.5))) for i, j in upper]
    return S + list((L / release["sigma_c"]).ravel())


def assert_standard_normal(values: list[float], alarm: float = 1e-7) -> None:
    """Mean and variance of independent standard normals, each two-sided at `alarm` (normal and χ², exact)."""
    from scipy.special import chdtri, ndtri

    z, n = np.array(values), len(values)
    assert abs(float(z.mean())) * math.sqrt(n) < -float(ndtri(alarm / 2)), f"mean {z.mean():.3f} of {n}"
    low, high = float(chdtri(n, 1 - alarm / 2)), float(chdtri(n, alarm / 2))
    assert low < float(z @ z) < high, f"{float(z @ z):.1f} is not between {low:.1f} and {high:.1f}"


@dataclass
class Known:
    """A noise source that gives back the noise of a service's releases, block by block."""

    pairs: list[Pair] = field(default_factory=list)
    name = "known"
    description = "noise that was released already: for tests"
    grid = True

    def draw(self, p: int, n: int, scales: NoiseScales, index: int, isotropic: bool = True) -> Pair:
        if index < len(self.pairs):
            return self.pairs[index]
        zero: NDArray[Any] = np.zeros((p, p), dtype=object)
        return zero, np.zeros((p, n), dtype=object)


def replay(releases: list[dict[str, Any]], reports: dict[str, list[Report]], first: int | None) -> Agent:
    """The agent after the same reports and the same noise, every collection on the way compared."""
    pairs = [noise_in(release, reports[release["assignment_id"]]) for release in releases]
    agent = build(gallery.get("toy").problem, PROFILES["refined"].with_(first=first), BUDGET, source=Known(pairs))
    for release in releases:
        collection = json.loads(json.dumps(agent.assignment().to_dict()["collection"]))
        assert {key: release["collection"][key] for key in collection if key != "scale_bits"} == {
            key: value for key, value in collection.items() if key != "scale_bits"
        }
        for report in reports[release["assignment_id"]]:
            assert agent.receive(Report(report.S, report.C, agent.assignment_id, report.report_id))
        assert agent.release is not None
        assert agent.release.T1.tolist() == release["T1"]
        assert agent.release.T2.tolist() == release["T2"]
    return agent
