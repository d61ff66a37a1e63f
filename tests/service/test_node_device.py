"""A device in another language: the same bits as ours, and a place beside ours on one server."""

from __future__ import annotations

import json
import math
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from served import Served

from hushloop.device import Assignment, Collection, Controller, make_report
from hushloop.lq import gallery
from hushloop.service.client import Device
from hushloop.service.store import open_store

EXAMPLES = Path(__file__).parents[2] / "examples"
DEVICE, VECTORS = EXAMPLES / "device.mjs", EXAMPLES / "wire_vectors.json"
NASTY = (0.0, -0.0, 5e-324, 1e-310, 1e-162, 1e-30, 1.0, -1.0, 3.7e3, 1.2e154, -1.3e154, 1e200, 1.7e308, math.inf)


def run(node: Path, *options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([node, DEVICE, *map(str, options)], capture_output=True, text=True, timeout=120)


def test_the_vectors_pass(node: Path) -> None:
    done = run(node, "--check", VECTORS)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"(\d+) of \1 cases agree to the last bit\n", done.stdout)


@pytest.mark.parametrize(("name", "at"), [("C", 0), ("S", -1), ("S", 0)])
def test_one_grid_unit_is_seen(node: Path, tmp_path: Path, name: str, at: int) -> None:
    """Also where a number is too large for a double to tell it from the next one."""
    document = json.loads(VECTORS.read_text())
    for number, case in enumerate(document["cases"]):
        if number % 4 == 0 or max(map(abs, case["report"]["S"])) > 2**53:
            case["report"][name][at] += 1
    wanted = sum(1 for n, c in enumerate(document["cases"]) if n % 4 == 0 or max(map(abs, c["report"]["S"])) > 2**53)
    (tmp_path / "wrong.json").write_text(json.dumps(document))
    done = run(node, "--check", tmp_path / "wrong.json")
    assert done.returncode == 1
    assert len(re.findall(rf"^case .*: {name}\[", done.stderr, re.M)) == wanted


def test_a_wrong_control_and_a_file_without_cases_are_seen(node: Path, tmp_path: Path) -> None:
    document = json.loads(VECTORS.read_text())
    case = document["cases"][-1]
    case["signs"][0][0] *= -1
    (tmp_path / "wrong.json").write_text(json.dumps({"cases": [case]}))
    done = run(node, "--check", tmp_path / "wrong.json")
    assert (done.returncode, "the control of step 0" in done.stderr) == (1, True)
    (tmp_path / "none.json").write_text('{"cases": []}')
    assert run(node, "--check", tmp_path / "none.json").returncode == 1
    assert run(node).returncode == 1


def random_case(rng: np.random.Generator) -> dict[str, Any]:
    """Any collection that is allowed, and any numbers whatever."""
    n, d, horizon = (int(rng.integers(1, k)) for k in (5, 4, 9))
    p = n + d
    half = rng.normal(size=(p, p)) * rng.choice([0.0, 1e-3, 0.3, 2.0])
    shape = half @ half.T if rng.random() < 0.7 else None
    if shape is not None:
        shape = (shape + shape.T) / 2
    bound = float(rng.choice([0.3, 1.0, 7.0])) if shape is None or rng.random() < 0.3 else None
    budget = float(rng.choice([0.01, 1.0])) if shape is not None and rng.random() < 0.5 else None
    root = rng.normal(size=(p, p))
    weighting = root @ root.T + 1e-3 * np.eye(p) if (bound or budget) and rng.random() < 0.5 else None
    if weighting is not None:
        weighting = (weighting + weighting.T) / 2
    collection = Collection(
        0, rng.choice([0.0, 0.4, 50.0]) * rng.normal(size=(p, n)), shape,
        float(rng.choice([2.0**-30, 1e-3, 0.7, 2.0, 16.25, 1e6])), float(rng.choice([0.0, 0.1])), bound, horizon,
        weighting, budget,
    )  # fmt: skip
    steps = int(rng.integers(1, horizon + 1))
    with np.errstate(all="ignore"):
        numbers = rng.normal(size=(steps + 1) * n + steps * d) * rng.choice([1.0, 1.0, 1.0, 1e-160, 1e-6, 1e6, 1e100])
    if rng.random() < 0.4:
        numbers[rng.random(numbers.size) < 0.3] = rng.choice(NASTY)
    states, controls = numbers[: (steps + 1) * n].reshape(-1, n), numbers[(steps + 1) * n :].reshape(-1, d)
    assignment = Assignment("a", Controller(np.zeros((horizon, d, n)), 1.0), collection)
    made = make_report(assignment, states, controls)
    return {
        "assignment": assignment.to_dict(),
        "trajectory": {"states": worded(states), "controls": worded(controls)},
        "report": {"S": made.S.tolist(), "C": made.C.tolist()},
    }


