"""What one event costs in compiled code, counted: the slowest slide of DABA Lite is as fast as it is interpreted."""

import os

import numpy as np
import pytest

import slidewise as sw
from slidewise.registry import algorithm

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="numba is switched off"),
]

#: how often combine was called; compiled code writes it, too
CALLS = np.zeros(1, np.int64)


def count_call(place):
    """Count a call of combine, at this address."""
    CALLS[0] += 1


def counted_max():
    """The maximum, whose combine counts its calls, also where it is compiled."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, overload

    @intrinsic
    def add_one(typing, place):
        def codegen(c, b, sig, args):
            word = ir.IntType(64)
            counter = b.inttoptr(args[0], word.as_pointer())
            b.store(b.add(b.load(counter), word(1)), counter)
            return c.get_dummy_value()

        return types.void(types.int64), codegen

    overload(count_call)(lambda place: lambda place: add_one(place))
    setattr(count_call, "_intrinsic_", True)  # noqa: B010 - kernels have it as it is
    place = CALLS.ctypes.data  # part of the kernel, and of its name: another process has another one

    def combine(a, b):
        count_call(place)
        return a if a > b else b

    return type("CountedMax", (sw.Aggregation,), {
        "identity": 0.0, "lift": staticmethod(lambda x: x), "combine": staticmethod(combine),
    })()  # fmt: skip


@pytest.mark.parametrize(("name", "most"), [("daba_lite", 6), ("two_stacks_lite", 1024)])
def test_combines_of_the_slowest_slide(name, most, monkeypatch):
    """At most 6 of DABA Lite, at any size; two_stacks_lite has a slide that combines all. And nothing much moves."""
    from slidewise.templates import memory

    moved = []
    fill = memory.CompiledStructure._fill
    monkeypatch.setattr(
        memory.CompiledStructure, "_fill", lambda self, *rest: (moved.append(len(self)), fill(self, *rest))[1]
    )
    operations = memory.compile_operations(algorithm(name), counted_max(), "f8")
    assert operations is not None
    held = memory.CompiledStructure.take_over(operations.insert, sw.swag(name, sw.max()))
    slowest, CALLS[0] = 0, 0
    for k in range(20_000):
        before = int(CALLS[0])
        if operations.insert.run(held.address, 1, float(k * 7919 % 1009)):
            held.grow()
            assert not operations.insert.run(held.address, 1, float(k * 7919 % 1009))
        if len(held) > (1024 if k < 12_000 else 5000):  # a window that grows meanwhile
            operations.evict(held.address)
        assert operations.query(held.address) is not None
        slowest = max(slowest, int(CALLS[0]) - before)
    assert slowest == most if name == "daba_lite" else slowest >= most
    assert CALLS[0] < 4 * 20_000
    assert 1 <= len(moved) <= 10 and max(moved) <= memory.PAGE
