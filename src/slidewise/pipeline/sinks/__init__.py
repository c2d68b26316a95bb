"""Sinks: what a pipeline writes into. Files by day, a table of PostgreSQL, or any other format of Spark's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from slidewise.errors import InvalidInput
from slidewise.pipeline.sinks.files import DEFAULTS, FileSink
from slidewise.pipeline.sinks.pass_through import PassThroughSink
from slidewise.pipeline.sinks.sink import Sink, WriteFailed
from slidewise.pipeline.sinks.table import TableSink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FileSink", "PassThroughSink", "Sink", "TableSink", "WriteFailed", "open_sink"]


def open_sink(
    spark: SparkSession,
    *,
    time_column: str,
    format: str | None = None,
    path: str | None = None,
    table: str | None = None,
    url: str | None = None,
    mode: str | None = None,
    keys: Sequence[str] = (),
    partition: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Sink:
    """Make the sink that these words of a pipeline's file mean. Nothing is touched before its first use.

    - `table` (with `url`, or an option of that name): a table of PostgreSQL.
    - `format` parquet, csv, json or orc, with a `path`: files by day.
    - any other `format`: Spark's writer, with its options.
    """
    options = dict(options or {})
    if table is not None:
        address = url or options.pop("url", None)
        _refuse("a table", format=format, path=path, partition=partition)
        if address is None:
            raise InvalidInput(
                f"the sink's table {table!r} needs a url, as in url: postgresql://user@host:5432/database"
            )
        return TableSink(table, url=address, time_column=time_column, options=options, mode=mode or "append", keys=keys)
    if format is None:
        raise InvalidInput("a sink needs a format with a path, or a table with a url")
    if format.lower() not in DEFAULTS:
        _refuse(f"format {format!r}", partition=partition, mode=mode, keys=keys or None)
        return PassThroughSink(format, options | ({"url": url} if url else {}), path)
    _refuse("a sink of files", url=url, mode=mode, keys=keys or None)
    if path is None:
        raise InvalidInput(f"the sink's format {format!r} needs a path")
    return FileSink(
        spark, path, format=format.lower(), time_column=time_column, options=options, partition=partition or "day"
    )


def _refuse(what: str, **given: object) -> None:
    wrong = [name for name, value in given.items() if value is not None]
    if wrong:
        raise InvalidInput(f"the sink is {what}, which has no {' and no '.join(wrong)}")
