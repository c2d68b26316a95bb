"""A query in which SELECTs with window calls of slidewise's are replaced by SELECTs over what was computed for them.

What cannot be rewritten is left to Spark: a call whose types or offsets are not ours becomes one of Spark's, and a
SELECT that cannot be read stays as it is. Why is kept: it is the error, where Spark cannot take it either.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slidewise.errors import InvalidInput
from slidewise.spark.analysis import analyse, silence_pyspark
from slidewise.spark.plan import fit_offsets
from slidewise.spark.sql.calls import FrameClause, Spec, WindowCall, find_calls, read_named_windows
from slidewise.spark.sql.expressions import is_constant
from slidewise.spark.sql.query_blocks import QueryBlock, Scope, visit_blocks
from slidewise.spark.sql.query_text import Edit, QueryText, Span
from slidewise.spark.sql.select import PREFIX, Below, Select, quote, restore_user_words
from slidewise.spark.sql.translate import (
    build_null_offset_error,
    build_wrong_offset_error,
    read_constant,
    translate_aggregation,
)
from slidewise.spark.window import SpecifiedOver

#: runs a text with the DataFrames that it names, and gives a DataFrame
Run = Callable[[str, dict[str, Any]], Any]
#: adds columns to a DataFrame
Compute = Callable[[Any, dict[str, SpecifiedOver]], Any]

_log = logging.getLogger("slidewise.spark.sql")


@dataclass(frozen=True)
class Rewritten:
    """A query for Spark."""

    text: str
    #: the DataFrames that it names
    frames: dict[str, Any]
    #: whether it is another text than before
    changed: bool
    #: why parts of it were left to Spark that it may not know
    left: tuple[InvalidInput, ...]
    #: why a window over a stream cannot be taken, which Spark refuses only when the stream starts
    streaming: InvalidInput | None


def rewrite_query(source: QueryText, run: Run, compute: Compute) -> Rewritten:
    """Rewrite a query so that everything that is slidewise's is computed, and all else is as it was."""
    blocks: list[QueryBlock] = []
    visit_blocks(source, blocks.append)
    rewriter = _Rewriter(source, run, compute, blocks)
    for block in blocks:
        rewriter.rewrite(block)
    rewriter.leave_the_rest()
    text = source.write_between(0, len(source.query))
    return Rewritten(text, rewriter.frames, bool(source.edits), tuple(rewriter.left), rewriter.streaming)


