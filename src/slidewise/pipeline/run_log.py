"""The run log: what a run did, as JSON lines in files that are rotated, kept beside its checkpoint.

A run writes it (`RunLog`), and whoever watches the run reads it (`LogReader`), while it grows or after a crash. The
folder holds `log.jsonl`, the older `log.1.jsonl` to `log.4.jsonl`, and `pins.json`: the keys that a person wants to
see, written by the live page and read by the run.

Each line is one record with its `kind` and `at`, the time in UTC. The kinds are the classes below; beside those that
every reader knows (start, batch, values, end) there are

* `file`, the first line of each file, so that a reader finds its place again after a rotation;
* `idle`, for a stream that is alive while its source has nothing new;
* fields that the live page needs to draw windows: `of`, `unit`, `back` and `ahead` of a feature, `pending` of a key,
  `revision` of a row, `host` of a run, `backlog_unit` of a batch.

Readers ignore kinds and fields that they do not know.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from itertools import count
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict, cast

#: bytes of a file, and the number of files: a log takes 20 MB at most, some twelve hours of batches every ten seconds
FILE_BYTES = 4_000_000
FILES = 5
#: keys of a record beside the pinned ones, and rows of a key; fewer rows where a record would fill a quarter of a file
MOST_KEYS = 50
MOST_ROWS = 100
#: characters of a text and items of a list among the values, and keys that can be pinned
LONGEST_TEXT = 300
LONGEST_LIST = 20
MOST_PINS = 50
#: the largest integer up to which a browser's numbers are exact
_EXACT = 2**53
#: characters of a text that is no value: a definition, an error
_LONGEST_DEFINITION = 200_000

NEWEST = "log.jsonl"
PINS = "pins.json"


class FeatureText(TypedDict):
    """A feature: its name, how it is written, and where its windows reach from a row."""

    name: str
    text: str
    #: the columns that it reads
    of: NotRequired[list[str]]
    #: what `back` and `ahead` count: seconds, or rows
    unit: NotRequired[Literal["time", "rows"] | None]
    back: NotRequired[float | None]
    ahead: NotRequired[float | None]


class ExplainTable(TypedDict):
    """The table of `explain`."""

    columns: list[str]
    rows: list[list[str]]


class Start(TypedDict):
    """A run has begun. Secrets are masked in `definition` by who writes it."""

    kind: Literal["start"]
    at: NotRequired[str]
    run: str
    query_id: str | None
    name: str
    mode: str
    pid: int
    #: the machine that `pid` is on
    host: NotRequired[str]
    definition: str
    features: list[FeatureText]
    keys: list[str]
    #: the column of time
    time: str
    #: seconds
    max_delay: float | None
    trigger: float | None
    #: when results come: watermark, changes, arrival
    emit: NotRequired[str | None]
    #: whether results are of windows that slide, and not of rows
    slides: NotRequired[bool]
    explain: ExplainTable | None


class BatchRecord(TypedDict):
    """A micro-batch is done. Counts are of its own rows; `waiting`, `state_rows` and `backlog` are as it left them."""

    kind: Literal["batch"]
    at: NotRequired[str]
    batch: int
    rows_in: int
    rows_out: int
    seconds: float
    trigger: float | None
    #: rows per second since the micro-batch before
    in_rate: float | None
    watermark: str | None
    #: the newest time among all rows so far
    newest: str | None
    state_rows: int | None
    state_bytes: int | None
    late: int
    ahead: int
    untimed: int
    unparsed: int
    #: of a stream with a history: rows that are in it already
    in_history: NotRequired[int]
    backlog: float | None
    #: rows unless told: files, offsets
    backlog_unit: NotRequired[str]
    waiting: int | None


class ShownRow(TypedDict):
    """An emitted row: its values and results by name."""

    time: str | None
    inputs: dict[str, Any]
    results: dict[str, Any]
    #: above 0, it replaces the row of the same time and inputs
    revision: NotRequired[int]


class PendingRow(TypedDict):
    """A row that has come, and whose results are not due before the watermark has passed `due`."""

    time: str | None
    inputs: dict[str, Any]
    due: str | None


class KeyValues(TypedDict):
    """The rows of a key that a micro-batch emitted, and all that are pending after it."""

    key: list[Any]
    rows: list[ShownRow]
    pending: NotRequired[list[PendingRow]]


class Values(TypedDict):
    """The newest rows of a micro-batch, by key: newest keys first."""

    kind: Literal["values"]
    at: NotRequired[str]
    batch: int
    keys: list[KeyValues]


class Idle(TypedDict):
    """The stream is alive, and its source has nothing new."""

    kind: Literal["idle"]
    at: NotRequired[str]


class End(TypedDict):
    """The run is over. A run that was killed has no such record."""

    kind: Literal["end"]
    at: NotRequired[str]
    why: Literal["stopped", "failed", "finished"]
    error: str | None


Record = Start | BatchRecord | Values | Idle | End


def folder_of(checkpoint: str | Path) -> Path:
    """Name the folder of the log that is kept beside a checkpoint.

    >>> folder_of("lake/_checkpoint").as_posix()
    'lake/_checkpoint_log'
    """
    path = Path(checkpoint)
    return path.with_name(path.name + "_log")


class RunLog:
    """The writer of a run log. It is bounded, and it never ends a run: where the disk refuses, it says so once.

        log = RunLog(folder_of(checkpoint))
        log.append({"kind": "batch", "batch": 7, ...})

    Several threads may append.
    """

    def __init__(
        self,
        folder: str | Path,
        file_bytes: int = FILE_BYTES,
        files: int = FILES,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self._file_bytes = file_bytes
        self._files = files
        self._say = say or _say_on_standard_error
        self._lock = threading.Lock()
        self._start: bytes | None = None
        self._has_complained = False

    def append(self, record: Record) -> None:
        """Write a record, with the time if it has none; rotate the files first where this one is full."""
        with self._lock:
            try:
                line = self._encode(record)
                if record["kind"] == "start":
                    self._start = line
                self._write(line)
            except Exception as error:  # a stream goes on without its log
                self._complain(error)

    def pins(self) -> Pins:
        """Read which keys are pinned now."""
        return Pins(read_pins(self.folder))

    def _encode(self, record: Record) -> bytes:
        stamped: dict[str, Any] = {"kind": record["kind"], "at": record.get("at") or utc_text(datetime.now(UTC))}
        if record["kind"] == "values":
            keys = _bound(record["keys"], self.pins(), self._file_bytes // 4)
            return _line({**stamped, "batch": record["batch"], "keys": keys})
        return _line(stamped | plain(dict(record), _LONGEST_DEFINITION, sys.maxsize) | {"at": stamped["at"]})

    def _write(self, line: bytes) -> None:
        newest = self.folder / NEWEST
        self.folder.mkdir(parents=True, exist_ok=True)
        size = newest.stat().st_size if newest.exists() else 0
        if size and size + len(line) > self._file_bytes:
            with newest.open("rb") as file:
                number = _number_of(file.readline())
            self._rotate()
            self._open(number + 1, line)
        elif not size:
            self._open(1, line)
        else:
            with newest.open("r+b") as file:
                file.seek(-1, os.SEEK_END)
                cut = file.read(1) != b"\n"  # by a kill, or a full disk
                file.write(b"\n" * cut + line)

    def _rotate(self) -> None:
        """Give each file the next older name; the oldest is gone."""
        for age in range(self._files - 1, 0, -1):
            newer = self.folder / _file_name(age - 1)
            if newer.exists():
                newer.replace(self.folder / _file_name(age))

    def _open(self, number: int, line: bytes) -> None:
        """Begin a file. It repeats how the run started: the file that told so may be gone."""
        head = {"kind": "file", "at": utc_text(datetime.now(UTC)), "number": number}
        lines = [json.dumps(head).encode() + b"\n"]
        if self._start is not None and self._start != line:
            lines.append(self._start)
        (self.folder / NEWEST).write_bytes(b"".join([*lines, line]))

    def _complain(self, error: Exception) -> None:
        if not self._has_complained:
            self._has_complained = True
            self._say(f"the run log in {self.folder} cannot be written, and the run goes on without it: {error}")


class LogReader:
    """The reader of a run log: each call of `read` gives the records since the last one.

    It follows a log across rotations, skips a line that was cut by a kill, and leaves one that is still being written
    for the next call. Where it has slept through so many rotations that records are gone, it goes on with the oldest.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._head = b""
        self._offset = 0
        self._seen: tuple[int, int, int] | None = None

    def read(self) -> list[Record]:
        """Read what has been added. O(1) where nothing has."""
        seen = self._fingerprint()
        if seen is None or seen == self._seen:
            return []
        heads = self._heads()
        if not heads:
            return []
        known = [head for head, _ in heads]
        first = known.index(self._head) if self._head in known else 0
        records: list[Record] = []
        for head, path in heads[first:]:
            offset = self._offset if head == self._head else 0
            content = _read_from(path, head, offset)
            if content is None:  # rotated since it was listed: the next call has it by its new name
                return records
            complete = content.rfind(b"\n") + 1
            records += _parse(content[:complete])
            self._head, self._offset = head, offset + complete
        self._seen = seen
        return records

    def _fingerprint(self) -> tuple[int, int, int] | None:
        try:
            status = (self.folder / NEWEST).stat()
        except OSError:  # not there yet, or being rotated
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _heads(self) -> list[tuple[bytes, Path]]:
        """List the first line of each file, the oldest first.

        They are read the newest first: a rotation gives files older names only, so none can slip past. While it goes
        on, one name is free; another is where someone deleted a file.
        """
        oldest = max(map(_age, self.folder.glob("log*.jsonl")), default=0)
        found: dict[bytes, Path] = {}
        free = 0
        for age in count():
            path = self.folder / _file_name(age)
            try:
                with path.open("rb") as file:
                    head = file.readline()
            except OSError:
                head = b""
            if head.endswith(b"\n"):
                found.pop(head, None)  # one that is rotated meanwhile counts once, where it was seen last
                found[head] = path
                free = 0
            elif age == 0:  # between two names, the newest is at none: the next call has it
                return []
            else:
                free += 1
                if free > 2 and age > oldest:
                    break
        return list(found.items())[::-1]


