"""The numba half of the templates: mutable state on the stack, and columns or records indexed as tuples.

What lost: jitclass (no cache, no pickle), structref (9.9 ns per slide against 4), one-element arrays for scalars (5.5
against 4.3), one array per field of a partial (27 against 21 ns, and 5.9 s of compiling with 24 fields).
"""

from __future__ import annotations

import operator
import os
import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils, errors, imputils
from numba.core.datamodel import models
from numba.core.extending import infer_getattr, lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import intrinsic, make_attribute_wrapper, overload, register_jitable, register_model

from slidewise.aggregations.arithmetic import divide

# numba compares the signatures of overloads with those of their implementations: no annotations there.
# Its code generators take (context, builder, signature, arguments): here c, b, sig, args.


class Zipped(types.Type):
    """zip_columns(x)[i] is a tuple: x is a tuple of arrays (columns), or one array of records (slots of partials)."""

    def __init__(self, of: Any) -> None:
        self.of = of
        self.records = isinstance(of, types.Array)
        self.arity = len(of.dtype.fields) if self.records else len(of)
        super().__init__(f"Zipped({of})")


@register_model(Zipped)
class _ZippedModel(models.StructModel):
    def __init__(self, manager: Any, t: Zipped) -> None:
        super().__init__(manager, t, [("of", t.of)])


make_attribute_wrapper(Zipped, "of", "of")


def _function(source: str) -> Any:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return namespace["f"]


@overload(operator.getitem)
def _zipped_getitem(x, i):
    if not isinstance(x, Zipped):
        return None
    if x.records:
        fields = ", ".join(f"r.f{k}" for k in range(x.arity))
        return _function(f"def f(x, i):\n    r = x.of[i]\n    return ({fields},)")
    items = ", ".join(f"x.of[{k}][i]" for k in range(x.arity))
    return _function(f"def f(x, i):\n    return ({items},)")


@overload(operator.setitem)
def _zipped_setitem(x, i, v):
    if not isinstance(x, Zipped):
        return None
    if x.records:
        writes = "".join(f"    r.f{k} = v[{k}]\n" for k in range(x.arity))
        return _function(f"def f(x, i, v):\n    r = x.of[i]\n{writes}")
    return _function("def f(x, i, v):\n" + "".join(f"    x.of[{k}][i] = v[{k}]\n" for k in range(x.arity)))


@overload(len)
def _zipped_len(x):
    if not isinstance(x, Zipped):
        return None
    return _function("def f(x): return len(x.of)" if x.records else "def f(x): return len(x.of[0])")


def _inner(t: Any) -> Any:
    """Find the type inside a kernel: columns and records are zipped, everything else stays."""
    columns = isinstance(t, types.BaseTuple) and len(t) > 0 and all(isinstance(a, types.Array) for a in t)
    records = isinstance(t, types.Array) and isinstance(t.dtype, types.Record)
    return Zipped(t) if columns or records else t


def _zip_value(c: Any, b: Any, t: Any, value: Any) -> Any:
    if not isinstance(t, Zipped):
        return value
    struct = cgutils.create_struct_proxy(t)(c, b)
    struct.of = value
    return struct._getvalue()


@intrinsic
def zip_columns(typing: Any, x: Any) -> Any:
    """See names.zip_columns."""
    t = _inner(x)

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        return imputils.impl_ret_borrowed(c, b, t, _zip_value(c, b, t, args[0]))

    return t(x), codegen


@intrinsic
def prefetch(typing: Any, x: Any, i: Any) -> Any:
    """See names.prefetch."""

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = cgutils.get_or_insert_function(
            b.module, ir.FunctionType(ir.VoidType(), [byte, word, word, word]), "llvm.prefetch.p0"
        )
        columns = cgutils.create_struct_proxy(x)(c, b, value=args[0]).of
        for k, t in enumerate(x.of):
            data = cgutils.create_struct_proxy(t)(c, b, value=b.extract_value(columns, k)).data
            address = b.bitcast(b.gep(data, [args[1]]), byte)
            b.call(function, [address, word(0), word(3), word(1)])  # to read, into all caches, data
        return c.get_dummy_value()

    return types.void(x, types.uintp), codegen


@intrinsic
def _fma(typing: Any, x: Any, y: Any, z: Any) -> Any:
    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        return b.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), codegen


