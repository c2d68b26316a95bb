"""Schema: the columns of a DataFrame, as they travel to Python, and the types of results."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.sources import source_of
from slidewise.errors import CompileFallback, InvalidInput
from slidewise.spark.spark_operator import ANSI
from slidewise.suggest import suggest
from slidewise.windows.definitions import PunctuationWindow

if TYPE_CHECKING:
    from slidewise.spark.plan import Group


class Schema:
    """The columns of a DataFrame, as they travel to Python."""

    def __init__(self, df: Any) -> None:
        self.spark = df.sparkSession
        self.names: list[str] = df.columns
        self._fields = {f.name: f for f in df.schema.fields}
        self.heeds_capitals: bool = self.spark.conf.get("spark.sql.caseSensitive") == "true"
        self._folded = {} if self.heeds_capitals else {name.lower(): name for name in self.names}
        self.zone: str = self.spark.conf.get("spark.sql.session.timeZone")

    @cached_property
    def _ansi(self) -> bool:
        return bool(self.spark.conf.get(ANSI) == "true")  # over Connect, asking takes a while

    def field(self, name: str) -> Any:
        """A column by name, as Spark would find it."""
        known = name if name in self._fields else self._folded.get(str(name).lower())
        if known is not None:
            return self._fields[known]
        raise InvalidInput(f"there is no column {name!r}. {suggest(name, self.names)}")

    def wraps(self, over: Over) -> bool:
        """Whether Spark's own operator would not notice that a sum is too large."""
        aggregation = over.aggregation
        if aggregation.name != "sum" or self._ansi:
            return False
        return self.field(aggregation.columns[0]).dataType.typeName() in ("byte", "short", "integer", "long")

    def arrow(self, names: Iterable[str]) -> pa.Schema:
        """Columns as they travel."""
        from slidewise.spark.arrow_types import arrow_type

        return pa.schema([(name, arrow_type(self.field(name).dataType, self.zone, name)) for name in names])

    def kinds(self, results: Iterable[pa.DataType], reads: pa.Schema) -> list[Any]:
        """The types of results in Spark; what is of the type of a column is of its very type there."""
        from slidewise.spark.arrow_types import spark_type

        known = {field.type: self.field(field.name).dataType for field in reversed(list(reads))}
        return [spark_type(kind, known) for kind in results]

    def reads(self, group: Group) -> list[str]:
        """The columns that executors need, and no others; Python must get at least one to count rows by."""
        named = [*group.partition_by, *(by.name for by in group.order_by)]
        for over in group.expressions.values():
            named += [*over.aggregation.columns, *over.window.columns]
            named += [over.aggregation.where] if over.aggregation.where is not None else []
            windows = (over.window, over.window.every)
            if any(isinstance(w, PunctuationWindow) and callable(w.predicate) for w in windows):
                named += self.names  # the function sees whole rows
        return list(dict.fromkeys(named)) or self.names[:1]


def result_types(schema: pa.Schema, group: Group) -> list[pa.DataType]:
    """The types of results, by computing those of no rows."""
    rows = ArrangedFrame(source_of(schema.empty_table()), list(group.partition_by), list(group.order_by))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileFallback)  # the executors say so, where it matters
        made = Evaluation(rows, group.expressions.values(), 1).columns(group.expressions)
    return [made[name].type for name in group.expressions]
