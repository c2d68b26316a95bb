"""From a window call to an aggregation and a frame of slidewise.

A call that slidewise has no aggregation for is Spark's: `aggregation` gives None. Expressions in calls become columns
of the SELECT below, by `column(expression)`, which gives their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from slidewise import aggregations as agg
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.bloom_filters import BloomFilter
from slidewise.aggregations.moment_sketches import MomentSketch
from slidewise.errors import InvalidInput
from slidewise.spark.sql.calls import Bound, FrameClause, Ordered, Spec, WindowCall
from slidewise.spark.sql.query_text import Derived, QueryText, Span
from slidewise.windows.definitions import Between, col, groups_between, range_between, rows_between
from slidewise.windows.durations import CalendarDuration, Duration, duration
from slidewise.windows.reach import UNBOUNDED, crosses

#: the name of the column that an expression becomes
Column = Callable[[Span | Derived], str]
Make = Callable[..., Aggregation]
#: what makes an aggregation, its columns, and its parameters
Recipe = tuple[Make, list[Span | Derived], dict[str, Any]]

_ONE_COLUMN: dict[str, Make] = {
    "any": agg.bool_or,
    "array_agg": agg.collect_list,
    "avg": agg.avg,
    "bit_and": agg.bit_and,
    "bit_or": agg.bit_or,
    "bit_xor": agg.bit_xor,
    "bool_and": agg.bool_and,
    "bool_or": agg.bool_or,
    "collect_list": agg.collect_list,
    "collect_set": agg.collect_set,
    "count_distinct": agg.count_distinct,
    "every": agg.bool_and,
    "geomean": agg.geomean,
    "kurtosis": agg.kurtosis,
    "m4": agg.m4,
    "max": agg.max,
    "max_count": agg.max_count,
    "mean": agg.avg,
    "median": agg.median,
    "min": agg.min,
    "min_count": agg.min_count,
    "mode": agg.mode,
    "nunique": agg.count_distinct,
    "product": agg.product,
    "relative_variation": agg.relative_variation,
    "skewness": agg.skewness,
    "some": agg.bool_or,
    "std": agg.stddev,
    "stddev": agg.stddev,
    "stddev_pop": agg.stddev_pop,
    "stddev_samp": agg.stddev,
    "sum": agg.sum,
    "var_pop": agg.var_pop,
    "var_samp": agg.var_samp,
    "variance": agg.var_samp,
}
_TWO_COLUMNS: dict[str, Make] = {
    "corr": agg.corr,
    "covar_pop": agg.covar_pop,
    "covar_samp": agg.covar_samp,
    "m4": agg.m4,
    "max_by": agg.max_by,
    "min_by": agg.min_by,
    "regr_count": agg.regr_count,
    "regr_intercept": agg.regr_intercept,
    "regr_r2": agg.regr_r2,
    "regr_slope": agg.regr_slope,
    "regr_sxx": agg.regr_sxx,
    "regr_sxy": agg.regr_sxy,
    "regr_syy": agg.regr_syy,
}
_POSITIONS: dict[str, Make] = {
    "any_value": agg.first,
    "first": agg.first,
    "first_value": agg.first,
    "last": agg.last,
    "last_value": agg.last,
}
#: a column and then literals or arrays of them, the names of which are given; approximate functions are exact, as in
#: spark.functions
_WITH_PARAMETERS: dict[str, tuple[Make, tuple[str, ...]]] = {
    "approx_count_distinct": (lambda column, rsd=0.05, **more: agg.count_distinct(column, **more), ("rsd",)),
    "approx_percentile": (
        lambda column, fraction, accuracy=0, **more: agg.percentile_disc(column, fraction, **more),
        ("fraction", "accuracy"),
    ),
    "bloom_filter": (BloomFilter, ("bits", "hashes", "contains")),
    "count_min_sketch": (agg.count_min_sketch, ("eps", "confidence", "seed", "counts_of")),
    "listagg": (agg.string_agg, ("delimiter",)),
    "moment_sketch": (MomentSketch, ("order", "percentiles")),
    "nth_smallest": (agg.nth_smallest, ("n",)),
    "percentile": (agg.percentile, ("fraction",)),
    "percentile_disc": (agg.percentile_disc, ("fraction",)),
    "quantile": (agg.percentile, ("fraction",)),
    "string_agg": (agg.string_agg, ("delimiter",)),
}
#: those that may stand in a list, or be a column's
_LISTED = {"fraction", "contains", "counts_of", "percentiles"}
_OF_ROWS = {"percentile", "percentile_disc", "quantile"}
_WITH_PARAMETERS["percentile_approx"] = _WITH_PARAMETERS["approx_percentile"]

#: Spark's functions of a row's place among all rows of its partition
_FRAMELESS = {"cume_dist", "dense_rank", "lag", "lead", "ntile", "percent_rank", "rank", "row_number"}
#: those of distinct values
_OF_DISTINCT: dict[str, Make] = {"avg": agg.avg_distinct, "mean": agg.avg_distinct, "sum": agg.sum_distinct}
_JOINING = {"listagg", "string_agg"}
_COLLECTING = {"array_agg", "collect_list", "collect_set", *_JOINING}
#: DISTINCT changes nothing for these
_SAME_IF_DISTINCT = {"any", "bit_and", "bit_or", "bool_and", "bool_or", "collect_set", "every", "max", "min", "some"}
_TAKE_DISTINCT = {"count", *_OF_DISTINCT, *_COLLECTING, *_SAME_IF_DISTINCT}


# ---- aggregations
def translate_aggregation(source: QueryText, call: WindowCall, column: Column) -> Aggregation | None:
    """Translate a call to its aggregation, bound to columns; None: the call is Spark's. `finish_call` does the rest."""
    made = _find_recipe(source, call)
    if made is None:
        return None
    if call.distinct is not None and call.name not in _TAKE_DISTINCT:
        *most, last = sorted(_TAKE_DISTINCT - _SAME_IF_DISTINCT)
        raise source.build_error(
            call.distinct, f"{call.name}(DISTINCT ...) over a window: {', '.join(most)} and {last} take DISTINCT there"
        )
    make, arguments, parameters = made
    parameters = {name: col(column(x)) if isinstance(x, Span) else x for name, x in parameters.items()}
    if call.where is not None:
        parameters["where"] = column(call.where)
    try:
        return make(*(column(a) for a in arguments), **parameters)
    except InvalidInput as error:
        raise source.build_error(call.span, str(error)) from None


