"""Stable names: the expressions that windows read, and markers, named by what they say alone.

Names of both end with a number, in the order in which a process made them. On a stream they are numbered anew, call by
call: its state is found again by them when the same program starts once more, in this process or in another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.spark.named_expressions import NUMBERED
from slidewise.spark.window import SpecifiedOver
from slidewise.windows.definitions import Between
from slidewise.windows.reach import OffsetColumn


def number_anew(names: Iterable[str]) -> dict[str, str]:
    """Renumber names by themselves, each kind of them from 0.

    >>> number_anew([f"__slidewise_input_{'0' * 16}_{number}" for number in (7, 5)])
    {'__slidewise_input_0000000000000000_7': '__slidewise_input_0000000000000000_0', \
'__slidewise_input_0000000000000000_5': '__slidewise_input_0000000000000000_1'}
    """
    numbers: Counter[str] = Counter()
    made: dict[str, str] = {}
    for name in dict.fromkeys(names):
        found = NUMBERED.fullmatch(name)
        assert found is not None
        made[name] = f"{found[1]}_{numbers[found[1]]}"
        numbers[found[1]] += 1
    return made


def rename_reads(definition: Any, names: Mapping[str, str]) -> Any:
    """Rename columns that an aggregate over a window reads."""
    if isinstance(definition, Over):
        window = definition.window
        if isinstance(window, Between):
            window = replace(window, start=_rename_offsets(window.start, names), end=_rename_offsets(window.end, names))
        return replace(definition, aggregation=_rename_aggregated(definition.aggregation, names), window=window)
    assert isinstance(definition, SpecifiedOver)
    return SpecifiedOver(
        rename_reads(definition.over, names),
        tuple(names.get(name, name) for name in definition.partition_by),
        rename_order(definition, names).order_by,
    )


def rename_order(definition: SpecifiedOver, names: Mapping[str, str]) -> SpecifiedOver:
    """Rename columns of the order."""
    return replace(
        definition, order_by=tuple(replace(by, name=names.get(by.name, by.name)) for by in definition.order_by)
    )


def _rename_aggregated(aggregation: Aggregation, names: Mapping[str, str]) -> Aggregation:
    if not names.keys() & set(aggregation.reads):
        return aggregation
    where = aggregation.where
    return type(aggregation)(
        *(names.get(name, name) for name in aggregation.columns),
        where=None if where is None else names.get(where, where),
        **{key: _rename_offsets(value, names) for key, value in aggregation.parameters.items()},
    )


def _rename_offsets(value: Any, names: Mapping[str, str]) -> Any:
    """Rename columns in a bound of a frame, or in a parameter."""
    if isinstance(value, OffsetColumn):
        return OffsetColumn(names.get(value.name, value.name))
    return type(value)(_rename_offsets(part, names) for part in value) if type(value) in (list, tuple) else value
