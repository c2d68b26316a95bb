"""Several sources into one window: time has come as far as the slowest, and results are those of one stream."""

import datetime as dt
import random

import numpy as np
import pytest
from support.tiers import share

import slidewise as sw
from slidewise.errors import InvalidInput, LateRow, StateError

WINDOWS = {
    "rows": sw.rows(3),
    "time": sw.time(10),
    "hopping": sw.time(10, every=5),
    "ahead": sw.rows_between(-1, 1),
    "session": sw.session(4),
    "so far": sw.rows_between(-sw.UNBOUNDED, 0),
}


def seen(results):
    return [(r.key, r.time, r.start, r.end, r.value) for r in results]


@pytest.mark.parametrize("name", WINDOWS)
def test_as_one_stream_in_the_order_of_time(name):
    """Sources that drift: each is in order, and what comes out is what all rows in order give."""
    for seed in range(share(60)):
        pick = random.Random(seed)
        names = ["a", "b", "c"][: pick.randrange(1, 4)]
        rows = {s: sorted(pick.sample(range(200), pick.randrange(8))) for s in names}
        taken = set()
        for s in names:  # times are told apart, so that the order is one
            rows[s] = [t for t in rows[s] if not (t in taken or taken.add(t))]
        arrivals = [s for s in names for _ in rows[s]]
        pick.shuffle(arrivals)
        results = {"n": sw.count(), "values": sw.collect_list("x")}
        window = sw.Window(results, WINDOWS[name], partition_by="k", sources=names)
        at, found = dict.fromkeys(names, 0), []
        for s in arrivals:
            time = rows[s][at[s]]
            at[s] += 1
            found += window.push({"k": time % 2, "x": time}, time=time, source=s)
            come = [rows[n][at[n] - 1] for n in names if at[n]]
            assert window.watermark == (min(come) if all(at.values()) else None)
            if pick.random() < 0.3:
                window = window.from_bytes(window.to_bytes())
        found += window.flush()
        plain, want = sw.Window(results, WINDOWS[name], partition_by="k"), []
        for time in sorted(t for s in names for t in rows[s]):
            want += plain.push({"k": time % 2, "x": time}, time=time)
        assert sorted(map(repr, seen(found))) == sorted(map(repr, seen(want + plain.flush()))), (seed, name)


def test_disorder_within_sources():
    """With max_delay each source may be out of order by so much: the watermark is the least of theirs."""
    for seed in range(share(60)):
        pick = random.Random(seed)
        true = {"a": list(range(0, 300, 7)), "b": list(range(3, 300, 11))}
        window = sw.Window(sw.collect_list(), sw.rows(100), max_delay=20, late="drop", sources=["a", "b"])
        left, newest, kept, found = {s: list(t) for s, t in true.items()}, {}, [], []
        while any(left.values()):
            source = pick.choice([s for s in left if left[s]])
            time = left[source].pop(pick.randrange(min(5, len(left[source]))))
            mark = min(newest.values()) - 20 if len(newest) == 2 else -1
            if time > mark:
                kept.append(time)
            newest[source] = max(newest.get(source, 0), time)
            found += window.push(time, time=time, source=source)
        found += window.flush()
        assert [r.time for r in found] == sorted(kept)
        assert window.dropped == sum(map(len, true.values())) - len(kept)


def test_a_silent_source_holds_time_back_until_it_is_said_to_be_silent():
    window = sw.Window(sw.count(), sw.time(10, every=10), sources=["a", "b"])
    assert window.push("x", time=5, source="a") == window.push("x", time=500, source="a") == []
    assert window.watermark is None
    assert window.advance(30, source="b") != []
    assert window.watermark == 30
    assert window.push("x", time=31, source="b") == []
    with pytest.raises(LateRow, match="all of its windows were given"):
        window.push("x", time=3, source="b")
    per_row = sw.Window(sw.count(), sw.rows(3), sources=["a", "b"])
    per_row.push("x", time=31, source="a"), per_row.push("x", time=40, source="b")
    with pytest.raises(LateRow, match="late: all sources have come as far as 31"):
        per_row.push("x", time=3, source="b")
    assert [r.value for r in window.advance(400)] == [1]  # of all sources
    assert window.watermark == 400


