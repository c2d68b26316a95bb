"""What is refused: definitions, combinations, rows. A refused row changes nothing."""

import math
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pytest

import slidewise as sw


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sw.rows(0), "at least 1, got 0"),
        (lambda: sw.rows(True), "an int"),
        (lambda: sw.rows(2.5), "an int"),
        (lambda: sw.rows(2, min_rows=3), "min_rows is at most the size"),
        (lambda: sw.rows(2, every=0), "every=0"),
        (lambda: sw.rows(2, every=2.5), "every=2.5"),
        (lambda: sw.rows(2, offset="1s"), "offset= moves the boundaries"),
        (lambda: sw.time(0), "must be positive"),
        (lambda: sw.time("-1h"), "must be positive"),
        (lambda: sw.time(math.nan), "finite"),
        (lambda: sw.time("1 parsec"), "not a duration"),
        (lambda: sw.time("1h", every="25m", cumulative=True), "multiple of every"),
        (lambda: sw.time("1h", every="2h", cumulative=True), "multiple of every"),
        (lambda: sw.time("1h", cumulative=True), "needs every= by time"),
        (lambda: sw.time("1h", every=sw.rows(3), cumulative=True), "needs every= by time"),
        (lambda: sw.Window(sw.max(), sw.time(6, every=2, cumulative=True), late="revise"), "not there for cumulative"),
        (lambda: sw.time("1h", every=5), "both durations or both numbers"),
        (lambda: sw.time("1mo", every="1d"), "is a length by the calendar"),
        (lambda: sw.rows(5, every="1mo"), "fixed length"),
        (lambda: sw.time("1h", every="1m", closed="left"), r"\[start, end\)"),
        (lambda: sw.time("1h", closed="open"), "closed is"),  # type: ignore[call-overload]
        (lambda: sw.time("1h", offset="5m"), "offset="),
        (lambda: sw.time("1y3d"), "mixes months"),
        (lambda: sw.time("0.1ns"), "whole number of nanoseconds"),
        (lambda: sw.delta("c", -1), "negative"),
        (lambda: sw.delta(3, 1), "a name"),
        (lambda: sw.punctuation(3), "a function of the row"),
        (lambda: sw.rows_between(1, -1), "start 1 is after the end -1"),
        (lambda: sw.rows_between(sw.UNBOUNDED, 0), "no row is in a frame"),
        (lambda: sw.rows_between(-math.inf, 0), "-UNBOUNDED"),
        (lambda: sw.rows_between("1h", 0), "an int"),
        (lambda: sw.range_between("-1h", 5), "of one kind"),
        (lambda: sw.range_between("1h", 0), "after the end"),
        (lambda: sw.rows_between(-1, 1, exclude="me"), "exclude is"),
        (lambda: sw.rows(5, every=sw.rows(5, every=2)), "without a slide of its own"),
        (lambda: sw.rows(5, every=sw.rows_between(-1, 0)), "every= takes"),
        (lambda: sw.frames([1], [1, 2]), "one entry per row"),
        (lambda: sw.col(""), "name of a column"),
    ],
)
def test_definitions(make, message):
    with pytest.raises(sw.InvalidInput, match=message):
        make()


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((5, sw.rows(2)), {}, "takes an aggregation"),
        (({}, sw.rows(2)), {}, "no aggregation"),
        ((sw.max(), 2.5), {}, "takes a window .*, or a number of rows, got 2.5"),
        ((sw.max(), "1h"), {}, "takes a window .*, got '1h'"),
        ((sw.max(), True), {}, "takes a window .*, got True"),
        ((sw.max(), None), {}, "takes a window .*, got None"),
        ((sw.max(), 0), {}, "at least 1, got 0"),
        ((sw.max(), -2), {}, "Window: a window of rows must be at least 1, got -2"),
        ((sw.max(), sw.frames([0], [1])), {}, "rolling"),
        ((sw.max("x").over(sw.rows(2)), sw.rows(2)), {}, "brings its own window"),
        (({"a": sw.max("x"), "b": sw.min()}, sw.rows(2)), {}, "Name the columns of both"),
        (({"a": sw.max(), "b": sw.max_by()}, sw.rows(2)), {}, "different numbers of values"),
        ((sw.max(), sw.rows(2)), {"emit": "all"}, "emit is"),
        ((sw.max(), sw.rows(2)), {"late": "ignore"}, "late is"),
        ((sw.max(), sw.rows(2)), {"keep": 5}, "keep="),
        ((sw.max(), sw.rows(2)), {"max_delay": -1}, "negative"),
        ((sw.max(), sw.rows(2)), {"max_delay": "1mo"}, "fixed length"),
        ((sw.max(), sw.rows(2)), {"late": "revise", "emit": "changes"}, "one of the two"),
        ((sw.max(), sw.delta(None, 2)), {"late": "revise"}, "moves every delta"),
        ((sw.max(), sw.rows(2, every=sw.punctuation(bool))), {"late": "revise"}, "moves every punctuation"),
        ((sw.max(), sw.rows(2)), {"partition_by": []}, "partition_by"),
        ((sw.max(), sw.rows(2)), {"algorithm": "dabba"}, "no algorithm 'dabba'"),
    ],
)
def test_windows(arguments, options, message):
    with pytest.raises(sw.InvalidInput, match=message):
        sw.Window(*arguments, **options)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((sw.max(), sw.rows(2)), {"late": "revise", "algorithm": "daba"}, "lacks the property out of order.*Use fiba"),
        ((sw.max(), sw.rows_between(-1, 0, exclude="ties")), {"algorithm": "daba"}, "move back.*fiba"),
        ((sw.max(), sw.rows(2)), {"algorithm": "subtract_on_evict"}, "invertible"),
        ((sw.max(), sw.rows(2)), {"algorithm": "sba"}, "rolling"),
        ((sw.max(), sw.time(2)), {"algorithm": "b_int"}, "sets no limit"),
        ((sw.first(), sw.rows(2)), {"late": "revise", "algorithm": "reactive"}, "fiba"),
    ],
)
def test_algorithms(arguments, options, message):
    with pytest.raises(sw.IllegalPair, match=message):
        sw.Window(*arguments, **options)


