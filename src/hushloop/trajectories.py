"""Recorded trajectories from a parquet or CSV file: one row a step, and one more for the state in which each ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import HushloopError, InvalidInput
from .lq import Problem
from .lq.problem import Array

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Group:
    """Episodes of one length T."""

    states: Array  # (k, T+1, n)
    controls: Array  # (k, T, d)


@dataclass(frozen=True, eq=False)
class Trajectories:
    """All episodes, sorted by their length."""

    users: int
    groups: tuple[Group, ...]
    most: int = 1  # the most episodes of one user

    @property
    def episodes(self) -> int:
        return sum(g.states.shape[0] for g in self.groups)

    @property
    def longest(self) -> int:
        """T of the longest episode."""
        return max(int(g.controls.shape[1]) for g in self.groups)


def read_trajectories(path: str | Path, problem: Problem, participations: int = 1) -> Trajectories:
    """The episodes of a file with the columns user, step, x1…xn, u1…ud, and `episode` where a user has several.

    The last row of each episode holds the state that its last control led to; its own controls are empty.
    Rows are counted from 1 below the header.
    """
    table = _read(Path(path))
    states, controls = [f"x{i + 1}" for i in range(problem.n)], [f"u{i + 1}" for i in range(problem.d)]
    _check_columns(table.columns, states, controls)
    rows = _Rows(table, states, controls)
    rows.check(problem.horizon, participations)
    return Trajectories(int(rows.users.size), tuple(rows.groups()), int(rows.each.max()))


def _read(path: Path) -> pl.DataFrame:
    import polars as pl

    readers = {".csv": lambda: pl.read_csv(path, infer_schema=False), ".parquet": lambda: pl.read_parquet(path)}
    if path.suffix.lower() not in readers:
        raise HushloopError(f"{path} is neither .csv nor .parquet: save the trajectories as one of them")
    try:
        table = readers[path.suffix.lower()]()
    except OSError as why:
        raise HushloopError(f"cannot read {path}: {why.strerror or why}") from why
    except pl.exceptions.PolarsError as why:
        raise HushloopError(f"{path} is no readable {path.suffix[1:]} file: {str(why).splitlines()[0]}") from why
    if table.height == 0:
        raise HushloopError(f"{path} has no rows: give at least one episode")
    return table


def _check_columns(found: list[str], states: list[str], controls: list[str]) -> None:
    for name in ("user", "step", *states, *controls):
        if name not in found:
            raise InvalidInput(
                name, "is no column of the file", f"give the columns user, step, {', '.join([*states, *controls])}"
            )
    for kind, names, what in (("x", states, "states"), ("u", controls, "inputs")):
        extra = f"{kind}{len(names) + 1}"
        if extra in found:
            raise InvalidInput(extra, f"is a column of the file, and the problem has {len(names)} {what}", "remove it")


class _Rows:
    """The rows in the order of (user, episode, step), as arrays."""

    def __init__(self, table: pl.DataFrame, states: list[str], controls: list[str]) -> None:
        self.states, self.controls = states, controls
        user = _text(table, "user")
        episode = _text(table, "episode") if "episode" in table.columns else np.full(user.size, "")
        steps = _numbers(table, "step")
        _refuse(np.isnan(steps) | (steps != np.round(steps)), steps, "step", "give a whole number")
        X = np.stack([_numbers(table, name) for name in states], axis=1)
        U = np.stack([_numbers(table, name) for name in controls], axis=1)
        for j, name in enumerate(states):
            _refuse(~np.isfinite(X[:, j]), X[:, j], name, "every state must be a finite number")
        for j, name in enumerate(controls):
            _refuse(np.isinf(U[:, j]), U[:, j], name, "every control must be a finite number")
        order = np.lexsort((steps, episode, user))
        self.row = order + 1
        self.user, self.episode, self.step = user[order], episode[order], steps[order].astype(np.int64)
        self.X, self.U = X[order], U[order]
        new = np.ones(user.size, dtype=bool)
        new[1:] = (self.user[1:] != self.user[:-1]) | (self.episode[1:] != self.episode[:-1])
        self.begin = np.flatnonzero(new)
        self.size = np.diff(np.append(self.begin, user.size))  # rows of each episode
        self.users, self.each = np.unique(self.user[self.begin], return_counts=True)

    def check(self, horizon: int, participations: int) -> None:
        """Refuse what is no set of episodes; the message names the user and the step."""
        jump = np.diff(self.step)
        jump[self.begin[1:] - 1] = 1
        for at in np.flatnonzero(jump != 1)[:1]:
            who = f"of {self._who(at)} has step {self.step[at]}"
            if jump[at] == 0:
                rows = f"rows {min(self.row[at : at + 2])} and {max(self.row[at : at + 2])}"
                raise InvalidInput("step", f"{who} twice, in {rows}", "keep one; several episodes need `episode`")
            raise InvalidInput("step", f"{who} and then {self.step[at + 1]}", "steps must follow each other")
        for at in np.flatnonzero(self.size > horizon + 1)[:1]:
            raise InvalidInput(
                "step", f"of {self._who(self.begin[at])} goes on for {self.size[at] - 1} steps",
                f"at most H = {horizon} belong to one episode (step {self.step[self.begin[at]] + horizon} would be the"
                " end): split it, or change the problem's horizon",
            )  # fmt: skip
        for at in np.flatnonzero(self.each > participations)[:1]:
            raise InvalidInput(
                "participations", f"is {participations}, and user {self.users[at]} has {self.each[at]} episodes",
                f"keep {participations} of them, or promise for {self.each[at]}: the noise grows with it",
            )  # fmt: skip
        self._check_controls()

    def _check_controls(self) -> None:
        last = np.zeros(self.step.size, dtype=bool)
        last[self.begin + self.size - 1] = True
        missing = np.isnan(self.U)
        for at, j in np.argwhere(missing & ~last[:, None])[:1]:
            raise InvalidInput(
                self.controls[j], f"is missing in row {self.row[at]} ({self._who(at)}, step {self.step[at]})",
                "only the last row of an episode has no controls",
            )  # fmt: skip
        for at in np.flatnonzero(last & ~missing.all(axis=1))[:1]:
            raise InvalidInput(
                "step", f"{self.step[at]} is the last of {self._who(at)} and has controls (row {self.row[at]})",
                "add one more row with the state that followed, and leave its controls empty",
            )  # fmt: skip

    def groups(self) -> Iterator[Group]:
        for size in np.unique(self.size):
            at = self.begin[self.size == size][:, None] + np.arange(size)
            yield Group(self.X[at], self.U[at[:, :-1]])

    def _who(self, at: Any) -> str:
        episode = f", episode {self.episode[at]}" if self.episode[at] else ""
        return f"user {self.user[at]}{episode}"


def _text(table: pl.DataFrame, name: str) -> NDArray[np.str_]:
    import polars as pl

    column = table[name].cast(pl.String)
    for row in np.flatnonzero(column.is_null().to_numpy())[:1]:
        raise InvalidInput(name, f"is missing in row {row + 1}", "every row needs one")
    return np.asarray(column.to_numpy(), dtype=np.str_)


def _numbers(table: pl.DataFrame, name: str) -> Array:
    """A column as floats; what is empty is NaN, what is no number is refused."""
    import polars as pl

    column = table[name]
    if column.dtype == pl.String:
        column = column.str.strip_chars()
        column = column.set(column == "", None)
    numbers = column.cast(pl.Float64, strict=False)
    for row in np.flatnonzero((numbers.is_null() & column.is_not_null()).to_numpy())[:1]:
        raise InvalidInput(name, f"is {column[int(row)]!r} in row {row + 1}", "give a number")
    return np.asarray(numbers.fill_null(float("nan")).to_numpy(), dtype=float)


def _refuse(bad: NDArray[np.bool_], values: Array, name: str, remedy: str) -> None:
    for row in np.flatnonzero(bad)[:1]:
        what = "missing" if np.isnan(values[row]) else f"{values[row]:g}"
        raise InvalidInput(name, f"is {what} in row {row + 1}", remedy)