@overload(divide)
def _divide(total, count, share):
    """Correct a first quotient by its remainder, exact by a fused operation (Markstein): 1.2 ns where a division
    takes 1.4. An infinite total has no remainder."""
    if not isinstance(total, types.Number):
        return None

    def quotient(total, count, share):
        first = total * share
        remainder = _fma(-first, count, total)
        return _fma(remainder, share, first) if remainder == remainder else first

    return quotient


class Slots(types.Type):
    """The elements of a state's array: records as tuples, no reference counts, and no negative indices.

    Arrays themselves lost: a template too large to be inlined counts references in every function and looks at the
    sign of every index (fiba: 64 ns per slide against 35).
    """

    def __init__(self, of: Any) -> None:
        self.dtype = of.dtype
        super().__init__(f"Slots({of.dtype})")

    @property
    def element(self) -> Any:
        """What indexing gives."""
        if isinstance(self.dtype, types.Record):
            return types.Tuple([f.type for f in self.dtype.fields.values()])
        return self.dtype


@register_model(Slots)
class _SlotsModel(models.StructModel):
    def __init__(self, manager: Any, t: Slots) -> None:
        super().__init__(manager, t, [("data", types.CPointer(t.dtype)), ("size", types.intp)])


make_attribute_wrapper(Slots, "size", "size")


def _places(c: Any, b: Any, t: Slots, slots: Any, i: Any) -> list[tuple[Any, Any]]:
    """Find the type and the address of each field of element i."""
    pointer = b.gep(cgutils.create_struct_proxy(t)(c, b, value=slots).data, [i])
    if not isinstance(t.dtype, types.Record):
        return [(t.dtype, pointer)]
    return [
        (f.type, cgutils.get_record_member(b, pointer, f.offset, c.get_data_type(f.type)))
        for f in t.dtype.fields.values()
    ]


@intrinsic
def _load(typing: Any, slots: Any, i: Any) -> Any:
    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        values = [c.unpack_value(b, t, pointer) for t, pointer in _places(c, b, slots, *args)]
        return c.make_tuple(b, slots.element, values) if isinstance(slots.dtype, types.Record) else values[0]

    return slots.element(slots, types.intp), codegen


@intrinsic
def _store(typing: Any, slots: Any, i: Any, value: Any) -> Any:
    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        places = _places(c, b, slots, *args[:2])
        values = cgutils.unpack_tuple(b, args[2]) if isinstance(slots.dtype, types.Record) else [args[2]]
        for (t, pointer), v in zip(places, values, strict=True):
            c.pack_value(b, t, v, pointer)
        return c.get_dummy_value()

    return types.void(slots, types.intp, slots.element), codegen


@overload(operator.getitem)
def _slots_getitem(x, i):
    if isinstance(x, Slots):
        return lambda x, i: _load(x, i)
    return None


@overload(operator.setitem)
def _slots_setitem(x, i, v):
    if isinstance(x, Slots):
        return lambda x, i, v: _store(x, i, v)
    return None


@overload(len)
def _slots_len(x):
    if isinstance(x, Slots):
        return lambda x: x.size
    return None


class Fields(types.Type):
    """The body of an open state: its fields by name."""

    def __init__(self, fields: tuple[tuple[str, Any], ...]) -> None:
        self.fields = dict(fields)
        super().__init__(f"Fields({fields})")


@register_model(Fields)
class _FieldsModel(models.StructModel):
    def __init__(self, manager: Any, t: Fields) -> None:
        super().__init__(manager, t, list(t.fields.items()))


class OpenState(types.Type):
    """A pointer to a state's fields on the caller's stack; LLVM keeps them in registers."""

    def __init__(self, closed: Any) -> None:
        self.closed = closed
        kinds = (Slots(t) if isinstance(t, types.Array) else t for t in closed.types)
        self.body = Fields((*zip(closed.fields, kinds, strict=True), ("closed state", closed)))
        # numba takes types of equal names for one, and names a tuple's types but neither its fields nor its module.
        super().__init__(f"OpenState({closed.instance_class.__module__}, {self.body})")


@register_model(OpenState)
class _OpenStateModel(models.PrimitiveModel):
    def __init__(self, manager: Any, t: OpenState) -> None:
        super().__init__(manager, t, manager.lookup(t.body).get_value_type().as_pointer())


def _body(c: Any, b: Any, t: OpenState, pointer: Any) -> Any:
    return cgutils.create_struct_proxy(t.body)(c, b, ref=pointer)


@infer_getattr
class _Attribute(AttributeTemplate):
    key = OpenState

    def generic_resolve(self, t: OpenState, attr: str) -> Any:
        return t.body.fields.get(attr)


