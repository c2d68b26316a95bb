"""The public operations of fiba: values by their times, in any order."""

from typing import Any

from slidewise.errors import InvalidInput
from slidewise.templates.timed import split_range


class FibaTimes:
    """Values by their times, in any order."""

    __slots__ = ()

    def _sound_times(self: Any) -> bool:
        return self._times is None  # they are in the tree

    def insert(self: Any, value: Any, time: Any = None) -> None:
        """Add a value at its time, after others of the same time; without a time, after all others.

        Amortised O(log d), d the distance to the nearer end of the window: O(1) in order. Values without times
        have their positions in the stream as times, 0 for the first.

        >>> import slidewise as sw
        >>> s = sw.swag("fiba", sw.max())
        >>> s.insert(3.0, time=10); s.insert(9.0, time=30); s.insert(5.0, time=20)
        >>> s.query(), s.query(10, 20), s.oldest, s.youngest
        (9.0, 5.0, 10, 30)
        """
        partial = self.functions["lift"](value)
        _choose_clock(self, time is not None)
        if time is None:
            self._step("insert", partial)
        else:
            _require_ordered(self, "insert", time)
            self._step("insert_timed", time, partial)

    def evict(self: Any, time: Any = None) -> None:
        """Remove the oldest value, amortised O(1); with a time, every value of that time or older, as bulk_evict."""
        if time is not None:
            self.bulk_evict(time)
        elif self.held == 0:
            raise InvalidInput(f"evict: the window of {self.entry.name} is empty")
        else:
            self._step("evict")

    def remove(self: Any, time: Any) -> None:
        """Remove every value of exactly this time: amortised O(log n) for each."""
        if self.held:
            _require_ordered(self, "remove", time)
        before = self.held
        while self.held:
            node, k = self.functions["find"](self, time)
            if node < 0:
                break
            self._step("remove", node, k)
        if self.held < before:
            return
        raise InvalidInput(
            f"remove: no value of time {time!r} is held. "
            f"evict(time={time!r}) removes all that is of that time or older, if there is any"
        )

    def query(self: Any, *argument: Any, start: Any = None, end: Any = None) -> Any:
        """Aggregate all values: query(). Those with start <= time <= end: query(start, end).

        2 combines for all, O(log n) for a range. Either end may be None: no bound. An argument of the aggregation's
        lower comes last: query(x), or query(start, end, x).

        >>> import slidewise as sw
        >>> s = sw.swag("fiba", sw.max())
        >>> s.bulk_insert([(10, 3.0), (20, 5.0), (30, 4.0)])
        >>> s.query(10, 20), s.query(start=30), s.query(end=10)
        (5.0, 4.0, 3.0)
        """
        lower = self.functions["lower"]
        start, end, argument = split_range(argument, start, end)
        if start is None and end is None:
            return lower(self.functions["query"](self), *argument)
        if self.held == 0:
            return lower(None, *argument)
        for bound in (start, end):
            if bound is not None:
                _require_ordered(self, "query", bound)
        if start is None:
            start = self.oldest if end is None or self.oldest < end else end
        if end is None:
            end = self.youngest if start < self.youngest else start
        if end < start:
            raise InvalidInput(
                f"query: the range starts at {start!r}, after its end {end!r}. Give the older time first"
            )
        return lower(self.functions["product"](self, start, end), *argument)

    def bulk_insert(self: Any, entries: Any) -> None:
        """Add m (time, value) pairs, in any order: O(log d + m (1 + log(d/m))) combines, d from the oldest to the end.

        >>> import slidewise as sw
        >>> s = sw.swag("fiba", sw.max())
        >>> s.bulk_insert([(3, 7.0), (1, 5.0), (2, 6.0)])
        >>> s.bulk_evict(1)
        >>> s.query(), len(s)
        (7.0, 2)
        """
        lift = self.functions["lift"]
        lifted = [(time, lift(value)) for time, value in entries]
        if lifted:
            for time, _ in lifted:
                _require_ordered(self, "bulk_insert", time)
            try:
                lifted.sort(key=lambda entry: entry[0])
            except TypeError as error:
                raise InvalidInput(f"bulk_insert: the times of one window must have one order, and {error}") from None
            _choose_clock(self, True)
            self._step("insert_many", lifted)

    def bulk_evict(self: Any, time: Any) -> None:
        """Remove every value of this time or older: O(log n) combines, however many leave."""
        if self.held:
            _require_ordered(self, "evict", time)
            self._step("evict_up_to", time)

    @property
    def oldest(self: Any) -> Any:
        """The time of the oldest value held; None where there is none."""
        return self.functions["oldest"](self) if self.held else None

    @property
    def youngest(self: Any) -> Any:
        """The time of the youngest value held; None where there is none."""
        return self.functions["youngest"](self) if self.held else None


def _choose_clock(swag: Any, timed: Any) -> None:
    if swag.held == 0:
        swag.timed = int(timed)
    elif swag.timed != timed:
        held, given = ("have times", "has none") if swag.timed else ("have no times", "has one")
        raise InvalidInput(
            f"insert: the values held {held} and this one {given}. Give a time with every insert, or with none"
        )


def _require_ordered(swag: Any, operation: Any, time: Any) -> None:
    """Refuse a time that has no place among those held, before anything changes."""
    try:
        if time == time and (swag.held == 0 or time < swag.youngest or not time < swag.youngest):
            return
        reason = "it is not equal to itself"
    except TypeError as error:
        reason = str(error)
    raise InvalidInput(
        f"{operation}: {time!r} cannot be ordered among the times held: {reason}. Use one kind of time, without NaN"
    )