def test_batches_and_peeks():
    window = sw.Window({"total": sw.sum("x")}, sw.time(10), sources=["a", "b"])
    first = window.push_many({"x": np.array([1, 2]), "t": np.array([1, 9])}, time="t", source="a")
    assert len(first) == 0
    out = window.push_many({"x": np.array([4, 8]), "t": np.array([2, 20])}, time="t", source="b")
    assert out.to_pydict() == {"t": [1, 2], "row": [1, 2], "total": [1, 5]}
    assert [r.value["total"] for r in window.peek()] == [7, 8]
    assert [r.value["total"] for r in window.flush()] == [7, 8]


def test_late_rows_revise_results_of_all_sources():
    window = sw.Window(sw.sum(), sw.time(10), late="revise", sources=["a", "b"])
    results = [
        r
        for value, time, source in [(1, 1, "a"), (2, 20, "a"), (4, 15, "b"), (8, 3, "b"), (16, 30, "b")]
        for r in window.push(value, time=time, source=source)
    ] + window.flush()
    last = {(r.time): r.value for r in results}
    assert last == {1: 1, 3: 9, 15: 4, 20: 6, 30: 18}


def test_other_sources_are_another_definition():
    window = sw.Window(sw.count(), sw.rows(3), sources=["a", "b"])
    window.push(1, time=5, source="a")
    for other in (["a"], ["b", "a"], None):
        with pytest.raises(StateError):
            sw.Window(sw.count(), sw.rows(3), sources=other).from_bytes(window.to_bytes())
    again = sw.Window(sw.count(), sw.rows(3), sources=["a", "b"]).from_bytes(window.to_bytes())
    assert seen(again.push(1, time=4, source="b")) == seen(window.push(1, time=4, source="b"))


def test_rows_ahead_of_the_clock_move_no_source():
    now = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    window = sw.Window(sw.count(), sw.rows(3), sources=["a", "b"], max_ahead="1h", clock=lambda: now)
    assert window.push(1, time=now + dt.timedelta(days=900), source="a") == []
    assert window.ahead == 1 and window.watermark is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda w: w.push(1, time=1), "this window has the sources 'a', 'b'. Say which it is of, as in source='a'"),
        (lambda w: w.push_many(np.array([1]), time=np.array([1])), "push_many: this window has the sources"),
        (lambda w: w.push(1, time=1, source="c"), "push: there is no source 'c'"),
        (lambda w: w.push(1, time=1, source=["a"]), "there is no source"),
        (lambda w: w.advance(1, source="c"), "advance: there is no source 'c'"),
        (lambda w: w.push(1, source="a"), "needs the time of every row"),
        (lambda w: sw.Window(sw.count(), sw.rows(3)).push(1, time=1, source="a"), "this window has no sources, got"),
        (lambda w: sw.Window(sw.count(), sw.rows(3)).push_many([1], source="a"), "this window has no sources, got"),
        (lambda w: sw.Window(sw.count(), sw.rows(3), sources=[]), "sources are named by texts.*got none"),
        (lambda w: sw.Window(sw.count(), sw.rows(3), sources=["a", 3]), "sources are named by texts.*got 3"),
        (lambda w: sw.Window(sw.count(), sw.rows(3), sources=["a", "a"]), "the source 'a' is named twice"),
    ],
)
def test_refusals(wrong, said):
    window = sw.Window(sw.count(), sw.rows(3), sources=["a", "b"])
    with pytest.raises(InvalidInput, match=said):
        wrong(window)
    assert window.watermark is None and window.flush() == []


def test_the_direct_way_takes_no_source():
    """Rows of a plain window go straight to their structure after a while: a source is refused there, too."""
    window = sw.Window(sw.max(), sw.rows(2))
    for x in range(100):
        window.push(x)
    with pytest.raises(InvalidInput, match="this window has no sources"):
        window.push(1, source="a")
    assert window.push(1)[0].value == 99
