"""Stream task: what is computed over a stream, and the columns and the definition of its state."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from slidewise.aggregations.over import Over
from slidewise.columns.batches.row_pass import reads_whole_rows
from slidewise.columns.frames.deltas import measure_length
from slidewise.columns.slice_partials import divide_slices
from slidewise.columns.sorting import OrderColumn
from slidewise.columns.stream_options import StreamOptions, check_revisions, require_whole_slides
from slidewise.columns.two_phase import Division
from slidewise.errors import InvalidInput
from slidewise.serialization.state_definition import Definition
from slidewise.spark.streams.carriers import Carrier, choose_carrier
from slidewise.templates.canonical_form import canonical_text, define_aggregation, is_built_in
from slidewise.windows.definitions import PunctuationWindow, WindowDefinition, canonical
from slidewise.windows.durations import CalendarDuration

#: deadlines beyond all times
NEVER = 2**63 - 1
#: before the names of results in the definition
RESULT = "result "
#: in the definition of calls whose results depend on it
ZONE = "time zone"
#: in the state, the last revision of a row that was emitted; -1: none was emitted yet
REVISIONS = "__slidewise_revision"
#: in the state, the hash of a key
HASH = "__slidewise_hash"
#: columns of last results: the time of a result, and what is recorded of it
RESULT_TIME, RESULT_VALUE = "__slidewise_time", "__slidewise_note_"
#: columns of totals: the time of the last row that one holds, and, with this before their names, its parts
TOTAL_TIME, TOTAL = "__slidewise_total_time", "__slidewise_total "
#: columns of keys beside the hash: how many earlier rows were dropped, and how many rows of history and pending ones
#: there are; the names are those of state format 1
DROPPED_ROWS, HISTORY_ROWS, PENDING_ROWS = (f"__slidewise_{name}" for name in ("before", "kept", "waiting"))
#: in a saved entry of rows ahead of the watermark, the number of a row's key
KEY_NUMBER = "__slidewise_key_number"
#: in new rows, the time of each beside that at which its slice begins; of slices, of how many rows each is
ROW_TIME, SLICE_ROWS = "__slidewise_row_time", "__slidewise_slice_rows"
#: the names above, which checkpoints have, beside those of the user's columns
STATE_COLUMNS = frozenset(
    {
        REVISIONS,
        HASH,
        RESULT_TIME,
        TOTAL_TIME,
        DROPPED_ROWS,
        HISTORY_ROWS,
        PENDING_ROWS,
        KEY_NUMBER,
        ROW_TIME,
        SLICE_ROWS,
    }
)


@dataclass(frozen=True)
class StreamTask:
    """The columns of one call on a stream."""

    #: incoming rows, of the types that `to_state_type` gives
    rows: pa.Schema
    partition_by: tuple[str, ...]
    #: the first is the time of events; none: rows count in the order of their arrival
    order_by: tuple[OrderColumn, ...]
    expressions: dict[str, Over]
    #: the types of the results
    kinds: tuple[pa.DataType, ...]
    #: the columns that aggregates, windows and the order read
    reads: tuple[str, ...]
    emit: str = "watermark"
    #: with emit="changes", whether results change when rows leave with time, too (expiry.py)
    empty: bool = False
    #: with late="revise", late rows of up to so many microseconds before the watermark revise what was emitted
    keep: int | None = None
    #: with late="mark", the columns of late rows, which are emitted with a mark
    late_row: pa.Schema | None = None
    #: a key without rows for longer than this many microseconds begins anew
    forget_after: int | None = None
    #: one row per slide, and not per row
    slides: bool = False
    #: of hopping windows, whether the state is partials of slices, and not rows
    slices: bool = False
    #: whether rows come from a call of ours that has emitted them with the watermark: none of them is late any more
    released: bool = False
    #: among how many buckets keys are divided
    buckets: int = 1
    #: the session's time zone, by whose clocks results are computed; None: timestamps are instants, and no result
    #: depends on it
    zone: str | None = None
    #: until when the history goes that is in the state before the first row, in microseconds, or "newest"; None: there
    #: is none
    begins: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Send what is given along, and not what was made of it: functions that were compiled stay here."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @property
    def time(self) -> str | None:
        """The column of event times."""
        return self.order_by[0].name if self.order_by else None

    @property
    def windows(self) -> list[WindowDefinition]:
        """The windows, each once."""
        return list(dict.fromkeys(over.window for over in self.expressions.values()))

    @property
    def waits_for_watermark(self) -> bool:
        """Whether rows are pending until the watermark has passed them (pending_rows.py)."""
        return self.time is not None and self.emit != "arrival" and self.keep is None and not self.slices

    @property
    def incoming(self) -> pa.Schema:
        """The columns of rows that come in, before late ones are taken out."""
        return self.rows if self.late_row is None else self.late_row

    @property
    def early(self) -> bool:
        """Whether results of windows that are open are emitted, too: a slide by time at the arrival of its rows."""
        return self.slides and self.emit == "arrival" and self.windows[0].hopping

    @property
    def takes_late_rows(self) -> bool:
        """Whether late rows enter those of their windows that were not emitted yet, as in Spark's own windows."""
        return self.slides and self.keep is None and self.windows[0].gives_windows

    @cached_property
    def divisions(self) -> dict[str, Division]:
        """How results are computed from partials, for those that can be."""
        found = {name: self._divide(over) for name, over in self.expressions.items()}
        return {name: made for name, made in found.items() if made is not None}

    def _divide(self, over: Over) -> Division | None:
        if self.time is None:
            return None
        kinds = [self.rows.field(name).type for name in over.aggregation.columns]
        made = divide_slices(over.aggregation, kinds, pa.field(ROW_TIME, self.rows.field(self.time).type))
        taken = made is not None and not made.columns.keys().isdisjoint(self.rows.names)
        return None if taken else made

    @cached_property
    def history(self) -> pa.Schema:
        """The columns of history, or of slices, without those of the keys."""
        if self.slices:
            assert self.time is not None
            parts = [pa.field(*column) for made in self.divisions.values() for column in made.columns.items()]
            return pa.schema(list(dict.fromkeys([self.rows.field(self.time), *parts])))
        return self._drop_keys([name for name in self.reads if name not in self._only_sorts])

    @property
    def _only_sorts(self) -> set[str]:
        """The columns of the order that history does without: all other rows are after it."""
        if not self.waits_for_watermark or self.slides or self.forget_after is not None:
            return set()
        if not all(window.counts_rows for window in self.windows):
            return set()
        read: set[str | None] = set()
        for over in self.expressions.values():
            read |= {*over.aggregation.reads, *over.window.columns}
        return {by.name for by in self.order_by} - read

    @cached_property
    def pending(self) -> pa.Schema:
        """The columns of pending rows, without those of the keys. Of slides, rows themselves are never emitted."""
        if self.slides:
            return self.history
        columns = self._drop_keys(self.rows.names)
        return columns if self.keep is None else columns.append(pa.field(REVISIONS, pa.int32()))

    @cached_property
    def last_results(self) -> list[pa.Field]:
        """The columns of last results: the values of each key, or which slide was revised how often."""
        if self.emit == "changes":
            kinds = self.kinds
        elif self.slides and self.keep is not None:
            kinds = (pa.int64(), pa.int32())
        else:
            return []
        return [
            pa.field(RESULT_TIME, pa.int64()),
            *(pa.field(f"{RESULT_VALUE}{k}", kind) for k, kind in enumerate(kinds)),
        ]

    @cached_property
    def carriers(self) -> dict[str, Carrier]:
        """How the rows that running frames hold are carried on when they are gone."""
        kinds = {field.name: field.type for field in self.rows}
        found = {n: choose_carrier(over, kinds) for n, over in self.expressions.items() if over.window.running}
        return {name: carrier for name, carrier in found.items() if carrier is not None}

    @cached_property
    def totals(self) -> list[pa.Field]:
        """The columns of totals, which stand for the rows of running frames that are gone."""
        parts = {TOTAL + name: kind for made in self.carriers.values() for name, kind in made.columns.items()}
        return [pa.field(TOTAL_TIME, pa.int64()), *(pa.field(*part) for part in parts.items())] if parts else []

    def _drop_keys(self, names: tuple[str, ...] | list[str]) -> pa.Schema:
        # A table without columns has no rows, either: one column stays in any case.
        others = [name for name in self.rows.names if name not in self.partition_by] or self.rows.names
        chosen = [name for name in names if name in others] or others[:1]
        return pa.schema([self.rows.field(name) for name in chosen])

    def cast_to_zone(self, rows: pa.Table) -> pa.Table:
        """Cast timestamps to the zone by whose clocks results are computed. O(columns)."""
        if self.zone is None:
            return rows
        return rows.cast(pa.schema([(field.name, _set_zone(field.type, self.zone)) for field in rows.schema]))

    def build_definition(self) -> Definition:
        """Build the canonical form of the definition, with which that of saved state is compared."""
        # Of slides, the others are those that results read.
        columns = [*self.partition_by, *(by.name for by in self.order_by)] if self.slides else self.rows.names
        said = {
            "partition_by": ", ".join(self.partition_by),
            "order_by": ", ".join(canonical_text(_drop_default_nulls(by)) for by in self.order_by),
            "columns": ", ".join(f"{name} {self.rows.field(name).type}" for name in columns),
            "emit": self.emit,
            "forget_after": canonical_text(self.forget_after),
            "result": "slides" if self.slides else "rows",
            "buckets": str(self.buckets),
        }
        if self.empty:
            said["empty"] = "True"
        if self.slices:
            said["kept"] = "slices"
        if self.keep is not None:
            said |= {"late": "revise", "keep": canonical_text(self.keep)}
        if self.zone is not None:
            said[ZONE] = self.zone
        if self.begins is not None:
            said["history"] = f"until {self.begins}"
        for name, over in self.expressions.items():
            parts = [*define_window(over.window), *define_aggregation(over.aggregation).values()]
            said[f"{RESULT}{name}"] = " | ".join(parts)
        return said


