"""Calls that are given the schema of their DataFrame: planned without asking it, with the results of those that ask."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples, in_full, on_both

import slidewise as sw
from slidewise.errors import InvalidInput

pytest.importorskip("pyspark")
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from slidewise.spark.ddl import read_ddl

SCHEMA = "k string, t long, x double, `a b.c` int"
ROWS = [("ab"[i % 2], i * 7 % 20, float(i * 5 % 11), i) for i in range(40)]
OVER = {"partition_by": "k", "order_by": "t"}
FEATURES: dict[str, Any] = {
    "usual": sw.median("x").over(sw.rows(5)),
    "recent": sw.sum("x").over(sw.range_between(-3, 0)),
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked of DataFrames, by which Spark analyses them."""
    import pyspark.sql.classic.dataframe as classic
    import pyspark.sql.connect.dataframe as remote

    found: list[str] = []
    for module in (classic, remote):
        for name in ("schema", "columns", "isStreaming", "dtypes", "storageLevel"):
            plain = getattr(module.DataFrame, name)

            def ask(df: Any, name: str = name, plain: Any = plain) -> Any:
                if name == "columns" and vars(df).get("_cached_schema") is not None:
                    return plain.__get__(df, type(df))  # it was told
                found.append(name)
                return plain.__get__(df, type(df))

            monkeypatch.setattr(module.DataFrame, name, property(ask))
    return found


def make_rows(session: Any) -> Any:
    return session.createDataFrame(ROWS, SCHEMA).select("*")


def require_unasked(rows: Any, asked: list[str]) -> None:
    """Nothing was asked; a classic session analyses at every step in any case, and there PySpark itself asks."""
    if "connect" in type(rows).__module__:
        assert asked == []


def collect(df: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, df.collect()), key=repr)


@pytest.mark.full
@on_both
def test_with_columns_asks_nothing_and_gives_the_same(session: Any, asked: list[str]) -> None:
    rows = make_rows(session)
    asked.clear()
    told = sw.with_columns(rows, schema=SCHEMA, streaming=False, **OVER, **FEATURES)
    assert asked == []
    plain = sw.with_columns(rows, **OVER, **FEATURES)
    assert told.schema == plain.schema
    assert collect(told) == collect(plain)


@pytest.mark.parametrize("engine", ["slidewise", *in_full("spark")])
def test_a_new_column_takes_the_place_of_an_old_one(session: Any, engine: Any, asked: list[str]) -> None:
    rows = make_rows(session)
    asked.clear()
    new: dict[str, Any] = {"X": sw.max("x").over(sw.rows(3)), "n": sw.count().over(sw.rows(3))}
    told = sw.with_columns(rows, schema=read_ddl(SCHEMA), engine=engine, **OVER, **new)
    assert asked == []
    plain = sw.with_columns(rows, engine=engine, **OVER, **new)
    assert told.columns == plain.columns == ["k", "t", "X", "a b.c", "n"]
    assert collect(told) == collect(plain)


@on_both
def test_aggregate_asks_nothing_and_gives_the_same(session: Any, asked: list[str]) -> None:
    rows = make_rows(session)
    call: dict[str, Any] = {"window": sw.time(6, every=3), **OVER}
    asked.clear()
    told = sw.aggregate(rows, schema=SCHEMA, **call, total=sw.sum("a b.c"), usual=sw.median("x"))
    require_unasked(rows, asked)
    plain = sw.aggregate(rows, **call, total=sw.sum("a b.c"), usual=sw.median("x"))
    assert told.schema == plain.schema
    assert collect(told) == collect(plain)


