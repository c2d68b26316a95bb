"""PassThroughSink: any other format of Spark's, with its options as they are."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from pyspark.sql import Observation
from pyspark.sql import functions as sf

from slidewise.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


class PassThroughSink:
    """What Spark's writer of a format makes of each batch, appended.

    At least once: a batch that was written when the run was killed, and not committed in the checkpoint, is written
    again. Delta knows batches by the id of their query (its options `txnAppId` and `txnVersion`, which are given to
    it), and skips one that it has: exactly once.
    """

    def __init__(self, format: str, options: Mapping[str, Any] | None = None, path: str | None = None) -> None:
        self.format = format
        self._options = {name: str(value) for name, value in (options or {}).items()}
        self._path = path

    def check(self, schema: StructType) -> list[str]:
        """Find nothing: what a format takes is known to Spark alone, once it writes."""
        return []

    def write(self, rows: DataFrame, batch: int, query: str) -> int | None:
        """Append a micro-batch."""
        transaction = {"txnAppId": query, "txnVersion": str(batch)} if self.format.lower() == "delta" else {}
        rows.write.format(self.format).options(**self._options, **transaction).mode("append").save(self._path)
        return None

    def replace(self, rows: DataFrame, day: dt.date) -> None:
        """Refuse: how a day is replaced differs from format to format."""
        raise Refused(
            f"a sink of format {self.format!r} cannot replace {day.isoformat()}: backfill needs files "
            f"(parquet, csv, json, orc) or a table of PostgreSQL"
        )

    def replace_days(
        self, rows: DataFrame, days: Sequence[dt.date], done: Callable[[dt.date], None] = lambda day: None
    ) -> None:
        """Refuse, as for one day."""
        for day in days:
            self.replace(rows, day)

    def replace_all(self, rows: DataFrame, done: Callable[[int, int], None] = lambda days, of: None) -> tuple[int, int]:
        """Append the rows of a whole batch: what is there is never overwritten."""
        counted = Observation()
        counting = rows.observe(counted, sf.count(sf.lit(1)).alias("rows"))
        counting.write.format(self.format).options(**self._options).mode("append").save(self._path)
        return int(counted.get["rows"]), 0
