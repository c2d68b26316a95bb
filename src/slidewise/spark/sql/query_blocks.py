"""Blocks: the shape of a query. WITH, set operations, brackets, and the clauses of each SELECT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from slidewise.spark.sql.query_text import CLAUSES, ORGANISING, QueryText, Span

_SET_OPERATIONS = ("UNION", "EXCEPT", "INTERSECT", "MINUS")


@dataclass(frozen=True)
class With:
    """The common table expressions that a query can name: `WITH a AS (...), b AS (...)`."""

    #: WITH, or WITH RECURSIVE
    keyword: Span
    tables: tuple[Span, ...]


#: the WITH clauses around a query, the outermost first
Scope = tuple[With, ...]


@dataclass(frozen=True)
class QueryBlock:
    """One SELECT with its clauses."""

    span: Span
    scope: Scope
    #: a hint, as /*+ BROADCAST(t) */
    hint: Span | None
    distinct: bool
    items: tuple[Span, ...]
    #: each clause by its word, with the word
    clauses: dict[str, Span]

    def find_body(self, clause: str) -> Span | None:
        """Find what stands behind the word of a clause."""
        span = self.clauses.get(clause)
        return None if span is None else Span(span.first + 1, span.end)


def visit_blocks(source: QueryText, visit: Callable[[QueryBlock], None]) -> None:
    """Visit every SELECT of a query, inner ones before those around them, and tables before what names them."""
    end = len(source.tokens)
    while end and source.word(end - 1) == ";":
        end -= 1
    if begins_query(source, 0):
        _visit_query(source, Span(0, end), (), visit)


def _visit_query(source: QueryText, span: Span, scope: Scope, visit: Callable[[QueryBlock], None]) -> None:
    """Visit the SELECTs of [WITH ...] SELECT ... [UNION SELECT ...] [ORDER BY ...]."""
    first = span.first
    if source.word(first) == "WITH":
        recursive = source.word(first + 1) == "RECURSIVE"
        keyword = Span(first, first + 1 + recursive)
        tables: list[Span] = []
        first = keyword.end
        while source.is_name(first):
            opened = _find_table_body(source, first, span.end)
            if opened is None:
                return
            inside = Span(opened + 1, source.partner[opened])
            # A table of WITH RECURSIVE may name itself, and cannot be computed on its own.
            if not recursive:
                _visit_query(source, inside, _extend_scope(scope, keyword, tables), visit)
            tables.append(Span(first, source.partner[opened] + 1))
            first = source.partner[opened] + 1
            if source.word(first) != ",":
                break
            first += 1
        scope = _extend_scope(scope, keyword, tables)
    pipe = source.find(Span(first, span.end), "|>")
    if pipe is not None:
        _visit_inside(source, Span(pipe, span.end), scope, visit)
    parts = _split_operands(source, Span(first, span.end if pipe is None else pipe))
    for k, part in enumerate(parts):
        last = k == len(parts) - 1 and len(parts) > 1
        whole = Span(part.first, _find_organising(source, part)) if last else part
        if source.word(part.first) == "SELECT" or _selects_behind_from(source, whole):
            _visit_inside(source, whole, scope, visit)
            visit(_read_block(source, whole, scope))
            _visit_inside(source, Span(whole.end, part.end), scope, visit)
        else:
            _visit_inside(source, part, scope, visit)


def _find_table_body(source: QueryText, first: int, end: int) -> int | None:
    """Find where the bracket opens in `name [(columns)] AS (...)`."""
    found = source.find(Span(first, end), "AS")
    return found + 1 if found is not None and source.word(found + 1) == "(" else None


def _extend_scope(scope: Scope, keyword: Span, tables: list[Span]) -> Scope:
    return (*scope, With(keyword, tuple(tables))) if tables else scope


def _visit_inside(source: QueryText, span: Span, scope: Scope, visit: Callable[[QueryBlock], None]) -> None:
    """Visit the queries in the brackets of a span."""
    i = span.first
    while i < span.end:
        if source.word(i) == "(":
            inside = Span(i + 1, source.partner[i])
            if begins_query(source, inside.first):
                _visit_query(source, inside, scope, visit)
            else:
                _visit_inside(source, inside, scope, visit)
        i = source.skip(i)


def begins_query(source: QueryText, i: int) -> bool:
    """Tell whether a query begins here; one by FROM has its SELECT behind that, or pipes."""
    while source.word(i) == "(":
        i += 1
    if source.word(i) == "FROM":
        end = next((k for k in range(i, len(source.tokens)) if source.word(k) == ")" and source.partner[k] < i), None)
        return source.find(Span(i, end or len(source.tokens)), "SELECT", "|>") is not None
    return source.word(i) in ("SELECT", "WITH")


def _selects_behind_from(source: QueryText, span: Span) -> bool:
    """Tell whether this is FROM ... SELECT ..., and not several of them, nor an INSERT."""
    if source.word(span.first) != "FROM" or source.find(span, "INSERT") is not None:
        return False
    first = source.find(span, "SELECT")
    return first is not None and source.find(Span(first + 1, span.end), "SELECT") is None


def _split_operands(source: QueryText, span: Span) -> list[Span]:
    """Split a query into the SELECTs that set operations join."""
    parts, first, i = [], span.first, span.first
    while i < span.end:
        # SELECT * EXCEPT (a) is no set operation
        if source.word(i) in _SET_OPERATIONS and not (source.word(i) == "EXCEPT" and source.word(i - 1) == "*"):
            parts.append(Span(first, i))
            first = i + 1 + (source.word(i + 1) in ("ALL", "DISTINCT"))
        i = source.skip(i)
    return [*parts, Span(first, span.end)]


def _find_organising(source: QueryText, span: Span) -> int:
    found = source.find(span, *ORGANISING)
    return span.end if found is None else found


def _read_block(source: QueryText, span: Span, scope: Scope) -> QueryBlock:
    from_first = source.find(span, "SELECT") if source.word(span.first) == "FROM" else None
    i, hint = (span.first if from_first is None else from_first) + 1, None
    if source.tokens[i].kind == "HINT":
        hint, i = Span(i, i + 1), i + 1
    distinct = source.word(i) == "DISTINCT"
    if source.word(i) in ("DISTINCT", "ALL"):
        i += 1
    starts: list[int] = []
    at = i
    while at < span.end:
        if at > i and _is_clause(source, at):
            starts.append(at)
        at = source.skip(at)
    clauses = {source.word(a): Span(a, b) for a, b in pairwise([*starts, span.end])}
    if from_first is not None:
        clauses["FROM"] = Span(span.first, from_first)
    items = source.split(Span(i, starts[0] if starts else span.end))
    return QueryBlock(span, scope, hint, distinct, tuple(items), clauses)


def _is_clause(source: QueryText, i: int) -> bool:
    """Tell whether a clause begins here: its word may also be a column or a function."""
    word, before, after = source.word(i), source.word(i - 1), source.word(i + 1)
    if word not in CLAUSES or before in (".", ",", "AS"):
        return False
    if word == "FROM":
        return before != "DISTINCT"  # IS DISTINCT FROM
    if word == "WINDOW":
        return after not in ("(", ",", ".") and (source.word(i + 2) == "AS" or after == "IDENTIFIER")
    if word in ("LIMIT", "OFFSET", "QUALIFY"):
        return after not in ("", ",", ".", ")", "=") or source.tokens[i + 1].kind in ("STRING", "IDENTIFIER")
    return True
