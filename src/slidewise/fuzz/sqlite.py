"""Answers of Python's sqlite3, for cases that it decides by the same rules.

NaN is null there, and times and columns as bounds are not known. Its sums subtract, so that an infinity once seen never
leaves. Bounds by range beyond 64 bits are floats there. And it errs, as of 3.40: min and max may ignore FILTER, and
group_concat of one empty text is null.
"""

from __future__ import annotations

import math
import sqlite3
from typing import Any

from slidewise.fuzz.by_hand import UNKNOWN
from slidewise.fuzz.cases import SQLITE_FUNCTIONS, Aggregate, Case, CaseFrame

_NAMES = {f[0]: f[0] for f in SQLITE_FUNCTIONS} | {
    "first": "first_value",
    "last": "last_value",
    "collect_list": "json_group_array",
    "string_agg": "group_concat",
}
_UNITS = ("rows", "trailing", "range", "groups")


def able(case: Case, aggregate: Aggregate) -> bool:
    """Tell whether SQLite can answer an aggregate of the case by the same rules."""
    if case.slides or case.container != "arrow" or aggregate.frame.unit not in _UNITS or aggregate.frame.min_rows > 1:
        return False
    read = {*case.keys, *(by.name for by in case.order), *aggregate.columns}
    if any(case.columns[name].kind not in ("int", "float", "text", "bool") for name in read if name in case.columns):
        return False
    if any(v != v for name in read if name in case.columns for v in case.columns[name].values):
        return False
    bounds = (aggregate.frame.start, aggregate.frame.end)
    positional = aggregate.function in ("first", "last", "nth_value")
    values = [v for name in aggregate.arguments for v in case.columns[name].values if isinstance(v, float)]
    infinite = any(map(math.isinf, values))
    empty = aggregate.function == "string_agg" and "" in case.columns[aggregate.arguments[0]].values
    return (
        aggregate.function in _NAMES
        and not (positional and (aggregate.where or dict(aggregate.parameters).get("ignore_nulls")))
        and not (infinite and aggregate.function in ("sum", "avg", "collect_list"))
        and not (aggregate.function in ("min", "max") and aggregate.where)
        and not empty
        and not (aggregate.frame.unit == "range" and _beyond_64_bits(case, bounds))
        and aggregate.frame.closed is None
        and not any(isinstance(b, str) or (b is not None and abs(b) >= 2**62) for b in bounds)
    )


def _beyond_64_bits(case: Case, bounds: tuple[Any, Any]) -> bool:
    """Tell whether an integer of the order, moved by a bound either way, leaves 64 bits."""
    order = [v for by in case.order for v in case.columns[by.name].values if isinstance(v, int)]
    reach = max((abs(b) for b in bounds if isinstance(b, int | float)), default=0)
    return any(not -(2**63) <= v - reach <= v + reach < 2**63 for v in order)


def answers(case: Case) -> list[Any]:
    """Compute the result of every aggregate in every row; UNKNOWN where SQLite cannot tell."""
    asked = [aggregate for aggregate in case.aggregates if able(case, aggregate)]
    found = dict(zip(asked, _ask(case, asked), strict=True)) if asked else {}
    return [found.get(aggregate, UNKNOWN) for aggregate in case.aggregates]


def _ask(case: Case, aggregates: list[Aggregate]) -> list[list[Any]]:
    names = list(case.columns)
    database = sqlite3.connect(":memory:")
    try:
        database.execute(f"create table data ({', '.join(names)})")
        rows = zip(*(case.columns[name].values for name in names), strict=True)
        database.executemany(f"insert into data values ({', '.join('?' * len(names))})", rows)
        wanted = ", ".join(_expression(case, aggregate) for aggregate in aggregates)
        found = database.execute(f"select {wanted} from data order by rowid").fetchall()
    finally:
        database.close()
    return [[_value(a, row[k]) for row in found] for k, a in enumerate(aggregates)]


def _expression(case: Case, aggregate: Aggregate) -> str:
    parameters = dict(aggregate.parameters)
    arguments = [*aggregate.arguments] or ["*"]
    arguments += [repr(parameters[name]) for name in ("n", "delimiter") if name in parameters]
    conditions = [aggregate.where] if aggregate.where else []
    if aggregate.function == "collect_list":
        conditions.append(f"{aggregate.arguments[0]} is not null")
    kept = f" filter (where {' and '.join(conditions)})" if conditions else ""
    over = []
    if case.keys:
        over.append(f"partition by {', '.join(case.keys)}")
    if case.order:
        columns = (
            f"{by.name} {'desc' if by.descending else 'asc'} nulls {'first' if by.nulls_first else 'last'}"
            for by in case.order
        )
        over.append(f"order by {', '.join(columns)}")
    over.append(_frame(aggregate.frame))
    return f"{_NAMES[aggregate.function]}({', '.join(arguments)}){kept} over ({' '.join(over)})"


def _frame(window: CaseFrame) -> str:
    unit = "rows" if window.unit == "trailing" else window.unit
    exclude = f" exclude {window.exclude}" if window.exclude else ""
    return f"{unit} between {_bound(window.start, 'preceding')} and {_bound(window.end, 'following')}{exclude}"


def _bound(bound: Any, unbounded: str) -> str:
    if bound is None:
        return f"unbounded {unbounded}"
    if bound == 0:
        return "current row"
    return f"{abs(bound)} {'preceding' if bound < 0 else 'following'}"


def _value(aggregate: Aggregate, value: Any) -> Any:
    if aggregate.function == "collect_list":
        import json

        return json.loads(value)
    return value
