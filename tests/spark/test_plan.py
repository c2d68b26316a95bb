"""What follows drops or moves neither the sort nor the Python node: the plans, and the answers."""

from __future__ import annotations

import re

import pytest

import slidewise as sw
from slidewise import spark as sws
from slidewise.spark import Window, sorting
from slidewise.spark import functions as F  # noqa: N812
from slidewise.spark.plan import group_expressions, plan_task
from slidewise.spark.schema import Schema


@pytest.fixture
def df(spark):
    return spark.range(300, numPartitions=3).selectExpr("id", "id % 3 AS k", "id * 37 % 101 AS t", "id % 17 AS x")


FEATURES = {"c0": sw.max("x").over(sw.rows(20)), "c1": sw.median("x").over(sw.rows(50))}


def nodes(df, capsys) -> list[str]:
    """The operators of the physical plan, the last one first."""
    capsys.readouterr()
    df.explain()
    return re.findall(r"^[ :+\-*()\d]*([A-Z]\w+)", capsys.readouterr().out, re.MULTILINE)


def test_a_second_order_of_the_same_keys_needs_no_second_shuffle(df, capsys):
    by_t = Window.partitionBy("k").orderBy("t", "id").rowsBetween(-9, 0)
    by_id = Window.partitionBy("k").orderBy("id").rowsBetween(-9, 0)
    out = sws.with_columns(
        df, {"a": F.median("x").over(by_t), "b": F.median("x").over(by_id), "c": F.mode("x").over(by_t)}
    )
    found = nodes(out, capsys)
    assert [found.count(node) for node in ("Exchange", "Sort", "ArrowEvalPython")] == [1, 0, 2]


def _followed(out, other):
    """What users do next."""
    return {
        "filter on an input column": out.where("x > 5"),
        "filter on the key": out.where("k = 1"),
        "filter on the order": out.where("t < 50"),
        "filter on a result": out.where("c0 > 10"),
        "aggregate": out.groupBy("k").sum("c0"),
        "aggregate that needs no order": out.groupBy("x").count().join(out.groupBy("x").max("c0"), "x"),
        "join": out.join(other, "k"),
        "limit": out.orderBy("id").limit(20),
        "other order": out.orderBy("x", "id"),
        "few columns": out.select("id", "c0"),
        "distinct": out.select("c0").distinct(),
    }


@pytest.mark.full
@pytest.mark.parametrize("by_spark", [False, True])
def test_nothing_that_follows_drops_or_moves_the_sort_or_the_python_node(spark, df, capsys, monkeypatch, by_spark):
    """Against the same steps after the results have been written down."""
    if by_spark:
        monkeypatch.setattr(sorting, "MOST_RESULTS", 0)
    lowest = ["Sort", "Exchange"] if by_spark else ["Exchange"]
    out = sws.with_columns(df, FEATURES, partition_by="k", order_by=["t", "id"])
    written = spark.createDataFrame(out.toPandas())
    other = spark.range(3).selectExpr("id AS k", "id * 10 AS tens")
    for name, made in _followed(out, other).items():
        found = nodes(made, capsys)
        pythons = [k for k, node in enumerate(found) if node == "ArrowEvalPython"]
        assert pythons, name
        for k in pythons:  # the sort or the shuffle is right below, and no filter or limit between it and the input
            below = [
                node for node in found[k + 1 :] if node != "Project"
            ]  # which leaves columns out, and moves nothing
            assert below[: len(lowest)] == lowest, (name, found)
            own = below[: below.index("Range") + 1]
            assert not {"Filter", "GlobalLimit", "LocalLimit"} & set(own), (name, found)
        expected = _followed(written, other)[name]
        assert sorted(map(tuple, made.collect()), key=repr) == sorted(map(tuple, expected.collect()), key=repr), name


def test_the_order_travels_only_where_frames_look_at_it(spark, df):
    """By rows, Python gets the key and the column; by range, the order too."""
    for window, reads in ((sw.rows(3), ["k", "x"]), (sw.range_between(-3, 0), ["k", "t", "x"])):
        group = group_expressions({"r": sw.sum("x").over(window)}, "k", "t")[0]
        assert plan_task(Schema(df), group)[0].reads.names == reads
