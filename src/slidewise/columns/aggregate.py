"""One row per key and slide."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.batches.sort_check import require_sorted
from slidewise.columns.effects import (
    add_expired_slides,
    add_stream_columns,
    begin_lifetimes,
    find_changed_slides,
    leave_out_untimed,
    read_kind,
)
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.frames.slides import Slides, slides_of
from slidewise.columns.sorting import OrderColumn
from slidewise.columns.sources import ColumnSource, Origin, source_of
from slidewise.columns.stream_options import ROW, BatchEffects, read_effects
from slidewise.columns.threads import thread_count
from slidewise.columns.with_columns import check_columns, find_origins, list_names, list_order
from slidewise.errors import InvalidInput
from slidewise.windows.definitions import WindowDefinition, window_of


def aggregate(
    data: Any,
    given: Mapping[str, Aggregation],
    *,
    window: WindowDefinition | int,
    partition_by: str | Iterable[str] | None = None,
    order_by: Any = None,
    threads: int | None = None,
    algorithm: str = "auto",
    in_order: bool = False,
    **options: Any,
) -> Any:
    """Aggregate a frame in memory, one row per key and slide; slidewise.aggregate says the rules.

    `options` are those for streams (stream_options.py). `in_order`: rows stand by key and order, which is checked.
    """
    incoming = source_of(data)
    expressions = slide_expressions(window, given, algorithm)
    number = thread_count(threads)
    keys, order = list_names(partition_by, "partition_by"), list_order(order_by)
    named = [*keys, *(by.name for by in order)]
    effects = read_effects(options, "aggregate", expressions, named, order, partial(read_kind, incoming))
    if in_order:
        require_sorted(incoming, "aggregate", keys, order)
    incoming = leave_out_untimed(incoming, effects)
    if effects.empty:
        found = compute_expiring_slides(incoming, keys, order, expressions, effects, number)
    else:
        rows = ArrangedFrame(incoming, keys, order, number)
        [window] = {over.window for over in expressions.values()}
        if not window.gives_windows:  # these may reach over the time in which a key is forgotten, as on a stream
            begin_lifetimes(rows, effects)
        found = compute_slides(rows, expressions, number, row_numbers=effects.revises)
    if effects.changes and not effects.empty:
        changed = pa.array(find_changed_slides(found, keys, expressions, effects))
        found = {name: column.filter(changed) for name, column in found.items()}
    return build_slides(incoming, found, expressions, named, effects)


def build_slides(
    incoming: ColumnSource,
    found: Mapping[str, pa.Array],
    expressions: Mapping[str, Over],
    named: Collection[str],
    effects: BatchEffects,
) -> Any:
    """Build what goes out of slides, in kind; `named` are keys and order, whose values labels hold."""
    labels = {name: found[name] for name in found if name not in expressions}
    made_from = {name: Origin(name, "values") for name in labels if name in named} | find_origins(expressions)
    results = {name: found[name] for name in expressions}
    count = len(next(iter(results.values())))
    late_row = None
    if effects.marks:
        late_row = pa.struct([(name, read_kind(incoming, name)) for name in incoming.names])
    return incoming.table(labels, add_stream_columns(results, count, effects, late_row), made_from)


def compute_expiring_slides(
    incoming: ColumnSource,
    keys: list[str],
    order: list[OrderColumn],
    expressions: dict[str, Over],
    effects: BatchEffects,
    threads: int,
) -> dict[str, pa.Array]:
    """Compute the windows whose results have changed, with those that have no rows."""
    rows = ArrangedFrame(incoming, keys, order, threads)
    return add_expired_slides(rows, compute_slides(rows, expressions, threads), keys, expressions)


def slide_expressions(window: Any, columns: Mapping[str, Any], algorithm: str) -> dict[str, Over]:
    """Check the results of a call, and pair each with the window that they share."""
    window = window_of(window, "aggregate: window=").per_window()
    _check(window, columns)
    return {name: Over(aggregation, window, algorithm) for name, aggregation in columns.items()}


def compute_slides(
    rows: ArrangedFrame, expressions: Mapping[str, Over], threads: int, row_numbers: bool = False
) -> dict[str, pa.Array]:
    """Compute the columns of a call: keys, what says which slide it is, and results.

    With `row_numbers`, slides at every so many rows have the number of their row in its key.
    """
    window = next(iter(expressions.values())).window
    for over in expressions.values():
        rows.require_reads(over)
    slides = slides_of(window, rows)
    rows.set_frames(window, slides.frames)
    out = slide_labels(rows, slides)
    if row_numbers and window.slide_kind == "count":
        out[ROW] = number_slide_rows(rows, slides)
    taken = [name for name in expressions if name in out]
    if taken:
        raise InvalidInput(f"aggregate: {taken[0]!r} is the name of a key or of the slide already: {list(out)}")
    return out | Evaluation(rows, expressions.values(), threads, slides).columns(expressions)


def slide_labels(rows: ArrangedFrame, slides: Slides) -> dict[str, pa.Array]:
    """Build the columns that say which key and slide a result belongs to."""
    first = np.repeat(rows.offsets[:-1], np.diff(slides.offsets))
    keys = {name: rows.take(name, first, np.ones(len(first), bool)) for name in rows.partition_by}
    return keys | {name: label for name, label in slides.labels.items() if name not in keys}


def number_slide_rows(rows: ArrangedFrame, slides: Slides) -> pa.Array:
    """Tell the number of the row of each slide within its key, from 1."""
    assert slides.rows is not None
    return pa.array(rows.places[slides.rows] + 1)


def _check(window: WindowDefinition, columns: Mapping[str, Any]) -> None:
    if window.is_explicit:
        raise InvalidInput(
            f'aggregate: window= is a window with a slide such as sw.time("1h", every="1m"), got {window!r}'
        )
    if window.every is None:
        raise InvalidInput(
            f"aggregate: {window!r} gives a result for every row. Use sw.with_columns, or say when, as in every="
        )
    if not columns:
        raise InvalidInput('aggregate: name at least one result, as in peak=sw.max("x")')
    for name, aggregation in columns.items():
        if isinstance(aggregation, Over) and aggregation.aggregation.own_frame:
            raise InvalidInput(
                f"aggregate: {name}={aggregation!r} is of a row, and the results of {window!r} are of windows. Use "
                "sw.with_columns"
            )
        if isinstance(aggregation, Over):
            raise InvalidInput(
                f"aggregate: {name}={aggregation!r} brings its own window, and all results of a call share window=. "
                f"Give {aggregation.aggregation!r}"
            )
        if not isinstance(aggregation, Aggregation):
            raise InvalidInput(f'aggregate: {name}= takes an aggregation such as sw.max("x"), got {aggregation!r}')
        check_columns(aggregation, f"aggregate: {name}")
        aggregation.require_own_row(window)
