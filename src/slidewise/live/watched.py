"""What is known of a watched run: its log, folded into what the page shows. Bounded, however long the log is."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from slidewise.live.verdict import RunSituation, Verdict, is_alive, judge, span_of
from slidewise.live.waiting import explain_waiting
from slidewise.live.words import seconds_of
from slidewise.pipeline.run_log import (
    MOST_KEYS,
    MOST_PINS,
    BatchRecord,
    End,
    KeyValues,
    LogReader,
    Pins,
    Record,
    ShownRow,
    Start,
    Values,
    plain,
    read_pins,
    write_pins,
)

#: micro-batches of the charts, rows of a key, and changes that a page may have missed and can still be told
BATCHES = 2_000
ROWS = 120
NEWS = 200
LEFT_OUT = ("late", "ahead", "untimed", "unparsed", "in_history")
TOTALS = ("batches", "seconds", "rows_in", "rows_out", *LEFT_OUT)
_DEFAULTS: dict[str, dict[str, Any]] = {
    "start": {
        "run": "", "query_id": None, "name": "", "mode": "", "pid": 0, "definition": "", "features": [], "keys": [],
        "time": "time", "max_delay": None, "trigger": None, "explain": None,
        "emit": None, "slides": False,
    },
    "batch": {
        "batch": 0, "rows_in": 0, "rows_out": 0, "seconds": 0.0, "trigger": None, "in_rate": None, "watermark": None,
        "newest": None, "state_rows": None, "state_bytes": None, "late": 0, "ahead": 0, "untimed": 0, "unparsed": 0,
        "in_history": 0, "backlog": None, "waiting": None,
    },
    "values": {"batch": 0, "keys": []},
    "end": {"why": "stopped", "error": None},
}  # fmt: skip


class TooManyPins(Exception):
    """As many keys are pinned as there may be."""


@dataclass
class KeyHistory:
    """A key, and the last of its rows."""

    key: list[Any]
    rows: deque[ShownRow] = field(default_factory=lambda: deque(maxlen=ROWS))
    pending: list[Any] = field(default_factory=list)
    #: the number of the record that had it last
    seen: int = 0

    def add(self, values: KeyValues, seen: int) -> None:
        """Take in what a micro-batch told of it."""
        for row in values["rows"]:
            if row.get("revision", 0):
                same = [old for old in self.rows if (old["time"], old["inputs"]) == (row["time"], row["inputs"])]
                if same:
                    self.rows[self.rows.index(same[-1])] = row
                    continue
            self.rows.append(row)
        self.pending = list(values.get("pending", []))
        self.seen = seen


class Watched:
    """The newest run of a log. `refresh` reads on; all else tells what has been read.

    A page asks for `snapshot` once, then for `news_since` the version that it has. Several threads may ask.
    """

    def __init__(self, folder: str | Path, now: Callable[[], float] = time.time) -> None:
        self.folder = Path(folder)
        self._now = now
        self._reader = LogReader(folder)
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self.start: Start | None = None
        self.end: End | None = None
        #: of all runs of the log, with the number of the run
        self.batches: deque[tuple[int, BatchRecord]] = deque(maxlen=BATCHES)
        self.totals = dict.fromkeys(TOTALS, 0.0)
        self.heard: float | None = None
        self.idle: float | None = None
        self.run = 0
        self.version = 0
        self._keys: dict[str, KeyHistory] = {}
        self._order: list[str] = []
        self._pins: list[list[Any]] = []
        self._records = 0
        #: (version, what changed); None for a change that only a snapshot tells
        self._news: deque[tuple[int, dict[str, Any] | None]] = deque(maxlen=NEWS)

    # ---- reading
    def refresh(self) -> None:
        """Read what the log and the pins have got since."""
        with self._lock:
            records = self._reader.read()
            pins = read_pins(self.folder)
            if not records and pins == self._pins:
                return
            self._pins = pins
            run, batches, values = self.run, [], []
            for record in map(_complete, records):
                self._apply(record)
                if record["kind"] == "batch":
                    batches.append((self.run, record))
                elif record["kind"] == "values":
                    values.append(record)
            self._arrange()
            self.version += 1
            self._news.append((self.version, self._tell(batches, values) if run == self.run else None))

    def _apply(self, record: Record) -> None:
        at = seconds_of(record.get("at"))
        if record["kind"] == "start":
            if self.start is not None and self.start["run"] == record["run"]:
                return  # repeated at the beginning of a file
            self.start, self.end, self.idle = record, None, None
            self.run += 1
        elif record["kind"] == "batch":
            self.batches.append((self.run, record))
            self.idle = None
            for name, value in {"batches": 1, **record}.items():
                if name in TOTALS and isinstance(value, int | float):
                    self.totals[name] += value
        elif record["kind"] == "values":
            self._records += 1
            self._add_values(record)
        elif record["kind"] == "idle":
            self.idle = at
        elif record["kind"] == "end":
            self.end = record
        else:
            return
        self.heard = at if at is not None else self.heard

    def _add_values(self, record: Values) -> None:
        for values in record["keys"]:
            name = name_of(values["key"])
            if name not in self._keys:
                self._keys[name] = KeyHistory(values["key"])
            self._keys[name].add(values, self._records)

    def _arrange(self) -> None:
        """Order the keys: pinned ones first, then each where it was, new ones on top; the stalest are dropped."""
        pins = Pins(self._pins)
        pinned = [name for name, history in self._keys.items() if history.key in pins]
        old = [name for name in self._order if name in self._keys and name not in pinned]
        new = [name for name in self._keys if name not in self._order and name not in pinned]
        others = [*new, *old]
        kept = set(sorted(others, key=lambda name: -self._keys[name].seen)[:MOST_KEYS])
        for name in set(others) - kept:
            del self._keys[name]
        self._order = [*pinned, *(name for name in others if name in kept)]

    # ---- telling
    def verdict(self) -> Verdict:
        """Judge the run now."""
        return judge(self._look())

    def tell_verdict(self) -> dict[str, Any]:
        """Tell the verdict, and why rows wait."""
        situation = self._look()
        verdict = judge(situation)
        return {**asdict(verdict), "level": verdict.level, "waiting": explain_waiting(situation)}

    def _look(self) -> RunSituation:
        with self._lock:
            start = self.start
            batches = [batch for run, batch in self.batches if run == self.run]
            alive = None if start is None or self.end is not None else is_alive(start)
            return RunSituation(self._now(), start, batches, self.end, self.heard, self.idle, alive)

    def snapshot(self) -> dict[str, Any]:
        """Tell all that a page shows, but for the verdict."""
        with self._lock:
            keys = [
                {"key": h.key, "rows": list(h.rows), "pending": h.pending}
                for h in (self._keys[name] for name in self._order)
            ]
            return {"start": self.start, **self._describe(self.batches, keys)}

    def news_since(self, version: int) -> list[dict[str, Any]] | None:
        """Tell what has changed since; None where only a snapshot does."""
        with self._lock:
            news = [told for number, told in self._news if number > version]
            if len(news) < self.version - version or version > self.version:
                return None
            return None if any(told is None for told in news) else [told for told in news if told is not None]

    def _tell(self, batches: Iterable[tuple[int, BatchRecord]], values: Iterable[Values]) -> dict[str, Any]:
        keys = [dict(entry) for record in values for entry in record["keys"] if name_of(entry["key"]) in self._keys]
        return self._describe(batches, keys)

    def _describe(self, batches: Iterable[tuple[int, BatchRecord]], keys: list[dict[str, Any]]) -> dict[str, Any]:
        for entry in keys:
            entry["name"] = name_of(entry["key"])
        pins = Pins(self._pins)
        return {
            "version": self.version,
            "run": self.run,
            "end": self.end,
            "batches": as_columns(batches),
            "keys": keys,
            "order": self._order,
            "pinned": [name for name in self._order if self._keys[name].key in pins],
            "pins": self._pins,
        }

    # ---- pins
    def pin(self, key: list[Any], pinned: bool) -> list[list[Any]]:
        """Pin a key or let it go, and give all that are pinned. OSError where the folder cannot be written."""
        with self._lock:
            others = [other for other in read_pins(self.folder) if key not in Pins([other])]
            if pinned and len(others) >= MOST_PINS:
                raise TooManyPins
            pins = [*others, plain(key)] if pinned else others
            write_pins(self.folder, pins)
        self.refresh()
        return pins


def _complete(record: Record) -> Record:
    """Add the fields that a run of another version has not written."""
    return cast(Record, {**_DEFAULTS.get(record["kind"], {}), **record})


def name_of(key: list[Any]) -> str:
    """Name a key by its values."""
    return json.dumps(key)


def as_columns(batches: Iterable[tuple[int, BatchRecord]]) -> dict[str, list[Any]]:
    """Turn micro-batches into columns, with times in seconds."""
    columns: dict[str, list[Any]] = {}
    for run, batch in batches:
        took = span_of(batch)
        point = {
            "run": run,
            "at": seconds_of(batch.get("at")),
            "batch": batch["batch"],
            "rows_in": batch["rows_in"],
            "rows_out": batch["rows_out"],
            "in_rate": batch["rows_in"] / took if took else None,
            "out_rate": batch["rows_out"] / took if took else None,
            "seconds": batch["seconds"],
            "trigger": batch["trigger"],
            "watermark": seconds_of(batch["watermark"]),
            "newest": seconds_of(batch["newest"]),
            **{name: batch[name] for name in ("state_rows", "state_bytes", *LEFT_OUT, "backlog", "waiting")},  # type: ignore[literal-required]
        }
        for name, value in point.items():
            columns.setdefault(name, []).append(value)
    return columns
