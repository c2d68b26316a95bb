"""Whole seconds: `Window.orderBy(F.col("ts").cast("long"))` on a stream, whose watermark is on `ts`.

In place of the number of seconds, the stream is ordered by the last microsecond of the second. It is as far from that
of another second, and rows of one second are peers. A row that is not late by its own time is not late by that one, and
once the watermark has passed it, so has every row of the second: what is final is final.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from slidewise.errors import InvalidInput
from slidewise.spark.named_expressions import name_column
from slidewise.spark.pyspark_internals import split_cast_to_long
from slidewise.spark.window import SpecifiedOver
from slidewise.windows.definitions import Between
from slidewise.windows.durations import Duration

#: in the metadata of the order column: the column that it follows, whose watermark it has
SECONDS_OF = "slidewise.seconds_of"
_SECOND = 1_000_000_000


def name_end_of_second(name: str) -> str:
    """Name the order column in place of a cast to whole seconds, by the name of that one, which may be read as well."""
    return f"__slidewise_input_{hashlib.sha256(f'the end of {name}'.encode()).hexdigest()[:16]}_0"


def build_end_of_second(df: Any, column: Any, name: str) -> Any | None:
    """Build the order column of a cast to whole seconds; None where this is something else."""
    from pyspark.sql import functions as F  # noqa: N812

    time = split_cast_to_long(column)
    if time is None:
        return None
    named = name_column(time, "orderBy")
    field = next((field for field in df.schema.fields if field.name.lower() == named.lower()), None)
    if field is None or field.dataType.typeName() != "timestamp":
        return None
    end = F.timestamp_micros(F.unix_seconds(time) * 1_000_000 + 999_999)
    return end.alias(name, metadata={**field.metadata, SECONDS_OF: field.name})


def fit_to_seconds(made: SpecifiedOver) -> SpecifiedOver:
    """Fit the offsets of a window along whole seconds: numbers are such."""
    window = made.over.window
    if len(made.order_by) != 1 or made.order_by[0].descending:
        raise InvalidInput(
            "a stream is ordered by whole seconds, cast to long, alone and going forward in time. Leave out the other "
            "order columns, or order by the time itself"
        )
    if not (isinstance(window, Between) and window.unit == "range"):
        return made
    start, end = (Duration(b * _SECOND) if isinstance(b, int) else b for b in (window.start, window.end))
    return replace(made, over=replace(made.over, window=replace(window, start=start, end=end)))
