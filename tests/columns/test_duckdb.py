"""DuckDB relations: results belong to the connection of the input, which is run once."""

import gc

import duckdb
import numpy as np
import pytest

import slidewise as sw

#: from 2.0 on
HOLDS_ROWS = hasattr(duckdb.DuckDBPyRelation, "materialize")
EXOTIC = """SELECT i, ('ab')[1 + i % 2]::ENUM('b', 'a') AS e, uuid() AS u, (i::BIT) AS b,
    (99999999999999999999999999999999999999 - i)::HUGEINT AS h, i::UHUGEINT AS uh, INTERVAL (i) MONTH AS v,
    '12:00:00+02'::TIMETZ AS tz, [i]::INTEGER[1] AS l, {'a': i, 'b': 'x'} AS st, MAP {i: i} AS m,
    i::UNION(n BIGINT, t VARCHAR) AS o, '{}'::JSON AS j FROM range(5) t(i)"""


@pytest.fixture
def con():
    connection = duckdb.connect()
    yield connection
    connection.close()


def total(relation, **more):
    return sw.with_columns(relation, s=sw.sum("i").over(sw.rows(2)), **more)


def names_in(con):
    return {name for (name,) in con.execute("SELECT name FROM (SHOW ALL TABLES)").fetchall()}


def test_results_belong_to_the_connection_of_the_input(con):
    con.execute("CREATE TABLE other AS SELECT range AS i, range * 10 AS y FROM range(3)")
    out = total(con.sql("SELECT i FROM range(5) t(i)"))
    out.create("g")
    assert con.execute("SELECT i, s FROM g").fetchall() == [(0, 0), (1, 1), (2, 3), (3, 5), (4, 7)]
    joined = out.join(con.table("other"), "i")
    assert sorted(joined.fetchall()) == [(0, 0, 0), (1, 1, 10), (2, 3, 20)]
    assert out.filter("s > 3").fetchall() == [(3, 5), (4, 7)]
    assert con.sql("SELECT max(s) FROM out").fetchall() == [(7,)]
    slides = sw.aggregate(con.sql("SELECT i FROM range(5) t(i)"), window=sw.rows(2, every=2), s=sw.sum("i"))
    slides.create("h")
    assert con.execute("FROM h").fetchall() == [(2, 1), (4, 5)]


def test_a_relation_of_the_default_connection():
    out = total(duckdb.sql("SELECT i FROM range(3) t(i)"))
    assert duckdb.sql("SELECT sum(s) FROM out").fetchall() == [(4,)]
    out.create("slidewise_test_default")
    assert duckdb.table("slidewise_test_default").fetchall() == [(0, 0), (1, 1), (2, 3)]
    duckdb.execute("DROP TABLE slidewise_test_default")


def test_columns_that_nobody_reads_keep_type_and_value(con):
    con.execute(f"CREATE TABLE t AS {EXOTIC}")
    relation = con.table("t")
    out = total(relation)
    assert out.columns == [*relation.columns, "s"]
    assert out.types == [*relation.types, "BIGINT"]
    assert out.project("* EXCLUDE s").fetchall() == relation.fetchall()


def test_results_of_one_call_do_not_become_those_of_another(con):
    relation = con.sql("SELECT i FROM range(4) t(i)")
    first = total(relation)
    second = total(relation, n=sw.count().over(sw.rows(3)))
    third = total(second.filter("i > 0"), t=sw.sum("s").over(sw.rows(1)))
    gc.collect()
    assert first.fetchall() == [(0, 0), (1, 1), (2, 3), (3, 5)]
    assert second.fetchall() == [(0, 0, 1), (1, 1, 2), (2, 3, 3), (3, 5, 3)]
    assert third.fetchall() == [(1, 1, 2, 1), (2, 3, 3, 3), (3, 5, 3, 5)]