@lower_getattr_generic(OpenState)
def _getattr(c: Any, b: Any, t: OpenState, pointer: Any, attr: str) -> Any:
    return imputils.impl_ret_borrowed(c, b, t.body.fields[attr], getattr(_body(c, b, t, pointer), attr))


@lower_setattr_generic(OpenState)
def _setattr(c: Any, b: Any, sig: Any, args: Any, attr: str) -> None:
    t, value_type = sig.args
    field = t.body.fields[attr]
    if isinstance(field, Slots):
        raise errors.LoweringError(f"{attr} holds many elements: a kernel writes into it, never replaces it")
    setattr(_body(c, b, t, args[0]), attr, c.cast(b, args[1], value_type, field))


@intrinsic
def open_state(typing: Any, closed: Any) -> Any:
    """See names.open_state."""
    t = OpenState(closed)

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        pointer = cgutils.alloca_once(b, c.get_value_type(t.body))
        body = _body(c, b, t, pointer)
        for k, name in enumerate(closed.fields):
            value = b.extract_value(args[0], k)
            if isinstance(closed.types[k], types.Array):
                array = cgutils.create_struct_proxy(closed.types[k])(c, b, value=value)
                slots = cgutils.create_struct_proxy(t.body.fields[name])(c, b)
                slots.data, slots.size = array.data, array.nitems
                value = slots._getvalue()
            setattr(body, name, value)
        setattr(body, "closed state", args[0])  # its arrays are borrowed: the kernel's caller holds them
        return pointer

    return t(closed), codegen


@intrinsic
def close_state(typing: Any, s: Any) -> Any:
    """See names.close_state."""

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        body = _body(c, b, s, args[0])
        before = getattr(body, "closed state")
        values = [
            b.extract_value(before, k) if isinstance(t, types.Array) else getattr(body, name)
            for k, (name, t) in enumerate(zip(s.closed.fields, s.closed.types, strict=True))
        ]
        return imputils.impl_ret_borrowed(c, b, s.closed, c.make_tuple(b, s.closed, values))

    return s.closed(s), codegen


def same(a, b):
    """See names.same."""
    raise RuntimeError("only inside kernels")


@overload(same)
def _same(a, b):
    """Equal in every field, with NaN equal to itself."""
    if isinstance(a, types.BaseTuple):
        test = " and ".join(f"(a[{k}] == b[{k}] or (a[{k}] != a[{k}] and b[{k}] != b[{k}]))" for k in range(len(a)))
        return _function(f"def f(a, b): return {test}")
    return lambda a, b: a == b or (a != a and b != b)


# ---- two threads that share a state's arrays
def _address(c: Any, b: Any, t: Slots, slots: Any, i: Any) -> Any:
    return b.gep(cgutils.create_struct_proxy(t)(c, b, value=slots).data, [i])


@intrinsic
def publish(typing: Any, signals: Any, i: Any, value: Any) -> Any:
    """See names.publish."""

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        b.store_atomic(args[2], _address(c, b, signals, *args[:2]), "release", 8)
        return c.get_dummy_value()

    return types.void(signals, types.intp, types.int64), codegen


@intrinsic
def observe(typing: Any, signals: Any, i: Any) -> Any:
    """See names.observe."""

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        return b.load_atomic(_address(c, b, signals, *args), "acquire", 8)

    return types.int64(signals, types.intp), codegen


@intrinsic
def relax(typing: Any, spins: Any) -> Any:
    """See names.relax: give way to the core's other thread, and every so often to who else waits for the core."""

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        if platform.machine().lower() in ("x86_64", "amd64"):
            nothing = ir.FunctionType(ir.VoidType(), [])
            b.call(cgutils.get_or_insert_function(b.module, nothing, "llvm.x86.sse2.pause"), [])
        if os.name == "posix":
            often = b.and_(args[0], args[0].type(_SPINS - 1))
            with b.if_then(b.icmp_signed("==", often, args[0].type(_SPINS - 1)), likely=False):
                number = ir.FunctionType(ir.IntType(32), [])
                b.call(cgutils.get_or_insert_function(b.module, number, "sched_yield"), [])
        return c.get_dummy_value()

    return types.void(types.intp), codegen


#: a power of two; 256 pauses take about 10 us
_SPINS = 256

__all__ = [
    "close_state",
    "observe",
    "open_state",
    "prefetch",
    "publish",
    "register_jitable",
    "relax",
    "same",
    "zip_columns",
]
