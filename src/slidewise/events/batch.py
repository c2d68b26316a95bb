"""A batch of rows as Arrow columns: what a window reads of them, and the same rows one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from slidewise.columns.arrays import as_array, as_arrow
from slidewise.columns.sources import Arrays, ColumnSource, source_of
from slidewise.errors import InvalidInput
from slidewise.suggest import suggest
from slidewise.windows.definitions import PunctuationWindow

if TYPE_CHECKING:
    from slidewise.events.shared_plan import SharedPlan
    from slidewise.events.window_plan import WindowPlan

#: names that no column of a user has, for what is given beside the columns
TIME = "\0time"
KEY = "\0key"
VALUE = "\0value"


class Batch:
    """Rows that came together, in order: the columns that are read, the times, and the keys."""

    __slots__ = ("arity", "columns", "keys", "rows", "time_name")

    def __init__(
        self, columns: dict[str, pa.Array], rows: int, keys: tuple[str, ...], arity: int | None, time_name: str = "time"
    ) -> None:
        #: by name; times, keys and plain values under names of their own
        self.columns = columns
        self.rows = rows
        #: the columns that are the key
        self.keys = keys
        #: how many arrays a plain value is of; None: rows are mappings
        self.arity = arity
        #: how the times are called in results
        self.time_name = time_name

    def __len__(self) -> int:
        return self.rows

    @property
    def time(self) -> pa.Array | None:
        """The times of the rows; None where they have none."""
        return self.columns.get(TIME)

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types of the columns, by which batches go together."""
        return {name: column.type for name, column in self.columns.items()}

    def slice(self, start: int, stop: int | None = None) -> Batch:
        """Take the rows from `start` up to `stop`, without a copy. O(columns)."""
        stop = self.rows if stop is None else stop
        columns = {name: column.slice(start, stop - start) for name, column in self.columns.items()}
        return Batch(columns, stop - start, self.keys, self.arity, self.time_name)

    def filter(self, chosen: Any) -> Batch:
        """Take the rows of a mask. O(rows)."""
        columns = {name: column.filter(pa.array(chosen)) for name, column in self.columns.items()}
        return Batch(columns, int(chosen.sum()), self.keys, self.arity, self.time_name)

    def append(self, other: Batch) -> Batch:
        """Put the rows of another batch of the same types after these. O(rows)."""
        if not self.rows:
            return other
        columns = {name: pa.concat_arrays([column, other.columns[name]]) for name, column in self.columns.items()}
        return Batch(columns, self.rows + other.rows, other.keys, other.arity, other.time_name)

    def one_by_one(self, as_datetime64: bool = False) -> Iterator[tuple[Any, Any, Any]]:
        """Yield value, time and key of each row, as push takes them."""
        names = [name for name in self.columns if not name.startswith("\0")]
        lists: Any = [self.columns[name].to_pylist() for name in names]
        values: Any
        if self.arity is None:
            values = (dict(zip(names, cells, strict=True)) for cells in zip(*lists, strict=True))
            if not names:
                values = ({} for _ in range(self.rows))
        elif self.arity == 1:
            values = self.columns[VALUE].to_pylist()
        else:
            values = zip(*(self.columns[f"{VALUE}{k}"].to_pylist() for k in range(self.arity)), strict=True)
        nothing = [None] * self.rows
        times = nothing if self.time is None else self.time.to_numpy() if as_datetime64 else _list_times(self.time)
        keys = self.columns[KEY].to_pylist() if KEY in self.columns else nothing
        return zip(values, times, keys, strict=True)


def _list_times(time: pa.Array) -> list[Any]:
    """List times as Python's own, which can be saved, also where pandas would have nanoseconds that are none."""
    if pa.types.is_timestamp(time.type) and time.type.unit == "ns":
        try:
            return time.cast(pa.timestamp("us", time.type.tz)).to_pylist()
        except pa.ArrowInvalid:  # there are some
            pass
    return time.to_pylist()


def read_batch(plan: WindowPlan | SharedPlan, data: Any, time: Any, key: Any) -> Batch:
    """Read what was given to push_many; refuse what is no batch of rows for this window."""
    reader = plan.reader
    if reader.partition_by is not None and key is not None:
        raise InvalidInput(f"push_many: the key comes from partition_by={reader.partition_by!r}, got key= as well")
    keys = (reader.partition_by,) if isinstance(reader.partition_by, str) else tuple(reader.partition_by or ())
    arity: int | None = None
    columns: dict[str, pa.Array] = {}
    source: ColumnSource
    if isinstance(data, Mapping) or hasattr(data, "columns") or _is_stream_of_rows(data):
        source = source_of(dict(data) if isinstance(data, Mapping) else data)
        for name in _list_names(plan, source):
            columns[name] = _decoded(_column(source, name))
        rows = len(source)
    else:
        if reader.whole_row:
            raise InvalidInput(
                f"push_many: the window reads the columns {', '.join(reader._columns())} of rows: give an Arrow table "
                f"or record batch, a data frame or a dict of arrays, got {type(data).__name__}"
            )
        arrays = data if isinstance(data, tuple) else (data,)
        source = Arrays({f"value {k}": array for k, array in enumerate(arrays)})
        arity, rows = len(arrays), len(source)
        for k, name in enumerate(source.names):
            columns[VALUE if arity == 1 else f"{VALUE}{k}"] = _decoded(source.column(name))
    time_name = time if isinstance(time, str) else "time"
    for name, given, what in ((TIME, time, "time"), (KEY, key, "key")):
        if given is None:
            continue
        if isinstance(given, str):
            if arity is not None:
                raise InvalidInput(
                    f"push_many: {what}={given!r} names a column, and the batch is an array. Give arrays"
                )
            columns[name] = _decoded(_column(source, given))
        else:
            columns[name] = _decoded(as_arrow(as_array(given), what))
        if len(columns[name]) != rows:
            raise InvalidInput(
                f"push_many: {what}= has one entry for each of the {rows} rows, got {len(columns[name])}"
            )
    return Batch(columns, rows, keys if key is None else (KEY,), arity, time_name)


def _is_stream_of_rows(data: Any) -> bool:
    return hasattr(data, "__arrow_c_stream__") and isinstance(getattr(data, "schema", None), pa.Schema)


def _list_names(plan: WindowPlan | SharedPlan, source: ColumnSource) -> list[str]:
    """List the columns that are read: all of them where a function looks at whole rows."""
    reader = plan.reader
    parts = [part for window in plan.windows.values() for part in (window, window.every)]
    if not reader.whole_row or any(isinstance(p, PunctuationWindow) and callable(p.predicate) for p in parts):
        return source.names
    return list(reader._columns())


def _column(source: ColumnSource, name: str) -> pa.Array:
    if name not in source.readable:
        raise InvalidInput(f"push_many: the batch has no column {name!r}. {suggest(name, source.readable)}")
    return source.column(name)


def _decoded(array: pa.Array) -> pa.Array:
    """Return the values of a dictionary; other arrays as they are."""
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
