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

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from crash_job import FEATURES, SESSIONS, SLICES
from microbatches import on_time, same

import slidewise as sw

SCHEMA = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("seq", pa.int64())])
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


KINDS = ("rows", "many keys", "sessions", "slices", "late", "history")


@pytest.mark.parametrize(
    ("kills", "files", "each", "kind"),
    [
        pytest.param(1, 6, 100, "rows", id="once"),
        pytest.param(1, 5, 100, "sessions", id="sessions", marks=pytest.mark.full),
        *(pytest.param(3, 10, 200, kind, id=f"short {kind}", marks=pytest.mark.soak) for kind in KINDS),
        *(pytest.param(20, 60, 1000, kind, id=f"long {kind}", marks=pytest.mark.soak) for kind in KINDS),
    ],
)
def test_every_row_once_after_kills(tmp_path, kills, files, each, kind):
    chance = random.Random(7)
    # Of many keys few have rows in a micro-batch: their state goes into the log of changes.
    table = events(each * files, chance, keys=4 * each if kind == "many keys" else 5)
    parts = [table[each * k : each * k + each] for k in range(files)]
    end = pa.Table.from_pylist([{"k": "end", "ts": START + dt.timedelta(hours=1), "seq": -1}], schema=SCHEMA)
    if kind == "history":  # its last rows are in the stream, too
        (tmp_path / "history").mkdir()
        pq.write_table(pa.concat_tables(parts[: files // 3]), tmp_path / "history" / "rows.parquet")
    (tmp_path / "in").mkdir()
    for number, part in enumerate([*parts[files // 3 - 1 if kind == "history" else 0 :], end]):
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
    expected = compute(kind, parts)
    got = pq.read_table(written).replace_schema_metadata()
    got = got.cast(pa.schema([f.with_metadata(None) for f in expected.schema]))
    same(got, expected.cast(got.schema), by=("k", "window_start") if "window_start" in got.column_names else ("seq",))
    kills = f"{len(within)} kills, {sum(within)} of them within a micro-batch"
    print(f"{len(got):,} rows came out, every one once, after {kills}")


def compute(kind, parts):
    """What has to come out, as a batch gives it."""
    call, table = {"partition_by": "k", "order_by": "ts"}, pa.concat_tables(parts)
    if kind == "sessions":
        return sw.aggregate(table, window=sw.session("150ms"), **SESSIONS, **call)
    if kind == "slices":
        return sw.aggregate(table, window=sw.time("2s", every="500ms"), **SLICES, **call)
    if kind == "late":
        timely = on_time(parts, 100_000)  # microseconds
        late = table.filter(pc.invert(pc.is_in(table["seq"], timely["seq"])))
        assert len(late) > 0.01 * len(table)
        out = pa.concat_tables([sw.with_columns(timely, FEATURES, **call), late], promote_options="default")
        return out.append_column("late", pa.array(np.arange(len(out)) >= len(timely)))
    if kind == "history":
        history = pa.concat_tables(parts[: len(parts) // 3])
        until = pc.max(history["ts"])
        after = table.filter(pc.greater(table["ts"], until))  # its other rows are left out
        out = sw.with_columns(pa.concat_tables([history, after]), FEATURES, **call)
        return out.filter(pc.greater(out["ts"], until))
    return sw.with_columns(table, FEATURES, **call)


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