def _find_recipe(source: QueryText, call: WindowCall) -> Recipe | None:
    """Find what makes the aggregation, its columns, and its parameters; None for a form that only Spark may know."""
    name, arguments = call.name, list(call.arguments)
    parameters: dict[str, Any] = {}
    if name in _COLLECTING and (call.within or call.distinct is not None):
        return _translate_collect(source, call)
    if call.distinct is not None and name in _OF_DISTINCT and len(arguments) == 1:
        return _OF_DISTINCT[name], [*arguments], parameters
    if call.within:
        return _translate_within_group(source, call)
    if name in _POSITIONS or name == "nth_value":
        return _translate_position(source, call)
    if call.nulls is not None:
        return None
    if name == "count":
        return _translate_count(source, call)
    if name == "count_if" and len(arguments) == 1:
        condition = f"coalesce({source.write(arguments[0])}, false)"  # of NULL, too, which is of no type
        return agg.count, [Derived(f"CASE WHEN {condition} THEN 1 END", call.arguments)], parameters
    if name == "mode" and len(arguments) == 2 and isinstance(read_literal(source, arguments[1]), bool):
        return agg.mode, [arguments[0]], parameters
    if name in ("regr_avgx", "regr_avgy") and len(arguments) == 2:  # as Spark: avg has more types
        y, x = (f"({source.write(a)})" for a in arguments)
        mean, other = (x, y) if name == "regr_avgx" else (y, x)
        return agg.avg, [Derived(f"CASE WHEN {other} IS NOT NULL THEN {mean} END", call.arguments)], parameters
    if name in _ONE_COLUMN and len(arguments) == 1:
        return _ONE_COLUMN[name], [*arguments], parameters
    if name in _TWO_COLUMNS and len(arguments) == 2:
        return _TWO_COLUMNS[name], [*arguments], parameters
    if name == "ewm_avg" and len(arguments) == 3:
        half_life = read_literal(source, arguments[2])
        return None if half_life is None else (agg.ewm_avg, [*arguments[:2]], {"half_life": half_life})
    if name in _WITH_PARAMETERS and arguments:
        make, names = _WITH_PARAMETERS[name]
        if len(arguments) > 1 + len(names):
            return None
        given = dict(zip(names, arguments[1:], strict=False))
        values: dict[str, Any] = {each: read_literal(source, span) for each, span in given.items()}
        for each in _LISTED.intersection(values):
            if values[each] is None:
                values[each] = _read_list(source, given[each])
        if name in _OF_ROWS and len(arguments) == 2 and values["fraction"] is None and _is_column(source, arguments[1]):
            values["fraction"] = arguments[1]  # as every row has it, where Spark takes constants only
        return None if None in values.values() else (make, [arguments[0]], values)
    return None


