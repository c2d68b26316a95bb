"""Sorting: who puts the rows of a task in order, and why. Nobody where they are, Spark, or Python, beside the pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from slidewise.columns.sorting import OrderColumn
from slidewise.errors import InvalidInput
from slidewise.spark.executor.row_sorter import RowOrder
from slidewise.spark.executor.sorting_task import SortingTask
from slidewise.spark.executor.task import Task
from slidewise.spark.layouts import Layout
from slidewise.spark.schema import BUCKETED, WORKER_LIMIT, WORKER_MEMORY, Schema

#: Arrow's texts and lists end at 2 GiB; runs of less than a megabyte would be too many
LEAST_MEMORY, MOST_MEMORY = 1 << 20, 1 << 30
#: A worker whose address space is limited to less has little left beside libraries and kernels, which take 600 MB: with
#: 512 MB sorting ended in a MemoryError.
LEAST_WORKER = 1 << 30
#: Each result costs 2 to 4 ns of a core to be put back in the order of the rows; Spark's sort costs 200 ns of a core
#: where rows come nearly in order, and 1,000 where they do not.
MOST_RESULTS = 60
#: the types that Python sorts by, by their names in Arrow
SORTED = (
    "integer", "floating", "boolean", "string", "large_string", "binary", "large_binary", "date32", "timestamp",
    "duration", "time64", "decimal128",
)  # fmt: skip


@dataclass(frozen=True)
class SortChoice:
    """Who sorts: nobody, "spark", "window" (Spark, for an operator of its own that it may shuffle for) or "python"."""

    by: str
    because: str

    def find_layout(
        self, before: Layout | None, partition_by: tuple[str, ...], order_by: tuple[OrderColumn, ...]
    ) -> Layout:
        """Find how rows lie after a pass. Python hands results back in the order in which it was given the rows."""
        if before is not None and (self.by == "python" or before.serves(partition_by, order_by)):
            return before
        return Layout(partition_by, None if self.by == "python" else order_by)

    def describe(self) -> str:
        """Describe who sorts, and why."""
        return f"{'spark' if self.by == 'window' else self.by}: {self.because}"


def choose_sort(
    schema: Schema,
    partition_by: Sequence[str],
    order_by: Sequence[OrderColumn],
    results: int,
    layout: Layout | None = None,
) -> SortChoice:
    """Choose who puts the rows of a task in order."""
    if layout is not None and layout.serves(tuple(partition_by), tuple(order_by)):
        return SortChoice("nobody", "rows are in order since the step before")
    if not partition_by and not order_by:
        return SortChoice("nobody", "rows are taken as they stand")
    if schema.bucketed and partition_by:
        return SortChoice("window", f"where rows do not lie by key and order already, by {BUCKETED}")
    if results > MOST_RESULTS:
        return SortChoice("spark", f"{results} results of a row cost more to put back than rows to sort")
    if schema.worker_limit and read_memory(WORKER_LIMIT, schema.worker_limit) // schema.worker_tasks < LEAST_WORKER:
        return SortChoice("spark", f"Python workers of an executor share {schema.worker_limit}, by {WORKER_LIMIT}")
    for name in (*partition_by, *(by.name for by in order_by)):
        reason = _find_obstacle(schema, name)
        if reason is not None:
            return SortChoice("spark", reason)
    return SortChoice("python", f"up to {schema.worker_memory} of rows in a task, and more by way of its disk")


def _find_obstacle(schema: Schema, name: str) -> str | None:
    """Find why rows cannot be sorted by a column as Spark would; None where they can."""
    kind = schema.field(name).dataType
    text = f"the order of {name}, of type {kind.simpleString()}, is Spark's"
    if kind.typeName() == "string" and not getattr(kind, "isUTF8BinaryCollation", lambda: True)():
        return text
    try:
        arrow = schema.to_arrow([name]).field(0).type
    except InvalidInput:
        return text
    return None if any(getattr(pa.types, f"is_{test}")(arrow) for test in SORTED) else text


def add_sort(schema: Schema, task: Task, order_by: Sequence[OrderColumn]) -> SortingTask:
    """Have a task put its rows in order."""
    keys, order = task.partition_by, tuple(order_by)
    if task.halo is not None:
        # The buckets of a key follow one another: the check of halos counts on it.
        keys, order = keys[:-1], (OrderColumn(task.halo.bucket), *order)
    more = [by.name for by in order_by if by.name not in task.reads.names]
    reads = pa.schema([*task.reads, *schema.to_arrow(dict.fromkeys(more))])
    return SortingTask(task, reads, RowOrder(keys, order), parse_memory(schema.worker_memory))


def parse_memory(text: str) -> int:
    """Read how much memory rows may take; no more than Arrow's types can."""
    return min(MOST_MEMORY, max(LEAST_MEMORY, read_memory(WORKER_MEMORY, text)))


def read_memory(name: str, text: str) -> int:
    """Read an amount of memory as Spark writes it, as in "512m"."""
    number, unit = text.strip().lower().rstrip("b"), 1 << 20
    if number and number[-1] in "kmgt":
        number, unit = number[:-1], 1 << 10 * (1 + "kmgt".index(number[-1]))
    try:
        return int(float(number) * unit)
    except ValueError:
        raise InvalidInput(f'{name} is an amount as in "512m", got {text!r}') from None
