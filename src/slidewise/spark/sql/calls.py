"""Window calls of a query: `f(x) FILTER (WHERE ...) OVER (PARTITION BY ... ORDER BY ... ROWS ...)`, by their tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from slidewise.spark.sql.query_text import CLAUSES, QueryText, Span

_PARTITION = ("PARTITION BY", "DISTRIBUTE BY", "CLUSTER BY")  # to Spark, all of them are PARTITION BY in a window
_ORDER = ("ORDER BY", "SORT BY")
_UNITS = ("ROWS", "RANGE", "GROUPS")


@dataclass(frozen=True)
class Ordered:
    """An expression to order by."""

    expression: Span
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True)
class Bound:
    """One end of a frame; the offset is an expression, or None for the current row or no bound."""

    span: Span
    unbounded: bool = False
    offset: Span | None = None
    following: bool = False

    @property
    def preceding(self) -> bool:
        return self.offset is not None and not self.following


@dataclass(frozen=True)
class FrameClause:
    """ROWS, RANGE or GROUPS between two bounds."""

    span: Span
    unit: Literal["ROWS", "RANGE", "GROUPS"]
    start: Bound
    end: Bound
    exclude: str | None = None
    exclude_span: Span | None = None


@dataclass(frozen=True)
class Spec:
    """What stands behind OVER, or is named in a WINDOW clause."""

    span: Span
    base: str | None = None
    partition: tuple[Span, ...] = ()
    order: tuple[Ordered, ...] = ()
    frame: FrameClause | None = None
    #: the words of each part, for Spark, which cannot refine a named window
    words: tuple[Span, ...] = ()


@dataclass(frozen=True)
class WindowCall:
    """One function over one window."""

    span: Span
    #: the function's own name, in small letters; with its dots where it has a schema
    name: str
    spec: Spec
    over: int
    arguments: tuple[Span, ...] = ()
    distinct: Span | None = None
    where: Span | None = None
    #: WITHIN GROUP (ORDER BY ...), or ORDER BY among the arguments
    within: tuple[Ordered, ...] = ()
    nulls: str | None = None


# ---- calls
def find_calls(source: QueryText) -> list[WindowCall]:
    """Find every window call of the query, as it stands."""
    return [
        call
        for i, token in enumerate(source.tokens)
        if token.word == "OVER" and (call := _read_call(source, i)) is not None
    ]


def _read_call(source: QueryText, over: int) -> WindowCall | None:
    """Read the call whose OVER is here; None where the word means something else."""
    behind = source.word(over + 1)
    if behind != "(" and (not source.is_name(over + 1) or behind in CLAUSES):  # f(x) AS over FROM
        return None
    i, nulls = over - 1, None
    if source.word(i) == "NULLS" and source.word(i - 1) in ("IGNORE", "RESPECT"):
        nulls, i = source.word(i - 1), i - 2
    where: Span | None = None
    within: tuple[Ordered, ...] = ()
    if source.word(i) == ")" and source.word(source.partner[i] - 1) == "FILTER":
        opened = source.partner[i]
        if source.word(opened + 1) == "WHERE":
            where, i = Span(opened + 2, i), opened - 2
    if source.word(i) == ")":
        opened = source.partner[i]
        if source.word(opened - 1) == "GROUP" and source.word(opened - 2) == "WITHIN":
            within, i = read_ordering(source, Span(opened + 2, i)), opened - 3
    if source.word(i) != ")":
        return None
    opened = source.partner[i]
    first = opened - 1
    if not source.is_name(first):
        return None
    while source.word(first - 1) == "." and source.is_name(first - 2):
        first -= 2
    listed, distinct = Span(opened + 1, i), None
    if source.word(listed.first) in ("DISTINCT", "ALL"):
        distinct = Span(listed.first, listed.first + 1) if source.word(listed.first) == "DISTINCT" else None
        listed = Span(listed.first + 1, listed.end)
    cut = source.find(listed, "ORDER BY")
    if cut is not None and not within:  # array_agg(x ORDER BY y)
        within, listed = read_ordering(source, Span(cut + 1, listed.end)), Span(listed.first, cut)
    if source.word(listed.end - 1) == "NULLS" and source.word(listed.end - 2) in ("IGNORE", "RESPECT"):
        nulls, listed = source.word(listed.end - 2), Span(listed.first, listed.end - 2)
    end = source.skip(over + 1) if behind == "(" else _read_window_name(source, over + 1)[1]
    return WindowCall(
        Span(first, end),
        ".".join(source.name(k) for k in range(first, opened, 2)),
        read_spec(source, Span(over + 1, end)),
        over,
        tuple(source.split(listed)),
        distinct,
        where,
        within,
        nulls,
    )


def _read_window_name(source: QueryText, i: int) -> tuple[str, int]:
    """Read the name of a window, which may be IDENTIFIER('w') or IDENTIFIER(:w), and find where it ends."""
    if source.word(i) != "IDENTIFIER" or source.word(i + 1) != "(":
        return source.name(i), i + 1
    end = source.partner[i + 1]
    text = source.raw(Span(i + 2, end))
    given = source.arguments.get(text[1:].strip()) if text.startswith(":") else text[1:-1]
    return str(given).strip("`").casefold(), end + 1


# ---- specs
def read_spec(source: QueryText, span: Span) -> Spec:
    """Read a window: a name, or what stands in its brackets."""
    if source.word(span.first) != "(":
        return Spec(span, base=_read_window_name(source, span.first)[0])
    i, end = span.first + 1, span.end - 1
    read = Spec(span)
    if i < end and source.is_name(i) and source.word(i) not in (*_PARTITION, *_ORDER, *_UNITS):
        read, i = replace(read, base=source.name(i)), i + 1
    words = []
    if source.word(i) in _PARTITION:
        stop = _find_part_end(source, Span(i + 1, end), _ORDER)
        read = replace(read, partition=tuple(source.split(Span(i + 1, stop))))
        words.append(Span(i, stop))
        i = stop
    if source.word(i) in _ORDER:
        stop = _find_part_end(source, Span(i + 1, end), _PARTITION)
        read = replace(read, order=read_ordering(source, Span(i + 1, stop)))
        words.append(Span(i, stop))
        i = stop
    if i < end and source.word(i) in _UNITS:
        read = replace(read, frame=_read_frame(source, Span(i, end)))
        words.append(Span(i, end))
        i = end
    if i < end:
        raise source.build_error(
            Span(i, end), "a window is [name] [PARTITION BY ...] [ORDER BY ...] [frame]; this is none of it"
        )
    return replace(read, words=tuple(words))


def _find_part_end(source: QueryText, span: Span, keywords: tuple[str, ...]) -> int:
    """Find where a list of expressions ends: at a keyword, or at a frame. A unit right after a comma is a column."""
    i = span.first
    while i < span.end:
        if source.word(i) in keywords:
            return i
        if source.word(i) in _UNITS and i > span.first and source.word(i - 1) not in (",", "."):
            return i
        i = source.skip(i)
    return span.end


def read_ordering(source: QueryText, span: Span) -> tuple[Ordered, ...]:
    """Read the expressions of an ORDER BY."""
    return tuple(_read_ordered(source, part) for part in source.split(span))


def _read_ordered(source: QueryText, span: Span) -> Ordered:
    first, end = span
    nulls_first = None
    if source.word(end - 2) == "NULLS" and source.word(end - 1) in ("FIRST", "LAST"):
        nulls_first, end = source.word(end - 1) == "FIRST", end - 2
    descending = source.word(end - 1) == "DESC"
    if source.word(end - 1) in ("ASC", "DESC"):
        end -= 1
    if first >= end:
        raise source.build_error(span, "an expression to order by is missing here")
    return Ordered(Span(first, end), descending, nulls_first)


def _read_frame(source: QueryText, span: Span) -> FrameClause:
    unit = source.word(span.first)
    i, end = span.first + 1, span.end
    exclude, exclude_span = None, None
    cut = source.find(Span(i, end), "EXCLUDE")
    if cut is not None and cut > i:
        exclude_span = Span(cut, end)
        exclude = " ".join(source.word(k) for k in range(cut + 1, end))
        if exclude not in ("CURRENT ROW", "GROUP", "TIES", "NO OTHERS"):
            raise source.build_error(exclude_span, "EXCLUDE takes CURRENT ROW, GROUP, TIES or NO OTHERS")
        exclude, end = None if exclude == "NO OTHERS" else exclude.lower(), cut
    if source.word(i) == "BETWEEN":
        middle = _find_bound_end(source, Span(i + 1, end))
        if middle is None or source.word(middle) != "AND":
            raise source.build_error(span, "a frame is BETWEEN one bound AND another")
        first, last = _read_bound(source, Span(i + 1, middle)), _read_bound(source, Span(middle + 1, end))
    else:
        first = _read_bound(source, Span(i, end))
        last = Bound(Span(span.first, span.first + 1))
    return FrameClause(span, unit, first, last, exclude, exclude_span)  # type: ignore[arg-type]


def _find_bound_end(source: QueryText, span: Span) -> int | None:
    i = span.first
    while i < span.end:
        if source.word(i) in ("PRECEDING", "FOLLOWING") or (
            source.word(i) == "ROW" and source.word(i - 1) == "CURRENT"
        ):
            return i + 1
        i = source.skip(i)
    return None


def _read_bound(source: QueryText, span: Span) -> Bound:
    words = [source.word(i) for i in range(*span)]
    if words == ["CURRENT", "ROW"]:
        return Bound(span)
    if len(words) < 2 or words[-1] not in ("PRECEDING", "FOLLOWING"):
        wrong = span if span.end > span.first else Span(span.first - 1, span.first)
        raise source.build_error(
            wrong, "a bound is UNBOUNDED or an offset, then PRECEDING or FOLLOWING; or CURRENT ROW"
        )
    following = words[-1] == "FOLLOWING"
    if words[0] == "UNBOUNDED" and len(words) == 2:
        return Bound(span, unbounded=True, following=following)
    return Bound(span, offset=Span(span.first, span.end - 1), following=following)


# ---- named windows
def read_named_windows(source: QueryText, span: Span) -> dict[str, Spec]:
    """Read the windows that a WINDOW clause names; the span is behind the word WINDOW."""
    named: dict[str, Spec] = {}
    for part in source.split(span):
        name, end = _read_window_name(source, part.first)
        if source.word(end) != "AS" or part.end < end + 2:
            raise source.build_error(part, "a WINDOW clause lists: name AS (...)")
        if name in named:
            raise source.build_error(part, f"the window {name} is named twice")
        named[name] = read_spec(source, Span(end + 1, part.end))
    return named


def resolve_spec(source: QueryText, given: Spec, named: Mapping[str, Spec], within: tuple[str, ...] = ()) -> Spec:
    """Resolve the window that a spec names, by SQL's rules for refining one."""
    if given.base is None:
        return given
    base = named.get(given.base)
    if base is None or given.base in within:
        known = f"; there are {', '.join(named)}" if named else ", and there is no WINDOW clause that names any"
        why = "is defined by itself" if base is not None else f"is not named in this SELECT{known}"
        raise source.build_error(given.span, f"the window {given.base} {why}")
    base = resolve_spec(source, base, named, (*within, given.base))
    if not given.words:
        return replace(base, span=given.span)
    if given.partition:
        raise source.build_error(
            given.words[0], f"the window {given.base} sets the partitioning, and it cannot be set again"
        )
    if given.order and base.order:
        raise source.build_error(
            given.words[0], f"the window {given.base} has an order already, and it cannot be set again"
        )
    if base.frame is not None:
        raise source.build_error(given.span, f"the window {given.base} has a frame already, and cannot be refined")
    return Spec(given.span, None, base.partition, given.order or base.order, given.frame, (*base.words, *given.words))
