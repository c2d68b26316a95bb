"""The numba half of kernels that work on vectors: eight partials of neighbouring rows at once, as one value.

LLVM makes vectors of loops whose iterations do not depend on each other, and a running total is none of these. Here
`combine` itself gets vectors: what it does with + and *, or by the functions of `arithmetic`, works on them as on
numbers. On machines with shorter vectors LLVM takes several.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, overload, register_model

from slidewise.aggregations.arithmetic import divide, pick_larger, pick_smaller

#: how many rows a vector has: 64 bytes of float64, as wide as vectors come
WIDTH = lanes = 8


class Lanes(types.Type):
    """A vector of numbers, of WIDTH neighbouring rows."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(f"Lanes({dtype})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, t: Lanes) -> None:
        super().__init__(manager, t, ir.VectorType(manager.lookup(t.dtype).get_value_type(), WIDTH))


# ---- partials: Lanes, or a tuple of them
def _map_partial(t: Any, change: Callable[[Any], Any]) -> Any:
    """Change the type of a partial, field by field."""
    return types.Tuple([change(field) for field in t]) if isinstance(t, types.BaseTuple) else change(t)


def _fields(b: Any, t: Any, value: Any) -> list[tuple[Any, Any]]:
    """List the types and values of a partial's fields."""
    if isinstance(t, types.BaseTuple):
        return list(zip(t, cgutils.unpack_tuple(b, value), strict=True))
    return [(t, value)]


def _join(c: Any, b: Any, t: Any, values: list[Any]) -> Any:
    return c.make_tuple(b, t, values) if isinstance(t, types.BaseTuple) else values[0]


def _mask(lanes: Any) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), list(lanes))


def _spread(b: Any, value: Any) -> Any:
    """Put one number into all lanes."""
    empty = ir.Constant(ir.VectorType(value.type, WIDTH), ir.Undefined)
    return b.shuffle_vector(b.insert_element(empty, value, ir.IntType(32)(0)), empty, _mask([0] * WIDTH))


@intrinsic
def spread(typing: Any, partial: Any) -> Any:
    """See names.spread."""
    t = _map_partial(partial, Lanes)

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        return _join(c, b, t, [_spread(b, value) for _, value in _fields(b, partial, args[0])])

    return t(partial), codegen


@intrinsic(prefer_literal=True)
def spread_lane(typing: Any, partial: Any, lane: Any) -> Any:
    """See names.spread_lane."""
    mask = _mask([lane.literal_value % WIDTH] * WIDTH)

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        return _join(c, b, partial, [b.shuffle_vector(v, v, mask) for _, v in _fields(b, partial, args[0])])

    return partial(partial, lane), codegen


@intrinsic
def first_lane(typing: Any, partial: Any) -> Any:
    """See names.first_lane."""
    t = _map_partial(partial, lambda field: field.dtype)

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        zero = ir.IntType(32)(0)
        return _join(c, b, t, [b.extract_element(v, zero) for _, v in _fields(b, partial, args[0])])

    return t(partial), codegen


@intrinsic(prefer_literal=True)
def shift(typing: Any, partial: Any, by: Any, others: Any) -> Any:
    """See names.shift."""
    # lanes 0 to WIDTH - 1 of the mask are the partial's, those from WIDTH on the others'
    mask = _mask([(k - by.literal_value) % (2 * WIDTH) for k in range(WIDTH)])

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        both = zip(_fields(b, partial, args[0]), _fields(b, others, args[2]), strict=True)
        return _join(c, b, partial, [b.shuffle_vector(v, w, mask) for (_, v), (_, w) in both])

    return partial(partial, by, partial), codegen


# ---- memory
class Pinned(types.Type):
    """The addresses of an array, or of several that are indexed as tuples: no reference counts, no negative indices.

    Arrays themselves lost: what is called for a block counts the references of all of them (a sum: 0.9 ns a row, and
    0.3 by addresses).
    """

    def __init__(self, of: Any) -> None:
        self.arrays = tuple(of) if isinstance(of, types.BaseTuple) else (of,)
        fields = [t.dtype for t in self.arrays]
        self.element = types.Tuple(fields) if isinstance(of, types.BaseTuple) else fields[0]
        super().__init__(f"Pinned({of})")


