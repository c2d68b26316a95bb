"""PySpark's spelling: what specs and functions mean. Specs of names need no Spark."""

import inspect
import pickle
import sys
from datetime import timedelta

import pytest
from support.aggregations import Concat

import slidewise as sw
from slidewise.columns.sorting import OrderColumn
from slidewise.errors import InvalidInput
from slidewise.registry.aggregations import AGGREGATION
from slidewise.spark import Window, with_columns
from slidewise.spark import functions as F  # noqa: N812
from slidewise.spark.window import SpecifiedOver
from slidewise.spark.window_columns import Windows, find_markers


def find_definition(column):
    """What a windowed column stands for."""
    (window,) = Windows(find_markers([column])).by_marker.values()
    return window.definition


def test_a_spec_says_partitioning_order_and_frame():
    w = Window.partitionBy("k", sw.col("j")).orderBy("ts", sw.desc("x"), sw.asc("y", nulls="last"))
    order = (OrderColumn("ts"), OrderColumn("x", True), OrderColumn("y", False, False))
    over = sw.median("x").over(w.rowsBetween(-999, 0))
    assert over == SpecifiedOver(sw.median("x").over(sw.rows_between(-999, 0)), ("k", "j"), order)


def test_names_are_read_as_pyspark_reads_them():
    assert Window.partitionBy("`PM2.5`", "`a``b`").partition_by == ("PM2.5", "a`b")
    nested, again, other = (Window.partitionBy(name).partition_by for name in ("a.b", "a.b", "a.c"))
    assert nested == again != other


def test_lists_of_columns_as_pyspark_takes_them():
    assert Window.partitionBy(["a", "b"]).orderBy(["c"]) == Window.partitionBy("a", "b").orderBy("c")
    assert Window.orderBy("c").partitionBy("a", "b") == Window.partitionBy("a", "b").orderBy("c")


def test_a_spec_never_changes():
    base = Window.partitionBy("k").orderBy("ts")
    before = repr(base)
    base.rowsBetween(-1, 0), base.rangeBetween(-1, 0), base.exclude("ties"), base.partitionBy("z"), base.orderBy("z")
    assert repr(base) == before
    assert len({base, base.rowsBetween(-1, 0), base.rowsBetween(-1, 0)}) == 2
    assert pickle.loads(pickle.dumps(base)) == base


@pytest.mark.parametrize(
    ("spec", "window"),
    [
        (Window.partitionBy("k"), sw.rows_between(-sw.UNBOUNDED, sw.UNBOUNDED)),
        (Window.partitionBy("k").orderBy("t"), sw.range_between(-sw.UNBOUNDED, 0)),
        (Window.rowsBetween(Window.unboundedPreceding, Window.currentRow), sw.rows_between(-sw.UNBOUNDED, 0)),
        (Window.rowsBetween(-3, Window.unboundedFollowing), sw.rows_between(-3, sw.UNBOUNDED)),
        (Window.rowsBetween(-sys.maxsize, sys.maxsize), sw.rows_between(-sw.UNBOUNDED, sw.UNBOUNDED)),
        (Window.rowsBetween(-(2**63), 5), sw.rows_between(-sw.UNBOUNDED, 5)),
        (Window.rangeBetween(-sys.maxsize - 1, 0), sw.range_between(-sw.UNBOUNDED, 0)),
        (Window.rangeBetween(-3600, 0), sw.range_between(-3600, 0)),
        (Window.rangeBetween(-1.5, 2), sw.range_between(-1.5, 2)),
        (Window.rangeBetween("-1h", 0), sw.range_between("-1h", 0)),
        (Window.rangeBetween(timedelta(hours=-1), "30 minutes"), sw.range_between("-1h", "30m")),
        (Window.rangeBetween("-3 months", 0), sw.range_between("-3mo", 0)),
        (Window.groupsBetween(-2, 1), sw.groups_between(-2, 1)),
        (Window.rowsBetween(sw.col("back"), 0), sw.rows_between(sw.col("back"), 0)),
        (Window.orderBy("t").rowsBetween(-1, 1).exclude("ties"), sw.rows_between(-1, 1, exclude="ties")),
        (Window.orderBy("t").exclude("current row"), sw.range_between(-sw.UNBOUNDED, 0, exclude="current row")),
        (Window.orderBy("t").exclude("group").exclude("no others"), sw.range_between(-sw.UNBOUNDED, 0)),
        (Window.orderBy("t").exclude("group").rowsBetween(-1, 1), sw.rows_between(-1, 1, exclude="group")),
    ],
)  # fmt: skip
def test_frames(spec, window):
    assert spec.window == window


