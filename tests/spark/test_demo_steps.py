"""The demo's steps that need Spark, on a few events."""

import io
import subprocess
import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from examples.demo import events, features, race, session, stream
from slidewise.pipeline.run_log import LogReader, folder_of

ROOT = Path(__file__).parents[2]


def test_features_are_listed_and_written(spark, tmp_path):
    output = io.StringIO()
    console = Console(file=output, width=140)
    events.write(tmp_path / "events", 3_000, 5, 1, console)
    pipeline = features.load(tmp_path)
    readings = features.read(spark, pipeline)

    console.print(features.listed(readings))
    listed = output.getvalue()
    for name in features.FEATURES:
        assert name in listed
    assert listed.count("can too") == len(features.COMMON)
    assert "refused: distinct_window_function_unsupported" in listed
    assert listed.count("refused") == 5 and listed.count("our own") == 1

    features.write(spark, pipeline, console)
    written = pq.read_table(tmp_path / "features")
    assert written.num_rows == 3_000
    assert set(features.FEATURES) < set(written.column_names)
    temperatures = [written["temperature"], pq.read_table(tmp_path / "events")["temperature"]]
    assert [pc.any(pc.is_nan(each)).as_py() for each in temperatures] == [False, True]


@pytest.mark.full
def test_the_race_gives_the_same_answers_twice(spark, tmp_path):
    output = io.StringIO()
    console = Console(file=output, width=140)
    events.write(tmp_path / "events", 3_000, 5, 1, console)
    pipeline = features.load(tmp_path)
    console.print(race.run(spark, pipeline, features.read(spark, pipeline), tmp_path / "race", console))
    assert "all 24,000 values are the same" in output.getvalue()


@pytest.fixture
def micros(spark):
    """Times are written as in the demo, which sets that for its own Spark."""
    name = "spark.sql.parquet.outputTimestampType"
    before = spark.conf.get(name)
    spark.conf.set(name, session.SETTINGS[name])
    yield
    spark.conf.set(name, before)


@pytest.mark.soak
def test_a_stream_that_is_killed_gives_the_rows_of_the_batch(spark, micros, tmp_path):
    output = io.StringIO()
    console = Console(file=output, width=100)
    plant = events.write(tmp_path / "events", 5_000, 5, 1, console)
    features.write(spark, features.load(tmp_path), console)
    console.print(stream.run(plant, tmp_path, "local[2]", console, files=4))
    shown = output.getvalue()
    assert "Killed with SIGKILL" in shown
    assert "6 micro-batches: 5,001 rows in, 5,000 out, 0 late" in shown
    assert "0 of 5,000 rows differ from those of the batch, and none came twice." in shown
    assert not (tmp_path / "stream" / "local").exists()

    log = LogReader(folder_of(stream.checkpoint(tmp_path))).read()
    assert [record["kind"] for record in log if record["kind"] in ("start", "end")] == ["start", "start", "end"]


@pytest.mark.full
def test_the_plant_passes_its_own_tests():
    command = [sys.executable, "-m", "slidewise", "test", "examples/plant/plant.yaml", "--master", "local[2]"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("✓ in process ✓ batch ✓ stream") == 3
    assert "3 examples, 0 failed" in result.stdout