@pytest.mark.parametrize("order", ["true", "false"])
@pytest.mark.parametrize(
    "query",
    [
        "SELECT i, random() AS x FROM range(20_000) t(i) ORDER BY random()",
        "SELECT i, random() AS x FROM range(20_000) t(i) WHERE random() < 0.5",
        "SELECT i, hash(i) % 100 AS x FROM range(600_000) t(i) WHERE i % 3 = 0",
    ],
)
def test_a_relation_is_run_once(con, query, order):
    con.execute(f"SET preserve_insertion_order = {order}; SET threads = 4")
    relation = con.sql(query)
    out = sw.with_columns(relation, own=sw.first("i").over(sw.rows(1)), same=sw.first("x").over(sw.rows(1)))
    wrong = out.filter("i <> own OR x <> same").fetchall()
    assert wrong == []
    assert out.count("*").fetchall()[0][0] > 5_000
    window = sw.with_columns(out, before=sw.first("i").over(sw.rows_between(-1, -1)))
    if order == "true":
        rows = window.project("own, before").fetchall()
        assert [before for _, before in rows[1:]] == [own for own, _ in rows[:-1]]


def test_nothing_is_left_in_the_catalog_but_what_the_user_made(con):
    con.execute("CREATE TABLE t AS SELECT range AS i FROM range(3)")
    out = total(con.table("t"))
    with pytest.raises(sw.InvalidInput):
        sw.with_columns(con.table("t"), s=sw.string_agg("i").over(sw.rows(2)))
    gc.collect()
    assert len(names_in(con) - {"t"}) == (0 if HOLDS_ROWS else 1)
    assert out.fetchall() == [(0, 0), (1, 1), (2, 3)]


def test_names_need_quotes_and_differ_by_more_than_case(con):
    relation = con.sql('SELECT 1 AS "a b", 2 AS "say ""x""", 3 AS "q?", 4 AS "$1", 5 AS "select"')
    out = sw.with_columns(
        relation, **{name: sw.sum(name).over(sw.rows(1)) for name in ("q?", "$1", 'say "x"')}, A=sw.max("a b").over(1)
    )
    assert out.columns == [*relation.columns, "A"]
    assert out.fetchall() == [(1, 2, 3, 4, 5, 1)]
    out = sw.with_columns(con.sql("SELECT 1 AS x, 2 AS y"), X=sw.max("y").over(sw.rows(1)))
    assert out.columns == ["X", "y"]
    assert out.fetchall() == [(2, 2)]
    out = sw.with_columns(con.sql("SELECT 7 AS slidewise_row"), s=sw.sum("slidewise_row").over(sw.rows(1)))
    assert out.fetchall() == [(7, 7)]


def test_keys_of_slides_have_the_type_of_their_column(con):
    con.execute(f"CREATE TABLE t AS {EXOTIC}")
    for name in ("e", "u", "b", "h", "uh", "i"):
        out = sw.aggregate(con.table("t"), partition_by=name, window=sw.rows(1, every=1), s=sw.sum("i"))
        assert out.types[0] == con.table("t").types[con.table("t").columns.index(name)]
        assert set(out.project(name).fetchall()) == set(con.table("t").project(name).fetchall())


def test_values_that_arrow_would_change_are_read_as_what_they_are_or_refused(con):
    relation = con.sql(
        f"SELECT {10**37}::HUGEINT + i AS h, i::BIT AS b, '12:00:00+02'::TIMETZ AS tz FROM range(2) t(i)"
    )
    out = sw.with_columns(relation, h=sw.max("h").over(sw.rows(2)), n=sw.count_distinct("b").over(sw.rows(2)))
    assert [int(h) for (h,) in out.project("h").fetchall()] == [10**37, 10**37 + 1]
    assert out.project("n").fetchall() == [(1,), (2,)]
    with pytest.raises(sw.InvalidInput, match="'h' is of HUGEINT, and has a value of more than 38 digits"):
        sw.with_columns(con.sql(f"SELECT {2**127 - 1}::HUGEINT AS h"), m=sw.max("h").over(sw.rows(2)))
    with pytest.raises(sw.InvalidInput, match=r"'tz' is of TIME WITH TIME ZONE.*VARCHAR"):
        sw.with_columns(relation, m=sw.max("tz").over(sw.rows(2)))