@register_model(Pinned)
class _PinnedModel(models.StructModel):
    def __init__(self, manager: Any, t: Pinned) -> None:
        super().__init__(manager, t, [(f"f{k}", types.CPointer(a.dtype)) for k, a in enumerate(t.arrays)])


@intrinsic
def pin_columns(typing: Any, x: Any) -> Any:
    """See names.pin_columns; the arrays are borrowed: the kernel's caller holds them."""
    t = Pinned(x)
    if any(array.layout != "C" for array in t.arrays):
        return None

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        made = cgutils.create_struct_proxy(t)(c, b)
        for k, (of, array) in enumerate(_fields(b, x, args[0])):
            setattr(made, f"f{k}", cgutils.create_struct_proxy(of)(c, b, value=array).data)
        return made._getvalue()

    return t(x), codegen


def _addresses(c: Any, b: Any, x: Pinned, value: Any, i: Any) -> list[tuple[Any, Any]]:
    """Find the type of each array and the address of its element i."""
    made = cgutils.create_struct_proxy(x)(c, b, value=value)
    return [(t, b.gep(getattr(made, f"f{k}"), [i])) for k, t in enumerate(x.arrays)]


def _vectors(c: Any, b: Any, x: Pinned, value: Any, i: Any) -> list[tuple[Any, int]]:
    """Find the address of the vector that begins with element i of each array, and what it is a multiple of."""
    found = []
    for t, address in _addresses(c, b, x, value, i):
        vector = ir.VectorType(c.get_value_type(t.dtype), WIDTH)
        size = c.get_abi_sizeof(c.get_value_type(t.dtype)) if t.aligned else 1
        found.append((b.bitcast(address, vector.as_pointer()), size))
    return found


@intrinsic
def load_lanes(typing: Any, x: Any, i: Any) -> Any:
    """See names.load_lanes."""
    result = _map_partial(x.element, Lanes)

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        return _join(c, b, result, [b.load(address, align=by) for address, by in _vectors(c, b, x, *args)])

    return result(x, types.uintp), codegen


@intrinsic
def store_lanes(typing: Any, x: Any, i: Any, partial: Any) -> Any:
    """See names.store_lanes."""

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        fields = _fields(b, partial, args[2])
        for (address, by), array, (t, value) in zip(_vectors(c, b, x, *args[:2]), x.arrays, fields, strict=True):
            b.store(_convert(c, b, t, value, array.dtype), address, align=by)
        return c.get_dummy_value()

    return types.void(x, types.uintp, partial), codegen


@intrinsic(prefer_literal=True)
def fetch(typing: Any, x: Any, i: Any, to_write: Any) -> Any:
    """See names.fetch."""

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = cgutils.get_or_insert_function(
            b.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), "llvm.prefetch.p0"
        )
        for _, address in _addresses(c, b, x, *args[:2]):
            b.call(function, [b.bitcast(address, byte), word(to_write.literal_value), word(3), word(1)])
        return c.get_dummy_value()

    return types.void(x, types.uintp, to_write), codegen


@intrinsic
def _load(typing: Any, x: Any, i: Any) -> Any:
    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        values = [c.unpack_value(b, t.dtype, address) for t, address in _addresses(c, b, x, *args)]
        return _join(c, b, x.element, values)

    return x.element(x, types.uintp), codegen


@intrinsic
def _store(typing: Any, x: Any, i: Any, value: Any) -> Any:
    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        values = (v for _, v in _fields(b, x.element, args[2]))
        for (t, address), v in zip(_addresses(c, b, x, *args[:2]), values, strict=True):
            c.pack_value(b, t.dtype, v, address)
        return c.get_dummy_value()

    return types.void(x, types.uintp, x.element), codegen


@overload(operator.getitem)
def _pinned_getitem(x, i):
    if isinstance(x, Pinned):
        return lambda x, i: _load(x, i)
    return None


@overload(operator.setitem)
def _pinned_setitem(x, i, v):
    if isinstance(x, Pinned):
        return lambda x, i, v: _store(x, i, v)
    return None


