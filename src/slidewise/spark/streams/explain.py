"""Explain: what a call on a stream keeps per key, and when its results are emitted; from the definition alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from slidewise.display import Table
from slidewise.planner.explain import describe_sharing
from slidewise.spark.streams.compatibility import RUNNING, measure_extent, write_extent
from slidewise.spark.streams.finality import build_grid
from slidewise.spark.streams.slices import find_obstacle
from slidewise.spark.streams.stream_task import StreamTask
from slidewise.windows.definitions import TimeWindow, WindowDefinition
from slidewise.windows.durations import Duration

#: bytes of a value whose length is not known, its place among others included
ABOUT = 20
#: bytes of the hash of a key, and of a key besides its own columns: its hash and three numbers
HASH, KEY = 8, 24
#: bytes of the number that tells the key of a row ahead of the watermark
NUMBER = 4


@dataclass(frozen=True)
class Width:
    """Bytes of a row."""

    bytes: float
    #: whether all columns are of a fixed width
    exact: bool

    @classmethod
    def of(cls, kinds: Iterable[pa.DataType], more: int = 0) -> Width:
        """Measure the width of some columns, nulls not counted."""
        widths = [_count_bits(kind) for kind in kinds]
        return cls(more + sum(ABOUT if bits is None else bits / 8 for bits in widths), None not in widths)

    def __add__(self, other: Width) -> Width:
        return Width(self.bytes + other.bytes, self.exact and other.exact)

    def __mul__(self, rows: int) -> Width:
        return Width(self.bytes * rows, self.exact or not rows)

    def __str__(self) -> str:
        return f"{'' if self.exact else 'about '}{round(self.bytes):,} bytes"


def _count_bits(kind: pa.DataType) -> int | None:
    if pa.types.is_struct(kind):
        inner = [_count_bits(field.type) for field in kind]
        return None if None in inner else sum(bits for bits in inner if bits is not None)
    try:
        return int(kind.bit_width)
    except ValueError:
        return None


def explain_task(task: StreamTask, advice: str | None = None) -> Table:
    """Explain a task: one line per result, and one for all of them; with some advice."""
    needs = {name: _Need.of(name, over.window, task) for name, over in task.expressions.items()}
    longest = {need.kind: name for name, need in sorted(needs.items(), key=lambda item: item[1].back)}
    lines = []
    for name, over in task.expressions.items():
        need, most = needs[name], longest[needs[name].kind]
        # Each running result has a total of its own.
        found = [] if name in task.carriers else [describe_sharing(name, over, task.expressions)]
        found += [f"its rows with {most}"] * (need.back < needs[most].back)
        lines.append(
            {
                "column": name,
                "computes": repr(over),
                "kept per key": need.words,
                "bytes per key": need.describe_bytes(task),
                "emitted": _describe_emission(over.window, task),
                "shares": "; ".join(part for part in found if part != "-") or "-",
            }
        )
    together = [needs[name].words for name in longest.values()]
    lines.append(
        {
            "column": "all together",
            "computes": "",
            "kept per key": " or ".join(together) + (", whichever are more" if len(together) > 1 else ""),
            "bytes per key": _measure_total(task, list(needs.values())),
            "emitted": "when all of it has" if len({line["emitted"] for line in lines}) > 1 else "-",
            "shares": f"{_name_unit(task)}s with {', '.join(task.history.names)}"
            + "; a total per key" * bool(task.totals),
        }
    )
    note = "; ".join([*([] if advice is None else [advice]), _write_note(task)])
    return Table.of(f"{'aggregate' if task.slides else 'with_columns'} on a stream", lines, note)


def _measure_total(task: StreamTask, needs: list[_Need]) -> str:
    """Measure the bytes of a key."""
    width, pending = Width.of(task.history.types), Width.of(task.pending.types)
    keys = [task.rows.field(name).type for name in task.partition_by]
    known = Width.of(keys, KEY) + width * max(need.rows for need in needs)
    known += pending * max(need.pending for need in needs)
    if task.emit == "changes":
        known += Width.of([*keys, *(field.type for field in task.last_results)], HASH)
    if task.totals:
        known += Width.of([*keys, *(field.type for field in task.totals)], HASH)
    parts = [str(known)]
    if any(need.more for need in needs):
        parts.append(f"{width} for each further {_name_unit(task)}")
    if (task.emit != "arrival" or task.early) and not task.slices:
        since = "" if task.keep is None else f" less {Duration(task.keep * 1000)}"
        ahead = pending + Width(NUMBER, True) if task.waits_for_watermark else pending
        parts.append(f"{ahead} for each row after the watermark{since}")
    return " + ".join(parts)


@dataclass(frozen=True)
class _Need:
    """Rows that are kept for a window."""

    words: str
    #: how far back frames reach, in the unit of their kind
    kind: str
    back: int
    #: how many rows these are in any case, how many are pending, and whether there may be more
    rows: int = 0
    pending: int = 0
    more: bool = True
    #: the columns of the total that stands for the rows that are gone, of a running frame
    total: tuple[pa.DataType, ...] = ()

    @classmethod
    def of(cls, name: str, window: WindowDefinition, task: StreamTask) -> _Need:
        kind, back, ahead = measure_extent(window, task)
        every = window.every
        if name in task.carriers:
            return cls._of_running(kind, back, ahead, tuple(task.carriers[name].columns.values()))
        if task.slices:
            many = build_grid(task).slices or 0
            return cls(f"{many:,} slice{'s' * (many != 1)}, and those after the watermark", "hopping", 0, many)
        if window.gives_windows and window.slide_size is not None:
            return cls(f"the rows of windows that are open, of the last {window.lengths[0]} at most", "hopping", 0)
        if window.size_kind == "session":
            return cls(f"the rows of its session, until {window.lengths[0]} after the last", kind, back)
        waits = f", and {ahead:,} that wait" if ahead else ""
        if kind == "rows":
            rows = max(back, int(window.slide_kind == "count"))  # the next slide counts from the last row
            words = f"{rows:,} row{'s' * (rows != 1)}{waits}"
            since = ", and those since the last boundary" if window.slide_kind == "time" else ""
            return cls(words + since, kind, back, rows, ahead, bool(since))
        if kind == "groups":
            return cls(f"the rows of {back:,} group{'s' * (back != 1)}{waits}", kind, back)
        if kind == "time":
            step = every.size.nanoseconds if isinstance(every, TimeWindow) and isinstance(every.size, Duration) else 0
            waits = f", and those of {Duration(ahead * 1000)} that wait" if ahead else ""
            return cls(f"the rows of the last {Duration(back * 1000 + step)}{waits}", kind, back)
        return cls(f"the rows that {window!r} still holds", kind, back)

    @classmethod
    def _of_running(cls, kind: str, back: int, ahead: int, total: tuple[pa.DataType, ...]) -> _Need:
        by_rows = kind == f"{RUNNING}rows"
        held = [f"the rows of the last {write_extent(back, kind)}"] * (back > 0 and not by_rows)
        held += [f"{back:,} row{'s' * (back != 1)}"] * (back > 0 and by_rows)
        held += [f"{write_extent(ahead, kind)} that wait"] * (ahead > 0)
        words = ", and ".join(["a total of its rows", *held])
        return cls(words, kind, back, back * by_rows, ahead * by_rows, bool(held) and not by_rows, total)

    def describe_bytes(self, task: StreamTask) -> str:
        """Describe the bytes of these rows, or of the total that stands for them."""
        width, pending = Width.of(task.history.types), Width.of(task.pending.types)
        known = width * self.rows + pending * self.pending + Width.of(self.total)
        parts = [str(known)] * (known.bytes > 0 or not self.more) + [f"{width} a {_name_unit(task)}"] * self.more
        return " + ".join(parts)


def _name_unit(task: StreamTask) -> str:
    return "slice" if task.slices else "row"


def _describe_emission(window: WindowDefinition, task: StreamTask) -> str:
    """Tell in words when a result is emitted."""
    kind, _, ahead = measure_extent(window, task)
    if task.early:
        return "with each micro-batch that has rows of its window, and when the watermark has passed the end of that"
    if task.emit == "arrival":
        return "with its own micro-batch"
    if window.session_gap is not None:
        return "when the watermark has reached the end of its session"
    if window.slide_kind == "time":
        return "when the watermark has passed the end of its slide"
    kind = kind.removeprefix(RUNNING)
    if not ahead:
        return "when the watermark has passed its time"
    if kind in ("time", "range"):
        return f"when the watermark has passed its time by {Duration(ahead * 1000)}"
    return f"when the watermark has passed the {kind[:-1]} that is {ahead} after it"


def _write_note(task: StreamTask) -> str:
    said = []
    if task.emit == "changes":
        said.append("what is as the last of its key is not emitted")
    if task.empty:
        said.append("results are emitted again when the watermark has passed the time at which rows leave")
    if task.keep is not None:
        far = Duration(task.keep * 1000)
        said.append(f"emitted again when a late row, up to {far} before the watermark, changes its frame")
    if task.late_row is not None:
        said.append("late rows are emitted with a mark")
    if task.begins is not None:
        said.append("begins with the state that the history leaves")
    if task.slices:
        why = find_obstacle(task)
        said.append(
            "rows of one key and slice are folded before the exchange, where that at least halves their bytes"
            if why is None
            else f"rows are folded after the exchange: {why}"
        )
    said.append(
        "keys are never forgotten"
        if task.forget_after is None
        else f"keys are forgotten after {Duration(task.forget_after * 1000)} without rows"
    )
    if not Width.of(task.rows.types).exact:
        said.append(f'"about": a value of no fixed width is taken as {ABOUT} bytes')
    return "; ".join([*said, "nothing has run"])
