"""Late rows enter those of their hopping windows that were not given yet, at their place by time."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.aggregations import Listed
from support.tiers import examples

import slidewise as sw

#: aggregations whose partials take late rows without the other rows, and those for which rows are kept
MERGED = {
    "sum": sw.sum("x"),
    "count": sw.count(),
    "first": sw.first("x"),
    "last": sw.last("x"),
    "first that is there": sw.first("x", ignore_nulls=True),
    "last that is there": sw.last("x", ignore_nulls=True),
    "max_by": sw.max_by("v", "x"),
    "min_by": sw.min_by("v", "x"),
    "first where": sw.first("v", where="p"),
    "max": sw.max("x"),
    "sd": sw.stddev("x"),
}
ORDERED = {
    "listed": Listed("v"),
    "list": sw.collect_list("x"),
    "second": sw.nth_value("v", 2),
    "median": sw.median("x"),
    "distinct": sw.count_distinct("x"),
    "mode": sw.mode("x"),
}
WINDOWS = {"hop": (10, 3, 0), "tumble": (6, 6, 0), "moved": (7, 4, 1), "narrow": (4, 1, 0), "halves": (2.5, 1.25, 0.5)}


def random_stream(seed, count):
    """Rows in the order of arrival, with times that go back by more or less, and repeat."""
    random, now, stream = Random(seed), random_start(seed), []
    for v in range(count):
        now += random.choice((0, 0, 1, 1, 2, 3, 9))
        x = random.choice((None, 1, 1, 2, 3))
        time = now - random.choice((0, 0, 0, 1, 2, 3, 5, 8, 20))
        stream.append({"t": time, "v": v, "x": x, "p": random.random() < 0.5, "key": random.choice("ab")})
    return stream


def random_start(seed):
    return seed % 17 - 8


streams = st.builds(random_stream, st.integers(0, 10**6), st.integers(0, 40))


def windows_of(time, size, every, offset):
    """All windows that have the time, by the rule and not by the code."""
    last = (time - offset) // every * every + offset
    starts = [last - k * every for k in range(int(size // every) + 2)]
    return [(start, start + size) for start in starts if start <= time < start + size]


def take_rows(arriving, shape, delay):
    """The rows that each window of each key is over, and how many rows enter none."""
    newest, taken, dropped = None, {}, 0
    for row in arriving:
        mark = None if newest is None else newest - (delay or 0)
        open_windows = [w for w in windows_of(row["t"], *shape) if mark is None or w[1] > mark]
        for window in open_windows:
            taken.setdefault((row["key"], *window), []).append(row)
        dropped += not open_windows
        newest = row["t"] if newest is None else max(newest, row["t"])
    return {name: sorted(rows, key=lambda row: row["t"]) for name, rows in taken.items()}, dropped


def compute(aggregation, rows):
    """The rows in order, from scratch."""
    structure = sw.swag("recalculate", unnamed(aggregation))
    for row in rows:
        if aggregation.where is None or row[aggregation.where]:
            values = [row[name] for name in aggregation.columns or ("v",)]
            structure.insert(values[0] if len(values) == 1 else tuple(values))
    return structure.query()


def unnamed(aggregation):
    if isinstance(aggregation, Listed):
        return Listed()
    return type(aggregation)(**aggregation.parameters)


def check(found, taken, chosen):
    wanted = {
        name: {each: compute(aggregation, rows) for each, aggregation in chosen.items()} for name, rows in taken.items()
    }
    rounded = {(r.key, r.start, r.end): {each: to_digits(value) for each, value in r.value.items()} for r in found}
    assert rounded == {
        name: {each: to_digits(value) for each, value in values.items()} for name, values in wanted.items()
    }
    assert len(found) == len(wanted)


def to_digits(value):
    """Variances of rows in another order differ in their last digits."""
    return round(value, 9) if isinstance(value, float) else value


@pytest.mark.parametrize("shape", WINDOWS)
@examples(40)
@given(
    stream=streams,
    chosen=st.sampled_from([MERGED, *({name: one} for name, one in (MERGED | ORDERED).items()), MERGED | ORDERED]),
    delay=st.sampled_from([None, 0, 2, 7]),
    saved=st.sets(st.integers(0, 40), max_size=3),
)
def test_a_late_row_enters_its_open_windows_only(shape, stream, chosen, delay, saved):
    size, every, offset = WINDOWS[shape]
    taken, dropped = take_rows(stream, WINDOWS[shape], delay)
    window = sw.time(size, every=every, offset=offset)
    w = sw.Window(chosen, window, partition_by="key", max_delay=delay, late="drop")
    found = []
    for k, row in enumerate(stream):
        if k in saved:
            w = w.from_bytes(w.to_bytes())
        found += w.push(row, time=row["t"])
    found += w.flush()
    check(found, taken, chosen)
    assert w.dropped == dropped


@examples(25)
@given(streams, st.sampled_from([None, 3]))
def test_several_hopping_windows_over_one_stream_each_take_what_is_open(stream, delay):
    names = ("hop", "tumble")
    aggregations = {"list": Listed("v"), "first": sw.first("v"), "sum": sw.sum("v")}
    overs = {
        f"{each} {name}": aggregation.over(sw.time(WINDOWS[name][0], every=WINDOWS[name][1]))
        for name in names
        for each, aggregation in aggregations.items()
    }
    w = sw.Window(overs, partition_by="key", max_delay=delay, late="drop")
    found = [result for row in stream for result in w.push(row, time=row["t"])] + w.flush()
    by_window = {name: take_rows(stream, WINDOWS[name], delay) for name in names}
    for name in names:
        chosen = {f"{each} {name}": aggregation for each, aggregation in aggregations.items()}
        check([r for r in found if r.value.keys() == chosen.keys()], by_window[name][0], chosen)
    drops = [
        all(w[1] <= mark for name in names for w in windows_of(row["t"], *WINDOWS[name]))
        for row, mark in zip(stream, marks(stream, delay), strict=True)
    ]
    assert w.dropped == sum(drops)


def marks(stream, delay):
    newest, found = -(10**9), []
    for row in stream:
        found.append(newest - (delay or 0))
        newest = max(newest, row["t"])
    return found


def test_an_error_is_raised_only_for_a_row_of_no_open_window():
    w = sw.Window(sw.sum(), sw.time(60, every=60))
    w.push(1, time=59)
    assert w.push(2, time=10) == []
    assert [r.value for r in w.push(4, time=61)] == [3]
    with pytest.raises(sw.LateRow, match=r"row of 59 is late: all of its windows were given, which end up to 61"):
        w.push(8, time=59)
    assert [r.value for r in w.flush()] == [4]


def test_windows_per_row_keep_their_rule_also_beside_hopping_ones():
    w = sw.Window({"n": sw.count().over(sw.time(60, every=60)), "last": sw.sum().over(sw.rows(2))}, late="drop")
    for t, x in ((10, 1), (5, 2)):
        w.push(x, time=t)
    assert w.dropped == 1
    assert [r.value for r in w.flush()] == [{"n": 1}]


def test_first_and_last_of_a_long_window_hold_no_rows():
    w = sw.Window({"first": sw.first("x"), "last": sw.last("x")}, sw.time(1000, every=1000))
    for t in range(900):
        w.push({"x": t}, time=t)
        w.push({"x": -t}, time=t // 2)
    assert w.partials() == 2
    assert [r.value for r in w.flush()] == [{"first": 0, "last": 899}]


def test_after_advance_a_late_row_enters_what_is_open():
    w = sw.Window(sw.sum(), sw.time(10, every=5), late="drop")
    assert w.advance(12) == []
    w.push(1, time=11, key="a")
    assert [(r.start, r.value) for r in w.flush()] == [(5, 1), (10, 1)]


@pytest.mark.parametrize("window", [sw.rows(2), sw.time(5), sw.time(6, every=3)])
@examples(30)
@given(stream=streams, delay=st.sampled_from([None, 2]))
def test_late_rows_that_are_marked_are_those_that_would_be_dropped(window, stream, delay):
    given_out = {}
    for late in ("drop", "mark"):
        w = sw.Window({"list": Listed("v"), "n": sw.count()}, window, partition_by="key", max_delay=delay, late=late)
        found = [(row, result) for row in stream for result in w.push(row, time=row["t"])]
        given_out[late] = w, [*found, *((None, result) for result in w.flush())]
    dropping, dropped = given_out["drop"]
    marking, marked = given_out["mark"]
    assert [result for _, result in marked if not result.late] == [result for _, result in dropped]
    late_rows = [(row, result) for row, result in marked if result.late]
    assert len(late_rows) == dropping.dropped
    assert marking.dropped == 0
    for row, result in late_rows:
        assert result == sw.Result({"list": None, "n": None}, key=row["key"], time=row["t"], late=True)


def test_a_marked_row_is_told_apart():
    w = sw.Window(sw.sum(), sw.rows(2), late="mark")
    w.push(1, time=5)
    assert repr(w.push(2, time=4)) == "[Result(None, time=4, late=True)]"
    assert repr(w.push(2, time=5)) == "[Result(3, time=5, row=2)]"
    loaded = w.from_bytes(w.to_bytes())
    assert loaded.push(7, time=1)[0].late
    several = sw.Window({"a": sw.sum().over(2), "b": sw.sum().over(sw.time(3, every=3))}, late="mark")
    several.push(1, time=5)
    assert several.push(1, time=2)[-1].value == {"a": None, "b": None}


@examples(25)
@given(
    stream=streams, cut=st.integers(0, 40), delay=st.sampled_from([None, 4]), chosen=st.sampled_from([MERGED, ORDERED])
)
def test_peek_gives_what_flush_would_and_changes_nothing(stream, cut, delay, chosen):
    def feed(rows, w):
        return [result for row in rows for result in w.push(row, time=row["t"])]

    windows = [
        sw.Window(chosen, sw.time(7, every=3), partition_by="key", max_delay=delay, late="drop") for _ in range(3)
    ]
    looked, flushed, plain = windows
    assert feed(stream[:cut], looked) == feed(stream[:cut], flushed) == feed(stream[:cut], plain)
    early = looked.peek()
    assert [r.final for r in early] == [False] * len(early)
    assert [(r.key, r.start, r.value) for r in early] == [(r.key, r.start, r.value) for r in flushed.flush()]
    assert feed(stream[cut:], looked) + looked.flush() == feed(stream[cut:], plain) + plain.flush()
