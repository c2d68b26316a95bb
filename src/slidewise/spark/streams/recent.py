"""Recent: what a process has read or written of state, up to so many bytes; the oldest goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """Values by a name that no other value has, such as their checksum."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes, self._bytes = most_bytes, 0
        self._values: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()

    def find(self, name: Hashable) -> T | None:
        """Find a value, which stays."""
        found = self._values.get(name)
        return None if found is None else found[0]

    def take(self, name: Hashable) -> T | None:
        """Take a value out: it may be changed then."""
        found = self._values.pop(name, None)
        if found is None:
            return None
        self._bytes -= found[1]
        return found[0]

    def put(self, name: Hashable, value: T, size: int) -> None:
        """Put a value of so many bytes in. One that does not fit drives no others out."""
        self.take(name)
        if size > self.most_bytes:
            return
        self._values[name] = value, size
        self._bytes += size
        while self._bytes > self.most_bytes:
            _, (_, size) = self._values.popitem(last=False)
            self._bytes -= size

    def clear(self) -> None:
        """Forget all: what is needed is read again."""
        self._values.clear()
        self._bytes = 0
