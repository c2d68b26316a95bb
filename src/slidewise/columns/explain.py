"""Explain: which options of a call on data in memory have an effect there."""

from __future__ import annotations

from functools import partial
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.columns.aggregate import slide_expressions
from slidewise.columns.effects import read_kind
from slidewise.columns.sources import source_of
from slidewise.columns.stream_options import OPTIONS, describe_options, read_effects
from slidewise.columns.with_columns import list_names, list_order

#: of a call, besides its columns
_ARGUMENTS = ("partition_by", "order_by", "algorithm", "threads", "window")


def explain_options(data: Any, call: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Check the options for streams of a call, and tell of each whether it has an effect; give the rest of the call.

    The results of `aggregate` come as expressions over its window.
    """
    options = {n: value for n, value in call.items() if n in OPTIONS and not isinstance(value, Over | Aggregation)}
    arguments = {name: value for name, value in call.items() if name in _ARGUMENTS}
    columns = {name: value for name, value in call.items() if name not in options and name not in arguments}
    window = arguments.pop("window", None)
    if window is not None:
        columns = slide_expressions(window, columns, "auto")
    options = {name: value for name, value in options.items() if value is not None}
    if options:
        source = source_of(data)
        order = list_order(arguments.get("order_by"))
        labels = [*list_names(arguments.get("partition_by"), "partition_by"), *(by.name for by in order)]
        came_in = source.names if window is None else labels
        overs = {name: over for name, over in columns.items() if isinstance(over, Over)}
        read_effects(options, "explain", overs, came_in, order, partial(read_kind, source))
    return {**arguments, **columns}, describe_options(options)