TABLE: dict[str, Any] = {"x": [3, 1, 2]}
CALLS = {
    "over": lambda window: sw.with_columns(TABLE, y=sw.max("x").over(window))["y"].tolist(),
    "rolling": lambda window: sw.rolling([3, 1, 2], sw.max(), window).tolist(),
    "Window": lambda window: [r.value for w in [sw.Window(sw.max(), window)] for x in [3, 1, 2] for r in w.push(x)],
    "explain": lambda window: str(sw.explain(sw.max(), window)),
    "explain over": lambda window: str(sw.explain({"y": sw.max("x").over(window)})),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_number_is_a_window_of_so_many_rows(call):
    for number in (1, 2, np.int32(2), 5):
        assert CALLS[call](number) == CALLS[call](sw.rows(int(number)))
    for wrong, why in ((0, "at least 1"), (-2, "at least 1"), (True, "got True"), (2.0, "a number of rows")):
        with pytest.raises(sw.InvalidInput, match=why):
            CALLS[call](wrong)


def test_a_number_has_no_slide_to_aggregate_at():
    with pytest.raises(sw.InvalidInput, match=r"rows\(5\) gives a result for every row"):
        sw.aggregate(TABLE, window=5, y=sw.max("x"))
    with pytest.raises(sw.InvalidInput, match=r"window= takes a window .*got 'x'"):
        sw.aggregate(TABLE, window="x", y=sw.max("x"))


def test_a_bad_row_changes_nothing():
    w = sw.Window({"sum": sw.sum("v"), "n": sw.count()}, sw.time(5, every=5), partition_by="k")
    w.push({"k": "a", "v": 1}, time=1)
    bad = [
        ({"k": "a", "v": 1}, None, "needs the time"),
        ({"k": "a", "v": 1}, math.nan, "finite"),
        ({"k": "a", "v": 1}, math.inf, "finite"),
        ({"k": "a", "v": 1}, True, "a number, a datetime or a date"),
        ({"k": "a", "v": 1}, "12", "a number, a datetime or a date"),
        ({"k": "a", "v": 1}, datetime(2024, 1, 1), "was a number before"),
        ({"k": "a"}, 2, "no column v. It has: k"),
        ({"v": 1}, 2, "no column k"),
        ({"k": [1], "v": 1}, 2, "hashable"),
        (7, 2, "push a mapping"),
    ]
    for row, time, message in bad:
        with pytest.raises(sw.InvalidInput, match=message):
            w.push(row, time=time)
    assert [r.value for r in w.flush()] == [{"sum": 1, "n": 1}]


def test_lengths_and_times_of_different_kinds():
    with pytest.raises(sw.InvalidInput, match='and "1h" is a length of time'):
        sw.Window(sw.max(), sw.time("1h")).push(1, time=5)
    with pytest.raises(sw.InvalidInput, match="without a unit"):
        sw.Window(sw.max(), sw.time(5)).push(1, time=datetime(2024, 1, 1))
    with pytest.raises(sw.InvalidInput, match="1us as finest unit"):
        sw.Window(sw.max(), sw.time("5ns")).push(1, time=datetime(2024, 1, 1))
    with pytest.raises(sw.InvalidInput, match="1d as finest unit"):
        sw.Window(sw.max(), sw.time("5h")).push(1, time=date(2024, 1, 1))
    w = sw.Window(sw.max(), sw.rows(2))
    w.push(1, time=datetime(2024, 1, 1))
    with pytest.raises(sw.InvalidInput, match="aware"):
        w.push(1, time=datetime.fromisoformat("2024-01-02T00:00:00+00:00"))
    with pytest.raises(sw.InvalidInput, match="needs the time"):
        w.push(1)


def test_times_for_all_rows_or_none():
    w = sw.Window(sw.max(), sw.rows(2))
    w.push(1)
    with pytest.raises(sw.InvalidInput, match="Give all or none"):
        w.push(1, time=5)
    with pytest.raises(sw.InvalidInput, match="have no times"):
        w.advance(5)


def test_nothing_after_flush():
    w = sw.Window(sw.max(), sw.rows(2))
    w.push(1)
    w.flush()
    with pytest.raises(sw.InvalidInput, match="flushed"):
        w.push(2)
    assert w.flush() == []


def test_key_comes_from_one_place():
    w = sw.Window(sw.max("v"), sw.rows(2), partition_by="k")
    with pytest.raises(sw.InvalidInput, match="key comes from partition_by"):
        w.push({"k": 1, "v": 2}, key=1)


def test_a_punctuation_must_be_true_or_false():
    w = sw.Window(sw.count(), sw.punctuation("p"))
    with pytest.raises(sw.InvalidInput, match="True or False"):
        w.push({"p": 1})


def test_a_value_that_cannot_be_lifted_is_refused_before_anything_has_changed():
    w = sw.Window({"n": sw.count(), "sum": sw.sum()}, sw.rows(3))
    w.push(1)
    with pytest.raises((sw.InvalidInput, TypeError)):
        w.push(object())
    assert w.push(2)[0].value == {"n": 2, "sum": 3}


def test_delta_needs_numbers():
    w = sw.Window(sw.count(), sw.delta("c", 5))
    for bad in (None, math.nan, "x"):
        with pytest.raises(sw.InvalidInput, match="column 'c' of delta"):
            w.push({"c": bad})
    w = sw.Window(sw.count(), sw.delta("c", timedelta(seconds=5)))
    with pytest.raises(sw.InvalidInput, match="plain number"):
        w.push({"c": 5})