class Pins:
    """The pinned keys. They are compared as text, since a person types them."""

    def __init__(self, keys: Iterable[Sequence[Any]]) -> None:
        self._keys = {_texts(key) for key in keys}

    def __contains__(self, key: Sequence[Any]) -> bool:
        return _texts(key) in self._keys

    def __len__(self) -> int:
        return len(self._keys)


def read_pins(folder: Path) -> list[list[Any]]:
    """Read the pinned keys; none where there is no such file, or no list in it."""
    try:
        pins = json.loads((folder / PINS).read_bytes())
    except (OSError, ValueError):
        return []
    return [key for key in pins if isinstance(key, list)][:MOST_PINS] if isinstance(pins, list) else []


def write_pins(folder: Path, keys: Sequence[Sequence[Any]]) -> None:
    """Replace the pinned keys, at once."""
    fresh = folder / f"{PINS}.{os.getpid()}"
    fresh.write_text(json.dumps(list(keys)))
    fresh.replace(folder / PINS)


def plain(value: Any, longest_text: int = LONGEST_TEXT, longest_list: int = LONGEST_LIST) -> Any:
    """Turn a value into what JSON and a browser hold exactly; what is too long ends in "…".

    >>> plain({"mean": float("nan"), "id": 2**60, "seen": [1, 2, 3]}, longest_list=2)
    {'mean': 'NaN', 'id': '1152921504606846976', 'seen': [1, 2, '…']}
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value if len(value) <= longest_text else value[:longest_text] + "…"
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, datetime):
        return utc_text(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(name): plain(item, longest_text, longest_list) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = [plain(item, longest_text, longest_list) for item in list(value)[:longest_list]]
        return [*items, "…"] if len(value) > longest_list else items
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        return plain(value.tolist(), longest_text, longest_list)
    return plain(value.hex() if isinstance(value, bytes | bytearray) else str(value), longest_text)


def utc_text(time: datetime) -> str:
    """Write a time as ISO in UTC; one without a zone is in UTC already.

    >>> utc_text(datetime(2026, 1, 1, 10, 2, 10))
    '2026-01-01T10:02:10Z'
    """
    zoned = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return zoned.isoformat().removesuffix("+00:00") + "Z"


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _bound(keys: Sequence[KeyValues], pins: Pins, room: int) -> list[dict[str, Any]]:
    """Keep the first keys and the pinned ones, and of each the last rows, within so many bytes."""
    chosen = [values for place, values in enumerate(keys) if place < MOST_KEYS or values["key"] in pins]
    kept = []
    for place, values in enumerate(chosen):
        share = room // (len(chosen) - place)
        rows, used = _bound_rows(values["rows"], share, room)
        entry = {"key": plain(values["key"]), "rows": rows}
        room -= used
        if "pending" in values:
            entry["pending"], used = _bound_rows(values["pending"], share - used, room)
            room -= used
        kept.append(entry)
    return kept


def _bound_rows(rows: Sequence[ShownRow] | Sequence[PendingRow], share: int, room: int) -> tuple[list[Any], int]:
    """Keep the newest rows within a share of the room; the newest of all may take more. O(the bytes that are kept)."""
    kept: list[Any] = []
    used = 0
    for row in reversed(rows[-MOST_ROWS:]):
        bounded = plain(row)
        size = len(json.dumps(bounded))
        if used + size > (share if kept else room):
            break
        used += size
        kept.append(bounded)
    return kept[::-1], used


def _texts(key: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(plain(value)) for value in key)


def _file_name(age: int) -> str:
    return f"log.{age}.jsonl" if age else NEWEST


def _age(path: Path) -> int:
    middle = path.name.split(".")[1]
    return int(middle) if middle.isdigit() else 0


def _number_of(head: bytes) -> int:
    records = _parse(head)
    return int(cast(Any, records[0]).get("number", 1)) if records else 1


def _read_from(path: Path, head: bytes, offset: int) -> bytes | None:
    """Read a file from an offset on; None where it is another one than that with this first line."""
    try:
        with path.open("rb") as file:
            if file.readline() != head:
                return None
            file.seek(offset)
            return file.read()
    except OSError:
        return None


def _parse(lines: bytes) -> list[Record]:
    records = []
    for line in lines.splitlines():
        try:
            record = json.loads(line)
        except ValueError:  # cut by a kill
            continue
        if isinstance(record, dict) and isinstance(record.get("kind"), str):
            records.append(cast(Record, record))
    return records


def _say_on_standard_error(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
