"""The same answers as Spark's own window functions, and as the engine of columns for what Spark does not have."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812
from support.tiers import in_full

import slidewise as sw
from slidewise import spark as sws

#: Rows with ties, nulls, NaN, both zeros and infinities, of all types that Arrow carries.
ROWS = """
WITH drawn AS (
  SELECT id, pmod(hash(id, 'k'), 5) AS a, pmod(hash(id, 't'), 90) AS b, pmod(hash(id, 'x'), 1000) AS c,
         pmod(hash(id, 'n'), 12) = 0 AS missing FROM range({rows})
), kept AS (SELECT *, IF(missing, NULL, c) AS v FROM drawn)
SELECT id,
  IF(a = 4, NULL, concat('key ', a)) AS k,
  IF(b % 30 = 7, NULL, b) AS n,
  IF(b % 30 = 7, NULL, timestamp'2024-03-30 12:00:00' + make_dt_interval(b % 3, b, c % 3)) AS ts,
  IF(b % 30 = 7, NULL, date'2024-01-30' + b) AS day,
  CASE WHEN b = 3 THEN double('NaN') WHEN b = 5 THEN -0.0D WHEN b = 6 THEN 0.0D ELSE b / 8.0D END AS f,
  CAST(v % 100 AS BYTE) AS i8, CAST(v AS SHORT) AS i16, CAST(v * 31 AS INT) AS i32, CAST(v AS LONG) * 1000000007 AS i64,
  CAST(v / 7 AS FLOAT) AS f32,
  CASE WHEN missing THEN NULL WHEN c % 61 = 0 THEN double('NaN') WHEN c % 60 = 0 THEN -0.0D WHEN c % 59 = 0 THEN 0.0D
       ELSE sin(c) * 1e3 END AS f64,
  sin(v) * 1e3 AS x, CAST(sin(v) AS DECIMAL(12, 4)) AS d, CAST(sin(v) * 1e20 AS DECIMAL(38, 6)) AS wide,
  concat(char(97 + v % 20), v % 3) AS s, encode(concat('b', v % 50), 'UTF-8') AS bin, v % 2 = 0 AS yes,
  date'2020-01-01' + v AS date, timestamp'2020-01-01 00:00:00' + make_dt_interval(0, 0, v) AS stamp,
  timestamp_ntz'2020-01-01 00:00:00' + make_dt_interval(0, 0, v) AS ntz, make_dt_interval(0, v % 70) AS span,
  array(v, id) AS list, named_struct('v', v, 's', CAST(v AS STRING)) AS pair, map('v', v) AS named
