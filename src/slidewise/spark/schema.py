"""Schema: the columns of a DataFrame, as they travel to Python, and the types of results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.batches.row_pass import find_read_columns
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.sources import source_of
from slidewise.errors import CompileFallback, InvalidInput
from slidewise.spark.spark_operator import ANSI
from slidewise.suggest import suggest

if TYPE_CHECKING:
    from slidewise.spark.plan import Group

#: Spark's own limit of what a Python worker holds before it goes to disk
WORKER_MEMORY = "spark.python.worker.memory"
#: and of what it may have at all
WORKER_LIMIT = "spark.executor.pyspark.memory"
#: ours: whether tables are bucketed by their keys, or joined by them
BUCKETED = "spark.slidewise.bucketed"


class Schema:
    """The columns of a DataFrame, as they travel to Python."""

    def __init__(self, df: Any, given: Any = None) -> None:
        self.spark = df.sparkSession
        self.fields: list[Any] = (df.schema if given is None else given).fields
        self.names: list[str] = [field.name for field in self.fields]
        self._fields = {field.name: field for field in self.fields}
        self.heeds_capitals: bool = self.spark.conf.get("spark.sql.caseSensitive") == "true"
        self._folded = {self.fold(name): name for name in self.names}
        self.zone: str = self.spark.conf.get("spark.sql.session.timeZone")

    @cached_property
    def _ansi(self) -> bool:
        return bool(self.spark.conf.get(ANSI) == "true")  # over Connect, asking takes a while

    @cached_property
    def worker_memory(self) -> str:
        """How much memory Spark lets a Python worker have before it is to use its disk."""
        return str(self.spark.conf.get(WORKER_MEMORY, "512m"))  # Spark's own default

    @cached_property
    def worker_limit(self) -> str:
        """How much address space Spark lets the Python workers of an executor have; empty: any."""
        return str(self.spark.conf.get(WORKER_LIMIT, ""))

    def fold(self, name: str) -> str:
        """Fold names to one that Spark does not tell apart."""
        return name if self.heeds_capitals else name.lower()

    @cached_property
    def worker_tasks(self) -> int:
        """How many tasks of an executor share that limit."""
        return int(self.spark.conf.get("spark.executor.cores", "1"))

    @cached_property
    def bucketed(self) -> bool:
        """Whether Spark is to shuffle and sort, only where rows do not lie by key and order already."""
        said = str(self.spark.conf.get(BUCKETED, "false")).strip().lower()
        if said not in ("true", "false"):
            raise InvalidInput(f"{BUCKETED} is true or false, got {said!r}")
        return said == "true"

    def field(self, name: str) -> Any:
        """Find a column by name, as Spark would."""
        known = name if name in self._fields else self._folded.get(self.fold(str(name)))
        if known is not None:
            return self._fields[known]
        raise InvalidInput(f"there is no column {name!r}. {suggest(name, self.names)}")

    def has(self, name: str) -> bool:
        """Tell whether there is a column of this name, as Spark would find it."""
        return name in self._fields or self.fold(name) in self._folded

    def wraps(self, over: Over) -> bool:
        """Tell whether Spark's own operator would let a sum of integers overflow silently."""
        aggregation = over.aggregation
        if aggregation.name != "sum" or self._ansi:
            return False
        return self.field(aggregation.columns[0]).dataType.typeName() in ("byte", "short", "integer", "long")

    def to_arrow(self, names: Iterable[str]) -> pa.Schema:
        """Translate columns to an Arrow schema, with the types that they have in Python."""
        from slidewise.spark.arrow_types import to_arrow_type

        return pa.schema([(name, to_arrow_type(self.field(name).dataType, self.zone, name)) for name in names])

    def to_spark_types(self, results: Iterable[pa.DataType], reads: pa.Schema) -> list[Any]:
        """Translate the types of results to Spark's; where a column has such a type, the result has the column's."""
        from slidewise.spark.arrow_types import to_spark_type

        known = {field.type: self.field(field.name).dataType for field in reversed(list(reads))}
        return [to_spark_type(kind, known) for kind in results]

    def find_read_columns(self, group: Group) -> list[str]:
        """Find the columns that executors need, and no others; at least one, by which Python counts rows."""
        return find_read_columns(self.names, group.partition_by, group.order_by, group.expressions.values())


def infer_result_types(schema: pa.Schema, group: Group) -> list[pa.DataType]:
    """Infer the types of results, by computing those of no rows."""
    overs = group.expressions
    made = compute_on_no_rows(schema, group, lambda rows: Evaluation(rows, overs.values(), 1).columns(overs))
    return [made[name].type for name in overs]


def compute_on_no_rows(
    schema: pa.Schema, group: Group, compute: Callable[[ArrangedFrame], dict[str, pa.Array]]
) -> dict[str, pa.Array]:
    """Compute columns on no rows: the names and types are those of any rows."""
    rows = ArrangedFrame(source_of(schema.empty_table()), list(group.partition_by), list(group.order_by))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileFallback)  # the executors say so, where it matters
        return compute(rows)
