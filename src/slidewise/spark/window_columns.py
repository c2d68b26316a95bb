"""Window columns: Columns of PySpark's that stand for aggregates over windows, and how a DataFrame gets what they mean.

`F.median("x").over(w)` is a Column that names a column which no DataFrame has, a marker. Being a Column, it takes every
operator and every function of PySpark's. Where an expression with markers is selected, the DataFrame gets

1. the expressions that windows read, as columns;
2. the windows, as columns with the names of their markers: now the expression means what it says;

and after the expression was selected, both are dropped. Where what a window reads has windows inside, the DataFrame
gets those before.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.over import Over
from slidewise.errors import InvalidInput
from slidewise.spark.aggregate_names import is_aggregate
from slidewise.spark.analysis import analyse, silence_pyspark
from slidewise.spark.conditions import describe_spark_error
from slidewise.spark.layouts import find_layout, record_layout
from slidewise.spark.named_expressions import (
    MARKER,
    build_column,
    is_expression,
    list_expressions,
    name_by_content,
    name_once,
    spell_out,
)
from slidewise.spark.pyspark_internals import is_column, is_window
from slidewise.spark.stable_names import number_anew, rename_order, rename_reads
from slidewise.spark.whole_seconds import build_end_of_second, fit_to_seconds, name_end_of_second
from slidewise.spark.window import SpecifiedOver, WindowSpec, build_their_window, read_spec
from slidewise.windows.definitions import Between, WindowDefinition
from slidewise.windows.reach import Unbounded

_CALLED = re.compile(r"\b(\w+)\(")
#: how Spark says that a column of a DataFrame is not among those it is looked for in
_LOST = ("MISSING_ATTRIBUTES", "CANNOT_RESOLVE_DATAFRAME_COLUMN")
#: what Spark names where a column may be of either side of a join of a DataFrame with what was made of it
_SELF_JOIN = "spark.sql.analyzer.failAmbiguousSelfJoin"
_BESIDE = "__slidewise_beside"
#: functions that make several rows of one
_GENERATORS = r"(?:pos)?explode(?:_outer)?|inline(?:_outer)?|stack|json_tuple"
_GENERATOR = re.compile(rf"\b(?:{_GENERATORS})\(")
#: and what else tells another thing above a shuffle than below it: of the time windows of a row, files and partitions
_EARLY = re.compile(
    rf"\b(?:{_GENERATORS}|window|session_window|monotonically_increasing_id|spark_partition_id|input_file_name|"
    r"input_file_block_(?:start|length)|rand|randn|random|randstr|uniform|uuid|shuffle)\("
)
_CALLED_BY_MARKER = re.compile(rf"coalesce\(({MARKER.pattern})\)")


@dataclass(frozen=True)
class Window:
    """What a marker stands for."""

    #: an Over takes the partitioning and the order of the call
    definition: Over | SpecifiedOver
    #: PySpark's own column of the aggregate; None where it has none
    aggregate: Any
    #: builds PySpark's own column over the window, where PySpark has both: of what it reads, or of the names of that
    build_theirs: Callable[[bool], Any] | None

    @property
    def over(self) -> Over:
        """The aggregate over the frame."""
        return self.definition if isinstance(self.definition, Over) else self.definition.over

    @property
    def reads(self) -> list[str]:
        """The columns that it reads."""
        return list_reads(self.definition)


def list_reads(definition: Over | SpecifiedOver) -> list[str]:
    """List the columns that an aggregate over a window reads."""
    over = definition if isinstance(definition, Over) else definition.over
    names = [*over.aggregation.reads, *over.window.columns]
    if isinstance(definition, SpecifiedOver):
        names += [*definition.partition_by, *(by.name for by in definition.order_by)]
    return names


class WindowTable:
    """The windows of the markers made last. No marker is ever another window's: what is forgotten can only be missed.

    PySpark's expressions cannot be asked who holds them (those of classic sessions are in the JVM), and so a number
    bounds them.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._markers: dict[Hashable, str] = {}
        self._windows: OrderedDict[str, tuple[Hashable, Window]] = OrderedDict()
        self._lock = Lock()

    def name(self, key: Hashable, window: Window) -> str:
        """Name a window by its marker: the same one for the same key, as long as it is not forgotten."""
        with self._lock:
            marker = self._markers.get(key)
            if marker is not None:
                self._windows.move_to_end(marker)
                return marker
            marker = self._markers[key] = name_by_content("window", repr(key))
            self._windows[marker] = key, window
            if len(self._windows) > self._most:
                _, (oldest, _) = self._windows.popitem(last=False)
                del self._markers[oldest]
            return marker

    def find(self, marker: str) -> Window:
        """Find what a marker stands for."""
        with self._lock:
            if marker not in self._windows:
                raise InvalidInput(
                    f"this column over a window was made more than {self._most:,} others ago, and what it stands for "
                    "is forgotten. Make it again where it is used: F.median(...).over(...)"
                )
            self._windows.move_to_end(marker)
            return self._windows[marker][1]

    def __len__(self) -> int:
        return len(self._windows)


