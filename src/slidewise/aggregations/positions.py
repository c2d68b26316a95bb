"""Values by their position in the frame: first, last, nth_value. Nulls count as values unless ignore_nulls.

A value may itself be null, so a partial says whether it holds one: (present, value).
"""

from __future__ import annotations

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
    """The value of the frame's n-th row, counted from 1; null where the frame is shorter.

    A partial holds the first n values only, so that it stays small. `query(k)` gives the k-th row for any k
    up to n.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.nth_value(n=2))
    >>> for x in (3, 4, 5): s.insert(x)
    >>> s.query(), s.query(1)
    (4, 3)
    """

    name = "nth_value"
    needs_only_bounds = True
    spark_call = "nth_value({0}, {n})"
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
        n = whole("nth_value", "n", n)
        super().__init__(*collect_columns(column), n=n, **({"ignore_nulls": True} if ignore_nulls else {}))
        self.nulls = "skip" if ignore_nulls else "keep"
        self.size_limit = n

        def combine(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
            return a if len(a) == n else (a + b)[:n]

        def lower(s: tuple[Any, ...], k: int = n) -> Any:
            if not 1 <= k <= n:
                raise InvalidInput(f"nth_value: only the first {n} rows are kept, got {k!r}")
            return s[k - 1] if k <= len(s) else None

        self.combine, self.lower = combine, lower

    @staticmethod
    def lift(x: Any) -> Any:
        return (x,)

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        return None  # partials of changing length
