"""The namespace `sw` of polars: `import slidewise.polars`, and DataFrames, LazyFrames and Series have it.

>>> import polars as pl, slidewise as sw, slidewise.polars
>>> trades = pl.DataFrame({"stock": list("ABA"), "price": [5, 7, 4]})
>>> trades.sw.with_columns(partition_by="stock", peak=sw.max("price").over(sw.rows(2)))["peak"].to_list()
[5, 7, 5]
>>> trades.lazy().sw.with_columns(sw.max("price").over(2).alias("peak")).collect()["peak"].to_list()
[5, 7, 7]
>>> trades["price"].sw.rolling(sw.max(), 2).to_list()
[5, 7, 7]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

try:
    import polars as pl
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("slidewise.polars needs polars: pip install polars", name=error.name) from error

from slidewise.columns.rolling import rolling
from slidewise.frontdoor import aggregate, with_columns

if TYPE_CHECKING:
    from slidewise.aggregations.base import Aggregation
    from slidewise.frontdoor import NamedColumns, NamedResults, NewColumn
    from slidewise.windows.definitions import WindowDefinition

FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)


class _Frames(Generic[FrameT]):
    def __init__(self, frame: FrameT) -> None:
        self._frame = frame

    def with_columns(
        self,
        *expressions: NamedColumns,
        partition_by: str | Iterable[str] | None = None,
        order_by: Any = None,
        algorithm: str = "auto",
        threads: int | None = None,
        sorted: bool | None = None,
        **columns: NewColumn,
    ) -> FrameT:
        """Give the frame new columns: `sw.with_columns(df, ...)`.

        >>> import slidewise as sw
        >>> FrameNamespace(pl.DataFrame({"x": [1, 2, 3]})).with_columns(total=sw.sum("x").over(2))["total"].to_list()
        [1, 3, 5]
        """
        return self._map(
            sorted,
            lambda frame: with_columns(
                frame,
                *expressions,
                partition_by=partition_by,
                order_by=order_by,
                algorithm=algorithm,
                threads=threads,
                sorted=sorted,
                **columns,
            ),
        )

    def aggregate(
        self,
        *expressions: NamedResults,
        window: WindowDefinition | int,
        partition_by: str | Iterable[str] | None = None,
        order_by: Any = None,
        algorithm: str = "auto",
        threads: int | None = None,
        sorted: bool | None = None,
        **columns: Aggregation,
    ) -> FrameT:
        """Aggregate over a window with a slide: `sw.aggregate(df, ...)`.

        >>> import slidewise as sw
        >>> rows = FrameNamespace(pl.DataFrame({"x": [1, 2, 3, 4]}))
        >>> rows.aggregate(window=sw.rows(2, every=2), n=sw.sum("x"))["n"].to_list()
        [3, 7]
        """
        return self._map(
            sorted,
            lambda frame: aggregate(
                frame,
                *expressions,
                window=window,
                partition_by=partition_by,
                order_by=order_by,
                algorithm=algorithm,
                threads=threads,
                sorted=sorted,
                **columns,
            ),
        )

    def _map(self, in_order: bool | None, function: Callable[[Any], Any]) -> FrameT:
        if isinstance(self._frame, pl.DataFrame) or in_order:
            return cast(FrameT, function(self._frame))
        # A window sees all rows: no filter, slice or choice of columns may move before it.
        whole = {"predicate_pushdown": False, "projection_pushdown": False, "slice_pushdown": False}
        made = function(self._frame.collect_schema().to_frame())
        return self._frame.map_batches(function, **whole, schema=made.schema)


@pl.api.register_dataframe_namespace("sw")
class FrameNamespace(_Frames[pl.DataFrame]):
    """`df.sw`: the functions of slidewise that take a DataFrame.

    >>> import polars as pl, slidewise as sw, slidewise.polars
    >>> pl.DataFrame({"x": [1, 2, 3]}).sw.with_columns(total=sw.sum("x").over(2))["total"].to_list()
    [1, 3, 5]
    """


@pl.api.register_lazyframe_namespace("sw")
class LazyFrameNamespace(_Frames[pl.LazyFrame]):
    """`lazy.sw`: the same, as a step of the query, which is refused at once where a name or type is wrong.

    >>> import polars as pl, slidewise as sw, slidewise.polars
    >>> pl.LazyFrame({"x": [1, 2, 3]}).sw.with_columns(total=sw.sum("x").over(2)).collect()["total"].to_list()
    [1, 3, 5]
    """


@pl.api.register_series_namespace("sw")
class SeriesNamespace:
    """`series.sw`: the functions of slidewise that take one array.

    >>> import polars as pl, slidewise as sw, slidewise.polars
    >>> pl.Series([5, 1, 2, 3]).sw.rolling(sw.max(), 2).to_list()
    [5, 5, 2, 3]
    """

    def __init__(self, series: pl.Series) -> None:
        self._series = series

    def rolling(
        self,
        aggregation: Aggregation | type[Aggregation],
        window: WindowDefinition | int,
        *,
        at: Any = None,
        algorithm: str = "auto",
    ) -> pl.Series:
        """Compute an aggregation over a window, for every row: `sw.rolling(series, ...)`.

        >>> import slidewise as sw
        >>> SeriesNamespace(pl.Series([5, 1, 2, 3])).rolling(sw.max(), sw.time(10), at=[0, 5, 20, 25]).to_list()
        [5, 5, 2, 3]
        """
        return rolling(self._series, aggregation, window, at=at, algorithm=algorithm)
