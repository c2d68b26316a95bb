"""PySpark's functions, for `F.median("x").over(w)`: its names and arguments, and the aggregations that it lacks.

Columns are named, by a string or `F.col(name)`. Every function also takes `where=`, the name of a boolean column: SQL's
FILTER. The results are slidewise's aggregations, which take its own windows, too; and any other aggregation, your own
included, takes a spec of `slidewise.spark.Window` in its `over`.

>>> from slidewise.spark import Window, functions as F
>>> F.sum("paid", where="valid").over(Window.partitionBy("shop").orderBy("ts").rowsBetween(-9, 0))
sum('paid', where='valid').over(rows_between(-9, 0)) partitioned by [shop] ordered by [ts]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from slidewise import aggregations as agg
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.bloom_filters import BloomFilter
from slidewise.aggregations.moment_sketches import MomentSketch
from slidewise.columns.sorting import OrderColumn
from slidewise.errors import InvalidInput
from slidewise.spark.window import Column, read_column_name
from slidewise.windows.reach import OffsetColumn

Name = str | OffsetColumn
Fractions = float | Sequence[float]


def _build(
    factory: Callable[..., Aggregation], name: str, columns: Sequence[Any], where: Any, **parameters: Any
) -> Aggregation:
    """Build an aggregation of these columns."""
    if where is not None:
        parameters["where"] = read_column_name(where, f"{name}: where=")
    return factory(*(read_column_name(c, name) for c in columns), **parameters)


# ---- columns and their order
def col(name: str) -> Column:
    """Name a column; its methods `asc()`, `desc()` and their like are for `orderBy`.

    >>> col("ts").desc_nulls_first()
    OrderColumn(name='ts', descending=True, nulls_first=True)
    """
    return Column(read_column_name(name, "col"))


column = col


def asc(col: Name) -> OrderColumn:
    """Order by a column, the smallest first, nulls before all.

    >>> asc("ts")
    OrderColumn(name='ts', descending=False, nulls_first=None)
    """
    return Column(read_column_name(col, "asc")).asc()


def asc_nulls_first(col: Name) -> OrderColumn:
    """Order by a column, the smallest first, nulls before all.

    >>> asc_nulls_first("ts").nulls_first
    True
    """
    return Column(read_column_name(col, "asc_nulls_first")).asc_nulls_first()


def asc_nulls_last(col: Name) -> OrderColumn:
    """Order by a column, the smallest first, nulls after all.

    >>> asc_nulls_last("ts").nulls_first
    False
    """
    return Column(read_column_name(col, "asc_nulls_last")).asc_nulls_last()


def desc(col: Name) -> OrderColumn:
    """Order by a column, the largest first, nulls after all.

    >>> desc("ts")
    OrderColumn(name='ts', descending=True, nulls_first=None)
    """
    return Column(read_column_name(col, "desc")).desc()


def desc_nulls_first(col: Name) -> OrderColumn:
    """Order by a column, the largest first, nulls before all.

    >>> desc_nulls_first("ts").nulls_first
    True
    """
    return Column(read_column_name(col, "desc_nulls_first")).desc_nulls_first()


def desc_nulls_last(col: Name) -> OrderColumn:
    """Order by a column, the largest first, nulls after all.

    >>> desc_nulls_last("ts").nulls_first
    False
    """
    return Column(read_column_name(col, "desc_nulls_last")).desc_nulls_last()


# ---- aggregations of one column
def avg(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the arithmetic mean.

    >>> avg("temp")
    avg('temp')
    """
    return _build(agg.avg, "avg", [col], where)


