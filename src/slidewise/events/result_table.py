"""Results as an Arrow table: the keys, where each result belongs, and the values by name."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.aggregations.sums import Count
from slidewise.columns.arranged import ArrangedFrame
from slidewise.columns.evaluate import Evaluation
from slidewise.columns.sources import Arrays
from slidewise.errors import InvalidInput, SlidewiseError
from slidewise.events.batch import KEY, VALUE, Batch
from slidewise.events.result import Result
from slidewise.events.shared_plan import SharedPlan
from slidewise.windows.definitions import RowsWindow

if TYPE_CHECKING:
    from slidewise.events.window import Window

_UNABLE = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)


def bind(aggregation: Aggregation, batch: Batch) -> Aggregation:
    """Bind an aggregation of plain values to the arrays of a batch; count() reads none."""
    if aggregation.columns or batch.arity is None or isinstance(aggregation, Count):
        return aggregation
    bound = copy(aggregation)
    bound.columns = (VALUE,) if batch.arity == 1 else tuple(f"{VALUE}{k}" for k in range(batch.arity))
    return bound


class ResultTable:
    """The columns of the results of one window, for batches of certain types."""

    def __init__(self, window: Window, batch: Batch) -> None:
        plan = window._plan
        self.types = batch.types
        self.single = plan.single
        self.keys = batch.keys
        self.composite = isinstance(plan.reader.partition_by, list)
        #: a field of Result for each column that tells where a result belongs, by the column's name
        self.where: dict[str, str] = {}
        if batch.time is not None or window._timed:
            self.where[batch.time_name] = "time"
        windows = plan.windows.values()
        if isinstance(plan, SharedPlan) or not plan.slides_by_time:
            self.where["row"] = "row"
        if any(each.gives_windows for each in windows):
            self.where |= {"start": "start", "end": "end"}
        if window._order.late == "revise":
            self.where["revision"] = "revision"
        if window._order.late == "mark":
            self.where["late"] = "late"
        #: the names of the results
        self.outputs = ["value"] if plan.single else [output.name for output in plan.outputs]
        time = None if batch.time is None else batch.time.type
        self._of_field = {
            "time": time, "start": time, "end": time, "row": pa.int64(), "revision": pa.int64(), "late": pa.bool_(),
        }  # fmt: skip
        self.kinds = {
            name: _find_type(output.aggregation, batch) for name, output in zip(self.outputs, plan.outputs, strict=True)
        }
        self._require_different()

    def _require_different(self) -> None:
        names = [self._key_name(key) for key in self.keys] + [*self.where, *self.outputs]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise InvalidInput(
                f"push_many: its table has columns for {', '.join(map(repr, names))}, and {twice[0]!r} is among them "
                "twice. Give the aggregation, or the column, another name"
            )

    def _key_name(self, key: str) -> str:
        return "key" if key == KEY else key

    def build(self, keys: dict[str, pa.Array], where: dict[str, pa.Array], values: dict[str, pa.Array]) -> pa.Table:
        """Build the table from columns: of the keys, of the fields in `where`, and of the results by name."""
        first = next(iter(values.values()))
        for field in self.where.values():
            if field not in where:
                where[field] = pa.nulls(len(first), self._of_field[field])
                if field in ("revision", "late"):
                    where[field] = pa.repeat(pa.scalar(0, pa.int64()).cast(self._of_field[field]), len(first))
        return pa.table(
            {self._key_name(key): column for key, column in keys.items()}
            | {name: where[field] for name, field in self.where.items()}
            | values
        )

    def from_results(self, results: list[Result]) -> pa.Table:
        """Build the table from results. O(results)."""
        keys: dict[str, pa.Array] = {}
        for k, name in enumerate(self.keys):
            found = [result.key[k] if self.composite else result.key for result in results]
            keys[name] = _as_arrow(found, self.types[name])
        where = {
            field: _as_arrow([getattr(result, field) for result in results], self._of_field[field])
            for field in self.where.values()
        }
        if self.single:
            values = {"value": [result.value for result in results]}
        else:
            values = {name: [result.value.get(name) for result in results] for name in self.outputs}
        return self.build(keys, where, {name: _as_arrow(found, self.kinds[name]) for name, found in values.items()})


def is_own(aggregation: Aggregation) -> bool:
    """Tell whether an aggregation is of a user's own: integers of its own wrap around in columns, and not with push."""
    return not type(aggregation).__module__.startswith("slidewise.")


def _find_type(aggregation: Aggregation, batch: Batch) -> pa.DataType | None:
    """Find the type of the results over a batch, as columns have it; None where only the values tell."""
    bound = bind(aggregation, batch)
    if not bound.columns and not isinstance(bound, Count):
        return None
    if is_own(bound) and not all(pa.types.is_float64(batch.types.get(name)) for name in bound.columns):
        return None
    columns = {name: column.slice(0, 0) for name, column in batch.columns.items()}
    try:
        frame = ArrangedFrame(Arrays(columns), [], [])
        found: pa.DataType = Evaluation(frame, (over := Over(bound, RowsWindow(1)),), 1).column(over).type
    except SlidewiseError:
        return None
    return None if pa.types.is_null(found) else found


def _as_arrow(values: list[Any], kind: pa.DataType | None) -> pa.Array:
    """Convert values to a column of a type, or of their own where they are not of that one."""
    if kind is not None:
        try:
            return pa.array(values, kind)
        except _UNABLE:
            pass
    try:
        return pa.array(values)
    except _UNABLE as error:
        raise InvalidInput(
            f"push_many: results of {type(values[0]).__name__} have no type of a column ({error}). Use push"
        ) from None
