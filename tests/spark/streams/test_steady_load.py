"""A steady load: state and memory stay as they are, and a micro-batch writes about the state of the keys it touches."""

import gc
import os
from pathlib import Path
from statistics import mean, median

import numpy as np
import pyarrow as pa
import pytest
from folders import Folder
from microbatches import SECOND, Memory, task_of

import slidewise as sw
from slidewise.spark.session import PROVIDER, ROCKSDB
from slidewise.spark.streams.micro_batches import MicroBatches

SCHEMA = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("x", pa.float64())])
COLUMNS = "k long, ts timestamp, x double"
BEGIN = 1_700_000_000 * SECOND
STEPS = 200
#: by then windows are full
WARM = 60
linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells here what memory is in use")


class Counting(Memory):
    """The bytes of one bucket, and how many were written."""

    def __init__(self):
        super().__init__()
        self.written = 0

    def write(self, piece, data):
        self.written += len(data)
        super().write(piece, data)

    def write_meta(self, data):
        self.written += len(data)
        super().write_meta(data)

    @property
    def size(self):
        return len(self.meta) + sum(map(len, self.pieces.values()))


def rows(keys, first, last):
    """Rows of keys, evenly from one time to another."""
    times = np.linspace(first, last, len(keys), endpoint=False).astype(np.int64)
    values = np.random.default_rng(first).random(len(keys))
    return pa.table([pa.array(keys), pa.array(times), pa.array(values)], ["k", "ts", "x"]).cast(SCHEMA)


def hashes(keys):
    """Any function of the key that spreads its bits."""
    return (keys * np.int64(-7046029254386353131) >> 16) & (2**44 - 1)


def resident(process="self"):
    """The bytes of memory that a process has, none if it has ended; of this one, what cannot be given back."""
    if process == "self":
        gc.collect()
        pa.default_memory_pool().release_unused()
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


def flat(values, share):
    """Whether values do not grow: the last are as the first, by their medians."""
    return median(values[-20:]) <= (1 + share) * median(values[:20])


@pytest.mark.full
@linux
def test_state_and_memory_stay_flat():
    over = {
        "peak": sw.max("x").over(sw.time("20s")),
        "typical": sw.median("x").over(sw.rows(20)),
        "different": sw.count_distinct("x").over(sw.time("10s")),
    }
    task = task_of(over, schema=SCHEMA)
    memory, out, state, used = Counting(), 0, [], []
    keys = np.arange(3000) % 100
    for step in range(STEPS):
        now = BEGIN + step * 2 * SECOND
        made = MicroBatches(task).advance(memory, rows(keys, now, now + 2 * SECOND), hashes(keys), now - SECOND)
        out += len(made.rows)
        state.append(memory.size)
        if step >= WARM and step % 10 == 0:
            used.append(resident())
    assert out > 0.98 * STEPS * len(keys)
    assert max(state[WARM:]) <= 1.02 * min(state[WARM:])
    # If the rows of a step stayed, that would be 72 KB.
    assert max(used) - used[0] < 20_000 * (STEPS - WARM)


#: at most four times the state of the keys that are touched, 1% of all
ABOUT = 0.04


@pytest.mark.full
def test_a_micro_batch_writes_the_state_of_the_keys_that_it_touches():
    number, last = 20_000, 40
    task = task_of({"peak": sw.max("x").over(sw.rows(last))}, schema=SCHEMA, emit="arrival")
    memory, chance = Counting(), np.random.default_rng(1)
    everyone = np.tile(np.arange(number), last)
    MicroBatches(task).advance(memory, rows(everyone, BEGIN, BEGIN + SECOND), hashes(everyone), BEGIN)
    written, size = [], memory.size
    for step in range(1, 81):
        some, now = chance.choice(number, number // 100, replace=False), BEGIN + step * 2 * SECOND
        memory.written = 0
        made = MicroBatches(task).advance(memory, rows(some, now, now + SECOND), hashes(some), now - SECOND)
        assert len(made.rows) == len(some)
        written.append(memory.written / size)
    assert mean(written) < ABOUT and mean(written[-20:]) < ABOUT
    assert memory.size < 2.1 * size
    divided = len(memory.pieces)
    now = BEGIN + 1000 * SECOND
    MicroBatches(task).advance(memory, rows(everyone, now, now + SECOND), hashes(everyone), now - SECOND)
    assert len(memory.pieces) < divided / 4  # one log no more, and pieces are joined again, where all keys change
    assert memory.size < 1.1 * size * (last - 1 + last) / last  # rows before the watermark, too, and no log


# ---- real queries
@pytest.mark.full
@linux
@pytest.mark.soak
def test_a_real_query_stays_flat(spark, tmp_path):
    spark.conf.set(PROVIDER, ROCKSDB)
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2000)
    source = source.option("advanceMillisPerBatch", 2000).option("startTimestamp", BEGIN // 1000)
    stream = source.load().selectExpr("value % 100 AS k", "timestamp AS ts", "double(value) AS x")
    over = {"peak": sw.max("x").over(sw.time("1m")), "typical": sw.median("x").over(sw.rows(20))}
    out = sw.with_columns(stream, partition_by="k", order_by="ts", max_delay="2s", **over)
    query = out.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
    java = spark._jvm.java.lang.ProcessHandle.current()
    progress, used = {}, []
    try:
        while len(progress) < STEPS:
            assert query.isActive, query.exception()
            before = len(progress)
            progress |= {each["batchId"]: each for each in query.recentProgress}
            if len(progress) > max(before, WARM):
                used.append(sum(resident(worker.pid()) for worker in java.descendants().toList()))
            query.awaitTermination(0.2)
    finally:
        query.stop()
    operators = [each["stateOperators"][0] for each in progress.values()][WARM:]
    pieces, size = ([operator[name] for operator in operators] for name in ("numRowsTotal", "memoryUsedBytes"))
    print(f"pieces {pieces[0]} to {pieces[-1]}, bytes {size[0]} to {size[-1]}, workers {used[0]} to {used[-1]}")
    assert max(pieces) <= 1.05 * min(pieces)
    assert flat(used, 0.05)


@pytest.mark.full
@pytest.mark.soak
def test_a_real_query_writes_the_state_of_the_keys_that_it_touches(spark, tmp_path):
    spark.conf.set(PROVIDER, ROCKSDB)
    folder, number, last, chance = Folder(tmp_path, spark), 100_000, 40, np.random.default_rng(1)
    folder.add(rows(np.tile(np.arange(number), last), BEGIN, BEGIN + SECOND))
    for step in range(1, 13):
        some, now = chance.choice(number, number // 100, replace=False), BEGIN + step * 2 * SECOND
        folder.add(rows(some, now, now + SECOND))
    over = {"peak": sw.max("x").over(sw.rows(last))}
    stream = folder.stream(COLUMNS)
    out = sw.with_columns(stream, partition_by="k", order_by="ts", max_delay="0s", emit="arrival", **over)
    metrics = [each["stateOperators"][0]["customMetrics"] for each in folder.run(out)]
    first, *others = [each["rocksdbTotalBytesWritten"] for each in metrics]
    print(f"written for all keys {first:,} bytes, then for 1% of them {others}")
    assert mean(others) < 1.5 * ABOUT * first
