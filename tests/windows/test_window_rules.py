"""The rules of frames and events, each by name."""

import math
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from support.aggregations import Listed, Vwap

import slidewise as sw


def run(window, stream, **options):
    """The results of (value, time) pairs, pushed and flushed."""
    w = sw.Window(Listed(), window, **options)
    return [r for v, t in stream for r in w.push(v, time=t)] + w.flush()


def values(results):
    return ["".join(r.value) for r in results]


ABCD = [("a", 1), ("b", 3), ("c", 3), ("d", 6)]


# ---- time per row
def test_time_is_range_with_peers():
    assert values(run(sw.time(3), ABCD)) == ["a", "abc", "abc", "bcd"]


def test_closed():
    assert values(run(sw.time(3, closed="right"), ABCD)) == ["a", "abc", "abc", "d"]
    assert values(run(sw.time(3, closed="left"), ABCD)) == ["", "a", "a", "bc"]
    assert values(run(sw.time(3, closed="neither"), ABCD)) == ["", "a", "a", ""]


def test_a_result_waits_for_peers_until_a_later_time():
    w = sw.Window(Listed(), sw.time(3))
    assert w.push("a", time=1) == []
    assert w.push("b", time=1) == []
    assert values(w.push("c", time=2)) == ["ab", "ab"]
    assert values(w.advance(2)) == ["abc"]
    assert w.advance(100) == []


def test_a_frame_without_its_own_time_does_not_wait():
    w = sw.Window(Listed(), sw.time(3, closed="left"))
    assert values(w.push("a", time=1)) == [""]
    assert values(w.push("b", time=2)) == ["a"]


def test_a_later_row_of_another_key_releases_a_silent_key():
    w = sw.Window(Listed(), sw.time(3))
    w.push("a", time=1, key="x")
    assert [(r.key, r.value) for r in w.push("b", time=2, key="y")] == [("x", ("a",))]


# ---- hopping
def test_hopping_windows_are_aligned_and_half_open_and_not_empty():
    results = run(sw.time(10, every=5), [("a", 0), ("b", 5), ("c", 27)])
    assert [(r.start, r.end, *r.value) for r in results] == [
        (-5, 5, "a"), (0, 10, "a", "b"), (5, 15, "b"), (20, 30, "c"), (25, 35, "c"),
    ]  # fmt: skip


def test_hopping_windows_whose_size_is_no_multiple_of_every():
    results = run(sw.time(7, every=5), [("a", 0), ("b", 6), ("c", 11)])
    assert [(r.start, *r.value) for r in results] == [(-5, "a"), (0, "a", "b"), (5, "b", "c"), (10, "c")]


def test_hopping_offset():
    results = run(sw.time(10, every=10, offset=3), [("a", 2), ("b", 3)])
    assert [(r.start, r.end, *r.value) for r in results] == [(-7, 3, "a"), (3, 13, "b")]


def test_hopping_windows_of_datetimes_start_on_multiples_since_the_epoch():
    zone = timezone(timedelta(hours=2))
    [result] = run(sw.time("1d", every="1d"), [("a", datetime(2024, 5, 1, 1, 30, tzinfo=zone))])
    assert result.start == datetime(2024, 4, 30, tzinfo=UTC)
    assert result.start.tzinfo is zone
    [result] = run(sw.time("1w", every="1w"), [("a", datetime(1970, 1, 3))])
    assert (result.start, result.end) == (datetime(1970, 1, 1), datetime(1970, 1, 8))


def test_hopping_windows_of_floats_do_not_drift():
    results = run(sw.time(0.3, every=0.1), [(k / 10, k / 10) for k in range(1000)])
    assert all(r.start <= t < r.end for r in results for t in r.value)
    assert all(r.start == pytest.approx(k / 10 - 0.3, abs=1e-9) for k, r in enumerate(results, 1))


def test_advance_closes_windows_of_silent_keys_in_the_order_of_time():
    w = sw.Window(sw.count(), sw.time(10, every=10))
    for key, t in (("b", 1), ("a", 2), ("c", 15)):
        w.push(0, time=t, key=key)
    assert [(r.key, r.end) for r in w.advance(100)] == [("c", 20)]
    w.push(0, time=101, key="a")
    w.push(0, time=101, key="b")
    assert [(r.key, r.value) for r in w.advance(110)] == [("a", 1), ("b", 1)]


# ---- counts
def test_count_windows_give_results_from_the_first_row_on():
    assert values(run(sw.rows(2), ABCD)) == ["a", "ab", "bc", "cd"]


def test_min_rows_waits():
    assert values(run(sw.rows(3, min_rows=3), ABCD)) == ["abc", "bcd"]


def test_every_k_emits_at_rows_k_2k():
    results = run(sw.rows(3, every=2), [(c, None) for c in "abcde"])
    assert [(r.row, "".join(r.value)) for r in results] == [(2, "ab"), (4, "bcd")]