def _translate_count(source: QueryText, call: WindowCall) -> Recipe | None:
    arguments = call.arguments
    star = next((a for a in arguments if source.word(a.end - 1) == "*"), None)
    if star is not None and (call.distinct is not None or source.raw(star) != "*"):
        raise source.build_error(star, "a star in count stands for all columns here: name those that are to be counted")
    if call.distinct is not None:
        if not arguments:
            return None
        if len(arguments) > 1:  # a row counts where none of them is null
            texts = [f"({source.write(a)})" for a in arguments]
            complete = " AND ".join(f"{text} IS NOT NULL" for text in texts)
            fields = ", ".join(f"{text} AS c{k}" for k, text in enumerate(texts))
            return agg.count_distinct, [Derived(f"CASE WHEN {complete} THEN struct({fields}) END", arguments)], {}
        return agg.count_distinct, [arguments[0]], {}
    if len(arguments) == 1:
        one = arguments[0]
        constant = source.raw(one) == "*" or read_literal(source, one) is not None
        return agg.count, [] if constant else [one], {}
    if arguments:
        complete = " AND ".join(f"({source.write(a)}) IS NOT NULL" for a in arguments)
        return agg.count, [Derived(f"CASE WHEN {complete} THEN 1 END", arguments)], {}
    return None


def _translate_position(source: QueryText, call: WindowCall) -> Recipe | None:
    arguments = call.arguments
    nth = call.name == "nth_value"
    fixed = 2 if nth else 1
    if not fixed <= len(arguments) <= fixed + 1:
        return None
    ignore: Any = read_literal(source, arguments[fixed]) if len(arguments) > fixed else False
    if not isinstance(ignore, bool):
        return None
    parameters: dict[str, Any] = {"ignore_nulls": ignore or call.nulls == "IGNORE"}
    if not nth:
        return _POSITIONS[call.name], [arguments[0]], parameters
    n = read_literal(source, arguments[1])
    return (agg.nth_value, [arguments[0]], {"n": n, **parameters}) if n is not None else None


def _translate_collect(source: QueryText, call: WindowCall) -> Recipe | None:
    """Translate a call that collects values, each once or in an order of their own; `finish_call` sorts them."""
    name, arguments = call.name, call.arguments
    joins = name in _JOINING
    if not 1 <= len(arguments) <= 1 + joins or call.nulls is not None:
        return None
    if joins and not _is_distinct(call) and _takes_spark_order(source, call):
        return None
    if len(arguments) == 2 and not isinstance(read_literal(source, arguments[1]), str):
        return None
    if not _is_distinct(call):
        value = f"({source.write(arguments[0])})"
        order = ", ".join(f"({source.write(by.expression)}) AS o{k}" for k, by in enumerate(call.within))
        text = f"CASE WHEN {value} IS NOT NULL THEN struct({value} AS v, {order}) END"
        return agg.collect_list, [Derived(text, (arguments[0], *(by.expression for by in call.within)))], {}
    if call.within and [source.build_key(by.expression) for by in call.within] != [source.build_key(arguments[0])]:
        raise source.build_error(
            call.within[0].expression,
            f"{name} of distinct values has no row to take the order from: they are ordered by themselves only",
        )
    return agg.collect_set, [arguments[0]], {}