def worded(values: np.ndarray) -> list[list[Any]]:
    return [[v if math.isfinite(v) else "Infinity" for v in row] for row in values.tolist()]


def test_a_thousand_episodes_of_all_sizes_agree(node: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    cases = [random_case(rng) for _ in range(1000)]
    assert sum(any(case["report"]["S"]) for case in cases) > 400
    (tmp_path / "cases.json").write_text(json.dumps({"cases": cases}))
    done = run(node, "--check", tmp_path / "cases.json")
    assert done.returncode == 0, done.stderr[:2000]


def test_the_bound_of_the_responses_uses_the_largest_eigenvalue(node: Path) -> None:
    rng = np.random.default_rng(12)
    shapes = [half @ half.T for half in (rng.normal(size=(p, p)) for p in (1, 2, 3, 6, 9))]
    shapes += [np.zeros((3, 3)), np.eye(4), np.diag([1.0, 3.0])]
    script = f"import {{largestEigenvalue}} from '{DEVICE}';"
    script += f"console.log(JSON.stringify({json.dumps([s.tolist() for s in shapes])}.map(largestEigenvalue)))"
    done = subprocess.run([node, "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == pytest.approx([np.linalg.eigvalsh(s)[-1] for s in shapes], rel=1e-9, abs=1e-300)


def test_python_and_node_devices_on_one_server(node: Path, tmp_path: Path) -> None:
    """The open block's sums are those of the same trajectories summed here alone, to the last bit."""
    plant, rng = gallery.get("toy"), np.random.default_rng(3)

    def step(u: Any) -> Any:
        first = u is None
        step.x = np.array([0.6, 0.8]) if first else plant.A @ step.x + plant.B @ u  # type: ignore[attr-defined]
        step.x = step.x if first else step.x + plant.problem.disturbance.sample(1, rng)[0]  # type: ignore[attr-defined]
        return step.x  # type: ignore[attr-defined]

    reports = []
    with Served(tmp_path, "--first", 64) as server:
        tickets = server.tickets(12)
        assignment = Assignment.from_dict(server.get("/v1/assignment"))
        for k, ticket in enumerate(tickets):
            if k % 2:
                outcome = Device(server.url, ticket, tmp_path / f"outbox-{k}").run(step)
                assert outcome.status == "accepted"
                reports.append(make_report(assignment, outcome.states, outcome.controls))
                continue
            done = run(node, "--url", server.url, "--ticket", ticket, "--record", tmp_path / "episode.json")
            assert done.returncode == 0, done.stderr
            (case,) = json.loads((tmp_path / "episode.json").read_text())["cases"]
            assert Assignment.from_dict(case["assignment"]).to_dict() == assignment.to_dict()
            trajectory = case["trajectory"]
            reports.append(make_report(assignment, trajectory["states"], trajectory["controls"]))
            assert case["report"] == {"S": reports[-1].S.tolist(), "C": reports[-1].C.tolist()}
        spent = run(node, "--url", server.url, "--ticket", tickets[0])
        assert (spent.returncode, "410" in spent.stderr) == (1, True)
    store = open_store(f"sqlite:///{tmp_path}/hush.db")
    try:
        block = store.open_block()
    finally:
        store.close()
    assert block is not None
    assert block.reports == len(reports) == 12
    assert json.loads(block.sums) == [sum(int(v) for v in column) for column in zip(*map(whole, reports), strict=True)]


def whole(report: Any) -> list[int]:
    return [*report.S.tolist(), *report.C.tolist()]