class _Rewriter:
    """The SELECTs of one query, rewritten from the innermost on, and why some were left to Spark."""

    def __init__(self, source: QueryText, run: Run, compute: Compute, blocks: Sequence[QueryBlock]) -> None:
        self.source, self.run, self.compute, self.blocks = source, run, compute, blocks
        self.calls = find_calls(source)
        self.frames: dict[str, Any] = {}
        self.left: list[InvalidInput] = []
        self.streaming: InvalidInput | None = None

    def rewrite(self, block: QueryBlock) -> None:
        """Rewrite one SELECT; those inside it are done."""
        mine = [call for call in self.calls if block.span.first <= call.over < block.span.end]
        self.calls = [call for call in self.calls if call not in mine]
        if mine:
            try:
                self.source.edits += self._build_edits(block, mine)
            except InvalidInput as error:
                self._leave(error)

    def leave_the_rest(self) -> None:
        """Leave to Spark the calls outside of every SELECT that was looked at."""
        for call in self.calls:
            try:
                ours = translate_aggregation(self.source, call, lambda expression: "any") is not None
            except InvalidInput as error:
                self._leave(error)
                continue
            if ours:
                self._leave(
                    self.source.build_error(
                        call.span,
                        "a window in this place cannot be taken: it must stand in a query that begins with SELECT or "
                        "WITH, and not in a table of WITH RECURSIVE. Compute a DataFrame with it first, and go on from "
                        "there",
                    )
                )

    def _leave(self, why: InvalidInput) -> None:
        _log.debug("left to Spark: %s", why)
        self.left.append(why)

    # ---- one SELECT
    def _build_edits(self, block: QueryBlock, calls: Sequence[WindowCall]) -> list[Edit]:
        """Build what replaces a SELECT. Whether a call is ours may turn out when the types of columns are known."""
        from slidewise.spark.plan import column

        refused: dict[WindowCall, InvalidInput] = {}
        while True:
            select = Select(
                self.source,
                block,
                calls,
                lambda text: self._run(block, text).columns,
                self._find_outer_windows(block),
                refused,
            )
            if not select.ours:
                self.left += select.refused.values()
                return select.refine_named_windows()
            inner = self._run_inner(select)
            below = select.describe_below(inner.columns)
            rows = inner.toDF(*below.names).select(*map(column, below.kept))
            found = self._find_refused(select, rows, inner.columns)
            if not found:
                return [self._replace(select, below, rows)]
            refused = {**select.refused, **found}

    def _find_outer_windows(self, block: QueryBlock) -> dict[str, Spec]:
        """Find the windows that are named by SELECTs in whose FROM this one stands."""
        named: dict[str, Spec] = {}
        for other in reversed(self.blocks):  # the outermost first
            tables, clause = other.clauses.get("FROM"), other.find_body("WINDOW")
            if clause is not None and tables is not None and tables.first <= block.span.first < tables.end:
                named |= read_named_windows(self.source, clause)
        return named

    def _run_inner(self, select: Select) -> Any:
        """Run the inner SELECT."""
        try:
            return self._run(select.block, select.write_inner())
        except InvalidInput:
            for call, why in select.refused.items():
                if self._ask_types(select, [call]) is None:
                    raise why from None
            raise

    def _find_refused(self, select: Select, rows: Any, names: Sequence[str]) -> dict[WindowCall, InvalidInput]:
        """Find the calls that slidewise cannot compute, or gives another type than Spark, and why."""
        from slidewise.spark.plan import group_expressions, plan_task
        from slidewise.spark.schema import Schema

        schema = Schema(rows)
        refused: dict[WindowCall, InvalidInput] = {}
        kinds: dict[WindowCall, Any] = {}
        for call, name in select.ours.items():
            try:
                self._check_offsets(select, call)
                select.windows[name] = fit_offsets(select.windows[name], schema)
                [group] = group_expressions({name: select.windows[name]}, None, None)
                _, [kind] = plan_task(schema, group)
                kinds[call] = self._finish_type(select, call, kind, rows)
            except InvalidInput as error:
                refused[call] = self.source.place_error(error, call.span)
        calls = list(select.ours)
        theirs = self._ask_types(select, calls, items=True)
        if theirs is not None:
            found = dict(zip(calls, theirs[len(theirs) - len(calls) :], strict=True))
            marked = {marker: theirs[list(names).index(marker)].name for marker in select.find_unnamed()}
            select.spark_names = marked
        else:
            found = {call: field for call in calls for field in self._ask_types(select, [call]) or []}
        for call, field in found.items():
            if call not in refused and not is_same_type(field.dataType, kinds[call]):
                refused[call] = self.source.build_error(
                    call.span,
                    f"{call.name} over a window is of {kinds[call].simpleString()} here, and of "
                    f"{field.dataType.simpleString()} in Spark",
                )
        return refused

    def _check_offsets(self, select: Select, call: WindowCall) -> None:
        """Refuse bounds that are null, or nothing to count by, where that is known before any row is read."""
        given = select.find_frame(call)
        for bound in (given.start, given.end) if given is not None else ():
            if given is not None and bound.offset is not None and read_constant(self.source, bound.offset) is None:
                self._check_offset(select, given, bound.offset)

    def _check_offset(self, select: Select, given: FrameClause, offset: Span) -> None:
        text = self.source.write(offset)
        kind = self._run(select.block, select.write_of_row(text)).schema[0].dataType.simpleString()
        whole = kind in ("tinyint", "smallint", "int", "bigint")
        null = is_constant(self.source, offset) and self._run(select.block, f"SELECT ({text}) IS NULL").first()[0]
        if kind == "void" or null:
            raise build_null_offset_error(self.source, offset)
        if kind.startswith("string") or (given.unit != "RANGE" and not whole):
            raise build_wrong_offset_error(self.source, given, offset, kind)

    def _finish_type(self, select: Select, call: WindowCall, kind: Any, rows: Any) -> Any:
        """Find the type that the outer SELECT gives a column, which has one in Spark by now."""
        from pyspark.sql import functions as F  # noqa: N812

        text, name = select.finish_call(call), select.ours[call]
        if text == f"coalesce({quote(name)})":
            return kind
        plain = text.replace("{{", "{").replace("}}", "}")
        return rows.select(F.lit(None).cast(kind).alias(name)).selectExpr(plain).schema[0].dataType

    def _ask_types(self, select: Select, calls: Sequence[WindowCall], *, items: bool = False) -> list[Any] | None:
        """Ask Spark for the types of calls, and of all items before them; None where it refuses."""
        try:
            return list(self._run(select.block, select.write_by_spark(calls, items=items)).schema)
        except InvalidInput:
            return None

    def _replace(self, select: Select, below: Below, rows: Any) -> Edit:
        name = f"{PREFIX}rows_{len(self.frames)}"
        while f"{{{name}}}" in self.source.query:  # a view of the user's
            name += "_"
        self.frames[name] = self._compute(select, rows)
        return Edit(*self.source.find_offsets(select.block.span), select.write_outer(below, f"{{{name}}}"))

    def _compute(self, select: Select, rows: Any) -> Any:
        from pyspark.errors import AnalysisException

        try:
            return self.compute(rows, select.windows)
        except InvalidInput as error:
            place = next(iter(select.ours)).span
            if rows.isStreaming:
                self.streaming = self.source.build_error(place, _explain_stream(rows))
                raise self.streaming from None
            raise self.source.build_error(place, str(error)) from None
        except AnalysisException as error:  # of a window that is Spark's operator in the end
            raise build_refusal(self.source, select.block.span, error) from error

    # ---- Spark
    def _run(self, block: QueryBlock, text: str) -> Any:
        """Run a SELECT where it stands: with the tables that the WITH clauses around it name."""
        scope: Scope = block.scope
        for k, level in enumerate(reversed(scope)):
            tables = ", ".join(self.source.write(table) for table in level.tables)
            body = text if k == 0 else f"SELECT * FROM ({text})"
            text = f"{self.source.write(level.keyword)} {tables} {body}"
        try:
            with silence_pyspark():
                return analyse(self.run(text, self.frames))
        except InvalidInput:
            raise
        except Exception as error:  # of many kinds: an INTERNAL_ERROR is no AnalysisException
            raise build_refusal(self.source, block.span, error) from error


