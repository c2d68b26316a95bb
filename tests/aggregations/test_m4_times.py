"""m4 of a column and times: the four values of a pixel, and when they were."""

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples, in_full

import slidewise as sw
from slidewise.testing.laws import check_aggregation

RNG = np.random.default_rng(6)
COUNT = 50
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
TABLE = pa.table(
    {
        "k": RNG.choice(["a", "b"], COUNT),
        "x": pa.array(RNG.integers(0, 4, COUNT).astype(float), mask=RNG.random(COUNT) < 0.2),
        "word": pa.array(RNG.choice(["b", "a", None], COUNT).tolist()),
        "ts": pa.array([None if i % 11 == 5 else START + dt.timedelta(seconds=i) for i in range(COUNT)]),
        "id": np.arange(COUNT),
    }
)
FIELDS = [*("min", "max", "first", "last"), *("min_time", "max_time", "first_time", "last_time")]


def pixel(rows, column):
    """From the definition: the earliest row of the smallest value, and of the largest, NaN above all."""
    rows = [row for row in rows if row[column] is not None]
    if not rows:
        return None

    def rank(row):
        x = row[column]
        return (1, 0) if x != x else (0, x)

    low, high = min(rows, key=rank), max(rows, key=rank)  # Python's give the first of equal ones
    chosen = [low, high, rows[0], rows[-1]]
    return dict(zip(FIELDS, [*(r[column] for r in chosen), *(r["ts"] for r in chosen)], strict=True))


def same(a, b):
    return a == b or (a is not None and b is not None and repr(a) == repr(b))


@pytest.mark.covering(1)
@pytest.mark.parametrize("column", ["x", "word"])
@pytest.mark.parametrize(
    "window", [sw.rows(5), sw.rows_between(-2, 2), *in_full(sw.rows_between(-sw.UNBOUNDED, 0))], ids=repr
)
def test_over_columns_and_event_by_event(column, window):
    aggregation = sw.m4(column, "ts")
    for algorithm in ("auto", "recalculate", "two_stacks_lite"):
        out = sw.with_columns(TABLE, partition_by="k", order_by="id", algorithm=algorithm, r=aggregation.over(window))
        kinds = [TABLE.schema.field(name).type for name in (column, "ts") for _ in range(4)]
        assert [(f.name, f.type) for f in out["r"].type] == list(zip(FIELDS, kinds, strict=True))
        for key in "ab":
            rows = [row for row in out.to_pylist() if row["k"] == key]
            w = sw.Window(aggregation, window)
            events = [r.value for row in rows for r in w.push(row)] + [r.value for r in w.flush()]
            first, last = {"rows(5)": (-4, 0), "rows_between(-2, 2)": (-2, 2)}.get(repr(window), (-COUNT, 0))
            for i, row in enumerate(rows):
                wanted = pixel(rows[max(0, i + first) : i + last + 1], column)
                assert row["r"] == wanted
                assert events[i] == (None if wanted is None else tuple(wanted.values()))


def test_what_cannot_be_compiled_gives_the_same_values_and_types(monkeypatch):
    made = {"r": sw.m4("word", "ts").over(sw.rows(5)), "p": sw.m4("ts").over(sw.rows(5))}
    whole, none = (sw.with_columns(table, order_by="id", **made) for table in (TABLE, TABLE[:0]))
    monkeypatch.setattr(sw.m4, "compiled", lambda self, columns, longest: None)
    for table, expected in ((TABLE, whole), (TABLE[:0], none)):
        found = sw.with_columns(table, order_by="id", **made)
        assert found.schema == expected.schema
        assert found.to_pylist() == expected.to_pylist()


ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, -0.0, 1.5, -2.0, math.nan, math.inf]), st.integers(0, 9) | st.none()),
    min_size=1,
    max_size=8,
)


@examples(60)
@given(ROWS)
def test_nan_and_equal_values(rows):
    s = sw.swag("daba_lite", sw.m4("x", "ts"))
    for row in rows:
        s.insert(row)
    wanted = pixel([{"x": x, "ts": t} for x, t in rows], "x")
    assert all(map(same, s.query(), wanted.values()))
    check_aggregation(sw.m4("x", "ts"), rows)


def test_state_and_slides():
    aggregation, window = sw.m4("x", "ts"), sw.rows(6, every=2)
    rows = TABLE.to_pylist()
    whole = sw.Window(aggregation, window)
    first = [r.value for row in rows[:21] for r in whole.push(row)]
    later = sw.Window(aggregation, window).from_bytes(whole.to_bytes())
    rest = [r.value for row in rows[21:] for r in later.push(row)]
    out = sw.aggregate(TABLE, order_by="id", window=window, r=aggregation)["r"].to_pylist()
    assert first + rest == [tuple(r.values()) for r in out]