def test_columns_of_pyspark_in_a_spec(session):
    ways = (F.asc, F.asc_nulls_first, F.asc_nulls_last, F.desc, F.desc_nulls_first, F.desc_nulls_last)
    orders = [OrderColumn("x"), OrderColumn("x"), OrderColumn("x", False, False)]
    orders += [OrderColumn("x", True), OrderColumn("x", True, True), OrderColumn("x", True)]
    assert list(Window.orderBy(*(way("x") for way in ways)).order_by) == orders
    assert Window.partitionBy(F.col("k"), "j") == Window.partitionBy("k", F.col("`j`"))
    assert Window.orderBy(F.col("x").desc()) == Window.orderBy(F.desc("x"))
    assert Window.rowsBetween(F.col("back"), 0) == Window.rowsBetween(sw.col("back"), 0)
    by_second = [Window.orderBy(F.col("ts").cast("long")) for _ in range(2)]
    assert by_second[0] == by_second[1] != Window.orderBy(F.col("ts").cast("int"))
    df, other = session.range(1), session.range(1)
    assert Window.orderBy(df["id"]) == Window.orderBy(df["id"]) != Window.orderBy(other["id"])


# ---- functions
def test_every_aggregation_is_there():
    assert [name for name in AGGREGATION if not callable(getattr(F, name, None))] == []


def test_signatures_are_pysparks():
    """Every call that PySpark takes by position or by name is taken, with the same names."""
    theirs = pytest.importorskip("pyspark.sql.functions")
    ours = {n: f for n, f in vars(F).items() if inspect.isfunction(f) and not n.startswith("_")}
    common = ours.keys() & {n for n in dir(theirs) if inspect.isfunction(getattr(theirs, n))}
    assert len(common) > 45
    for name in common - {"col", "column"}:
        their = list(inspect.signature(getattr(theirs, name)).parameters)
        newer = {"k"} - {*their} if name in ("max_by", "min_by") else set()  # PySpark 4.1 has it not yet
        own = [p for p in inspect.signature(ours[name]).parameters if p not in {"where", "counts_of", *newer}]
        assert own == their, name


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (lambda: F.count("*"), sw.count()),
        (lambda: F.count(), sw.count()),
        (lambda: F.count(F.col("x")), sw.count("x")),
        (lambda: F.count("x", where="ok"), sw.count("x", where="ok")),
        (lambda: F.count_if("ok"), sw.count(where="ok")),
        (lambda: F.first("x", True), sw.first("x", ignore_nulls=True)),
        (lambda: F.first_value("x", ignoreNulls=True), sw.first("x", ignore_nulls=True)),
        (lambda: F.last("x", ignorenulls=False), sw.last("x")),
        (lambda: F.nth_value("x", 3, True), sw.nth_value("x", 3, ignore_nulls=True)),
        (lambda: F.max_by("x", "y"), sw.max_by("x", "y")),
        (lambda: F.mode("x", True), sw.mode("x")),
        (lambda: F.percentile("x", 0.25), sw.percentile("x", 0.25)),
        (lambda: F.percentile_approx("x", 0.25, 100), sw.percentile_disc("x", 0.25)),
        (lambda: F.percentile("x", (0.25, 0.5)), sw.percentile("x", [0.25, 0.5])),
        (lambda: F.regr_slope("y", "x"), sw.regr_slope("y", "x")),
        (lambda: F.approx_count_distinct("x", 0.1), sw.count_distinct("x")),
        (lambda: F.countDistinct("x"), sw.count_distinct("x")),
        (lambda: F.string_agg("x", ","), sw.string_agg("x", ",")),
        (lambda: F.listagg("x"), sw.string_agg("x")),
        (lambda: F.stddev_samp("x"), sw.stddev("x")),
        (lambda: F.variance("x"), sw.var_samp("x")),
        (lambda: F.every("x"), sw.bool_and("x")),
        (lambda: F.some("x"), sw.bool_or("x")),
        (lambda: F.array_agg("x"), sw.collect_list("x")),
        (lambda: F.count_min_sketch("x", 0.1, 0.9, counts_of=[1]), sw.count_min_sketch("x", 0.1, 0.9, counts_of=[1])),
        (lambda: F.sum("x", where=F.col("ok")), sw.sum("x", where="ok")),
    ],
)
def test_meanings(given, meant, spark):
    w = Window.partitionBy("k").orderBy("t").rowsBetween(-3, 0)
    made = find_definition(given().over(w))
    assert made == meant.over(w)


