"""Lane vectors do to every lane what numpy does to a number."""

from __future__ import annotations

import numpy as np
from numba import njit

from hushloop.kernels.lanes import (
    LANES,
    arithmetic_high,
    bits,
    choose,
    floor,
    from_bits,
    lane_array,
    load,
    numbers,
    root,
    some,
    store,
    to_float,
    truncate,
)


@njit(error_model="numpy")
def exercise(a, b, out, units):  # type: ignore[no-untyped-def]
    x, y = load(a, 0), load(b, 0)
    store(out, 0, x * y + x / y - 2.0)
    store(out, 1, root(x))
    store(out, 2, floor(y))
    store(out, 3, choose((x < y) | (y == 1.5), x, 7.0))
    store(out, 4, choose((x > y) & (x <= 3.0), 1.0, y))
    store(out, 5, to_float(numbers()))
    store(out, 6, from_bits(bits(x)))
    store(units, 0, truncate(y))
    store(units, 1, arithmetic_high(truncate(y * 4294967296.0)))
    return some(x > 100.0), some(y < 0.0)


def test_every_lane_gets_the_bits_of_a_scalar() -> None:
    rng = np.random.default_rng(0)
    a, b, out, units = lane_array(1), lane_array(1), lane_array(7), lane_array(2, np.uint64)
    a[:], b[:] = rng.uniform(0.1, 5.0, LANES), rng.uniform(-5.0, 5.0, LANES)
    b[0], b[1] = -2.5, 1.5
    none, negative = exercise(a, b, out, units)
    rows = out.reshape(7, LANES)
    np.testing.assert_array_equal(rows[0], (a * b + a / b) - 2.0)
    np.testing.assert_array_equal(rows[1], np.sqrt(a))
    np.testing.assert_array_equal(rows[2], np.floor(b))
    np.testing.assert_array_equal(rows[3], np.where((a < b) | (b == 1.5), a, 7.0))
    np.testing.assert_array_equal(rows[4], np.where((a > b) & (a <= 3.0), 1.0, b))
    np.testing.assert_array_equal(rows[5], np.arange(LANES))
    np.testing.assert_array_equal(rows[6], a)
    signed = units.view(np.int64).reshape(2, LANES)
    np.testing.assert_array_equal(signed[0], np.trunc(b).astype(np.int64))
    np.testing.assert_array_equal(signed[1], np.floor(np.trunc(b * 2.0**32) / 2.0**32).astype(np.int64))
    assert not none
    assert negative