def test_every_larger_than_the_size():
    assert values(run(sw.rows(1, every=3), [(c, None) for c in "abcdef"])) == ["c", "f"]


def test_keys_count_their_own_rows():
    w = sw.Window(Listed(), sw.rows(2, every=2))
    out = [r for k, v in enumerate("abcd") for r in w.push(v, key=k % 2)]
    assert [(r.key, r.row, "".join(r.value)) for r in out] == [(0, 2, "ac"), (1, 2, "bd")]


def test_following_rows_hold_the_result_back():
    w = sw.Window(Listed(), sw.rows_between(-1, 1))
    assert w.push("a") == []
    assert values(w.push("b")) == ["ab"]
    assert values(w.push("c")) == ["abc"]
    assert values(w.flush()) == ["bc"]
    assert w.flush() == []


def test_crossing_columns_give_an_empty_frame():
    w = sw.Window({"n": sw.count(), "top": sw.max("v")}, sw.rows_between(sw.col("a"), sw.col("b")))
    [result] = w.push({"v": 1, "a": 0, "b": -1})
    assert result.value == {"n": 0, "top": None}


# ---- delta and punctuation
def test_delta_evicts_every_row_more_than_size_below_the_new_one():
    stream = [(c, None) for c in (1, 5, 3, 11, 12)]
    assert [r.value for r in run(sw.delta(None, 6), stream)] == [(1,), (1, 5), (1, 5, 3), (5, 11), (11, 12)]


def test_delta_as_a_slide_triggers_when_the_column_has_grown_by_more_than_size():
    stream = [(c, None) for c in (1, 3, 4, 6, 7, 10)]
    assert [r.value[-1] for r in run(sw.rows(9, every=sw.delta(None, 2)), stream)] == [4, 7, 10]


@pytest.mark.parametrize("predicate", ["end", lambda row: row["end"]], ids=["column", "function"])
def test_a_null_is_no_punctuation(predicate):
    rows = [{"x": 1, "end": None}, {"x": 2, "end": True}, {"x": 4, "end": None}, {"x": 8, "end": False}]
    table = pa.Table.from_pylist(rows)
    w = sw.Window(sw.sum("x"), sw.punctuation(predicate))
    assert [r.value for row in rows for r in w.push(row)] == [1, 3, 4, 12]
    assert sw.with_columns(table, s=sw.sum("x").over(sw.punctuation(predicate)))["s"].to_pylist() == [1, 3, 4, 12]
    slides = sw.rows(9, every=sw.punctuation(predicate))
    w = sw.Window(sw.sum("x"), slides)
    assert [r.value for row in rows for r in w.push(row)] == [3]
    assert sw.aggregate(table, window=slides, s=sw.sum("x"))["s"].to_pylist() == [3]


def test_punctuation_ends_its_window_and_is_its_last_row():
    tumbling = sw.punctuation(str.isupper, every=sw.punctuation(str.isupper))
    assert values(run(tumbling, [(c, None) for c in "abCdEFg"])) == ["abC", "dE", "F"]
    assert values(run(sw.punctuation(str.isupper), [(c, None) for c in "abCd"])) == ["a", "ab", "abC", "d"]


def test_delta_of_datetimes():
    w = sw.Window(sw.count(), sw.delta("at", "1h"))
    start = datetime(2024, 1, 1)
    out = [w.push({"at": start + timedelta(minutes=m)})[0].value for m in (0, 30, 60, 61, 200)]
    assert out == [1, 2, 3, 3, 1]


# ---- mixed sizes and slides
def test_size_by_time_slide_by_count_is_the_frame_of_every_kth_row():
    assert values(run(sw.time(3, every=sw.rows(2)), ABCD)) == ["abc", "bcd"]


def test_size_by_count_slide_by_time_is_the_last_rows_before_each_boundary_with_new_rows():
    results = run(sw.rows(2, every=sw.time(2)), [("a", 1), ("b", 1), ("c", 2), ("d", 9)])
    assert [(r.time, "".join(r.value)) for r in results] == [(2, "ab"), (4, "bc"), (10, "cd")]


# ---- emit
def test_emit_changes_gives_only_results_that_differ_from_the_last_of_their_key():
    w = sw.Window(sw.max(), sw.rows(2), emit="changes")
    out = [(r.key, r.value) for k, v in [("a", 1), ("b", 1), ("a", 1), ("b", 2), ("a", 0)] for r in w.push(v, key=k)]
    assert out == [("a", 1), ("b", 1), ("b", 2)]


def test_emit_changes_compares_with_null_and_nan_equal_to_themselves():
    w = sw.Window({"top": sw.max(), "n": sw.count()}, sw.rows(1), emit="changes")
    pushed = [None, None, math.nan, float("nan"), 1.0, 1, None]
    found = [r.value["top"] for v in pushed for r in w.push(v)]
    assert [str(v) for v in found] == ["None", "nan", "1.0", "None"]


