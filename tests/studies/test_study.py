"""Running a study: only what is missing runs, failures are shown, a dying process is survived."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import hushloop as hl
from hushloop.errors import HushloopError, InvalidInput
from hushloop.studies import STUDIES, find, study
from hushloop.studies.cell import Cell


def hashes(folder: Path) -> dict[str, str]:
    found = sorted(folder.rglob("*.parquet"))
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in found}


def test_every_shipped_study_has_cells_of_their_own_addresses() -> None:
    for name in STUDIES:
        for quick in (False, True):
            prepared = find(name).prepared(quick)
            keys = [cell.key for cell in prepared.cells]
            assert len(set(keys)) == len(keys) > 0
        assert find(name).name == name


def test_options_are_checked() -> None:
    with pytest.raises(InvalidInput, match="seeds"):
        study("tiny_study:STUDY", seeds="many")
    with pytest.raises(InvalidInput, match="no option"):
        study("tiny_study:STUDY", sedes=3)
    with pytest.raises(InvalidInput, match="choose one of"):
        study("nothing")


def test_tables_and_figures_without_a_folder() -> None:
    ran = hl.study("tiny_study:STUDY", quick=True).run(workers=1)
    assert ran.tables["squares"]["square"].to_list() == [0, 1]
    assert ran.plot("squares").axes[0].get_legend() is not None
    assert ran.findings == ["The largest is 1."]
    with pytest.raises(InvalidInput, match="choose one of"):
        ran.plot("nothing")


def test_only_what_is_missing_runs(tmp_path: Path) -> None:
    began: list[str] = []

    def progress(what: str, cell: Cell | None, done: int, total: int) -> None:
        if what == "start" and cell is not None:
            began.append(cell.label)

    study("tiny_study:STUDY", seeds=3).run(tmp_path, workers=1, progress=progress)
    assert began == ["seed 2", "seed 1", "seed 0"]  # the heaviest first
    began.clear()
    ran = study("tiny_study:STUDY", seeds=4).run(tmp_path, workers=1, resume=True, progress=progress)
    assert began == ["seed 3"]
    assert len(ran.tables["squares"]) == 4


def test_a_folder_that_holds_a_study_is_not_overwritten(tmp_path: Path) -> None:
    study("tiny_study:STUDY").run(tmp_path, workers=1)
    with pytest.raises(HushloopError, match="--resume"):
        study("tiny_study:STUDY").run(tmp_path, workers=1)


def test_failures_are_recorded_shown_and_tried_again(tmp_path: Path) -> None:
    ran = study("tiny_study:STUDY", failures=["a", "b"]).run(tmp_path, workers=1)
    assert set(ran.failures) == {"fails, a", "fails, b"}
    assert len(ran.tables["squares"]) == 5
    began = []
    study("tiny_study:STUDY", failures=["a"]).run(
        tmp_path, workers=1, resume=True, progress=lambda what, cell, done, total: began.append(what)
    )
    assert began == ["found", "start", "failed"]


def test_nothing_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HushloopError, match="no cell"):
        study("tiny_study:STUDY", seeds=0, failures=["a"]).run(tmp_path, workers=1)


def test_a_table_none_of_whose_cells_has_finished_is_named(tmp_path: Path) -> None:
    prepared = study("tiny_study:STUDY", failures=["a"])
    broken = replace(prepared.study, tables=lambda frames, o: {"other": frames["other"]})
    with pytest.raises(HushloopError, match=r"table 'other'.*fails, a"):
        replace(prepared, study=broken).run(tmp_path, workers=1)


@pytest.mark.slow
def test_processes_give_the_same_bytes_and_a_dying_one_is_survived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    (tmp_path / "mark").touch()
    mark = str(tmp_path / "mark")
    study("tiny_study:STUDY", mark=mark).run(here, workers=1)
    (tmp_path / "mark").unlink()  # the first process that runs it dies
    ran = study("tiny_study:STUDY", mark=mark).run(there, workers=2)
    assert not ran.failures
    assert hashes(here) == hashes(there)


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run = [str(Path(sys.executable).parent / "hushloop"), "study", "run", "demo", "--set", "seeds=2"]
    subprocess.run([*run, "--out", str(whole)], check=True, capture_output=True)
    child = subprocess.Popen(
        [*run, "--out", str(killed), "--resume"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    while child.poll() is None and not list(killed.rglob("*.parquet")):
        time.sleep(0.02)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    first = hashes(killed)
    assert 0 < len(first) < len(hashes(whole))
    subprocess.run([*run, "--out", str(killed), "--resume"], check=True, capture_output=True)
    assert hashes(killed) == hashes(whole)