@on_both
def test_a_stream_asks_nothing(session: Any, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from slidewise.spark.streams import query

    monkeypatch.setattr(query, "require_settings", lambda spark: None)
    rows = session.readStream.format("rate").load()
    schema = "timestamp timestamp, value long"
    asked.clear()
    told = sw.with_columns(
        rows, schema=schema, streaming=True, order_by="timestamp", max_delay="1s", s=sw.sum("value").over(sw.rows(3))
    )
    slides = sw.aggregate(
        rows, schema=schema, streaming=True, order_by="timestamp", max_delay="1s", max_ahead="1h",
        window=sw.time("1m", every="30s"), s=sw.sum("value"),
    )  # fmt: skip
    require_unasked(rows, asked)
    assert told.isStreaming
    assert [f.simpleString() for f in told.schema] == ["timestamp:timestamp", "value:bigint", "s:bigint"]
    assert slides.columns == ["window_start", "window_end", "s"]


@on_both
def test_explain_takes_the_schema_too(session: Any, asked: list[str]) -> None:
    rows = make_rows(session)
    asked.clear()
    table = sw.explain(rows, schema=SCHEMA, **OVER, usual=FEATURES["usual"])
    assert asked == []
    assert [line["engine"] for line in table] == ["slidewise"]


def test_nothing_of_the_check_is_left_in_the_plan(spark: Any) -> None:
    told = sw.with_columns(make_rows(spark), schema=SCHEMA, **OVER, **FEATURES)
    assert "raise_error" not in told._jdf.queryExecution().optimizedPlan().toString()


@pytest.mark.full
@on_both
@pytest.mark.parametrize(
    ("schema", "engine"),
    [
        ("k string, t long, x int, `a b.c` int", "slidewise"),
        ("k string, t long, x int, `a b.c` int", "spark"),
        ("k string, t long, x double", "slidewise"),
        ("k string, x double, t long, `a b.c` int", "slidewise"),
        ("k string, t long, x double, `a b.c` int, more int", "slidewise"),
    ],
)
def test_a_wrong_schema_is_told_when_it_runs(session: Any, schema: str, engine: Any) -> None:
    rows = make_rows(session)
    with pytest.raises(PySparkException) as error:  # a column that is not there is found by a classic session at once
        sw.with_columns(rows, schema=schema, engine=engine, **OVER, m=sw.max("x").over(sw.rows(3))).collect()
    if "more" in schema:
        assert "more" in str(error.value)
        return
    assert "schema= has the columns struct<k:string," in str(error.value)
    assert "the DataFrame has struct<k:string,t:bigint,x:double,a b.c:int>" in str(error.value)


def test_a_wrong_schema_of_aggregate_is_told_when_it_runs(spark: Any) -> None:
    told = sw.aggregate(make_rows(spark), schema=SCHEMA.replace("double", "float"), window=sw.rows(4, every=2), **OVER,
                        m=sw.max("x"))  # fmt: skip
    with pytest.raises(PySparkException, match="aggregate: schema= has the columns"):
        told.collect()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"streaming": True}, "streaming=True goes with schema="),
        ({"schema": SCHEMA, "streaming": "yes"}, "streaming is True or False, got 'yes'"),
        ({"schema": 7}, "or a StructType, got 7"),
        ({"schema": T.StructType()}, "schema= has no columns"),
        ({"schema": "k strin, t long"}, "'strin', the type of 'k', is not known here"),
        ({"schema": "k string, K long, x double"}, "two columns by one name, 'k' and 'K'"),
        ({"schema": "k string, t long"}, "there is no column 'x'"),
        ({"schema": SCHEMA, "hot_keys": True}, "hot_keys=True looks at the DataFrame"),
        ({"schema": SCHEMA, "max_delay": "1s"}, "a length along order_by, which is of int64: give a number"),
    ],
)
def test_what_cannot_be_is_refused_at_once(spark: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as error:
        sw.with_columns(make_rows(spark), **OVER, usual=FEATURES["usual"], **given)
    assert message in str(error.value)


def test_columns_may_have_the_names_of_these_options(spark: Any) -> None:
    out = sw.with_columns(make_rows(spark), **OVER, schema=FEATURES["usual"], streaming=FEATURES["recent"])
    assert out.columns[-2:] == ["schema", "streaming"]


def test_a_table_that_pipelines_would_not_see_is_warned_of(connect: Any) -> None:
    table = connect.table("payments")
    call: dict[str, Any] = {"schema": SCHEMA, **OVER, "usual": FEATURES["usual"]}
    with pytest.warns(UserWarning, match=r"withColumn is planned when the flow is defined.*'payments'"):
        sw.with_columns(table.withColumn("a b.c", F.lit(1)).where("x > 0"), **call)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sw.with_columns(table.select("*").where("x > 0"), **call)
        sw.with_columns(connect.range(3).withColumn("a b.c", F.lit(1)), **call)


# ---- DDL
PLAIN = [
    "boolean", "tinyint", "byte", "smallint", "short", "int", "INTEGER", "bigint", "long", "float", "real", "double",
    "string", "binary", "date", "timestamp", "timestamp_ntz", "timestamp_ltz", "void", "variant", "decimal", "dec(7)",
    "numeric(12, 3)", "interval day to second", "interval hour", "INTERVAL minute TO second",
]  # fmt: skip
NAMES = st.sampled_from(["a", "at", "order_1", "`a b`", "`x.y`", "`a``b`", "`from`"])
TAILS = st.sampled_from(["", "", " NOT NULL", " COMMENT 'said'", ' not null comment "it\'s"'])
TYPES = st.recursive(
    st.sampled_from(PLAIN),
    lambda inner: st.one_of(
        inner.map("array<{}>".format),
        st.tuples(inner, inner).map(lambda both: f"map< {both[0]}, {both[1]} >"),
        st.tuples(NAMES, inner, NAMES, inner).map(lambda of: f"struct<{of[0]}: {of[1]}, {of[2]}:{of[3]}>"),
    ),
    max_leaves=4,
)
COLUMNS = st.lists(st.builds("{} {}{}".format, NAMES, TYPES, TAILS), min_size=1, max_size=4).map(", ".join)


@examples(150)
@given(text=COLUMNS)
def test_ddl_is_read_as_spark_reads_it(_server: Any, text: str) -> None:
    assert read_ddl(text) == T.StructType.fromDDL(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it ends where the name of a column is expected"),
        ("a", "it ends where the type of 'a' is expected"),
        ("a int b long", "a comma is expected before 'b long'"),
        ("a array<int", "'>' is expected, and 'its end' is there"),
        ("a map<int>", "',' is expected, and '>' is there"),
        ("a decimal(x)", "a number is expected, and 'x' is there"),
        ("a int; b int", "'; b int' is neither a name nor a type"),
        ("a interval year", "intervals are of days to seconds here"),
        (", a int", "the name of a column is expected, and ',' is there"),
    ],
)
def test_what_is_no_ddl_is_told(text: str, why: str) -> None:
    with pytest.raises(InvalidInput) as error:
        read_ddl(text)
    assert why in str(error.value)
    assert repr(text) in str(error.value)
