"""A vector of eight doubles inside numba, so that eight systems are solved by code that reads like that for one.

LLVM does not vectorise loops over small matrices by itself (it cannot rule out that the arrays overlap). Here a lane
vector is a value: `load` and `store` move it, + − × ÷ and `root` work on it. Lane arrays are flat float64 arrays whose
entry (i, j) of a matrix with c columns is the lane vector number i·c + j.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model
from numpy.typing import NDArray

LANES = 8
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_FLAGS = ("contract", "nsz")


class LaneType(types.Type):
    """Numba's name for the vector."""

    def __init__(self) -> None:
        super().__init__(name="hushloop.lanes8")


lane = LaneType()


@register_model(LaneType)
class _LaneModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


def _pointer(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    array = context.make_array(sig.args[0])(context, builder, args[0])
    index = context.cast(builder, args[1], sig.args[1], types.intp)
    first = builder.mul(index, ir.Constant(ir.IntType(64), LANES))
    return builder.bitcast(builder.gep(array.data, [first]), _VECTOR.as_pointer())


@intrinsic
def load(_typing: Any, array: Any, i: Any) -> Any:
    """Lane vector number i of a flat array."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value = builder.load(_pointer(context, builder, sig, args))
        value.align = 8
        return value

    return lane(array, i), generate


@intrinsic
def store(_typing: Any, array: Any, i: Any, value: Any) -> Any:
    """Write lane vector number i."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store(args[2], _pointer(context, builder, sig, args)).align = 8
        return context.get_dummy_value()

    return types.void(array, i, lane), generate


@intrinsic
def splat(_typing: Any, x: Any) -> Any:
    """The same number in every lane."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(undefined, args[0], ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(first, undefined, zeros)

    return lane(types.float64), generate


@intrinsic
def root(_typing: Any, x: Any) -> Any:
    """Square root of every lane."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        name = f"llvm.sqrt.v{LANES}f64"
        function = builder.module.globals.get(name)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(_VECTOR, [_VECTOR]), name)
        return builder.call(function, args)

    return lane(lane), generate


@intrinsic
def choose(_typing: Any, mask: Any, yes: Any, no: Any) -> Any:
    """Lane by lane: `yes` where the mask is above 0, else `no`."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        above = builder.fcmp_ordered(">", args[0], ir.Constant(_VECTOR, [0.0] * LANES))
        return builder.select(above, args[1], args[2])

    return lane(lane, lane, lane), generate


def _arithmetic(symbol: Any, instruction: str) -> None:
    @intrinsic
    def apply(_typing: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return getattr(builder, instruction)(args[0], args[1], flags=_FLAGS)

        return lane(lane, lane), generate

    @overload(symbol)
    def implement(a, b):  # type: ignore[no-untyped-def]
        if isinstance(a, LaneType) and isinstance(b, LaneType):
            return lambda a, b: apply(a, b)
        return None


for _symbol, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _arithmetic(_symbol, _instruction)


def lane_array(count: int) -> NDArray[np.float64]:
    """`count` lane vectors of zeros, each on a cache line of its own (a split load costs twice)."""
    raw = np.zeros(count * LANES + LANES)
    first = (-raw.ctypes.data % 64) // 8
    return raw[first : first + count * LANES]
