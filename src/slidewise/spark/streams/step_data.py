"""Step data: what goes from one step of the pipeline to the next, within one micro-batch.

All of it is arrays with one value per row, per lifetime of a key, or per result: nothing loops over rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.frames.from_window import targets_of
from slidewise.columns.sorting import Arrangement, OrderColumn
from slidewise.columns.sources import source_of
from slidewise.spark.streams.stream_task import NEVER
from slidewise.windows.calendar_grid import CalendarGrid
from slidewise.windows.grid import Grid


@dataclass(frozen=True)
class StepResult:
    """What one micro-batch of a bucket has emitted and counted."""

    #: emitted rows, by key and in the order of each
    rows: pa.Table
    #: how many new rows were late, and how many had no time
    late: int
    untimed: int
    #: the next watermark at which something is due, before this step and after it; None: at none
    was_due: int | None
    deadline: int | None


@dataclass(frozen=True)
class Progress:
    """The watermarks of this micro-batch and of the one before, in microseconds; None: there is none."""

    watermark: int | None
    previous: int | None

    def move_back(self, by: int) -> Progress:
        """Move both watermarks back."""
        return Progress(*(None if at is None else at - by for at in (self.watermark, self.previous)))


# ---- rows
class ArrangedRows(ArrangedFrame):
    """Rows that stand by key and order, as the engine of columns takes them."""

    def __init__(
        self,
        table: pa.Table,
        partition_by: tuple[str, ...],
        order_by: tuple[OrderColumn, ...],
        offsets: np.ndarray,
        dropped: np.ndarray | None = None,
    ) -> None:
        """Take rows in order; `dropped` is how many earlier rows of each key are gone, None where no one counts."""
        super().__init__(source_of(table), list(partition_by), list(order_by), 1, Arrangement(None, offsets))
        if dropped is not None:
            self.__dict__["places"] = super().places + np.repeat(dropped, np.diff(offsets))

    @property
    def begin(self) -> np.ndarray:
        """The first row of each key. A key has at least one row."""
        return self.offsets[:-1]

    @property
    def end(self) -> np.ndarray:
        """The row after the last of each key."""
        return self.offsets[1:]

    def read_times(self) -> np.ndarray:
        """Read the time of every row."""
        return self._arrange_order().sortable[0]

    def number_groups(self) -> np.ndarray:
        """Find the number of the group of equal order of every row, counted on from key to key."""
        changes = self._arrange_order().changes()
        changes[self.begin] = True
        return np.cumsum(changes)

    def add_to_times(self, bound: Any) -> np.ndarray:
        """Add a bound of the frame to the time of every row."""
        moved, below, above = targets_of(bound, self._arrange_order())
        limits = np.iinfo(np.int64)
        return np.where(above, limits.max, np.where(below, limits.min, moved))

    def find_first(self, mask: np.ndarray) -> np.ndarray:
        """Find the first row of each key for which a mask holds; the key's end where it holds for none."""
        rows = np.where(mask, np.arange(len(mask)), len(mask))
        return np.minimum(np.minimum.reduceat(rows, self.begin), self.end)


@dataclass(frozen=True)
class JoinedRows:
    """The current rows: history, pending rows and new rows of the keys of this step, arranged by key and order."""

    #: the columns that aggregates read, keys included
    table: pa.Table
    #: index of each row in `whole`; negative: already emitted, kept as history only
    origin: np.ndarray
    #: all columns of the rows that are not history: the pending rows, then the new ones
    whole: pa.Table
    #: how many rows of `whole` were pending before this step
    were_pending: int
    hashes: np.ndarray
    #: how many earlier rows of each key are no longer in the state
    dropped: np.ndarray
    #: key k is rows offsets[k] to offsets[k + 1] - 1
    offsets: np.ndarray
    #: microseconds; None without an order
    times: np.ndarray | None
    #: the totals of rows that running frames hold, and that are gone; also of keys that have no rows here
    totals: pa.Table
    #: with late="revise" and a result per row: the last revision emitted of each row; -1: none was emitted yet
    revisions: np.ndarray | None = None

    @property
    def emitted(self) -> np.ndarray:
        """Which rows are history: already emitted, never again."""
        return self.origin < 0

    @property
    def begin(self) -> np.ndarray:
        """The first row of each key."""
        return self.offsets[:-1]

    def find_known(self, watermark: int | None) -> np.ndarray:
        """Find the rows that the watermark has passed: every row before them is there."""
        if self.times is None or watermark is None:
            return np.ones(len(self.table), bool)
        return self.times <= watermark

    def find_seen(self, previous: int | None) -> np.ndarray:
        """Find the rows that were known in the step before, whose watermark was `previous`."""
        if previous is None:
            return np.zeros(len(self.table), bool)
        return (self.origin < self.were_pending) & self.find_known(previous)

    def take(self, rows: np.ndarray) -> JoinedRows:
        """Take some of the rows, as if there were no others."""
        keys = self.number_keys(rows)
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        return replace(
            self,
            table=self.table.take(pa.array(rows)),
            origin=self.origin[rows],
            hashes=self.hashes[rows],
            dropped=self.dropped[keys[firsts]],
            offsets=np.append(firsts, len(rows)),
            times=None if self.times is None else self.times[rows],
            revisions=None if self.revisions is None else self.revisions[rows],
        )

    def number_keys(self, rows: np.ndarray) -> np.ndarray:
        """Find the number of the key of each row."""
        return np.searchsorted(self.offsets, rows, side="right") - 1


