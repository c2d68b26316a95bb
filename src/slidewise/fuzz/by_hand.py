"""Answers in plain Python, from the rules alone: sorted lists, one row after the other."""

from __future__ import annotations

import decimal
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import and_, or_, xor
from typing import Any

from slidewise.fuzz.cases import Aggregate, By, Case, CaseColumn

#: the answer of an oracle that has none
UNKNOWN = object()


def answers(case: Case) -> list[Any]:
    """Compute the result of every aggregate in every row; UNKNOWN where there is no plain way to tell."""
    if case.slides or case.container in ("pandas", "dict", "polars"):  # which have other values: no NaN, no date64
        return [UNKNOWN for _ in case.aggregates]
    keys = arrange(case)
    with decimal.localcontext(prec=100):
        return [_answer(case, aggregate, keys) for aggregate in case.aggregates]


def _answer(case: Case, aggregate: Aggregate, keys: list[list[int]]) -> list[Any]:
    out: list[Any] = [UNKNOWN] * case.rows
    families = [case.columns[name].family for name in aggregate.arguments]
    function = aggregate.function
    if function not in PLAIN or aggregate.frame.unit == "delta":
        return out
    typed = function in KEEPS_TYPE | COLLECTS
    if function in ("avg", "avg_distinct") and families[0] in ("decimal", "duration"):
        return out
    if "nested" in families and function in ("count_distinct", "collect_set"):
        return _of_nested(case, aggregate, keys)
    for rows in keys:
        for i in range(len(rows)):
            inside = [rows[j] for j in frame(case, aggregate, rows, i)]
            due = i + 1 >= aggregate.frame.min_rows
            out[rows[i]] = result(case, aggregate, inside) if due else None
    if typed or (function == "sum" and families[0] == "duration"):  # the value as Arrow gives it back
        lists = function in COLLECTS or any(isinstance(value, list) for value in out)  # of several fractions
        return _as_arrow(case.columns[aggregate.arguments[0]], out, lists)
    if function in ("sum", "sum_distinct") and families[0] == "decimal":  # some are drawn as whole numbers
        return [decimal.Decimal(value) if isinstance(value, int) else value for value in out]
    return out


#: what tells apart the values of a nested column
_TOLD_APART: dict[str, Callable[[Any], Any]] = {
    "list": lambda v: tuple(v["l"]),
    "texts": lambda v: tuple(v["l"]),
    "times": lambda v: tuple(v["l"]),
    "pair": lambda v: v["p"],
    "struct": lambda v: (v["p"], tuple(v["l"])),
    "map": lambda v: tuple((x, v["p"]) for x in v["l"]),
}


def _of_nested(case: Case, aggregate: Aggregate, keys: list[list[int]]) -> list[Any]:
    """Answer over numbers that stand for the values of a nested column, with those values again in lists."""
    (name,) = aggregate.arguments
    column = case.columns[name]
    numbers: dict[Any, int] = {}
    told_apart = _TOLD_APART[column.kind]
    standing = [None if v is None else numbers.setdefault(told_apart(v), k) for k, v in enumerate(column.values)]
    in_place = replace(case, columns=case.columns | {name: CaseColumn("int", tuple(standing))})
    out = _answer(in_place, aggregate, keys)
    if aggregate.function != "collect_set":
        return out
    values = [None if rows is None else [column.values[k] for k in rows] for rows in out]
    return _as_arrow(column, values, True)


def _as_arrow(column: CaseColumn, values: list[Any], lists: bool) -> list[Any]:
    """Values of a column, or lists of them, as Arrow gives them back."""
    if not lists:
        return list(replace(column, values=tuple(values)).arrow().to_pylist())
    flat = iter(replace(column, values=tuple(v for value in values for v in value or ())).arrow().to_pylist())
    return [None if value is None else [next(flat) for _ in value] for value in values]


# ---- which rows
def arrange(case: Case) -> list[list[int]]:
    """Arrange the rows of each key, in order; ties as they came."""
    keys: dict[Any, list[int]] = {}
    for i in range(case.rows):
        key = tuple(_same(case.columns[name].values[i]) for name in case.keys)
        keys.setdefault(key, []).append(i)
    for rows in keys.values():
        for by in reversed(case.order):
            values = case.columns[by.name].values
            null = [i for i in rows if values[i] is None]
            others = [i for i in rows if values[i] is not None]
            others.sort(key=lambda i: _rank(values[i]), reverse=by.descending)
            rows[:] = null + others if by.nulls_first else others + null
    return list(keys.values())


