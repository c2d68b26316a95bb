"""Whether two tables hold the same rows, value by value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Comparison:
    """What differs between two tables."""

    #: rows that only one of them has, or has once more
    unmatched: int
    #: in how many rows that both have a column differs; columns that are the same are left out
    columns: dict[str, int]
    #: rows that are unmatched, or differ in some column
    rows: int


def compare(a: pa.Table, b: pa.Table, by: str, absolute: float = 0.0) -> Comparison:
    """Compare two tables whose rows a column of times tells apart, in whatever order they stand.

    Floats are the same up to 1e-9 of their size, or up to `absolute`; null is the same as null alone, and NaN as NaN.
    """
    times = (table[by].cast(pa.int64()).to_numpy() for table in (a, b))
    both, here, there = np.intersect1d(*times, return_indices=True)
    a, b, unmatched = a.take(here), b.take(there), len(a) + len(b) - 2 * len(both)
    wrong = {name: _unlike(a[name], b[name], absolute) for name in a.column_names if name != by}
    some = np.logical_or.reduce(list(wrong.values()))
    counts = {name: int(mask.sum()) for name, mask in wrong.items() if mask.any()}
    return Comparison(unmatched, counts, unmatched + int(some.sum()))


def _unlike(a: pa.ChunkedArray, b: pa.ChunkedArray, absolute: float) -> np.ndarray:
    if pa.types.is_floating(a.type):
        values, others = (column.fill_null(0.0).to_numpy() for column in (a, b))
        same = np.isclose(values, others, rtol=1e-9, atol=absolute, equal_nan=True)
    else:
        same = pc.equal(a, b).fill_null(True).to_numpy()
    nulls, other_nulls = (column.is_null().to_numpy() for column in (a, b))
    return ~same | (nulls != other_nulls)
