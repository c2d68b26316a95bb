"""Frames over columns: for every result, the first row of its frame and the row after its last. Never sees a value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Frames:
    """The frames of some rows as index bounds: frame i is rows start[i] to end[i] - 1."""

    start: np.ndarray
    end: np.ndarray
    #: n where frame i is exactly the n rows up to and including row i, or as many as there are
    trailing: int | None = None

    def __len__(self) -> int:
        return len(self.start)

    @cached_property
    def longest(self) -> int:
        """The number of rows in the longest frame."""
        return int(np.max(self.end - self.start, initial=0))

    @cached_property
    def monotone(self) -> bool:
        """Whether neither bound ever moves back."""
        return self.trailing is not None or bool(
            np.all(self.start[1:] >= self.start[:-1]) and np.all(self.end[1:] >= self.end[:-1])
        )

    @cached_property
    def empty(self) -> np.ndarray:
        """Which frames hold no row."""
        return self.start >= self.end

    def without(self, left_out: np.ndarray) -> Frames:
        """The same frames once the rows of a mask have been left out: bounds go through a prefix count."""
        kept = np.concatenate(([0], np.cumsum(~left_out)))
        return Frames(kept[self.start], kept[self.end])


def trailing_rows(count: int, n: int) -> Frames:
    """The current row and the n - 1 before it."""
    end = np.arange(1, count + 1)
    return Frames(np.maximum(end - n, 0), end, trailing=n)


def rows_between(count: int, first: int | None, last: int | None) -> Frames:
    """From `first` rows after the current one to `last` rows after it; negative is before, None is no bound."""
    row = np.arange(count)
    start = np.zeros(count, np.int64) if first is None else np.clip(row + first, 0, count)
    end = np.full(count, count) if last is None else np.clip(row + last + 1, 0, count)
    return Frames(start, np.maximum(start, end))
