"""The history of a source: the rows before a stream, which its windows are filled from, and a batch reads beside it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from slidewise.errors import InvalidInput
from slidewise.pipeline.definition import History, Source
from slidewise.pipeline.source import FILES, SourceInput, count_unparsed, read_source
from slidewise.spark.plan import column
from slidewise.spark.streams.history_input import find_differences

if TYPE_CHECKING:
    from slidewise.pipeline.pipeline import Pipeline


def find_history(source: Source | None) -> History | None:
    """Find the history of a source, with the columns that its files have: the source's, unless it declares its own.

    >>> cards = Source(format="json", columns="card string", history=History(format="parquet", path="cards"))
    >>> find_history(cards).columns
    'card string'
    """
    history = source.history if source is not None else None
    if source is None or history is None or history.columns is not None or history.format not in FILES:
        return history
    return history.model_copy(update={"columns": source.columns})


def open_history(spark: Any, pipeline: Pipeline, unparsed: Any) -> SourceInput | None:
    """Read the history of a pipeline and prepare it; None where it has none.

    `unparsed`, an Observation of Spark's or its name, counts the rows that cannot be parsed, if its format has such.
    """
    if pipeline.history is None:
        return None
    read = read_source(spark, pipeline.history, pipeline.folder, streaming=False)
    return replace(read, df=pipeline.prepare_history(count_unparsed(read, unparsed)))


def open_empty_history(pipeline: Pipeline, rows: Any) -> Any:
    """Give a history without rows, with the columns that it has in a pipeline of these rows; None where it has none."""
    if pipeline.history is None:
        return None
    return rows.sparkSession.createDataFrame([], pipeline.prepare(rows).schema)


def require_same_columns(rows: Any, history: Any) -> None:
    """Refuse a history whose columns, once prepared, are not those of the rows that it comes before."""
    wrong = find_differences(rows.schema, history.schema)
    if wrong:
        raise InvalidInput(
            f"a history has the columns of the source, once both are prepared, and in it {', '.join(wrong)}. Give it a "
            "prepare: of its own, which selects and casts them"
        )


def find_end(history: Any, time: str, until: datetime | None) -> Any:
    """Find the last time that belongs to a history, as a column; null where it has no rows to tell."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.lit(until) if until is not None else history.agg(F.max(column(time))).scalar()


def join_history(rows: Any, history: Any, time: str, end: Any) -> Any:
    """Join the rows of a batch with the history before them. Rows up to its end are in it already."""
    after = rows.where(column(time) > _or_never(end))
    return after.unionByName(history.where(column(time) <= end))


def select_after(results: Any, time: str, end: Any, *, windows: bool) -> Any:
    """Select the results after a history, as a stream gives them; of windows, those that were open at its end."""
    from pyspark.sql import functions as F  # noqa: N812

    # The end of a window is outside of it: one that ends right after the history has all of its rows there.
    last = end + F.expr("INTERVAL '0.000001' SECOND") if windows else end
    return results.where(column(time) > _or_never(last))


def _or_never(end: Any) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(end, F.expr("TIMESTAMP '0001-01-01 00:00:00Z'"))
