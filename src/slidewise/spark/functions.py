"""PySpark's functions, all of them, of which aggregates take windows that Spark refuses or computes slowly.

    from slidewise.spark import Window, functions as F

    w = Window.partitionBy("shop").orderBy("ts").rowsBetween(-9, 0)
    df.withColumn("usual", F.median("paid").over(w)).withColumn("before", F.lag("paid").over(w))

Without `over`, `F.sum("x")` is PySpark's own column, for `groupBy` and `agg`. Over a window it is a Column of PySpark's
as well, which `df.select`, `withColumn` and `filter` take. Aggregates have `where=`, a boolean column: SQL's FILTER.
Those that PySpark lacks are for windows only. All other names are PySpark's own functions.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import inspect
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from slidewise import aggregations as agg
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.bloom_filters import BloomFilter
from slidewise.aggregations.moment_sketches import MomentSketch
from slidewise.errors import InvalidInput
from slidewise.spark.named_expressions import name_column
from slidewise.spark.own_windows import record_own
from slidewise.spark.pyspark_internals import install_hook, is_column
from slidewise.spark.select import COLUMN_HOOKS, GROUP_HOOKS, HOOKS
from slidewise.spark.window import WindowSpec, build_their_window
from slidewise.spark.window_columns import PutOver
from slidewise.windows.definitions import WindowDefinition
from slidewise.windows.definitions import col as named
from slidewise.windows.reach import OffsetColumn

if TYPE_CHECKING:
    from pyspark.sql.column import Column
    from pyspark.sql.window import WindowSpec as TheirSpec

    class AggregateColumn(Column):  # type: ignore[misc]  # PySpark's has no types where it is not installed
        """What an aggregate is to a type checker: a Column, whose `over` takes slidewise's windows as well."""

        def over(self, window: TheirSpec | WindowDefinition | int, algorithm: str = "auto") -> Column: ...

    ColumnOrName: TypeAlias = Column | str | OffsetColumn
    Fractions: TypeAlias = float | Sequence[float] | ColumnOrName
    FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

if importlib.util.find_spec("pyspark") is None:
    raise ModuleNotFoundError(
        "slidewise.spark.functions needs pyspark: install the extra, pip install 'slidewise[spark]'", name="pyspark"
    )

#: functions of PySpark's that are no aggregates without a window
_ONLY_OVER = ("nth_value",)


# ---- how they are built
def _build(
    factory: Callable[..., Aggregation],
    name: str,
    columns: Sequence[Any],
    where: Any,
    arguments: Sequence[Any] | None = None,
    of_pyspark: bool = True,
    **parameters: Any,
) -> AggregateColumn:
    """Build PySpark's own column of an aggregate, if it has one; its `over` takes windows of all kinds.

    `arguments` are those of PySpark's function, where they are not the columns; `of_pyspark` says whether its column
    would mean the same.
    """

    def make() -> Aggregation:
        more = {key: _read_parameter(value, name) for key, value in parameters.items()}
        return factory(*(name_column(c, name) for c in columns), where=_name_condition(where, name), **more)

    if not any(map(is_column, [*columns, where, *parameters.values()])):
        make()  # refuses at once what is wrong with it
    return _give_over(name, columns if arguments is None else arguments, make, of_pyspark and where is None)


def _name_condition(where: Any, name: str) -> str | None:
    return None if where is None else name_column(where, f"{name}: where=")


def _give_over(
    name: str, arguments: Sequence[Any], make: Callable[[], Aggregation], of_pyspark: bool = True
) -> AggregateColumn:
    """Give PySpark's column of an aggregate an `over` of ours; a name that tells what to do where there is none."""
    from pyspark.sql import functions as theirs

    function = getattr(theirs, name, None)
    aggregate = None if function is None else function(*(_to_theirs(argument) for argument in arguments))
    column: Any = aggregate
    if aggregate is None or not of_pyspark:
        lacks = f"{name}(...)" if aggregate is None else f"{name}(...) with what PySpark lacks"
        column = theirs.col(f"`{lacks} is for windows only, give it one: .over(window)`")
    column.over = PutOver(aggregate, make, of_pyspark, name not in _ONLY_OVER)
    return column


def _to_theirs(argument: Any) -> Any:
    from pyspark.sql import functions as theirs

    if isinstance(argument, OffsetColumn):
        return theirs.col("`" + argument.name.replace("`", "``") + "`")
    return list(argument) if isinstance(argument, tuple) else argument


