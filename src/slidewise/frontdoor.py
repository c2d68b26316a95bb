"""The front door: `with_columns`, `aggregate` and `explain` for data of any kind. It alone knows columns and Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, overload

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Alias, Over, name_columns
from slidewise.columns.wrapped import unwrap
from slidewise.display import Table
from slidewise.errors import InvalidInput
from slidewise.planner.explain import Explanation, explain_call, explain_choice, explain_columns
from slidewise.windows.definitions import WindowDefinition

if TYPE_CHECKING:
    from pyspark.sql import Column

    from slidewise.columns.batches.streams import BatchStream
    from slidewise.spark.window import SpecifiedOver

    #: Also the type of every option, for `**columns` from a dict: type checkers match its values with all parameters.
    NewColumn: TypeAlias = Over | SpecifiedOver | Column

    #: what may stand without a keyword: new columns by name, or one with its alias
    NamedColumns: TypeAlias = Mapping[str, NewColumn] | Alias[NewColumn]
    NamedResults: TypeAlias = Mapping[str, Aggregation] | Alias[Aggregation]

#: a frame of any kind: the same kind comes back
FrameT = TypeVar("FrameT")


def with_columns(
    data: FrameT,
    /,
    *expressions: NamedColumns,
    partition_by: str | Iterable[str] | NewColumn | None = None,
    order_by: Any = None,
    algorithm: str | NewColumn = "auto",
    threads: int | NewColumn | None = None,
    sorted: bool | NewColumn | None = None,
    engine: Literal["auto", "slidewise", "spark"] | NewColumn | None = None,
    hot_keys: Literal["auto"] | bool | NewColumn | None = None,
    max_delay: Any = None,
    max_ahead: Any = None,
    emit: Literal["watermark", "arrival", "changes"] | NewColumn | None = None,
    empty: bool | NewColumn | None = None,
    late: Literal["drop", "mark", "revise"] | NewColumn | None = None,
    keep: Any = None,
    forget_after: Any = None,
    buckets: int | NewColumn | None = None,
    metrics: str | NewColumn | None = None,
    checkpoint: str | NewColumn | None = None,
    history: Any = None,
    history_until: Any = None,
    schema: Any = None,
    streaming: bool | NewColumn | None = None,
    **columns: NewColumn,
) -> FrameT:
    """Give the data new columns: aggregations over windows. Every input row once, in the input's order.

    >>> import numpy as np, slidewise as sw
    >>> trades = {"stock": np.array(list("ABAA")), "ts": np.array([1, 2, 3, 9]), "price": np.array([5, 7, 4, 6])}
    >>> out = sw.with_columns(trades, partition_by="stock", order_by="ts",
    ...     peak=sw.max("price").over(sw.rows(2)),
    ...     recent=sw.count().over(sw.time(5)))
    >>> out["peak"], out["recent"]
    (array([5, 7, 5, 6]), array([1, 1, 2, 1]))

    - `data` is a pandas or polars DataFrame, a pyarrow Table, a DuckDB relation, a dict of arrays, a narwhals frame, or
      anything with `__arrow_c_stream__`; the same kind comes back, and columns that nobody reads are those that came.
      A Spark DataFrame comes back lazily and in no particular order, as from any shuffle (see
      slidewise.spark.with_columns).
    - New columns come by keyword, as dicts (for names that are no identifiers, or those of parameters), or as
      expressions with an alias: `sw.max("x").over(5).alias("peak")`. Each name comes once.
    - `partition_by` is a column or several: windows never reach from one key into another. In pandas, a level of the
      index is named like a column, also in `order_by`; the index comes back as it was.
    - `order_by` is a column, `asc(name, nulls=...)`, `desc(...)`, or a list of these; None takes rows as they stand.
    - `algorithm` is "auto" or a name from `sw.list_algorithms()`, "recalculate" for the naive way; `.over(window,
      algorithm=)` sets it for one column.
    - `threads` is how many threads to use, by default all cores; results do not depend on it. Not for Spark.
    - `sorted=True` says that rows stand by key and order, which is checked: the first row out of place is an error. A
      RecordBatchReader, any other stream of Arrow, a polars LazyFrame, and the path (a pathlib.Path) or dataset of
      Parquet files then go in batches, in the memory of a few batches and of the windows. A LazyFrame comes out of a
      LazyFrame, and a RecordBatchReader of the others: see "Larger than memory" in docs/columns.md.
    - `engine` and `hot_keys` are for Spark DataFrames: see docs/spark.md.
    - `max_delay` to `checkpoint` are for Spark streams, and any other data takes them too, so that one dict of columns
      and options runs on both. There `emit="changes"`, `empty` and `forget_after` give the rows that the stream gives,
      `late="revise"` adds its column `revision`, `late="mark"` its column `late`, and the others change nothing: see
      docs/spark-streams.md.
    - `schema` and `streaming` say what a Spark DataFrame is where it may not be asked, as in flows of Spark's
      Declarative Pipelines: see docs/pipelines.md.
    """
    options = {
        "engine": engine, "hot_keys": hot_keys, "max_delay": max_delay, "max_ahead": max_ahead, "emit": emit,
        "empty": empty, "late": late, "keep": keep, "forget_after": forget_after, "buckets": buckets,
        "metrics": metrics, "checkpoint": checkpoint, "history": history, "history_until": history_until,
        "schema": schema, "streaming": streaming, "sorted": sorted,
    }  # fmt: skip
    common: dict[str, Any] = {
        "partition_by": partition_by, "order_by": order_by, "algorithm": algorithm, "threads": threads,
    }  # fmt: skip
    taken, of_spark = _split_options("with_columns", options, common)
    named = name_columns("with_columns", expressions, columns | taken)
    data, wrap = unwrap(data)
    in_order, stream = _read_sorted("with_columns", of_spark.pop("sorted", None), data)
    if is_spark(data):
        from slidewise.spark.with_columns import with_columns as on_spark

        _refuse_threads("with_columns", common.pop("threads"))
        return wrap(on_spark(data, named, **common, **of_spark))
    _refuse_spark_options("with_columns", of_spark, data)
    if stream is not None:
        from slidewise.columns.batches.in_batches import with_columns as in_batches

        return wrap(in_batches(stream, named, **common, **of_spark))
    from slidewise.columns.with_columns import with_columns as over_columns

    return wrap(over_columns(data, named, in_order=in_order, **common, **of_spark))


def aggregate(
    data: FrameT,
    /,
    *expressions: NamedResults,
    window: WindowDefinition | int,
    partition_by: str | Iterable[str] | Aggregation | None = None,
    order_by: Any = None,
    algorithm: str | Aggregation = "auto",
    threads: int | Aggregation | None = None,
    sorted: bool | Aggregation | None = None,
    engine: Literal["auto", "slidewise", "spark"] | Aggregation | None = None,
    max_delay: Any = None,
    max_ahead: Any = None,
    emit: Literal["watermark", "arrival", "changes"] | Aggregation | None = None,
    empty: bool | Aggregation | None = None,
    late: Literal["drop", "mark", "revise"] | Aggregation | None = None,
    keep: Any = None,
    forget_after: Any = None,
    buckets: int | Aggregation | None = None,
    slices: bool | Aggregation | None = None,
    metrics: str | Aggregation | None = None,
    checkpoint: str | Aggregation | None = None,
    history: Any = None,
    history_until: Any = None,
    schema: Any = None,
    streaming: bool | Aggregation | None = None,
    **columns: Aggregation,
) -> FrameT:
    """Aggregate over a window with a slide: one row per key and slide, key by key, in the order of the slides.

    >>> import numpy as np, slidewise as sw
    >>> calls = {"ts": np.array([10, 40, 95]), "cost": np.array([1.0, 2.0, 4.0])}
    >>> sw.aggregate(calls, order_by="ts", window=sw.time(60, every=30), total=sw.sum("cost"))["total"]
    array([1., 3., 2., 4., 4.])

    - A hopping window, `time(size, every=)`, is Spark's: [start, end), only those that have rows. The columns are the
      keys, `window_start`, `window_end` and the results.
    - A cumulative one, `time(size, every=, cumulative=True)`, begins on multiples of the size, and one ends with every
      step. The columns are the same.
    - A session, `session(gap)`, is [first row, last row + gap) of rows at most `gap` after the row before them. The
      columns are the same.
    - Any other size with `every=` by time gives a result at every boundary that has rows since the one before. The
      columns are the keys, `window_end` and the results.
    - `every=` by rows, delta or punctuation gives a result at the row that triggers. The columns are the keys, what
      `order_by` names (without an order, `row`: its number within the key), and the results.
    - Results come by keyword, as dicts, or with an alias: `sw.max("x").alias("peak")`.
    - `data`, `partition_by`, `order_by`, `algorithm`, `threads` and `sorted` are those of `with_columns`, and so are
      `max_delay` to `checkpoint`, `schema` and `streaming`.
    - `engine="spark"` is for Spark DataFrames and streams: Spark's own `window()`, where its answer is ours.
    """
    options = {
        "max_delay": max_delay, "max_ahead": max_ahead, "emit": emit, "empty": empty, "late": late, "keep": keep,
        "forget_after": forget_after, "buckets": buckets, "slices": slices, "metrics": metrics,
        "checkpoint": checkpoint, "history": history, "history_until": history_until, "schema": schema,
        "streaming": streaming, "engine": engine, "sorted": sorted,
    }  # fmt: skip
    common: dict[str, Any] = {
        "partition_by": partition_by, "order_by": order_by, "algorithm": algorithm, "threads": threads,
    }  # fmt: skip
    taken, of_spark = _split_options("aggregate", options, common)
    named = name_columns("aggregate", expressions, columns | taken)
    data, wrap = unwrap(data)
    in_order, stream = _read_sorted("aggregate", of_spark.pop("sorted", None), data)
    if is_spark(data):
        from slidewise.spark.aggregate import aggregate as on_spark

        _refuse_threads("aggregate", common.pop("threads"))
        return wrap(on_spark(data, named, window=window, **common, **of_spark))
    _refuse_spark_options("aggregate", of_spark, data)
    if stream is not None:
        from slidewise.columns.batches.in_batches import aggregate as in_batches

        return wrap(in_batches(stream, named, window=window, **common, **of_spark))
    from slidewise.columns.aggregate import aggregate as over_columns

    return wrap(over_columns(data, named, window=window, in_order=in_order, **common, **of_spark))


@overload
def explain(aggregation: Mapping[str, Over], *, integers: bool | None = None) -> Table: ...


@overload
def explain(
    aggregation: Aggregation | type[Aggregation] | Over,
    window: WindowDefinition | int | None = None,
    *,
    late: str = "error",
    windows: int = 1,
    integers: bool | None = None,
    algorithm: str = "auto",
) -> Explanation: ...


@overload
def explain(
    aggregation: Any,
    *expressions: NamedColumns | NamedResults,
    partition_by: Any = None,
    order_by: Any = None,
    **columns: Any,
) -> Table: ...


def explain(
    aggregation: Any,
    window: Any = None,
    *expressions: Any,
    late: str = "error",
    windows: int = 1,
    integers: bool | None = None,
    **call: Any,
) -> Any:
    """Tell which algorithm computes an aggregation over a window, and why.

    >>> import slidewise as sw
    >>> why = sw.explain(sw.max(), sw.rows(1000))
    >>> why.choices["events"].algorithm, why.choices["columns"].algorithm
    ('daba_lite', 'sba')
    >>> sw.explain(sw.max(), sw.time("1h"), late="revise").choices["events"].algorithm
    'fiba'

    A whole call of `with_columns`, or a `Window` of several, is explained by the dict of its columns: a table with a
    line for each of them, with what it shares with others, and what a `Window` holds for it.

    >>> for line in sw.explain({"total": sw.sum("x").over(sw.rows(9)), "mean": sw.avg("x").over(sw.rows(9))}):
    ...     print(line["column"], "|", line["algorithm"], "|", line["shares"])
    ...     print("  event by event:", line["event by event"], "|", line["holds"])
    total | sba | frames with mean; its result with mean
      event by event: daba_lite | 9 partials of avg('x'), with mean
    mean | sba | frames with total; follows from sum('x'), which total is
      event by event: daba_lite | 9 partials of avg('x'), with total

    So is the call itself, with `explain` in place of `with_columns` and its columns given as there. On a Spark
    DataFrame it tells which columns go to Spark's own operator, and why; on a stream, also for `aggregate`, what is
    kept per key, in bytes. Nothing runs.

    >>> table = sw.explain({"x": [1, 2, 3]}, mean=sw.avg("x").over(sw.rows(2)))

    `late="revise"` asks for rows out of order, `windows=` for that many windows over one stream, `integers=True`
    says that the values are integers, `algorithm=` asks for one by name. A console shows the result as a table, and so
    does a notebook.
    """
    aggregation, _ = unwrap(aggregation)
    if isinstance(window, Mapping | Alias):
        window, expressions = None, (window, *expressions)
    if not call and not expressions:
        if isinstance(aggregation, Mapping):
            return explain_columns(dict(aggregation), integers)
        return explain_choice(aggregation, window, late, windows, integers)
    if isinstance(aggregation, Aggregation | Over | type):
        if other := next((name for name in call if name != "algorithm"), ""):
            raise InvalidInput(
                "explain: with an aggregation go a window, algorithm=, late=, windows= and integers=, got "
                f"{other}={call[other]!r}. Give the data first to explain a call of with_columns or aggregate"
            )
        return explain_choice(aggregation, window, late, windows, integers, **call)
    columns = name_columns("explain", expressions, {n: x for n, x in call.items() if _is_expression(x)})
    call = {name: value for name, value in call.items() if not _is_expression(value)}
    if clash := [name for name in columns if name in call]:
        raise InvalidInput(f"explain: {clash[0]!r} is the name of a parameter and of a column. Explain it by another")
    _, stream = _read_sorted("explain", call.pop("sorted", None), aggregation)
    if is_spark(aggregation):
        from slidewise.spark.explain import explain as explain_on_spark

        given = {"window": window} if window is not None else {}
        return explain_on_spark(aggregation, columns | call | given | ({"late": late} if late != "error" else {}))
    from slidewise.columns.explain import explain_batches, explain_options

    given = ({"window": window} if window is not None else {}) | ({"late": late} if late != "error" else {})
    call, note = explain_options(aggregation, columns | call | given, stream)
    by = call.get("algorithm", "auto")
    columns = {name: value for name, value in call.items() if name not in _PARAMETERS}
    named = {
        name: replace(o, algorithm=by) if getattr(o, "algorithm", "") == "auto" else o for name, o in columns.items()
    }
    table = explain_call(named, integers, "with_columns" if window is None else "aggregate", note)
    return table if stream is None else explain_batches(stream, named, table)


#: of with_columns over columns, besides the data, its new columns and what is for streams
_PARAMETERS = ("partition_by", "order_by", "algorithm", "threads")
#: of Spark DataFrames alone
_SPARK_OPTIONS = ("engine", "hot_keys", "schema", "streaming")


def is_spark(data: Any) -> bool:
    """Tell whether this is a Spark DataFrame, classic or of Spark Connect, without importing pyspark."""
    return any(c.__module__.startswith("pyspark.sql.") and c.__name__ == "DataFrame" for c in type(data).__mro__)


def _split_options(
    what: str, options: Mapping[str, Any], common: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split options into new columns that have the name of one of Spark's options, and the options that were given."""
    for name, given in common.items():
        if _is_expression(given):
            raise InvalidInput(
                f"{what}: {name}= is a parameter, and no new column can be named so by keyword, got {given!r}. Give "
                f'it in a dict: {{"{name}": ...}}'
            )
    options = {name: given for name, given in options.items() if given is not None}
    taken = {name: given for name, given in options.items() if _is_expression(given)}
    return taken, {name: given for name, given in options.items() if name not in taken}