def _drop_default_nulls(by: OrderColumn) -> OrderColumn:
    """Leave out where nulls go, where they go there in any case."""
    plain = replace(by, nulls_first=None)
    return plain if plain.nulls_lead == by.nulls_lead else by


# ---- types
def to_state_type(kind: pa.DataType) -> pa.DataType:
    """Turn a type into that of the state, without what a session may set, or a plan infer, anew.

    >>> to_state_type(pa.timestamp("us", "Europe/Berlin"))
    TimestampType(timestamp[us, tz=UTC])
    >>> to_state_type(pa.list_(pa.field("element", pa.int64(), nullable=False)))
    ListType(list<element: int64>)

    Timestamps are instants, in whatever zone they are shown, and any value of a list, map or struct may be null.
    """
    return _set_zone(kind, "UTC")


def _set_zone(kind: pa.DataType, zone: str) -> pa.DataType:
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, zone)
    if pa.types.is_list(kind):
        return pa.list_(pa.field(kind.value_field.name, _set_zone(kind.value_type, zone)))
    if pa.types.is_map(kind):
        return pa.map_(_set_zone(kind.key_type, zone), _set_zone(kind.item_type, zone))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _set_zone(field.type, zone)) for field in kind])
    return kind


def depends_on_zone(task: StreamTask) -> bool:
    """Tell whether another session time zone would give other results.

    Months are counted on the clocks of the zone, and your own functions see datetimes in it. All else is instants.
    """
    zoned = {field.name for field in task.rows if _set_zone(field.type, "+01:00") != _set_zone(field.type, "+02:00")}
    for over in task.expressions.values():
        windows = [window for window in (over.window, over.window.every) if window is not None]
        if over.window.by_calendar:  # in a zone of its own
            windows = []
        if any(isinstance(length, CalendarDuration) for window in windows for length in window.lengths):
            return True
        if zoned and reads_whole_rows(over.window):
            return True
        if not is_built_in(over.aggregation) and not zoned.isdisjoint(over.aggregation.columns):
            return True
    return False


