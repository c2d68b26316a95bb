"""Who sorts: what is chosen and why, and the same answers however rows are put in order."""

from __future__ import annotations

import pytest
from support.tiers import in_full

import slidewise as sw
from slidewise import spark as sws
from slidewise.errors import InvalidInput
from slidewise.spark import sorting
from slidewise.spark.executor import sorting_task
from slidewise.spark.schema import WORKER_MEMORY, Schema
from slidewise.spark.sorting import parse_memory

MIB = 1 << 20


def find_sorts(df, **call) -> dict[str, str]:
    return {line["column"]: line["sorted by"] for line in sw.explain(df, **call)}


# ---- what is chosen
def test_explain_tells_who_sorts_and_why(spark, monkeypatch):
    df = spark.range(3).selectExpr("id AS k", "id AS t", "id AS x", "collate(string(id), 'UTF8_LCASE') AS s")
    m = {"m": sw.max("x").over(sw.rows(100))}
    spark.conf.set(WORKER_MEMORY, "300m")
    assert find_sorts(df, partition_by="k", order_by="t", **m) == {
        "m": "python: up to 300m of rows in a task, and more by way of its disk"
    }
    assert find_sorts(df, **m) == {"m": "nobody: rows are taken as they stand"}
    for by in ({"partition_by": "s", "order_by": "t"}, {"partition_by": "k", "order_by": "s"}):
        (found,) = find_sorts(df, **by, **m).values()
        assert found.startswith("spark: the order of s, of type string collate UTF8_LCASE, is Spark's")
    many = {f"m{k}": sw.max("x").over(sw.rows(100 + k)) for k in range(61)}
    (found,) = set(find_sorts(df, partition_by="k", order_by="t", **many).values())
    assert found == "spark: 61 results of a row cost more to put back than rows to sort"
    running = sw.sum("x").over(sw.rows_between(-sw.UNBOUNDED, 0))
    assert find_sorts(df, partition_by="k", order_by="t", r=running) == {"r": "spark: for its own operator"}
    sorted_before = sws.with_columns(df, partition_by="k", order_by="t", **many)
    assert find_sorts(sorted_before, partition_by="k", order_by="t", **m) == {
        "m": "nobody: rows are in order since the step before"
    }


@pytest.mark.parametrize(
    ("limit", "tasks", "by"), [("1g", 1, "python"), ("1000m", 1, "spark"), ("3g", 4, "spark"), ("4096", 4, "python")]
)
def test_a_worker_with_little_memory_does_not_sort(spark, monkeypatch, limit, tasks, by):
    """What is set is for an executor, whose tasks share it."""
    monkeypatch.setattr(Schema, "worker_limit", limit)
    monkeypatch.setattr(Schema, "worker_tasks", tasks)
    df = spark.range(3).selectExpr("id AS k", "id AS t", "id AS x")
    (found,) = find_sorts(df, partition_by="k", order_by="t", m=sw.max("x").over(sw.rows(100))).values()
    assert found.startswith(f"{by}: ")
    if by == "spark":
        assert found == f"spark: Python workers of an executor share {limit}, by spark.executor.pyspark.memory"


def test_amounts_of_memory_are_read_as_spark_writes_them():
    read = {"512m": 512 * MIB, "1g": 1024 * MIB, "2048k": 2 * MIB, "5": 5 * MIB, "3MB": 3 * MIB, "0.5g": 512 * MIB}
    assert {text: parse_memory(text) for text in read} == read
    assert (parse_memory("1k"), parse_memory("8t")) == (MIB, 1024 * MIB)
    with pytest.raises(InvalidInput, match="is an amount"):
        parse_memory("much")


# ---- answers
def build_rows(session):
    """Nulls, NaN, -0.0 and ties; keys and orders of all types."""
    return session.range(400, numPartitions=3).selectExpr(
        "id",
        "CASE WHEN id % 11 = 0 THEN NULL ELSE id % 5 END AS number",
        "CASE id % 7 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0.0D WHEN 3 THEN NULL ELSE id % 3 END f",
        "CASE WHEN id % 9 = 0 THEN NULL ELSE string(id * 7919 % 6) END AS s",
        "CAST(id * 31 % 4 - 1.5 AS DECIMAL(30, 1)) AS d",
        "date_add(DATE '2024-03-01', int(id * 13 % 5)) AS day",
        "timestamp_micros(id * 104729 % 1000 * 1000) AS at",
        "id * 7 % 23 AS x",
    )


CALLS = [
    {"partition_by": "number", "order_by": ["at", "id"]},
    {"partition_by": "f", "order_by": [sw.desc("at"), "id"]},
    {"partition_by": ["s", "day"], "order_by": [sw.desc("f", nulls="first"), "id"]},
    {"partition_by": "d", "order_by": [sw.asc("s", nulls="last"), sw.desc("d"), "id"]},
    {"partition_by": "day", "order_by": [sw.desc("number"), sw.asc("day"), "id"]},
    {"order_by": [sw.asc("f"), "id"], "hot_keys": False},
]


