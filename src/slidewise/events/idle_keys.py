"""Keys whose rows have all left their windows: found so that what is held for them can be released."""

from __future__ import annotations

from typing import Any


class IdleKeys:
    """Every key that holds rows, in buckets by the time of one of them: 8 bytes a key, nothing to do for other rows.

    When the time of a bucket has passed, its keys are looked at: those that have had rows since then go into the bucket
    of their newest row, and the others are idle. So a key is found at most a quarter of the reach after its last row
    has left, and looked at no more than once in so long. A deadline per key, exact, took 230 bytes, and a heap's step
    for each row.
    """

    __slots__ = ("buckets", "next", "reach", "width")

    def __init__(self, reach: Any) -> None:
        #: how long after its time a row may still be in a frame, and the width of a bucket
        self.reach = reach
        self.width = reach / 4 if isinstance(reach, float) else reach // 4 or reach
        self.buckets: dict[Any, list[Any]] = {}
        #: the time after which a bucket is due
        self.next: Any = None

    def watch(self, key: Any, time: Any) -> None:
        """Look at the key when rows of this time have left. O(1)."""
        bucket = time // self.width if self.width else time
        keys = self.buckets.get(bucket)
        if keys is None:
            self.buckets[bucket] = [key]
            self._schedule()
        else:
            keys.append(key)

    def is_due(self, time: Any) -> bool:
        """Tell whether there are keys to look at, now that rows come after `time` only. O(1)."""
        return self.next is not None and bool(self.next < time)

    def take_due(self, time: Any) -> list[Any]:
        """Return the keys to look at, now that rows come after `time` only; each is no longer watched. O(keys)."""
        found: list[Any] = []
        while self.is_due(time):
            found += self.buckets.pop(min(self.buckets))
            self._schedule()
        return found

    def _schedule(self) -> None:
        first = min(self.buckets, default=None)
        self.next = None if first is None else ((first + 1) * self.width if self.width else first) + self.reach
