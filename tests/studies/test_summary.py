"""From rows to tables: bands, learning times, powers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from hushloop.studies.summary import curves, lines, power_law


def rows(seeds: int = 3) -> pl.DataFrame:
    """Blocks of 10, 20, 40, 80 users; seed s loses (1+s) each in the first block and nothing later."""
    out = []
    for seed in range(seeds):
        end, regret = 0, 0.0
        for t, size in enumerate((10, 20, 40, 80)):
            end += size
            loss = 1.0 + seed if t == 0 else 0.0
            regret += loss * size
            out.append({"agent": "a", "seed": seed, "users": end, "block_users": size, "loss": loss, "regret": regret,
                        "idle": 2.0, "best": 0.0, "covered": seed != 1})  # fmt: skip
    return pl.DataFrame(out)


def test_lines() -> None:
    row = lines(rows(), ("agent",)).row(0, named=True)
    assert row["regret"] == 20.0
    assert row["regret_mean"] == pytest.approx(20.0)
    assert row["covered"] == 2
    assert row["users"] == 150
    assert 5.0 < row["time"] <= 10.0  # K+1..2K must lose at most .2 on average


def test_who_never_learns_has_no_time() -> None:
    table = rows().with_columns(loss=pl.lit(5.0))
    row = lines(table, ("agent",)).row(0, named=True)
    assert row["time_low"] is None
    assert row["time"] is None


def test_curves_interpolate_regret_and_look_up_losses() -> None:
    table = curves(rows(1), ("agent",))
    assert table["users"][0] == 10
    assert table["users"][-1] == 150
    np.testing.assert_allclose(table["regret"].to_numpy(), 10.0)
    assert table["loss"][0] == 1.0
    assert table["loss"][-1] == 0.0


def test_powers_and_their_intervals() -> None:
    x = np.geomspace(1, 100, 12)
    power, low, high = power_law(x, 3.0 * x**-0.5)
    assert power == pytest.approx(-0.5)
    assert high - low < 1e-9
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(400):
        _, low, high = power_law(x, x**0.25 * np.exp(rng.normal(size=12)))
        missed += not low <= 0.25 <= high
    assert missed < 55  # 5 % of 400 is 20; 55 has a chance below 10⁻⁹
