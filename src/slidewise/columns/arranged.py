"""Rows arranged by key and order, and what is made of them once for all columns of a call: frames, codes, masks."""

from __future__ import annotations

import weakref
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.columns.encoding import Encoded, canonical, encode, encoding_for, integers_as_arrow, mask_of
from slidewise.columns.frames.bounds import Frames
from slidewise.columns.frames.from_window import Arranged, frames_of
from slidewise.columns.sorting import Arrangement, OrderColumn, arrange, as_sortable
from slidewise.columns.sources import ColumnSource
from slidewise.errors import InvalidInput
from slidewise.suggest import suggest
from slidewise.windows.definitions import DeltaWindow, PunctuationWindow, WindowDefinition

#: what tells a column as numbers from all others: its name and its encoding. Never where it lies: memory is used again.
Encoding = tuple[str, str]


class ArrangedFrame:
    """The rows of one call.

    What it holds refers to it weakly: rows are many bytes, and must not wait for the collector of cycles.
    """

    def __init__(
        self,
        source: ColumnSource,
        partition_by: list[str],
        order_by: list[OrderColumn],
        threads: int = 1,
        arrangement: Arrangement | None = None,
    ) -> None:
        """Arrange the rows of a source; with an arrangement they need not be: Spark has sorted them."""
        self.source, self.partition_by, self.order_by = source, partition_by, order_by
        self._arrays: dict[str, pa.Array] = {}
        self._masks: dict[str, np.ndarray | None] = {}
        self._encoded: dict[Encoding, Encoded] = {}
        self._canonical: dict[Encoding, str] = {}
        self._frames: dict[WindowDefinition, Frames] = {}
        self._views: dict[Any, RowView] = {}
        self._in_order: Arranged | None = None
        if arrangement is None:
            keys = [self.array(name) for name in partition_by]
            order = [column for by in order_by for column in self._sortable(by)]
            arrangement = arrange(len(source), keys, order, threads)
        self.arrangement = arrangement

    @property
    def offsets(self) -> np.ndarray:
        """Key k is arranged rows offsets[k] to offsets[k + 1] - 1."""
        return self.arrangement.offsets

    def begin_anew(self, rows: np.ndarray) -> None:
        """Begin keys anew at some arranged rows, the first of each key among them, before anything else is done."""
        if len(self.source):
            self.arrangement.offsets = np.append(rows, len(self.source))

    def array(self, name: str) -> pa.Array:
        """Return a column as it came in; read once."""
        if name not in self._arrays:
            self._arrays[name] = self.source.column(self.require_column(name))
        return self._arrays[name]

    def require_column(self, name: str) -> str:
        """Check that there is a column of this name, and return the name; refuse others with the nearest one."""
        known = self.source.readable
        if name in known:
            return name
        raise InvalidInput(f"there is no column {name!r}. {suggest(name, known)}")

    def require_reads(self, over: Over) -> None:
        """Check that there are the columns that an expression reads; say what `where` takes, where it is none."""
        where = over.aggregation.where
        if where is not None and where not in self.source.readable:
            raise InvalidInput(
                f"{over.aggregation.name}: where= names a boolean column, and there is no column {where!r}. Conditions "
                f"in SQL are for Spark DataFrames: compute the column first. {suggest(where, self.source.readable)}"
            )
        for column in (*over.aggregation.reads, *over.window.columns):
            self.require_column(column)

    # ---- arranged columns
    def arrange(self, name: str) -> pa.Array:
        """Return a column in the arranged order, as Arrow."""
        array, permutation = self.array(name), self.arrangement.permutation
        return array if permutation is None else array.take(integers_as_arrow(permutation))

    def mask(self, name: str) -> np.ndarray | None:
        """Return which arranged rows of a column are null; None where none is."""
        if name not in self._masks:
            mask = mask_of(self.array(name))
            self._masks[name] = None if mask is None else self.arrangement.arrange(mask)
        return self._masks[name]

    def encoding(self, name: str, how: str) -> Encoding:
        """Identify a column as numbers: by its name, and the encoding that this one comes down to."""
        if (name, how) not in self._canonical:
            self._canonical[name, how] = how if how == "row" else canonical(self.array(name), how)
        return name, self._canonical[name, how]

    def encode(self, encoding: Encoding) -> Encoded:
        """Return an arranged column as numbers; "row" is the number of the arranged row."""
        if encoding not in self._encoded:
            name, how = encoding
            if how == "row":
                me = weakref.proxy(self)
                made = Encoded(np.arange(len(self.source)), lambda rows, valid: me.take(name, rows, valid))
            else:
                values, decode = encode(self.array(name), how)
                made = Encoded(self.arrangement.arrange(values), decode)
            self._encoded[encoding] = made
        return self._encoded[encoding]

    def take(self, name: str, rows: np.ndarray, valid: np.ndarray) -> pa.Array:
        """Take the values of a column at some arranged rows; null where not valid."""
        permutation = self.arrangement.permutation
        rows = np.where(valid, rows, 0)
        if permutation is not None and len(permutation):
            rows = permutation[rows]
        return self.array(name).take(pa.array(rows, pa.int64(), mask=None if valid.all() else ~valid))

    # ---- windows
    def _arrange_order(self) -> Arranged:
        if self._in_order is None:
            columns = [self.arrangement.arrange(column) for by in self.order_by for column in self._sortable(by)]
            kind = self.array(self.order_by[0].name).type if self.order_by else None
            me = weakref.proxy(self)
            self._in_order = Arranged(self.offsets, self.order_by, columns, kind, lambda name: me.arrange(name))
        return self._in_order

    def _sortable(self, by: OrderColumn) -> list[np.ndarray]:
        return as_sortable(self.array(by.name), by)

    def forget(self, window: WindowDefinition | None = None) -> None:
        """Let the frames of a window go; without one, what frames are made from."""
        if window is None:
            self._in_order = None
            return
        self._frames.pop(window, None)
        for view in self._views.values():
            view.forget(window)

    def frames(self, window: WindowDefinition) -> Frames:
        """Return the frame of every arranged row; computed once."""
        if window not in self._frames:
            self._frames[window] = self._build_frames(window)
        return self._frames[window]

    def set_frames(self, window: WindowDefinition, frames: Frames) -> None:
        """Set other frames for a window than one per row: those of its slides."""
        self._frames[window] = frames

    def _build_frames(self, window: WindowDefinition) -> Frames:
        if isinstance(window, DeltaWindow):
            from slidewise.columns.frames.deltas import delta_frames

            return delta_frames(window, self.arrange(self.delta_column(window)), self.offsets)
        if isinstance(window, PunctuationWindow) and not isinstance(window.predicate, str):
            from slidewise.columns.frames.bounds_kernels import since_marks

            start, end = np.empty(len(self.source), np.int64), np.empty(len(self.source), np.int64)
            since_marks(self.offsets, self.marks(window), start, end)
            return Frames(start, end)
        if not window.looks_at_order:
            return frames_of(window, Arranged(self.offsets, self.order_by, [], None, self.arrange))
        return frames_of(window, self._arrange_order())

    def delta_column(self, window: DeltaWindow) -> str:
        """Return the column that a delta is measured along; refuse a delta of plain values."""
        if window.column is None:
            raise InvalidInput(f"{window!r} measures plain values, and rows have columns. Name the one to measure")
        return window.column

    def marks(self, window: PunctuationWindow) -> np.ndarray:
        """Find the arranged rows that are punctuations: by a boolean column, or by a function of the row as a dict."""
        predicate = window.predicate
        if isinstance(predicate, str):
            return self.true(predicate, "punctuation: the column")
        table = pa.table({name: self.arrange(name) for name in self.source.names})
        found = [predicate(row) for row in table.to_pylist()]
        wrong = [f for f in found if f is not None and not isinstance(f, bool | np.bool_)]
        if wrong:
            raise InvalidInput(f"{window!r} must give True or False for every row, got {wrong[0]!r}")
        return np.array(found, bool)

    @cached_property
    def places(self) -> np.ndarray:
        """The place of every arranged row in its key, from 0."""
        return np.arange(len(self.source)) - np.repeat(self.offsets[:-1], np.diff(self.offsets))

    def due(self, window: WindowDefinition) -> np.ndarray | None:
        """Tell which arranged rows have seen enough rows of their key for a result; None where all have."""
        if window.min_rows == 1:
            return None
        return self.places >= window.min_rows - 1

    # ---- what an aggregation sees
    def view(self, aggregation: Aggregation) -> RowView:
        """Select the rows that an aggregation takes: without nulls where it skips them, and those of `where` alone."""
        needed: tuple[str, ...] = ()
        if aggregation.nulls == "skip":
            needed = aggregation.columns
        elif aggregation.nulls != "keep" and aggregation.columns:
            needed = tuple(aggregation.columns[k] for k in aggregation.nulls)
        with_nulls = frozenset(name for name in needed if self.mask(name) is not None)
        key = (with_nulls, aggregation.where)
        if key not in self._views:
            self._views[key] = RowView(self, with_nulls, aggregation.where)
        return self._views[key]

    def true(self, name: str, what: str = "where: the column") -> np.ndarray:
        """Tell which arranged rows have true in a boolean column."""
        array = self.array(name)
        if pa.types.is_null(array.type):  # pandas has no other type for nothing but None
            return np.zeros(len(array), bool)
        if not pa.types.is_boolean(array.type):
            raise InvalidInput(f"{what} {name!r} must be of booleans, and is of {array.type}")
        return self.arrangement.arrange(pc.fill_null(array, False).to_numpy(zero_copy_only=False))


