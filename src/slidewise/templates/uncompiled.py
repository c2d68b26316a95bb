"""Twins of structs.py in plain Python, for NUMBA_DISABLE_JIT=1: kernels run as they are written, under a debugger or
with coverage, on the same arrays."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np


class Scalars:
    """An array whose elements are Python's own scalars: arithmetic as in compiled code, without NumPy's warnings."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, i: int) -> Any:
        return self.array.item(i)  # of an array of records: a tuple

    def __setitem__(self, i: int, value: Any) -> None:
        self.array[i] = value


class Rows:
    """Columns indexed as tuples."""

    def __init__(self, columns: tuple[np.ndarray, ...]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, i: int) -> tuple[Any, ...]:
        return tuple(c.item(i) for c in self.columns)

    def __setitem__(self, i: int, values: tuple[Any, ...]) -> None:
        for column, value in zip(self.columns, values, strict=True):
            column[i] = value


def zip_columns(x: Any) -> Any:
    return Rows(x) if isinstance(x, tuple) else Scalars(x)


def prefetch(rows: Any, i: int) -> None:
    pass


# ---- vectors of one row
lanes = 1


pin_columns = zip_columns


def load_lanes(x: Any, i: int) -> Any:
    return x[i]


def widen(partial: Any, like: Any) -> Any:
    return partial


def store_lanes(x: Any, i: int, partial: Any) -> None:
    x[i] = partial


def fetch(x: Any, i: int, to_write: int) -> None:
    pass


def spread(partial: Any) -> Any:
    return partial


def spread_lane(partial: Any, lane: int) -> Any:
    return partial


def first_lane(partial: Any) -> Any:
    return partial


def shift(partial: Any, by: int, others: Any) -> Any:
    return others


def publish(signals: Any, i: int, value: int) -> None:
    signals[i] = value


def observe(signals: Any, i: int) -> Any:
    return signals[i]


def relax(spins: int) -> None:
    time.sleep(0)  # the interpreter's lock goes to the other thread


def open_state(state: Any) -> Any:
    fields = {n: Scalars(v) if isinstance(v, np.ndarray) else v for n, v in state._asdict().items()}
    return SimpleNamespace(closed=type(state), **fields)


def close_state(s: Any) -> Any:
    values = (getattr(s, n) for n in s.closed._fields)
    return s.closed(*(v.array if isinstance(v, Scalars) else v for v in values))


def same(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b or (a != a and b != b))
