"""One step of a stream: the rows at hand, what becomes of each, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from slidewise.spark.streams.finality import Arrived


@dataclass(frozen=True)
class Step:
    """What came of some rows and a watermark."""

    #: rows that are final, by key and in the order of each
    rows: pa.Table
    #: how many new rows were at or before the watermark, and how many had no time
    late: int
    untimed: int
    #: the next watermark at which something is due, before this step and after it; None: at none
    was_due: int | None
    deadline: int | None


@dataclass(frozen=True)
class Results:
    """What comes out, by key and in the order of each."""

    table: pa.Table
    #: a row at hand that is of the same key as each
    rows: np.ndarray
    #: the time of each; None: that of its row
    times: np.ndarray | None = None


@dataclass(frozen=True)
class Joined:
    """All rows at hand, arranged by key and order."""

    #: what aggregates read, keys included
    table: pa.Table
    #: where all columns of a row are in `whole`; negative: it has come out for good
    origin: np.ndarray
    whole: pa.Table
    #: how many rows of `whole` were there before
    waited: int
    hashes: np.ndarray
    #: how many rows of each key are gone
    before: np.ndarray
    #: key k is rows offsets[k] to offsets[k + 1] - 1
    offsets: np.ndarray
    #: microseconds; None without an order
    times: np.ndarray | None
    #: with late="revise" and a result per row, how often each has come out again; -1: it has not come out at all
    revisions: np.ndarray | None = None

    @property
    def emitted(self) -> np.ndarray:
        """Which rows have come out for good."""
        return self.origin < 0

    @property
    def begin(self) -> np.ndarray:
        """The first row of each key."""
        return self.offsets[:-1]

    def known(self, watermark: int | None) -> np.ndarray:
        """Which rows have no unknown row before them."""
        if self.times is None or watermark is None:
            return np.ones(len(self.table), bool)
        return self.times <= watermark

    def seen(self, mark: int | None) -> np.ndarray:
        """Which rows were known in the step before, whose watermark was `mark`."""
        if mark is None:
            return np.zeros(len(self.table), bool)
        return (self.origin < self.waited) & self.known(mark)

    def those(self, rows: np.ndarray) -> Joined:
        """Some of the rows, as if there were no others."""
        keys = self.key_of(rows)
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        return replace(
            self,
            table=self.table.take(pa.array(rows)),
            origin=self.origin[rows],
            hashes=self.hashes[rows],
            before=self.before[keys[firsts]],
            offsets=np.append(firsts, len(rows)),
            times=None if self.times is None else self.times[rows],
            revisions=None if self.revisions is None else self.revisions[rows],
        )

    def key_of(self, rows: np.ndarray) -> np.ndarray:
        """The number of the key of each row."""
        return np.searchsorted(self.offsets, rows, side="right") - 1


@dataclass
class Fate:
    """What becomes of each row: it stays since frames reach it, it waits; and when it is due."""

    history: np.ndarray
    waits: np.ndarray
    due: np.ndarray
    #: rows without which their key cannot go: they have not come out
    pending: np.ndarray
    #: how many rows of each key are gone by then
    before: np.ndarray
    #: what is noted of results
    notes: pa.Table
    #: with late="revise", how often each row has come out again by then
    revisions: np.ndarray | None = None


@dataclass(frozen=True)
class Sessions:
    """Stretches of a key's rows, which begin anew where it was forgotten."""

    offsets: np.ndarray
    #: the session of each row
    of: np.ndarray
    #: which have ended: no row that is to come belongs to them
    ended: np.ndarray


@dataclass(frozen=True)
class Part:
    """The known rows of some sessions, and how far each is final."""

    rows: Arrived
    #: where these rows are among all at hand
    places: np.ndarray
    #: the first row of each session that is not final, and when time alone makes it so
    first: np.ndarray
    due: np.ndarray
    ended: np.ndarray

    @property
    def final(self) -> np.ndarray:
        """Which rows are final."""
        return np.arange(len(self.places)) < self.each(self.first)

    def each(self, values: np.ndarray) -> np.ndarray:
        """A value of every session for every row."""
        return np.repeat(values, np.diff(self.rows.offsets))