def define_window(window: WindowDefinition) -> list[str]:
    """Build the canonical form of a window, its predicates by their code."""
    punctuations = [w for w in (window, window.every) if isinstance(w, PunctuationWindow)]
    return [repr(canonical(window)), *(canonical_text(w.predicate) for w in punctuations)]


def check_names(task: StreamTask) -> None:
    """Refuse columns with the names of those that the state adds."""
    for name in task.rows.names:
        if name in STATE_COLUMNS or name.startswith((RESULT_VALUE, TOTAL)):
            raise InvalidInput(f"the column {name!r} has a name that checkpoints use for their own. Rename it")


def check_windows(task: StreamTask) -> None:
    """Refuse windows whose state has no bound, or whose results never come."""
    for name, over in task.expressions.items():
        window = over.window
        if task.keep is not None:
            labels = [*task.partition_by, *(by.name for by in task.order_by)] if task.slides else task.rows.names
            options = StreamOptions(emit=task.emit, late="revise", forget_after=task.forget_after)
            check_revisions(name, window, options, (*task.expressions, *labels))
        if task.emit == "arrival" and (window.slide_kind == "time" or window.gives_windows) and not task.early:
            raise InvalidInput(
                f'{name}: the slides of {window!r} are complete when the watermark has passed them: emit="watermark". '
                'Early results, with emit="arrival", are of windows by time: sw.time("1h", every="1m")'
            )
        if window.slide_kind == "time" and not window.gives_windows and task.time is not None:
            every = measure_length(window.slide_size, task.rows.field(task.time).type, task.time)
            require_whole_slides(window, task.forget_after, every)
        reach = window.reach
        if reach is None:
            continue
        if reach.offset_columns:
            raise InvalidInput(
                f"{name}: the frame {window!r} is as long as a column says, and a stream must know beforehand which "
                "rows later frames can reach. Use constant bounds"
            )
        if over.aggregation.of_order and task.emit == "arrival":
            raise InvalidInput(
                f"{name}: {over.aggregation.name} is by the order of rows, and rows that arrive later may be before "
                'others. Use emit="watermark", or row_number(), which numbers them as they come'
            )
        if reach.to_last_row and over.aggregation.of_order:
            raise InvalidInput(
                f"{name}: {over.aggregation.name} is a share of all rows of a key, and a stream does not end. Compute "
                "it in a batch"
            )
        if reach.to_last_row:
            raise InvalidInput(f"{name}: the frame {window!r} ends with its key, and a stream does not end")
        if reach.from_first_row:
            _check_running(name, over, task)
        if window.waits and (task.emit == "arrival" or window.slide_kind == "time"):
            raise InvalidInput(
                f"{name}: the frame {window!r} reaches beyond its own row, and nothing after it is there yet. Use "
                'emit="watermark" with a result per row, which waits for it'
            )