def _takes_spark_order(source: QueryText, call: WindowCall) -> bool:
    """Tell whether Spark itself takes an order here: WITHIN GROUP, over all rows of a partition. It joins bytes too."""
    at = call.within[0].expression.first - 3
    whole = call.spec.base is None and not call.spec.order and call.spec.frame is None
    return whole and source.word(at) == "GROUP" and source.word(at + 1) == "("


def _is_distinct(call: WindowCall) -> bool:
    return call.distinct is not None or call.name == "collect_set"


def finish_call(source: QueryText, call: WindowCall, column: str) -> str:
    """Write what replaces a call in the outer SELECT, over the column of its aggregation: mostly that column."""
    if call.name not in _COLLECTING or not (call.within or call.distinct is not None):
        return column
    listed = column
    if call.within and _is_distinct(call):
        listed = f"array_sort({column}, (l, r) -> {_write_comparison([('l', 'r')], call.within)})"
    elif call.within:
        keys = [(f"l.o{k}", f"r.o{k}") for k in range(len(call.within))]
        listed = f"transform(array_sort({column}, (l, r) -> {_write_comparison(keys, call.within)}), e -> e.v)"
    if call.name not in _JOINING:
        return listed
    delimiter = source.write(call.arguments[1]) if len(call.arguments) == 2 else "''"
    return f"CASE WHEN size({column}) > 0 THEN array_join({listed}, {delimiter}) END"


def _write_comparison(keys: list[tuple[str, str]], order: tuple[Ordered, ...]) -> str:
    """Write a comparison of two values as Spark SQL: below 0 where the left is first. Equal ones keep their order."""
    text = "0"
    for (left, right), by in reversed(list(zip(keys, order, strict=True))):
        lower = 1 if by.descending else -1
        null_first = (not by.descending) if by.nulls_first is None else by.nulls_first
        null = -1 if null_first else 1
        text = (
            f"CASE WHEN {left} IS NULL AND {right} IS NULL THEN {text} WHEN {left} IS NULL THEN {null} "
            f"WHEN {right} IS NULL THEN {-null} WHEN {left} < {right} THEN {lower} WHEN {left} > {right} THEN {-lower} "
            f"ELSE {text} END"
        )
    return text


def _translate_within_group(source: QueryText, call: WindowCall) -> Recipe | None:
    """Translate percentile_cont(q) WITHIN GROUP (ORDER BY x), percentile_disc, and mode()."""
    if len(call.within) != 1 or call.nulls is not None:
        return None
    by = call.within[0]
    if call.name == "mode" and not call.arguments and not by.descending:
        return agg.mode, [by.expression], {}
    if call.name not in ("percentile_cont", "percentile_disc") or len(call.arguments) != 1:
        return None
    given = read_literal(source, call.arguments[0])
    fractions: Any = _read_list(source, call.arguments[0]) if given is None else given
    if not all(isinstance(q, int | float) for q in (fractions if isinstance(fractions, list) else [fractions])):
        return None
    if call.name == "percentile_disc":
        return None if by.descending else (agg.percentile_disc, [by.expression], {"fraction": fractions})
    if by.descending:
        fractions = [1 - q for q in fractions] if isinstance(fractions, list) else 1 - fractions
    return agg.percentile, [by.expression], {"fraction": fractions}


def _read_list(source: QueryText, span: Span) -> list[Any] | None:
    """Read the literals of array(0.25, 0.5); None for anything else."""
    if source.word(span.first) != "ARRAY" or source.skip(span.first + 1) != span.end:
        return None
    values = [read_literal(source, part) for part in source.split(Span(span.first + 2, span.end - 1))]
    return values if values and None not in values else None


