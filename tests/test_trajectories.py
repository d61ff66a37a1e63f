"""Files of recorded trajectories: what is read, and what is refused with its row, user and step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hushloop.errors import HushloopError
from hushloop.lq.files import load
from hushloop.trajectories import read_trajectories
from logs_for_tests import recorded, table, write

PLANT = load("toy")
PROBLEM = PLANT.problem
GOOD = """user,step,x1,x2,u1
a,1,0.6,0.8,0.5
a,2,0.5,0.4,-0.5
a,3,0.3,0.1,
b,1,0.6,0.8,0.1
b,2,0.5,0.4,
"""


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_is_written_is_read_back_in_any_order(ending: str, tmp_path: Path) -> None:
    X, U = recorded(PLANT, 40)
    frame = table(X, U).sample(fraction=1.0, shuffle=True, seed=1)
    found = read_trajectories(write(frame, tmp_path / f"logs.{ending}"), PROBLEM)
    assert (found.users, found.episodes, len(found.groups)) == (40, 40, 1)
    order = np.argsort([str(i) for i in range(40)])
    np.testing.assert_array_equal(found.groups[0].states, X[order])
    np.testing.assert_array_equal(found.groups[0].controls, U[order])


def test_episodes_of_every_length_are_taken(tmp_path: Path) -> None:
    (tmp_path / "logs.csv").write_text(GOOD + "c,7,0.6,0.8,\n")
    found = read_trajectories(tmp_path / "logs.csv", PROBLEM)
    assert [group.states.shape for group in found.groups] == [(1, 1, 2), (1, 2, 2), (1, 3, 2)]
    assert found.groups[2].controls.tolist() == [[[0.5], [-0.5]]]


def test_a_user_with_several_episodes_needs_the_column_and_the_promise(tmp_path: Path) -> None:
    X, U = recorded(PLANT, 4)
    frame = table(X, U).with_columns((pl.col("user") % 2).alias("episode"), pl.col("user") // 2)
    path = write(frame, tmp_path / "logs.parquet")
    found = read_trajectories(path, PROBLEM, participations=2)
    assert (found.users, found.episodes) == (2, 4)
    with pytest.raises(HushloopError, match=r"participations.* is 1, and user 0 has 2 episodes"):
        read_trajectories(path, PROBLEM)
    with pytest.raises(HushloopError, match=r"user 0 has step 1 twice, in rows 1 and 7"):
        read_trajectories(write(frame.drop("episode"), tmp_path / "one.parquet"), PROBLEM)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a,2,0.5,0.4,-0.5", "a,2,abc,0.4,-0.5", r"`x1` is 'abc' in row 2"),
        ("a,2,0.5,0.4,-0.5", "a,2,0.5,,-0.5", r"`x2` is missing in row 2"),
        ("a,2,0.5,0.4,-0.5", "a,2,0.5,inf,-0.5", r"`x2` is inf in row 2"),
        ("a,2,0.5,0.4,-0.5", "a,2,0.5,0.4,inf", r"`u1` is inf in row 2"),
        ("a,2,0.5,0.4,-0.5", "a,2,0.5,0.4,", r"`u1` is missing in row 2 \(user a, step 2\)"),
        ("a,2,0.5,0.4,-0.5", "a,2.5,0.5,0.4,-0.5", r"`step` is 2.5 in row 2"),
        ("a,2,0.5,0.4,-0.5", ",2,0.5,0.4,-0.5", r"`user` is missing in row 2"),
        ("a,2,0.5,0.4,-0.5", "a,1,0.5,0.4,-0.5", r"user a has step 1 twice, in rows 1 and 2"),
        ("a,3,0.3,0.1,", "a,4,0.3,0.1,", r"user a has step 2 and then 4"),
        ("a,3,0.3,0.1,", "a,3,0.3,0.1,1", r"`step` 3 is the last of user a and has controls \(row 3\)"),
        ("x1,x2", "x1,y", r"`x2` is no column"),
        ("x1,x2,u1", "x1,x2,u1,u2", r"`u2` is a column of the file, and the problem has 1 inputs"),
        (GOOD, "user,step,x1,x2,u1\n", r"has no rows"),
        (GOOD, "", r"is no readable csv file"),
    ],
)
def test_what_is_no_set_of_episodes_is_refused(old: str, new: str, message: str, tmp_path: Path) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new)
    if "u1,u2" in new:
        text = "\n".join(line + ",0" if i else line for i, line in enumerate(text.splitlines()))
    (tmp_path / "logs.csv").write_text(text)
    with pytest.raises(HushloopError, match=message):
        read_trajectories(tmp_path / "logs.csv", PROBLEM)


def test_more_steps_than_the_horizon_are_refused(tmp_path: Path) -> None:
    short = PROBLEM.with_(horizon=4)
    X, U = recorded(PLANT, 3)
    with pytest.raises(HushloopError, match=r"user 0 goes on for 5 steps: at most H = 4"):
        read_trajectories(write(table(X, U), tmp_path / "logs.parquet"), short)


@pytest.mark.parametrize(("name", "content"), [("logs.txt", b"a"), ("gone.csv", None), ("bad.parquet", b"PAR1 no")])
def test_files_that_cannot_be_read(name: str, content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(HushloopError, match=name):
        read_trajectories(tmp_path / name, PROBLEM)
