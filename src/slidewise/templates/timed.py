"""Times that can be searched, for structures that answer ranges of time.

`_times` is a list in the order of time. Its last len(self) entries belong to the values held; those of evicted values
stand before them and are cut off when they are the larger part, so that an eviction is O(1) amortised and a list, which
bisect searches in O(log n), can be a queue.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from slidewise.errors import InvalidInput

if TYPE_CHECKING:
    from slidewise.templates.interpret import Swag as Base
else:
    Base = object


class Timed(Base):
    """query(start, end), oldest and youngest, for structures with `_range(lo, hi)`: the partial of times lo to hi - 1."""

    __slots__ = ()
    _times: list[Any] | None  # type: ignore[assignment]

    def query(self, *argument: Any, start: Any = None, end: Any = None) -> Any:
        """The aggregate of all values: query(). Of those with start <= time <= end: query(start, end), O(log n).

        Either end may be None: no bound. An argument of the aggregation's lower comes last: query(x), or
        query(start, end, x).
        """
        if len(argument) > 1:
            start, end, *rest = argument
            argument = tuple(rest)
        if start is None and end is None:
            partial = self.functions["query"](self)
        else:
            partial = self._range(*self._between(start, end))
        return self.functions["lower"](partial, *argument)

    def _range(self, lo: int, hi: int) -> Any:
        raise NotImplementedError

    @property
    def oldest(self) -> Any:
        """The time of the oldest value held; None where there is none."""
        return self._times[-len(self)] if self._times and len(self) else None

    @property
    def youngest(self) -> Any:
        """The time of the youngest value held; None where there is none."""
        return self._times[-1] if self._times and len(self) else None

    def _first(self) -> int:
        """Where in `_times` the oldest value's time is."""
        return len(self._times) - len(self) if self._times else 0

    def _place(self, time: Any) -> int:
        """Where in `_times` a new value's time goes: after all that are not greater. O(log n)."""
        if self._times is None:
            if len(self):
                raise InvalidInput(
                    "the values held have no times: give a time with every insert, or with none"
                )
            self._times = []
        if time is None or time != time:
            raise InvalidInput(f"insert: a time that can be ordered is needed with every value, got {time!r}")
        return bisect_right(self._times, time, self._first())

    def _up_to(self, time: Any) -> int:
        """Where the times up to and including this one end. O(log n)."""
        if self._times is None:
            if len(self):
                raise InvalidInput("the values held have no times. Insert them with insert(value, time=t)")
            return 0
        return bisect_right(self._times, time, self._first())

    def _between(self, start: Any, end: Any) -> tuple[int, int]:
        """Where the times from start to end are, both included. O(log n)."""
        if start is not None and end is not None and start > end:
            raise InvalidInput(f"query: the range starts at {start!r}, after its end {end!r}. Swap the two")
        hi = self._up_to(end) if end is not None else len(self._times or ())
        if start is None or not self._times:
            return self._first(), hi
        return bisect_left(self._times, start, self._first()), hi