def _read_parameter(value: Any, name: str) -> Any:
    """Read a parameter, in which columns are by name."""
    if is_column(value):
        return named(name_column(value, name))
    return [_read_parameter(part, name) for part in value] if isinstance(value, list | tuple) else value


def _spell(name: str, function: FunctionT) -> FunctionT:
    """Spell a function by another name of PySpark's, which its column then has, over windows as well."""

    @functools.wraps(function)
    def spelled(*args: Any, where: Any = None, **kwargs: Any) -> Any:
        from pyspark.sql import functions as theirs

        made = function(*args, where=where, **kwargs)
        if where is not None or not hasattr(theirs, name):
            return made
        column = getattr(theirs, name)(*args, **kwargs)
        if not isinstance(made.over, PutOver):
            return _accept_specs(column, name)  # left to PySpark
        column.over = dataclasses.replace(made.over, aggregate=column)
        return column

    return spelled  # type: ignore[return-value]


def _leave_to_spark(name: str, *arguments: Any) -> AggregateColumn:
    """Leave a call to PySpark; its `over` takes windows in our spelling."""
    from pyspark.sql import functions as theirs

    return _accept_specs(getattr(theirs, name)(*arguments), name)


# ---- all other functions are PySpark's
def __getattr__(name: str) -> Any:
    """Find a function of PySpark's."""
    if name.startswith("_") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pyspark.sql import functions as theirs

    if name == "__all__":
        return __dir__()
    return _find(theirs, name)


@functools.cache
def _find(theirs: Any, name: str) -> Any:
    """Find a function of PySpark's, the same one every time."""
    found = getattr(theirs, name)
    return _wrap(found, name) if isinstance(found, types.FunctionType) else found


def __dir__() -> list[str]:
    from pyspark.sql import functions as theirs

    ours = (name for name, value in globals().items() if getattr(value, "__module__", None) == __name__)
    return sorted({*theirs.__all__, *(name for name in ours if not name.startswith("_"))} - {"AggregateColumn"})


