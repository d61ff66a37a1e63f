"""The page's tables as columns and rows, and as the CSV and JSON that are downloaded."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...device import Controller
from ...learning.belief import Estimate
from ...lq import Problem
from .view import View, names

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """None stands for what is not known or not certified."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return out.getvalue()

    def json(self) -> str:
        rows: list[dict[str, Any]] = [dict(zip(self.columns, row, strict=True)) for row in self.rows]
        return json.dumps({"name": self.name, "title": self.title, "rows": rows}, allow_nan=False)


def tables(view: View) -> dict[str, Table]:
    """Every table by its name, in the order of the page."""
    made = (costs(view), releases(view), model(view), privacy(view), controller(view), trajectories(view))
    return {table.name: table for table in made}


def known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def releases(view: View) -> Table:
    columns = ("release", "users", "users_in_all", "noise_s", "noise_c", "assignment")
    rows = tuple((r.index + 1, r.users, r.total_users, r.sigma_s, r.sigma_c, r.assignment_id) for r in view.releases)
    return Table("releases", "Releases", columns, rows)


def costs(view: View) -> Table:
    columns = (
        "releases", "users", "expected", "certified_least", "certified_most", "idle", "idle_most", "nominal",
        "nominal_most", "excitation",
    )  # fmt: skip
    rows = tuple(
        (
            k, p.knowledge.users, known(p.learner.expected), known(p.least), known(p.learner.most),
            known(p.idle.expected), known(p.idle.most), known(p.nominal.expected), known(p.nominal.most), p.excitation,
        )
        for k, p in enumerate(view.points)
    )  # fmt: skip
    return Table("costs", "Expected cost of one episode", columns, rows)


def privacy(view: View) -> Table:
    guarantee = view.statement.document["guarantee"]
    rows = tuple((key, value, view.delta, guarantee["participations"]) for key, value in view.epsilons.items())
    return Table("privacy", "What each person is promised", ("adjacency", "epsilon", "delta", "reports"), rows)


def model(view: View) -> Table:
    """The estimate Θ̂ with the standard deviation that it is given; no part of any guarantee."""
    estimate: Estimate = view.points[-1].knowledge.estimate
    std = np.sqrt(np.diag(np.linalg.inv(estimate.precision)))
    problem, nominal = view.problem, view.problem.nominal
    of = names(problem)
    rows = tuple(
        (of[j], of[i], float(nominal[i, j]), float(estimate.mean[i, j]), float(std[i]))
        for j in range(problem.n)
        for i in range(problem.p)
    )
    return Table("model", "The released estimate", ("next", "per", "nominal", "estimate", "std"), rows)


def controller(view: View) -> Table:
    problem: Problem = view.problem
    of, n = names(problem), problem.n
    columns = ("step", "input", *(f"{name}_{when}" for name in of[:n] for when in ("before", "now")))

    def gains(c: Controller, h: int, j: int, i: int) -> float:
        return float(c.gains[h, j, i])

    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (h + 1, of[n + j], *(gains(c, h, j, i) for i in range(n) for c in (view.first, view.served)))
        for h in range(problem.horizon)
        for j in range(problem.d)
    )
    return Table("controller", "The controller's gains", columns, rows)


def trajectories(view: View) -> Table:
    columns = ("variable", "step", *(f"{w}_{q}" for w in ("before", "now") for q in ("mean", "p10", "p90")))
    rows = tuple(
        (run.name, h + 1, *(known(v) for v in (*run.before[:, h], *run.now[:, h])))
        for run in view.runs
        for h in range(run.now.shape[1])
    )
    return Table("trajectories", "Episodes on the released estimate", columns, rows)
