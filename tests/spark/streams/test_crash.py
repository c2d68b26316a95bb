"""Exactly once: the process group of a driver is killed at random moments, and started again from its checkpoint."""

import datetime as dt
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from microbatches import same

import slidewise as sw

SCHEMA = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("seq", pa.int64())])
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("kills", "files", "each", "kind"),
    [
        pytest.param(1, 6, 100, "rows", id="once"),
        pytest.param(3, 8, 100, "rows", id="short", marks=pytest.mark.soak),
        pytest.param(1, 5, 100, "sessions", id="sessions", marks=pytest.mark.full),
        pytest.param(3, 12, 400, "many keys", id="short many keys", marks=pytest.mark.soak),
        pytest.param(20, 60, 1000, "many keys", id="long many keys", marks=pytest.mark.soak),
        pytest.param(20, 60, 1000, "rows", id="long", marks=pytest.mark.soak),
        pytest.param(20, 60, 1000, "sessions", id="long sessions", marks=pytest.mark.soak),
    ],
)
def test_every_row_once_after_kills(tmp_path, kills, files, each, kind):
    chance = random.Random(7)
    # Of many keys few have rows in a micro-batch: their state goes into the log of changes.
    table = events(each * files, chance, keys=4 * each if kind == "many keys" else 5)
    end = pa.Table.from_pylist([{"k": "end", "ts": START + dt.timedelta(hours=1), "seq": -1}], schema=SCHEMA)
    (tmp_path / "in").mkdir()
    for number, part in enumerate([*(table[each * k : each * k + each] for k in range(files)), end]):
        file = tmp_path / "in" / f"{number:03}.parquet"
        pq.write_table(part, file)
        os.utime(file, (1e9 + number,) * 2)
    within = []
    while len(within) < kills or not any(within):  # a kill between two micro-batches is not enough
        within.append(killed(tmp_path, kind, chance))
        if within[-1] is None:
            break  # a slow kill comes too late; those before it count
    within = [kill for kill in within if kill is not None]
    assert any(within), "the job ended before it was killed: more files are needed"
    assert start(tmp_path, kind).wait() == 0, (tmp_path / "log").read_text(errors="replace")[-5000:]
    written = [unquote(urlparse(file).path) for file in (tmp_path / "files").read_text().splitlines()]
    call = {"partition_by": "k", "order_by": "ts"}
    if kind == "sessions":
        results = {"all": sw.collect_list("seq"), "n": sw.count()}
        expected = sw.aggregate(table, window=sw.session("150ms"), **call, **results)
    else:
        columns = {"last": sw.collect_list("seq").over(sw.rows(3)), "n": sw.count().over(sw.time("5s"))}
        expected = sw.with_columns(table, **call, **columns)
    got = pq.read_table(written).replace_schema_metadata()
    got = got.cast(pa.schema([f.with_metadata(None) for f in expected.schema]))
    same(got, expected.cast(got.schema), by=("k", "window_start") if kind == "sessions" else ("seq",))
    kills = f"{len(within)} kills, {sum(within)} of them within a micro-batch"
    print(f"{len(got):,} rows came out, every one once, after {kills}")


def events(count, chance, keys):
    """Rows up to half a second out of order, with a gap of 400 ms after each 800."""
    arrival = sorted(range(count), key=lambda n: n + chance.uniform(0, 50))
    times = [START + dt.timedelta(milliseconds=10 * (n + n // 80 * 40)) for n in range(count)]
    rows = [{"k": f"{n % 5 if keys == 5 else chance.randrange(keys)}", "ts": times[n], "seq": n} for n in arrival]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def killed(folder, kind, chance):
    """Start the job and kill it some time after its first micro-batch has begun; whether a micro-batch had begun.

    None where the job had done all its work before.
    """
    job = start(folder, kind)
    done = len(batches(folder, "commits")) + chance.randint(0, 1)

    def is_due():
        # Before the first offsets are there Spark itself refuses to go on, and asks for a new checkpoint.
        return batches(folder, "offsets") and len(batches(folder, "commits")) >= done

    while job.poll() is None and not is_due():
        time.sleep(0.02)
    time.sleep(chance.uniform(0, 1))
    if job.poll() is not None:
        assert job.returncode == 0, (folder / "log").read_text(errors="replace")[-5000:]
        return None
    # The group: without its driver alone, the JVM would end in order.
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    begun, done = (batches(folder, which) for which in ("offsets", "commits"))
    print(f"killed after {len(done)} micro-batches" + ", within the next" * (begun > done))
    return begun > done


def start(folder, kind):
    command = [sys.executable, str(Path(__file__).with_name("crash_job.py")), str(folder), kind]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, start_new_session=True, stdout=log, stderr=log)


def batches(folder, which):
    """The micro-batches that have begun, or are committed."""
    return {int(file.name) for file in (folder / "checkpoint" / which).glob("*") if file.name.isdigit()}
