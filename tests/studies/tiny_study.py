"""A study of squares, for the tests: its cells take no time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import polars as pl

from hushloop.studies.cell import Cell, Rows
from hushloop.studies.figures import new_figure
from hushloop.studies.study import Drawing, Frames, Options, Study, Tables


def rows(o: dict[str, Any]) -> Rows:
    return [{"seed": o["seed"], "square": o["seed"] ** 2}]


def fails(o: dict[str, Any]) -> Rows:
    raise RuntimeError(o["why"])


def dies_once(o: dict[str, Any]) -> Rows:
    """Takes its process down the first time."""
    mark = Path(o["mark"])
    if not mark.exists():
        mark.touch()
        os._exit(7)
    return rows(o)


def cells(o: Options) -> list[Cell]:
    out = [Cell("tiny_study:rows", {"seed": seed}, f"seed {seed}", seed) for seed in range(o["seeds"])]
    if o["mark"]:
        out.append(Cell("tiny_study:dies_once", {"seed": 99, "mark": o["mark"]}, "dies once"))
    return out + [Cell("tiny_study:fails", {"why": why}, f"fails, {why}") for why in o["failures"]]


def tables(frames: Frames, o: Options) -> dict[str, pl.DataFrame]:
    return {"squares": frames["cells"].sort("seed")}


def draw(t: Tables, o: Options) -> Any:
    figure, axes = new_figure()
    axes.plot(t["squares"]["seed"], t["squares"]["square"], label="squares")
    axes.legend()
    return figure


def missing(t: Tables, o: Options) -> Any:
    return draw({"squares": t["nothing"]}, o)


STUDY = Study(
    name="tiny_study:STUDY",
    title="Squares <of seeds>",
    question="What is a square?",
    options={"seeds": 5, "failures": [], "mark": ""},
    quick={"seeds": 2},
    cells=cells,
    tables=tables,
    drawings=(Drawing("squares", "Squares & seeds.", draw), Drawing("missing", "Never there.", missing)),
    findings=lambda t, o: [f"The largest is {t['squares']['square'].max()}."],
)
