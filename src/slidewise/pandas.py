"""The accessor `sw` of pandas: `import slidewise.pandas`, and DataFrames and Series have it.

>>> import pandas as pd, slidewise as sw, slidewise.pandas
>>> trades = pd.DataFrame({"stock": list("ABA"), "price": [5, 7, 4]})
>>> trades.sw.with_columns(partition_by="stock", peak=sw.max("price").over(sw.rows(2)))["peak"].tolist()
[5, 7, 5]
>>> trades["price"].sw.rolling(sw.max(), 2).tolist()
[5, 7, 7]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

try:
    import pandas as pd
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("slidewise.pandas needs pandas: pip install pandas", name=error.name) from error

from slidewise.columns.rolling import rolling
from slidewise.frontdoor import aggregate, with_columns
from slidewise.windows.definitions import WindowDefinition, window_of

if TYPE_CHECKING:
    from slidewise.aggregations.base import Aggregation
    from slidewise.frontdoor import NamedColumns, NamedResults, NewColumn


@pd.api.extensions.register_dataframe_accessor("sw")
class FrameAccessor:
    """`df.sw`: the functions of slidewise that take a DataFrame.

    >>> import pandas as pd, slidewise as sw, slidewise.pandas
    >>> pd.DataFrame({"x": [1, 2, 3]}).sw.with_columns(total=sw.sum("x").over(2))["total"].tolist()
    [1, 3, 5]
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def with_columns(
        self,
        *expressions: NamedColumns,
        partition_by: str | Iterable[str] | None = None,
        order_by: Any = None,
        algorithm: str = "auto",
        threads: int | None = None,
        **columns: NewColumn,
    ) -> pd.DataFrame:
        """Give the DataFrame new columns: `sw.with_columns(df, ...)`.

        >>> import slidewise as sw
        >>> FrameAccessor(pd.DataFrame({"x": [1, 2, 3]})).with_columns(total=sw.sum("x").over(2))["total"].tolist()
        [1, 3, 5]
        """
        return with_columns(
            self._frame,
            *expressions,
            partition_by=partition_by,
            order_by=order_by,
            algorithm=algorithm,
            threads=threads,
            **columns,
        )

    def aggregate(
        self,
        *expressions: NamedResults,
        window: WindowDefinition | int,
        partition_by: str | Iterable[str] | None = None,
        order_by: Any = None,
        algorithm: str = "auto",
        threads: int | None = None,
        **columns: Aggregation,
    ) -> pd.DataFrame:
        """Aggregate over a window with a slide: `sw.aggregate(df, ...)`.

        >>> import slidewise as sw
        >>> twos = FrameAccessor(pd.DataFrame({"x": [1, 2, 3, 4]})).aggregate(window=sw.rows(2, every=2), n=sw.sum("x"))
        >>> twos["n"].tolist()
        [3, 7]
        """
        return aggregate(
            self._frame,
            *expressions,
            window=window,
            partition_by=partition_by,
            order_by=order_by,
            algorithm=algorithm,
            threads=threads,
            **columns,
        )


@pd.api.extensions.register_series_accessor("sw")
class SeriesAccessor:
    """`series.sw`: the functions of slidewise that take one array.

    >>> import pandas as pd, slidewise as sw, slidewise.pandas
    >>> pd.Series([5, 1, 2, 3]).sw.rolling(sw.max(), 2).tolist()
    [5, 5, 2, 3]
    """

    def __init__(self, series: pd.Series[Any]) -> None:
        self._series = series

    def rolling(
        self,
        aggregation: Aggregation | type[Aggregation],
        window: WindowDefinition | int,
        *,
        at: Any = None,
        algorithm: str = "auto",
    ) -> pd.Series[Any]:
        """Compute an aggregation over a window, for every row: `sw.rolling(series, ...)`.

        Windows by time, range and groups are measured along the index, as in pandas, where `at` names nothing else.

        >>> import slidewise as sw
        >>> hours = pd.date_range("2026-01-01", periods=4, freq="h")
        >>> SeriesAccessor(pd.Series([5, 1, 2, 3], hours)).rolling(sw.max(), sw.time("2h")).tolist()
        [5, 5, 5, 3]
        """
        window = window_of(window, "rolling")
        if at is None and window.looks_at_order:
            at = self._series.index
        return rolling(self._series, aggregation, window, at=at, algorithm=algorithm)
