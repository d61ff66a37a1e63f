"""Power cuts and kills: nothing acknowledged is lost or counted twice, sums and releases are those of a replay.

HUSHLOOP_TORTURE is how many of each (10); every run draws fresh seeds and prints them; HUSHLOOP_TORTURE_SEED takes one.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from powercut import PowerCut
from torture_rig import Rig

from hushloop.errors import HushloopError
from hushloop.service import faults

TRIALS = int(os.environ.get("HUSHLOOP_TORTURE", "10"))
MOST_EVENTS = 700
"""Writes and syncs of a run that is never cut."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3000),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),  # closing what lost its disk
]


def seeds(capsys: pytest.CaptureFixture[str], what: str, count: int) -> Iterator[int]:
    """Fresh seeds, printed past pytest's capture."""
    given = os.environ.get("HUSHLOOP_TORTURE_SEED")
    chosen = [int(given)] if given else [secrets.randbits(32) for _ in range(count)]
    line = f"{what}, seeds {' '.join(map(str, chosen))}"
    print(line)  # part of the report of a failure, in a worker process too
    with capsys.disabled():
        print(f"\n{line}")
    return iter(chosen)


def verdict(capsys: pytest.CaptureFixture[str], what: str, count: int, acknowledged: int, releases: int) -> None:
    with capsys.disabled():
        print(
            f"{count} {what}: 0 of {acknowledged} acknowledged reports lost, 0 counted twice, sums equal to a replay,"
            f" {releases} releases equal to what was published"
        )


def work_until_the_power_goes(rig: Rig, disk: PowerCut) -> None:
    """Groups of reports until the disk is dead."""
    try:
        rig.start(vfs=disk.name)
        rig.retry_unanswered()
        for _ in range(80):
            size = rig.rng.randint(1, 6)
            if len(rig.tickets) < size:
                rig.issue(20)
            rig.send([rig.new_report() for _ in range(size)])
    except (HushloopError, apsw.Error):
        if not disk.dead:  # it failed although the power was there
            raise
    finally:
        try:
            rig.stop()
        except (HushloopError, apsw.Error):
            if not disk.dead:
                raise


def cut(folder: Path, seed: int, ignore_syncs: bool = False, least: int = 1) -> Rig:
    """Two power cuts one after the other on one store, then everything is checked on what the disk holds."""
    rng = random.Random(seed)
    rig = Rig(folder, rng)
    for turn in range(2):
        disk = PowerCut(f"cut-{seed}-{turn}-{ignore_syncs}", rng)
        disk.ignore_syncs = ignore_syncs
        disk.cut_at = int(least * (MOST_EVENTS / least) ** rng.random())
        work_until_the_power_goes(rig, disk)
        disk.wreck()
    rig.start()
    rig.check()
    rig.retry_unanswered()
    rig.check()
    rig.check_repeats()
    rig.stop()
    return rig


def test_power_cuts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    acknowledged = releases = count = 0
    for seed in seeds(capsys, "power cuts", TRIALS // 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        rig = cut(folder, seed)
        count, acknowledged, releases = count + 2, acknowledged + len(rig.acknowledged), releases + len(rig.published)
    assert acknowledged > 0
    verdict(capsys, "power cuts", count, acknowledged, releases)


def test_a_disk_that_never_syncs_is_caught(tmp_path: Path) -> None:
    """What kill -9 would never show: without the syncs acknowledged reports are lost, or the store is broken."""
    caught = 0
    for seed in range(12):
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            cut(folder, seed, ignore_syncs=True, least=200)
        except (AssertionError, HushloopError, apsw.Error):
            caught += 1
    assert caught >= 6  # 10 to 12 are usual; a disk that syncs is never caught in 200


def child(folder: Path, seed: int, fault: str, url: str = "") -> subprocess.Popen[bytes]:
    environment = {**os.environ, faults.VARIABLE: fault}
    command = [sys.executable, str(Path(__file__).with_name("torture_child.py")), str(folder), str(seed), url]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)


REACHED = {"before-commit": 60, "after-commit-before-reply": 60, "tickets-before-reply": 12}
"""How often a run passes each point, at least on a young store; the others are passed once."""


def kill_once(rig: Rig, seed: int) -> bool:
    """One process that is killed at a named point, or at any time after it has begun; whether it was."""
    rng = random.Random(seed)
    point = rng.choice([*faults.POINTS, "", ""])
    process = child(
        rig.folder, seed, f"{point}:{rng.randint(1, REACHED.get(point, 1))}" if point else "", rig.url or ""
    )
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        kind, value = json.loads(line)
        if kind == "ready":
            if not point:
                threading.Timer(rng.random() * 0.2, process.kill).start()
            continue
        seen.append(line.decode())
        rig.recall(kind, value)
    _, errors = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), errors.decode()
    with open(rig.folder / "memory", "a") as memory:
        memory.writelines(seen)
    return process.returncode != 0


def kills(tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str, least: int, new_url: Any) -> None:
    """Processes one after the other on a few stores; each is killed, the next goes on where it stopped."""
    killed = acknowledged = releases = runs = 0
    drawn = random.Random(next(seeds(capsys, what, 1)))
    while killed < least:
        folder = tmp_path / str(runs)
        folder.mkdir()
        (folder / "memory").touch()
        rig = Rig(folder, drawn, new_url())
        for _ in range(4):
            killed += kill_once(rig, drawn.getrandbits(32))
            runs += 1
            rig.start()
            rig.check()
            rig.stop()
        rig.start()
        rig.retry_unanswered()
        rig.check()
        rig.check_repeats()
        rig.stop()
        acknowledged, releases = acknowledged + len(rig.acknowledged), releases + len(rig.published)
        assert runs <= 40 + 4 * least, "hardly any process is killed"
    verdict(capsys, what, killed, acknowledged, releases)


def test_kills(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kills(tmp_path, capsys, "kills", TRIALS, lambda: None)


def test_kills_on_postgresql(tmp_path: Path, capsys: pytest.CaptureFixture[str], cluster: str) -> None:
    names = (f"torture_{os.getpid()}_{number}" for number in itertools.count())

    def fresh() -> str:
        import psycopg

        name = next(names)
        with psycopg.connect(cluster, autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}")
        return cluster.replace("/postgres?", f"/{name}?")

    kills(tmp_path, capsys, "kills on PostgreSQL", max(3, TRIALS // 5), fresh)


@pytest.mark.parametrize("point", faults.POINTS)
def test_every_fault_point_ends_the_process(point: str, tmp_path: Path) -> None:
    """A point that is never reached would prove nothing."""
    (tmp_path / "memory").touch()
    process = child(tmp_path, 1, point)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
