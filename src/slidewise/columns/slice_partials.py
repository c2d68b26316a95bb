"""Partials of slices: those of two_phase.py, and besides what is picked by time, with its time, and sketches as bytes.

What `first` picks of a slice depends on the order of its rows, of which some may come later than others. With the time
of the row that was picked, partials of one slice are merged in any order; of equal times the one that came first
counts, as of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.extremes import MaxBy, MinBy, is_above, is_alike
from slidewise.aggregations.positions import First, Last
from slidewise.aggregations.values import zero
from slidewise.columns.encoding import family
from slidewise.columns.two_phase import Division, divide
from slidewise.errors import StateError
from slidewise.serialization import codec

if TYPE_CHECKING:
    import numpy as np


def divide_slices(aggregation: Aggregation, kinds: Sequence[pa.DataType], time: pa.Field) -> Division | None:
    """Divide an aggregation of rows with a column of their time into two phases; None: it needs the rows."""
    if type(aggregation) in _PICKS:
        return _divide_by_time(aggregation, kinds, time)
    if aggregation.merges_as == "bytes":
        return _divide_by_bytes(aggregation)
    return divide(aggregation, kinds)


# ---- what is picked, with its time
def _first(a, b):  # type: ignore[no-untyped-def]
    if a[0] == 0 or (b[0] != 0 and b[1] < a[1]):
        return b
    return a


def _last(a, b):  # type: ignore[no-untyped-def]
    if a[0] == 0 or (b[0] != 0 and b[1] >= a[1]):
        return b
    return a


def _highest(a, b):  # type: ignore[no-untyped-def]
    if a[0] == 0 or (b[0] != 0 and (is_above(b[3], a[3]) or (is_alike(b[3], a[3]) and b[1] < a[1]))):
        return b
    return a


def _lowest(a, b):  # type: ignore[no-untyped-def]
    if a[0] == 0 or (b[0] != 0 and (is_above(a[3], b[3]) or (is_alike(b[3], a[3]) and b[1] < a[1]))):
        return b
    return a


_PICKS: dict[type[Aggregation], Callable[[Any, Any], Any]] = {
    First: _first,
    Last: _last,
    MaxBy: _highest,
    MinBy: _lowest,
}


def _lift_by_time(value, time):  # type: ignore[no-untyped-def]
    return (1, time, value)


def _lift_by_order(value, order, time):  # type: ignore[no-untyped-def]
    return (1, time, value, order)


def _lower_by_time(s):  # type: ignore[no-untyped-def]
    return (s[2], s[1])


def _lower_by_order(s):  # type: ignore[no-untyped-def]
    return (s[2], s[3], s[1])


def _lower_to_value(s):  # type: ignore[no-untyped-def]
    return s[2]


class PickedByTime(Aggregation):
    """What an aggregation picks of rows in any order, by a column of their time: its columns, or the value alone."""

    def __init__(self, of: Aggregation, columns: tuple[str, ...], whole: bool, where: str | None) -> None:
        by_order = len(columns) == 3
        self.accepts = ("carried", "ordered", "ordered") if by_order else ("carried", "ordered")
        self.lift = _lift_by_order if by_order else _lift_by_time
        self.combine = _PICKS[type(of)]
        self.where = where
        # Partials of slices without such a row are null, time included; the value itself may be null.
        self.nulls = "skip" if of.nulls == "skip" else tuple(range(1, len(columns)))
        if whole:
            self.lower, self.keeps_type = _lower_to_value, True
        else:
            self.lower = _lower_by_order if by_order else _lower_by_time
            self.result_fields = tuple(f"f{k}" for k in range(len(columns)))
            self.parts_keep_type = tuple(range(len(columns)))
        super().__init__(*columns, of=of, whole=whole)

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        """Compile it: values are numbers of rows, and times and orders are numbers, whatever their types."""
        value, *others = columns
        identity = (0, zero(others[-1].dtype), zero(value.dtype), *(zero(order.dtype) for order in others[:-1]))
        return self.variant(identity=identity)


def _divide_by_time(aggregation: Aggregation, kinds: Sequence[pa.DataType], time: pa.Field) -> Division | None:
    if any(family(kind) == "null" for kind in kinds):
        return None
    words = ("value", "order", "time") if len(kinds) == 2 else ("value", "time")
    columns = {f"{aggregation!r} {word}": kind for word, kind in zip(words, (*kinds, time.type), strict=True)}
    return Division(
        PickedByTime(aggregation, (*aggregation.columns, time.name), False, aggregation.where),
        columns,
        PickedByTime(aggregation, tuple(columns), False, None),
        PickedByTime(aggregation, tuple(columns), True, None),
    )


# ---- sketches
class AsBytes(Aggregation):
    """The partial of a sketch, as bytes: of rows, or of such bytes."""

    def __init__(self, of: Aggregation, column: str | None = None) -> None:
        dump, load, lift = of.dump, of.load, of.lift

        def read(data: bytes) -> Any:
            with codec.refuse_damage():
                return load(codec.decode(data))

        self.lift, self.combine = lift if column is None else read, of.combine
        self.lower = lambda partial: codec.encode(dump(partial))
        if column is None:
            self.accepts, self.where = of.accepts, of.where
        self.commutative = True
        super().__init__(*(of.columns if column is None else (column,)), of=of, bytes=column)

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        """Leave it interpreted: partials are no numbers."""
        return None


class FromBytes(AsBytes):
    """A sketch over partials as bytes."""

    def __init__(self, of: Aggregation, column: str) -> None:
        super().__init__(of, column)
        self.lower, self.defined, self.empty, self.result_fields = of.lower, of.defined, of.empty, of.result_fields


def _divide_by_bytes(sketch: Aggregation) -> Division | None:
    try:
        codec.encode(sketch.dump(sketch.lift(1)))
    except (StateError, ImportError):  # of a seed that bytes do not have, or without the library
        return None
    column = repr(sketch)
    part, merged = AsBytes(sketch), AsBytes(sketch, column)
    return Division(part, {column: pa.binary()}, merged, FromBytes(sketch, column))
