"""Sink: what a pipeline writes its rows into, batch by batch of a stream, or day by day of a backfill."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Protocol

from slidewise.errors import SlidewiseError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


class WriteFailed(SlidewiseError, RuntimeError):
    """A target that did not take the rows of a batch or a day; what was committed before is still there."""


class Sink(Protocol):
    """A target of rows. It is made without touching the target, which `check` reads and only the others change."""

    def check(self, schema: StructType) -> list[str]:
        """Find what keeps rows of this schema from being written, before anything runs."""

    def write(self, rows: DataFrame, batch: int, query: str) -> int | None:
        """Write a micro-batch of a stream; give the number of rows, or None where it is unknown or was written before.

        Batches of a query come in order, and the last one may come again: with another sink object, in another
        process, after a kill at any point of the first call.
        """

    def replace(self, rows: DataFrame, day: dt.date) -> None:
        """Replace all rows of a day (UTC) by these, which are all of that day. To do it again changes nothing."""

    def replace_days(
        self, rows: DataFrame, days: Sequence[dt.date], done: Callable[[dt.date], None] = lambda day: None
    ) -> None:
        """Replace days by these rows, which are all of them, one day after the other; call `done` after each."""

    def replace_all(self, rows: DataFrame, done: Callable[[int, int], None] = lambda days, of: None) -> tuple[int, int]:
        """Replace all that is there by these rows, one day after the other; give the number of rows, and of days.

        `done` is called with the number of days so far, and of all.
        """
