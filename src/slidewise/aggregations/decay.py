"""Averages in which older rows count less, by the time that lies between rows."""

from __future__ import annotations

import math
from datetime import date
from typing import TYPE_CHECKING, Any

from slidewise.aggregations.arguments import collect_columns
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.values import INT64_MAX, INT64_MIN, as_float, number, numeric
from slidewise.errors import InvalidInput
from slidewise.windows.clock import Clock
from slidewise.windows.durations import UNITS, CalendarDuration, Duration, Length, length, sign

if TYPE_CHECKING:
    import numpy as np

EXACT = 2.0**62
#: the time of no rows, before all others; numba takes the least integer itself for an unsigned one
_FIRST = INT64_MIN + 1


def _lift_at_integer(x: Any, time: Any) -> Any:
    return (x * 1.0, 1.0, time)


def _lift_at_float(x: Any, time: Any) -> Any:
    """Lift a row; one at no finite time has no distance from others, and what it is in is NaN."""
    if time - time != 0.0:
        return (math.nan, 1.0, -math.inf)
    return (x * 1.0, 1.0, time * 1.0)


def _combine_faded(a: Any, b: Any, half: float) -> Any:
    if a[2] == b[2]:
        return (a[0] + b[0], a[1] + b[1], a[2])
    return _fade(a, b, half) if a[2] < b[2] else _fade(b, a, half)


def _fade(older: Any, newer: Any, half: float) -> Any:
    """Combine two partials at the time of the newer one: the older one's weights become smaller."""
    gap = newer[2] * 1.0 - older[2]
    if gap < EXACT:  # floats of nanoseconds since 1970 are 256 apart; beyond this, differences may leave 64 bits
        gap = (newer[2] - older[2]) * 1.0
    share = 0.5 ** (gap / half)
    faded = older[0] * share if older[0] - older[0] == 0.0 else older[0]  # no share of infinity is a number
    return (newer[0] + faded, newer[1] + older[1] * share, newer[2])


class EwmAvg(Aggregation):
    """The exponentially weighted average: a row that is `half_life` older than another counts half as much.

    `half_life` is a length of time, for times that are timestamps or dates, or a number in the unit of times that are
    numbers. A row's weight depends on its age and not on its place, so that rows may come in any order.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.ewm_avg(half_life=10))
    >>> for row in ((4.0, 0), (1.0, 10)): s.insert(row)
    >>> s.query()
    2.0
    >>> sw.ewm_avg("price", "ts", half_life="90m").over(sw.time("1d"))
    ewm_avg('price', 'ts', half_life='1h30m').over(time("1d"))

    Partials are (weighted sum, sum of weights, newest time), both sums with the newest row's weight as 1: combining
    only ever makes weights smaller, and nothing can overflow. A result that an infinite value is in stays infinite.
    """

    name = "ewm_avg"
    accepts: tuple[str, ...] = ("number", "time")
    identity = (0.0, 0.0, -math.inf)
    commutative = True

    def __init__(
        self, column: str | None = None, time: str | None = None, half_life: Any = None, *, where: str | None = None
    ) -> None:
        if column is not None and time is None:
            raise InvalidInput(
                f'ewm_avg: say which column has the times, as in ewm_avg({column!r}, "ts", half_life=...)'
            )
        span = _read_half_life(half_life)
        fixed = isinstance(span, Duration)
        self.accepts = ("number", "time" if fixed else "number")
        half = float(span.nanoseconds if isinstance(span, Duration) else span)  # type: ignore[arg-type]

        def lift(x: Any, time: Any) -> Any:
            value = as_float(x, "ewm_avg")
            return _lift_at_integer(value, _read_time(time)) if fixed else _lift_at_number(value, time, half)

        def combine(a: Any, b: Any) -> Any:
            return _combine_faded(a, b, half)

        self.lift, self.combine = lift, combine
        shown = str(span.canonical()) if isinstance(span, Duration) else span
        super().__init__(*collect_columns(column, time), half_life=shown)

    @staticmethod
    def lower(s: Any) -> Any:
        return s[0] / s[1]

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        if not numeric(columns) or columns[1].dtype == "uint64":
            return None
        if columns[1].dtype.kind == "f":
            return self.variant(lift=_lift_at_float)
        return self.variant(lift=_lift_at_integer, identity=(0.0, 0.0, _FIRST))


def _read_half_life(given: Any) -> Length:
    if given is None:
        raise InvalidInput('ewm_avg: say after which time a row counts half, as in half_life="1h"')
    span = length(given, "ewm_avg: half_life")
    if isinstance(span, CalendarDuration):
        raise InvalidInput(f"ewm_avg: half_life must be a fixed length, got {span!r}: months differ. Use days")
    if sign(span) <= 0:
        raise InvalidInput(f"ewm_avg: half_life must be positive, got {given!r}")
    return span if isinstance(span, Duration) else float(span)


def _lift_at_number(x: float, time: Any, half: float) -> Any:
    if isinstance(time, date) or type(time).__name__ == "datetime64":
        raise InvalidInput(
            f"ewm_avg: the time is {time!r}, and half_life={half:g} is a plain number without a unit. Write it with "
            'its unit, as in half_life="10s"'
        )
    plain = number(time, "ewm_avg: the time")
    return _lift_at_integer(x, plain) if isinstance(plain, int) else _lift_at_float(x, float(plain))


def _read_time(time: Any) -> int:
    """Convert a time to nanoseconds since 1970, as columns of times have them."""
    clock = Clock("ewm_avg: the time")
    past = clock.read(time)
    if clock.kind == "number":
        raise InvalidInput(
            f"ewm_avg: the time is a plain number ({time!r}), and half_life is a length of time. Give it as a number "
            "in the same unit, or give datetimes"
        )
    past = past * UNITS["d"] if clock.kind == "date" else past
    if not _FIRST <= past <= INT64_MAX:
        raise InvalidInput(f"ewm_avg: times are between the years 1678 and 2262, in nanoseconds, got {time!r}")
    return past