def _wrap(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Wrap a function of PySpark's: what it makes takes windows in our spelling."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return _accept_specs(function(*args, **kwargs), name)

    return wrapped


def _accept_specs(made: Any, name: str) -> Any:
    """Have a column of PySpark's, or of a function made by it, take windows in our spelling."""
    if isinstance(made, types.FunctionType | functools.partial):  # F.pandas_udf, as a decorator too
        return _wrap(made, getattr(made, "__name__", name))
    if is_column(made):

        def over(window: Any) -> Any:
            own = build_their_window(window, name) if isinstance(window, WindowSpec) else window
            return record_own(type(made).over(made, own))

        made.over = over
    return made


# ---- aggregations of one column
def avg(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the arithmetic mean.

    F.avg("temp").over(w)
    """
    return _build(agg.avg, "avg", [col], where)


def bit_and(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the bitwise and of integers.

    F.bit_and("flags").over(w)
    """
    return _build(agg.bit_and, "bit_and", [col], where)


def bit_or(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the bitwise or of integers.

    F.bit_or("flags").over(w)
    """
    return _build(agg.bit_or, "bit_or", [col], where)


def bit_xor(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the bitwise exclusive or of integers.

    F.bit_xor("flags").over(w)
    """
    return _build(agg.bit_xor, "bit_xor", [col], where)


def bool_and(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Tell whether all are true.

    F.bool_and("ok").over(w)
    """
    return _build(agg.bool_and, "bool_and", [col], where)


def bool_or(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Tell whether any is true.

    F.bool_or("ok").over(w)
    """
    return _build(agg.bool_or, "bool_or", [col], where)


def collect_list(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Collect all values that are not null, in order.

    F.collect_list("word").over(w)
    """
    return _build(agg.collect_list, "collect_list", [col], where)


def collect_set(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Collect the different values, in the order of their first row.

    F.collect_set("word").over(w)
    """
    return _build(agg.collect_set, "collect_set", [col], where)


def geomean(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the geometric mean. PySpark has none.

    F.geomean("growth").over(w)
    """
    return _build(agg.geomean, "geomean", [col], where)


def kurtosis(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the excess kurtosis of the population.

    F.kurtosis("x").over(w)
    """
    return _build(agg.kurtosis, "kurtosis", [col], where)


def m4(col: ColumnOrName, time: ColumnOrName | None = None, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Find (min, max, first, last), for line charts, and the times of these four rows. PySpark has none.

    F.m4("x").over(w)
    F.m4("x", "ts").over(w)
    """
    return _build(agg.m4, "m4", [col] if time is None else [col, time], where)


def max(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Find the largest value.

    F.max("temp").over(w)
    """
    return _build(agg.max, "max", [col], where)


def max_count(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Count the rows that have the largest value. PySpark has none.

    F.max_count("x").over(w)
    """
    return _build(agg.max_count, "max_count", [col], where)


def median(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Find the middle value, or the mean of the two middle ones. PySpark refuses it over a frame.

    F.median("x").over(w)
    """
    return _build(agg.median, "median", [col], where)


def min(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Find the smallest value.

    F.min("temp").over(w)
    """
    return _build(agg.min, "min", [col], where)


def min_count(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Count the rows that have the smallest value. PySpark has none.

    F.min_count("x").over(w)
    """
    return _build(agg.min_count, "min_count", [col], where)


def product(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the product, in double precision.

    F.product("x").over(w)
    """
    return _build(agg.product, "product", [col], where)


def relative_variation(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute (max - min) / max. PySpark has none.

    F.relative_variation("x").over(w)
    """
    return _build(agg.relative_variation, "relative_variation", [col], where)


def skewness(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the population skewness.

    F.skewness("x").over(w)
    """
    return _build(agg.skewness, "skewness", [col], where)


def stddev(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the sample standard deviation.

    F.stddev("x").over(w)
    """
    return _build(agg.stddev, "stddev", [col], where)


def stddev_pop(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the population standard deviation.

    F.stddev_pop("x").over(w)
    """
    return _build(agg.stddev_pop, "stddev_pop", [col], where)


def sum(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the sum.

    F.sum("x").over(w)
    """
    return _build(agg.sum, "sum", [col], where)


def sum_distinct(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the sum of the different values. PySpark refuses it over a window.

    F.sum_distinct("x").over(w)
    """
    return _build(agg.sum_distinct, "sum_distinct", [col], where)


def avg_distinct(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the mean of the different values. PySpark has none.

    F.avg_distinct("x").over(w)
    """
    return _build(agg.avg_distinct, "avg_distinct", [col], where)


def var_pop(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the population variance.

    F.var_pop("x").over(w)
    """
    return _build(agg.var_pop, "var_pop", [col], where)


def var_samp(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the sample variance.

    F.var_samp("x").over(w)
    """
    return _build(agg.var_samp, "var_samp", [col], where)


sumDistinct = _spell("sumDistinct", sum_distinct)  # noqa: N816 PySpark's name
array_agg = _spell("array_agg", collect_list)
every = _spell("every", bool_and)
mean = _spell("mean", avg)
some = _spell("some", bool_or)
std = _spell("std", stddev)
stddev_samp = _spell("stddev_samp", stddev)
variance = _spell("variance", var_samp)


# ---- counts
def count(col: ColumnOrName = "*", *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Count the rows, or the values that are not null.

    F.count("*").over(w)
    F.count("x").over(w)
    """
    return _build(agg.count, "count", [col], where)


def count_if(col: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Count the rows for which a boolean column is true.

    F.count_if("failed").over(w)
    """
    if where is not None:
        raise InvalidInput(
            f"count_if: where={where!r} on top of {col!r} are two conditions. Make one column of both, and count that"
        )
    return _give_over("count_if", [col], lambda: agg.count(where=name_column(col, "count_if")))


def count_distinct(col: ColumnOrName, *cols: ColumnOrName, where: ColumnOrName | None = None) -> AggregateColumn:
    """Count the different values, exactly. PySpark refuses it over a window.

    F.count_distinct("user").over(w)
    """
    if not cols:
        return _build(agg.count_distinct, "count_distinct", [col], where)

    def make() -> Aggregation:
        from pyspark.sql import functions as theirs

        parts = [theirs.col(part) if isinstance(part, str) else _to_theirs(part) for part in (col, *cols)]
        known = functools.reduce(lambda a, b: a & b, (part.isNotNull() for part in parts))
        row = theirs.when(known, theirs.struct(*(part.alias(str(k)) for k, part in enumerate(parts))))
        return agg.count_distinct(name_column(row, "count_distinct"), where=_name_condition(where, "count_distinct"))

    return _give_over("count_distinct", [col, *cols], make, where is None)


countDistinct = _spell("countDistinct", count_distinct)  # noqa: N816 PySpark's name
nunique = _spell("nunique", count_distinct)


def approx_count_distinct(
    col: ColumnOrName, rsd: float | None = None, *, where: ColumnOrName | None = None
) -> AggregateColumn:
    """Count the different values. The count is exact, and so within any `rsd`.

    Over windows of 1,000 rows the exact count takes 0.1 microseconds a row, and a sketch 42. The sketch is
    `slidewise.approx_count_distinct`.

        F.approx_count_distinct("user", 0.01).over(w)
    """
    if rsd is not None:
        agg.approx_count_distinct(rsd=rsd)  # refuses what is no such deviation
    arguments = [col] if rsd is None else [col, rsd]
    return _build(agg.count_distinct, "approx_count_distinct", [col], where, arguments)


approxCountDistinct = _spell("approxCountDistinct", approx_count_distinct)  # noqa: N816 PySpark's name


# ---- values of one row of the frame
def first(col: ColumnOrName, ignorenulls: bool = False, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Find the value of the first row; of the first that is not null with `ignorenulls`.

    F.first("price", ignorenulls=True).over(w)
    """
    return _build(agg.first, "first", [col], where, [col, ignorenulls], ignore_nulls=ignorenulls)


def last(col: ColumnOrName, ignorenulls: bool = False, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Find the value of the last row; of the last that is not null with `ignorenulls`.

    F.last("price").over(w)
    """
    return _build(agg.last, "last", [col], where, [col, ignorenulls], ignore_nulls=ignorenulls)


def first_value(col: ColumnOrName, ignoreNulls: bool = False, *, where: ColumnOrName | None = None) -> AggregateColumn:  # noqa: N803
    """Find the value of the first row; of the first that is not null with `ignoreNulls`.

    F.first_value("price").over(w)
    """
    return _build_value(agg.first, "first_value", col, ignoreNulls, where)


any_value = _spell("any_value", first_value)


def last_value(col: ColumnOrName, ignoreNulls: bool = False, *, where: ColumnOrName | None = None) -> AggregateColumn:  # noqa: N803
    """Find the value of the last row; of the last that is not null with `ignoreNulls`.

    F.last_value("price").over(w)
    """
    return _build_value(agg.last, "last_value", col, ignoreNulls, where)


def _build_value(
    factory: Callable[..., Aggregation], name: str, col: Any, ignore_nulls: bool, where: Any
) -> AggregateColumn:
    arguments = [col, True] if ignore_nulls else [col]
    return _build(factory, name, [col], where, arguments, ignore_nulls=ignore_nulls)


def nth_value(
    col: ColumnOrName,
    offset: int,
    ignoreNulls: bool = False,  # noqa: N803
    *,
    where: ColumnOrName | None = None,
) -> AggregateColumn:
    """Find the value of the frame's n-th row, counted from 1.

    F.nth_value("price", 2).over(w)
    """
    arguments = [col, offset, True] if ignoreNulls else [col, offset]
    return _build(agg.nth_value, "nth_value", [col], where, arguments, n=offset, ignore_nulls=ignoreNulls)


def max_by(
    col: ColumnOrName, ord: ColumnOrName, k: int | None = None, *, where: ColumnOrName | None = None
) -> AggregateColumn:
    """Find the value of a column where another is largest.

    F.max_by("name", "score").over(w)
    """
    return _build_by(agg.max_by, "max_by", col, ord, k, where)


def min_by(
    col: ColumnOrName, ord: ColumnOrName, k: int | None = None, *, where: ColumnOrName | None = None
) -> AggregateColumn:
    """Find the value of a column where another is smallest.

    F.min_by("name", "score").over(w)
    """
    return _build_by(agg.min_by, "min_by", col, ord, k, where)


def _build_by(
    factory: Callable[..., Aggregation], name: str, col: Any, ord: Any, k: Any, where: Any
) -> AggregateColumn:
    if k is None:
        return _build(factory, name, [col, ord], where)
    if where is not None:
        raise InvalidInput(f"{name}: k={k!r} asks for several values, which is Spark's own, and takes no where=")
    from pyspark import __version__
    from pyspark.sql import functions as theirs

    if "k" not in inspect.signature(getattr(theirs, name)).parameters:
        raise InvalidInput(
            f"{name}: k={k!r} asks for several values, which is Spark's own, and not in PySpark {__version__}. "
            "Use a newer one"
        )
    return _leave_to_spark(name, col, ord, k)


# ---- values by their rank
def mode(col: ColumnOrName, deterministic: bool = False, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Find the most frequent value. Ties go to the lowest, whether or not `deterministic` asks for it.

    F.mode("status").over(w)
    """
    return _build(agg.mode, "mode", [col], where, [col, True] if deterministic else [col])


def percentile(
    col: ColumnOrName, percentage: Fractions, frequency: int = 1, *, where: ColumnOrName | None = None
) -> AggregateColumn:
    """Compute the value at a fraction of the sorted ones, interpolated between two of them; exact. A list gives a list.

        F.percentile("latency", 0.95).over(w)
        F.percentile("latency", [0.5, 0.95]).over(w)

    A column has a fraction for every row, where PySpark takes constants only:

        F.percentile("latency", F.col("share")).over(w)
    """
    if is_column(frequency) or frequency != 1:
        if where is not None:
            raise InvalidInput(f"percentile: frequency={frequency!r} is Spark's own, and takes no where=")
        return _leave_to_spark("percentile", col, _to_theirs(percentage), frequency)
    return _build(agg.percentile, "percentile", [col], where, [col, percentage], fraction=percentage)


quantile = _spell("quantile", percentile)


def percentile_disc(col: ColumnOrName, percentage: Fractions, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Find the value at a fraction of the sorted ones, one of them. A list gives a list. PySpark has it in SQL only.

    F.percentile_disc("word", 0.5).over(w)
    """
    return _build(agg.percentile_disc, "percentile_disc", [col], where, fraction=percentage)


def percentile_approx(
    col: ColumnOrName, percentage: Fractions, accuracy: int = 10000, *, where: ColumnOrName | None = None
) -> AggregateColumn:
    """Find the value at a fraction of the sorted ones. The rank is exact, and so within any `accuracy`.

    Over windows of 1,000 rows the exact value takes 0.05 microseconds a row, and a sketch 180. The sketch is
    `slidewise.approx_percentile`.

        F.percentile_approx("latency", 0.95).over(w)
    """
    arguments = [col, percentage, accuracy]
    return _build(agg.percentile_disc, "percentile_approx", [col], where, arguments, fraction=percentage)


approx_percentile = _spell("approx_percentile", percentile_approx)


def nth_smallest(col: ColumnOrName, n: int, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Find the n-th smallest value, counted from 1. PySpark has none.

    F.nth_smallest("bid", 3).over(w)
    """
    return _build(agg.nth_smallest, "nth_smallest", [col], where, n=n)


# ---- two columns
def corr(col1: ColumnOrName, col2: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute Pearson's correlation of two columns.

    F.corr("x", "y").over(w)
    """
    return _build(agg.corr, "corr", [col1, col2], where)


def covar_pop(col1: ColumnOrName, col2: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the population covariance of two columns.

    F.covar_pop("x", "y").over(w)
    """
    return _build(agg.covar_pop, "covar_pop", [col1, col2], where)


def covar_samp(col1: ColumnOrName, col2: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the sample covariance of two columns.

    F.covar_samp("x", "y").over(w)
    """
    return _build(agg.covar_samp, "covar_samp", [col1, col2], where)


def regr_count(y: ColumnOrName, x: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Count the pairs (y, x) without a null.

    F.regr_count("y", "x").over(w)
    """
    return _build(agg.regr_count, "regr_count", [y, x], where)


def regr_avgx(y: ColumnOrName, x: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the mean of x over pairs (y, x) without a null.

    F.regr_avgx("y", "x").over(w)
    """
    return _build(agg.regr_avgx, "regr_avgx", [y, x], where)


def regr_avgy(y: ColumnOrName, x: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the mean of y over pairs (y, x) without a null.

    F.regr_avgy("y", "x").over(w)
    """
    return _build(agg.regr_avgy, "regr_avgy", [y, x], where)


def regr_sxx(y: ColumnOrName, x: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the sum of the squared deviations of x.

    F.regr_sxx("y", "x").over(w)
    """
    return _build(agg.regr_sxx, "regr_sxx", [y, x], where)


def regr_syy(y: ColumnOrName, x: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the sum of the squared deviations of y.

    F.regr_syy("y", "x").over(w)
    """
    return _build(agg.regr_syy, "regr_syy", [y, x], where)


def regr_sxy(y: ColumnOrName, x: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the sum of the products of the deviations of y and x.

    F.regr_sxy("y", "x").over(w)
    """
    return _build(agg.regr_sxy, "regr_sxy", [y, x], where)


def regr_slope(y: ColumnOrName, x: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the slope of the line y of x, by least squares.

    F.regr_slope("y", "x").over(w)
    """
    return _build(agg.regr_slope, "regr_slope", [y, x], where)


def regr_intercept(y: ColumnOrName, x: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute the value at x = 0 of the line y of x, by least squares.

    F.regr_intercept("y", "x").over(w)
    """
    return _build(agg.regr_intercept, "regr_intercept", [y, x], where)


def regr_r2(y: ColumnOrName, x: ColumnOrName, *, where: ColumnOrName | None = None) -> AggregateColumn:
    """Compute how much of y's variance the line y of x explains.

    F.regr_r2("y", "x").over(w)
    """
    return _build(agg.regr_r2, "regr_r2", [y, x], where)


# ---- texts and sketches
def string_agg(
    col: ColumnOrName, delimiter: str | bytes | Column | None = None, *, where: ColumnOrName | None = None
) -> AggregateColumn:
    """Join texts by a delimiter.

    F.string_agg("word", ", ").over(w)

    Bytes, which PySpark joins as well, are left to Spark, and so is a delimiter that is a column.
    """
    if not isinstance(delimiter, str | None):
        if where is not None:
            raise InvalidInput(f"string_agg: delimiter={delimiter!r} is Spark's own, and takes no where=")
        return _leave_to_spark("string_agg", col, delimiter)
    arguments = [col] if delimiter is None else [col, delimiter]
    between = "" if delimiter is None else delimiter
    return _build(agg.string_agg, "string_agg", [col], where, arguments, delimiter=between)


listagg = _spell("listagg", string_agg)


def bloom_filter(
    col: ColumnOrName, bits: int = 1024, hashes: int = 4, contains: Any = None, *, where: ColumnOrName | None = None
) -> AggregateColumn:
    """Tell which of some values may have occurred, or estimate how many different ones there are, by a Bloom filter.

    PySpark has none.

        F.bloom_filter("user", contains=["ann", "bob"]).over(w)
    """
    return _build(BloomFilter, "bloom_filter", [col], where, bits=bits, hashes=hashes, contains=contains)


def count_min_sketch(
    col: ColumnOrName,
    eps: float = 0.01,
    confidence: float = 0.95,
    seed: int | None = None,
    *,
    counts_of: Any = None,
    where: ColumnOrName | None = None,
) -> AggregateColumn:
    """Estimate how often the values `counts_of` occur, by a count-min sketch; without them, it is PySpark's own sketch.

    F.count_min_sketch("user", 0.1, 0.9, counts_of=["ann", "bob"]).over(w)
    """
    more: dict[str, Any] = {} if seed is None else {"seed": seed}
    if counts_of is None and where is None:
        return _leave_to_spark("count_min_sketch", col, eps, confidence, *more.values())
    more |= {"eps": eps, "confidence": confidence, "counts_of": counts_of}
    arguments = [col, eps, confidence]
    return _build(agg.count_min_sketch, "count_min_sketch", [col], where, arguments, of_pyspark=False, **more)


def moment_sketch(
    col: ColumnOrName, order: int = 10, percentiles: Any = None, *, where: ColumnOrName | None = None
) -> AggregateColumn:
    """Compute the moments up to an order, or percentiles estimated from them. PySpark has none.

    F.moment_sketch("x", 2).over(w)
    F.moment_sketch("x", percentiles=[0.5, 0.95]).over(w)
    """
    return _build(MomentSketch, "moment_sketch", [col], where, order=order, percentiles=percentiles)


def ewm_avg(
    col: ColumnOrName, time: ColumnOrName, half_life: Any, *, where: ColumnOrName | None = None
) -> AggregateColumn:
    """Compute the average in which a row counts half for every `half_life` of its age. PySpark has none.

    F.ewm_avg("price", "ts", half_life="1h").over(w)
    """
    return _build(agg.ewm_avg, "ewm_avg", [col, time], where, half_life=half_life)


def naive_bayes(
    label: ColumnOrName,
    *features: ColumnOrName,
    classes: Any,
    predict: Any = None,
    smoothing: float = 1e-9,
    where: ColumnOrName | None = None,
) -> AggregateColumn:
    """Compute how probable each class is, by naive Bayes, at a point of the features. PySpark has none over windows.

    F.naive_bayes("kind", "height", classes=["cat", "dog"], predict=[F.col("height")]).over(w)
    """
    more = {"classes": classes, "predict": predict, "smoothing": smoothing}
    return _build(agg.naive_bayes, "naive_bayes", [label, *features], where, **more)


install_hook(HOOKS, GROUP_HOOKS, COLUMN_HOOKS)

if TYPE_CHECKING:  # what __getattr__ finds; at the end, since to type checkers the first of a name is the one
    from pyspark.sql.functions import *  # noqa: F403
