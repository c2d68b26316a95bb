"""The stateful logic without Spark: whatever way a stream is cut into batches, it gives what a batch gives."""

import datetime as dt
import math

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, Stream, batch, on_time, same, task_of

import slidewise as sw

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


class Spread(sw.Aggregation):
    identity = (2**62, -(2**62))
    commutative = True

    def lift(x):
        return (x, x)

    def combine(a, b):
        return (min(a[0], b[0]), max(a[1], b[1]))

    def lower(s):
        return s[1] - s[0]


TRAILING = {
    "peak": sw.max("x").over(sw.time("10s")),
    "total": sw.sum("odo").over(sw.time("3s", closed="left")),
    "typical": sw.median("x").over(sw.rows(4)),
    "different": sw.count_distinct("note").over(sw.rows(3)),
    "n": sw.count().over(sw.range_between("-5s", "-1s")),
    "usual": sw.mode("note").over(sw.rows_between(-3, -1)),
    "due": sw.avg("x").over(sw.rows(3, min_rows=2)),
    "texts": sw.string_agg("note").over(sw.groups_between(-2, 0)),
    "driven": sw.count("odo").over(sw.delta("odo", 3)),
    "trip": sw.collect_list("seq").over(sw.punctuation("mark")),
    "own": Spread("odo").over(sw.time("4s")),
    "where": sw.count(where="mark").over(sw.time("20s")),
    "others": sw.max("odo").over(sw.rows_between(-2, 0, exclude="current row")),
    "month": sw.count().over(sw.time("1 month")),
}
FOLLOWING = {
    "around": sw.max("x").over(sw.range_between("-2s", "3s")),
    "next": sw.collect_list("seq").over(sw.rows_between(0, 2)),
    "groups": sw.sum("odo").over(sw.groups_between(-1, 1)),
    "later": sw.first("seq").over(sw.rows_between(1, 3)),
    "ahead": sw.count().over(sw.range_between("1s", "4s")),
    "ties": sw.count().over(sw.range_between("-1s", "1s", exclude="ties")),
    "past": sw.median("x").over(sw.rows(5)),
}
FAR = 10**11

rows = st.fixed_dictionaries(
    {
        "k": st.sampled_from(["a", "b", "c", None]),
        "at": st.integers(0, 40),
        "back": st.sampled_from([0, 0, 0, 1, 3, 20]),
        "x": st.sampled_from([None, math.nan, -0.0, 1.0, 2.5, math.inf]),
        "odo": st.integers(0, 9),
        "mark": st.sampled_from([True, False, None]),
        "note": st.sampled_from([None, "x", "y", ""]),
    }
)


def table(drawn, sequence):
    """Rows whose times go on, with some disorder; seq breaks ties."""
    made, now = [], 0
    for row in drawn:
        now += row["at"] % 5
        time = START + dt.timedelta(seconds=max(0, now - row["back"]))
        made.append({**{n: row[n] for n in ("k", "x", "odo", "mark", "note")}, "ts": time, "seq": next(sequence)})
    return pa.Table.from_pylist(made, schema=SCHEMA)


@st.composite
def batches(draw):
    """A stream cut into micro-batches, of which some are empty."""
    drawn = draw(st.lists(rows, min_size=1, max_size=60))
    whole = table(drawn, iter(range(1000)))
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    return [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr("slidewise.spark.streams.pieces.LARGE", 1500)


@settings(deadline=None)
@given(batches(), st.sampled_from([0, 2, 10, 1000]))
def test_trailing_frames_equal_those_of_a_batch(parts, delay):
    task = task_of(TRAILING)
    stream = Stream(task, delay * SECOND)
    for part in parts:
        stream.push(part)
    stream.flush()
    expected = batch(task, on_time(parts, delay * SECOND))
    same(stream.result(), expected)
    assert stream.late == sum(map(len, parts)) - len(expected)


BY_ROWS = {name: over for name, over in (TRAILING | FOLLOWING).items() if over.window.size_kind in ("count", "rows")}


@settings(deadline=None)
@given(batches(), st.randoms())
def test_a_tie_break_makes_the_order_of_arrival_irrelevant(parts, random):
    task = task_of(BY_ROWS, order_by=[sw.asc("ts"), sw.desc("seq")], forget_after=FAR)
    stream = Stream(task, 10**12)
    whole = pa.concat_tables(parts)
    shuffled = whole.take(random.sample(range(len(whole)), len(whole)))
    for row in range(0, len(whole), 7):
        stream.push(shuffled[row : row + 7])
    stream.flush()
    stream.flush()
    same(stream.result(), batch(task, whole))


@settings(deadline=None)
@given(batches(), st.sampled_from([0, 2, 10]))
def test_following_frames_equal_those_of_a_batch(parts, delay):
    task = task_of(FOLLOWING, forget_after=FAR)
    stream = Stream(task, delay * SECOND)
    for part in parts:
        stream.push(part)
    stream.flush()
    same(stream.result(), batch(task, on_time(parts, delay * SECOND)))
    assert not stream.memory.pieces  # all keys are silent, and forgotten
