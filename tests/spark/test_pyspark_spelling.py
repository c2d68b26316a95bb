"""PySpark's spelling: what specs and functions mean. Needs no Spark, but for the last tests."""

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


def test_a_spec_says_partitioning_order_and_frame():
    w = Window.partitionBy("k", F.col("j")).orderBy("ts", F.desc("x"), F.asc_nulls_last("y")).rowsBetween(-999, 0)
    order = (OrderColumn("ts"), OrderColumn("x", True), OrderColumn("y", False, False))
    assert F.median("x").over(w) == SpecifiedOver(sw.median("x").over(sw.rows_between(-999, 0)), ("k", "j"), order)


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
        (Window.rowsBetween(F.col("back"), 0), sw.rows_between(sw.col("back"), 0)),
        (Window.orderBy("t").rowsBetween(-1, 1).exclude("ties"), sw.rows_between(-1, 1, exclude="ties")),
        (Window.orderBy("t").exclude("current row"), sw.range_between(-sw.UNBOUNDED, 0, exclude="current row")),
        (Window.orderBy("t").exclude("group").exclude("no others"), sw.range_between(-sw.UNBOUNDED, 0)),
        (Window.orderBy("t").exclude("group").rowsBetween(-1, 1), sw.rows_between(-1, 1, exclude="group")),
    ],
)  # fmt: skip
def test_frames(spec, window):
    assert spec.window == window


def test_orders():
    made = [f("x") for f in (F.asc, F.asc_nulls_first, F.asc_nulls_last, F.desc, F.desc_nulls_first, F.desc_nulls_last)]
    x = F.col("x")
    assert made == [
        x.asc(), x.asc_nulls_first(), x.asc_nulls_last(), x.desc(), x.desc_nulls_first(), x.desc_nulls_last()
    ]  # fmt: skip
    assert [(o.descending, o.nulls_lead) for o in made] == [
        (False, True), (False, True), (False, False), (True, False), (True, True), (True, False)
    ]  # fmt: skip


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
        own = [p for p in inspect.signature(ours[name]).parameters if p != "where"]
        assert own == list(inspect.signature(getattr(theirs, name)).parameters), name


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (F.count("*"), sw.count()),
        (F.count(), sw.count()),
        (F.count(F.col("x")), sw.count("x")),
        (F.count("x", where="ok"), sw.count("x", where="ok")),
        (F.count_if("ok"), sw.count(where="ok")),
        (F.first("x", True), sw.first("x", ignore_nulls=True)),
        (F.first_value("x", ignoreNulls=True), sw.first("x", ignore_nulls=True)),
        (F.last("x", ignorenulls=False), sw.last("x")),
        (F.nth_value("x", 3, True), sw.nth_value("x", 3, ignore_nulls=True)),
        (F.max_by("x", "y"), sw.max_by("x", "y")),
        (F.mode("x", True), sw.mode("x")),
        (F.percentile("x", 0.25), sw.percentile("x", 0.25)),
        (F.percentile_approx("x", 0.25, 100), sw.percentile_disc("x", 0.25)),
        (F.percentile("x", (0.25, 0.5)), sw.percentile("x", [0.25, 0.5])),
        (F.regr_slope("y", "x"), sw.regr_slope("y", "x")),
        (F.approx_count_distinct("x", 0.1), sw.count_distinct("x")),
        (F.countDistinct("x"), sw.count_distinct("x")),
        (F.string_agg("x", ","), sw.string_agg("x", ",")),
        (F.listagg("x"), sw.string_agg("x")),
        (F.stddev_samp("x"), sw.stddev("x")),
        (F.variance("x"), sw.var_samp("x")),
        (F.every("x"), sw.bool_and("x")),
        (F.some("x"), sw.bool_or("x")),
        (F.array_agg("x"), sw.collect_list("x")),
        (F.count_min_sketch("x", 0.1, 0.9), sw.count_min_sketch("x", 0.1, 0.9)),
        (F.sum("x", where=F.col("ok")), sw.sum("x", where="ok")),
    ],
)
def test_meanings(given, meant):
    assert given == meant


def test_ones_own_aggregation_takes_a_spec():
    over = Concat("word").over(Window.partitionBy("k").orderBy("t").rowsBetween(-1, 0), algorithm="recalculate")
    assert over.over == Concat("word").over(sw.rows_between(-1, 0), algorithm="recalculate")
    assert (over.partition_by, over.order_by) == (("k",), (OrderColumn("t"),))


# ---- refusals
@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: F.count_distinct("a", "b"), "takes one column, got 2.*concat_ws"),
        (lambda: F.percentile("x", [0.5, 90]), r"Did you mean 0\.9"),
        (lambda: F.percentile("x", []), "list of fractions is empty"),
        (lambda: F.percentile("x", 95), r"Did you mean 0\.95"),
        (lambda: F.percentile("x", 0.5, 2), "every row counts once"),
        (lambda: F.max_by("x", "y", 3), "k=3 asks for several"),
        (lambda: F.approx_count_distinct("x", 7), "between 0 and 1, got 7"),
        (lambda: F.count_if("x", where="y"), "two conditions"),
        (lambda: F.sum(3), "sum takes names of columns"),
        (lambda: F.sum("x", where=3), "sum: where= takes names of columns"),
        (lambda: Window.partitionBy(1), "partitionBy takes names of columns"),
        (lambda: Window.orderBy(None), "orderBy takes names of columns"),
        (lambda: Window.rowsBetween(1, 0), "start 1 is after the end 0"),
        (lambda: Window.rowsBetween("-1h", 0), "number of rows"),
        (lambda: Window.rangeBetween("1 lightyear", 0), "not a duration"),
        (lambda: Window.orderBy("t").exclude("me"), "exclude takes"),
    ],
)
def test_refusals(call, says):
    with pytest.raises(InvalidInput, match=says):
        call()


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


def test_what_is_pysparks_is_refused_with_what_to_write(spark):
    from pyspark.sql import Window as Theirs
    from pyspark.sql import functions as theirs

    column = theirs.col("x") + 1
    for call in (
        lambda: F.max(column),
        lambda: F.max("x", where=column),
        lambda: Window.partitionBy(column),
        lambda: Window.orderBy(theirs.desc("x")),
        lambda: Window.rowsBetween(column, 0),
    ):
        with pytest.raises(InvalidInput, match=r"a Column of pyspark .*df\.withColumn"):
            call()
    with pytest.raises(InvalidInput, match=r"from slidewise\.spark import Window"):
        F.max("x").over(Theirs.partitionBy("x"))
