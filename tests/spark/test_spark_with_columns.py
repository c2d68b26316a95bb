"""New columns of a Spark DataFrame: the plan, what stays as it is, names, groups, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.tiers import on_both

import slidewise as sw
from slidewise import spark as sws
from slidewise.errors import InvalidInput
from slidewise.spark import requirements, sorting
from slidewise.spark.window import SpecifiedOver


def events(session, number: int = 300):
    return session.range(number).selectExpr("id", "id % 3 AS k", "id * 7 % 31 AS x", "CAST(id % 4 AS STRING) AS s")


def explained(df, capsys) -> str:
    capsys.readouterr()
    df.explain()
    return capsys.readouterr().out


def python_nodes(plan: str) -> list[str]:
    """The line below every Python node of a plan."""
    lines = plan.splitlines()
    return [lines[n + 1] for n, line in enumerate(lines) if "ArrowEvalPython" in line]


# ---- the plan
@pytest.mark.parametrize(
    ("windows", "sorts", "lowest"),
    [
        (4, 0, r"Exchange hashpartitioning\(k#\d+L"),
        (6, 1, r"(\*\(\d+\) )?Sort \[k#\d+L ASC NULLS FIRST, x#\d+L ASC NULLS FIRST\], false"),
    ],
)
def test_one_python_node_for_any_number_of_aggregates(session, capsys, monkeypatch, windows, sorts, lowest):
    """Up to so many results Python sorts."""
    monkeypatch.setattr(sorting, "MOST_RESULTS", 16)
    windows = [*(sw.rows(n) for n in (3, 10, 20, 99)), sw.range_between(-5, 5), sw.groups_between(-2, 0)][:windows]
    made = {f"{a!r} {w!r}": a.over(w) for w in windows for a in (sw.max("x"), sw.median("x"), sw.mode("s"))}
    plan = explained(sws.with_columns(events(session), made, partition_by="k", order_by="x"), capsys)
    assert plan.count("Sort [") == sorts
    assert plan.count("Exchange ") == 1
    (below,) = python_nodes(plan)
    assert re.search(r"\+- " + lowest, below)


def test_only_the_columns_that_are_read_go_to_python(session, capsys):
    plan = explained(
        sws.with_columns(events(session), partition_by="k", order_by="id", n=sw.max("x").over(sw.rows(100))), capsys
    )
    (call,) = re.findall(r"slidewise\(([^)]*)\)", plan)
    assert re.sub(r"#\d+L?", "", call) == "k, x, id"


def test_equal_specs_share_a_pass_and_equal_keys_shuffled_once(spark, capsys):
    first = SpecifiedOver(sw.median("x").over(sw.rows(3)), ("k",), (sw.asc("id"),))
    made: dict[str, Any] = {
        "a": first,
        "b": SpecifiedOver(sw.median("x").over(sw.rows(3)), ("s",), (sw.asc("id"),)),
        "c": SpecifiedOver(sw.median("x").over(sw.rows(5)), ("k",), (sw.desc("id"),)),
        "d": first,
        "e": sw.mode("x").over(sw.rows(3)),
    }
    df = events(spark)
    out = sws.with_columns(df, made, partition_by="k", order_by=[sw.asc("id")])
    plan = explained(out, capsys)
    assert (plan.count("ArrowEvalPython"), plan.count("Sort ["), plan.count("Exchange ")) == (3, 0, 2)
    assert out.columns == [*df.columns, *made]
    rows = df.toArrow()
    found = out.toArrow().sort_by("id")
    for name, keys, order in (("a", "k", "id"), ("b", "s", "id"), ("c", "k", sw.desc("id")), ("d", "k", "id")):
        expected = sw.with_columns(rows, partition_by=keys, order_by=order, r=made[name].over)
        assert found[name].to_pylist() == expected.sort_by("id")["r"].to_pylist(), name


# ---- what stays as it is
def test_other_columns_keep_their_types_nullability_and_metadata(session):
    df = events(session).withMetadata("x", {"unit": "K"}).selectExpr("*", "map('a', array(x)) AS nested", "1 AS one")
    out = sw.with_columns(
        df, partition_by="k", order_by="id", m=sw.max("x").over(sw.rows(3)), n=sw.count().over(sw.rows(3))
    )
    assert out.schema.fields[: len(df.schema)] == df.schema.fields
    assert out.schema["x"].metadata == {"unit": "K"}
    assert not out.schema["one"].nullable
    assert out.columns[-2:] == ["m", "n"]
    assert out.count() == df.count()


def test_names_may_have_any_characters(session):
    df = events(session, 9).toDF("row.id", "a `key`", "x y", "s")
    out = sws.with_columns(
        df,
        {"m.`1`": sw.max("x y").over(sw.rows(2)), "x y": sw.count().over(sw.rows(9))},
        partition_by="a `key`",
        order_by="row.id",
    )
    assert out.columns == ["row.id", "a `key`", "x y", "s", "m.`1`"]
    assert [tuple(row) for row in out.collect() if row[1] == 1] == [
        (1, 1, 1, "1", 7),
        (4, 1, 2, "0", 28),
        (7, 1, 3, "3", 28),
    ]


def test_a_number_for_a_window_is_so_many_rows(spark):
    df = events(spark)
    made = {"a": sw.median("x").over(5), "b": sw.median("x").over(sw.rows(5)), "c": sw.max("x").over(2)}
    rows = sws.with_columns(df, {**made, "d": sw.max("x").over(sw.rows(2))}, partition_by="k", order_by="id").collect()
    assert all(row.a == row.b and row.c == row.d for row in rows)
    with pytest.raises(InvalidInput, match=r"rows\(5\) gives a result for every row"):
        sws.aggregate(df, order_by="id", window=5, n=sw.count())
    with pytest.raises(InvalidInput, match="a number of rows, got True"):
        sws.aggregate(df, order_by="id", window=True, n=sw.count())


def test_a_new_column_takes_the_place_of_an_old_one(spark):
    df = events(spark, 6)
    out = sw.with_columns(df, order_by="id", x=sw.max("x").over(sw.rows(2)), y=sw.min("x").over(sw.rows(2)))
    assert out.columns == ["id", "k", "x", "s", "y"]
    assert [(row.x, row.y) for row in out.orderBy("id").collect()] == [
        (0, 0),
        (7, 0),
        (14, 7),
        (21, 14),
        (28, 21),
        (28, 4),
    ]
    other = sw.with_columns(df, order_by="ID", X=sw.max("X").over(sw.rows(2)))  # as Spark finds names
    assert other.columns == ["id", "k", "X", "s"]


def test_without_order_rows_are_taken_as_they_stand(spark):
    df = spark.range(50).coalesce(1)
    assert [row.n for row in sw.with_columns(df, n=sw.sum("id").over(sw.rows(2))).collect()[:4]] == [0, 1, 3, 5]
    assert sw.with_columns(spark.range(7), n=sw.count().over(sw.rows(3))).agg({"n": "sum"}).collect()[0][0] == 18
    assert sw.with_columns(spark.range(0), n=sw.count().over(sw.rows(3))).collect() == []


def test_nothing_runs_before_an_action(spark):
    broken = events(spark).selectExpr("*", "raise_error('ran') AS never")
    out = sw.with_columns(broken, partition_by="k", order_by="id", m=sw.last("never").over(sw.rows(3)))
    assert out.columns[-1] == "m"
    with pytest.raises(Exception, match="ran"):
        out.collect()


# ---- the user's own
@on_both
def test_aggregations_of_a_notebook_travel_by_value(session):
    class Range(sw.Aggregation):
        identity = (2**60, -(2**60))

        @staticmethod
        def lift(x):
            return (x, x)

        @staticmethod
        def combine(a, b):
            return (min(a[0], b[0]), max(a[1], b[1]))

        @staticmethod
        def lower(s):
            return s[1] - s[0]

    class Words(sw.Aggregation):
        size_preserving = False

        @staticmethod
        def lift(s):
            return s

        @staticmethod
        def combine(a, b):
            return a + b

    out = sw.with_columns(
        events(session, 60),
        partition_by="k",
        order_by="id",
        r=Range("x").over(sw.rows(2)),
        w=Words("s").over(sw.rows(3)),
    )
    assert [f.dataType.simpleString() for f in out.schema.fields[-2:]] == ["bigint", "string"]
    rows = [row for row in out.orderBy("id").collect() if row.k == 0]
    assert [row.r for row in rows[:4]] == [0, 21, 10, 10]
    assert rows[3].w == "321"


# ---- what is refused
def test_mistakes_are_told_before_anything_runs(spark):
    df = events(spark)
    good = sw.max("x").over(sw.rows(3))
    refused = {
        "no column 'mnths'. Did you mean 'months'": {"a": sw.max("mnths").over(sw.rows(3))},
        "no column 'sensor'": {"partition_by": "sensor", "a": good},
        "at least one new column": {},
        "has no window": {"a": sw.max("x")},
        "one result per slide": {"a": sw.max("x").over(sw.rows(3, every=2))},
        "sum takes numbers": {"a": sw.sum("s").over(sw.rows(3))},
        "engine is one of": {"engine": "fast", "a": good},
        "order_by takes names": {"order_by": 3, "a": good},
        "needs exactly one order column": {"order_by": ["x", "id"], "a": sw.max("x").over(sw.time(3))},
        "leave out threads": {"threads": 2, "a": good},
        "of Spark's interval month": {"a": sw.max("months").over(sw.rows(3))},
        "the collation UTF8_LCASE": {"a": sw.max("folded").over(sw.rows(3))},
    }
    more = df.selectExpr("*", "INTERVAL 1 MONTH AS months", "s COLLATE UTF8_LCASE AS folded")
    for message, call in refused.items():
        with pytest.raises(InvalidInput, match=re.escape(message)):
            sw.with_columns(more, **call)
    with pytest.raises(InvalidInput, match="takes a Spark DataFrame"):
        sws.with_columns({"x": [1]}, n=sw.count().over(sw.rows(3)))


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        ({"pyspark": None}, "needs pyspark"),
        ({"pyspark": (4, 0)}, "needs pyspark 4.1 or newer"),
        ({"pandas": (3, 0)}, "does not work with pandas 3"),
        ({"protobuf": None}, "needs protobuf"),
    ],
)
def test_missing_or_wrong_packages_are_told(monkeypatch, versions, message):
    found = {"pyspark": (4, 3), "pandas": (2, 2), "protobuf": (6, 1)} | versions
    monkeypatch.setattr(requirements, "_find_version", found.get)
    monkeypatch.setattr(requirements, "version", lambda name: str(found[name]))
    with pytest.raises(requirements.MissingRequirement, match=message):
        requirements.require_packages(protobuf=True)


def test_missing_or_old_java_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(requirements.MissingRequirement, match=r"JAVA_HOME is .* Install Java 17 or newer"):
        requirements.require_java()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    with pytest.raises(requirements.MissingRequirement, match=r"needs Java 17 or newer, and .*11.0.2"):
        requirements.require_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(requirements.MissingRequirement, match="no java on the PATH"):
        requirements.require_java()