def _check_running(name: str, over: Over, task: StreamTask) -> None:
    """Refuse frames that begin with their key where no total of a fixed size stands for its rows."""
    window, aggregation = over.window, over.aggregation
    what = f"{name}: the frame {window!r} begins with its key, and "
    instead = 'ive it a length, as in sw.time("30d"), or compute it in a batch'
    if task.slides:
        raise InvalidInput(
            f"{what}on a stream such frames have a result per row. Use with_columns, or windows that add up within "
            'each hour or day: sw.time("1d", every="1h", cumulative=True)'
        )
    if not window.running:
        raise InvalidInput(
            f"{what}leaves some rows out, so that no total stands for all that have come: the state would grow without "
            f"end. G{instead}"
        )
    if over.algorithm != "auto":
        raise InvalidInput(
            f"{what}algorithm={over.algorithm!r} is one for rows, which a stream does not keep for ever: it keeps a "
            "total per key. Leave out algorithm"
        )
    if name in task.carriers:
        return
    if not aggregation.size_preserving:
        sketch = _SKETCHES.get(aggregation.name)
        said = f"G{instead}" if sketch is None else f"Use {sketch}, whose state has a fixed size, g{instead}"
        raise InvalidInput(
            f"{what}{aggregation.name} needs all of its values, and not one total of a fixed size: the state would "
            f"grow without end. {said}"
        )
    kinds = ", ".join(str(task.rows.field(column).type) for column in aggregation.reads)
    raise InvalidInput(
        f"{what}of {kinds} {aggregation!r} has no total of a fixed size that could be kept in place of its rows: the "
        f"state would grow without end. G{instead}"
    )


#: what has a result that is close, of a partial of a fixed size
_SKETCHES = {
    "count_distinct": "approx_count_distinct",
    "median": "approx_percentile",
    "percentile": "approx_percentile",
    "percentile_disc": "approx_percentile",
}
