"""A stream without Spark: micro-batches, a watermark that follows the newest time, and a dict as the state."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import slidewise as sw
from slidewise.columns.aggregate import aggregated, slide_expressions
from slidewise.columns.data import Data
from slidewise.columns.interchange import source
from slidewise.columns.plan import Evaluation
from slidewise.columns.with_columns import names, ordering
from slidewise.spark.streams.definition import StreamTask, check_windows
from slidewise.spark.streams.slides import processing_of

SECOND = 1_000_000
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
    keys, order = names(partition_by, "partition_by"), ordering(order_by)
    if window is not None:
        expressions, options["slides"] = slide_expressions(window, expressions, "auto"), True
    reads = [*keys, *(by.name for by in order)]
    for over in expressions.values():
        reads += [*over.aggregation.columns, *over.window.columns]
        reads += [over.aggregation.where] if over.aggregation.where is not None else []
    if window is not None:
        schema = pa.schema([schema.field(name) for name in dict.fromkeys(reads)])
    empty = Data(source(schema.empty_table()), keys, order)
    if window is not None:
        made = aggregated(empty, expressions, 1)
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
    """Micro-batches through a Processing; a new one for every batch, so that all state goes through bytes."""

    def __init__(self, task, delay):
        self.task, self.delay, self.memory = task, delay, Memory()
        self.newest, self.watermark = None, 0
        self.deadline, self.late, self.untimed, self.out = None, 0, 0, []

    def push(self, rows):
        rows = rows.select(self.task.rows.names)
        hashes = hashes_of(rows, self.task.partition_by)
        if len(rows) or (self.deadline is not None and self.deadline <= self.watermark):
            step = processing_of(self.task).advance(self.memory, rows, hashes, self.watermark)
            assert step.deadline is None or step.deadline > self.watermark
            self.deadline, self.late, self.untimed = step.deadline, self.late + step.late, self.untimed + step.untimed
            self.out.append(step.rows)
        times = [t for t in rows["ts"].cast(pa.int64()).to_pylist() if t is not None]
        self.newest = max([*times, *([] if self.newest is None else [self.newest])], default=None)
        if self.newest is not None:
            self.watermark = max(self.watermark, (self.newest - self.delay) // 1000 * 1000)
        return self.out[-1] if self.out else None

    def flush(self):
        """As if another key had brought the watermark far ahead."""
        self.watermark += 10**12
        self.push(self.task.rows.empty_table())

    @property
    def state_rows(self):
        return sum(map(len, self.memory.pieces.values()))

    def result(self):
        return pa.concat_tables(self.out)


def on_time(batches, delay):
    """The rows that are not late, by the rule and not by the code."""
    watermark, newest, kept = 0, None, []
    for rows in batches:
        for row in rows.to_pylist():
            time = row["ts"]
            if time is not None and round(time.timestamp() * SECOND) > watermark:
                kept.append(row)
        times = [t for t in rows["ts"].cast(pa.int64()).to_pylist() if t is not None]
        newest = max([*times, *([] if newest is None else [newest])], default=None)
        if newest is not None:
            watermark = max(watermark, (newest - delay) // 1000 * 1000)
    return pa.Table.from_pylist(kept, schema=rows.schema)


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
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-9 * max(abs(a), abs(b))
    return a == b


def batch(task, rows):
    if task.slides:
        [window] = task.windows
        columns = {name: over.aggregation for name, over in task.expressions.items()}
        keys, order = task.partition_by, list(task.order_by)
        return sw.aggregate(rows, partition_by=keys, order_by=order, window=window, **columns)
    return sw.with_columns(rows, partition_by=task.partition_by, order_by=list(task.order_by), **task.expressions)