def _same(value: Any) -> Any:
    """Find what equal values have in common: all NaNs are one, and so are both zeros."""
    return "NaN" if value != value else value + 0.0 if isinstance(value, float) else value


def _rank(value: Any) -> Any:
    """Values of one column in their order, NaN above all."""
    if value is None:
        return ()
    return (1, 0) if value != value else (0, value.encode() if isinstance(value, str) else value)


def frame(case: Case, aggregate: Aggregate, rows: list[int], i: int) -> list[int]:
    """Find the places, among the rows of the key, of the rows in the frame of place i."""
    window = aggregate.frame
    start, end = (case.columns[b].values[rows[i]] if isinstance(b, str) else b for b in (window.start, window.end))
    order = [tuple(_rank(case.columns[by.name].values[row]) for by in case.order) for row in rows]
    if window.unit == "punctuation":  # a mark ends its window
        marks = [j for j in range(i) if case.columns["w"].values[rows[j]]]
        return list(range(marks[-1] + 1 if marks else 0, i + 1))
    if window.unit == "session":
        return _by_session(case, rows, i, order, -start)
    inside = {"rows": _by_rows, "trailing": _by_rows, "groups": _by_groups, "range": _by_range}[window.unit]
    chosen = inside(case, rows, i, order, start, end, window.closed or "both")
    if window.exclude == "current row":
        return [j for j in chosen if j != i]
    if window.exclude is not None:
        return [j for j in chosen if order[j] != order[i] or (window.exclude == "ties" and j == i)]
    return chosen


def _by_rows(case: Case, rows: list[int], i: int, order: list[Any], start: Any, end: Any, closed: str) -> list[int]:
    return [j for j in range(len(rows)) if (start is None or j >= i + start) and (end is None or j <= i + end)]


def _by_groups(case: Case, rows: list[int], i: int, order: list[Any], start: Any, end: Any, closed: str) -> list[int]:
    group = [0]
    for j in range(1, len(rows)):
        group.append(group[-1] + (order[j] != order[j - 1]))
    own = group[i]
    return [j for j, g in enumerate(group) if (start is None or g >= own + start) and (end is None or g <= own + end)]


def _by_range(case: Case, rows: list[int], i: int, order: list[Any], start: Any, end: Any, closed: str) -> list[int]:
    if order[i] == ((),) or (start in (None, 0) and end in (None, 0) and closed == "both"):  # peers are all that counts
        first, last = order.index(order[i]), len(order) - 1 - order[::-1].index(order[i])
        return [j for j in range(len(rows)) if (start is None or j >= first) and (end is None or j <= last)]
    by, values = case.order[0], case.columns[case.order[0].name].values

    def place(j: int) -> Any:
        return None if values[rows[j]] is None else _along(values[rows[j]], by)

    def move(by_how_much: Any) -> Any:
        own = values[rows[i]]
        shift = by_how_much and (-by_how_much if by.descending else by_how_much)
        return _along(own + shift if shift else own, by)

    chosen = []
    for j in range(len(rows)):
        at = place(j)
        after = start is None or (
            not by.nulls_first if at is None else _beyond(at, move(start), closed in ("both", "left"))
        )
        before = end is None or (by.nulls_first if at is None else _beyond(move(end), at, closed in ("both", "right")))
        if after and before:
            chosen.append(j)
    return chosen


def _by_session(case: Case, rows: list[int], i: int, order: list[Any], gap: Any) -> list[int]:
    """Go back from the row's last peer, as long as the row before is at most the gap away."""
    last = len(order) - 1 - order[::-1].index(order[i])
    first = order.index(order[i])
    by, values = case.order[0], case.columns[case.order[0].name].values
    while first > 0:
        own, before = values[rows[first]], values[rows[first - 1]]
        if order[first] != order[first - 1]:
            if own is None or before is None:
                break
            if _beyond(_along(own, by), _along(before + (-gap if by.descending else gap), by), or_at=False):
                break
        first -= 1
    return list(range(first, last + 1))


