"""Compile kernels ahead: in an image, on an executor, before the first user comes."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from itertools import product
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from slidewise import aggregations as built_in
from slidewise.aggregations.base import Aggregation
from slidewise.columns.with_columns import with_columns
from slidewise.errors import InvalidInput
from slidewise.planner.choose import choose, situation_of
from slidewise.registry import algorithm
from slidewise.templates import background
from slidewise.templates.announce import compiling
from slidewise.templates.cache import count_kernels, is_compiler_off
from slidewise.windows.definitions import WindowDefinition, rows, time, window_of
from slidewise.windows.durations import CalendarDuration, Duration

#: what most calls ask for
AGGREGATIONS = ("sum", "avg", "min", "max", "stddev", "median", "count_distinct", "mode")
TYPES = ("float64", "int64")
WINDOWS = (rows(1000), time("1h"))

#: frames of few rows have kernels of their own, and those of more
SHORT, LONG = rows(8), rows(1000)
#: so many rows that a sort takes another way, and that keys have more of them than a window
FEW, MANY = 500, 70_000
KEYS = 10


class WarmUp(NamedTuple):
    """What `warm_up` did.

    >>> WarmUp(compiled=17, there=6).compiled
    17
    """

    #: kernels that were compiled, and are now in numba's cache
    compiled: int
    #: kernels that were there, from an earlier time
    there: int


def warm_up(
    aggregations: Iterable[str | Aggregation] = AGGREGATIONS,
    *,
    types: Iterable[str | pa.DataType] = TYPES,
    windows: Iterable[WindowDefinition | int] = WINDOWS,
    events: bool = False,
) -> WarmUp:
    """Compile the kernels of these aggregations, of columns of these types, over windows of these kinds.

    >>> import slidewise as sw
    >>> sw.warm_up(["max"], types=["float64"], windows=[sw.rows(9)])
    WarmUp(compiled=..., there=...)

    Kernels are compiled on first use, for some seconds, and are kept on disk in numba's cache: `NUMBA_CACHE_DIR`, or
    else beside the package. This does it ahead, in an image or on a machine that is new. It runs on the processor that
    it is meant for: numba compiles for that one.

    - `aggregations` are names, or aggregations where they have parameters or are your own: `sw.percentile(0.95)`.
    - `types` are Arrow's, or their names: "float32", "string", "timestamp[us]".
    - `windows` tell kinds: one of rows stands for all of rows, with keys and without.

    - `events` adds the code of `Window.push`, which a window compiles by itself while it goes on interpreted.

    The kernel that computes several aggregations of many rows in one pass is compiled by the call that has them.
    """
    work = list(
        product(map(_find_aggregation, aggregations), map(_type, types), [window_of(w, "warm_up") for w in windows])
    )
    if is_compiler_off():
        return WarmUp(0, 0)
    before = count_kernels()
    for number, (aggregation, kind, window) in enumerate(work, 1):
        with compiling(f"{aggregation.name} of {kind}, {number} of {len(work)}"):
            _run(aggregation, kind, window)
            if events:
                _ask_for_events(aggregation, kind, window)
                background.wait()
    after = count_kernels()
    compiled = after.compiled - before.compiled
    return WarmUp(compiled, after.compiled + after.loaded - compiled)


def _find_aggregation(given: str | Aggregation) -> Aggregation:
    if isinstance(given, Aggregation):
        return given
    if given not in built_in.__all__:
        raise InvalidInput(
            f"warm_up takes aggregations and their names, such as 'max' or sw.percentile(0.95), got {given!r}. "
            "sw.list_aggregations() has the names"
        )
    made = getattr(built_in, given)()
    assert isinstance(made, Aggregation)
    return made


def _type(given: str | pa.DataType) -> pa.DataType:
    try:
        return pa.type_for_alias(given) if isinstance(given, str) else given
    except ValueError:
        raise InvalidInput(f"warm_up: types are Arrow's, such as 'float64' or 'timestamp[us]', got {given!r}") from None


def _run(aggregation: Aggregation, kind: pa.DataType, window: WindowDefinition) -> None:
    """Run it over few rows and many, in order and out of order, with keys and without: each has kernels of its own."""
    aggregation = copy(aggregation)
    aggregation.columns = tuple(f"x{k}" for k in range(aggregation.arity))
    few, many = (_table(count, aggregation.columns, kind, window) for count in (FEW, MANY))
    for data in (few, few.take(np.arange(FEW)[::-1]), many, many.take(np.random.default_rng(0).permutation(MANY))):
        for keys in ("number", "name", None):
            with_columns(data, {"result": aggregation.over(window)}, partition_by=keys, order_by="at")
    if window.trailing_rows is not None and window.every is None:
        for other in (SHORT, LONG):
            with_columns(many, {"result": aggregation.over(other)})


def _ask_for_events(aggregation: Aggregation, kind: pa.DataType, window: WindowDefinition) -> None:
    """Compile what `Window.push` takes such rows by, where there is such code; times are datetimes or integers."""
    value = {pa.float64(): "f8", pa.int64(): "i8"}.get(kind)
    entry = algorithm(choose(aggregation, situation_of(window, "events")).algorithm)
    if value is not None and window.every is None and entry.compiles_events(aggregation):
        background.ask_for_slide(entry, aggregation, value, None if window.trailing_rows is not None else "i8")


def _table(count: int, columns: Iterable[str], kind: pa.DataType, window: WindowDefinition) -> pa.Table:
    """Build a table of rows in the order of time; few have nulls among them."""
    numbers = np.arange(count)
    at = pa.array(numbers * 1_000_000)
    timed = any(isinstance(length, Duration | CalendarDuration) for length in window.lengths)
    values = pa.array(numbers % 100, mask=numbers % 7 == 0 if count == FEW else None).cast(kind)
    keys = {"number": numbers % KEYS, "name": pa.array(numbers % KEYS).cast(pa.string())}
    return pa.table(keys | {"at": at.cast(pa.timestamp("us")) if timed else at} | dict.fromkeys(columns, values))
