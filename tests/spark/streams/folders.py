"""Streams of files, for tests with real queries: rows that are late and out of order, and what comes out of them."""

import datetime as dt
import math
import os
import random

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import StreamingQueryException

from slidewise.spark.streams.stream_task import to_state_type

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
COLUMNS = (
    "k string, ts timestamp, seq long, `x.y` double, note string, tags array<long>, "
    "seen struct<first: timestamp, all: array<timestamp>>"
)
SCHEMA = pa.schema(
    [("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("seq", pa.int64()), ("x.y", pa.float64()),
     ("note", pa.string()), ("tags", pa.list_(pa.int64())),
     ("seen", pa.struct([("first", pa.timestamp("us", "UTC")), ("all", pa.list_(pa.timestamp("us", "UTC")))]))]
)  # fmt: skip
#: what a restart may set anew without any result becoming another
SETTINGS = {
    "spark.sql.session.timeZone": ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC", "+13:45"],
    "spark.sql.execution.arrow.maxRecordsPerBatch": ["300", "7", "65536"],
    "spark.sql.ansi.enabled": ["true", "false"],
    "spark.sql.shuffle.partitions": ["2", "3"],
}
DELAY = 2_000_000


def events(batches=4, each=150, seed=1):
    """Batches of rows, each up to 6 s out of order: some are late. 2**53 + 1 is no double."""
    chance = random.Random(seed)
    out, n = [], 0
    for _ in range(batches):
        rows = []
        for _ in range(each):
            n += 1
            time = START + dt.timedelta(milliseconds=100 * n - chance.choice([0, 0, 500, 1500, 6000]))
            rows.append(
                {"k": chance.choice(["a", "b", "c", "d", None]), "ts": time,
                 "seq": 2**53 + n, "x.y": chance.choice([None, math.nan, chance.random()]),
                 "note": chance.choice(["p", "q", None]), "tags": chance.choice([None, [], [2**53 + n, None]]),
                 "seen": chance.choice([None, {"first": time, "all": [time, None]}, {"first": None, "all": None}])}
            )  # fmt: skip
        out.append(pa.Table.from_pylist(rows, schema=SCHEMA))
    return out


class Folder:
    """A stream of files: one file is one micro-batch."""

    def __init__(self, path, session):
        self.path, self.session, self.written = path, session, 0
        (path / "in").mkdir()

    def add(self, *tables):
        for table in tables:
            file = self.path / "in" / f"{self.written:03}.parquet"
            pq.write_table(table, file)
            self.written += 1
            os.utime(file, (1e9 + self.written,) * 2)  # Spark takes files by their time

    def stream(self, columns=COLUMNS):
        reader = self.session.readStream.schema(columns).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.path / "in"))

    def run(self, df):
        """All that is there, from the checkpoint on; progress of the batches.

        On a busy machine Spark gives up on the Python process with which a stateful query begins, although workers have
        120 s to connect here: the query is then started again, and goes on from the checkpoint.
        """
        writer = df.writeStream.format("parquet").option("path", str(self.path / "out"))
        writer = writer.option("checkpointLocation", str(self.path / "checkpoint")).trigger(availableNow=True)
        progress = []
        for attempt in range(1, 4):
            query = writer.start()
            try:
                query.awaitTermination()
            except StreamingQueryException as error:
                if attempt == 3 or "Python worker failed to connect back" not in str(error):
                    raise
            else:
                return [*progress, *query.recentProgress]
            progress += query.recentProgress
        raise AssertionError

    def result(self):
        return self.session.read.parquet(str(self.path / "out")).toArrow()


def utc(table):
    """Times of the session's zone as UTC."""
    kinds = {name: to_state_type(column.type) for name, column in zip(table.column_names, table.columns, strict=True)}
    return table.cast(pa.schema(list(kinds.items())))


def last_row(seconds):
    row = {"k": "end", "ts": START + dt.timedelta(seconds=seconds), "seq": 0}
    return pa.Table.from_pylist([row], schema=SCHEMA)