def test_ones_own_aggregation_takes_a_spec():
    over = Concat("word").over(Window.partitionBy("k").orderBy("t").rowsBetween(-1, 0), algorithm="recalculate")
    assert over.over == Concat("word").over(sw.rows_between(-1, 0), algorithm="recalculate")
    assert (over.partition_by, over.order_by) == (("k",), (OrderColumn("t"),))


# ---- refusals
@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: F.percentile("x", [0.5, 90]), r"Did you mean 0\.9"),
        (lambda: F.percentile("x", []), "list of fractions is empty"),
        (lambda: F.percentile("x", 95), r"Did you mean 0\.95"),
        (lambda: F.approx_count_distinct("x", 7), "between 0 and 1, got 7"),
        (lambda: F.percentile("x", 0.5, 2, where="y"), "Spark's own, and takes no where="),
        (lambda: F.max_by("x", "y", 3, where="z"), "Spark's own, and takes no where="),
        (lambda: F.sum(F.desc("x")).over(Window.partitionBy("k")), "leave out its direction"),
        (lambda: F.sum("x").over("k"), "over\\(\\) takes a window"),
        (lambda: F.lag("x").over(Window.orderBy("t").groupsBetween(-1, 0)), "Spark has no windows such as groups"),
        (lambda: F.count_if("x", where="y"), "two conditions"),
        (lambda: F.sum(3), "sum takes names of columns and Columns"),
        (lambda: F.sum("x", where=3), "sum: where= takes names of columns and Columns"),
        (lambda: Window.partitionBy(1), "partitionBy takes names of columns and Columns"),
        (lambda: Window.orderBy(None), "orderBy takes names of columns and Columns"),
        (lambda: Window.rowsBetween(1, 0), "start 1 is after the end 0"),
        (lambda: Window.rowsBetween("-1h", 0), "number of rows"),
        (lambda: Window.rangeBetween("1 lightyear", 0), "not a duration"),
        (lambda: Window.orderBy("t").exclude("me"), "exclude takes"),
    ],
)
def test_refusals(call, says, spark):
    with pytest.raises(InvalidInput, match=says):
        call()


@pytest.mark.full
def test_the_same_words_give_the_same_answers(session):
    from pyspark.sql import Window as Theirs
    from pyspark.sql import functions as theirs

    data = session.range(50).selectExpr(
        "id", "id % 3 AS k", "id * 7 % 50 AS u", "id DIV 4 AS t", "nullif(id % 5, 0) / 2D AS x", "id % 4 > 1 AS b"
    )

    def specs(window, f):
        by_key = window.partitionBy("k")
        return {
            "all": by_key,
            "running": by_key.orderBy(f.col("u").desc()),
            "rows": by_key.orderBy("u").rowsBetween(-4, window.currentRow),
            "after": by_key.orderBy(f.asc_nulls_last("u")).rowsBetween(1, 3),
            "rest": by_key.orderBy(f.desc("t"), "u").rowsBetween(window.currentRow, window.unboundedFollowing),
            "range": by_key.orderBy("t").rangeBetween(-2, 1),
        }

    def columns(f, window):
        w = specs(window, f)
        made = {f"max_{name}": f.max("x").over(spec) for name, spec in w.items()}
        return made | {
            "count": f.count("*").over(w["rows"]),
            "first": f.first("x", True).over(w["rows"]),
            "last": f.last("x", ignorenulls=True).over(w["after"]),
            "nth": f.nth_value("x", 2).over(w["rows"]),
            "by": f.max_by("id", "u").over(w["range"]),
            "if": f.count_if(f.col("b")).over(w["range"]),
            "percentile": f.percentile("x", 0.5).over(w["rows"]),
            "listed": f.collect_list("x").over(w["rows"]),
        }

    ours = with_columns(data, columns(F, Window)).orderBy("id")
    assert ours.columns == data.withColumns(columns(theirs, Theirs)).columns
    assert ours.collect() == data.withColumns(columns(theirs, Theirs)).orderBy("id").collect()
