"""A query in which SELECTs with window calls of slidewise's are replaced by SELECTs over what was computed for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slidewise.spark.sql.blocks import Block, Scope, visit_blocks
from slidewise.spark.sql.calls import find_calls
from slidewise.spark.sql.select import PREFIX, Select
from slidewise.spark.sql.source import Edit, Source
from slidewise.spark.sql.translate import aggregation
from slidewise.spark.window import SpecifiedOver

#: runs a text with the DataFrames that it names, and gives a DataFrame
Run = Callable[[str, dict[str, Any]], Any]
#: adds columns to a DataFrame
Compute = Callable[[Any, dict[str, SpecifiedOver]], Any]


def rewritten(source: Source, run: Run, compute: Compute) -> tuple[str, dict[str, Any]] | None:
    """The query for Spark and the DataFrames that it names; None where it can stay as it is."""
    rewriter = _Rewriter(source, run, compute)
    visit_blocks(source, rewriter.block)
    rewriter.refuse_the_rest()
    return (source.between(0, len(source.query)), rewriter.frames) if source.edits else None


class _Rewriter:
    def __init__(self, source: Source, run: Run, compute: Compute) -> None:
        self.source, self.run, self.compute = source, run, compute
        self.calls = find_calls(source)
        self.frames: dict[str, Any] = {}

    def block(self, block: Block) -> None:
        """One SELECT; those inside it are done."""
        mine = [call for call in self.calls if block.span.first <= call.over < block.span.end]
        self.calls = [call for call in self.calls if call not in mine]
        select = Select(self.source, block, mine, lambda text: self._run(block.scope, text).columns)
        self.source.edits += [self._replaced(select)] if select.ours else select.refined()

    def refuse_the_rest(self) -> None:
        """Calls outside of every SELECT that was looked at; Spark's are left to it."""
        for call in self.calls:
            if aggregation(self.source, call, lambda expression: "any") is not None:
                raise self.source.error(
                    call.span,
                    "a window in this place cannot be taken: it must stand in a query that begins with SELECT or WITH, "
                    "and not in a table of WITH RECURSIVE. Compute a DataFrame with it first, and go on from there",
                )

    def _replaced(self, select: Select) -> Edit:
        inner = self._run(select.block.scope, select.inner())
        below = select.below(inner.columns)
        name = f"{PREFIX}rows_{len(self.frames)}"
        self.frames[name] = self.compute(inner.toDF(*below.names).select(*below.kept), select.windows)
        return Edit(*self.source.offsets(select.block.span), select.outer(below, f"{{{name}}}"))

    def _run(self, scope: Scope, text: str) -> Any:
        """Run a SELECT where it stands: with the tables that the WITH clauses around it name."""
        for k, level in enumerate(reversed(scope)):
            tables = ", ".join(self.source.text(table) for table in level.tables)
            body = text if k == 0 else f"SELECT * FROM ({text})"
            text = f"{self.source.text(level.keyword)} {tables} {body}"
        return self.run(text, self.frames)