FROM kept
"""
TYPES = ["i8", "i16", "i32", "i64", "f32", "f64", "d", "wide", "s", "bin", "yes", "date", "stamp", "ntz", "span"]
CARRIED = [*TYPES, "list", "pair"]


def rows(session, number: int):
    return session.sql(ROWS.format(rows=number))


def by_id(df) -> pa.Table:
    return df.toArrow().sort_by("id")


def assert_equal(ours: pa.ChunkedArray, theirs: pa.ChunkedArray, what: object, exact: bool) -> None:
    if ours.type != theirs.type:  # lists and structs differ in what may be null
        theirs = theirs.cast(ours.type)
    assert ours.is_null().equals(theirs.is_null()), what
    if pa.types.is_floating(ours.type):
        a, b = (column.fill_null(0).to_numpy() for column in (ours, theirs))
        assert (np.isnan(a) == np.isnan(b)).all(), what
        a, b = np.nan_to_num(a), np.nan_to_num(b)
        assert (a == b).all() if exact else np.allclose(a, b, rtol=1e-12, atol=1e-9), what  # of values up to 1000
    else:
        assert ours.to_pylist() == theirs.to_pylist(), what


# ---- Spark's own functions
AGGREGATES = {
    "count(*)": sw.count(),
    "count(x)": sw.count("x"),
    "count(s) FILTER (WHERE yes)": sw.count("s", where="yes"),
    **{f"sum({c})": sw.sum(c) for c in ("i8", "i32", "i64", "d", "span")},
    **{f"avg({c})": sw.avg(c) for c in ("i32", "i64", "d")},
    **{f"min({c})": sw.min(c) for c in TYPES},
    **{f"max({c})": sw.max(c) for c in TYPES},
    **{f"first_value({c})": sw.first(c) for c in CARRIED},
    "last_value(s)": sw.last("s"),
    "last_value(pair) IGNORE NULLS": sw.last("pair", ignore_nulls=True),
    "nth_value(x, 3)": sw.nth_value("x", 3),
    "collect_list(date)": sw.collect_list("date"),
    "bool_and(yes)": sw.bool_and("yes"),
    "bit_or(i32)": sw.bit_or("i32"),
}
ROUNDED = {
    "sum(x)": sw.sum("x"),
    "sum(x) FILTER (WHERE yes)": sw.sum("x", where="yes"),
    "avg(x)": sw.avg("x"),
    "stddev(x)": sw.stddev("x"),
    "var_pop(i32)": sw.var_pop("i32"),
    "corr(x, i32)": sw.corr("x", "i32"),
}
SOME = ["count(*)", "sum(i64)", "avg(d)", "max(s)", "min(f64)", "last_value(s)", "collect_list(date)"]
#: partitioning and order, the frames, and whether all aggregates are computed over them
SPECS = [
    (
        "PARTITION BY k ORDER BY ts DESC, id",
        [sw.desc("ts"), "id"],
        {
            "ROWS BETWEEN 19 PRECEDING AND CURRENT ROW": sw.rows(20),
            "ROWS BETWEEN 3 PRECEDING AND 5 FOLLOWING": sw.rows_between(-3, 5),
            "ROWS BETWEEN 9 PRECEDING AND 4 PRECEDING": sw.rows_between(-9, -4),
            "ROWS BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING": sw.rows_between(-sw.UNBOUNDED, 2),
        },
        False,
    ),
    (
        "PARTITION BY k ORDER BY ts NULLS LAST",
        sw.asc("ts", nulls="last"),
        {
            "RANGE BETWEEN INTERVAL 4 HOURS PRECEDING AND CURRENT ROW": sw.time("4h"),
            "RANGE BETWEEN INTERVAL 3 HOURS PRECEDING AND INTERVAL 1 HOUR FOLLOWING": sw.range_between("-3h", "1h"),
            "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW": sw.range_between(-sw.UNBOUNDED, 0),
        },
        False,
    ),
    (
        "PARTITION BY k ORDER BY day",
        "day",
        {"RANGE BETWEEN INTERVAL 1 MONTH PRECEDING AND CURRENT ROW": sw.time("1 month")},
        False,
    ),
    (
        "PARTITION BY f ORDER BY n DESC NULLS FIRST",
        sw.desc("n", nulls="first"),
        {"RANGE BETWEEN 20 PRECEDING AND 3 FOLLOWING": sw.range_between(-20, 3)},
        False,
    ),
    ("ORDER BY f", "f", {"RANGE BETWEEN 1.5D PRECEDING AND 0.25D PRECEDING": sw.range_between(-1.5, -0.25)}, False),
]
#: all aggregates compile hundreds of kernels
EVERYTHING = in_full((*SPECS[0][:3], True))
#: what depends on which of two rows of equal order comes first
IN_ORDER = ("last_value", "first_value", "collect_list", "nth_value")


@pytest.mark.parametrize("spec", [SPECS[0], *in_full(*SPECS[1:]), *EVERYTHING], ids=lambda spec: spec[0])
def test_every_aggregate_as_spark_computes_it(session, spec):
    over, order, frames, everything = spec
    # Over Connect the same code runs, compiled anew from the package that is shipped: some aggregates are enough.
    everything = everything and "connect" not in type(session).__module__
    some = {call: AGGREGATES[call] for call in SOME}
    calls = AGGREGATES | ROUNDED if everything else some | {"sum(x)": ROUNDED["sum(x)"]}
    if not over.endswith("id"):
        calls = {call: a for call, a in calls.items() if not call.startswith(IN_ORDER)}
    df = rows(session, 700)
    texts = [(call, frame) for frame in frames for call in calls]
    keys = over.split(" ORDER")[0].removeprefix("PARTITION BY ") if "PARTITION" in over else None
    made = {f"c{j}": calls[call].over(frames[frame]) for j, (call, frame) in enumerate(texts)}
    ours = sws.with_columns(df, made, partition_by=keys, order_by=order, engine="slidewise")
    theirs = df.selectExpr("id", *(f"{call} OVER ({over} {frame}) AS c{j}" for j, (call, frame) in enumerate(texts)))
    ours, theirs = by_id(ours.select("id", *made)), by_id(theirs)
    for name, text in zip(made, texts, strict=True):
        assert_equal(ours[name], theirs[name], text, exact=text[0] not in ROUNDED)


ONE = ["count", "sum", "avg", "min", "max", "var_pop", "var_samp", "stddev_pop", "stddev", "skewness", "kurtosis"]
TWO = [
    "covar_samp", "covar_pop", "corr", "regr_count", "regr_slope", "regr_intercept", "regr_r2", "regr_sxx", "regr_syy",
    "regr_sxy", "regr_avgx", "regr_avgy",
]  # fmt: skip
#: without infinities, of which Spark's deviations depend on the order of rows
SPECIAL = [None, 1.0, 2.0, math.nan, -0.0]


def test_every_short_frame_of_special_values(spark):
    """Nulls, NaN and values that do not vary: every combination in one row and in two, and some in more."""
    pairs, chance = list(itertools.product(SPECIAL, SPECIAL)), random.Random(1)
    frames = [[pair] for pair in pairs] + [list(two) for two in itertools.combinations_with_replacement(pairs, 2)]
    frames += [chance.choices(pairs, k=k) for k in (3, 4) for _ in range(200)]
    drawn = [(g, x, y) for g, frame in enumerate(frames) for x, y in frame]
    calls = {f"{name}(x)": getattr(sw, name)("x") for name in ONE}
    calls |= {f"{name}(x, y)": getattr(sw, name)("x", "y") for name in TWO}
    df = spark.createDataFrame(drawn, "g long, x double, y double")
    theirs = df.groupBy("g").agg(*(F.expr(text).alias(text) for text in calls)).toArrow().sort_by("g")
    table = pa.table(dict(zip("gxy", map(list, zip(*drawn, strict=True)), strict=True)))
    whole = sw.rows_between(-sw.UNBOUNDED, sw.UNBOUNDED)
    ours = sw.with_columns(table, {text: a.over(whole) for text, a in calls.items()}, partition_by="g")
    ours = ours.filter(pa.array([g != after for g, after in itertools.pairwise([*ours["g"].to_pylist(), None])]))
    for text in calls:
        for frame, a, b in zip(frames, ours[text].to_pylist(), theirs[text].to_pylist(), strict=True):
            near = None not in (a, b) and ((a != a and b != b) or math.isclose(a, b, abs_tol=1e-9))
            assert a == b or near, (text, frame, a, b)


# ---- what Spark does not have
ANY_TIES = [
    sw.median("x"),
    sw.count_distinct("s"),
    sw.mode("i8"),
    sw.percentile_disc("date", 0.3),
    sw.geomean("i16"),
    sw.max_count("d"),
]
#: aggregates that see which of two rows of equal order comes first, over an order that has none
NO_TIES = [*ANY_TIES, sw.max_by("stamp", "x"), sw.m4("i32"), sw.collect_set("s"), sw.string_agg("s")]
BEYOND = [
    (
        ["ts", "id"],
        NO_TIES,
        [
            sw.rows(30),
            sw.rows(20, min_rows=15),
            sw.rows_between(-4, 4, exclude="current row"),
            sw.rows_between(sw.col("back"), 1),
            sw.delta("id", 90),
            sw.punctuation("yes"),
            sw.punctuation(lambda row: row["i8"] == 5),
        ],
    ),
    (
        "ts",
        ANY_TIES,
        [
            sw.groups_between(-2, 1),
            sw.range_between("-3h", 0, exclude="ties"),
            sw.time("2h", closed="neither"),
            sw.range_between(-sw.UNBOUNDED, 0),
        ],
    ),
]


@pytest.mark.full
@pytest.mark.parametrize(
    ("order", "aggregations", "windows"),
    [pytest.param(*BEYOND[0], id="rows"), pytest.param(*BEYOND[1], id="order")],
)
def test_what_spark_does_not_have_is_as_for_columns(session, order, aggregations, windows):
    over_connect = "connect" in type(session).__module__
    if over_connect:
        aggregations, windows = aggregations[:2], windows[2:5]
    pairs = [(aggregation, window) for window in windows for aggregation in aggregations]
    made = {f"c{j}": aggregation.over(window) for j, (aggregation, window) in enumerate(pairs)}
    df = rows(session, 500).selectExpr("*", "CAST(-(id % 7) AS INT) AS back").drop("list", "pair", "named")
    ours = by_id(sws.with_columns(df, made, partition_by="k", order_by=order))
    theirs = sw.with_columns(by_id(df), partition_by="k", order_by=order, **made)
    for name, over in made.items():
        assert_equal(ours[name], theirs[name], over, exact=False)
