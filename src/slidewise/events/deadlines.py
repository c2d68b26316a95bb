"""What is due when, over all keys: so that a key without new rows gives its results too."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

from slidewise.events.watermark import Deadline, Mark


class Deadlines:
    """One deadline per key, the earliest first."""

    __slots__ = ("deadlines", "entries", "heap")

    def __init__(self) -> None:
        #: the deadline of each key; entries of the heap that differ from it are out of date
        self.deadlines: dict[Any, Deadline] = {}
        #: (deadline, entry number, key): the number keeps keys from being compared
        self.heap: list[tuple[Deadline, int, Any]] = []
        self.entries = 0

    def set(self, key: Any, deadline: Deadline | None) -> None:
        """Note when the key has something due. O(log keys)."""
        if deadline is None:
            self.deadlines.pop(key, None)
        elif self.deadlines.get(key) != deadline:
            self.deadlines[key] = deadline
            self.entries += 1
            heappush(self.heap, (deadline, self.entries, key))

    def due(self, mark: Mark) -> list[Any]:
        """Yield the keys that have something due, each once and then no longer on the agenda. O(log keys) each."""
        keys = []
        while self.heap and mark.meets(self.heap[0][0]):
            deadline, _, key = heappop(self.heap)
            if self.deadlines.get(key) == deadline:
                del self.deadlines[key]
                keys.append(key)
        return keys