def _explain_stream(rows: Any) -> str:
    """Explain what to do about a window over a stream."""
    told = any("spark.watermarkDelayMs" in field.metadata for field in rows.schema)
    watermark = "" if told else 'declare its watermark, as in df.withWatermark("ts", "10 minutes"); or '
    return (
        "this window reads a stream, and SQL has no words for what a stream needs, such as how late a row may be: "
        f"{watermark}give the DataFrame of the stream to slidewise.spark.with_columns, which takes them"
    )


# ---- Spark's refusals
def build_refusal(source: QueryText, where: Span, error: Exception) -> InvalidInput:
    """Build an error of what Spark says about a part of the query, with the place."""
    said = restore_user_words(str(error).strip().split("SQLSTATE:")[0].split(";\n")[0].strip())
    made = source.build_error(_find_place(source, where, error), said or type(error).__name__)
    made.__cause__ = error
    return made


def _find_place(source: QueryText, where: Span, error: Exception) -> Span:
    """Find the part of the query that Spark's error speaks of; all of it where that is not to be found."""
    contexts = error.getQueryContext() if hasattr(error, "getQueryContext") else None
    for context in contexts or []:
        if context.contextType().name == "SQL":
            found = source.find_text(restore_user_words(context.fragment()), where)
            if found is not None:
                return found
    return where


def is_same_type(a: Any, b: Any) -> bool:
    """Tell whether two types of Spark's are the same, but for what may be null."""
    return bool(_drop_nullability(a.jsonValue()) == _drop_nullability(b.jsonValue()))


def _drop_nullability(value: Any) -> Any:
    if isinstance(value, Mapping):
        gone = ("nullable", "containsNull", "valueContainsNull", "metadata")
        return {name: _drop_nullability(part) for name, part in value.items() if name not in gone}
    return [_drop_nullability(part) for part in value] if isinstance(value, list) else value
