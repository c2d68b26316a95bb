"""In batches: `with_columns` and `aggregate` over sorted data that comes in batches, in the memory of windows.

Names, types and options are checked at once, by the same call over no rows, which also tells what comes out. Rows that
wait for their results stay as they came, and each goes out once, beside its results.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import Any

import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.columns import aggregate as slides_in_memory
from slidewise.columns import with_columns as rows_in_memory
from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.batches.row_pass import RowPass, RowPassRun, find_read_columns
from slidewise.columns.batches.slide_pass import SlidePass, SlidePassRun
from slidewise.columns.batches.sort_check import SortCheck
from slidewise.columns.batches.streams import BatchStream
from slidewise.columns.effects import add_stream_columns, leave_out_untimed, read_kind
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.sources import ColumnSource, source_of
from slidewise.columns.stream_options import read_effects
from slidewise.errors import InvalidInput

#: Rows of a chunk: what is done once for each takes 2 to 3 ms, a tenth of the time for so many, and memory stays small.
CHUNK_ROWS = 1 << 18


def with_columns(stream: BatchStream, given: Mapping[str, Any], **call: Any) -> Any:
    """Give a sorted stream the columns of some expressions; slidewise.with_columns says the rules."""
    _refuse_empty("with_columns", call)
    empty = stream.empty()
    output = rows_in_memory.with_columns(empty, given, **call)
    by = call.get("algorithm", "auto")
    expressions = {name: rows_in_memory.check_expression(name, over, by) for name, over in given.items()}
    rows = _SortedRows(stream, empty, expressions, **call)
    return stream.give(output, rows.compute)


def aggregate(stream: BatchStream, given: Mapping[str, Any], *, window: Any, **call: Any) -> Any:
    """Aggregate a sorted stream, one row per key and slide; slidewise.aggregate says the rules."""
    _refuse_empty("aggregate", call)
    empty = stream.empty()
    output = slides_in_memory.aggregate(empty, given, window=window, **call)
    expressions = slides_in_memory.slide_expressions(window, given, call.get("algorithm", "auto"))
    rows = _SlidesOfSortedRows(stream, empty, expressions, **call)
    return stream.give(output, rows.compute)


def _refuse_empty(what: str, options: Mapping[str, Any]) -> None:
    if options.get("empty"):
        raise InvalidInput(
            f"{what}: empty=True adds rows of times at which none comes, and with sorted=True rows go out as they are "
            "read. Leave out one of the two"
        )


class _SortedRows:
    """The rows of a call, with their new columns."""

    what = "with_columns"

    def __init__(
        self,
        stream: BatchStream,
        empty: Any,
        expressions: Mapping[str, Over],
        partition_by: Any = None,
        order_by: Any = None,
        threads: int | None = None,
        algorithm: str = "auto",
        **options: Any,
    ) -> None:
        self.stream, self.empty, self.expressions = stream, source_of(empty), dict(expressions)
        self.partition_by = rows_in_memory.list_names(partition_by, "partition_by")
        self.order_by = rows_in_memory.list_order(order_by)
        kind_of = partial(read_kind, self.empty)
        self.effects = read_effects(options, self.what, expressions, self.came_in, self.order_by, kind_of)

    @property
    def came_in(self) -> list[str]:
        """The columns that go out beside the results."""
        return self.empty.names

    def compute(self, names: list[str] | None) -> Iterator[Any]:
        """Compute the frames that go out, with at least the columns of these names; None: with all."""
        expressions = self.expressions
        if names is not None and not self.effects.changes:  # there, all results tell which rows go out
            expressions = {name: over for name, over in expressions.items() if name in names} or expressions
        reads = self._find_reads(expressions)
        run = RowPassRun(self._plan(reads, expressions), CHUNK_ROWS)
        origins = rows_in_memory.find_origins(expressions)
        waiting: deque[ColumnSource] = deque()
        wanted = None if names is None else [n for n in self.empty.names if n in names or n in reads.names]
        with closing(self._read(wanted)) as sources:  # type: ignore[type-var]
            for found in run.run(_read_columns(sources, reads.names, waiting)):
                columns = found.flatten()
                first = 0
                for source in _take_first(waiting, len(found)):
                    rows = slice(first, first := first + len(source))
                    results = dict(zip(expressions, (column[rows] for column in columns), strict=False))
                    if self.effects.changes:
                        changed = columns[-1][rows]
                        source = source.filter(changed.to_numpy(zero_copy_only=False))
                        results = {name: column.filter(changed) for name, column in results.items()}
                    if len(source):
                        yield source.with_columns(add_stream_columns(results, len(source), self.effects), origins)

    def _read(self, names: list[str] | None) -> Iterator[ColumnSource]:
        """Read the batches in pieces of a chunk, and check their order."""
        check = SortCheck(self.what, self.partition_by, self.order_by)
        with closing(self.stream.read(names)) as batches:  # type: ignore[type-var]
            for batch in batches:
                for first in range(0, len(batch), CHUNK_ROWS):
                    source = source_of(batch.slice(first, CHUNK_ROWS))
                    check.add({name: source.column(name) for name in check.names})
                    yield leave_out_untimed(source, self.effects)

    # ---- what is computed
    def _find_reads(self, expressions: Mapping[str, Over]) -> pa.Schema:
        """Find the columns that are read, and their types."""
        names = find_read_columns(self.empty.names, self.partition_by, self.order_by, expressions.values())
        return pa.schema([(name, self.empty.column(name).type) for name in names])

    def _plan(self, reads: pa.Schema, expressions: Mapping[str, Over]) -> RowPass:
        rows = ArrangedFrame(self.empty, self.partition_by, self.order_by)
        kinds = [column.type for column in Evaluation(rows, expressions.values(), 1).columns(expressions).values()]
        if self.effects.changes:
            kinds.append(pa.bool_())
        keys, order = tuple(self.partition_by), tuple(self.order_by)
        return RowPass(reads, keys, order, tuple(expressions.values()), tuple(kinds), self.effects)


class _SlidesOfSortedRows(_SortedRows):
    """The slides of the rows of a call."""

    what = "aggregate"

    @property
    def came_in(self) -> list[str]:
        return [*self.partition_by, *(by.name for by in self.order_by)]

    def compute(self, names: list[str] | None) -> Iterator[Any]:
        reads = self._find_reads(self.expressions)
        plan = self._plan_slides(reads)
        with closing(self._read(reads.names)) as sources:  # type: ignore[type-var]
            for found in SlidePassRun(plan, CHUNK_ROWS).run(_read_columns(sources, reads.names)):
                if len(found):
                    columns = dict(zip(plan.names, found.flatten(), strict=True))
                    yield slides_in_memory.build_slides(
                        self.empty, columns, self.expressions, self.came_in, self.effects
                    )

    def _plan_slides(self, reads: pa.Schema) -> SlidePass:
        rows = ArrangedFrame(self.empty, self.partition_by, self.order_by)
        found = slides_in_memory.compute_slides(rows, self.expressions, 1, self.effects.revises)
        kinds = tuple(column.type for column in found.values())
        keys, order, overs = tuple(self.partition_by), tuple(self.order_by), tuple(self.expressions.values())
        return SlidePass(reads, keys, order, overs, kinds, self.effects, names=tuple(found))


def _read_columns(
    sources: Iterable[ColumnSource], names: list[str], waiting: deque[ColumnSource] | None = None
) -> Iterator[tuple[pa.Array, ...]]:
    """Read some columns of rows, and keep the rows until their results are there, where they are waited for."""
    for source in sources:
        if waiting is not None:
            waiting.append(source)
        yield tuple(source.column(name) for name in names)


def _take_first(waiting: deque[ColumnSource], count: int) -> Iterator[ColumnSource]:
    """Take the first rows of those that wait for their results, in the pieces in which they came."""
    while count:
        source = waiting.popleft()
        if len(source) > count:
            waiting.appendleft(source.slice(count, len(source) - count))
            source = source.slice(0, count)
        count -= len(source)
        if len(source):
            yield source
