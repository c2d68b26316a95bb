"""Frames of every kind: what comes in as Arrow columns, and how results go back out in kind.

Anything that speaks Arrow's C stream comes in; pandas, polars, pyarrow, DuckDB and a dict of arrays come back as what
they were. Only the columns that are read are converted: results are added to the frame that came, whose other columns
stay as they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from slidewise.columns.arrays import (
    arrow_to_pandas,
    arrow_to_polars,
    as_array,
    as_arrow,
    backend,
    in_kind,
    in_one_piece,
    is_pandas,
    is_polars,
    pandas_as_arrow,
    polars_as_arrow,
    take_rows,
)
from slidewise.errors import InvalidInput


class Origin(NamedTuple):
    """The column that a result is made from, and whether it holds values of that column, or lists of them."""

    column: str
    holds: Literal["values", "lists"] | None = None


#: by the result's name; results that are made from no column are not in it
Origins = Mapping[str, Origin]


class ColumnSource(ABC):
    """Data of one kind."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of its columns."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def read(self, name: str) -> pa.Array:
        """Read one column, in one piece, of a name that only one has."""

    @abstractmethod
    def with_columns(self, new: Mapping[str, pa.Array], origins: Origins) -> Any:
        """Return the same data with more columns, or columns replaced, in kind."""

    @abstractmethod
    def table(self, labels: Mapping[str, pa.Array], results: Mapping[str, pa.Array], origins: Origins) -> Any:
        """Build other rows, in kind: labels with an origin hold values of that column."""

    @abstractmethod
    def filter(self, chosen: np.ndarray) -> ColumnSource:
        """Return the same data with only the rows of a mask, in kind."""

    def slice(self, first: int, count: int) -> ColumnSource:
        """Return the same data with only so many rows from the first of them on, in kind."""
        return self.filter((np.arange(len(self)) >= first) & (np.arange(len(self)) < first + count))

    @property
    def readable(self) -> list[str]:
        """The names that can be read: those of its columns, and what else has one (the levels of a pandas index)."""
        return self.names

    def column(self, name: str) -> pa.Array:
        """Read one column, in one piece; refuse a name that several columns have."""
        self.require_one(name)
        return self.read(name)

    def require_one(self, name: str) -> None:
        """Refuse a name that several columns have: which one is meant?"""
        if self.names.count(name) > 1:
            raise InvalidInput(f"columns that are read or replaced must have different names, got {name!r} twice")


def source_of(data: Any) -> ColumnSource:
    """Wrap data of any known kind; a clear error where its kind is not known."""
    module = type(data).__module__.partition(".")[0]
    name = type(data).__name__
    if isinstance(data, dict):
        return Arrays(data)
    if module == "pyspark":
        raise InvalidInput(f"data is a {type(data).__module__}.{name}. Give a Spark DataFrame: to_spark() makes one")
    if is_pandas(data, "DataFrame"):
        return _Pandas(data)
    if is_polars(data, "LazyFrame"):
        raise InvalidInput(
            "a polars LazyFrame has no rows yet: collect() it first, or import slidewise.polars and write lazy.sw in "
            "place of sw, as in lazy.sw.with_columns(...). One that is sorted by key and order goes in batches with "
            "sorted=True"
        )
    if is_polars(data, "DataFrame"):
        return _Polars(data)
    if "duckdb" in module and name == "DuckDBPyRelation":
        from slidewise.columns.relations import Relation

        return Relation(data)
    if isinstance(data, pa.RecordBatch):
        return _Arrow(data, pa.record_batch)
    if isinstance(data, pa.RecordBatchReader):
        return _Arrow(data.read_all(), pa.table, lambda table: table.to_reader())
    if isinstance(data, pa.Table):
        return _Arrow(data, pa.table)
    if hasattr(data, "__arrow_c_stream__"):
        return _Arrow(pa.table(data), pa.table)
    if isinstance(data, Path) or type(data).__module__ == "pyarrow._dataset":
        raise InvalidInput(
            f"{'files are' if isinstance(data, Path) else 'a dataset is'} read in batches, if sorted=True says that "
            "rows stand by key and order. Otherwise read all of it first: pyarrow.parquet.read_table(path), or "
            "dataset.to_table()"
        )
    raise InvalidInput(
        f"data of type {type(data).__module__}.{name} is not known. Give a pandas or polars DataFrame, a pyarrow "
        "Table, a DuckDB relation, a dict of NumPy arrays, or anything with __arrow_c_stream__"
    )


class _Arrow(ColumnSource):
    def __init__(self, table: Any, made: Callable[[Any], Any], give_back: Callable[[Any], Any] = lambda t: t) -> None:
        """Take a Table or a RecordBatch, the function that makes one, and one that turns it into what came."""
        self._table, self._made, self._give_back = table, made, give_back
        self._names: list[str] = table.schema.names

    @property
    def names(self) -> list[str]:
        return self._names

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def read(self, name: str) -> pa.Array:
        column = self._table.column(self._names.index(name))
        return in_one_piece(column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column]))

    def with_columns(self, new: Mapping[str, pa.Array], origins: Origins) -> Any:
        table = self._table
        for name, values in new.items():
            if name in self._names:
                table = table.set_column(self._names.index(name), name, values)
            else:
                table = table.append_column(name, values)
        return self._give_back(table)

    def table(self, labels: Mapping[str, pa.Array], results: Mapping[str, pa.Array], origins: Origins) -> Any:
        return self._give_back(self._made({**labels, **results}))

    def filter(self, chosen: np.ndarray) -> ColumnSource:
        return _Arrow(self._table.filter(pa.array(chosen)), self._made, self._give_back)

    def slice(self, first: int, count: int) -> ColumnSource:
        return _Arrow(self._table.slice(first, count), self._made, self._give_back)


