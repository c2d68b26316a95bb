"""Metrics: the counts of rows that a stream has left out, from the progress of its query."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

#: Rows ahead of the clock are counted before the watermark, under the name of the metrics and this.
AHEAD = "_ahead"
#: added to the number of rows that are in the history, in the column that counts late ones too
IN_HISTORY = 1 << 62


def dropped_rows(progress: Iterable[Any], metrics: str = "slidewise") -> dict[str, int]:
    """Count the rows that were late, ahead of the clock, or had no time, over the progress of some micro-batches.

        slidewise.spark.dropped_rows(query.recentProgress)     # {"late": 3, "ahead": 0, "untimed": 0}

    A stream with `history=` also has "in_history": rows that are in it already. With `engine="spark"`, "late" is what
    Spark counts: the windows that late rows are in, those of one key and micro-batch once.

    `progress` is `query.recentProgress`, or what a listener has seen; `metrics` is that of the call.
    """
    total = {"late": 0, "ahead": 0, "untimed": 0}
    for batch in progress:
        found = (batch["observedMetrics"].get(name) for name in (metrics, metrics + AHEAD))
        counts = [_read_values(observed.asDict(recursive=True)) for observed in found if observed is not None]
        if counts and "late" not in counts[0] and "ahead" not in counts[0]:
            counts.append({"late": _count_dropped(batch)})
        for name, value in (item for each in counts for item in each.items()):
            total[name] = total.get(name, 0) + value
    return total


def _count_dropped(batch: Any) -> int:
    """Count the rows that Spark's own operators have dropped as late, where a call has left that to them."""
    operators = batch["stateOperators"]
    return sum(each["numRowsDroppedByWatermark"] for each in operators if each["operatorName"] == "stateStoreSave")


def _read_values(row: dict[str, Any]) -> dict[str, int]:
    """Read the values by name; Spark Connect gives them and their names apart."""
    if "schema" not in row:
        return row
    return {field["name"]: value for field, value in zip(row["schema"]["fields"], row["values"], strict=True)}
