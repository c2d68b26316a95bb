"""Days of a time column: the UTC day of each row, whatever time zone the session has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf
from pyspark.sql import types as T  # noqa: N812 (the name PySpark's own documentation uses)

from slidewise.suggest import suggest

if TYPE_CHECKING:
    from pyspark.sql import Column

MICROSECONDS = 86_400_000_000


def find_time_mistakes(schema: T.StructType, time: str) -> list[str]:
    """Tell what keeps the days of this column from being known."""
    if time not in schema.names:
        return [f"the sink's time column {time!r} is not among the columns. {suggest(time, schema.names)}"]
    kind = schema[time].dataType
    if isinstance(kind, T.TimestampType | T.TimestampNTZType | T.DateType):
        return []
    return [
        f"the sink's time column {time!r} is {kind.simpleString()}, which has no days: a timestamp or a date is needed"
    ]


def day_of(time: str, kind: T.DataType) -> Column:
    """Give the UTC day of a timestamp; one without a time zone, and a date, are taken as they are."""
    if isinstance(kind, T.TimestampType):  # a cast to date would take the session's time zone
        micros = f"unix_micros({quote(time)})"
        midnight = f"({micros} - pmod({micros}, {MICROSECONDS}L))"  # div rounds towards 1970
        return sf.expr(f"date_from_unix_date(cast({midnight} div {MICROSECONDS}L as int))")
    return sf.col(quote(time)).cast("date")


def quote(name: str) -> str:
    """Write a column's name such that dots and spaces in it mean themselves."""
    return "`" + name.replace("`", "``") + "`"
