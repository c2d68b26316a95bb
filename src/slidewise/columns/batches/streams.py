"""Streams: data that comes in batches, of which all need not fit into memory. Each kind gives back one of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa

from slidewise.columns.arrays import is_polars
from slidewise.errors import InvalidInput

#: Rows of a batch, and how many batches Arrow decodes ahead, on threads of its own. 100M rows take at most 320 MB so,
#: and 490 in batches of twice the rows.
BATCH_ROWS, READAHEAD = 1 << 17, 2

#: Reads batches that have at least the columns of some names, or all; what stops early closes it.
Read = Callable[["list[str] | None"], Iterator[Any]]


class BatchStream(ABC):
    """Data of one kind that comes in batches: RecordBatches, or DataFrames of polars."""

    @abstractmethod
    def empty(self) -> Any:
        """Return a frame without rows, of the kind of its batches."""

    @abstractmethod
    def read(self, names: list[str] | None) -> Iterator[Any]:
        """Read the batches, with at least the columns of these names; None: with all."""

    @abstractmethod
    def give(self, empty: Any, compute: Read) -> Any:
        """Build what comes out: the kind that came in, of frames like an empty one, computed as they are read."""


def stream_of(data: Any) -> BatchStream | None:
    """Wrap data that comes in batches; None: it is in memory, or no data that is known."""
    if is_polars(data, "LazyFrame"):
        return LazyBatches(data)
    if isinstance(data, pa.RecordBatchReader):
        return ArrowBatches(data)
    if isinstance(data, Path):
        return DatasetBatches(_open_parquet(data))
    if type(data).__module__.startswith("pyarrow._dataset") and hasattr(data, "scanner"):
        return DatasetBatches(data)
    known = is_polars(data, "DataFrame") or isinstance(data, pa.Table | pa.RecordBatch | dict)
    module = type(data).__module__.partition(".")[0]
    if known or module in ("pandas", "pyspark", "duckdb", "_duckdb") or not hasattr(data, "__arrow_c_stream__"):
        return None
    if hasattr(data, "__len__"):  # a frame of another library
        return None
    return ArrowBatches(pa.RecordBatchReader.from_stream(data))


def _open_parquet(path: Path) -> Any:
    from pyarrow import dataset

    if not path.exists():
        raise InvalidInput(f"there is no file or folder {str(path)!r}. Give the path of a file or folder of Parquet")
    return dataset.dataset(path, format="parquet", partitioning="hive")


class ArrowBatches(BatchStream):
    """A reader of record batches."""

    def __init__(self, reader: pa.RecordBatchReader) -> None:
        self._reader = reader

    def empty(self) -> pa.RecordBatch:
        return _build_empty_batch(self._reader.schema)

    def read(self, names: list[str] | None) -> Iterator[pa.RecordBatch]:
        with closing(self._reader) as batches:
            yield from batches

    def give(self, empty: pa.RecordBatch, compute: Read) -> pa.RecordBatchReader:
        return _build_reader(empty.schema, compute)


class DatasetBatches(BatchStream):
    """The files of a dataset, in the order of their paths. What comes out is a reader."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def empty(self) -> pa.RecordBatch:
        return _build_empty_batch(self._dataset.schema)

    def read(self, names: list[str] | None) -> Iterator[pa.RecordBatch]:
        ahead = {"batch_size": BATCH_ROWS, "batch_readahead": READAHEAD, "fragment_readahead": 1}
        options = _choose_scan_options(self._dataset)
        scanner = self._dataset.scanner(columns=names, fragment_scan_options=options, **ahead)
        batches: Iterator[pa.RecordBatch] = scanner.to_batches()
        return batches

    def give(self, empty: pa.RecordBatch, compute: Read) -> pa.RecordBatchReader:
        return _build_reader(empty.schema, compute)


def _choose_scan_options(dataset: Any) -> Any:
    """Choose options by which Arrow does not hold the bytes of a whole file of Parquet: 100M rows took 670 MB to read,
    and take 190, in half the time. None: the dataset has options of its own, or is of other files."""
    from pyarrow import dataset as arrow

    kind = getattr(dataset, "format", None)
    given = kind.default_fragment_scan_options if isinstance(kind, arrow.ParquetFileFormat) else None
    if given is None or not given.equals(arrow.ParquetFragmentScanOptions()):
        return None
    encrypted = any(getattr(given, name, None) for name in ("parquet_decryption_config", "decryption_properties"))
    return None if encrypted else arrow.ParquetFragmentScanOptions(pre_buffer=False)


def _build_reader(schema: pa.Schema, compute: Read) -> pa.RecordBatchReader:
    """Build a reader whose batches are computed as they are read. All are of the schema that was told."""
    batches = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in compute(None))
    return pa.RecordBatchReader.from_batches(schema, batches)


def _build_empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([column.chunk(0) for column in schema.empty_table().columns], schema=schema)


class LazyBatches(BatchStream):
    """A LazyFrame of polars, whose query runs once the one that comes out does."""

    def __init__(self, lazy: Any) -> None:
        self._lazy = lazy

    def empty(self) -> Any:
        return self._lazy.collect_schema().to_frame()

    def read(self, names: list[str] | None) -> Iterator[Any]:
        lazy = self._lazy if names is None else self._lazy.select(names)
        yield from lazy.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, lazy=True)

    def give(self, empty: Any, compute: Read) -> Any:
        from polars.io.plugins import register_io_source

        def run(names: list[str] | None, predicate: Any, rows: int | None, _: int | None) -> Iterator[Any]:
            wanted = names
            if names is not None and predicate is not None:
                wanted = list(dict.fromkeys([*names, *predicate.meta.root_names()]))
            with closing(compute(wanted)) as frames:  # type: ignore[type-var]
                for frame in frames:
                    if rows is not None:
                        frame, rows = frame.head(rows), rows - min(rows, len(frame))
                    if predicate is not None:
                        frame = frame.filter(predicate)
                    yield frame if names is None else frame.select(names)
                    if rows == 0:
                        return

        return register_io_source(run, schema=empty.schema, validate_schema=True)
