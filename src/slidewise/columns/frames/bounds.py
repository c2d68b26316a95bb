"""Frames over columns: for every result, the first row of its frame and the row after its last. Never sees a value."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

#: further than any frame reaches, and still safe to add to a row number
FAR = 1 << 62


class Frames:
    """The frames of some rows as index bounds: frame i is rows start[i] to end[i] - 1."""

    #: n where frame i is exactly row i and the n - 1 rows before it, or as many as there are
    trailing: int | None = None

    def __init__(self, start: np.ndarray, end: np.ndarray) -> None:
        self.start, self.end = start, end

    def __len__(self) -> int:
        return len(self.start)

    @property
    def count(self) -> np.ndarray:
        """The number of rows in each frame."""
        return self.end - self.start

    @cached_property
    def longest(self) -> int:
        """The number of rows in the longest frame."""
        return int(np.max(self.count, initial=0))

    @cached_property
    def monotone(self) -> bool:
        """Whether neither bound ever moves back."""
        return all(bool(np.all(b[1:] >= b[:-1])) for b in (self.start, self.end))

    @cached_property
    def empty(self) -> np.ndarray | None:
        """Which frames hold no row; None where all do."""
        empty = self.count == 0
        return empty if empty.any() else None

    def without(self, left_out: np.ndarray) -> Frames:
        """Return the same frames without the rows of a mask: bounds go through a prefix count."""
        kept = np.concatenate(([0], np.cumsum(~left_out)))
        return Frames(kept[self.start], kept[self.end])

    def part(self, first: int, last: int, base: int) -> Frames:
        """Return frames first to last - 1 as frames over the rows from `base` on."""
        return Frames(self.start[first:last] - base, self.end[first:last] - base)

    def every(self, step: int) -> Frames:
        """Return the frames of rows step, 2 step, and so on."""
        return Frames(self.start[step - 1 :: step], self.end[step - 1 :: step])

    def take(self, rows: np.ndarray) -> Frames:
        """Return the frames of some rows."""
        return Frames(self.start[rows], self.end[rows])

    def rows_of_all(self) -> tuple[np.ndarray, np.ndarray]:
        """List the rows of all frames, one frame after the other, and where each begins among them."""
        return Pieces([self]).rows_of_all()


class TrailingRows(Frames):
    """The current row and the n - 1 before it. The bounds are made only when something reads them."""

    monotone = True
    empty = None

    def __init__(self, rows: int, n: int) -> None:
        self.rows, self.trailing = rows, min(n, FAR)

    def __len__(self) -> int:
        return self.rows

    @cached_property
    def longest(self) -> int:
        return min(self.rows, self.trailing or 0)

    @cached_property
    def start(self) -> np.ndarray:  # type: ignore[override]
        return np.maximum(self.end - self.trailing, 0)

    @cached_property
    def end(self) -> np.ndarray:  # type: ignore[override]
        return np.arange(1, self.rows + 1)


def rows_between(count: int, first: int | None, last: int | None) -> Frames:
    """Build frames from `first` to `last` rows after the current one; negative is before, None is no bound."""
    row = np.arange(count)
    first, last = (-FAR if first is None else within_reach(first)), (FAR if last is None else within_reach(last))
    start, end = np.clip(row + first, 0, count), np.clip(row + (last + 1), 0, count)
    return Frames(start, np.maximum(start, end))


def within_reach(steps: int) -> int:
    """Cut a number of rows to what is safe to add to a row number."""
    return max(-FAR, min(steps, FAR))


class KeyedTrailingRows(Frames):
    """As TrailingRows within each key: key k is rows offsets[k] to offsets[k + 1] - 1."""

    monotone = True
    empty = None

    def __init__(self, offsets: np.ndarray, n: int) -> None:
        self.offsets, self.n = offsets, min(n, FAR)
        self._parts: dict[tuple[int, int, int], Frames] = {}

    def __len__(self) -> int:
        return int(self.offsets[-1])

    @cached_property
    def longest(self) -> int:
        return min(self.n, int(np.max(np.diff(self.offsets), initial=0)))

    @property
    def count(self) -> np.ndarray:
        before = np.repeat(self.offsets[:-1] - 1, np.diff(self.offsets))
        return np.minimum(np.arange(len(self)) - before, self.n)

    def part(self, first: int, last: int, base: int) -> Frames:
        # Remembered with their bounds, since several aggregations may go over the same frames.
        if (first, last, base) not in self._parts:
            lo, hi = np.searchsorted(self.offsets, (first, last))
            one = hi == lo + 1
            made = (
                TrailingRows(last - first, self.n)
                if one
                else KeyedTrailingRows(self.offsets[lo : hi + 1] - base, self.n)
            )
            self._parts[first, last, base] = made
        return self._parts[first, last, base]

    @cached_property
    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        from slidewise.columns.frames.bounds_kernels import rows

        start, end = np.empty(len(self), np.int64), np.empty(len(self), np.int64)
        rows(self.offsets, 1 - self.n, 0, start, end)
        return start, end

    @property
    def start(self) -> np.ndarray:  # type: ignore[override]
        return self._bounds[0]

    @property
    def end(self) -> np.ndarray:  # type: ignore[override]
        return self._bounds[1]


class Scattered(Frames):
    """Frames whose rows need not be neighbours."""

    monotone = False

    def batches(self, most: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows of some frames one after the other, and where each begins among them; about `most` a batch."""
        raise NotImplementedError


class Pieces(Scattered):
    """Frames with holes: the rows of a frame are those of its pieces, the oldest first."""

    def __init__(self, pieces: list[Frames]) -> None:
        self.pieces = pieces
        super().__init__(pieces[0].start, pieces[-1].end)

    @property
    def bounds(self) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
        """The bounds of all pieces."""
        return tuple(piece.start for piece in self.pieces), tuple(piece.end for piece in self.pieces)

    @property
    def count(self) -> np.ndarray:
        return np.sum([piece.count for piece in self.pieces], axis=0)

    def without(self, left_out: np.ndarray) -> Frames:
        return Pieces([piece.without(left_out) for piece in self.pieces])

    def part(self, first: int, last: int, base: int) -> Pieces:
        return Pieces([piece.part(first, last, base) for piece in self.pieces])

    def every(self, step: int) -> Frames:
        return Pieces([piece.every(step) for piece in self.pieces])

    def take(self, rows: np.ndarray) -> Frames:
        return Pieces([piece.take(rows) for piece in self.pieces])

    def rows_of_all(self) -> tuple[np.ndarray, np.ndarray]:
        offsets = np.concatenate(([0], np.cumsum(self.count)))
        rows = np.empty(int(offsets[-1]), np.int64)
        begin = offsets[:-1].copy()
        for piece in self.pieces:
            count = piece.count
            inside = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
            rows[np.repeat(begin, count) + inside] = np.repeat(piece.start, count) + inside
            begin += count
        return rows, offsets

    def batches(self, most: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        total = np.cumsum(self.count)
        first = 0
        while first < len(self):
            before = int(total[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(total, before + most)))
            yield self.part(first, last, 0).rows_of_all()
            first = last