def bit_and(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the bitwise and of integers.

    >>> bit_and("flags")
    bit_and('flags')
    """
    return _build(agg.bit_and, "bit_and", [col], where)


def bit_or(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the bitwise or of integers.

    >>> bit_or("flags")
    bit_or('flags')
    """
    return _build(agg.bit_or, "bit_or", [col], where)


def bit_xor(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the bitwise exclusive or of integers.

    >>> bit_xor("flags")
    bit_xor('flags')
    """
    return _build(agg.bit_xor, "bit_xor", [col], where)


def bool_and(col: Name, *, where: Name | None = None) -> Aggregation:
    """Tell whether all are true.

    >>> bool_and("ok")
    bool_and('ok')
    """
    return _build(agg.bool_and, "bool_and", [col], where)


def bool_or(col: Name, *, where: Name | None = None) -> Aggregation:
    """Tell whether any is true.

    >>> bool_or("ok")
    bool_or('ok')
    """
    return _build(agg.bool_or, "bool_or", [col], where)


def collect_list(col: Name, *, where: Name | None = None) -> Aggregation:
    """Collect all values that are not null, in order.

    >>> collect_list("word")
    collect_list('word')
    """
    return _build(agg.collect_list, "collect_list", [col], where)


def collect_set(col: Name, *, where: Name | None = None) -> Aggregation:
    """Collect the different values, in the order of their first row.

    >>> collect_set("word")
    collect_set('word')
    """
    return _build(agg.collect_set, "collect_set", [col], where)


def geomean(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the geometric mean. PySpark has none.

    >>> geomean("growth")
    geomean('growth')
    """
    return _build(agg.geomean, "geomean", [col], where)


def kurtosis(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the excess kurtosis of the population.

    >>> kurtosis("x")
    kurtosis('x')
    """
    return _build(agg.kurtosis, "kurtosis", [col], where)


def m4(col: Name, *, where: Name | None = None) -> Aggregation:
    """Find (min, max, first, last), for line charts. PySpark has none.

    >>> m4("x")
    m4('x')
    """
    return _build(agg.m4, "m4", [col], where)


def max(col: Name, *, where: Name | None = None) -> Aggregation:
    """Find the largest value.

    >>> max("temp")
    max('temp')
    """
    return _build(agg.max, "max", [col], where)


def max_count(col: Name, *, where: Name | None = None) -> Aggregation:
    """Count the rows that have the largest value. PySpark has none.

    >>> max_count("x")
    max_count('x')
    """
    return _build(agg.max_count, "max_count", [col], where)


def median(col: Name, *, where: Name | None = None) -> Aggregation:
    """Find the middle value, or the mean of the two middle ones. PySpark refuses it over a frame.

    >>> median("x")
    median('x')
    """
    return _build(agg.median, "median", [col], where)


def min(col: Name, *, where: Name | None = None) -> Aggregation:
    """Find the smallest value.

    >>> min("temp")
    min('temp')
    """
    return _build(agg.min, "min", [col], where)


def min_count(col: Name, *, where: Name | None = None) -> Aggregation:
    """Count the rows that have the smallest value. PySpark has none.

    >>> min_count("x")
    min_count('x')
    """
    return _build(agg.min_count, "min_count", [col], where)


def product(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the product, in double precision.

    >>> product("x")
    product('x')
    """
    return _build(agg.product, "product", [col], where)


def relative_variation(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute (max - min) / max. PySpark has none.

    >>> relative_variation("x")
    relative_variation('x')
    """
    return _build(agg.relative_variation, "relative_variation", [col], where)


def skewness(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the population skewness.

    >>> skewness("x")
    skewness('x')
    """
    return _build(agg.skewness, "skewness", [col], where)


def stddev(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the sample standard deviation.

    >>> stddev("x")
    stddev('x')
    """
    return _build(agg.stddev, "stddev", [col], where)


def stddev_pop(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the population standard deviation.

    >>> stddev_pop("x")
    stddev_pop('x')
    """
    return _build(agg.stddev_pop, "stddev_pop", [col], where)


def sum(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the sum.

    >>> sum("x")
    sum('x')
    """
    return _build(agg.sum, "sum", [col], where)


def sum_distinct(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the sum of the different values. PySpark refuses it over a window.

    >>> sum_distinct("x")
    sum_distinct('x')
    """
    return _build(agg.sum_distinct, "sum_distinct", [col], where)


def avg_distinct(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the mean of the different values. PySpark has none.

    >>> avg_distinct("x")
    avg_distinct('x')
    """
    return _build(agg.avg_distinct, "avg_distinct", [col], where)


def var_pop(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the population variance.

    >>> var_pop("x")
    var_pop('x')
    """
    return _build(agg.var_pop, "var_pop", [col], where)


def var_samp(col: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the sample variance.

    >>> var_samp("x")
    var_samp('x')
    """
    return _build(agg.var_samp, "var_samp", [col], where)


sumDistinct = sum_distinct  # noqa: N816 PySpark's name
array_agg = collect_list
every = bool_and
mean = avg
some = bool_or
std = stddev_samp = stddev
variance = var_samp


# ---- counts
def count(col: Name = "*", *, where: Name | None = None) -> Aggregation:
    """Count the rows, or the values that are not null.

    >>> count("*"), count("x")
    (count(), count('x'))
    """
    return _build(agg.count, "count", [col], where)


def count_if(col: Name, *, where: Name | None = None) -> Aggregation:
    """Count the rows for which a boolean column is true.

    >>> count_if("failed")
    count(where='failed')
    """
    if where is not None:
        raise InvalidInput(
            f"count_if: where={where!r} on top of {col!r} are two conditions. Make one column of both, and count that"
        )
    return _build(agg.count, "count_if", [], col)


def count_distinct(col: Name, *cols: Name, where: Name | None = None) -> Aggregation:
    """Count the different values, exactly. PySpark refuses it over a window.

    >>> count_distinct("user")
    count_distinct('user')
    """
    if cols:
        raise InvalidInput(
            f"count_distinct takes one column, got {1 + len(cols)}. Add one that tells their pairs apart, as in "
            'df.withColumn("pair", concat_ws("|", "a", "b")), and count that'
        )
    return _build(agg.count_distinct, "count_distinct", [col], where)


countDistinct = nunique = count_distinct  # noqa: N816 PySpark's name


def approx_count_distinct(col: Name, rsd: float | None = None, *, where: Name | None = None) -> Aggregation:
    """Count the different values. The count is exact, and so within any `rsd`.

    Over windows of 1,000 rows the exact count takes 0.1 microseconds a row, and a sketch 42. The sketch is
    `slidewise.approx_count_distinct`.

    >>> approx_count_distinct("user", 0.01)
    count_distinct('user')
    """
    if rsd is not None:
        agg.approx_count_distinct(rsd=rsd)  # refuses what is no such deviation
    return count_distinct(col, where=where)


approxCountDistinct = approx_count_distinct  # noqa: N816 PySpark's name


# ---- values of one row of the frame
def first(col: Name, ignorenulls: bool = False, *, where: Name | None = None) -> Aggregation:
    """Find the value of the first row; of the first that is not null with `ignorenulls`.

    >>> first("price", ignorenulls=True)
    first('price', ignore_nulls=True)
    """
    return _build(agg.first, "first", [col], where, ignore_nulls=ignorenulls)


def last(col: Name, ignorenulls: bool = False, *, where: Name | None = None) -> Aggregation:
    """Find the value of the last row; of the last that is not null with `ignorenulls`.

    >>> last("price")
    last('price')
    """
    return _build(agg.last, "last", [col], where, ignore_nulls=ignorenulls)


def first_value(col: Name, ignoreNulls: bool = False, *, where: Name | None = None) -> Aggregation:  # noqa: N803
    """Find the value of the first row; of the first that is not null with `ignoreNulls`.

    >>> first_value("price")
    first('price')
    """
    return first(col, ignoreNulls, where=where)


any_value = first_value


def last_value(col: Name, ignoreNulls: bool = False, *, where: Name | None = None) -> Aggregation:  # noqa: N803
    """Find the value of the last row; of the last that is not null with `ignoreNulls`.

    >>> last_value("price")
    last('price')
    """
    return last(col, ignoreNulls, where=where)


def nth_value(
    col: Name,
    offset: int,
    ignoreNulls: bool = False,  # noqa: N803
    *,
    where: Name | None = None,
) -> Aggregation:
    """Find the value of the frame's n-th row, counted from 1.

    >>> nth_value("price", 2)
    nth_value('price', n=2)
    """
    return _build(agg.nth_value, "nth_value", [col], where, n=offset, ignore_nulls=ignoreNulls)


def max_by(col: Name, ord: Name, k: int | None = None, *, where: Name | None = None) -> Aggregation:
    """Find the value of a column where another is largest.

    >>> max_by("name", "score")
    max_by('name', 'score')
    """
    return _build_by(agg.max_by, "max_by", col, ord, k, where)


def min_by(col: Name, ord: Name, k: int | None = None, *, where: Name | None = None) -> Aggregation:
    """Find the value of a column where another is smallest.

    >>> min_by("name", "score")
    min_by('name', 'score')
    """
    return _build_by(agg.min_by, "min_by", col, ord, k, where)


def _build_by(factory: Callable[..., Aggregation], name: str, col: Any, ord: Any, k: Any, where: Any) -> Aggregation:
    if k is not None:
        raise InvalidInput(f"{name}: k={k!r} asks for several values, and there is one. Leave out k")
    return _build(factory, name, [col, ord], where)


# ---- values by their rank
def mode(col: Name, deterministic: bool = False, *, where: Name | None = None) -> Aggregation:
    """Find the most frequent value. Ties go to the lowest, whether or not `deterministic` asks for it.

    >>> mode("status")
    mode('status')
    """
    return _build(agg.mode, "mode", [col], where)


def percentile(col: Name, percentage: Fractions, frequency: int = 1, *, where: Name | None = None) -> Aggregation:
    """Compute the value at a fraction of the sorted ones, interpolated between two of them; exact. A list gives a list.

    >>> percentile("latency", 0.95)
    percentile('latency', fraction=0.95)
    >>> percentile("latency", [0.5, 0.95])
    percentile('latency', fraction=[0.5, 0.95])
    """
    if frequency != 1:
        raise InvalidInput(f"percentile: every row counts once, got frequency={frequency!r}. Leave it out")
    return _build(agg.percentile, "percentile", [col], where, fraction=percentage)


quantile = percentile


def percentile_disc(col: Name, percentage: Fractions, *, where: Name | None = None) -> Aggregation:
    """Find the value at a fraction of the sorted ones, one of them. A list gives a list. PySpark has it in SQL only.

    >>> percentile_disc("word", 0.5)
    percentile_disc('word', fraction=0.5)
    """
    return _build(agg.percentile_disc, "percentile_disc", [col], where, fraction=percentage)


def percentile_approx(
    col: Name, percentage: Fractions, accuracy: int = 10000, *, where: Name | None = None
) -> Aggregation:
    """Find the value at a fraction of the sorted ones. The rank is exact, and so within any `accuracy`.

    Over windows of 1,000 rows the exact value takes 0.05 microseconds a row, and a sketch 180. The sketch is
    `slidewise.approx_percentile`.

    >>> percentile_approx("latency", 0.95)
    percentile_disc('latency', fraction=0.95)
    """
    return percentile_disc(col, percentage, where=where)


approx_percentile = percentile_approx


def nth_smallest(col: Name, n: int, *, where: Name | None = None) -> Aggregation:
    """Find the n-th smallest value, counted from 1. PySpark has none.

    >>> nth_smallest("bid", 3)
    nth_smallest('bid', n=3)
    """
    return _build(agg.nth_smallest, "nth_smallest", [col], where, n=n)


# ---- two columns
def corr(col1: Name, col2: Name, *, where: Name | None = None) -> Aggregation:
    """Compute Pearson's correlation of two columns.

    >>> corr("x", "y")
    corr('x', 'y')
    """
    return _build(agg.corr, "corr", [col1, col2], where)


def covar_pop(col1: Name, col2: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the population covariance of two columns.

    >>> covar_pop("x", "y")
    covar_pop('x', 'y')
    """
    return _build(agg.covar_pop, "covar_pop", [col1, col2], where)


def covar_samp(col1: Name, col2: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the sample covariance of two columns.

    >>> covar_samp("x", "y")
    covar_samp('x', 'y')
    """
    return _build(agg.covar_samp, "covar_samp", [col1, col2], where)


def regr_count(y: Name, x: Name, *, where: Name | None = None) -> Aggregation:
    """Count the pairs (y, x) without a null.

    >>> regr_count("y", "x")
    regr_count('y', 'x')
    """
    return _build(agg.regr_count, "regr_count", [y, x], where)


def regr_avgx(y: Name, x: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the mean of x over pairs (y, x) without a null.

    >>> regr_avgx("y", "x")
    regr_avgx('y', 'x')
    """
    return _build(agg.regr_avgx, "regr_avgx", [y, x], where)


def regr_avgy(y: Name, x: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the mean of y over pairs (y, x) without a null.

    >>> regr_avgy("y", "x")
    regr_avgy('y', 'x')
    """
    return _build(agg.regr_avgy, "regr_avgy", [y, x], where)


def regr_sxx(y: Name, x: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the sum of the squared deviations of x.

    >>> regr_sxx("y", "x")
    regr_sxx('y', 'x')
    """
    return _build(agg.regr_sxx, "regr_sxx", [y, x], where)


def regr_syy(y: Name, x: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the sum of the squared deviations of y.

    >>> regr_syy("y", "x")
    regr_syy('y', 'x')
    """
    return _build(agg.regr_syy, "regr_syy", [y, x], where)


def regr_sxy(y: Name, x: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the sum of the products of the deviations of y and x.

    >>> regr_sxy("y", "x")
    regr_sxy('y', 'x')
    """
    return _build(agg.regr_sxy, "regr_sxy", [y, x], where)


def regr_slope(y: Name, x: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the slope of the line y of x, by least squares.

    >>> regr_slope("y", "x")
    regr_slope('y', 'x')
    """
    return _build(agg.regr_slope, "regr_slope", [y, x], where)


def regr_intercept(y: Name, x: Name, *, where: Name | None = None) -> Aggregation:
    """Compute the value at x = 0 of the line y of x, by least squares.

    >>> regr_intercept("y", "x")
    regr_intercept('y', 'x')
    """
    return _build(agg.regr_intercept, "regr_intercept", [y, x], where)


def regr_r2(y: Name, x: Name, *, where: Name | None = None) -> Aggregation:
    """Compute how much of y's variance the line y of x explains.

    >>> regr_r2("y", "x")
    regr_r2('y', 'x')
    """
    return _build(agg.regr_r2, "regr_r2", [y, x], where)


# ---- texts and sketches
def string_agg(col: Name, delimiter: str | None = None, *, where: Name | None = None) -> Aggregation:
    """Join texts by a delimiter.

    >>> string_agg("word", ", ")
    string_agg('word', delimiter=', ')
    """
    return _build(agg.string_agg, "string_agg", [col], where, delimiter="" if delimiter is None else delimiter)


listagg = string_agg


def bloom_filter(col: Name, bits: int = 1024, hashes: int = 4, *, where: Name | None = None) -> Aggregation:
    """Estimate how many different values there are, by a Bloom filter. PySpark has none.

    >>> bloom_filter("user")
    bloom_filter('user', bits=1024, hashes=4)
    """
    return _build(BloomFilter, "bloom_filter", [col], where, bits=bits, hashes=hashes)


def count_min_sketch(
    col: Name, eps: float = 0.01, confidence: float = 0.95, seed: int | None = None, *, where: Name | None = None
) -> Aggregation:
    """Build a count-min sketch, which estimates how often a value occurs.

    >>> count_min_sketch("user", 0.1, 0.9, 1)
    count_min_sketch('user', eps=0.1, confidence=0.9, seed=1)
    """
    seeded = {} if seed is None else {"seed": seed}
    return _build(agg.count_min_sketch, "count_min_sketch", [col], where, eps=eps, confidence=confidence, **seeded)


def moment_sketch(col: Name, order: int = 10, *, where: Name | None = None) -> Aggregation:
    """Compute the moments up to an order. PySpark has none.

    >>> moment_sketch("x", 2)
    moment_sketch('x', order=2)
    """
    return _build(MomentSketch, "moment_sketch", [col], where, order=order)
