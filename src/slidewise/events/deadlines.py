"""What is due when, over all keys: so that a key without new rows gives its results too."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

from slidewise.events.watermark import Deadline, Mark


class Deadlines:
    """One deadline per key, the earliest first; keys of equal deadline in the order in which it was set.

    A heap of the different deadlines: boundaries of time are those of many keys, and an entry of its own for each took
    150 bytes a key.
    """

    __slots__ = ("deadlines", "heap", "keys")

    def __init__(self) -> None:
        #: the deadline of each key; keys in lists of others are out of date there
        self.deadlines: dict[Any, Deadline] = {}
        self.heap: list[Deadline] = []
        #: for each deadline in the heap: the deadline, which all of its keys refer to, and then the keys
        self.keys: dict[Deadline, list[Any]] = {}

    def set(self, key: Any, deadline: Deadline | None) -> None:
        """Note when the key has something due. O(log deadlines)."""
        if deadline is None:
            self.deadlines.pop(key, None)
        elif self.deadlines.get(key) != deadline:
            entry = self.keys.get(deadline)
            if entry is None:
                heappush(self.heap, deadline)
                entry = self.keys[deadline] = [deadline]
            entry.append(key)
            self.deadlines[key] = entry[0]

    def is_due(self, mark: Mark) -> bool:
        """Tell whether any key may have something due. O(1)."""
        if not self.heap:
            return False
        (time, complete), (now, inclusive) = self.heap[0], mark
        return bool(time < now or (time == now and (inclusive or not complete)))

    def due(self, mark: Mark) -> list[Any]:
        """List the keys that have something due, each once and then no longer on the agenda. O(log deadlines) each."""
        keys = []
        while self.heap and mark.meets(self.heap[0]):
            deadline = heappop(self.heap)
            for key in self.keys.pop(deadline)[1:]:
                if self.deadlines.get(key) == deadline:
                    del self.deadlines[key]
                    keys.append(key)
        return keys
