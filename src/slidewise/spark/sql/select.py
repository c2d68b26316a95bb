"""Select: a SELECT with window calls of slidewise's, in three steps.

1. an inner SELECT by Spark: FROM, WHERE, GROUP BY and HAVING as they are, the items without such calls as they are, and
   every expression that a window reads as a column;
2. the windows, as new columns;
3. an outer SELECT by Spark over that: the items in their order, with the new columns in place of calls; QUALIFY,
   DISTINCT, ORDER BY and LIMIT.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from slidewise.columns.sorting import OrderColumn
from slidewise.errors import InvalidInput
from slidewise.spark.aggregate_names import is_aggregate
from slidewise.spark.sql.calls import FrameClause, Spec, WindowCall, read_named_windows, resolve_spec
from slidewise.spark.sql.expressions import ColumnUse, is_generator, is_stable, parse_item
from slidewise.spark.sql.query_blocks import QueryBlock, begins_query
from slidewise.spark.sql.query_text import MARK, Derived, Edit, QueryText, Span
from slidewise.spark.sql.translate import (
    drop_frame,
    find_beyond_spark,
    finish_call,
    translate_aggregation,
    translate_frame,
)
from slidewise.spark.window import SpecifiedOver

#: how the names begin that are made here
PREFIX = "__slidewise_"
_SORTING = ("ORDER BY", "SORT BY", "DISTRIBUTE BY", "CLUSTER BY")
_TIME_WINDOWS = ("WINDOW", "SESSION_WINDOW")
#: words before a bracket that are no functions
_NO_FUNCTION = {
    "AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "ANY", "ALL", "CASE", "WHEN", "THEN",
    "ELSE", "IS", "DIV", "FILTER", "GROUP", "WITHIN", "OVER", "INTERVAL", "AS", "DISTINCT",
}  # fmt: skip


@dataclass(frozen=True)
class _Item:
    """An item of the SELECT."""

    span: Span
    expression: Span
    #: as it is written and as it is compared; None where there is none
    alias: str | None
    alias_name: str | None
    #: whether it reads a window, and so belongs to the outer SELECT
    outer: bool

    @property
    def marker(self) -> str:
        """The column that keeps the item's place in the inner SELECT; a star may bring columns of any other name."""
        return f"{PREFIX}item_{self.span.first}{MARK}"


@dataclass(frozen=True)
class _Hoisted:
    """An expression that the inner SELECT computes, for the outer one or for a window."""

    key: str
    #: in the inner SELECT, and for all that comes after it
    alias: str
    name: str
    text: str
    #: for a bare column what qualifies it, if anything, and its name
    column: tuple[str, str] | None


@dataclass(frozen=True)
class Below:
    """The columns of the inner SELECT."""

    #: for each a name that no other has
    names: list[str]
    #: those that are needed
    kept: list[str]
    #: the columns of items: the new name and the old one
    items: list[tuple[str, str]]
    #: for an expression that is an item as well, what the item is called
    outputs: dict[str, str]


