"""Exactly once: the process group of a driver is killed at random moments, and started again from its checkpoint."""

import datetime as dt
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from microbatches import same

import slidewise as sw

SCHEMA = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("seq", pa.int64())])
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
FILES, KILLS = 14, 3


@pytest.mark.soak
def test_every_row_once_after_kills(tmp_path):
    rows = [
        {"k": "abcde"[n % 5], "ts": START + dt.timedelta(milliseconds=10 * n), "seq": n} for n in range(100 * FILES)
    ]
    rows.append({"k": "end", "ts": START + dt.timedelta(hours=1), "seq": -1})
    (tmp_path / "in").mkdir()
    for number in range(FILES + 1):
        file = tmp_path / "in" / f"{number:03}.parquet"
        pq.write_table(pa.Table.from_pylist(rows[100 * number : 100 * number + 100], schema=SCHEMA), file)
        os.utime(file, (1e9 + number,) * 2)
    chance = random.Random(7)
    for _ in range(KILLS):
        job = start(tmp_path)
        commits = len(done(tmp_path)) + chance.randint(1, 3)
        while len(done(tmp_path)) < commits and job.poll() is None:
            time.sleep(0.05)
        time.sleep(chance.uniform(0, 0.5))  # somewhere within a micro-batch
        assert job.poll() is None, "the job ended before it was killed: more files are needed"
        # The group: without its driver alone, the JVM would end in order.
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    assert start(tmp_path).wait() == 0
    table = pa.Table.from_pylist(rows[:-1], schema=SCHEMA)
    columns = {"last": sw.collect_list("seq").over(sw.rows(3)), "n": sw.count().over(sw.time("5s"))}
    expected = sw.with_columns(table, partition_by="k", order_by="ts", **columns)
    got = pq.read_table(tmp_path / "result").replace_schema_metadata()
    got = got.cast(pa.schema([f.with_metadata(None) for f in expected.schema]))
    same(got, expected.cast(got.schema), by=("seq",))


def start(folder):
    command = [sys.executable, str(Path(__file__).with_name("crash_job.py")), str(folder)]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, start_new_session=True, stdout=log, stderr=log)


def done(folder):
    """The micro-batches that are committed."""
    return [file for file in (folder / "checkpoint" / "commits").glob("*") if file.name.isdigit()]
