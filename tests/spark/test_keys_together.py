"""All rows of a key are in one task, whatever Spark does with what comes before: skewed joins, buckets, local reads."""

from __future__ import annotations

import pytest
from support.tiers import in_full

import slidewise as sw
from slidewise.errors import InvalidInput
from slidewise.spark.schema import BUCKETED

MADE = {
    "n": sw.count("x").over(sw.rows(100_000)),
    "s": sw.sum("x").over(sw.rows(3)),
}
KEYED = {"partition_by": "k", "order_by": "t"}


def plan_of(df, capsys) -> str:
    capsys.readouterr()
    df.explain()
    return capsys.readouterr().out


def assert_whole_keys(out, df) -> None:
    """The results are those of the rows in one place."""
    expected = sw.with_columns(df.toArrow(), **KEYED, **MADE).sort_by([("k", "ascending"), ("t", "ascending")])
    found = out.orderBy("k", "t").toArrow()
    assert all(found[name].to_pylist() == expected[name].to_pylist() for name in MADE)


def build_rows(spark, skewed: bool = False):
    k = "IF(id % 10 < 8, 7, id % 50)" if skewed else "id % 50"
    return spark.range(0, 6_000, 1, 4).selectExpr(f"{k} AS k", "id * 7919 % 20011 AS t", "double(id) AS x")


@pytest.fixture
def plain(spark):
    """No row is in one place by accident: partitions are many and stay so."""
    for name, value in {
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.adaptive.coalescePartitions.enabled": "false",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
    }.items():
        spark.conf.set(name, value)
    return spark


@pytest.fixture
def bucketed(plain, tmp_path):
    """A table in as many buckets as partitions, of several files each."""
    for name, value in {
        "spark.sql.files.maxPartitionBytes": "4k",
        "spark.sql.files.openCostInBytes": "1",
    }.items():
        plain.conf.set(name, value)
    build_rows(plain).write.bucketBy(4, "k").sortBy("k", "t").saveAsTable("in_buckets", path=str(tmp_path / "rows"))
    yield plain.table("in_buckets")
    plain.sql("DROP TABLE in_buckets")


@pytest.mark.parametrize("trusting", [False, *in_full(True)])
def test_a_skewed_join_by_the_same_key(plain, trusting):
    """Spark splits the large partition of the join. By its own repartition a key was in several tasks."""
    for name, value in {
        "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "1",
        "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "1k",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1k",
        BUCKETED: str(trusting).lower(),
    }.items():
        plain.conf.set(name, value)
    joined = build_rows(plain, skewed=True).join(plain.range(50).selectExpr("id AS k", "1 AS y"), "k")
    assert_whole_keys(sw.with_columns(joined, **KEYED, **MADE), joined)


def test_a_table_in_buckets_is_not_read_as_plain_files(bucketed, capsys):
    """Spark left the repartition out, since rows lay so, and then the buckets, since nobody needed them."""
    out = sw.with_columns(bucketed, **KEYED, **MADE)
    assert plan_of(out, capsys).count("Exchange") == 1
    assert_whole_keys(out, bucketed)


def test_a_table_in_buckets_needs_no_shuffle_where_it_is_trusted(bucketed, capsys, spark):
    spark.conf.set(BUCKETED, "true")
    out = sw.with_columns(bucketed, **KEYED, **MADE)
    plan = plan_of(out, capsys)
    assert "Bucketed: true" in plan
    assert [plan.count(node) for node in ("Exchange", "Sort [", "ArrowEvalPython")] == [0, 1, 1]
    assert_whole_keys(out, bucketed)
    # The next call on the same keys and order: neither a shuffle nor a sort.
    again = sw.with_columns(out, **KEYED, m=sw.median("s").over(sw.rows(5)))
    plan = plan_of(again, capsys)
    assert [plan.count(node) for node in ("Exchange", "Sort [", "ArrowEvalPython")] == [0, 1, 2]
    (said,) = {line["sorted by"] for line in sw.explain(bucketed, **KEYED, **MADE)}
    assert said == f"spark: where rows do not lie by key and order already, by {BUCKETED}"


def test_rows_that_do_not_lie_so_are_shuffled_and_sorted_where_that_is_trusted(plain, capsys):
    plain.conf.set(BUCKETED, "true")
    df = build_rows(plain)
    out = sw.with_columns(df, **KEYED, **MADE)
    plan = plan_of(out, capsys)
    assert [plan.count(node) for node in ("Exchange", "Sort [", "ArrowEvalPython")] == [1, 1, 1]
    assert_whole_keys(out, df)


def test_two_calls_on_the_same_keys_plan_one_exchange(plain, capsys):
    df = build_rows(plain)
    out = sw.with_columns(sw.with_columns(df, **KEYED, **MADE), **KEYED, m=sw.median("s").over(sw.rows(5)))
    plan = plan_of(out, capsys)
    assert [plan.count(node) for node in ("Exchange", "Sort [", "ArrowEvalPython")] == [1, 0, 2]
    assert_whole_keys(out.drop("m"), df)


def test_a_setting_that_is_neither_is_refused(plain):
    plain.conf.set(BUCKETED, "perhaps")
    with pytest.raises(InvalidInput, match=f"{BUCKETED} is true or false, got 'perhaps'"):
        sw.with_columns(build_rows(plain), **KEYED, **MADE)