#: one takes 7 kB, and so all 140 MB
_table = WindowTable(20_000)

#: set while a DataFrame gets the columns of markers: the steps of that are not looked at again
_computing: ContextVar[bool] = ContextVar("computing", default=False)


# ---- how they are made
@dataclass(frozen=True)
class PutOver:
    """The `over` of an aggregate's column: it takes windows of PySpark's, their spelling here, and slidewise's.

    `make` builds the aggregation, and `aggregate` is PySpark's column of it: `of_pyspark` says whether that means the
    same, and `without_window` whether Spark takes it without a window.
    """

    aggregate: Any
    make: Callable[[], Aggregation]
    of_pyspark: bool
    without_window: bool

    def __call__(self, window: Any, algorithm: str = "auto") -> Any:
        """Put the aggregate over a window: a Column that takes every operator, and goes wherever a Column does."""
        spec = read_spec(window) if is_window(window) else window
        aggregation = self.make()
        name, theirs = aggregation.name, None
        for made in list_expressions(aggregation.reads).values():
            if _GENERATOR.search(str(made)):
                raise InvalidInput(
                    f"{name}: {made} makes several rows of one, and an aggregate reads one value of each. Make them "
                    f'first: df.withColumn("part", F.explode("parts")), and then {name} of "part"'
                )
        if isinstance(spec, WindowSpec):
            if self.aggregate is not None and self.of_pyspark:

                def theirs(by_names: bool) -> Any:
                    own = window if is_window(window) and not by_names else build_their_window(spec, name, by_names)
                    return type(self.aggregate).over(self.aggregate, own)

                read = [*aggregation.reads, *spec.partition_by, *(by.name for by in spec.order_by)]
                if any(is_expression(each) and _holds_aggregate(each) for each in read):
                    return theirs(False)  # groupBy("k").agg(F.sum(F.sum("x")).over(w)): what is grouped is Spark's
        elif not isinstance(window, WindowDefinition | int):
            raise InvalidInput(
                f"{aggregation.name}: over() takes a window, as in Window.partitionBy(...).orderBy(...), got {window!r}"
            )
        named = self.aggregate if self.without_window else None
        return build_marker(aggregation.over(spec, algorithm=algorithm), named, theirs)


def build_marker(definition: Over | SpecifiedOver, aggregate: Any = None, theirs: Any = None) -> Any:
    """Build the Column that stands for an aggregate over a window; the same one for the same definition."""
    from pyspark.sql import functions

    key = (definition, str(aggregate), type(aggregate).__module__)
    marker = functions.col(_table.name(key, Window(definition, aggregate, theirs)))
    # A window has no name, and a column has: a struct would call its field by it.
    return functions.coalesce(marker)


def _holds_aggregate(name: str) -> bool:
    """Tell whether an expression calls an aggregate function, and so belongs to a groupBy."""
    return any(is_aggregate(called.lower()) for called in _CALLED.findall(str(build_column(name))))


def _is_early(column: Any) -> bool:
    """Tell whether Spark computes a column before the windows beside it, and it would be another one after them."""
    if not is_column(column):
        return False
    text = str(column)
    return _EARLY.search(text) is not None and MARKER.search(text) is None


# ---- how they are found
def is_computing() -> bool:
    """Tell whether a DataFrame is getting the columns of markers."""
    return _computing.get()


def find_markers(columns: Iterable[Any]) -> list[str]:
    """Find the markers that expressions hold, each once."""
    return [] if _computing.get() or not _table else _list_markers(columns)


def _list_markers(columns: Iterable[Any]) -> list[str]:
    texts = [str(column) for column in columns if is_column(column)]
    return list(dict.fromkeys(found for text in texts for found in MARKER.findall(text)))


