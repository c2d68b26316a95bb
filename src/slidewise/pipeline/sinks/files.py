"""FileSink: plain files in a folder per day, each batch of a stream exactly once.

    features/
      day=2026-01-01/slidewise-<query>-<batch>-<number>.parquet
      day=2026-01-02/...
      _slidewise/                     readers skip names that begin with an underscore
        sink.json                     the format, the time column and the name of the folders, as they were first
        columns.json                  the columns of the rows that were last written
        query-<query>/                one for each stream that writes here
          staged-<batch>-<random>/    what Spark is writing; nobody else's, whatever a killed run's tasks still do
          pending-<batch>.json        a change that is decided: which files go where, and which go away
          committed-<batch>.json      the last change that is done
        replace/                      the same for days that a backfill replaces, without the last

Spark writes the rows of a change into a folder of their own. Once that is complete, the change is written down, whole
or not at all, and with that decided: its files are moved, and old ones deleted, by this run or by the next one after a
kill, in any order and as often as it takes. A batch whose change was not decided is staged again from its beginning.
So every row is there once as soon as the next run has begun; in between, a reader may see a part of a batch, or a day
that is being replaced without some of its rows, and never a row twice.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
import uuid
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import Observation
from pyspark.sql import functions as sf
from pyspark.sql import types as T  # noqa: N812 (the name PySpark's own documentation uses)

from slidewise.errors import InvalidInput, Refused
from slidewise.pipeline.sinks.days import day_of, find_time_mistakes
from slidewise.pipeline.sinks.hadoop_folder import JAVA_ERRORS, HadoopFolder, reason
from slidewise.suggest import suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

#: What is written unless the options say otherwise. Spark's own defaults would leave out microseconds, the header, and
#: in JSON every column that is null, so that a reader could not tell that it exists.
DEFAULTS: dict[str, dict[str, str]] = {
    "parquet": {},
    "orc": {},
    "csv": {"header": "true", "timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"},
    "json": {"ignoreNullFields": "false", "timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"},
}
OURS, OUR_FILES = "_slidewise", "slidewise-"
DESCRIPTION, COLUMNS = f"{OURS}/sink.json", f"{OURS}/columns.json"
REPLACE = f"{OURS}/replace"
STAGED, PENDING, COMMITTED = "staged-", "pending-", "committed-"
SPARKS_OWN = "_spark_metadata"


@dataclass
class Change:
    """Files that come and go together. Names are relative to the sink's folder."""

    staged: str
    moves: list[tuple[str, str]]
    removes: list[str] = field(default_factory=list)


