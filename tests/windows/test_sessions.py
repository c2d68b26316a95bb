"""Session windows event by event and over columns: against recalculation, and each rule by an example."""

import datetime as dt
from random import Random

import numpy as np
import pyarrow as pa
import pytest
import window_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from support.aggregations import Listed
from support.tiers import examples
from window_streams import by_key, rows

import slidewise as sw
from slidewise.errors import InvalidInput, LateRow, StateError

GAPS = st.sampled_from([1, 2, 3, 8])


def expected(stream, gap):
    return {
        key: [(s[0]["t"], s[-1]["t"] + gap, oracle.values(s)) for s in oracle.sessions(own, gap)]
        for key, own in by_key(stream).items()
    }


def collected(results):
    found = {}
    for r in results:
        assert r.time == r.end and r.row is None
        found.setdefault(r.key, []).append((r.start, r.end, r.value))
    return found


def run(window, stream):
    return [result for row in stream for result in window.push(row, time=row["t"])] + window.flush()


# ---- one result per session
@examples(200)
@given(rows, GAPS)
def test_sessions_are_those_of_recalculation(stream, gap):
    w = sw.Window(Listed("v"), sw.session(gap), partition_by="key")
    assert collected(run(w, stream)) == expected(stream, gap)
    assert not w._engines


@examples(100)
@given(rows, GAPS, st.integers(0, 10**6), st.sampled_from([1, 4, 20]))
def test_rows_that_are_held_back_join_their_sessions(stream, gap, seed, delay):
    random = Random(seed)
    arriving = sorted(stream, key=lambda row: row["t"] + random.uniform(0, delay * 0.999))
    ordered = sorted(arriving, key=lambda row: row["t"])
    w = sw.Window(Listed("v"), sw.session(gap), partition_by="key", max_delay=delay)
    assert collected(run(w, arriving)) == expected(ordered, gap)


@examples(100)
@given(rows, GAPS, st.integers(0, 40))
def test_sessions_of_columns_are_those_of_events_saved_in_between(stream, gap, cut):
    if not stream:
        return
    columns = {"all": sw.collect_list("v"), "n": sw.count(), "peak": sw.max("c"), "mid": sw.median("c")}
    w = sw.Window(columns, sw.session(gap), partition_by="key")
    results = [r for row in stream[:cut] for r in w.push(row, time=row["t"])]
    w = w.from_bytes(w.to_bytes())
    results += run(w, stream[cut:])
    found = sw.aggregate(
        pa.Table.from_pylist(stream), partition_by="key", order_by="t", window=sw.session(gap), **columns
    )
    assert found.column_names == ["key", "window_start", "window_end", *columns]
    events = [{"key": r.key, "window_start": r.start, "window_end": r.end, **r.value} for r in results]
    by = lambda row: (row["key"], row["window_start"])  # noqa: E731
    assert sorted(found.to_pylist(), key=by) == sorted(events, key=by)


def test_a_session_is_given_when_no_row_can_join_it_any_more():
    w = sw.Window(sw.sum(), sw.session(10))
    assert w.push(1, time=0) == w.push(2, time=10) == []  # exactly the gap apart is one session
    assert w.advance(19) == []
    [result] = w.advance(20)
    assert (result.value, result.start, result.end, result.time) == (3, 0, 20, 20)
    with pytest.raises(LateRow):
        w.push(5, time=10)
    # One that is late, and could still be followed: the session that it would have joined was given.
    assert w.push(5, time=11) == w.push(4, time=21) == []
    assert [(r.value, r.start, r.end) for r in w.flush()] == [(9, 11, 31)]


@examples(150)
@given(rows, GAPS, st.integers(0, 10**6), st.sampled_from([0, 1, 4]), st.booleans(), st.booleans())
def test_late_rows_join_the_session_that_is_open(stream, gap, seed, delay, ordered, saved):
    """Against sessions of all rows of a key that were not given yet."""
    random = Random(seed)
    arriving = sorted(stream, key=lambda row: row["t"] + random.uniform(0, 12))
    columns = {
        "first": sw.first("v"),
        "n": sw.count(),
        "peak": sw.max("c"),
        **({"all": Listed("v")} if ordered else {}),
    }
    w = sw.Window(columns, sw.session(gap), partition_by="key", late="drop", max_delay=delay)
    found, expected, dropped, open_rows, mark = [], [], 0, {}, -(10**9)
    for row in arriving:
        if row["t"] + gap <= mark:
            dropped += 1
        else:
            open_rows.setdefault(row["key"], []).append(row)
            mark = max(mark, row["t"] - delay)
        found += w.push(row, time=row["t"])
        w = w.from_bytes(w.to_bytes()) if saved else w
        for key, own in open_rows.items():
            for each in oracle.sessions(sorted(own, key=lambda r: r["t"]), gap):
                if each[-1]["t"] + gap <= mark:
                    expected.append((key, each))
                    open_rows[key] = [r for r in open_rows[key] if r not in each]
    found += w.flush()
    for key, own in open_rows.items():
        expected += [(key, each) for each in oracle.sessions(sorted(own, key=lambda r: r["t"]), gap)]
    wanted = [
        (key, each[0]["t"], each[-1]["t"] + gap, each[0]["v"], len(each), max(r["c"] for r in each),
         *([oracle.values(each)] if ordered else []))
        for key, each in expected
    ]  # fmt: skip
    assert w.dropped == dropped
    assert sorted(wanted) == sorted((r.key, r.start, r.end, *r.value.values()) for r in found)