def _is_expression(given: Any) -> bool:
    if isinstance(given, Over | Aggregation | Alias):
        return True
    # A DataFrame of Connect has any attribute: it takes each for a column.
    return hasattr(given, "over") and not is_spark(given)


def _read_sorted(what: str, given: Any, data: Any) -> tuple[bool, BatchStream | None]:
    """Check sorted=, of which None is False, and take the data as a stream, where it comes in batches."""
    if given not in (None, True, False):
        raise InvalidInput(f"{what}: sorted=True says that rows come sorted by key and order, got {given!r}")
    if given and is_spark(data):
        raise InvalidInput(
            f"{what}: sorted=True is for what is read in order, and rows of a Spark DataFrame have none between tasks: "
            "leave it out. What Spark has sorted already is not sorted again"
        )
    if not given:
        return False, None
    from slidewise.columns.batches.streams import stream_of

    return True, stream_of(data)


def _refuse_threads(what: str, threads: int | None) -> None:
    if threads is not None:
        raise InvalidInput(f"{what}: Spark's tasks use its own cores: leave out threads={threads!r}")


def _refuse_spark_options(what: str, given: Mapping[str, Any], data: Any) -> None:
    for name, value in ((name, value) for name, value in given.items() if name in _SPARK_OPTIONS):
        raise InvalidInput(
            f"{what}: {name}={value!r} is for Spark DataFrames, and the data is a {type(data).__name__}: leave it out"
        )
