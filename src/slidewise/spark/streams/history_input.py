"""History input: the batch of `history=`, checked against the stream that it comes before."""

from __future__ import annotations

import datetime as dt
from collections.abc import Container, Iterable
from typing import Any

import pyarrow as pa

from slidewise.columns.stream_options import StreamOptions
from slidewise.errors import InvalidInput
from slidewise.spark.conditions import hoist_conditions
from slidewise.spark.input import Input, read_input
from slidewise.spark.streams.history import emits_rows_again
from slidewise.spark.streams.stream_task import StreamTask

#: as StreamTask has it where no time is given
NEWEST = "newest"
_EPOCH = dt.datetime(1970, 1, 1)


def read_history(source: Input, expressions: Iterable[Any], options: StreamOptions, what: str) -> Any:
    """Read the DataFrame of `history=`, with the columns of the stream and those of conditions; None without one."""
    if options.history is None:
        return None
    if source.given:
        raise InvalidInput(
            f"{what}: with schema= nothing is asked of DataFrames, and that of history= must be asked whether its "
            "columns are those of the stream. Leave out one of them"
        )
    history = read_input(options.history, f"{what}: history=")
    if history.streaming:
        raise InvalidInput(
            f"{what}: history= is a batch, which is read once, and this one is a stream. Use spark.read in place of "
            "spark.readStream"
        )
    wrong = find_differences(source.schema, history.schema, source.hidden)
    if wrong:
        raise InvalidInput(
            f"{what}: history= has the columns of the stream, and in it {', '.join(wrong)}. Select and cast them first"
        )
    return hoist_conditions(history, what, expressions).df


def find_differences(stream: Any, history: Any, hidden: Container[str] = ()) -> list[str]:
    """Find how the columns of a history are not those of its stream; a text for each."""
    kinds, own = (
        {field.name: field.dataType.simpleString() for field in each.fields if field.name not in hidden}
        for each in (stream, history)
    )
    wrong = [f"{name!r} is {own.get(name, 'missing')} and not {kind}" for name, kind in kinds.items()
             if own.get(name) != kind]  # fmt: skip
    return wrong + [f"{name!r} is not in the stream" for name in own if name not in kinds]


def read_begins(task: StreamTask, options: StreamOptions, what: str) -> str | None:
    """Read until when the history goes, as StreamTask has it; refuse calls that can have none."""
    if options.history is None:
        return None
    if task.time is None:
        raise InvalidInput(
            f"{what}: history= ends at a time, and rows without order_by have none. Name the time of events in order_by"
        )
    if emits_rows_again(task) and task.time in task.expressions:
        raise InvalidInput(
            f"{what}: a new column takes the place of the time, {task.time!r}, by which rows of history= are told from "
            "others. Give it another name"
        )
    if options.history_until is None:
        return NEWEST
    return str(_read_time(options.history_until, task.rows.field(task.time).type, what))


def _read_time(given: Any, kind: pa.DataType, what: str) -> int:
    """Read a time as microseconds."""
    zoned = kind.tz is not None
    try:
        time = dt.datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        time = None
    if not isinstance(time, dt.datetime) or (time.tzinfo is not None) != zoned:
        example = '"2024-01-31T00:00:00+00:00"' if zoned else '"2024-01-31T00:00:00"'
        raise InvalidInput(
            f"{what}: history_until= is a time {'with' if zoned else 'without'} a zone, as order_by has it: a "
            f"datetime, or text such as {example}, got {given!r}"
        )
    if time.tzinfo is not None:
        time = time.astimezone(dt.UTC).replace(tzinfo=None)
    return (time - _EPOCH) // dt.timedelta(microseconds=1)