class Select:
    """One SELECT; `all_columns(query)` tells the columns of another one in its place.

    `named` are windows that SELECTs around it name, and `refused` are calls that are not slidewise's, and why.
    """

    def __init__(
        self,
        source: QueryText,
        block: QueryBlock,
        calls: Sequence[WindowCall],
        all_columns: Callable[[str], list[str]],
        named: Mapping[str, Spec],
        refused: Mapping[WindowCall, InvalidInput],
    ) -> None:
        self.source, self.block, self._all_columns = source, block, all_columns
        self._known: set[str] | None = None
        self._hoisted: dict[str, _Hoisted] = {}
        self._names: set[str] = set()
        #: calls that Spark has to take, and what was wrong with them here
        self.refused = dict(refused)
        #: what Spark calls items of the outer SELECT that have no alias, by their markers
        self.spark_names: dict[str, str] = {}
        #: the columns to compute
        self.windows: dict[str, SpecifiedOver] = {}
        #: calls of slidewise's with their columns, and calls of Spark's with their windows
        self.ours: dict[WindowCall, str] = {}
        self._theirs: dict[WindowCall, Spec] = {}
        self._unframed: set[WindowCall] = set()
        self._inlined: list[Edit] = []
        #: items of the outer SELECT by their aliases
        self._aliases: dict[str, str] = {}
        clause = block.find_body("WINDOW")
        self._named = {**named, **({} if clause is None else read_named_windows(source, clause))}
        self._specs: dict[WindowCall, Spec] = {}
        for call in calls:
            self._sort_out(call, calls)
        self._inlined = [
            self._write_out(call, spec)
            for call, spec in self._theirs.items()
            if call.spec.base or call in self._unframed
        ]
        if self.ours:
            self._refuse_group_by_all()
            self._refuse_generators()
            self._items = [self._read_item(span) for span in block.items]
            self._outer_items = self._read_items()
            self._qualify, self._after = self._read_clauses()

    # ---- window calls
    def _sort_out(self, call: WindowCall, calls: Sequence[WindowCall]) -> None:
        """Decide whether a call is slidewise's or Spark's."""
        source = self.source
        spec = self._specs[call] = resolve_spec(source, call.spec, self._named)
        hoisted = dict(self._hoisted)
        try:
            made = None if call in self.refused else self._build_over(call, spec, calls)
        except InvalidInput as error:
            made, self.refused[call], self._hoisted = None, error, hoisted
        if made is None:
            unframed = drop_frame(call, spec)
            if unframed is not spec:
                self._unframed.add(call)
            beyond = find_beyond_spark(unframed)
            if beyond is not None:
                where, what = beyond
                raise self.refused.get(call) or source.build_error(
                    where, f"{call.name} over a window is left to Spark, which has no {what}"
                )
            self._theirs[call] = self._specs[call] = unframed
        else:
            self.ours[call] = name = self._find_unused(source.raw(call.span))
            self.windows[name] = made

    def _build_over(self, call: WindowCall, spec: Spec, calls: Sequence[WindowCall]) -> SpecifiedOver | None:
        """Build the aggregate over a window of a call; None where the call is Spark's."""
        made = translate_aggregation(self.source, call, self._hoist)
        if made is None:
            return None
        self._refuse_misplaced(call, calls)
        over = made.over(translate_frame(self.source, spec, self._hoist))
        partition = tuple(dict.fromkeys(self._hoist(span) for span in spec.partition))
        order = tuple(OrderColumn(self._hoist(by.expression), by.descending, by.nulls_first) for by in spec.order)
        return SpecifiedOver(over, partition, order)

    def finish_call(self, call: WindowCall) -> str:
        """Write what replaces a call of slidewise's in the outer SELECT: mostly its column."""
        return finish_call(self.source, call, _hide_name(self.ours[call]))

    def _refuse_misplaced(self, call: WindowCall, calls: Sequence[WindowCall]) -> None:
        for other in calls:
            if call.span.first <= other.over < call.span.end and other is not call:
                raise self.source.build_error(
                    other.span, "a window inside of a window: compute the inner one in a subquery, or in a WITH"
                )
        around = self._find_aggregate_around(call)
        if around is not None:
            raise self.source.build_error(
                call.span, f"a window inside of {around}, which comes before all windows: use a subquery, or a WITH"
            )
        for clause, span in self.block.clauses.items():
            if clause not in ("QUALIFY", *_SORTING) and span.first <= call.over < span.end:
                raise self.source.build_error(
                    call.span, f"a window in {clause}, which comes before all windows: use QUALIFY, or a subquery"
                )

    def _find_aggregate_around(self, call: WindowCall) -> str | None:
        """Find the aggregate that a window stands in, with its FILTER and WITHIN GROUP."""
        source = self.source
        for opened in range(self.block.span.first, call.span.first):
            if source.word(opened) == "(" and source.partner[opened] > call.span.first and source.is_name(opened - 1):
                name = source.name(opened - 1)
                if is_aggregate(name) or name in ("filter", "group"):
                    return f"{name}(...)" if is_aggregate(name) else "the FILTER or WITHIN GROUP of an aggregate"
        return None

    def _refuse_generators(self) -> None:
        """Refuse generators beside an aggregate: there Spark runs them after windows, and otherwise before."""
        source, windows = self.source, {call.span.first for call in self._specs}
        functions = [
            i
            for item in self.block.items
            for i in range(*item)
            if source.is_name(i) and source.word(i + 1) == "(" and source.word(i - 1) != "."
        ]
        generator = next((i for i in functions if is_generator(source.name(i))), None)
        aggregates = any(is_aggregate(source.name(i)) and i not in windows for i in functions)
        if generator is not None and (aggregates or "GROUP BY" in self.block.clauses):
            raise source.build_error(
                Span(generator, source.skip(generator + 1)),
                f"{source.name(generator)} beside a window and an aggregate: write it in a SELECT around",
            )

    def _refuse_group_by_all(self) -> None:
        grouping = self.block.find_body("GROUP BY")
        if grouping is not None and self.source.word(grouping.first) == "ALL":
            raise self.source.build_error(
                self.block.clauses["GROUP BY"], "GROUP BY ALL beside a window: name the columns to group by"
            )

    def _write_out(self, call: WindowCall, spec: Spec) -> Edit:
        """Write out the window of a call: Spark cannot refine a named one, nor take a frame where it means nothing."""
        words = " ".join(self.source.write(part) for part in spec.words)
        return Edit(*self.source.find_offsets(call.spec.span), f"({words})")

    def refine_named_windows(self) -> list[Edit]:
        """Write out windows where all calls are Spark's, but refine named ones or have frames that mean nothing."""
        specs = [*self._named.values(), *(call.spec for call in self._theirs)]
        clause = self.block.clauses.get("WINDOW")
        refines = clause is not None and any(spec.base is not None and spec.words for spec in specs)
        if not refines and not self._unframed:
            return []
        return [*self._inlined, *([Edit(*self.source.find_offsets(clause), "")] if clause is not None else [])]

    # ---- items
    def _read_item(self, span: Span) -> _Item:
        source = self.source
        calls = [call for call in (*self.ours, *self._theirs) if span.first <= call.over < span.end]
        outer = any(call in self.ours for call in calls)
        read = parse_item(source, span, [source.find_offsets(call.span) for call in calls])
        has_alias = source.word(span.end - 2) == "AS" if read is None else read.has_alias
        if not has_alias:
            return _Item(span, span, None, None, outer)
        last = span.end - 1
        expression = Span(span.first, last - (source.word(last - 1) == "AS"))
        return _Item(span, expression, source.write(Span(last, span.end)), source.name(last), outer)

    def _read_items(self) -> dict[str, str]:
        """Write the items of the outer SELECT, by their markers."""
        made: dict[str, str] = {}
        aliases = self._aliases

        def find_lateral(column: ColumnUse) -> str | None:
            """Find the alias of an earlier item with a window, where it is no column."""
            name = column.parts[-1]
            known = len(column.parts) == 1 and name in aliases and not self._is_column(name)
            return f"({aliases[name]})" if known else None

        for k, item in enumerate(self._items):
            if not item.outer and aliases:
                read = parse_item(self.source, item.expression)
                if read is not None and any(find_lateral(column) is not None for column in read.columns):
                    self._items[k] = item = replace(item, outer=True)
            if item.outer:
                expression = self._write_around(item.expression, find_lateral)
                made[item.marker] = expression
                if item.alias_name is not None:
                    aliases[item.alias_name] = expression
        return made

    def _is_column(self, name: str) -> bool:
        """Tell whether what stands in FROM has a column of this name."""
        if self._known is None:
            self._known = {column.casefold() for column in self._all_columns(f"SELECT * {self._write_clause('FROM')}")}
        return name in self._known

    # ---- clauses behind windows
    def _read_clauses(self) -> tuple[str, str]:
        """Write QUALIFY and the clauses after it, for the outer SELECT."""
        qualify = self.block.find_body("QUALIFY")
        if qualify is not None:
            self._refuse_time_windows(qualify)
        condition = "" if qualify is None else f"WHERE {self._write_around(qualify, self._read_alias)}"
        after = []
        for clause in self.block.clauses:
            body = self.block.find_body(clause)
            if clause in _SORTING and body is not None:
                listed = [self._write_sorting(part) for part in self.source.split(body)]
                after.append(f"{clause} {', '.join(listed)}")
            elif clause in ("LIMIT", "OFFSET"):
                after.append(self._write_clause(clause))
        return condition, " ".join(after)

    def _refuse_time_windows(self, qualify: Span) -> None:
        """Refuse window(ts, '1 day') in QUALIFY beside a star: it becomes a column of the star, as only Spark knows."""
        source = self.source
        made = (i for i in range(*qualify) if source.word(i) in _TIME_WINDOWS and source.word(i + 1) == "(")
        at = next(made, None)
        if at is not None and any(self._read_star(item) is not None for item in self._items):
            raise source.build_error(
                Span(at, source.skip(at + 1)),
                f"{source.name(at)}(...) in QUALIFY beside a star: make it an item, and use its alias here",
            )

    def _read_alias(self, column: ColumnUse) -> str | None:
        """Read an item by its alias, in QUALIFY."""
        name = column.parts[-1]
        item = next((i for i in self._items if i.alias_name == name), None) if len(column.parts) == 1 else None
        if item is None:
            return None
        if self._is_column(name) and self.source.build_key(item.expression).casefold() != name:
            at = next(i for i, token in enumerate(self.source.tokens) if token.start == column.start)
            raise self.source.build_error(
                Span(at, at + 1), f"{name} is both a column and an alias here. Give the item another alias"
            )
        if item.outer:
            return f"({self._aliases[name]})"
        # What is not the same twice is taken from the item itself, by its alias.
        stable = is_stable(self.source, item.expression)
        return self._read(item.expression if stable else self._find_tokens(column))

    def _write_sorting(self, part: Span) -> str:
        """Write an expression to sort by: names of items are left to Spark, which looks among them first."""
        # A column with a qualifier is no name of an item, and one name is all that an item has.
        called = {(item.alias_name or self._find_last_name(item.expression),) for item in self._items}
        end = part.end
        while self.source.word(end - 1) in ("ASC", "DESC", "NULLS", "FIRST", "LAST") and end - 1 > part.first:
            end -= 1
        if end - part.first == 1 and self.source.word(part.first) == "ALL":
            return self.source.write(part)
        expression = self._write_around(
            Span(part.first, end),
            lambda column: self.source.write_between(column.start, column.end) if column.parts in called else None,
        )
        return " ".join([expression, *(self.source.word(i) for i in range(end, part.end))])

    def _find_last_name(self, span: Span) -> str | None:
        """Find what Spark calls an item that is a column: its last name."""
        parts = self.source.split(span, ".")
        named = all(p.end - p.first == 1 and self.source.is_name(p.first) for p in parts)
        literal = self.source.word(span.first) in ("NULL", "TRUE", "FALSE")
        return self.source.name(span.end - 1) if named and not literal else None

    # ---- expressions around windows
    def _write_around(self, span: Span, known: Callable[[ColumnUse], str | None]) -> str:
        """Write an expression over the columns of the inner SELECT: calls and other columns by their columns there.

        Only columns are computed below, and not what is made of them: CASE must go on guarding its branches. But
        aggregates belong below; and with GROUP BY all functions do, which may be what is grouped by.
        """
        source = self.source
        edits: list[Edit] = []
        hidden: list[tuple[int, int]] = []

        def put(part: Span, text: str | None) -> int:
            hidden.append(source.find_offsets(part))
            if text is not None:
                edits.append(Edit(*hidden[-1], text))
            return part.end

        calls = {call.span.first: call for call in (*self.ours, *self._theirs)}
        i = span.first
        while i < span.end:
            call, part = calls.get(i), self._find_computed_below(i, span.end)
            if call is not None:
                i = put(call.span, self.finish_call(call) if call in self.ours else self._read(call.span))
            elif part is not None:
                i = put(part, self._read(part))
            elif source.word(i) == "(" and begins_query(source, i + 1):
                among = source.word(i - 1) == "IN"
                whole = Span(i, source.skip(i))
                i = put(whole, None if among else self._read(whole))
            else:
                i += 1
        read = parse_item(source, span, hidden)
        if read is None:
            raise source.build_error(
                span, "what stands around the window here cannot be read. Write it in a SELECT around"
            )
        for column in read.columns:
            edits.append(Edit(column.start, column.end, known(column) or self._write_field(self._find_tokens(column))))
        return source.write(span, edits)

    def _write_field(self, column: Span) -> str:
        """Write a column for the outer SELECT, with its own name where that names the field of a struct."""
        read, own = self._read(column), quote(self._read_own_name(column))
        return f"{read} AS {own}" if read != own and self._is_field(column) else read

    def _is_field(self, span: Span) -> bool:
        """Tell whether a part is the field of a struct: struct(t.x, ...), or (t.x, ...)."""
        source = self.source
        if source.word(span.first - 1) not in ("(", ",") or source.word(span.end) not in (",", ")"):
            return False
        opened = max((i for i, end in source.partner.items() if i < span.first and end >= span.end), default=0)
        alone = source.word(opened - 1) in ("SELECT", ",", "(") and len(source.split(_find_inside(source, opened))) > 1
        return source.word(opened) == "(" and (alone or source.word(opened - 1) == "STRUCT")

    def _read_own_name(self, column: Span) -> str:
        """Read the name of a column, as it is written, without what qualifies it."""
        last = self.source.raw(Span(column.end - 1, column.end))
        return last[1:-1].replace("``", "`") if last.startswith("`") else last

    def _find_computed_below(self, i: int, end: int) -> Span | None:
        """Find a function that begins here, has no window of slidewise's, and is computed by the inner SELECT."""
        source = self.source
        if not source.is_name(i) or source.word(i) in _NO_FUNCTION or source.word(i - 1) == ".":
            return None
        opened = i + 1
        while source.word(opened) == "." and source.is_name(opened + 1):
            opened += 2
        if source.word(opened) != "(":
            return None
        whole = Span(i, source.skip(opened))
        if source.word(whole.end) == "FILTER" and source.word(whole.end + 1) == "(":
            whole = Span(i, source.skip(whole.end + 1))
        if whole.end > end or any(whole.first <= call.over < whole.end for call in self.ours):
            return None
        if is_aggregate(source.name(opened - 1)):
            return whole
        if any(source.is_name(k) and source.name(k) in self._aliases for k in range(*whole)):
            return None
        grouped = "GROUP BY" in self.block.clauses or "HAVING" in self.block.clauses
        exists = source.word(i) == "EXISTS" and begins_query(source, opened + 1)
        return whole if grouped or exists else None

    def _find_tokens(self, column: ColumnUse) -> Span:
        inside = [i for i, t in enumerate(self.source.tokens) if column.start <= t.start and t.end <= column.end]
        return Span(inside[0], inside[-1] + 1)

    # ---- the inner SELECT
    def _hoist(self, expression: Span | Derived) -> str:
        """Hoist an expression into the inner SELECT, and give the name of its column."""
        source = self.source
        parts = expression.parts if isinstance(expression, Derived) else (expression,)
        text = expression.text if isinstance(expression, Derived) else self._write_text(expression)
        key = text if isinstance(expression, Derived) else source.build_key(expression)
        if not all(is_stable(source, part) for part in parts):
            key += MARK * (len(self._hoisted) + 1)
        if key not in self._hoisted:
            column = None
            if not isinstance(expression, Derived) and self._find_last_name(expression) is not None:
                qualifier = ".".join(source.name(i) for i in range(expression.first, expression.end - 2, 2))
                column = (qualifier, source.name(expression.end - 1))
            alias = f"{PREFIX}value_{len(self._hoisted)}"
            words = ", ".join(source.raw(part) for part in parts)
            # A column keeps its name, without what qualifies it: that becomes the name of a field in struct(t.x).
            own = "" if column is None else self._read_own_name(parts[0])
            self._hoisted[key] = _Hoisted(key, alias, self._find_unused(words, own), text, column)
        return self._hoisted[key].name

    def _read(self, expression: Span) -> str:
        """Write the column of an expression, as the outer SELECT names it."""
        name = self._hoist(expression)
        is_column = any(hoisted.name == name and hoisted.column is not None for hoisted in self._hoisted.values())
        return quote(name) if is_column else _hide_name(name)

    def _find_unused(self, words: str, own: str = "") -> str:
        """Find a name by the user's words that nothing has yet, whether or not Spark tells capitals apart."""
        name = own or MARK + " ".join(words.split()) + MARK
        while name.casefold() in self._names:
            name += MARK
        self._names.add(name.casefold())
        return name

    def _write_text(self, span: Span) -> str:
        return self.source.write(span, self._inlined)

    def _write_clause(self, clause: str) -> str:
        span = self.block.clauses.get(clause)
        return "" if span is None else self._write_text(span)

    def write_inner(self) -> str:
        """Write the inner SELECT."""
        hint = "" if self.block.hint is None else self.source.write(self.block.hint)
        items = [f"NULL AS {quote(item.marker)}" if item.outer else self._write_text(item.span) for item in self._items]
        items += [f"{hoisted.text} AS {hoisted.alias}" for hoisted in self._hoisted.values()]
        return f"SELECT {hint} {', '.join(items)} {self._write_below_windows()}"

    def _write_below_windows(self) -> str:
        return " ".join(self._write_clause(clause) for clause in ("FROM", "WHERE", "GROUP BY", "HAVING"))

    def write_of_row(self, text: str) -> str:
        """Write a SELECT of one expression where the inner SELECT has its own."""
        return f"SELECT {text} {self._write_below_windows()}"

    def find_frame(self, call: WindowCall) -> FrameClause | None:
        """Find the frame of a call's window, where it has one."""
        return self._specs[call].frame

    def write_by_spark(self, calls: Sequence[WindowCall], *, items: bool) -> str:
        """Write a SELECT by which Spark tells the types of calls, and with all items before them their names."""
        written = [self._write_out(call, self._specs[call]) for call in self.ours if call.spec.base]
        written += self._inlined
        parts = [self.source.write(item, written) for item in self.block.items] if items else []
        parts += [f"{self.source.write(call.span, written)} AS {PREFIX}call_{k}" for k, call in enumerate(calls)]
        return f"SELECT {', '.join(parts)} {self._write_below_windows()}"

    def find_unnamed(self) -> list[str]:
        """Find the markers of outer items without an alias."""
        return [item.marker for item in self._items if item.outer and item.alias is None]

    def describe_below(self, names: Sequence[str]) -> Below:
        """Describe the columns of the inner SELECT, by their names."""
        width = len(names) - len(self._hoisted)
        new = [self._find_unused(name) for name in names[:width]] + [h.name for h in self._hoisted.values()]
        outputs: dict[str, str] = {}
        placed = self._place_columns(names[:width])
        unneeded = {k for k, name in enumerate(names) if name in self._outer_items}
        shared: set[int] = set()
        for k, hoisted in enumerate(self._hoisted.values(), width):
            place = self._find_same(hoisted, placed, names)
            if place is not None and place not in shared:
                new[place], new[k] = hoisted.name, self._find_unused(hoisted.name)
                shared.add(place)
                unneeded.add(k)
                outputs[hoisted.name] = names[place]
        kept = [name for k, name in enumerate(new) if k not in unneeded]
        return Below(new, kept, list(zip(new[:width], names, strict=False)), outputs)

    def _place_columns(self, names: Sequence[str]) -> dict[int, range]:
        """Place each item of the inner SELECT among its columns, where that is sure: a star has any number of them."""
        placed: dict[int, range] = {}
        at = 0
        waiting: list[int] = []
        for k, item in enumerate([*self._items, None]):
            if item is not None and not item.outer:
                waiting.append(k)
                continue
            end = len(names) if item is None else list(names).index(item.marker)
            stars = [j for j in waiting if self._read_star(self._items[j]) is not None]
            spare = end - at - len(waiting)
            if len(stars) == 1 or (spare == 0 and not stars):
                for j in waiting:
                    placed[j] = range(at, at + 1 + (spare if j in stars else 0))
                    at = placed[j].stop
            at, waiting = end + 1, []
        return placed

    def _read_star(self, item: _Item) -> str | None:
        """Read what qualifies a star, empty for a plain one; None for any other item."""
        if self.source.word(item.span.end - 1) != "*":
            return None
        qualifier = self.source.split(item.span, ".")[:-1]
        named = all(part.end - part.first == 1 for part in qualifier) and (
            qualifier or len(self.source.build_key(item.span)) == 1
        )
        return ".".join(self.source.name(part.first) for part in qualifier) if named else None

    def _find_same(self, hoisted: _Hoisted, placed: dict[int, range], names: Sequence[str]) -> int | None:
        """Find the column of an item that is this expression, so that rows need not carry it twice."""
        for k, places in placed.items():
            item = self._items[k]
            star = self._read_star(item)
            if star is None and len(places) == 1 and self.source.build_key(item.expression) == hoisted.key:
                return places[0]
            if star is not None and hoisted.column is not None and hoisted.column[0] == star:
                found = [p for p in places if names[p].casefold() == hoisted.column[1]]
                if len(found) == 1:
                    return found[0]
        return None

    # ---- the outer SELECT
    def write_outer(self, below: Below, table: str) -> str:
        """Write the outer SELECT over a table."""
        aliases = {item.marker: item.alias or self._name_item(item) for item in self._items if item.outer}
        items = [
            f"{self._outer_items[old]} AS {aliases[old]}" if old in aliases else f"{quote(new)} AS {quote(old)}"
            for new, old in below.items
        ]
        after = self._after
        if self.block.distinct:
            after = re.sub("`(?:[^`]|``)*`", lambda found: self._name_sorted(found[0], below), after)
        distinct = "DISTINCT " if self.block.distinct else ""
        return f"SELECT {distinct}{', '.join(items)} FROM {table} {self._qualify} {after}".rstrip()

    def _name_item(self, item: _Item) -> str:
        """Name an item without an alias: as Spark names it, where that is known, or as it is written."""
        return quote(self.spark_names.get(item.marker) or self.source.raw(item.span))

    def _name_sorted(self, name: str, below: Below) -> str:
        """Name a column that DISTINCT rows are sorted by."""
        hoisted = next((hoisted.name for hoisted in self._hoisted.values() if quote(hoisted.name) == name), None)
        if hoisted is None:
            return name
        if hoisted in below.outputs:
            return quote(below.outputs[hoisted])
        place = next(self.block.clauses[c] for c in _SORTING if c in self.block.clauses)
        raise self.source.build_error(
            place, "SELECT DISTINCT is followed by what it selects only: name columns as they are there, or by alias"
        )


def _find_inside(source: QueryText, opened: int) -> Span:
    """Find what stands in a bracket."""
    return Span(opened + 1, source.partner[opened])


def quote(name: str) -> str:
    """Quote a name in backticks, for a text that is formatted."""
    return "`" + name.replace("`", "``").replace("{", "{{").replace("}", "}}") + "`"


def _hide_name(name: str) -> str:
    """Write a column as an expression, which lends no name to the field of a struct."""
    return f"coalesce({quote(name)})"


def restore_user_words(text: str) -> str:
    """Restore the user's words in a part of the outer SELECT, in place of the columns that stand for them.

    What Spark complains of may end inside of a bracket.
    """
    words = re.sub(
        rf"(?:coalesce\()?`{MARK}?((?:[^`]|``)*?){MARK}+`\)?", lambda found: found[1].replace("``", "`"), text
    )
    words = re.sub(rf"coalesce\({MARK}(.*?){MARK}+\)", r"\1", words)
    return words.replace("{{", "{").replace("}}", "}")