# ---- slices
@pytest.mark.full
def test_a_million_rows_with_a_slide_of_a_thousand_hold_a_thousand_partials():
    w = sw.Window(sw.max(), sw.rows(1_000_000, every=1000))
    held = set()
    for x in range(1_003_000):
        results = w.push(x)
        if x >= 1_000_000 and x % 100 == 50:
            held.add(w.partials())
    assert held == {1000}
    assert results[0].value == 1_002_999


def test_hopping_windows_hold_size_over_every_partials():
    w = sw.Window({"n": sw.count(), "sum": sw.sum()}, sw.time("1h", every="1m"))
    start = datetime(2024, 1, 1)
    for second in range(0, 3 * 3600, 5):
        w.push(1, time=start + timedelta(seconds=second))
        assert w.partials() <= 2 * 60
    assert w.partials() == 2 * 60


def test_running_frames_hold_one_partial():
    for window in (sw.rows_between(-sw.UNBOUNDED, 0), sw.punctuation(lambda v: v % 50 == 0)):
        w = sw.Window(sw.sum(), window)
        for x in range(200):
            w.push(x)
        assert w.partials() == 1


def test_holistic_aggregations_keep_their_rows_in_slices():
    w = sw.Window({"median": sw.median(), "n": sw.count()}, sw.rows(100, every=10))
    out = [r for x in range(1000) for r in w.push(x)]
    assert out[-1].value == {"median": 949.5, "n": 100}
    assert w.partials() == 90 + 9


# ---- values and keys
def test_several_values_per_row():
    w = sw.Window(sw.max_by(), sw.rows(2))
    assert [w.push(pair)[0].value for pair in (("x", 3), ("y", 2), ("z", 1))] == ["x", "x", "y"]
    with pytest.raises(sw.InvalidInput, match="max_by takes 2 values per row"):
        w.push(5)


def test_nulls_are_skipped_but_are_rows():
    w = sw.Window({"sum": sw.sum(), "n": sw.count()}, sw.rows(2))
    assert [w.push(x)[0].value for x in (1, None, None)] == [
        {"sum": 1, "n": 1}, {"sum": 1, "n": 2}, {"sum": None, "n": 2},
    ]  # fmt: skip


def test_partition_by_columns_of_the_row():
    w = sw.Window(sw.sum("v"), sw.rows(5), partition_by=["a", "b"])
    rows = [{"a": 1, "b": math.nan, "v": 1}, {"a": 1, "b": float("nan"), "v": 2}, {"a": None, "b": 0.0, "v": 4}]
    assert [r.value for row in rows for r in w.push(row)] == [1, 3, 4]


def test_times_may_be_dates_datetimes_and_numbers():
    days = [date(2024, 2, 27), date(2024, 2, 28), date(2024, 3, 1)]
    assert [len(r.value) for r in run(sw.time("2d"), [("x", d) for d in days])] == [1, 2, 2]
    [*_, last] = run(sw.time("3d", every="1d"), [("x", d) for d in days])
    assert (last.start, last.end) == (date(2024, 3, 1), date(2024, 3, 4))
    instants = [np.datetime64("2024-01-01T00:00:00.000000001"), np.datetime64("2024-01-01T00:00:00.000000101")]
    assert [len(r.value) for r in run(sw.time("100ns"), [("x", t) for t in instants])] == [1, 2]
    assert [len(r.value) for r in run(sw.time("99ns"), [("x", t) for t in instants])] == [1, 1]


def test_months_are_measured_by_the_calendar():
    days = [datetime(2024, 1, 31), datetime(2024, 2, 29), datetime(2024, 3, 29), datetime(2024, 3, 31)]
    assert [len(r.value) for r in run(sw.time("1mo"), [("x", d) for d in days])] == [1, 2, 2, 3]


def test_user_defined_aggregations_and_classes():
    w = sw.Window({"vwap": Vwap("price", "size")}, sw.rows(2))
    rows = [{"price": 10.0, "size": 1}, {"price": 20.0, "size": 3}]
    assert [w.push(row)[0]["vwap"] for row in rows] == [10.0, 17.5]
    assert sw.Window(Vwap, sw.rows(2)).push((10.0, 2))[0].value == 10.0


def test_an_aggregation_that_is_not_associative_is_folded_from_the_oldest():
    class Horner(sw.Aggregation):
        associative = False

        @staticmethod
        def lift(x):
            return x

        @staticmethod
        def combine(a, b):
            return 2 * a + b

    for window in (sw.rows(4), sw.rows(4, every=2), sw.time(3)):
        w = sw.Window(Horner(), window)
        last = ([r for t, x in enumerate((1, 2, 3, 4, 5, 6)) for r in w.push(x, time=t)] + w.flush())[-1]
        assert last.value == ((3 * 2 + 4) * 2 + 5) * 2 + 6
