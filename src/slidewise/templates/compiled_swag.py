"""A bare structure of numbers in compiled code: its operations one by one, each a call.

A class of structures for which there is such code has both ways, and asks at every call which one holds the values now:
methods that were taken from an object before it went the other way stay right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slidewise.templates import background
from slidewise.templates.slide import FULL

if TYPE_CHECKING:
    from slidewise.templates.interpret import Swag
    from slidewise.templates.memory import CompiledStructure, Operations

_KINDS = {float: "f8", int: "i8"}
#: a structure has had so many values more before it is seen whether there is compiled code; a power of two
AGAIN = 1024


class Running:
    """A structure while compiled code holds its values."""

    __slots__ = ("address", "evict", "insert", "kind", "nothing", "query", "structure")

    def __init__(self, structure: CompiledStructure, operations: Operations, kind: type) -> None:
        self.structure, self.address = structure, structure.address
        self.insert, self.evict, self.query = structure.run, operations.evict, operations.query
        #: what values are, and what stands for a null
        self.kind, self.nothing = kind, kind()

    def take(self, swag: Swag, value: Any) -> bool:
        """Insert a value; False, and nothing has changed, where compiled code does not hold it as Python does. O(1)."""
        row = (0, self.nothing) if value is None else (1, value)
        if value is not None and type(value) is not self.kind:
            return False
        try:
            status = self.insert(self.address, *row)
        except OverflowError:  # more than 64 bits, which is found out before anything is done
            return False
        if status == FULL:
            with _unless_interrupted(swag):
                self.structure.grow()
            status = self.insert(self.address, *row)
        return not status


def add_compiled_way(plain: type[Swag]) -> type[Swag]:
    """Make the class of structures that go on in compiled code where their values are numbers of one type."""
    insert_plainly, evict_plainly, query_plainly = plain.insert, plain.evict, plain.query

    def begin(self: Any, **options: Any) -> None:
        #: what compiled code holds in place of the fields; None: nothing
        self._running = None
        plain.__init__(self, **options)

    def insert(self: Any, value: Any, time: Any = None) -> None:
        running = self._running
        if running is not None:
            if time is None:
                if type(value) is float is running.kind and not running.insert(running.address, 1, value):
                    return
                if running.take(self, value):
                    return
            settle(self)
        insert_plainly(self, value, time)
        if not self.end & AGAIN - 1:
            look(self, value)

    def evict(self: Any, time: Any = None) -> None:
        running = self._running
        if running is not None:
            if time is None and not running.evict(running.address):
                return
            settle(self)
        evict_plainly(self, time)

    def query(self: Any, *argument: Any) -> Any:
        running = self._running
        if running is not None:
            if not argument:
                return running.query(running.address)
            settle(self)
        return query_plainly(self, *argument)

    def size(self: Any) -> int:
        return plain.__len__(self) if self._running is None else len(self._running.structure)

    methods: dict[str, Any] = {"insert": insert, "evict": evict, "query": query}
    for name, method in methods.items():
        method.__doc__, method.__qualname__ = getattr(plain, name).__doc__, f"Swag.{name}"
    for base in reversed(plain.__mro__[:-1]):
        for name, found in vars(base).items():
            if callable(found) and name not in methods and (not name.startswith("__") or name == "__reduce_ex__"):
                methods[name] = _settling(found)
    methods["__reduce_ex__"] = _settling(object.__reduce_ex__)
    body = {"__slots__": ("_running",), "__init__": begin, "__len__": size, **methods}
    return type(plain.__name__, (plain,), body)


def _settling(method: Any) -> Any:
    def settled(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._running is not None:
            settle(self)
        return method(self, *args, **kwargs)

    settled.__doc__ = method.__doc__
    return settled


def look(swag: Any, value: Any) -> None:
    """Let a structure go on compiled, if there is code for its numbers. O(1), and once O(n).

    Of many values it is seen less often: each time that it settled, all of them were handed over.
    """
    rarely = swag.end // AGAIN % max(1, (swag.end - swag.front) // AGAIN) == 0
    if type(value) not in _KINDS or not rarely or swag._times is not None:
        return
    operations = background.ask_for_operations(
        swag.entry, swag.aggregation, _KINDS[type(value)], wait=swag.end < background.AFTER
    )
    if operations is not None:
        from slidewise.templates.memory import CompiledStructure

        structure = CompiledStructure.take_over(operations.insert, swag)
        if structure is not None:
            swag._running = Running(structure, operations, type(value))


def settle(swag: Any) -> None:
    """Let a structure be what it would be had it been interpreted all along. O(n)."""
    with _unless_interrupted(swag):
        swag._running.structure.give_back()
        swag._running = None


def _unless_interrupted(swag: Any) -> Any:
    """Spoil a structure of which Ctrl-C leaves half of its values here and half there."""
    from slidewise.templates.interpret import unless_spoiled  # which imports this module

    return unless_spoiled(swag)