def _is_column(source: QueryText, span: Span) -> bool:
    """Tell whether an expression is the name of a column, with or without that of its table."""
    return all(source.is_name(i) if k % 2 == 0 else source.word(i) == "." for k, i in enumerate(range(*span)))


_NUMBER = re.compile(r"(\d+|\d+\.\d*|\.\d+|\d+(?:\.\d*)?e[+-]?\d+|\.\d+e[+-]?\d+)(l|s|y|d|f|bd)?", re.IGNORECASE)


def read_literal(source: QueryText, span: Span) -> int | float | str | bool | None:
    """Read the value of a literal, or of a :name that stands for one; None for anything else."""
    words = [source.word(i) for i in range(*span)]
    if words[:1] == [":"] and len(words) == 2:
        given = source.arguments.get(source.raw(Span(span.end - 1, span.end)))
        return given if isinstance(given, int | float | str) else None
    if words in (["TRUE"], ["FALSE"]):
        return words == ["TRUE"]
    if len(words) == 1 and source.tokens[span.first].kind == "STRING":
        text = source.raw(span)
        return text[1:-1] if "\\" not in text and text[0] not in text[1:-1] else None
    negative = words[:1] == ["-"]
    number = _NUMBER.fullmatch(words[-1]) if len(words) == 1 + negative else None
    if number is None:
        return None
    whole = number[1].isdigit() and (number[2] or "").lower() in ("", "l", "s", "y")
    value = int(number[1]) if whole else float(number[1])
    return -value if negative else value


# ---- frames
def translate_frame(source: QueryText, spec: Spec, column: Column) -> Between:
    """Translate the frame of a spec; SQL's default where it has none.

    Constant bounds that cross give empty frames, as in PostgreSQL: 2 PRECEDING to 4 PRECEDING; and as in Spark, which
    refuses these, where one of them is CURRENT ROW. From FOLLOWING to PRECEDING is an error in both. (By RANGE, a row
    whose order is null has its peers as its frame even then.)
    """
    given = spec.frame
    if given is None:
        return range_between(-UNBOUNDED, 0) if spec.order else rows_between(-UNBOUNDED, UNBOUNDED)
    if given.unit == "RANGE" and (given.start.offset or given.end.offset) and len(spec.order) != 1:
        raise source.build_error(
            given.span, f"RANGE with an offset measures along one ORDER BY expression, and there are {len(spec.order)}"
        )
    if given.unit == "GROUPS" and not spec.order:
        raise source.build_error(given.span, "GROUPS counts groups of rows of equal order, and there is no ORDER BY")
    between = {"ROWS": rows_between, "RANGE": range_between, "GROUPS": groups_between}[given.unit]
    try:
        start, end = (_translate_offset(source, given, bound, column) for bound in (given.start, given.end))
        if crosses(start, end) and not (given.start.following and given.end.preceding):
            turned = between(end, start, exclude=given.exclude)  # type: ignore[arg-type]
            return replace(turned, start=turned.end, end=turned.start)
        return between(start, end, exclude=given.exclude)  # type: ignore[arg-type]
    except InvalidInput as error:
        raise source.place_error(error, given.span) from None


def drop_frame(call: WindowCall, spec: Spec) -> Spec:
    """Drop the frame of a function by rank or position, to which it means nothing: PostgreSQL and DuckDB ignore it, and
    Spark takes no other than its own."""
    if call.name not in _FRAMELESS or spec.frame is None:
        return spec
    return replace(spec, frame=None, words=tuple(part for part in spec.words if part != spec.frame.span))


def find_beyond_spark(spec: Spec) -> tuple[Span, str] | None:
    """Find what a spec has that Spark's own windows do not, and where it stands."""
    given = spec.frame
    if given is None:
        return None
    if given.unit == "GROUPS":
        return Span(given.span.first, given.span.first + 1), "GROUPS"
    if given.exclude is not None and given.exclude_span is not None:
        return given.exclude_span, "EXCLUDE"
    return None