def _along(value: Any, by: By) -> Any:
    """Find a value's place along the order: (NaN or not, value), turned around where descending."""
    nan, number = _rank(value)
    return (-nan, -number) if by.descending and not isinstance(number, bytes) else (nan, number)


def _beyond(a: Any, b: Any, or_at: bool) -> bool:
    return bool(a >= b if or_at else a > b)


# ---- results
def result(case: Case, aggregate: Aggregate, rows: list[int]) -> Any:
    """Compute the aggregate over some rows of the table."""
    if aggregate.where is not None:
        rows = [i for i in rows if case.columns[aggregate.where].values[i]]
    values: list[Any] = [tuple(case.columns[name].values[i] for name in aggregate.arguments) for i in rows]
    parameters = dict(aggregate.parameters)
    keeps_nulls = aggregate.function in ("first", "last", "nth_value") and not parameters.pop("ignore_nulls", False)
    needed = {"max_by": (1,), "min_by": (1,)}.get(aggregate.function, range(len(aggregate.arguments)))
    if not keeps_nulls:
        values = [v for v in values if all(v[k] is not None for k in needed)]
    if aggregate.function in IN_FLOATS:
        values = [tuple(float(x) if isinstance(x, decimal.Decimal) else x for x in v) for v in values]
    if len(aggregate.arguments) == 1:
        values = [v[0] for v in values]
    return PLAIN[aggregate.function](values, *parameters.values())


def _if_any(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda values, *more: function(values, *more) if values else None


def _central(values: list[Any], k: int) -> float:
    if not all(math.isfinite(v) for v in values):
        return math.nan
    mean = math.fsum(values) / len(values)
    return math.fsum((v - mean) ** k for v in values)


def _variance(values: list[Any], less: int) -> float | None:
    return _central(values, 2) / (len(values) - less) if len(values) > less else None


def _root(value: float | None) -> float | None:
    return None if value is None else math.sqrt(value)


def _skewness(values: list[Any]) -> float | None:
    m2 = _central(values, 2)
    return None if m2 == 0 else math.sqrt(len(values)) * _central(values, 3) / m2**1.5


def _kurtosis(values: list[Any]) -> float | None:
    m2 = _central(values, 2)
    return None if m2 == 0 else len(values) * _central(values, 4) / m2**2 - 3


def _percentile(values: list[Any], q: Any) -> Any:
    if isinstance(q, tuple):
        return [_percentile(values, each) for each in q]
    values = sorted(values, key=_rank)
    k = math.floor(q * (len(values) - 1))
    share = q * (len(values) - 1) - k
    return float(
        values[k] if share == 0 or values[k] == values[k + 1] else values[k] * (1 - share) + values[k + 1] * share
    )


def _percentile_disc(values: list[Any], q: Any) -> Any:
    if isinstance(q, tuple):
        return [_percentile_disc(values, each) for each in q]
    return sorted(values, key=_rank)[max(0, math.ceil(q * len(values)) - 1)]


def _distinct(values: list[Any]) -> list[Any]:
    return list({_same(v): v for v in values}.values())


def _products(pairs: list[Any], first: int, second: int) -> float:
    """Sum the products of deviations of two parts of pairs; NaN where one is not finite."""
    a, b = ([pair[k] for pair in pairs] for k in (first, second))
    if not all(map(math.isfinite, a + b)):
        return math.nan
    mean_a, mean_b = (math.fsum(values) / len(values) for values in (a, b))
    return math.fsum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))


def _line(pairs: list[Any]) -> tuple[float, float] | None:
    """Fit the slope and the intercept of y, the first of each pair, as a function of x."""
    sxx = _products(pairs, 1, 1)
    if sxx == 0:
        return None
    slope = _products(pairs, 0, 1) / sxx
    y, x = (sum(pair[k] for pair in pairs) / len(pairs) for k in (0, 1))
    return slope, y - slope * x


def _share(pairs: list[Any]) -> float | None:
    sxx, syy = _products(pairs, 1, 1), _products(pairs, 0, 0)
    if sxx == 0:
        return None
    return 1.0 if syy == 0 else _products(pairs, 0, 1) ** 2 / sxx / syy


def _mode(values: list[Any]) -> Any:
    counts = Counter(_same(v) for v in values)
    most = max(counts.values())
    return min((v for v in values if counts[_same(v)] == most), key=_rank)