class FileSink:
    """Parquet, CSV, JSON or ORC files in a folder per UTC day of the time column, shared by streams and backfills.

    - `partition` is the name of the column that a reader gets from the folders' names (`day=2026-01-01`), besides the
      rows' own. A result that has a column of this name is refused: give another one.
    - `options` are those of Spark's writer for the format (`compression`, `sep`, ...).
    - Exactly once for each stream, over kills. Rows without a time are in the folder of null, as Spark names it.
    - A folder with anything in it is taken only where slidewise has written it, and files that it did not write are
      never deleted.
    - A day is not to be replaced while a stream writes into it: rows of both would be there.
    """

    def __init__(
        self,
        spark: SparkSession,
        path: str,
        *,
        format: str,
        time_column: str,
        options: Mapping[str, Any] | None = None,
        partition: str = "day",
    ) -> None:
        if format not in DEFAULTS:
            raise InvalidInput(f"a sink of files cannot have the format {format!r}. {suggest(format, DEFAULTS)}")
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", partition):
            raise InvalidInput(
                f"partition is the name of a column and of folders: letters, digits and underscores, got {partition!r}"
            )
        self.format, self.time, self.partition = format, time_column, partition
        self._options = merge_options(DEFAULTS[format], options or {})
        self._folder = HadoopFolder(spark, path)
        self._is_open = False

    def check(self, schema: T.StructType) -> list[str]:
        """Find what keeps rows of this schema from being written here. Nothing is changed."""
        mistakes = find_time_mistakes(schema, self.time)
        if self.partition.lower() in (name.lower() for name in schema.names):
            mistakes.append(
                f"the column {self.partition!r} has the name that the folders of days give to theirs: set the sink's "
                f"partition to another name, as in partition: utc_{self.partition}"
            )
        if self.format == "csv":
            nested = T.ArrayType | T.MapType | T.StructType | T.BinaryType
            mistakes += [
                f"CSV cannot hold the column {f.name!r}, which is {f.dataType.simpleString()}: take parquet, json, orc"
                for f in schema.fields
                if isinstance(f.dataType, nested)
            ]
        try:
            refusal = self._refuse_folder() or self._refuse_columns(schema)
        except JAVA_ERRORS as error:
            refusal = f"{self._folder.path} cannot be read: {reason(error)}"
        return [*mistakes, refusal] if refusal else mistakes

    def write(self, rows: DataFrame, batch: int, query: str) -> int | None:
        """Write a micro-batch, once; None where it is written already."""
        self._open(rows.schema)
        name = as_file_name(query)
        records = f"{OURS}/query-{name}"
        self._finish(records)
        if batch <= self._last_committed(records):
            return None
        self._clear(records, STAGED)
        staged = f"{records}/{STAGED}{batch}-{uuid.uuid4().hex}"
        count = self._stage(rows, staged)
        self._decide(f"{records}/{PENDING}{batch}.json", Change(staged, self._plan_moves(staged, f"{name}-{batch}")))
        self._finish(records)
        return count

    def replace(self, rows: DataFrame, day: dt.date) -> None:
        """Replace the files of a day by these rows."""
        self.replace_days(rows, [day])

    def replace_days(
        self, rows: DataFrame, days: Sequence[dt.date], done: Callable[[dt.date], None] = lambda day: None
    ) -> None:
        """Replace the files of days: Spark writes the rows all at once, and each day is then swapped by itself."""
        staged, _ = self._stage_days(rows)
        folders = {f"{self.partition}={day.isoformat()}": day for day in days}
        others = [name for name in self._staged_days(staged) if name not in folders]
        if others:
            self._folder.delete(staged)
            expected = str(days[0]) if len(days) == 1 else f"{min(days)} to {max(days)}"
            raise InvalidInput(f"replace: rows of {expected} are expected, and some are in {', '.join(others)}")
        self._swap(staged, list(folders), lambda folder: done(folders[folder]))

    def replace_all(self, rows: DataFrame, done: Callable[[int, int], None] = lambda days, of: None) -> tuple[int, int]:
        """Replace all days that are there or have rows; give the number of rows, and of days."""
        staged, count = self._stage_days(rows)
        there = [name for name in self._folder.names() if name.startswith(f"{self.partition}=")]
        folders = sorted({*there, *self._staged_days(staged)})
        self._swap(staged, folders, lambda folder: done(folders.index(folder) + 1, len(folders)))
        return count, len(folders)

    def _stage_days(self, rows: DataFrame) -> tuple[str, int]:
        """Have Spark write rows that replace others; give where they are, and their number."""
        self._open(rows.schema)
        self._finish_all()
        self._clear(REPLACE, STAGED)
        staged = f"{REPLACE}/{STAGED}{uuid.uuid4().hex}"
        return staged, self._stage(rows, staged)

    def _swap(self, staged: str, folders: Sequence[str], done: Callable[[str], None]) -> None:
        """Put staged files in the place of those that are there, one day after the other."""
        old = {folder: self._list_own_files(folder) for folder in folders}
        moves = self._plan_moves(staged, f"backfill-{uuid.uuid4().hex[:12]}")
        for folder in folders:
            mine = [(source, to) for source, to in moves if to.startswith(f"{folder}/")]
            removes = [f"{folder}/{name}" for name in old[folder]]
            name = folder.removeprefix(f"{self.partition}=")
            self._decide(f"{REPLACE}/{PENDING}{name}.json", Change(f"{staged}/{folder}", mine, removes))
            self._finish(REPLACE)
            done(folder)
        self._folder.delete(staged)

    def _list_own_files(self, folder: str) -> list[str]:
        """List the files of a day, all of which must be ours."""
        seen = [name for name in self._folder.names(folder) if not name.startswith((".", "_"))]  # as readers do
        old = [name for name in seen if name.startswith(OUR_FILES)]
        foreign = [name for name in seen if name not in old]
        if foreign:
            raise Refused(
                f"{self._folder.join(folder)} is not replaced, since slidewise did not write {foreign[0]!r} in it "
                f"({len(foreign)} of {len(seen)} files): move such files elsewhere"
            )
        return old

    def _refuse_folder(self) -> str | None:
        """Tell why this folder is not written into, if it is not."""
        folder = self._folder
        if folder.is_file():
            return f"{folder.path} is a file: the sink's path is a folder"
        names = [name for name in folder.names() if not name.startswith(".")]
        if SPARKS_OWN in names:
            return (
                f"{folder.path} holds {SPARKS_OWN}: a stream of Spark's own file sink wrote it, and readers then take "
                f"only the files that are listed there, so that they would never see those of a pipeline. Give the "
                f"sink another folder"
            )
        if not folder.exists(DESCRIPTION):
            foreign = [name for name in names if name != OURS]
            if foreign:
                return (
                    f"{folder.path} is not empty, and slidewise did not write it (it holds {foreign[0]!r}): give the "
                    f"sink a folder of its own"
                )
            return None
        was = json.loads(folder.read(DESCRIPTION))
        changed = [
            f"{key} {was.get(key)!r}, now {value!r}" for key, value in self._describe().items() if was.get(key) != value
        ]
        if changed:
            return (
                f"{folder.path} was begun with {'; '.join(changed)}: give the sink another folder, or the old settings"
            )
        return None

    def _refuse_columns(self, schema: T.StructType) -> str | None:
        """Tell which columns readers could not read together with those of the files that are there, if any."""
        if not self._folder.exists(COLUMNS):
            return None
        was: dict[str, str] = json.loads(self._folder.read(COLUMNS))
        now = describe_columns(schema)
        wrong = [f"{name!r} was {was[name]} and is {kind}" for name, kind in now.items() if was.get(name, kind) != kind]
        if self.format == "csv" and not wrong and list(was) != list(now):  # whose readers go by the place
            wrong = [f"{', '.join(was)} were the columns, and {', '.join(now)} are"]
        if wrong:
            return (
                f"{self._folder.path} holds files of other columns ({'; '.join(wrong)}): give the sink another folder"
            )
        return None

    def _describe(self) -> dict[str, Any]:
        return {"version": 1, "format": self.format, "time": self.time, "partition": self.partition}

    def _open(self, schema: T.StructType) -> None:
        """Refuse what is not fit, make an empty folder ours, and finish what killed runs have decided, once."""
        if self._is_open:
            return
        mistakes = self.check(schema)
        if mistakes:
            raise Refused("; ".join(mistakes))
        if not self._folder.exists(DESCRIPTION):
            self._folder.write(DESCRIPTION, json.dumps(self._describe()))
        columns = json.dumps(describe_columns(schema))
        if not self._folder.exists(COLUMNS) or self._folder.read(COLUMNS) != columns:
            self._folder.delete(COLUMNS)
            self._folder.write(COLUMNS, columns)
        self._finish_all()
        self._is_open = True

    def _stage(self, rows: DataFrame, staged: str) -> int:
        """Have Spark write rows into a folder that readers skip; give their number."""
        counted = Observation()
        day = day_of(self.time, rows.schema[self.time].dataType)
        (
            rows.withColumn(self.partition, day)
            .observe(counted, sf.count(sf.lit(1)).alias("rows"))
            .write.format(self.format)
            .options(**self._options)
            .partitionBy(self.partition)
            .save(self._folder.join(staged))
        )
        return int(counted.get["rows"])

    def _staged_days(self, staged: str) -> list[str]:
        return [name for name in self._folder.names(staged) if name.startswith(f"{self.partition}=")]

    def _plan_moves(self, staged: str, label: str) -> list[tuple[str, str]]:
        """Give each staged file its place: the folder of its day, under a name that no other change has."""
        moves: list[tuple[str, str]] = []
        for day in self._staged_days(staged):
            for name in self._folder.names(f"{staged}/{day}"):
                ending = name[name.index(".") :].removeprefix(".c000")  # part-00000-<random>.c000.snappy.parquet
                moves.append((f"{staged}/{day}/{name}", f"{day}/{OUR_FILES}{label}-{len(moves):05}{ending}"))
        return moves

    def _decide(self, name: str, change: Change) -> None:
        """Write a change down. From here on it will be done, whatever happens."""
        self._folder.write(name, json.dumps(asdict(change)))

    def _finish_all(self) -> None:
        """Finish every change that was decided before, of whichever run."""
        for name in self._folder.names(OURS):
            if name.startswith("query-") or f"{OURS}/{name}" == REPLACE:
                self._finish(f"{OURS}/{name}")

    def _finish(self, records: str) -> None:
        """Do the changes that are decided; the last one of a query is then its commit.

        Every step can be done again after a kill, and by two processes at once. Old files go first, so that no reader
        sees a row twice.
        """
        folder = self._folder
        names = folder.names(records)
        for name in names:
            if not re.fullmatch(PENDING + r".*\.json", name):
                continue
            try:
                change = Change(**json.loads(folder.read(f"{records}/{name}")))
            except JAVA_ERRORS:
                if folder.exists(f"{records}/{name}"):
                    raise
                continue  # another process has finished it meanwhile
            for old in change.removes:
                folder.delete(old)
            for staged, to in change.moves:
                folder.move(staged, to)
            folder.delete(change.staged)
            if records == REPLACE:
                folder.delete(f"{records}/{name}")
            else:
                committed = name.replace(PENDING, COMMITTED, 1)
                folder.move(f"{records}/{name}", f"{records}/{committed}")
                for older in names:
                    if older.startswith(COMMITTED) and older != committed:
                        folder.delete(f"{records}/{older}")

    def _clear(self, records: str, beginning: str) -> None:
        """Delete what killed runs have staged and never decided."""
        for name in self._folder.names(records):
            if name.startswith(beginning):
                self._folder.delete(f"{records}/{name}")

    def _last_committed(self, records: str) -> int:
        numbers = [
            int(name.removeprefix(COMMITTED).removesuffix(".json"))
            for name in self._folder.names(records)
            if re.fullmatch(COMMITTED + r"\d+\.json", name)
        ]
        return max(numbers, default=-1)


def describe_columns(schema: T.StructType) -> dict[str, str]:
    """Give each column's type by its name."""
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def merge_options(defaults: Mapping[str, str], given: Mapping[str, Any]) -> dict[str, str]:
    """Give the writer's options: the sink's over the defaults. Spark does not tell upper from lower case in them.

    >>> merge_options({"header": "true", "timeZone": "UTC"}, {"Header": False, "sep": ";"})
    {'timeZone': 'UTC', 'Header': 'false', 'sep': ';'}
    """
    names = {name.lower() for name in given}
    kept = {name: value for name, value in defaults.items() if name.lower() not in names}
    return kept | {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}


def as_file_name(query: str) -> str:
    """Make the id of a query part of a file's name: as it is where it can be, and else with a digest.

    >>> as_file_name("9f0c7d0e-3a52-4b6e-8f3e-0c6a1d6c2b11"), as_file_name("a b/c")
    ('9f0c7d0e-3a52-4b6e-8f3e-0c6a1d6c2b11', 'a_b_c.539138d5')
    """
    safe = re.sub(r"[^A-Za-z0-9-]", "_", query)
    return safe if safe == query else f"{safe}.{hashlib.sha256(query.encode()).hexdigest()[:8]}"
