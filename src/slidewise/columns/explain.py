"""Explain: which options of a call on data in memory have an effect there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.columns.aggregate import slide_expressions
from slidewise.columns.batches.row_pass import needs_whole_key
from slidewise.columns.batches.running_evaluation import carries_row
from slidewise.columns.batches.streams import BatchStream
from slidewise.columns.effects import read_kind
from slidewise.columns.sources import source_of
from slidewise.columns.stream_options import OPTIONS, describe_options, read_effects
from slidewise.columns.with_columns import list_names, list_order
from slidewise.display import Table

IN_BATCHES = (
    "in batches, since sorted=True: rows are read as results are, each is checked to stand by key and order, and what "
    "stays in memory is a few batches and what each column holds"
)

#: of a call, besides its columns
_ARGUMENTS = ("partition_by", "order_by", "algorithm", "threads", "window")


def explain_options(data: Any, call: dict[str, Any], stream: BatchStream | None = None) -> tuple[dict[str, Any], str]:
    """Check the options for streams of a call, and tell of each whether it has an effect; give the rest of the call.

    The results of `aggregate` come as expressions over its window. Of data that comes in batches nothing is read.
    """
    options = {n: value for n, value in call.items() if n in OPTIONS and not isinstance(value, Over | Aggregation)}
    arguments = {name: value for name, value in call.items() if name in _ARGUMENTS}
    columns = {name: value for name, value in call.items() if name not in options and name not in arguments}
    window = arguments.pop("window", None)
    if window is not None:
        columns = slide_expressions(window, columns, "auto")
    options = {name: value for name, value in options.items() if value is not None}
    if options:
        source = source_of(data if stream is None else stream.empty())
        order = list_order(arguments.get("order_by"))
        labels = [*list_names(arguments.get("partition_by"), "partition_by"), *(by.name for by in order)]
        came_in = source.names if window is None else labels
        overs = {name: over for name, over in columns.items() if isinstance(over, Over)}
        read_effects(options, "explain", overs, came_in, order, partial(read_kind, source))
    return {**arguments, **columns}, describe_options(options)


def explain_batches(stream: BatchStream, columns: Mapping[str, Over], table: Table) -> Table:
    """Add to an explained call what each column holds where rows come in batches."""
    source = source_of(stream.empty())
    lines = []
    for line in table:
        over = columns[line["column"]]
        kinds = {name: source.column(name).type for name in over.aggregation.reads if name in source.names}
        lines.append(line | {"holds": _describe_held(over, kinds)})
    return Table.of(table.title, lines, "; ".join(filter(None, (table.note, IN_BATCHES))))


def _describe_held(over: Over, kinds: Mapping[str, pa.DataType]) -> str:
    if needs_whole_key(over, kinds):
        return "the rows of a key"
    if over.window.running:
        return "one row" if carries_row(over) else "one partial"
    return "the rows of a window"
