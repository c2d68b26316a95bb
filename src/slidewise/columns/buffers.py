"""Memory for results, taken from Arrow's pool, which keeps what was given back: a second call with 30 results of a
million rows takes 50 ms, and 110 where the system has to find their memory anew."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

#: Columns of one length that begin at the same place in a page share the few lines of the cache that this place has:
#: five of them are written in 5 ns a row where each begins 9 lines after the last, and in 7 ns without.
_LINE, _PAGE, _STEP = 64, 4096, 9

#: From so many bytes on the pool keeps nothing, and NumPy asks the system for large pages: 30 results of 10 million
#: rows took 2.8 s from the pool, and 0.4 s from C's allocator where it keeps what was given back.
_LARGE = 1 << 25


def allocate(count: int, dtype: np.dtype) -> np.ndarray:
    """Allocate an array to work in; its contents are undefined."""
    return np.frombuffer(_allocate_bytes(count * dtype.itemsize), dtype)


def _allocate_bytes(size: int) -> Any:
    return pa.allocate_buffer(size) if size < _LARGE else allocate_line(size, np.dtype(np.uint8))


def allocate_line(count: int, dtype: np.dtype) -> np.ndarray:
    """Allocate NumPy's memory, beginning with a line of the cache: vectors that span two are written half as fast."""
    memory = np.empty(count * dtype.itemsize + _LINE, np.uint8)
    begin = -memory.ctypes.data % _LINE
    return memory[begin : begin + count * dtype.itemsize].view(dtype)


class OutputBuffers:
    """Where the results of some frames go, by name; `part` is a slice of them."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = Lock()
        self._made: dict[str, np.ndarray] = {}

    def __len__(self) -> int:
        return self._count

    def take(self, name: str, dtype: np.dtype) -> np.ndarray:
        """Return the array for the results of this name, allocated once; its contents are undefined."""
        with self._lock:
            if name not in self._made:
                begin = len(self._made) * _STEP * _LINE % _PAGE
                memory = _allocate_bytes(self._count * dtype.itemsize + begin)
                self._made[name] = np.frombuffer(memory, dtype, -1, begin)
            return self._made[name]

    def part(self, first: int, last: int) -> BufferSlice:
        """Return the buffers of frames first to last - 1."""
        return BufferSlice(self, first, last)


class BufferSlice(OutputBuffers):
    """A slice of output buffers."""

    def __init__(self, whole: OutputBuffers, first: int, last: int) -> None:
        super().__init__(last - first)
        self._whole, self._first = whole, first

    def take(self, name: str, dtype: np.dtype) -> np.ndarray:
        if name not in self._made:
            self._made[name] = self._whole.take(name, dtype)[self._first : self._first + len(self)]
        return self._made[name]

    def whole_of(self, array: np.ndarray) -> np.ndarray | None:
        """Return the whole array that this one is a slice of; None where it is not from here."""
        name = next((name for name, part in self._made.items() if part is array), None)
        return None if name is None else self._whole._made[name]


# ---- which results are not null: an array of booleans, or one True that stands for all of them
def all_valid(count: int) -> np.ndarray:
    """Return a mask in which no result is null; read-only."""
    return np.broadcast_to(True, count)


def are_all_valid(valid: np.ndarray) -> bool:
    """Tell whether no result is null: at once where one value stands for all."""
    return valid.strides == (0,) or bool(valid.all())