class RowView:
    """Some of the arranged rows, one after the other, and frames over them."""

    def __init__(self, data: ArrangedFrame, with_nulls: frozenset[str], where: str | None) -> None:
        self.data: ArrangedFrame = weakref.proxy(data)
        self.key = (with_nulls, where)
        #: values that are left
        self._values: dict[Encoding, np.ndarray] = {}
        self._nan: dict[Encoding, bool] = {}
        self._frames: dict[WindowDefinition, Frames] = {}
        left_out = None
        for name in with_nulls:
            mask = data.mask(name)
            left_out = mask if left_out is None else left_out | mask
        if where is not None:
            out = ~data.true(where)
            left_out = out if left_out is None else left_out | out
        #: which arranged rows are left out; None: none
        self.left_out = left_out if left_out is not None and left_out.any() else None

    @cached_property
    def _kept(self) -> np.ndarray:
        assert self.left_out is not None
        return np.flatnonzero(~self.left_out)

    @cached_property
    def offsets(self) -> np.ndarray:
        """Where each key begins among the selected rows."""
        offsets = self.data.offsets
        return offsets if self.left_out is None else np.searchsorted(self._kept, offsets)

    def frames(self, window: WindowDefinition) -> Frames:
        """Return the frame of every arranged row, over the selected rows."""
        frames = self.data.frames(window)
        if self.left_out is None:
            return frames
        if window not in self._frames:
            self._frames[window] = frames.without(self.left_out)
        return self._frames[window]

    def forget(self, window: WindowDefinition) -> None:
        """Let the frames of a window go."""
        self._frames.pop(window, None)

    def encode(self, encoding: Encoding) -> Encoded:
        """Return a column over the selected rows, as numbers."""
        whole = self.data.encode(encoding)
        if self.left_out is None:
            return whole
        if encoding not in self._values:
            self._values[encoding] = whole.values[self._kept]
        return Encoded(self._values[encoding], whole.decode)

    def has_nan(self, encoding: Encoding) -> bool:
        """Tell whether one of these floats is NaN; a column is scanned once."""
        if encoding not in self._nan:
            self._nan[encoding] = bool(np.isnan(self.encode(encoding).values.min(initial=0.0)))
        return self._nan[encoding]

    def encodings(self, aggregation: Aggregation) -> tuple[Encoding, ...]:
        """Choose which columns the aggregation is given, and in which encoding."""
        if not aggregation.columns:
            return (("", "row"),)
        made = []
        for k, name in enumerate(aggregation.columns):
            how = encoding_for(aggregation, k, name, self.data.array(name).type)
            seen = how != "row" and name not in self.key[0] and self.data.mask(name) is not None
            made.append(self.data.encoding(name, "object" if seen else how))  # lift sees nulls as None
        return tuple(made)

    def arguments(self, aggregation: Aggregation) -> list[Encoded]:
        """Return the encoded columns that the aggregation is given."""
        return [self.encode(encoding) for encoding in self.encodings(aggregation)]

    def row(self, kept: np.ndarray) -> np.ndarray:
        """Convert row numbers of this selection to those of arranged rows."""
        if self.left_out is None or not len(self._kept):
            return kept
        return self._kept[np.clip(kept, 0, len(self._kept) - 1)]
