"""The numba half of state that outlives a call: a block of memory, opened by its address alone.

A call into compiled code takes 0.1 us with an integer and a float, and 0.35 to 0.7 with two arrays. A block is a run of
words of 8 bytes, laid out as the struct that an open state points to: a template reads and writes it in place, and
nothing is copied. memory.py is the half that Python has.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, overload, register_model

from slidewise.templates.structs import Fields, OpenState, Slots

# As in structs.py: no annotations where numba compares signatures, and c, b, sig, args.


class Pages(types.Type):
    """A queue of a block: pages of a power of two elements, found through a table of their addresses."""

    def __init__(self, element: Any) -> None:
        self.element = element
        self.parts = list(element) if isinstance(element, types.BaseTuple) else [element]
        super().__init__(f"Pages({element})")


@register_model(Pages)
class _PagesModel(models.StructModel):
    def __init__(self, manager: Any, t: Pages) -> None:
        members = [("table", types.CPointer(types.int64)), ("shift", types.int64), ("mask", types.int64)]
        super().__init__(manager, t, [*members, ("turns", types.int64)])


class Block(OpenState):
    """A pointer to the fields of a state that lie in memory of their own."""

    def __init__(self, layout: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.body = Fields(fields)
        types.Type.__init__(self, f"Block({layout}, {self.body})")


@register_model(Block)
class _BlockModel(models.PrimitiveModel):
    def __init__(self, manager: Any, t: Block) -> None:
        super().__init__(manager, t, manager.lookup(t.body).get_value_type().as_pointer())


@intrinsic(prefer_literal=True)
def open_block(typing: Any, address: Any, layout: Any, identity: Any, time: Any) -> Any:
    """See names.open_block."""
    partial, moment = types.unliteral(identity), types.unliteral(time)
    kinds = {
        "int": types.int64,
        "Partial": partial,
        "Queue": Pages(partial),
        "Sorted": Slots(types.Array(partial[-1], 1, "C")),
        "float": types.float64,
        "Moment": moment,
        "Moments": Pages(moment),
    }
    fields = (field.split(":") for field in layout.literal_value.split())
    t = Block(layout.literal_value, tuple((name, kinds[kind]) for name, kind in fields))

    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        return b.inttoptr(args[0], c.get_value_type(t))

    return t(types.int64, layout, identity, time), codegen


def _places(c: Any, b: Any, t: Pages, pages: Any, i: Any) -> list[tuple[Any, Any]]:
    """Find the type and the address of each part of the element at position i."""
    queue = cgutils.create_struct_proxy(t)(c, b, value=pages)
    word = ir.IntType(64)
    page = b.load(b.gep(queue.table, [b.and_(b.lshr(i, queue.shift), queue.turns)]))
    begin = b.add(page, b.mul(b.and_(i, queue.mask), word(8 * len(t.parts))))
    return [
        (part, b.inttoptr(b.add(begin, word(8 * k)), c.get_data_type(part).as_pointer()))
        for k, part in enumerate(t.parts)
    ]


@intrinsic
def _load(typing: Any, pages: Any, i: Any) -> Any:
    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        values = [c.unpack_value(b, part, pointer) for part, pointer in _places(c, b, pages, *args)]
        return c.make_tuple(b, pages.element, values) if isinstance(pages.element, types.BaseTuple) else values[0]

    return pages.element(pages, types.int64), codegen


@intrinsic
def _store(typing: Any, pages: Any, i: Any, value: Any) -> Any:
    def codegen(c: Any, b: Any, sig: Any, args: Any) -> Any:
        values = cgutils.unpack_tuple(b, args[2]) if isinstance(pages.element, types.BaseTuple) else [args[2]]
        for (part, pointer), v in zip(_places(c, b, pages, *args[:2]), values, strict=True):
            c.pack_value(b, part, v, pointer)
        return c.get_dummy_value()

    return types.void(pages, types.int64, pages.element), codegen


@overload(operator.getitem)
def _pages_getitem(x, i):
    if isinstance(x, Pages):
        return lambda x, i: _load(x, i)
    return None


@overload(operator.setitem)
def _pages_setitem(x, i, v):
    if isinstance(x, Pages):
        return lambda x, i, v: _store(x, i, v)
    return None