def read_marker(column: Any) -> str | None:
    """Read the marker of a column that is nothing but that."""
    found = _CALLED_BY_MARKER.fullmatch(str(column).removeprefix("Column<'").removesuffix("'>"))
    return None if found is None else found[1]


@contextmanager
def compute() -> Iterator[None]:
    """Let the steps taken meanwhile pass: their markers are columns by then."""
    before = _computing.set(True)
    try:
        yield
    except InvalidInput as error:
        error.args = (spell_out(str(error)), *error.args[1:])
        raise
    finally:
        _computing.reset(before)


class Windows:
    """The windows that the expressions of a call hold."""

    def __init__(self, markers: Sequence[str]) -> None:
        self.by_marker = {marker: _table.find(marker) for marker in markers}
        self._seconds: list[str] = []
        self._base: Any = None
        self._beside: dict[str, Any] = {}
        #: columns beside the windows that are computed before them, by the names that they have meanwhile
        self._early: dict[tuple[str, ...], Any] = {}

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """The expressions that windows read, by the names that they have there."""
        return list_expressions(dict.fromkeys(name for window in self.by_marker.values() for name in window.reads))

    @cached_property
    def inner(self) -> Windows | None:
        """The windows inside of what windows read: `F.sum(F.col("x") - F.min("x").over(w)).over(w)`."""
        markers = _list_markers(self.inputs.values())
        return Windows(markers) if markers else None

    @property
    def temporary(self) -> list[str]:
        """The columns to drop in the end."""
        early = [name for names in self._early for name in names]
        own = [*self.by_marker, *self.inputs, *self._seconds, *self._beside, *early]
        return list(dict.fromkeys([*own, *self._inner_names]))

    @property
    def _inner_names(self) -> list[str]:
        return self.inner.temporary if self.inner is not None else []

    def require_specs(self, what: str) -> None:
        """Refuse windows that say nothing of partitioning and order, where the call does not either."""
        if self.inner is not None:
            self.inner.require_specs(what)
        for window in self.by_marker.values():
            if isinstance(window.definition, Over):
                raise InvalidInput(
                    f"{what}: {window.definition!r} has no partitioning and no order. Give it a window that has, "
                    'Window.partitionBy("k").orderBy("ts").rowsBetween(-9, 0), or say both in '
                    "slidewise.spark.with_columns(df, partition_by=..., order_by=...)"
                )

    @cached_property
    def stable(self) -> dict[str, str]:
        """The names of the columns to drop, by what they say alone: the state of a stream is found again by them."""
        return number_anew([*self.by_marker, *self.inputs, *self._inner_names])

    # ---- what is computed before windows
    def hoist(self, df: Any, columns: Iterable[Any]) -> list[list[Any]]:
        """Have columns beside the windows of a select computed before them, as Spark does; give what stands for each.

        Spark makes the rows of `F.explode` before the windows of the same select, and above the shuffle of a window
        `F.input_file_name()` would be empty, and `F.monotonically_increasing_id()` not of the order of the rows.
        """
        self._early = {}
        return [self._hoist(df, c) if _is_early(c) and not df.isStreaming else [c] for c in columns]

    def _hoist(self, df: Any, column: Any) -> list[Any]:
        from pyspark.sql import functions

        called = self.select(df, column).columns
        called = called[: len(called) - len(self._beside)]
        names = tuple(name_once(column, k) for k in range(len(called)))
        self._early[names] = column.alias(*names)
        return [functions.col(name).alias(known) for name, known in zip(names, called, strict=True)]

    def add_early(self, df: Any) -> tuple[Any, set[str]]:
        """Add what is computed before all windows, those inside of others too; and give the names of what they read."""
        read = {name: column for name, column in self._list_inputs().items() if _is_early(column)}
        if not (read or self._early) or df.isStreaming:
            return df, set()
        columns = [*self._early.values(), *(column.alias(name) for name, column in read.items())]
        wide = self.select(df, "*", *columns).drop(*self._beside)
        return record_layout(wide, find_layout(df)), set(read)

    def _list_inputs(self) -> dict[str, Any]:
        """List the expressions that windows read, and those inside of windows."""
        return self.inputs | (self.inner._list_inputs() if self.inner is not None else {})

    def add_inputs(self, df: Any, there: Iterable[str] = ()) -> tuple[Any, dict[str, Any]]:
        """Add the expressions that windows read to a DataFrame, but for what is there; and give the windows by markers.

        It has got the inner windows. On a stream names are the stable ones, until `restore_markers`.
        """
        self._base = df
        there = {*there, *self._inner_names}
        definitions: dict[str, Any] = {
            marker: window.definition for marker, window in self.by_marker.items() if marker not in there
        }
        columns = {name: column for name, column in self.inputs.items() if name not in there}
        if self.by_marker and df.isStreaming:  # Declarative Pipelines may not be asked
            return self._add_to_stream(df, definitions, columns)
        if not columns:
            return df, definitions
        wide = self.select(df, "*", *(column.alias(name) for name, column in columns.items())).drop(*self._beside)
        return record_layout(wide, find_layout(df)), definitions

    def _add_to_stream(
        self, df: Any, definitions: Mapping[str, Any], columns: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Add what windows of a stream read; an order by whole seconds becomes one by times, for the watermark."""
        renamed = {self.stable[marker]: rename_reads(made, self.stable) for marker, made in definitions.items()}
        inputs = {self.stable[name]: column for name, column in self.inputs.items()}
        seconds: dict[str, Any] = {}
        for marker, made in renamed.items():
            by = made.order_by[0].name if isinstance(made, SpecifiedOver) and made.order_by else ""
            name = name_end_of_second(by)
            end = build_end_of_second(df, inputs[by], name) if by in inputs else None
            if end is not None:
                renamed[marker] = fit_to_seconds(rename_order(made, {by: name}))
                seconds[name] = end
        self._seconds = list(seconds)
        read = {name for made in renamed.values() for name in list_reads(made)}
        added = [column.alias(self.stable[name]) for name, column in columns.items() if self.stable[name] in read]
        added += [end for name, end in seconds.items() if name not in self._inner_names]
        inner = {name: self.stable[name] for name in self._inner_names if self.stable[name] != name}
        return df.select("*", *added).withColumnsRenamed(inner), renamed

    def restore_markers(self, df: Any) -> Any:
        """Give the columns of a stream the names that expressions know them by."""
        return df.withColumnsRenamed({stable: name for name, stable in self.stable.items() if stable != name})

    def pass_self_joins(self, build: Callable[[], Any]) -> Any:
        """Build a DataFrame in steps by `select`, which pass columns of self-joins as a select with windows does.

        `df.join(totals, df["k"] == totals["k"])` with `totals` made of `df`: Spark refuses `df["k"]` of that, unless a
        window stands beside it. Ours are computed by then, and so one of Spark's stands there, which no plan keeps.
        """
        from pyspark.errors import AnalysisException

        try:
            with silence_pyspark():
                return build()
        except AnalysisException as error:
            if _SELF_JOIN not in str(error):
                raise
        self._stand_beside_window()
        return build()

    def _stand_beside_window(self) -> None:
        from pyspark.sql import Window as Theirs
        from pyspark.sql import functions as theirs

        self._beside = {_BESIDE: theirs.count("*").over(Theirs.partitionBy(theirs.lit(0)))}
        if self.inner is not None:
            self.inner._stand_beside_window()

    def select(self, df: Any, *columns: Any) -> Any:
        """Select from a DataFrame in a step of `pass_self_joins`, which then drops the temporary columns."""
        return df.select(*columns, *(column.alias(name) for name, column in self._beside.items()))

    def with_columns(self, df: Any, columns: Mapping[str, Any]) -> Any:
        """Add columns in a step of `pass_self_joins`."""
        return df.withColumns({**columns, **self._beside})

    def use(self, df: Any, build: Callable[[], Any]) -> Any:
        """Build what is made of windows and columns of a DataFrame that has got the windows.

        On a stream an operator of ours is below, and a column of the stream itself, `df["x"]`, is not found above it.
        """
        from pyspark.errors import AnalysisException

        if not (self.by_marker and df.isStreaming):
            return build()
        try:
            with silence_pyspark():
                return analyse(build())
        except AnalysisException as error:
            if not str(error.getCondition()).startswith(_LOST):
                raise
            raise InvalidInput(
                'on a stream, columns beside windows are by name, F.col("x"), and not of the DataFrame, as df["x"] or '
                f"df.x is: inside of the windows they may be. Spark says: {describe_spark_error(error)}"
            ) from error

    def left_to_spark(self, df: Any) -> dict[str, Any]:
        """Find the windows of a batch that slidewise refuses, and PySpark does not: its own columns, by markers."""
        from pyspark.errors import AnalysisException

        from slidewise.spark.plan import Group, plan_task
        from slidewise.spark.schema import Schema

        found: dict[str, Any] = {}
        schema = Schema(df)
        there = set(self._inner_names)
        for marker, window in self.by_marker.items():
            if marker in there:
                continue
            if isinstance(window.definition, Over):
                return {}
            try:
                plan_task(schema, Group(window.definition.partition_by, window.definition.order_by, {"": window.over}))
            except InvalidInput:
                if window.build_theirs is None or df.isStreaming:
                    return {}
                found[marker] = window.build_theirs(True)  # a window in time would make rows of each row once more
        try:
            with silence_pyspark():
                analyse(df.select(*found.values()))
        except AnalysisException:
            return {}
        return found

    def rename(self, out: Any) -> Any:
        """Rename the columns that Spark has named by markers: as it names those of its own windows."""
        named = [name for name in out.columns if _CALLED_BY_MARKER.search(name)]
        return out.withColumnsRenamed({name: self._call(name) for name in named}) if named else out

    def _call(self, name: str) -> str:
        """Call the windows in a column's name as Spark does."""
        return _CALLED_BY_MARKER.sub(lambda found: self._names[found[1]], name)

    @cached_property
    def _names(self) -> dict[str, str]:
        """Names of windows as Spark gives them, which is asked for its names of expressions."""
        from pyspark.sql.functions import coalesce

        df, call = self._base, self.inner._call if self.inner is not None else str

        asked: dict[str, Any] = {}
        for window in self.by_marker.values():
            asked |= {name: build_column(name) for name in window.reads if name != "*"}
        # Not the column itself: a cast of a column has that one's name.
        named = self.select(df, *map(coalesce, asked.values())).columns if asked else []
        known = {key: call(name.removeprefix("coalesce(")[:-1]) for key, name in zip(asked, named, strict=False)}
        aggregates = {m: w.aggregate for m, w in self.by_marker.items() if w.aggregate is not None}
        called = list(map(call, df.select(*aggregates.values()).columns)) if aggregates else []
        calls = dict(zip(aggregates, called, strict=True))
        return {m: _name_window(w, calls.get(m), known) for m, w in self.by_marker.items()}


def _name_window(window: Window, called: str | None, known: Mapping[str, str]) -> str:
    aggregation, definition = window.over.aggregation, window.definition
    if called is None:
        called = f"{aggregation.name}({', '.join(known[name] for name in aggregation.columns)})"
        if aggregation.name == "nth_value":
            nulls = " ignore nulls" if aggregation.parameters.get("ignore_nulls") else ""
            called = f"{called[:-1]}, {aggregation.parameters['n']}){nulls}"
    if aggregation.where is not None and not called.startswith("count_if("):
        called += f" FILTER (WHERE {known[aggregation.where]})"
    if not isinstance(definition, SpecifiedOver):
        return f"{called} OVER {definition.window!r}"
    parts = []
    if definition.partition_by:
        parts.append("PARTITION BY " + ", ".join(known[name] for name in definition.partition_by))
    if definition.order_by:
        ways = (
            f"{known[by.name]} {'DESC' if by.descending else 'ASC'} NULLS {'FIRST' if by.nulls_lead else 'LAST'}"
            for by in definition.order_by
        )
        parts.append("ORDER BY " + ", ".join(ways))
    frame = definition.over.window
    if isinstance(frame, Between):
        start, end = (_name_bound(bound, known) for bound in (frame.start, frame.end))
        parts.append(f"{frame.unit.upper()} BETWEEN {start} AND {end}")
        if frame.exclude is not None:
            parts.append(f"EXCLUDE {frame.exclude.upper()}")
    return f"{called} OVER ({' '.join(parts)})"


def _name_bound(bound: Any, known: Mapping[str, str]) -> str:
    if isinstance(bound, Unbounded):
        return f"UNBOUNDED {'PRECEDING' if bound.sign < 0 else 'FOLLOWING'}"
    if bound == 0:
        return "CURRENT ROW"
    return f"{known.get(getattr(bound, 'name', ''), bound)} FOLLOWING"
