"""Jobs that are killed at random moments, and started again until they are done."""

import datetime as dt
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

SCHEMA = pa.schema(
    [("card", pa.string()), ("at", pa.timestamp("us", "UTC")), ("seq", pa.int64()), ("revision", pa.int32())]
)
START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def write_files(folder, files, each):
    """Write events of three days into files, which a stream reads one by one; give them all."""
    (folder / "in").mkdir()
    chance = random.Random(5)
    step = dt.timedelta(days=3) / (files * each)
    order = sorted(range(files * each), key=lambda n: n + chance.uniform(0, 2 * each))
    rows = [{"card": f"c{n % 7}", "at": START + n * step, "seq": n, "revision": 0} for n in order]
    for number in range(files):
        file = folder / "in" / f"{number:03}.parquet"
        pq.write_table(pa.Table.from_pylist(rows[each * number : each * (number + 1)], schema=SCHEMA), file)
        os.utime(file, (1e9 + number,) * 2)
    return rows


def run_with_kills(folder, sink, kills, days=()):
    """Run a job, killed so many times in one of the first changes that it makes, and then to its end."""
    (folder / "job.json").write_text(json.dumps({"sink": sink, "days": list(days)}))
    chance = random.Random(11)
    done = 0
    while done < kills:
        job = start(folder)
        changes = chance.randint(1, 3)
        while begun(folder) < changes and job.poll() is None:
            time.sleep(0.01)
        time.sleep(chance.choice([0, 0.1, 0.5, 1.5]) * chance.random())
        if job.poll() is not None:
            assert job.returncode == 0, (folder / "log").read_text()
            break
        os.killpg(job.pid, signal.SIGKILL)  # the group: without its driver alone, the JVM would end in order
        job.wait()
        done += 1
    assert done > 0, "the job ended before it was killed: more files are needed"
    assert start(folder).wait() == 0, (folder / "log").read_text()
    print(f"done after {done} kills")


def begun(folder):
    """Count the batches or days that this run of the job has begun."""
    return (folder / "begun").stat().st_size if (folder / "begun").exists() else 0


def start(folder):
    (folder / "begun").unlink(missing_ok=True)
    command = [sys.executable, str(Path(__file__).with_name("sink_job.py")), str(folder)]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            command, start_new_session=True, stdout=log, stderr=log, env={**os.environ, "TZ": "UTC"}
        )
