"""What the holistic structures share: they keep the values themselves and lift nothing.

A null is queued, and so counted by len(), but never handed to a structure. NaN is handed over as GREATEST,
which `<` puts above everything and which equals itself: no structure needs a rule for NaN.
"""

from typing import Any

from slidewise.aggregations.values import NAN, hashable, plain
from slidewise.errors import InvalidInput


class Greatest:
    """What stands for NaN: above every other value, of any type."""

    __slots__ = ()

    def __lt__(self, other: Any) -> bool:
        return False

    def __gt__(self, other: Any) -> Any:  # Python asks this for `other < GREATEST`
        return other is not self

    def __repr__(self) -> str:
        return "GREATEST"


GREATEST = Greatest()


def to_key(value: Any) -> Any:
    """Turn a value into what is kept: None for a null, GREATEST for NaN, 0.0 for -0.0."""
    kind = type(value)
    if kind is int or kind is str or value is None:
        return value
    value = plain(value)
    if value is NAN:
        return GREATEST
    return value + 0.0 if type(value) is float else value


def to_value(key: Any) -> Any:
    """Turn a kept value into what is given out."""
    return NAN if key is GREATEST else key


def require_comparable(key: Any, other: Any) -> Any:
    """Raise TypeError where two keys have no order, before a structure that compares later has changed."""
    return key < other


def share_little(last: tuple[int, int], frame: tuple[int, int]) -> bool:
    """Tell whether more rows of the last frame leave than stay: starting over is then less work than going on.

    >>> share_little((0, 10), (5, 15)), share_little((0, 10), (6, 16)), share_little((0, 10), (20, 30))
    (False, True, True)
    """
    shared = max(0, min(last[1], frame[1]) - max(last[0], frame[0]))
    return last[1] - last[0] > 2 * shared


class OfRawValues:
    """The public methods of a structure of values. Its state has `queue`, a deque of the window's
    keys, the oldest first.

    The structure's module has insert(s, key), evict(s), query(s, *argument), size(s), check(s, keys that
    are not null), and count_held(s), the number of values (or counts) that it keeps beside the queue.
    """

    __slots__ = ()

    def insert(self: Any, value: Any, time: Any = None) -> None:
        """Add a value, younger than all others."""
        key = to_key(value)
        if time is not None or self._times is not None:
            self._insert_time(time)
        try:
            self.functions["insert"](self, key)
        except TypeError as error:  # raised by the first comparison or hash, before anything has changed
            if self._times is not None:
                self._times.pop()
            raise InvalidInput(
                f"{self.aggregation.name}: {value!r} does not go with the values held: {error}. "
                "Values must be hashable for counting, and comparable with each other for ordering"
            ) from error

    def query(self: Any, *argument: Any) -> Any:
        """Compute the aggregate of the values held; a fraction or rank as argument goes to the aggregation's rule."""
        return self.functions["query"](self, *argument)

    def window(self: Any) -> Any:
        """List the values of the window, the oldest first; nulls are None. O(n)."""
        return [to_value(key) for key in self.queue]

    def partials(self: Any) -> Any:
        """Tell how many values, or counts of values, are kept beside the queue: the algorithm's space."""
        return self.functions["count_held"](self)

    # for to_bytes(): the answer depends on the window alone, so that inserting its values again will do
    def _save(self: Any) -> Any:
        return self.window()

    def _restore(self: Any, plain: Any) -> None:
        for value in plain:
            self.functions["insert"](self, to_key(value))

    def _sound(self: Any) -> bool:
        return True  # however the values were chosen, they were inserted one by one

    def check(self: Any, values: Any = None) -> None:
        """Verify the structure's invariant and that it holds just the window; for tests."""
        if values is not None:
            assert list(self.queue) == [to_key(v) for v in values]
        self.functions["check"](self, [key for key in self.queue if key is not None])


class OfCountedValues(OfRawValues):
    """As OfRawValues, for structures that have a table of the values."""

    __slots__ = ()

    def _restore(self: Any, plain: Any) -> None:
        from slidewise.serialization.codec import require_told_apart  # loads on first use

        require_told_apart([hashable(value) for value in plain])
        super()._restore(plain)
