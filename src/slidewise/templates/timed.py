"""Times that can be searched, for structures that answer ranges of time.

`_times` is a list in the order of time. Its last len(self) entries belong to the values held; those of
evicted values stand before them and are cut off when they are the larger part, so that an eviction is O(1)
amortised and a list, which bisect searches in O(log n), can be a queue.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import Any

from slidewise.errors import InvalidInput

# self is Any: what a mixin of a Swag works on is known only when the class is made.


class Timed:
    """query(start, end), oldest, youngest; a structure adds _range(lo, hi), the partial of _times[lo:hi]."""

    __slots__ = ()

    def query(self: Any, *argument: Any, start: Any = None, end: Any = None) -> Any:
        """Aggregate all values: query(). Those with start <= time <= end: query(start, end).

        O(log n). Either end may be None: no bound. An argument of the aggregation's lower comes last:
        query(x), or query(start, end, x).
        """
        start, end, argument = split_range(argument, start, end)
        if start is None and end is None:
            partial = self._step("query")
        else:
            partial = self._range(*self._between(start, end))
        return self.functions["lower"](partial, *argument)

    def _sound_times(self: Any) -> bool:
        times = self._times
        return times is None or (
            type(times) is list
            and len(times) >= len(self)
            and all(t is not None and t == t for t in times)
            and not any(b < a for a, b in pairwise(times[len(times) - len(self) :]))
        )

    @property
    def oldest(self: Any) -> Any:
        """The time of the oldest value held; None where there is none."""
        return self._times[-len(self)] if self._times and len(self) else None

    @property
    def youngest(self: Any) -> Any:
        """The time of the youngest value held; None where there is none."""
        return self._times[-1] if self._times and len(self) else None

    def _first(self: Any) -> int:
        """Where in `_times` the oldest value's time is."""
        return len(self._times) - len(self) if self._times else 0

    def _place(self: Any, time: Any) -> int:
        """Where in `_times` a new value's time goes: after all that are not greater. O(log n)."""
        if self._times is None:
            if len(self):
                raise InvalidInput("the values held have no times: give a time with every insert, or with none")
            self._times: list[Any] = []
        if time is None or time != time:
            raise InvalidInput(f"insert: a time that can be ordered is needed with every value, got {time!r}")
        return bisect_right(self._times, time, self._first())

    def _up_to(self: Any, time: Any) -> int:
        """Where the times up to and including this one end. O(log n)."""
        if self._times is None:
            if len(self):
                raise InvalidInput("the values held have no times. Insert them with insert(value, time=t)")
            return 0
        _require_place("evict", time)
        return bisect_right(self._times, time, self._first())

    def _between(self: Any, start: Any, end: Any) -> tuple[int, int]:
        """Where the times from start to end are, both included. O(log n)."""
        for bound in (start, end):
            _require_place("query", bound)
        if start is not None and end is not None and start > end:
            raise InvalidInput(f"query: the range starts at {start!r}, after its end {end!r}. Swap the two")
        hi = self._up_to(end) if end is not None else len(self._times or ())
        if start is None or not self._times:
            return self._first(), hi
        return bisect_left(self._times, start, self._first()), hi


def split_range(argument: tuple[Any, ...], start: Any, end: Any) -> tuple[Any, Any, tuple[Any, ...]]:
    """Split what query() was given into the range, by position or by name, and the argument of lower."""
    if len(argument) < 2:
        return start, end, argument
    if start is not None or end is not None:
        raise InvalidInput(
            f"query: the range is given by position and by name: {argument[0]!r} to {argument[1]!r}, "
            f"and start={start!r}, end={end!r}. Give it once"
        )
    return argument[0], argument[1], argument[2:]


def _require_place(operation: str, time: Any) -> None:
    """Refuse NaN: bisect would put it somewhere, and the answer would be that of another range."""
    if time != time:
        raise InvalidInput(f"{operation}: {time!r} has no place in the order of times")
