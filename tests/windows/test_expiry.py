"""emit="changes", empty=True: results that change when rows leave, in process and on a batch, against recalculation."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.expiry_oracle import Counted, Ranged, changes, window_changes
from support.tiers import examples

import slidewise as sw
from slidewise.errors import InvalidInput, StateError
from slidewise.windows.definitions import WindowDefinition

FUNCTIONS = {
    "count": lambda: sw.count(),
    "sum": lambda: sw.sum("x"),
    "max": lambda: sw.max("x"),
    "list": lambda: sw.collect_list("x"),
}
CLOSED = {"both": (False, False), "right": (True, False), "left": (False, True), "neither": (True, True)}


@st.composite
def features(draw, unit=1):
    """The same features for slidewise and for the oracle, at least one of them by time."""
    ours, theirs = {}, {}
    for k in range(draw(st.integers(1, 3))):
        name, aggregate = f"f{k}", draw(st.sampled_from(sorted(FUNCTIONS)))
        kind = "time" if not k else draw(st.sampled_from(["time", "range", "rows"]))
        if kind == "rows":
            n = draw(st.integers(1, 3))
            window: WindowDefinition
            window, theirs[name] = sw.rows(n), Counted(aggregate, n)
        elif kind == "range":
            high = draw(st.integers(-4, 0))
            low = high - draw(st.integers(0, 6))
            window, theirs[name] = sw.range_between(low, high), Ranged(aggregate, low, high)
        else:
            size, closed = draw(st.integers(1, 9)), draw(st.sampled_from(sorted(CLOSED)))
            window, theirs[name] = sw.time(size, closed=closed), Ranged(aggregate, -size, 0, *CLOSED[closed])
        ours[name] = FUNCTIONS[aggregate]().over(window)
    return ours, theirs


values = st.sampled_from([None, 1, 1, 2, -3])
streams = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 7), values), min_size=1, max_size=18)


def in_time(drawn):
    now, rows = 0, []
    for key, step, x in drawn:
        now += step
        rows.append((key, now, x))
    return rows


def expect(rows, theirs, forget_after=None):
    made = []
    for key in sorted({k for k, _, _ in rows}):
        own = [(t, x) for k, t, x in rows if k == key]
        made += [(key, *change) for change in changes(own, theirs, forget_after)]
    return made


def by_key(found):
    return sorted(found, key=lambda r: (r[0], r[1], r[2] or 0))


def run_in_process(ours, rows, saves=frozenset(), **options):
    window = sw.Window(ours, partition_by="k", emit="changes", empty=True, **options)
    out = []
    for k, (key, time, x) in enumerate(rows):
        out += window.push({"k": key, "x": x}, time=time)
        if k in saves:
            window = window.from_bytes(window.to_bytes())
    return out + window.flush(), window


def as_tuples(results, names):
    return [(r.key, r.time, r.row, r.value if isinstance(r.value, dict) else {names[0]: r.value}) for r in results]


# ---- one result per row
@examples(300)
@given(features(), streams, st.sets(st.integers(0, 17)))
def test_in_process_is_recalculation(both, drawn, saves):
    (ours, theirs), rows = both, in_time(drawn)
    found, window = run_in_process(ours, rows, saves)
    assert [r.time for r in found] == sorted(r.time for r in found)
    assert by_key(as_tuples(found, [*ours])) == expect(rows, theirs)
    if all(isinstance(f, Ranged) for f in theirs.values()):
        assert not window._last  # a key whose rows have left takes no room


@examples(200)
@given(features(), streams, st.randoms(use_true_random=False))
def test_rows_out_of_order_with_max_delay(both, drawn, random):
    """Rows that come up to max_delay late give what rows in order give; others are dropped."""
    (ours, theirs), rows = both, in_time(drawn)
    mixed = sorted(rows, key=lambda row: row[1] + random.choice([0, 0, 4, 11]))
    kept, newest = [], -math.inf
    for row in mixed:
        if row[1] > newest - 5:
            kept.append(row)
        newest = max(newest, row[1])
    found, window = run_in_process(ours, mixed, max_delay=5, late="drop")
    assert window.dropped == len(mixed) - len(kept)
    assert by_key(as_tuples(found, [*ours])) == expect(sorted(kept, key=lambda row: row[1]), theirs)


@examples(300)
@given(features(), streams, st.sampled_from([None, 0, 3, 8]), st.randoms(use_true_random=False))
def test_batch_is_recalculation(both, drawn, forget_after, random):
    (ours, theirs), rows = both, in_time(drawn)
    place = {(k, t): random.random() for k, t, _ in rows}  # rows of equal order keep that of the input
    shuffled = sorted(enumerate(rows), key=lambda row: place[row[1][:2]])
    table = pa.table(
        {
            "k": pa.array([k for _, (k, _, _) in shuffled], pa.string()),
            "ts": pa.array([t for _, (_, t, _) in shuffled], pa.int64()),
            "x": pa.array([x for _, (_, _, x) in shuffled], pa.int64()),
            "seq": pa.array([n for n, _ in shuffled], pa.int64()),
        }
    )
    options = {} if forget_after is None else {"forget_after": forget_after}
    out = sw.with_columns(table, ours, partition_by="k", order_by="ts", emit="changes", empty=True, **options)
    number = {}
    for key in "abc":
        number |= {n: m for m, n in enumerate((n for n, row in enumerate(rows) if row[0] == key), 1)}
    found = [
        (r["k"], r["ts"], None if r["seq"] is None else number[r["seq"]], {name: r[name] for name in ours})
        for r in out.to_pylist()
    ]
    assert by_key(found) == expect(rows, theirs, forget_after)
    assert all(r["x"] is None for r in out.to_pylist() if r["seq"] is None)


@pytest.mark.parametrize(("closed", "gone"), [("both", 11), ("right", 10), ("left", 11), ("neither", 10)])
def test_first_instant_outside(closed, gone):
    window = sw.Window(sw.count(), sw.time(10, closed=closed), emit="changes", empty=True)
    results = [(r.time, r.value) for r in window.push(1, time=0) + window.flush()]
    entered = [(0, 1)] if closed in ("both", "right") else [(1, 1)]
    assert results == [*entered, (gone, 0)]


@pytest.mark.parametrize(
    ("time", "gone"),
    [
        (dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 1, 1, 0, 0, 1)),
        (dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 1, 1, 1, 0, 0, 1, tzinfo=dt.UTC)),
        (np.datetime64("2024-01-01T00:00", "s"), np.datetime64("2024-01-01T01:00:00.000000001")),
        (pd.Timestamp("2024-01-01 00:00:00.000000300"), dt.datetime(2024, 1, 1, 1, 0, 0, 1)),
    ],
)
def test_finest_unit_of_times(time, gone):
    window = sw.Window(sw.count(), sw.time("1h"), emit="changes", empty=True)
    assert [(r.time, r.value) for r in window.push(1, time=time) + window.flush()] == [(time, 1), (gone, 0)]


def test_days():
    window = sw.Window(sw.count(), sw.time("7d"), emit="changes", empty=True)
    [_, last] = window.push(1, time=dt.date(2024, 1, 1)) + window.flush()
    assert (last.time, last.value) == (dt.date(2024, 1, 9), 0)


@examples(100)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=6, unique=True), st.sampled_from([0.1, 0.3, 7.0, 1e-9]))
def test_floats_leave_with_the_next_float(times, size):
    """The row is in the frame of the float before its time of leaving, and no more in that of the time itself."""
    times = sorted(times)
    for closed in CLOSED:
        ours = {"n": sw.count().over(sw.time(size, closed=closed))}  # type: ignore[call-overload]
        found, _ = run_in_process(ours, [("a", t, 1) for t in times])
        table = pa.table({"k": ["a"] * len(times), "ts": times, "x": [1] * len(times)})
        batch = sw.with_columns(table, ours, partition_by="k", order_by="ts", emit="changes", empty=True)
        found = [(r.time, r.value["n"]) for r in found]
        assert found == sorted((r["ts"], r["n"]) for r in batch.to_pylist())
        open_low, open_high = CLOSED[closed]
        frame = Ranged("count", -size, 0, open_low, open_high)
        last = 0
        for time, value in found:  # each is what it says, and it was not so at the float before
            rows = [(t, 1) for t in times]
            assert value == frame.at_time(rows, time) != last
            assert frame.at_time(rows, math.nextafter(time, -math.inf)) == last
            last = value
        assert last == 0


def test_integers_leave_with_an_integer_whatever_the_length():
    for closed, gone in (("both", 3), ("right", 3)):
        window = sw.Window(sw.count(), sw.time(2.5, closed=closed), emit="changes", empty=True)  # type: ignore[call-overload]
        assert [(r.time, r.value) for r in window.push(1, time=0) + window.flush()] == [(0, 1), (gone, 0)]
    window = sw.Window(sw.count(), sw.time(2.0, closed="right"), emit="changes", empty=True)
    assert [(r.time, r.value) for r in window.push(1, time=0) + window.flush()] == [(0, 1), (2, 0)]
    with pytest.raises(InvalidInput, match="no time for the result"):
        sw.Window(sw.count(), sw.time(1e308), emit="changes", empty=True).push(1, time=1.7e308)


def test_a_row_at_the_instant_speaks_for_itself():
    window = sw.Window(sw.sum(), sw.time(10), emit="changes", empty=True)
    window.push(1, time=0)
    assert [(r.time, r.row, r.value) for r in window.push(5, time=11)] == [(0, 1, 1)]
    assert [(r.time, r.row, r.value) for r in window.advance(11)] == [(11, 2, 5)]
    assert [(r.time, r.row, r.value) for r in window.flush()] == [(22, None, None)]


def test_rows_that_leave_at_once_give_one_result():
    window = sw.Window({"n": sw.count(), "m": sw.max()}, sw.time(10), emit="changes", empty=True)
    for x in (1, 2, 3):
        assert window.push(x, time=0) == []
    assert [(r.time, r.value) for r in window.flush()] == [(0, {"n": 3, "m": 3}), (11, {"n": 0, "m": None})]


def test_what_does_not_change_is_not_given_and_nan_is_nan():
    window = sw.Window(sw.max(), sw.time(10), emit="changes", empty=True)
    out = [r for t, x in ((0, math.nan), (4, math.nan), (5, 1.0)) for r in window.push(x, time=t)]
    assert [(r.time, r.value) for r in out + window.flush()][1:] == [(15, 1.0), (16, None)]
    assert out[0].value != out[0].value


def test_a_silent_key_is_told_when_others_go_on():
    window = sw.Window(sw.count(), sw.time(10), partition_by=None, emit="changes", empty=True)
    window.push("x", time=0, key="a")
    assert window.push("x", time=11, key="b") == [sw.Result(1, key="a", time=0, row=1)]
    assert window.push("x", time=12, key="b")[0] == sw.Result(0, key="a", time=11)


def test_advance_is_up_to_the_time_itself():
    window = sw.Window(sw.count(), sw.time(10), emit="changes", empty=True)
    window.push("x", time=0)
    assert [r.value for r in window.advance(10)] == [1]
    assert [r.value for r in window.advance(11)] == [0]


def test_peek_tells_nothing_of_times_to_come():
    window = sw.Window(sw.count(), sw.time(10), emit="changes", empty=True)
    window.push("x", time=0)
    assert [(r.time, r.value, r.final) for r in window.peek()] == [(0, 1, False)]
    assert len(window.flush()) == 2


def test_push_many_is_push():
    batch = {"k": ["a", "b", "a", "a"], "x": [1, 2, 3, 4], "t": [0, 3, 20, 21]}
    by_columns = sw.Window({"n": sw.count()}, sw.time(10), partition_by="k", emit="changes", empty=True)
    rows = by_columns.push_many(batch, time="t").to_pylist()
    by_rows = sw.Window({"n": sw.count()}, sw.time(10), partition_by="k", emit="changes", empty=True)
    results = [r for k, x, t in zip(*batch.values(), strict=True) for r in by_rows.push({"k": k, "x": x}, time=t)]
    assert rows == [{"k": r.key, "t": r.time, "row": r.row, "n": r.value["n"]} for r in results]
    assert by_columns.flush() == by_rows.flush()


def test_a_failing_sum_does_not_lose_the_empty_result():
    window = sw.Window({"s": sw.sum(), "n": sw.count()}, sw.time(10), emit="changes", empty=True)
    window.push(2**62, time=0)
    window.push(2**62, time=1)
    with pytest.raises(OverflowError):
        window.flush()
    # At 11 the sum is again what was last given, at 0.
    assert [(r.time, r.value) for r in window.flush()] == [(12, {"s": None, "n": 0})]


def test_state_is_of_a_window_with_empty_results():
    window = sw.Window(sw.count(), sw.time(10, every=5), emit="changes", empty=True)
    window.push("x", time=0)
    window.push("x", time=11, key="b")
    data = window.to_bytes()
    with pytest.raises(StateError, match="empty"):
        sw.Window(sw.count(), sw.time(10, every=5), emit="changes").from_bytes(data)
    assert window.from_bytes(data).flush() == window.flush()


# ---- windows [start, end)
GRIDS = [(10, 5, 0, False), (7, 3, 1, False), (5, 5, 2, False), (3, 7, 0, False), (12, 4, 1, True), (4, 4, 0, True)]


def build(size, every, offset, cumulative):
    return sw.time(size, every=every, offset=offset or None, cumulative=cumulative)


@examples(300)
@given(st.sampled_from(GRIDS), streams, st.sets(st.integers(0, 17)), st.booleans())
def test_windows_are_recalculation(grid, drawn, saves, ordered):
    names = {"n": "count", "s": "sum", **({"l": "list"} if ordered else {})}
    ours = {name: FUNCTIONS[aggregate]() for name, aggregate in names.items()}
    rows = in_time(drawn)
    expected = []
    for key in sorted({k for k, _, _ in rows}):
        own = [(t, x) for k, t, x in rows if k == key]
        expected += [(key, *change) for change in window_changes(own, names, *grid)]
    window = sw.Window(ours, build(*grid), partition_by="k", emit="changes", empty=True)
    out = []
    for k, (key, time, x) in enumerate(rows):
        out += window.push({"k": key, "x": x}, time=time)
        if k in saves:
            window = window.from_bytes(window.to_bytes())
    out += window.flush()
    assert [r.time for r in out] == sorted(r.time for r in out)
    assert sorted(((r.key, r.start, r.end, r.value) for r in out), key=lambda r: (r[0], r[2])) == expected
    assert not window._engines and not window._last
    table = pa.table(
        {"k": [r[0] for r in rows], "ts": [r[1] for r in rows], "x": pa.array([r[2] for r in rows], pa.int64())}
    )
    batch = sw.aggregate(table, ours, window=build(*grid), partition_by="k", order_by="ts", emit="changes", empty=True)
    found = [(r["k"], r["window_start"], r["window_end"], {n: r[n] for n in names}) for r in batch.to_pylist()]
    assert sorted(found, key=lambda r: (r[0], r[2])) == expected


def test_late_rows_fill_a_window_that_would_be_empty():
    window = sw.Window(sw.count(), sw.time(5, every=5), emit="changes", empty=True, late="drop")
    window.push("x", time=0)
    assert [(r.end, r.value) for r in window.push("x", time=8)] == [(5, 1)]
    window.push("x", time=21)  # [10, 15) is empty
    out = window.push("x", time=20) + window.advance(24)
    assert out == [] and window.dropped == 0
    assert [(r.end, r.value) for r in window.flush()] == [(25, 2), (30, 0)]


def test_windows_by_row_and_windows_that_hop_in_one():
    ours = {"n": sw.count().over(sw.time(10)), "h": sw.count().over(sw.time(10, every=10))}
    window = sw.Window(ours, emit="changes", empty=True)
    out = window.push(1, time=3) + window.flush()
    assert [(r.time, r.value) for r in out] == [(3, {"n": 1}), (10, {"h": 1}), (14, {"n": 0}), (20, {"h": 0})]


# ---- what comes back
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_same_kind_comes_back(make):
    data = make({"k": ["a", "b"], "ts": [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 2)], "x": [1.5, 2.5]})
    out = sw.with_columns(
        data, partition_by="k", order_by="ts", emit="changes", empty=True, n=sw.count().over(sw.time("1h"))
    )
    assert type(out) is type(data)
    rows = out.to_pylist() if make is pa.table else out.to_dict("records") if make is pd.DataFrame else out.to_dicts()
    assert [(r["k"], r["n"]) for r in rows] == [("a", 1), ("b", 1), ("a", 0), ("b", 0)]
    # pandas counts nanoseconds, and its frame says so
    finest = dt.timedelta(microseconds=1) if make is not pd.DataFrame else pd.Timedelta(1, "ns")
    assert rows[2]["ts"] - dt.datetime(2024, 1, 1, 1) == finest
    assert list(rows[0]) == ["k", "ts", "x", "n"]


def test_no_rows_give_no_rows():
    none = pa.table({"k": pa.array([], pa.string()), "ts": pa.array([], pa.int64())})
    out = sw.with_columns(
        none, partition_by="k", order_by="ts", emit="changes", empty=True, n=sw.count().over(sw.time(3))
    )
    assert out.column_names == ["k", "ts", "n"] and len(out) == 0
    out = sw.aggregate(
        none, partition_by="k", order_by="ts", emit="changes", empty=True, n=sw.count(), window=sw.time(3, every=1)
    )
    assert len(out) == 0


# ---- refusals
@pytest.mark.parametrize(
    ("window", "says"),
    [
        (sw.rows(3), "none leaves rows"),
        (sw.session(5), "never empty"),
        (sw.rows(3, every=2), "gives results where rows have come"),
        (sw.rows(3, every="5s"), "gives results where rows have come"),
        (sw.time("5s", every=sw.rows(2)), "gives results where rows have come"),
        (sw.range_between(-3, 3), "reaches beyond its own row"),
        (sw.time("1mo"), "counts months"),
        (sw.range_between(-3, 0, exclude="current row"), "leaves out"),
        (sw.range_between(-sw.UNBOUNDED, -1), "enter later"),
        (sw.range_between(sw.col("b"), 0), "as long as a column"),
    ],
)
def test_windows_that_are_refused(window, says):
    with pytest.raises(InvalidInput, match=says):
        sw.Window(sw.count(), window, emit="changes", empty=True)
    if window.every is None:
        data = {"ts": np.array([1]), "b": np.array([0])}
        with pytest.raises(InvalidInput, match=says):
            sw.with_columns(data, order_by="ts", emit="changes", empty=True, n=sw.count().over(window))


def test_other_refusals():
    with pytest.raises(InvalidInput, match='goes with emit="changes"'):
        sw.Window(sw.count(), sw.time(3), empty=True)
    with pytest.raises(InvalidInput, match="empty is True or False"):
        sw.Window(sw.count(), sw.time(3), emit="changes", empty="yes")
    with pytest.raises(InvalidInput, match="Use one of the two"):
        sw.Window(sw.count(), sw.time(3), emit="changes", empty=True, late="revise")
    with pytest.raises(InvalidInput, match="results come when rows leave"):
        sw.Window({"p": sw.percentile("x", sw.col("q"))}, sw.time(3), emit="changes", empty=True)
    with pytest.raises(InvalidInput, match="name its column in order_by"):
        sw.with_columns({"x": [1]}, emit="changes", empty=True, n=sw.count().over(sw.time(3)))
    with pytest.raises(InvalidInput, match="descending"):
        sw.with_columns({"x": [1]}, order_by=sw.desc("x"), emit="changes", empty=True, n=sw.count().over(sw.time(3)))
    with pytest.raises(InvalidInput, match="beyond"):
        last = pa.table({"ts": pa.array([127], pa.int8())})
        sw.with_columns(last, order_by="ts", emit="changes", empty=True, n=sw.count().over(sw.time(3)))
    with pytest.raises(InvalidInput, match="which has none here"):
        decimals = pa.table({"ts": pa.array([1], pa.decimal128(9, 2))})
        sw.with_columns(decimals, order_by="ts", emit="changes", empty=True, n=sw.count().over(sw.time(3)))
    with pytest.raises(InvalidInput, match="no time for the result"):
        sw.Window(sw.count(), sw.time("1d"), emit="changes", empty=True).push(1, time=dt.datetime.max)
    with pytest.raises(InvalidInput, match="have no name"):
        hopping = sw.Window(sw.count(), sw.time("1d", every="1d"), emit="changes", empty=True)
        hopping.push(1, time=dt.datetime(9999, 12, 31))
