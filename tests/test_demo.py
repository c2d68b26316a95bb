"""The demo's steps that need no Spark, and what it says when it cannot run; see tests/spark/test_demo_steps.py too."""

import argparse
import datetime as dt
import io
import math
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import slidewise as sw
from examples.demo import __main__ as demo
from examples.demo import events, features, picture, progress, race, show, stream
from examples.demo.compare import compare
from slidewise import data
from slidewise.pipeline.run_log import LogReader, RunLog

ROOT = Path(__file__).parent.parent
QUIET = Console(file=io.StringIO())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Events, and their features by the engine of columns, as Spark would have written them."""
    folder = tmp_path_factory.mktemp("demo")
    plant = events.write(folder / "events", 60_000, 20, 1, QUIET)
    readings = pq.read_table(folder / "events")
    at = readings.schema.get_field_index("temperature")
    number = pc.if_else(pc.is_nan(readings["temperature"]), None, readings["temperature"])
    readings = readings.set_column(at, "temperature", number)
    (folder / "features").mkdir()
    computed = features.load(folder).compute(readings, features.FEATURES, {})
    pq.write_table(computed, folder / "features" / "part-0.parquet")
    return plant, folder


@pytest.mark.full
def test_events_are_written_and_counted(made, monkeypatch, tmp_path):
    plant, folder = made
    rows = pq.read_table(folder / "events")
    assert rows.num_rows == plant.rows == 60_000
    assert plant.per_machine == Counter(rows["machine"].to_pylist())
    assert plant.nulls == pc.sum(pc.is_null(rows["temperature"], nan_is_null=True)).as_py()
    assert plant.pictured in plant.per_machine
    assert "60,000 events of 20 machines" in plant.summary().plain
    monkeypatch.setattr(events, "ROWS_PER_FILE", 7_000)
    again = events.write(tmp_path / "events", 60_000, 20, 1, QUIET)
    assert len(list((tmp_path / "events").iterdir())) == 9
    assert (again.overtaken, again.nulls, again.per_machine) == (plant.overtaken, plant.nulls, plant.per_machine)


@pytest.mark.full
def test_an_unknown_machine_is_told(made):
    with pytest.raises(sw.InvalidInput, match=r"no machine 'press-999' among the events. There are"):
        made[0].known("press-999")


@pytest.mark.full
@pytest.mark.parametrize("width", [80, 120, 200])
def test_rows_are_shown_in_the_width_there_is(made, width):
    plant, folder = made
    out = io.StringIO()
    Console(file=out, width=width).print(show.rows(folder / "features", plant.pictured, width))
    shown = out.getvalue()
    assert "…" not in shown
    assert len([line for line in shown.splitlines() if line.strip()]) in (14, 15)
    assert ("hottest_1h" in shown) == (width == 200)


@pytest.mark.full
def test_a_picture_is_drawn(made, tmp_path):
    plant, folder = made
    image = picture.draw(folder / "features", plant.pictured, tmp_path / "machine.png")
    assert image.read_bytes().startswith(b"\x89PNG")
    assert image.stat().st_size > 20_000


def test_a_difference_is_found(tmp_path):
    rows = pa.table({"ts": [3, 1, 2]} | {name: [1.0, None, 3.0] for name in features.COMMON})
    wrong = rows.set_column(5, rows.column_names[5], pa.array([1.0, None, 3.1]))
    for folder, table in {"a": rows, "b": rows.take([2, 0, 1]), "c": wrong, "d": rows.slice(1)}.items():
        (tmp_path / folder).mkdir()
        pq.write_table(table, tmp_path / folder / "0.parquet")
    compare = lambda other: race.compared(tmp_path / "a", tmp_path / other)  # noqa: E731
    assert compare("b") == "all 24 values are the same"
    assert compare("c") == f"{rows.column_names[5]} differs in 1 rows!"
    assert compare("d") == "the rows differ!"


def test_two_tables_are_compared_row_by_row():
    a = pa.table(
        {"ts": [1, 2, 3, 4], "x": [1.0, None, math.nan, 4.0], "s": ["a", "b", None, "d"], "n": [1, 2, 3, None]}
    )

    def changed(name, *values):
        return a.set_column(a.column_names.index(name), name, pa.array(values, a.schema.field(name).type))

    def differ(b, **options):
        found = compare(a, b, by="ts", **options)
        return found.unmatched, found.columns, found.rows

    assert differ(a.take([3, 0, 2, 1])) == (0, {}, 0)
    assert differ(changed("x", 1.0 + 1e-10, None, math.nan, 4.0)) == (0, {}, 0)
    assert differ(changed("x", 1.0 + 1e-8, math.nan, None, 4.0)) == (0, {"x": 3}, 3)
    assert differ(changed("x", 1.0 + 1e-8, None, math.nan, 4.0), absolute=1e-7) == (0, {}, 0)
    assert differ(changed("s", "a", None, "c", "d")) == (0, {"s": 2}, 2)
    assert differ(changed("n", 1, 2, 4, 4)) == (0, {"n": 2}, 2)
    assert differ(changed("ts", 1, 2, 3, 5)) == (2, {}, 2)
    assert differ(a.take([0, 1, 2, 3, 3])) == (1, {}, 1)  # a row came twice
    assert differ(changed("s", "x", "b", None, "d").take([0, 1, 2])) == (1, {"s": 1}, 2)


# ---- the stream
@pytest.mark.full
def test_events_are_cut_in_the_order_of_their_arrival(made, tmp_path):
    plant, _ = made
    stream.cut(plant.path, tmp_path / "in", 7)
    files = sorted((tmp_path / "in").iterdir(), key=lambda file: file.stat().st_mtime)
    assert files == sorted(files) and len(files) == 8
    parts = [pq.read_table(file) for file in files]
    whole = pq.read_table(plant.path)
    assert compare(pa.concat_tables(parts[:-1]), whole, by="ts").rows == 0
    assert pa.concat_tables(parts[:-1])["ts"].equals(whole["ts"])
    assert [part.num_rows for part in parts] == [8572] * 6 + [8568, 1]
    assert pc.max(parts[-1]["ts"]).as_py() - pc.max(whole["ts"]).as_py() == dt.timedelta(hours=1)


def told(batch, **changes):
    """A micro-batch, as the run log has it."""
    rows = {"rows_in": 5_000, "rows_out": 4_000, "watermark": "2024-03-01T04:05:06.789Z", "late": 0}
    return (
        {"kind": "batch", "batch": batch, "state_rows": 70, "state_bytes": 2_000_000, "seconds": 0.1} | rows | changes
    )


def given(batch, *machines, **changes):
    """The newest rows of a micro-batch, as the run log has them."""
    results = dict.fromkeys(features.FEATURES, 7) | {"state_5m": "warn"} | changes
    row = {"time": "2024-03-01T13:00:03+01:00", "inputs": {"temperature": 70.5}, "results": results}
    return {"kind": "values", "batch": batch, "keys": [{"key": [name], "rows": [row]} for name in machines]}


@pytest.mark.parametrize("width", [80, 120])
def test_the_last_micro_batches_are_shown(width):
    board = stream.Board(["press-001", "lathe-002"], width)
    for batch in range(20):
        board.take(given(batch, "press-001", "pump-006", peak_5m=batch))
        board.take(told(batch, late=batch))
    board.take({"kind": "values", "batch": 19, "keys": [{"key": ["lathe-002"], "rows": [], "pending": []}]})
    out = io.StringIO()
    Console(file=out, width=width).print(board)
    shown = out.getvalue()
    assert "20 micro-batches: 100,000 rows in, 80,000 out, 190 late" in shown
    lines = [line.split() for line in shown.splitlines()]
    assert [line[0] for line in lines if "04:05:06" in line] == [str(batch) for batch in range(12, 20)]
    assert [line[:4] for line in lines if "press-001" in line] == [["press-001", "12:00:03", "70.5", "19.0"]]
    assert "pump-006" not in shown
    assert "…" not in shown and len(lines) < 24


def test_a_process_is_followed_and_killed(tmp_path):
    log, reader = RunLog(tmp_path / "run"), LogReader(tmp_path / "run")
    board = stream.Board(["press-001"], 80)
    for batch in range(3):
        log.append(given(batch, "press-001"))
        log.append(told(batch))
    with stream.job([sys.executable, "-c", "import time; time.sleep(600)"], tmp_path / "log") as process:
        stream.follow(process, reader, board, kill_after=2)
    assert process.returncode == -signal.SIGKILL
    assert list(board.reports) == [0, 1, 2] and board.at_work == "streaming"

    log.append(told(2, rows_out=4_001))  # done again
    log.append(told(3))
    with stream.job([sys.executable, "-c", "pass"], tmp_path / "log") as process:
        stream.follow(process, reader, board)
    assert {batch: report["rows_out"] for batch, report in board.reports.items()} == {
        0: 4_000, 1: 4_000, 2: 4_001, 3: 4_000,
    }  # fmt: skip

    with (
        pytest.raises(sw.SlidewiseError, match=r"ended with code 1: .*log says why"),
        stream.job([sys.executable, "-c", "raise SystemExit('no')"], tmp_path / "log") as process,
    ):
        stream.follow(process, reader, board)
    assert "no" in (tmp_path / "log").read_text()


def test_the_live_page_is_served_while_the_stream_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    RunLog(tmp_path / "run").append(told(0))
    shown = io.StringIO()
    with stream.page(tmp_path / "run", Console(file=shown, width=80)):
        address = shown.getvalue().removeprefix("Watch it live at ").strip()
        with urllib.request.urlopen(address) as page:
            assert b"slidewise" in page.read()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address)


def test_the_last_line_says_how_many_rows_differ():
    same = pa.table({"ts": [1, 2], "x": [1.0, 2.0]})
    other = pa.table({"ts": [1, 3], "x": [1.5, 2.0]})
    assert stream.verdict(compare(same, same, by="ts"), 2).plain == (
        "0 of 2 rows differ from those of the batch, and none came twice."
    )
    assert stream.verdict(compare(same, other, by="ts"), 2).plain == (
        "3 of 2 rows differ from those of the batch: 2 are missing or too many; x in 1"
    )


def test_a_log_has_a_line_for_all_that_is_done():
    lines = []
    board = stream.Board(["press-001"], 80, say=lines.append)
    board.work("starting")
    board.take(given(3, "press-001"))
    board.take(told(3))
    assert lines == ["starting ...", "micro-batch 3: 4,000 rows out, 0.1 s"]

    log = io.StringIO()
    console = Console(file=log)
    with progress.status("drawing", console) as say:
        say("drawing the second")
    with progress.bar("generating", 3, console) as advance:
        advance(3)
    assert log.getvalue().splitlines() == ["drawing ...", "drawing the second ...", "generating ..."]


def test_a_terminal_shows_what_is_going_on():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    with progress.status("drawing", console) as say:
        say("drawing the second")
    assert "drawing the second" in screen.getvalue() and "..." not in screen.getvalue()


@pytest.mark.full
def test_kernels_of_all_features_are_compiled_here(made):
    lines = []
    plant, folder = made
    features.compile_kernels(features.load(folder), plant.first_rows(), lines.append)
    assert lines[0] == "compiling kernels (once): 0 of 16 features" and len(lines) == len(features.FEATURES) == 16


def test_the_live_page_is_offered_by_a_command_that_is_there(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    shown = show.watch(Path("demo-output/stream/_checkpoint")).plain
    assert shown.startswith("\nThe live page of the stream: ")
    command = shown.removeprefix("\nThe live page of the stream: ").split()
    assert command[1:] == ["watch", "demo-output/stream/_checkpoint"]
    assert Path(command[0]).resolve() == Path(sys.executable).with_name("slidewise").resolve()
    (tmp_path / "slidewise").touch(0o755)
    assert show.watch(Path("x")).plain.endswith(": slidewise watch x")


def test_the_long_one_is_asked_for():
    assert demo.parser().parse_args([]).rows == 200_000
    assert demo.parser().parse_args(["--rows", "2M"]).rows == 2_000_000


def test_every_feature_but_our_own_can_be_asked_of_spark():
    assert features.FEATURES.keys() - features.ASKED.keys() == {"climb_1h"}
    assert set(features.COMMON) < features.ASKED.keys() < features.FEATURES.keys()
    assert {feature.window for feature in features.FEATURES.values()} == features.BOUNDS.keys()


def test_the_pipeline_reads_and_writes_where_it_is_told(tmp_path):
    definition = features.load(tmp_path).definition
    assert definition.source.path == f"{tmp_path}/events"
    assert definition.sink.path == f"{tmp_path}/features"
    assert stream.checkpoint(tmp_path) == Path(features.load(tmp_path / "stream").definition.run.checkpoint)
    declared = [column.split() for column in definition.source.columns.split(",")]
    kinds = {"string": "string", "double": "double", "bigint": "int64", "timestamp": "timestamp[us, tz=UTC]"}
    written = [[field.name, str(field.type)] for field in data.machines().schema]
    assert [[name, kinds[kind]] for name, kind in declared] == written


@pytest.mark.parametrize(("text", "rows"), [("3M", 3_000_000), ("1.5m", 1_500_000), ("200k", 200_000), ("17", 17)])
def test_amounts(text, rows):
    assert demo.amount(text) == rows


@pytest.mark.parametrize("text", ["", "k", "many", "0", "-3M", "nan"])
def test_what_is_no_amount(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not an amount: try 500k"):
        demo.amount(text)


def test_without_java_it_says_so_before_it_begins(tmp_path):
    result = subprocess.run(
        [sys.executable, "-m", "examples.demo", "--output", str(tmp_path / "out")],
        cwd=ROOT,
        env=os.environ | {"JAVA_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert result.returncode == 1
    assert "Spark runs on Java, which was not found" in result.stdout
    assert result.stderr == ""
    assert not (tmp_path / "out" / "events").exists()
