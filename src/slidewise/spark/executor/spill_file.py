"""Spill file: Arrow batches on the local disk of an executor, gone with the process that wrote them."""

from __future__ import annotations

import os
import random
import tempfile
from pathlib import Path
from typing import IO, TypeAlias

import pyarrow as pa

#: where a batch begins in the file, and how many bytes it has
Place: TypeAlias = tuple[int, int]


class SpillFile:
    """Batches of one schema, each read by its place. It is in Spark's folder of local files, or the system's."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._file: IO[bytes] | None = None
        self._end = 0

    def write(self, batch: pa.RecordBatch) -> Place:
        """Append a batch; give its place."""
        if self._file is None:
            # Without a name from the start: a worker that is killed leaves nothing behind.
            self._file = tempfile.TemporaryFile(  # noqa: SIM115 (it is open from batch to batch)
                prefix="slidewise-", dir=_choose_folder(), buffering=0
            )
        message = batch.serialize()
        self._file.seek(self._end)  # a batch may have been read since
        place = self._end, message.size
        rest = memoryview(message)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._end += message.size
        return place

    def read(self, place: Place) -> pa.RecordBatch:
        """Read the batch at a place."""
        assert self._file is not None
        first, size = place
        self._file.seek(first)
        message = bytearray(size)
        rest = memoryview(message)
        while rest:
            count = self._file.readinto(rest)  # type: ignore[attr-defined]
            if not count:
                raise OSError(f"a file of spilled rows ended {len(rest):,} bytes early")
            rest = rest[count:]
        return pa.ipc.read_record_batch(pa.py_buffer(message), self._schema)

    def close(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _choose_folder() -> str:
    """Choose one of the folders that Spark names to its workers, of disks that share the load."""
    named = [folder for folder in os.environ.get("SPARK_LOCAL_DIRS", "").split(",") if folder and Path(folder).is_dir()]
    return random.choice(named) if named else tempfile.gettempdir()
