"""sw.aggregate: one row per key and slide, as slidewise.Window gives them event by event, and as recalculation."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw

RNG = np.random.default_rng(5)
COUNT = 150
TABLE = pa.table(
    {
        "key": RNG.integers(0, 3, COUNT),
        "at": np.sort(RNG.integers(0, 300, COUNT)),
        "x": pa.array(RNG.integers(0, 9, COUNT), mask=RNG.random(COUNT) < 0.2),
        "km": np.cumsum(RNG.integers(-1, 4, COUNT)),
        "stop": RNG.random(COUNT) < 0.15,
        "flag": RNG.random(COUNT) < 0.6,
    }
)
COLUMNS = {
    "sum": sw.sum("x"),
    "max": sw.max("x", where="flag"),
    "n": sw.count(),
    "median": sw.median("x"),
    "list": sw.collect_list("x"),
    "first": sw.first("x"),
    "distinct": sw.count_distinct("x"),
    "stddev": sw.stddev("x"),
}
WINDOWS = [
    sw.time(60, every=30),
    sw.time(50, every=7),
    sw.time(50, every=50, offset=3),
    sw.time(45, every=10, offset=-4),
    sw.time(30, every=sw.rows(4)),
    sw.time(30, every=sw.delta("km", 3)),
    sw.rows(5, every=3),
    sw.rows(5, every=3, min_rows=5),
    sw.rows(4, every=sw.time(20)),
    sw.rows(6, every=sw.punctuation("stop")),
    sw.rows(5, every=sw.delta("km", 4)),
    sw.punctuation("stop", every=sw.punctuation("stop")),
    sw.punctuation(lambda row: row["x"] == 0, every=2),
    sw.delta("km", 5, every=sw.rows(2)),
    sw.delta("km", 5, every=3),
    sw.delta("km", 3, every=sw.time(20)),
    sw.rows_between(-3, 2, every=4),
    sw.rows_between(-5, -2, every=2),
    sw.rows_between(-3, 2, every=sw.time(25)),
    sw.rows_between(-3, 2, exclude="current row", every=4),
    sw.range_between(-20, 10, every=sw.rows(3)),
    sw.groups_between(-2, 1, every=3),
    sw.session(3),
    sw.session(20),
    sw.time(60, every=20, cumulative=True),
    sw.time(45, every=5, offset=-7, cumulative=True),
    sw.time(20, every=50),
    sw.time(10, every=25, offset=4),
]


def rounded(value):
    if isinstance(value, list):
        return tuple(value)
    return round(value, 9) if isinstance(value, float) else value


def in_order(rows):
    return sorted(rows, key=repr)


@pytest.mark.covering(1)
@pytest.mark.parametrize("scale", [1, 7.0], ids=["integers", "floats"])
@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_as_event_by_event_and_as_recalculation(window, scale):
    table = TABLE if scale == 1 else TABLE.set_column(1, "at", pa.array(TABLE["at"].to_numpy() / scale))
    w = sw.Window(COLUMNS, window, partition_by="key")
    results = [r for row in table.to_pylist() for r in w.push(row, time=row["at"])] + w.flush()
    expected = in_order((r.key, rounded(float(r.time)), *map(rounded, r.value.values())) for r in results)
    for algorithm in ("auto", "recalculate"):
        out = sw.aggregate(table, partition_by="key", order_by="at", window=window, algorithm=algorithm, **COLUMNS)
        label = "window_end" if "window_end" in out.column_names else "at"
        names = ["key", label, *COLUMNS]
        found = ((row[n] if n != label else float(row[n]) for n in names) for row in out.to_pylist())
        assert in_order(tuple(map(rounded, row)) for row in found) == expected


def test_hopping_windows_as_spark_has_them():
    times = [dt.datetime(2024, 5, 1, 12, minute, tzinfo=dt.UTC) for minute in (3, 4, 17)]
    table = pa.table({"at": pa.array([*times, None], pa.timestamp("us", "Europe/Berlin")), "x": [1, 2, 4, 8]})
    out = sw.aggregate(table, order_by="at", window=sw.time("10m", every="5m"), total=sw.sum("x"))
    assert out.schema.types == [table.schema.field("at").type] * 2 + [pa.int64()]
    assert [
        (s.minute, e.minute)
        for s, e in zip(out["window_start"].to_pylist(), out["window_end"].to_pylist(), strict=True)
    ] == [
        (55, 5),
        (0, 10),
        (10, 20),
        (15, 25),
    ]
    assert out["total"].to_pylist() == [3, 3, 4, 4]


def test_hopping_windows_of_dates():
    days = [dt.date(2024, 1, 1), dt.date(2024, 1, 9)]
    out = sw.aggregate(
        pa.table({"day": days, "x": [1, 2]}), order_by="day", window=sw.time("7d", every="7d"), n=sw.count()
    )
    assert out["window_start"].to_pylist() == [dt.date(2023, 12, 28), dt.date(2024, 1, 4)]
    assert out["n"].to_pylist() == [1, 1]


@pytest.mark.full
@pytest.mark.compiled
def test_a_small_slide_costs_rows_and_windows_not_their_product():
    count = 20_000
    table = {"at": np.arange(count), "x": RNG.random(count)}
    out = sw.aggregate(table, order_by="at", window=sw.time(3600, every=1), peak=sw.max("x"), p=sw.median("x"))
    assert len(out["peak"]) == count + 3599
    assert out["peak"][5000] == table["x"][5000 - 3599 : 5001].max()
    assert out["p"][5000] == np.median(table["x"][5000 - 3599 : 5001])


def test_rows_need_not_be_in_order_and_nulls_have_no_window():
    table = pa.table({"at": [50, None, 10], "x": [1, 2, 4]})
    for by in (sw.asc("at"), sw.asc("at", nulls="last")):
        out = sw.aggregate(table, order_by=by, window=sw.time(20, every=20), s=sw.sum("x"))
        assert out.to_pydict() == {"window_start": [0, 40], "window_end": [20, 60], "s": [4, 1]}


def test_without_order_the_row_is_numbered():
    table = pa.table({"k": ["a", "b", "a", "a", "a"], "x": [1, 2, 3, 4, 5]})
    out = sw.aggregate(table, partition_by="k", window=sw.rows(3, every=2), s=sw.sum("x"))
    assert out.to_pydict() == {"k": ["a", "a"], "row": [2, 4], "s": [4, 12]}


def test_no_rows():
    for window in (sw.time(20, every=5), sw.rows(3, every=2), sw.rows(3, every=sw.time(5))):
        out = sw.aggregate(
            TABLE.slice(0, 0), partition_by="key", order_by="at", window=window, s=sw.sum("x"), l=sw.collect_list("x")
        )
        assert out.num_rows == 0
        assert out.schema.field("s").type == pa.int64()


REFUSED = {
    "no slide": (lambda: sw.aggregate(TABLE, window=sw.rows(3), s=sw.sum("x")), "Use sw.with_columns"),
    "a number of rows": (lambda: sw.aggregate(TABLE, window=3, s=sw.sum("x")), "gives a result for every row"),
    "no window": (lambda: sw.aggregate(TABLE, window="3", s=sw.sum("x")), "window= takes a window"),
    "nothing": (lambda: sw.aggregate(TABLE, window=sw.rows(3, every=2)), "at least one"),
    "an own window": (
        lambda: sw.aggregate(TABLE, window=sw.rows(3, every=2), s=sw.sum("x").over(sw.rows(2))),
        "its own window",
    ),
    "no aggregation": (lambda: sw.aggregate(TABLE, window=sw.rows(3, every=2), s=1), "takes an aggregation"),
    "no column": (lambda: sw.aggregate(TABLE, window=sw.rows(3, every=2), s=sw.sum()), "Name it"),
    "unknown column": (lambda: sw.aggregate(TABLE, window=sw.rows(3, every=2), s=sw.sum("kms")), "Did you mean 'km'"),
    "a name twice": (
        lambda: sw.aggregate(TABLE, partition_by="key", window=sw.rows(3, every=2), key=sw.sum("x")),
        "already",
    ),
    "no times": (lambda: sw.aggregate(TABLE, window=sw.time(9, every=3), s=sw.sum("x")), "slides by time"),
    "times backwards": (
        lambda: sw.aggregate(TABLE, order_by=sw.desc("at"), window=sw.time(9, every=3), s=sw.sum("x")),
        "ascending",
    ),
    "lengths": (
        lambda: sw.aggregate(TABLE, order_by="at", window=sw.time("1h", every="1m"), s=sw.sum("x")),
        "Give a number",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_meant_is_refused(what):
    call, message = REFUSED[what]
    with pytest.raises(sw.InvalidInput, match=message):
        call()