def _translate_offset(source: QueryText, given: FrameClause, bound: Bound, column: Column) -> Any:
    if bound.unbounded:
        return UNBOUNDED if bound.following else -UNBOUNDED
    if bound.offset is None:
        return 0
    value = read_constant(source, bound.offset)
    if value is None and source.word(bound.offset.first) == "NULL":
        raise build_null_offset_error(source, bound.offset)
    if value is None:
        text = source.write(bound.offset)
        return col(column(bound.offset if bound.following else Derived(f"-({text})", (bound.offset,))))
    if isinstance(value, str | bool) or (given.unit != "RANGE" and not isinstance(value, int)):
        raise build_wrong_offset_error(source, given, bound.offset)
    return value if bound.following else -value


def build_null_offset_error(source: QueryText, offset: Span) -> InvalidInput:
    """Build the error for a bound that is null."""
    return source.build_error(offset, "a bound of a frame is NULL, and no row is so far away")


def build_wrong_offset_error(source: QueryText, given: FrameClause, offset: Span, kind: str = "") -> InvalidInput:
    """Build the error for a bound that is nothing to count by, of a kind."""
    wanted = "a number or an INTERVAL" if given.unit == "RANGE" else f"a whole number of {given.unit.lower()}"
    found = f", and this is of {kind}" if kind else ""
    return source.build_error(offset, f"an offset of {given.unit} is {wanted}{found}")


def read_constant(source: QueryText, span: Span) -> int | float | str | bool | Duration | CalendarDuration | None:
    """Read a literal, or the length that an INTERVAL is; None for an expression."""
    negative = source.word(span.first) == "-"
    first = span.first + negative
    if source.word(first) != "INTERVAL":
        return read_literal(source, span)
    text = _read_interval(source, Span(first + 1, span.end))
    if text is None:
        return None
    try:
        length = duration(text)
    except InvalidInput as error:
        raise source.build_error(span, str(error)) from None
    return -length if negative else length


_UNIT = re.compile(r"(YEAR|MONTH|WEEK|DAY|HOUR|MINUTE|SECOND|MILLISECOND|MICROSECOND)S?")


def _read_interval(source: QueryText, span: Span) -> str | None:
    """Read an interval as the text of a duration: '1' HOUR 30 MINUTES, '1 hour 30 minutes', '1:30' HOUR TO MINUTE."""
    words = [source.word(i) for i in range(*span)]
    if len(words) == 1:
        value = read_literal(source, span)
        return value if isinstance(value, str) else None
    if len(words) == 4 and words[2] == "TO":
        value = read_literal(source, Span(span.first, span.first + 1))
        return _read_from_to(value, words[1], words[3]) if isinstance(value, str) else None
    parts: list[str] = []
    i, negative = span.first, False
    while i < span.end:
        signed = source.word(i) == "-"
        value = read_literal(source, Span(i, i + 1 + signed))
        unit = _UNIT.fullmatch(source.word(i + 1 + signed))
        if value is None or isinstance(value, bool) or unit is None:
            return None
        number = str(value).strip()
        if number.startswith("-"):
            if parts:
                return None  # lengths of both signs: Spark adds them up
            negative, number = True, number[1:]
        elif negative:
            return None
        parts.append(f"{number} {unit[1].lower()}")
        i += 2 + signed
    return "-" * negative + " ".join(parts)


#: what the parts of an interval from one unit to another are called, by how many of them there are
_FIELDS = ("YEAR", "MONTH"), ("DAY", "HOUR", "MINUTE", "SECOND")


def _read_from_to(text: str, first: str, last: str) -> str | None:
    """Read '1-6' YEAR TO MONTH, or '2 03:04:05.6' DAY TO SECOND."""
    for fields in _FIELDS:
        if first in fields and last in fields:
            units = fields[fields.index(first) : fields.index(last) + 1]
            negative = text.strip().startswith("-")
            numbers = re.split(r"[\s:-]+", text.strip().lstrip("+-"))
            if len(numbers) == len(units):
                return "-" * negative + " ".join(f"{n} {u.lower()}" for n, u in zip(numbers, units, strict=True))
    return None