# ---- rows as of a watermark
@dataclass(frozen=True)
class Lifetimes:
    """Ranges of rows of a key: with `forget_after`, a key that was forgotten begins a new one."""

    offsets: np.ndarray
    #: the lifetime of each row
    of: np.ndarray
    #: which have ended: no row that is to come belongs to them
    ended: np.ndarray

    def find_rows_of_any(self, mask: np.ndarray) -> np.ndarray:
        """Find the rows of lifetimes in which a mask holds for some row."""
        chosen: np.ndarray = np.bincount(self.of[mask], minlength=len(self.ended)) > 0
        return chosen[self.of]


@dataclass(frozen=True)
class WatermarkView:
    """The current rows as of a watermark."""

    rows: JoinedRows
    progress: Progress
    #: which rows the watermark has passed
    known: np.ndarray
    lifetimes: Lifetimes
    #: whether results do not wait until their row is known
    at_arrival: bool = False
    #: of slides by time
    grid: Grid | CalendarGrid | None = None

    @cached_property
    def next_complete(self) -> np.ndarray:
        """When the next slide by time of each row is complete; NEVER: all are."""
        assert self.grid is not None and self.rows.times is not None and self.progress.watermark is not None
        return find_next_complete(self.grid, self.rows.times, self.progress.watermark)


def find_next_complete(grid: Grid | CalendarGrid, times: np.ndarray, after: int) -> np.ndarray:
    """Tell with which time after `after` the next slide of each row is complete; NEVER: there is none."""
    if isinstance(grid, Grid) and grid.size is None:
        last = grid.at_or_after(times + 1) - 1
        return np.where(last > after, last, NEVER)
    if isinstance(grid, Grid) and grid.steps is not None:
        end = grid.at_or_after(np.maximum(times + 1, after + 2))
        return np.where(end <= grid.last_end(times), end - 1, NEVER)
    end, exists = grid.next_end(times, after + 1)
    return np.where(exists, end - 1, NEVER)


@dataclass(frozen=True)
class Selection:
    """Rows of the lifetimes in which something is new, and how far each lifetime is final."""

    rows: ArrangedRows
    #: index of each in the current rows
    places: np.ndarray
    #: the first row of each lifetime that is not final, and when time alone makes it so
    first: np.ndarray
    due: np.ndarray
    ended: np.ndarray
    at_arrival: bool = False

    @property
    def final(self) -> np.ndarray:
        """Which rows have results that can be emitted; at arrival all have."""
        if self.at_arrival:
            return np.ones(len(self.places), bool)
        return np.arange(len(self.places)) < self.repeat(self.first)

    def repeat(self, values: np.ndarray) -> np.ndarray:
        """Repeat a value per lifetime for each of its rows."""
        return np.repeat(values, np.diff(self.rows.offsets))


# ---- what is decided
@dataclass
class RowDecisions:
    """What becomes of each current row: whether it stays in the state, as what, and when it is due."""

    #: rows that later frames can reach
    history: np.ndarray
    #: rows that are kept with all columns, since they are to be emitted, or may be revised
    pending: np.ndarray
    #: rows of which nothing was emitted yet: their key cannot expire
    unemitted: np.ndarray
    #: when time alone makes the next result of each row final
    due: np.ndarray
    #: how many earlier rows of each key are no longer in the state after this step
    dropped: np.ndarray
    #: what the state has of results that were emitted (last_results.py)
    last_results: pa.Table
    #: the totals of rows that are gone (running_totals.py)
    totals: pa.Table
    #: with late="revise" and a result per row: the last revision emitted of each row; -1: none
    revisions: np.ndarray | None = None

    @classmethod
    def before_step(cls, rows: JoinedRows, last_results: pa.Table) -> RowDecisions:
        """Start from the state as it is: history stays history, and all else is pending."""
        due = np.full(len(rows.origin), NEVER)
        return cls(rows.emitted, ~rows.emitted, ~rows.emitted, due, rows.dropped.copy(), last_results, rows.totals)


@dataclass(frozen=True)
class Emitted:
    """Results that are emitted, by key and in the order of each."""

    table: pa.Table
    #: index of any current row with the same key
    rows: np.ndarray
    #: the time of each; None: that of its row
    times: np.ndarray | None = None