class _Pandas(ColumnSource):
    """A DataFrame, or what is made from one by its rules for subclasses."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._names = list(frame.columns)
        #: a column hides a level of the same name
        self._levels = [name for name in frame.index.names if name not in self._names]

    @property
    def names(self) -> list[str]:
        return self._names

    @property
    def readable(self) -> list[str]:
        return [*self._names, *(name for name in self._levels if isinstance(name, str))]

    def __len__(self) -> int:
        return len(self._frame)

    def read(self, name: str) -> pa.Array:
        return pandas_as_arrow(self._column(name), name)

    def _column(self, name: str) -> Any:
        if name not in self._levels:
            return self._frame[name]
        if self._levels.count(name) > 1:
            raise InvalidInput(f"levels of an index that are read must have different names, got {name!r} twice")
        return self._frame.index.get_level_values(name)

    def with_columns(self, new: Mapping[str, pa.Array], origins: Origins) -> Any:
        frame = self._frame.assign()  # a copy as pandas makes it; assign(**new) has no room for a column "self"
        for name, values in new.items():
            frame[name] = arrow_to_pandas(values, self._backend(origins.get(name)), self._frame.index)
        return frame

    def table(self, labels: Mapping[str, pa.Array], results: Mapping[str, pa.Array], origins: Origins) -> Any:
        columns = {**labels, **results}
        series = {n: arrow_to_pandas(values, self._backend(origins.get(n)), None) for n, values in columns.items()}
        return self._frame._constructor(series)

    def filter(self, chosen: np.ndarray) -> ColumnSource:
        return _Pandas(self._frame[chosen])

    def _backend(self, origin: Origin | None) -> str:
        """Tell what a result is made of: as the column that it is made from, or as all columns where there is none."""
        if origin is not None:
            return backend(self._column(origin.column).dtype)
        found = {backend(dtype) for dtype in self._frame.dtypes}
        return found.pop() if len(found) == 1 else "numpy"


class _Polars(ColumnSource):
    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def names(self) -> list[str]:
        names: list[str] = self._frame.columns
        return names

    def __len__(self) -> int:
        return len(self._frame)

    def read(self, name: str) -> pa.Array:
        return polars_as_arrow(self._frame.get_column(name), name)

    def with_columns(self, new: Mapping[str, pa.Array], origins: Origins) -> Any:
        return self._frame.with_columns(self._series(new, origins))

    def table(self, labels: Mapping[str, pa.Array], results: Mapping[str, pa.Array], origins: Origins) -> Any:
        import polars

        return polars.DataFrame(self._series({**labels, **results}, origins))

    def filter(self, chosen: np.ndarray) -> ColumnSource:
        import polars

        return _Polars(self._frame.filter(polars.Series(chosen)))

    def slice(self, first: int, count: int) -> ColumnSource:
        return _Polars(self._frame.slice(first, count))

    def _series(self, columns: Mapping[str, pa.Array], origins: Origins) -> list[Any]:
        made = []
        for name, values in columns.items():
            origin = origins.get(name, Origin("", None))
            kind = self._frame.schema[origin.column] if origin.holds == "values" else None
            made.append(arrow_to_polars(values, name, kind))
        return made


class Arrays(ColumnSource):
    """A dict of arrays of any kind. A result is of the kind of the array that it is made from."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self._given = arrays
        self._arrays = {name: as_array(array) for name, array in arrays.items()}
        lengths = {name: len(array) if getattr(array, "ndim", 1) else None for name, array in self._arrays.items()}
        if len(set(lengths.values())) > 1 or None in lengths.values():
            raise InvalidInput(f"a dict of columns holds arrays of one length, got {lengths}")

    @property
    def names(self) -> list[str]:
        return list(self._arrays)

    def __len__(self) -> int:
        return len(next(iter(self._arrays.values()))) if self._arrays else 0

    def read(self, name: str) -> pa.Array:
        array = self._arrays[name]
        if getattr(array, "ndim", 1) != 1:
            raise InvalidInput(f"{name!r} is an array of shape {array.shape}, and a column has one dimension")
        return as_arrow(array, name)

    def with_columns(self, new: Mapping[str, pa.Array], origins: Origins) -> dict[str, Any]:
        return {**self._given, **{n: self._in_kind(n, values, origins) for n, values in new.items()}}

    def table(
        self, labels: Mapping[str, pa.Array], results: Mapping[str, pa.Array], origins: Origins
    ) -> dict[str, Any]:
        of_no_row = np.zeros(0, np.int64)
        columns = {**labels, **results}
        return {n: self._in_kind(n, values, origins, of_no_row) for n, values in columns.items()}

    def filter(self, chosen: np.ndarray) -> ColumnSource:
        return Arrays({name: take_rows(array, np.flatnonzero(chosen)) for name, array in self._given.items()})

    def _in_kind(self, name: str, values: pa.Array, origins: Origins, rows: np.ndarray | None = None) -> Any:
        origin = origins.get(name, Origin(next(iter(self._arrays))))
        return in_kind(values, self._arrays[origin.column], rows, origin.holds == "values")