def _best(pairs: list[Any], sign: int) -> Any:
    best = pairs[0]
    for pair in pairs[1:]:
        a, b = _rank(pair[1]), _rank(best[1])
        if (a > b) if sign > 0 else (a < b):
            best = pair
    return best[0]


def _add_up(values: list[Any]) -> Any:
    return sum(values[1:], values[0])


PLAIN: dict[str, Callable[..., Any]] = {
    "count": len,
    "sum": _if_any(_add_up),
    "avg": _if_any(lambda values: _add_up(values) / len(values)),
    "min": _if_any(lambda values: min(values, key=_rank)),
    "max": _if_any(lambda values: max(values, key=_rank)),
    "first": _if_any(lambda values: values[0]),
    "last": _if_any(lambda values: values[-1]),
    "nth_value": lambda values, n: values[n - 1] if len(values) >= n else None,
    "collect_list": lambda values: values,
    "collect_set": lambda values: [math.nan if v == "NaN" else v for v in dict.fromkeys(map(_same, values))],
    "string_agg": _if_any(lambda values, delimiter: delimiter.join(values)),
    "stddev": _if_any(lambda values: _root(_variance(values, 1))),
    "stddev_pop": _if_any(lambda values: _root(_variance(values, 0))),
    "var_samp": _if_any(lambda values: _variance(values, 1)),
    "var_pop": _if_any(lambda values: _variance(values, 0)),
    "skewness": _if_any(_skewness),
    "kurtosis": _if_any(_kurtosis),
    "median": _if_any(lambda values: _percentile(values, 0.5)),
    "percentile": _if_any(_percentile),
    "percentile_disc": _if_any(_percentile_disc),
    "sum_distinct": _if_any(lambda values: _add_up(_distinct(values))),
    "avg_distinct": _if_any(lambda values: _add_up(_distinct(values)) / len(_distinct(values))),
    "covar_samp": lambda pairs: _products(pairs, 0, 1) / (len(pairs) - 1) if len(pairs) > 1 else None,
    "covar_pop": _if_any(lambda pairs: _products(pairs, 0, 1) / len(pairs)),
    "regr_count": len,
    "regr_avgx": _if_any(lambda pairs: _add_up([float(x) for _, x in pairs]) / len(pairs)),
    "regr_avgy": _if_any(lambda pairs: _add_up([float(y) for y, _ in pairs]) / len(pairs)),
    "regr_sxx": _if_any(lambda pairs: _products(pairs, 1, 1)),
    "regr_syy": _if_any(lambda pairs: _products(pairs, 0, 0)),
    "regr_sxy": _if_any(lambda pairs: _products(pairs, 0, 1)),
    "regr_slope": _if_any(lambda pairs: (_line(pairs) or (None, None))[0]),
    "regr_intercept": _if_any(lambda pairs: (_line(pairs) or (None, None))[1]),
    "regr_r2": _if_any(_share),
    "nth_smallest": lambda values, n: sorted(values, key=_rank)[n - 1] if len(values) >= n else None,
    "count_distinct": lambda values: len({_same(v) for v in values}),
    "mode": _if_any(_mode),
    "max_by": _if_any(lambda pairs: _best(pairs, 1)),
    "min_by": _if_any(lambda pairs: _best(pairs, -1)),
    "max_count": _if_any(lambda values: sum(_rank(v) == max(map(_rank, values)) for v in values)),
    "min_count": _if_any(lambda values: sum(_rank(v) == min(map(_rank, values)) for v in values)),
    "bool_and": _if_any(all),
    "bool_or": _if_any(any),
    "bit_and": _if_any(lambda values: reduce(and_, values)),
    "bit_or": _if_any(lambda values: reduce(or_, values)),
    "bit_xor": _if_any(lambda values: reduce(xor, values)),
}
#: results that are computed in floats, whatever the numbers are
IN_FLOATS = {
    "stddev", "stddev_pop", "var_samp", "var_pop", "skewness", "kurtosis", "median", "percentile", "covar_samp",
    "covar_pop", *(name for name in PLAIN if name.startswith("regr_")),
}  # fmt: skip
#: results that are lists of values of the first column
COLLECTS = {"collect_list", "collect_set"}
#: results that are values of the first column
KEEPS_TYPE = {"min", "max", "first", "last", "nth_value", "percentile_disc", "nth_smallest", "mode", "max_by", "min_by"}
