"""Values by their position in the frame: first, last, nth_value. Nulls count as values unless ignore_nulls.

A value may itself be null, so a partial says whether it holds one: (present, value).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from slidewise.aggregations.arguments import collect_columns, whole
from slidewise.aggregations.base import Aggregation, Nulls
from slidewise.aggregations.values import numeric, zero
from slidewise.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np


class First(Aggregation):
    """The value of the frame's first row; with ignore_nulls, of the first that is not null.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.first(ignore_nulls=True))
    >>> for x in (None, 4, 5): s.insert(x)
    >>> s.query()
    4
    """

    name = "first"
    needs_only_bounds = True
    picks_row = True
    spark_call = "first_value({0})"
    accepts = ("carried",)
    selective = True
    keeps_type = True
    nulls: Nulls = "keep"

    def __init__(self, column: str | None = None, ignore_nulls: bool = False, *, where: str | None = None) -> None:
        super().__init__(*collect_columns(column), **({"ignore_nulls": True} if ignore_nulls else {}))
        self.nulls = "skip" if ignore_nulls else "keep"

    @staticmethod
    def lift(x: Any) -> Any:
        return (1, x)

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return a if a[0] else b

    @staticmethod
    def lower(s: Any) -> Any:
        return s[1]

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return self.variant(identity=(0, zero(columns[0].dtype))) if numeric(columns, "biuf") else None


class Last(First):
    """The value of the frame's last row; with ignore_nulls, of the last that is not null.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.last())
    >>> for x in (3, 4, 5): s.insert(x)
    >>> s.query()
    5
    """

    name = "last"
    needs_only_bounds = True
    picks_row = True
    spark_call = "last_value({0})"

    @staticmethod
    def combine(a: Any, b: Any) -> Any:
        return b if b[0] else a


class NthValue(Aggregation):
    """The value of the frame's n-th row, counted from 1, or from its end: -1 is the youngest row, -2 the one before.

    Null where the frame is shorter. A partial holds the first or last n values only, so that it stays small. `query(k)`
    gives the k-th row for any k up to n, counted from the same side.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.nth_value(n=2))
    >>> for x in (3, 4, 5): s.insert(x)
    >>> s.query(), s.query(1)
    (4, 3)
    >>> sw.with_columns({"x": [3, 4, 5]}, before=sw.nth_value("x", -2).over(3))["before"].tolist()
    [None, 3, 4]
    """

    name = "nth_value"
    needs_only_bounds = True
    spark_call: str | None = "nth_value({0}, {n})"
    accepts = ("carried",)
    unary_lower = False
    keeps_type = True
    nulls: Nulls = "keep"

    def __init__(
        self,
        column: str | int | None = None,
        n: int | None = None,
        ignore_nulls: bool = False,
        *,
        where: str | None = None,
    ) -> None:
        if n is None and not isinstance(column, str):  # nth_value(2): a number cannot be a column
            column, n = None, column
        if n is None:
            raise InvalidInput('nth_value: say which row of the frame, as in nth_value("x", 2)')
        n = whole("nth_value", "n", n, least=-sys.maxsize)
        if n == 0:
            raise InvalidInput(
                "nth_value: n must be at least 1, or at most -1: it counts rows of the frame from the first, or from "
                "the last. Got 0"
            )
        super().__init__(*collect_columns(column), n=n, **({"ignore_nulls": True} if ignore_nulls else {}))
        self._count_from(n, ignore_nulls)
        if n < 0:
            self.spark_call = None  # Spark counts from the first row alone

    def _count_from(self, n: int, ignore_nulls: bool, default: Any = None) -> None:
        """Make the functions that hold the first n values, or the last -n."""
        #: which row of a frame, from 1, or from -1 for its last
        self.n = n
        #: the result of a frame without such a row
        self.empty = default
        self.nulls = "skip" if ignore_nulls else "keep"
        self.size_limit = most = abs(n)

        def combine_first(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
            return a if len(a) == most else (a + b)[:most]

        def combine_last(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
            return b if len(b) == most else (a + b)[-most:]

        def lower(s: tuple[Any, ...], k: int = n) -> Any:
            if not 1 <= (k if n > 0 else -k) <= most:
                side = "first" if n > 0 else "last"
                raise InvalidInput(f"nth_value: only the {side} {most} rows are kept, got {k!r}")
            if abs(k) > len(s):
                return default
            return s[k - 1 if n > 0 else k]

        self.combine, self.lower = combine_first if n > 0 else combine_last, lower

    @staticmethod
    def lift(x: Any) -> Any:
        return (x,)

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return None  # partials of changing length