# ---- arithmetic
def _convert(c: Any, b: Any, t: Any, value: Any, to: Any) -> Any:
    """Convert numbers, or one of them, to lanes of another type."""
    if not isinstance(t, Lanes):
        return _spread(b, c.cast(b, value, t, to))
    vector = ir.VectorType(c.get_value_type(to), WIDTH)
    narrower = to.bitwidth < t.dtype.bitwidth
    if t.dtype == to:
        return value
    if isinstance(t.dtype, types.Float):
        return b.fptrunc(value, vector) if narrower else b.fpext(value, vector)
    if isinstance(to, types.Float):
        return (b.sitofp if t.dtype.signed else b.uitofp)(value, vector)
    if narrower or to.bitwidth == t.dtype.bitwidth:
        return b.trunc(value, vector) if narrower else value
    return (b.sext if t.dtype.signed else b.zext)(value, vector)


@intrinsic
def widen(typing: Any, partial: Any, like: Any) -> Any:
    """See names.widen."""
    result = _map_partial(like, Lanes)

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        wanted = list(like) if isinstance(like, types.BaseTuple) else [like]
        fields = zip(_fields(b, partial, args[0]), wanted, strict=True)
        return _join(c, b, result, [_convert(c, b, t, value, to) for (t, value), to in fields])

    return result(partial, like), codegen


def _of_lanes(t: Any) -> Any:
    return t.dtype if isinstance(t, Lanes) else t


def _make_operator(on_floats: str, on_integers: str) -> Any:
    @intrinsic
    def compute(typing: Any, x: Any, y: Any) -> Any:
        to = typing.unify_types(_of_lanes(x), _of_lanes(y))
        if to not in (_of_lanes(x), _of_lanes(y)):
            return None

        def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
            both = [_convert(c, b, t, value, to) for t, value in zip((x, y), args, strict=True)]
            return getattr(b, on_floats if isinstance(to, types.Float) else on_integers)(*both)

        return Lanes(to)(x, y), codegen

    def overloaded(x, y):
        if isinstance(x, Lanes) or isinstance(y, Lanes):
            return lambda x, y: compute(x, y)
        return None

    return overloaded


for _operator, _on_floats, _on_integers in (
    (operator.add, "fadd", "add"),
    (operator.sub, "fsub", "sub"),
    (operator.mul, "fmul", "mul"),
):
    overload(_operator)(_make_operator(_on_floats, _on_integers))


def _make_choice(sign: str) -> Any:
    @intrinsic
    def choose(typing: Any, x: Any, y: Any) -> Any:
        def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
            older, newer = args
            if isinstance(x.dtype, types.Float):
                take = b.fcmp_ordered(sign, newer, older)
            else:
                take = (b.icmp_signed if x.dtype.signed else b.icmp_unsigned)(sign, newer, older)
            return b.select(take, newer, older)

        return x(x, x), codegen

    return choose


_choose_larger, _choose_smaller = _make_choice(">"), _make_choice("<")


@overload(pick_larger)
def _pick_larger(a, b):
    if isinstance(a, Lanes):
        return lambda a, b: _choose_larger(a, b)
    return lambda a, b: b if b > a else a


@overload(pick_smaller)
def _pick_smaller(a, b):
    if isinstance(a, Lanes):
        return lambda a, b: _choose_smaller(a, b)
    return lambda a, b: b if b < a else a


@intrinsic
def _quotient(typing: Any, total: Any, count: Any, share: Any) -> Any:
    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        number, by, times = args[0], _spread(b, args[1]), _spread(b, args[2])
        vector = number.type
        fma = cgutils.get_or_insert_function(b.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{WIDTH}f64")
        first = b.fmul(number, times)
        remainder = b.call(fma, [b.fneg(first), by, number])
        better = b.call(fma, [remainder, times, first])
        return b.select(b.fcmp_ordered("ord", remainder, remainder), better, first)

    return total(total, count, share), codegen


@overload(divide)
def _divide(total, count, share):
    """As in structs.py."""
    if isinstance(total, Lanes):
        return lambda total, count, share: _quotient(total, count, share)
    return None