def test_a_connection_that_does_not_look_for_python_tables_says_what_to_do(con):
    if duckdb.__version__ < "1.1":
        pytest.skip("has no such setting")
    con.execute("SET python_enable_replacements = false")
    with pytest.raises(sw.InvalidInput, match="python_enable_replacements"):
        total(con.sql("SELECT i FROM range(3) t(i)"))


def test_a_read_only_database(tmp_path):
    path = str(tmp_path / "x.duckdb")
    with duckdb.connect(path) as con:
        con.execute("CREATE TABLE t AS SELECT range AS i FROM range(3)")
    with duckdb.connect(path, read_only=True) as con:
        if not HOLDS_ROWS:
            with pytest.raises(sw.InvalidInput, match="read only"):
                total(con.table("t"))
            return
        assert total(con.table("t")).fetchall() == [(0, 0), (1, 1), (2, 3)]


@pytest.mark.skipif(not HOLDS_ROWS, reason="before 2.0 results are in a temporary table, which is rolled back too")
def test_a_transaction_that_is_rolled_back(con):
    con.execute("CREATE TABLE t AS SELECT range AS i FROM range(3)")
    con.begin()
    out = total(con.table("t"))
    con.rollback()
    assert out.fetchall() == [(0, 0), (1, 1), (2, 3)]


def test_no_rows_and_no_order(con):
    out = total(con.sql("SELECT i FROM range(0) t(i)"))
    assert (out.columns, out.fetchall()) == (["i", "s"], [])
    con.execute("SET preserve_insertion_order = false")
    assert np.sum(total(con.sql("SELECT i FROM range(0) t(i)")).count("*").fetchall()) == 0


def test_an_enum_is_ordered_as_it_was_declared(con):
    con.execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
    con.execute("CREATE TABLE t AS SELECT i, (['happy', 'sad', 'ok', NULL])[1 + i % 4]::mood AS m FROM range(8) t(i)")
    window = sw.rows(3)
    out = sw.with_columns(
        con.table("t"), order_by="i", a=sw.max("m").over(window), b=sw.min("m").over(window),
        c=sw.percentile_disc("m", 0.5).over(window),
    )  # fmt: skip
    frame = "OVER (ORDER BY i ROWS 2 PRECEDING)"
    wanted = con.sql(f"SELECT *, max(m) {frame}, min(m) {frame}, quantile_disc(m, 0.5) {frame} FROM t ORDER BY i")
    assert out.fetchall() == wanted.fetchall()
    assert out.types == wanted.types
    ordered = sw.with_columns(con.table("t"), order_by=[sw.asc("m"), "i"], n=sw.count().over(sw.rows(8)))
    wanted = con.sql("SELECT i, m, row_number() OVER (ORDER BY m NULLS FIRST, i) FROM t ORDER BY i")
    assert ordered.order("i").fetchall() == wanted.fetchall()


@pytest.mark.parametrize("name", ["i", "e", "u", "b", "h", "uh", "v", "l", "st", "m", "o", "j"])
def test_values_of_a_column_have_its_type(con, name):
    con.execute(f"CREATE TABLE t AS {EXOTIC}")
    kind = con.table("t").types[con.table("t").columns.index(name)]
    window = sw.rows(1)
    out = sw.with_columns(con.table("t"), f=sw.first(name).over(window), l=sw.collect_list(name).over(window))
    assert str(out.project("f").types[0]) == str(kind)
    assert out.project("f").fetchall() == con.table("t").project(name).fetchall()
    assert str(out.project("l").types[0]) == f"{kind}[]"
    assert [held for ((held,),) in out.project("l").fetchall()] == [
        v for (v,) in con.table("t").project(name).fetchall()
    ]
    slides = sw.aggregate(con.table("t"), window=sw.rows(1, every=1), f=sw.first(name))
    assert slides.project("f").fetchall() == con.table("t").project(name).fetchall()
