"""A stream without Spark: micro-batches, a watermark that follows the newest time, and a dict as the state."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import strategies as st

import slidewise as sw
from slidewise.columns.aggregate import compute_slides, slide_expressions
from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.sources import source_of
from slidewise.columns.with_columns import list_names, list_order
from slidewise.spark.plan import bind_order
from slidewise.spark.streams.change_log import images
from slidewise.spark.streams.micro_batches import MicroBatches
from slidewise.spark.streams.pending_rows import recent
from slidewise.spark.streams.stream_task import StreamTask, check_windows

SECOND = 1_000_000
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
SCHEMA = pa.schema(
    [("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("seq", pa.int64()), ("x", pa.float64()),
     ("odo", pa.int64()), ("mark", pa.bool_()), ("note", pa.string())]
)  # fmt: skip


class Memory:
    """The bytes of one bucket."""

    def __init__(self):
        self.meta, self.pieces = None, {}

    def read_meta(self):
        return self.meta

    def write_meta(self, data):
        self.meta = data

    def read(self, piece):
        return self.pieces.get(piece)

    def write(self, piece, data):
        self.pieces[piece] = data

    def remove(self, piece):
        del self.pieces[piece]


def task_of(expressions, *, window=None, schema=SCHEMA, partition_by="k", order_by="ts", **options):
    """With a window, expressions are aggregations over its slides."""
    keys, order = list_names(partition_by, "partition_by"), list_order(order_by)
    if window is not None:
        expressions, options["slides"] = slide_expressions(window, expressions, "auto"), True
    expressions = {name: bind_order(name, over, tuple(order)) for name, over in expressions.items()}
    reads = [*keys, *(by.name for by in order)]
    for over in expressions.values():
        reads += [*over.aggregation.reads, *over.window.columns]
    if window is not None:
        schema = pa.schema([schema.field(name) for name in dict.fromkeys(reads)])
    empty = ArrangedFrame(source_of(schema.empty_table()), keys, order)
    if window is not None:
        made = compute_slides(empty, expressions, 1)
    else:
        made = Evaluation(empty, expressions.values(), 1).columns(expressions)
    kinds = tuple(made[name].type for name in expressions)
    task = StreamTask(schema, tuple(keys), tuple(order), expressions, kinds, tuple(dict.fromkeys(reads)), **options)
    check_windows(task)
    return task


def hashes_of(table, keys):
    """Any function of the key will do: this one has collisions."""
    rows = table.select(list(keys)).to_pylist() if keys else [{}] * len(table)
    return np.array([sum(map(ord, repr(sorted(row.items())))) * 2654435761 % 2**31 for row in rows], np.int64)


class Stream:
    """Micro-batches through a Pipeline; a new one for every batch, so that all state goes through bytes.

    Of each second one, and of an empty one, the process has seen none before.
    """

    def __init__(self, task, delay):
        self.task, self.delay, self.memory = task, delay, Memory()
        self.newest, self.watermark = None, 0
        self.deadline, self.late, self.untimed, self.out = None, 0, 0, []

    def push(self, rows, told=False):
        """Take the rows of a micro-batch; `told`: that there are some elsewhere."""
        rows = rows.select(self.task.incoming.names)
        hashes = hashes_of(rows, self.task.partition_by)
        if told or len(rows) or (self.deadline is not None and self.deadline <= self.watermark):
            new, hashes = self.exchange(rows, hashes)
            if len(self.out) % 2 or not len(rows):
                images.clear()
                recent.clear()
            step = MicroBatches(self.task).advance(self.memory, new, hashes, self.watermark)
            assert step.deadline is None or step.deadline > self.watermark
            self.deadline, self.late, self.untimed = step.deadline, self.late + step.late, self.untimed + step.untimed
            self.out.append(step.rows)
        times = [t for t in rows["ts"].cast(pa.int64()).to_pylist() if t is not None]
        self.newest = max([*times, *([] if self.newest is None else [self.newest])], default=None)
        if self.newest is not None:
            self.watermark = max(self.watermark, (self.newest - self.delay) // 1000 * 1000)
        return self.out[-1] if self.out else None

    def exchange(self, rows, hashes):
        """What comes of new rows on their way to the bucket."""
        return rows, hashes

    def flush(self):
        """As if another key had brought the watermark far ahead."""
        self.watermark += 10**12
        self.push(self.task.incoming.empty_table())

    @property
    def state_rows(self):
        return sum(map(len, self.memory.pieces.values()))

    def result(self):
        return pa.concat_tables(self.out)


def on_time(batches, delay, keep=0):
    """The rows that are not late, or not for longer than `keep`, by the rule and not by the code."""
    watermark, newest, kept = 0, None, []
    for rows in batches:
        for row in rows.to_pylist():
            time = row["ts"]
            if time is not None and round(time.timestamp() * SECOND) > watermark - keep:
                kept.append(row)
        times = [t for t in rows["ts"].cast(pa.int64()).to_pylist() if t is not None]
        newest = max([*times, *([] if newest is None else [newest])], default=None)
        if newest is not None:
            watermark = max(watermark, (newest - delay) // 1000 * 1000)
    return pa.Table.from_pylist(kept, schema=rows.schema)


def find_watermarks(parts, delay):
    """The watermark of each micro-batch."""
    found, newest = [], None
    for rows in parts:
        found.append(max([0, *([] if newest is None else [(newest - delay) // 1000 * 1000]), *found[-1:]]))
        times = [t for t in rows["ts"].cast(pa.int64()).to_pylist() if t is not None]
        newest = max([*times, *([] if newest is None else [newest])], default=None)
    return found


def in_open_windows(function, parts, delay):
    """What `function` gives of hopping windows, each over the rows that came before it was closed.

    A row of micro-batch N enters the windows that end after the watermark of micro-batch N - 1.
    """
    cuts = [0, *find_watermarks(parts, delay)][: len(parts)]
    made, different = [], sorted(set(cuts))
    for cut, next_cut in zip(different, [*different[1:], 2**62], strict=True):
        rows = pa.concat_tables([rows for rows, own in zip(parts, cuts, strict=True) if own <= cut])
        out = function(rows.filter(rows["ts"].is_valid()))
        ends = out["window_end"].cast(pa.int64()).to_numpy()
        made.append(out.filter(pa.array((ends > cut) & (ends <= next_cut))))
    return pa.concat_tables(made)


def in_open_sessions(function, parts, delay, gap):
    """What `function` gives of sessions, each over the rows that came before it was closed.

    A row of micro-batch N is late where its own session, of this row alone, ends by the watermark of N - 1. A session
    that is closed is gone: a row that would have touched it begins a new one.
    """
    made, open_rows, before = [], parts[0][:0], 0
    for rows, watermark in zip([*parts, parts[0][:0]], [*find_watermarks(parts, delay), 2**62], strict=True):
        ends = pc.add(rows["ts"].cast(pa.int64()), gap)
        open_rows = pa.concat_tables([open_rows, rows.filter(pc.greater(ends, before).fill_null(False))])
        out = function(open_rows)
        closed = out.filter(pc.less_equal(out["window_end"].cast(pa.int64()), watermark))
        made.append(closed)
        spans = [(s["k"], s["window_start"], s["window_end"]) for s in closed.to_pylist()]
        gone = [any(k == r["k"] and a <= r["ts"] < b for k, a, b in spans) for r in open_rows.to_pylist()]
        open_rows, before = open_rows.filter(pc.invert(pa.array(gone, pa.bool_()))), watermark
    return pa.concat_tables(made)


def expect(task, parts, delay):
    """What a stream gives once all has come out: that of a batch over the rows that were not late."""
    if task.slides and task.windows[0].session_gap is not None:
        assert repr(task.windows) == '[session("3s")]'
        return in_open_sessions(lambda rows: batch(task, rows), parts, delay, gap=3 * SECOND)
    if task.takes_late_rows:
        return in_open_windows(lambda rows: batch(task, rows), parts, delay)
    return batch(task, on_time(parts, delay, task.keep or 0))


def run(task, parts, delay):
    """A stream of some parts, and then so much later that everything has come out."""
    stream = Stream(task, delay * SECOND)
    for part in parts:
        stream.push(part)
    stream.flush()
    stream.flush()
    return stream


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """In every module that imports it: few rows make several pieces."""
    monkeypatch.setattr("slidewise.spark.streams.state_store.LARGE", 3000)
    monkeypatch.setattr("slidewise.spark.streams.state_store.LARGE_IF_SPARSE", 1500)
    monkeypatch.setattr("slidewise.spark.streams.pending_rows.SMALL", 1000)


def same(a, b, by=("k", "ts", "seq")):
    """Compare two tables whose rows may stand in any order."""
    assert a.column_names == b.column_names
    assert a.schema.types == b.schema.types
    order = lambda row: tuple((row[name] is not None, row[name]) for name in by)  # noqa: E731
    left, right = (sorted(t.to_pylist(), key=order) for t in (a, b))
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        for name in one:
            assert equal(one[name], other[name]), (name, one, other)


def equal(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-12 + 1e-9 * max(abs(a), abs(b))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[name], b[name]) for name in a)
    return a == b


def batch(task, rows):
    if task.slides:
        [window] = task.windows
        columns = {name: over.aggregation for name, over in task.expressions.items()}
        keys, order = task.partition_by, list(task.order_by)
        return sw.aggregate(rows, partition_by=keys, order_by=order, window=window, **columns)
    return sw.with_columns(rows, partition_by=task.partition_by, order_by=list(task.order_by), **task.expressions)


# ---- rows, and windows that slide
SLIDES = {
    "hopping": sw.time("10s", every="3s"),
    "moved": sw.time("5s", every="5s", offset="1s"),
    "rows by time": sw.rows(4, every="7s"),
    "range by time": sw.range_between("-6s", 0, every="2s"),
    "rows": sw.rows(5, every=3),
    "due": sw.rows(5, every=2, min_rows=3),
    "time by rows": sw.time("4s", every=sw.rows(2)),
    "delta": sw.time("8s", every=sw.delta("odo", 2)),
    "delta by delta": sw.delta("odo", 4, every=3),
    "punctuation": sw.rows(3, every=sw.punctuation("mark")),
    "trips": sw.punctuation("mark", every=sw.punctuation("mark")),
    "ahead": sw.rows_between(-1, 2, every=2),
    "sessions": sw.session("3s"),
    "cumulative": sw.time("12s", every="4s", offset="1s", cumulative=True),
    "sampled": sw.time("3s", every="7s"),
}


def row(key, seconds, **columns):
    time = None if seconds is None else START + dt.timedelta(seconds=seconds)
    return {"k": key, "ts": time, "seq": 0, "x": 1.0, "odo": 0, "mark": False, "note": "", **columns}


_rows = st.fixed_dictionaries(
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


def _table(drawn, sequence):
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
    drawn = draw(st.lists(_rows, min_size=1, max_size=60))
    whole = _table(drawn, iter(range(1000)))
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    return [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