@pytest.mark.parametrize("memory", ["512m", *in_full("spark sorts")])
def test_answers_are_those_of_spark(session, monkeypatch, memory):
    """Spark's own operator is the oracle. All orders in one job: each is a column of its own."""
    if memory == "spark sorts":
        monkeypatch.setattr(sorting, "MOST_RESULTS", 0)
    df = build_rows(session)
    for call in CALLS:
        made = {"m": sw.max("x").over(sw.rows(3)), "n": sw.first("s").over(sw.rows_between(-2, 1))}
        ours = sws.with_columns(df, **made, **call, engine="slidewise").select("id", "m", "n")
        theirs = sws.with_columns(df, **made, **{**call, "hot_keys": "auto"}, engine="spark").select("id", "m", "n")
        assert sorted(ours.collect()) == sorted(theirs.collect(), key=lambda row: row.id), call


#: values that are carried, and not computed with
CARRIED = {
    "null": "CAST(NULL AS VOID)", "variant": "parse_json(string(id))", "map": "map('a', id, 'b', NULL)",
    "list": "array(id, NULL)", "nested": "named_struct('x', id, 'y', array(map(1, string(id))))", "bool": "id % 2 = 0",
    "interval": "INTERVAL '1' DAY * id", "decimal": "CAST(id AS DECIMAL(38, 4))", "binary": "binary(string(id))",
    "local": "CAST(timestamp_seconds(id) AS TIMESTAMP_NTZ)", "float": "float(id)", "byte": "CAST(id AS BYTE)",
    "variants": "array(parse_json('2'))", "hidden": "IF(id % 4 = 0, NULL, struct(parse_json('1') AS q))",
}  # fmt: skip


@pytest.mark.full
def test_values_of_all_types_are_handed_back(session):
    columns = [f"{value} AS {name}" for name, value in CARRIED.items()]
    df = session.range(40).selectExpr("id", "id % 3 AS k", "id * 7 % 20 AS o", *columns)
    made = {f"last_{name}": sw.last(name).over(sw.rows_between(-3, -1)) for name in CARRIED}
    by = {"partition_by": "k", "order_by": ["o", "id"]}
    alone = df  # a single result of a call comes without a struct around it
    for name, over in made.items():
        alone = sws.with_columns(alone, {name: over}, **by, engine="slidewise")
    together, theirs = (sws.with_columns(df, made, **by, engine=engine) for engine in ("slidewise", "spark"))
    found = [rows.select("id", *made) for rows in (theirs, together, alone)]
    assert found[0].schema == found[1].schema == found[2].schema
    expected, *ours = ([*map(str, sorted(rows.collect(), key=lambda row: row.id))] for rows in found)
    assert ours == [expected, expected]


def test_more_than_memory_takes_goes_by_way_of_disk(spark):
    """A limit of 1 MiB: 40,000 rows of two keys are several runs in each task."""
    spark.conf.set(WORKER_MEMORY, "1m")
    df = spark.range(40_000, numPartitions=2).selectExpr("id", "id % 2 AS k", "id * 7919 % 40009 AS t", "id % 101 AS x")
    made = {"m": sw.max("x").over(sw.rows(50)), "l": sw.collect_list("x").over(sw.rows(2))}
    out = sws.with_columns(df, partition_by="k", order_by="t", **made)
    expected = sw.with_columns(df.toArrow(), partition_by="k", order_by="t", **made)
    found = out.orderBy("id").toArrow()
    assert all(found[name].to_pylist() == expected.sort_by("id")[name].to_pylist() for name in made)


@pytest.mark.full
def test_a_key_in_buckets(spark, monkeypatch):
    """Where a large key is spread, Python sorts by bucket."""
    from slidewise.spark import hot_keys

    monkeypatch.setattr(hot_keys, "SHARE", 0.5)
    monkeypatch.setattr(hot_keys, "LARGE", 100)
    monkeypatch.setattr(hot_keys, "BUCKET", 200)
    df = spark.range(4_000, numPartitions=3).selectExpr("id", "0 AS k", "id * 2503 % 4001 AS t", "id % 97 AS x")
    made = {"m": sw.max("x").over(sw.range_between(-30, 5)), "s": sw.sum("x").over(sw.rows(20))}
    for keys in ("k", None):
        out = sws.with_columns(df, partition_by=keys, order_by="t", hot_keys=True, **made).orderBy("id").toArrow()
        expected = sw.with_columns(df.toArrow(), partition_by=keys, order_by="t", **made).sort_by("id")
        assert all(out[name].to_pylist() == expected[name].to_pylist() for name in made)


def test_a_limit_of_address_space_lowers_that_of_rows(monkeypatch):
    resource = pytest.importorskip("resource")
    assert sorting_task.fit_limit(500 * MIB) == 500 * MIB
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1, 1))
    assert sorting_task.fit_limit(500 * MIB) == sorting_task.LEAST
