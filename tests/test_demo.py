"""The demo's steps that need no Spark, and what it says when it cannot run; see tests/spark/test_demo_steps.py too."""

import argparse
import io
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import slidewise as sw
from examples.demo import __main__ as demo
from examples.demo import events, features, picture, race, show

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
    pq.write_table(features.computed(readings, features.FEATURES), folder / "features" / "part-0.parquet")
    return plant, folder


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


def test_an_unknown_machine_is_told(made):
    with pytest.raises(sw.InvalidInput, match=r"no machine 'press-999' among the events. There are"):
        made[0].known("press-999")


@pytest.mark.parametrize("width", [80, 120, 200])
def test_rows_are_shown_in_the_width_there_is(made, width):
    plant, folder = made
    out = io.StringIO()
    Console(file=out, width=width).print(show.rows(folder / "features", plant.pictured, width))
    shown = out.getvalue()
    assert "…" not in shown
    assert len([line for line in shown.splitlines() if line.strip()]) in (14, 15)
    assert ("hottest_1h" in shown) == (width == 200)


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


def test_every_feature_can_be_asked_of_spark():
    assert features.ASKED.keys() == features.FEATURES.keys()
    assert {feature.window for feature in features.FEATURES.values()} == features.BOUNDS.keys()


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
