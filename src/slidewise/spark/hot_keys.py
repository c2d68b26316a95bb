"""One key with most of the rows, on all cores: its rows are cut by their order into buckets, with a halo.

A bucket is a range of the order column. It also receives the rows before it (and after it) that the frames of its own
rows reach: the halo, whose results are dropped. A sample of the input finds the keys that are large and where to cut
them, inside of the same job, so that nothing runs before an action. A frame by range reaches a known distance. A frame
by rows reaches rows, not distances: its halo begins at a sampled row, so far back that fewer rows than needed lie in
between with a chance below 1e-15, and the executor counts them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf
from pyspark.sql.types import FloatType

from slidewise.columns.sorting import OrderColumn
from slidewise.spark.executor.halo import BUCKET_COLUMN, BUCKETS, OWN_COLUMN, HaloSize
from slidewise.spark.spark_operator import quote, write_interval
from slidewise.windows.durations import Duration

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

#: the share of rows that is looked at. 10 million rows from Parquet: 74 ns per row, and all of them 352
SHARE = 0.01
#: a key is large from this many sampled rows on, that is about a million rows
LARGE = 10_000
#: sampled rows in a bucket: about half a million rows
BUCKET = 5_000
#: the most buckets of a key: every row of it is compared with all of them
MOST_BUCKETS = 32


def _count_sampled_rows(rows: int) -> int:
    """Count how many sampled rows apart two rows must be, so that `rows` rows lie between them almost certainly."""
    if rows == 0:
        return 0
    expected = rows * SHARE
    return math.ceil(expected + 8 * math.sqrt(expected) + 40)


def spread(df: DataFrame, partition_by: Sequence[str], by: OrderColumn, reach: HaloSize, prefix: str) -> DataFrame:
    """Add to each row the bucket it is computed in, and whether it is the bucket's own; rows in halos are repeated.

    The names of what is added begin with `prefix`, which no column's does.
    A join with one line per bucket: 130 ns per row, against 2,100 for an array of bounds searched by a lambda.
    """
    order = sf.col(quote(by.name))
    buckets = _find_buckets(df, partition_by, by, reach, prefix)
    begin, end, low, high, nulls = (sf.col(prefix + name) for name in ("begin", "end", "low", "high", "nulls"))
    meets = (low.isNull() | _is_at_or_after(order, low, by)) & (high.isNull() | _is_at_or_after(high, order, by))
    meets = sf.when(order.isNull(), nulls).otherwise(meets)
    for k, name in enumerate(partition_by):
        meets = sf.col(quote(name)).eqNullSafe(sf.col(f"{prefix}key{k}")) & meets
    own = (begin.isNull() | _is_at_or_after(order, begin, by)) & (end.isNull() | ~_is_at_or_after(order, end, by))
    added = {
        prefix + BUCKET_COLUMN: sf.coalesce(sf.col(prefix + "number"), sf.lit(0)),
        prefix + OWN_COLUMN: order.isNull() | own,
    }
    # Columns that nobody reads are not named: several may have one name.
    return df.join(sf.broadcast(buckets.alias(BUCKETS)), meets, "left").withColumns(added).drop(*buckets.columns)


def _find_buckets(
    df: DataFrame, partition_by: Sequence[str], by: OrderColumn, reach: HaloSize, prefix: str
) -> DataFrame:
    """Find the buckets of each large key: where they and their halos begin and end, null where there is no bound."""
    keys = [f"{prefix}key{k}" for k in range(len(partition_by))]
    columns = [sf.col(quote(name)).alias(key) for key, name in zip(keys, partition_by, strict=True)]
    order = sf.col(quote(by.name)).alias("order")
    sampled = df.select(*columns, order).where(sf.col("order").isNotNull()).sample(fraction=SHARE, seed=1)
    in_order = sf.sort_array(sf.collect_list("order"), asc=not by.descending).alias("values")
    large = sampled.groupBy(*keys).agg(in_order).where(sf.size("values") >= LARGE)
    values, count, number = sf.col("values"), sf.size("values"), sf.col("number")
    back, ahead = _count_sampled_rows(reach.rows_before), _count_sampled_rows(reach.rows_after)
    # A bucket is at least as long as its halos.
    each = sf.greatest(sf.lit(max(BUCKET, back + ahead)), sf.ceil(count / MOST_BUCKETS).cast("int"))
    numbered = large.withColumn("last", sf.floor(count / each).cast("int") - 1).withColumn(
        "number", sf.explode(sf.sequence(sf.lit(0), sf.col("last")))
    )
    earlier, later = (sf.greatest, sf.least) if by.descending else (sf.least, sf.greatest)
    begin, end = sf.get(values, number * each), sf.get(values, (number + 1) * each)
    # Frames over floats reach as far as their own digits tell, and so do halos (see columns/frames/from_window.py).
    is_float = isinstance(sampled.schema["order"].dataType, FloatType)
    before, after = (_to_step(length, is_float) for length in (reach.before, reach.after))
    low = earlier(sf.get(values, sf.greatest(number * each - back, sf.lit(0))), _move(begin, before, by.descending))
    high = later(sf.get(values, sf.least((number + 1) * each + ahead, count - 1)), _move(end, after, not by.descending))
    first, last = number == 0, number == sf.col("last")
    bounds = {
        "number": number,
        "begin": sf.when(~first, begin),
        "end": sf.when(~last, end),
        "low": sf.when(~first, low),
        "high": sf.when(~last, high),
        "nulls": first if by.nulls_lead else last,
    }
    return numbered.select(*keys, *(column.alias(prefix + name) for name, column in bounds.items()))


def _to_step(length: Any, is_float: bool) -> Column | None:
    """Translate how far frames reach to the unit of the order."""
    if length is None:
        return None
    if isinstance(length, Duration):
        return sf.expr(write_interval(length))
    return sf.lit(length).cast("float") if is_float else sf.lit(length)


def _move(value: Column, step: Column | None, forward: bool) -> Column:
    """Move a bound by how far frames reach."""
    if step is None:
        return value
    return value + step if forward else value - step


def _is_at_or_after(value: Column, other: Column, by: OrderColumn) -> Column:
    return value <= other if by.descending else value >= other