def test_another_key_closes_a_session_of_a_silent_one():
    w = sw.Window(sw.count(), sw.session("30m"))
    noon = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
    assert w.push("x", time=noon, key="a") == w.push("x", time=noon + dt.timedelta(minutes=30), key="b") == []
    [result] = w.push("x", time=noon + dt.timedelta(minutes=31), key="b")
    assert (result.key, result.start, result.end) == ("a", noon, noon + dt.timedelta(minutes=30))


# ---- one result per row
def test_a_row_sees_its_session_so_far_with_rows_of_equal_time():
    times = [0, 2, 2, 4, 9, 9, 20]
    w = sw.Window({"n": sw.count().over(sw.session(4))})
    found = [r for t in times for r in w.push({"x": t}, time=t)] + w.flush()
    assert [(r.time, r.row, r["n"]) for r in found] == [
        (0, 1, 1), (2, 2, 3), (2, 3, 3), (4, 4, 4), (9, 5, 2), (9, 6, 2), (20, 7, 1),
    ]  # fmt: skip
    out = sw.with_columns({"t": np.array(times)}, order_by="t", n=sw.count().over(sw.session(4)))
    assert out["n"].tolist() == [1, 3, 3, 4, 2, 2, 1]
    single = sw.Window(sw.count().over(sw.session(4)))
    assert [r.value for t in times for r in single.push(t, time=t)] == [1, 3, 3, 4, 2, 2]


def test_a_silent_key_holds_nothing():
    w = sw.Window({"all": sw.collect_list("x").over(sw.session(4))})
    w.push({"x": 1}, time=0)
    assert w.partials() == 1
    w.advance(4)
    assert w.partials() == 0
    assert [r["all"] for r in w.push({"x": 2}, time=5) + w.flush()] == [[2]]


def test_descending_orders_and_rows_without_a_time():
    table = pa.table({"t": [0, 3, 10, None, None], "x": [1, 2, 4, 8, 16]})
    so_far = sw.sum("x").over(sw.session(3))
    assert sw.with_columns(table, order_by="t", s=so_far)["s"].to_pylist() == [1, 3, 4, 24, 24]
    assert sw.with_columns(table, order_by=sw.desc("t"), s=so_far)["s"].to_pylist() == [3, 2, 4, 24, 24]
    for order in (sw.asc("t"), sw.asc("t", nulls="last")):
        out = sw.aggregate(table, order_by=order, window=sw.session(3), s=sw.sum("x"))
        assert out.to_pydict() == {"window_start": [0, 10], "window_end": [6, 13], "s": [3, 4]}


@pytest.mark.parametrize(
    ("times", "gap", "counts"),
    [
        (pa.array([1.1, 1.2, 1.3, 5], pa.float32()), 0.1, [1, 2, 3, 1]),
        (pa.array([-(2**63), 2**63 - 1]), 5, [1, 1]),
        (pa.array([-(2**62), 2**62]), 2**63 - 1, [1, 1]),
        (pa.array([0, 2**62]), 2**62, [1, 2]),
        (pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 3), dt.date(2024, 1, 6)]), "2d", [1, 2, 1]),
        (pa.array([0.5, float("inf"), float("nan"), float("nan")]), 1, [1, 1, 2, 2]),
        (pa.array([], pa.int64()), 1, []),
    ],
)
def test_times_of_every_kind_and_size(times, gap, counts):
    out = sw.with_columns(pa.table({"t": times}), order_by="t", n=sw.count().over(sw.session(gap)))["n"].to_pylist()
    assert out == counts


def test_ends_that_cannot_be_named_are_refused():
    with pytest.raises(InvalidInput, match="beyond 64 bits"):
        sw.aggregate(pa.table({"t": [2**63 - 2]}), order_by="t", window=sw.session(5), n=sw.count())
    with pytest.raises(InvalidInput, match="ends after the last datetime"):
        sw.Window(sw.count(), sw.session("1h")).push(1, time=dt.datetime(9999, 12, 31, 23, 30))


# ---- what is refused
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sw.session(0), "must be positive"),
        (lambda: sw.session("-5m"), "must be positive"),
        (lambda: sw.session("1 month"), "fixed length"),
        (lambda: sw.rows(3, every=sw.session(3)), "every= takes"),
        (lambda: sw.Window(sw.max(), sw.session(3), late="revise"), "moves every session"),
        (lambda: sw.Window(sw.max(), sw.session(3)).push(1), "needs the time"),
        (lambda: sw.Window(sw.max(), sw.session("3s")).push(1, time=5), "is a length of time"),
        (lambda: sw.with_columns({"t": [1]}, n=sw.count().over(sw.session(1))), "exactly one order column"),
        (lambda: sw.aggregate({"t": [1]}, window=sw.session(1), n=sw.count()), "order_by names the one column"),
        (
            lambda: sw.aggregate(
                {"t": [1], "q": [0.5]}, order_by="t", window=sw.session(1), p=sw.percentile("t", sw.col("q"))
            ),
            "are for times",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_states_of_rows_and_of_sessions_are_told_apart():
    per_row, whole = sw.Window(sw.max().over(sw.session(3))), sw.Window(sw.max(), sw.session(3))
    per_row.from_bytes(per_row.to_bytes())
    with pytest.raises(StateError, match="result was per session"):
        per_row.from_bytes(whole.to_bytes())
