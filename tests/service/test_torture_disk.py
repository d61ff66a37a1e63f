"""Disks that are full or read-only, clocks that go back, two servers on one file, old copies that come back."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from powercut import PowerCut
from torture_rig import Rig

from hushloop.errors import HushloopError
from hushloop.service.clock import Clock
from hushloop.service.curator import failed
from hushloop.service.highwater import HighWater, RolledBackError
from hushloop.service.opening import acknowledge_restore
from hushloop.service.protocol import TicketRequest
from hushloop.service.refusals import BROKEN, ROLLED_BACK, STORAGE, TICKET_EXPIRED
from hushloop.service.store import StoreError
from hushloop.service.store.sqlite import SqliteStore


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    one = Rig(tmp_path, random.Random(7))
    yield one
    one.stop()


def reported(rig: Rig, count: int) -> None:
    rig.issue(count)
    rig.send([rig.new_report() for _ in range(count)])


@pytest.mark.parametrize("trouble", ["full", "read_only"])
def test_a_disk_that_takes_nothing_for_a_while(rig: Rig, trouble: str) -> None:
    """Nothing is acknowledged, nothing is counted, and when the disk is back all goes on without a restart."""
    disk = PowerCut(f"disk-{trouble}", random.Random(0))
    rig.start(vfs=disk.name)
    reported(rig, 5)
    rig.issue(10)
    batch = [rig.new_report() for _ in range(3)]
    setattr(disk, trouble, True)
    for _ in range(2):
        with pytest.raises(StoreError, match="cannot be written now") as refused:
            rig.send(batch)
        assert failed(rig.live, refused.value) is STORAGE
        assert rig.live.lock is None
        with pytest.raises(StoreError):
            rig.live.issue(TicketRequest(1))
    setattr(disk, trouble, False)
    rig.check()
    assert rig.live.block is not None
    assert rig.live.block.count == 5
    rig.send(batch)
    rig.check()
    reported(rig, 6)
    assert rig.published
    rig.check()
    rig.check_repeats()


def test_a_full_disk_while_a_block_closes(rig: Rig) -> None:
    """The block stays full and closed to more; its release is made once, when there is room."""
    disk = PowerCut("disk-closing", random.Random(0))
    rig.start(vfs=disk.name)
    rig.issue(8)
    batch = [rig.new_report() for _ in range(8)]
    rig.live.take([rig.incoming(*one) for one in batch])
    rig.acknowledged.update(report.report_id for report, _ in batch)
    disk.full = True
    with pytest.raises(StoreError):
        rig.live.tend()
    assert json.loads(rig.live.published.releases)["releases"] == []
    disk.full = False
    rig.live.tend()
    rig.look()
    assert len(rig.published) == 1
    rig.check()


def test_what_is_not_the_disks_fault_alone_locks_until_a_restart(rig: Rig) -> None:
    """After a failed sync nobody knows what is on the disk, so nothing more is acknowledged."""
    disk = PowerCut("disk-broken", random.Random(0))
    rig.start(vfs=disk.name)
    reported(rig, 4)
    rig.issue(4)
    batch = [rig.new_report() for _ in range(2)]
    disk.dead = True
    with pytest.raises(StoreError) as why:
        rig.send(batch)
    assert failed(rig.live, why.value) is BROKEN
    disk.dead = False
    assert rig.live.take([rig.incoming(*one) for one in batch]) == [BROKEN, BROKEN]
    rig.stop()
    rig.start()
    rig.check()


def test_a_clock_that_goes_back(rig: Rig) -> None:
    """Tickets that have expired stay expired, and time does not run backwards in the ledger."""
    rig.start()
    wall = [rig.live.parts.clock.now()]
    rig.live.parts.clock._wall = lambda: wall[0]
    rig.tickets += rig.live.issue(TicketRequest(2, lifetime=100)).tickets
    late, later = rig.new_report(), rig.new_report()
    wall[0] += 101.0
    assert rig.live.take([rig.incoming(*late)]) == [TICKET_EXPIRED]
    wall[0] -= 5000.0
    assert rig.live.take([rig.incoming(*later)]) == [TICKET_EXPIRED]
    rig.issue(1)
    times = [entry.at for entry in rig.live.parts.store.ledger()]
    assert times[1:] == sorted(times[1:])
    assert rig.live.parts.clock.lag > 4000


def test_a_restart_remembers_the_latest_time(rig: Rig) -> None:
    rig.start()
    reported(rig, 1)
    seen = rig.live.parts.clock.now()
    rig.stop()
    store = SqliteStore(rig.path)
    found = store.open_block()
    store.close()
    assert found is not None
    clock = Clock(lambda: seen - 10_000.0)
    clock.seen(found.seen)
    assert clock.now() >= found.seen


def test_two_servers_on_one_file(rig: Rig) -> None:
    rig.start()
    reported(rig, 3)
    second = Rig(rig.folder, random.Random(1))
    with pytest.raises(StoreError, match="another server uses"):
        second.start()
    reported(rig, 3)
    rig.check()
    rig.stop()
    rig.start()  # the lock has gone with the server


def copy_of(rig: Rig) -> Path:
    copy = rig.folder / "copy.db"
    rig.live.parts.store.backup(str(copy))
    return copy


def bring_back(rig: Rig, copy: Path) -> None:
    rig.stop()
    for suffix in ("", "-wal", "-shm"):
        rig.path.with_name(rig.path.name + suffix).unlink(missing_ok=True)
    shutil.copy(copy, rig.path)


def test_an_old_copy_is_refused_and_the_way_on_is_charged(rig: Rig) -> None:
    rig.start()
    reported(rig, 3)
    copy = copy_of(rig)
    reported(rig, 5)
    assert len(rig.published) == 1
    abandoned = rig.assignments[0]
    bring_back(rig, copy)
    with pytest.raises(RolledBackError, match="acknowledge-restore"):
        rig.start()
    store = SqliteStore(rig.path)
    facts = acknowledge_restore(store, HighWater(rig.folder / "highwater"), 0.0)
    store.close()
    assert facts["restores"] == 1
    drawn = dict(rig.noise)
    again = Rig(rig.folder, random.Random(2))
    again.start()
    assert again.live.published.restores == 1
    assert again.assignments[0] not in (abandoned, *rig.assignments)
    assert not (again.noise[again.assignments[0]].N == drawn[abandoned].N).all(), "noise was used twice"
    block = again.live.block
    assert block is not None
    assert block.count == 0
    reported(again, 8)
    assert len(again.published) == 1
    again.check()
    again.stop()


def test_an_old_copy_without_its_mark_is_found_out_by_a_device(rig: Rig) -> None:
    """The copy came back on another machine, its mark with it: a device echoes an assignment from the future."""
    rig.start()
    reported(rig, 3)
    copy = copy_of(rig)
    mark = (rig.folder / "highwater").read_text()
    reported(rig, 6)
    rig.issue(1)
    ahead = rig.new_report()
    bring_back(rig, copy)
    (rig.folder / "highwater").write_text(mark)
    old = Rig(rig.folder, random.Random(3))
    old.start()
    assert old.live.take([old.incoming(*ahead)]) == [ROLLED_BACK]
    assert old.live.lock is ROLLED_BACK
    old.stop()
    with pytest.raises(RolledBackError):
        old.start()


def test_another_secret_is_refused(rig: Rig) -> None:
    rig.start()
    rig.stop()
    (rig.folder / "secret").write_text("0" * 64 + "\n")
    with pytest.raises(HushloopError, match="secret"):
        rig.start()
