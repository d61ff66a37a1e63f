"""Vectors of LANES numbers as values inside numba, with the arithmetic of one number and exactly its bits.

`+ − × ÷`, `root` and `floor` work lane by lane and a scalar stands for the same number in every lane. No operation is
fused or reordered, so a lane gets what a scalar program gets. Comparisons make a mask for `choose`. Lane arrays are
flat float64 or uint64 arrays; `load` and `store` move their vector number i.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model
from numpy.typing import NDArray

LANES = 8

_I1, _I32, _I64, _F64 = ir.IntType(1), ir.IntType(32), ir.IntType(64), ir.DoubleType()


class LaneType(types.Type):
    """A vector of LANES float64 ("floats"), uint64 ("words") or truth values ("mask")."""

    def __init__(self, kind: str, element: Any, scalar: Any) -> None:
        super().__init__(name=f"hushloop.{kind}{LANES}")
        self.vector = ir.VectorType(element, LANES)
        self.scalar = scalar


class _Floats(LaneType):
    pass


class _Words(LaneType):
    pass


class _Mask(LaneType):
    pass


floats = _Floats("floats", _F64, types.float64)
words = _Words("words", _I64, types.uint64)
mask = _Mask("mask", _I1, types.boolean)


@register_model(_Floats)
@register_model(_Words)
@register_model(_Mask)
class _LaneModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: LaneType) -> None:
        super().__init__(manager, kind, kind.vector)


def _spread(context: Any, builder: Any, value: Any, given: Any, wanted: LaneType) -> Any:
    """A value as a vector: itself, or a scalar in every lane."""
    if given is wanted:
        return value
    value = context.cast(builder, value, given, wanted.scalar)
    undefined = ir.Constant(wanted.vector, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES))


def _kind(a: Any, b: Any) -> Any:
    """The lane type of an operation on a and b, or None where neither is lanes."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, LaneType) and (other is one or isinstance(other, (types.Float, types.Integer))):
            return one
    return None


def _binary(symbol: Any, kinds: tuple[Any, ...], result: Any, build: Callable[..., Any]) -> None:
    @intrinsic
    def apply(_typing, a, b):  # type: ignore[no-untyped-def]
        kind = _kind(a, b)
        out = result or kind

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            x, y = (_spread(context, builder, v, t, kind) for v, t in zip(args, sig.args, strict=True))
            return build(builder, x, y)

        return out(a, b), generate

    @overload(symbol)
    def implement(a, b):  # type: ignore[no-untyped-def]
        return (lambda a, b: apply(a, b)) if _kind(a, b) in kinds else None


for _symbol, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _binary(_symbol, (floats,), None, lambda builder, x, y, name=_name: getattr(builder, name)(x, y))
for _symbol, _sign in ((operator.lt, "<"), (operator.le, "<="), (operator.gt, ">"), (operator.eq, "==")):
    _binary(_symbol, (floats,), mask, lambda builder, x, y, sign=_sign: builder.fcmp_ordered(sign, x, y))
for _symbol, _name in (
    (operator.add, "add"), (operator.mul, "mul"), (operator.xor, "xor"), (operator.and_, "and_"),
    (operator.or_, "or_"), (operator.rshift, "lshr"), (operator.lshift, "shl"),
):  # fmt: skip
    _binary(_symbol, (words,), None, lambda builder, x, y, name=_name: getattr(builder, name)(x, y))
_binary(operator.lt, (words,), mask, lambda builder, x, y: builder.icmp_unsigned("<", x, y))
_binary(operator.gt, (words,), mask, lambda builder, x, y: builder.icmp_unsigned(">", x, y))
for _symbol, _name in ((operator.and_, "and_"), (operator.or_, "or_")):
    _binary(_symbol, (mask,), None, lambda builder, x, y, name=_name: getattr(builder, name)(x, y))


def _unary(given: LaneType, result: LaneType, build: Callable[..., Any]) -> Any:
    @intrinsic
    def apply(_typing, x):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return build(builder, _spread(context, builder, args[0], sig.args[0], given))

        return result(x), generate

    return apply


def _library(name: str) -> Callable[..., Any]:
    def build(builder: Any, x: Any) -> Any:
        full = f"llvm.{name}.v{LANES}f64"
        function = builder.module.globals.get(full)
        if function is None:
            function = ir.Function(builder.module, ir.FunctionType(floats.vector, [floats.vector]), full)
        return builder.call(function, [x])

    return build


root = _unary(floats, floats, _library("sqrt"))
floor = _unary(floats, floats, _library("floor"))
splat = _unary(floats, floats, lambda builder, x: x)
spread = _unary(words, words, lambda builder, x: x)
bits = _unary(floats, words, lambda builder, x: builder.bitcast(x, words.vector))
from_bits = _unary(words, floats, lambda builder, x: builder.bitcast(x, floats.vector))
to_float = _unary(words, floats, lambda builder, x: builder.sitofp(x, floats.vector))
truncate = _unary(floats, words, lambda builder, x: builder.fptosi(x, words.vector))
arithmetic_high = _unary(words, words, lambda builder, x: builder.ashr(x, ir.Constant(words.vector, [32] * LANES)))


@intrinsic
def numbers(_typing):  # type: ignore[no-untyped-def]
    """0, 1, …, LANES − 1."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return ir.Constant(words.vector, list(range(LANES)))

    return words(), generate


@intrinsic
def choose(_typing, where, yes, no):  # type: ignore[no-untyped-def]
    """Lane by lane: `yes` where the mask holds, else `no`."""
    kind = yes if isinstance(yes, LaneType) else no if isinstance(no, LaneType) else floats

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        x, y = (_spread(context, builder, v, t, kind) for v, t in zip(args[1:], sig.args[1:], strict=True))
        return builder.select(args[0], x, y)

    return kind(where, yes, no), generate


@intrinsic
def some(_typing, where):  # type: ignore[no-untyped-def]
    """Whether the mask holds in any lane."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        packed = builder.bitcast(args[0], ir.IntType(LANES))
        return builder.icmp_unsigned("!=", packed, ir.Constant(ir.IntType(LANES), 0))

    return types.boolean(where), generate


def _pointer(context: Any, builder: Any, sig: Any, args: Any, kind: LaneType) -> Any:
    array = context.make_array(sig.args[0])(context, builder, args[0])
    index = context.cast(builder, args[1], sig.args[1], types.intp)
    first = builder.mul(index, ir.Constant(_I64, LANES))
    return builder.bitcast(builder.gep(array.data, [first]), kind.vector.as_pointer())


@intrinsic
def load(_typing, array, i):  # type: ignore[no-untyped-def]
    """Lane vector number i of a flat array."""
    kind = floats if array.dtype == types.float64 else words

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value = builder.load(_pointer(context, builder, sig, args, kind))
        value.align = 8
        return value

    return kind(array, i), generate


@intrinsic
def store(_typing, array, i, value):  # type: ignore[no-untyped-def]
    """Write lane vector number i."""
    kind = floats if array.dtype == types.float64 else words

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        vector = _spread(context, builder, args[2], sig.args[2], kind)
        builder.store(vector, _pointer(context, builder, sig, args, kind)).align = 8
        return context.get_dummy_value()

    return types.void(array, i, value), generate


def lane_array(count: int, dtype: Any = np.float64) -> NDArray[Any]:
    """`count` lane vectors of zeros, each on a cache line of its own."""
    raw = np.zeros((count + 1) * LANES, dtype=dtype)
    first = (-raw.ctypes.data % 64) // 8
    return raw[first : first + count * LANES]
