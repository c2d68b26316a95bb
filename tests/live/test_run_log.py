"""The run log: what is written is read, across rotations, kills and full disks, and it is bounded."""

import json
import math
import threading
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.run_logs import PlayedRun
from support.tiers import examples

from slidewise.pipeline.run_log import (
    LONGEST_TEXT,
    MOST_KEYS,
    MOST_PINS,
    MOST_ROWS,
    NEWEST,
    LogReader,
    RunLog,
    folder_of,
    plain,
    read_pins,
    write_pins,
)


def read(folder) -> Any:
    return LogReader(folder).read()


def numbers(records):
    return [record["batch"] for record in records if record["kind"] == "batch"]


def batch(number, **more):
    return {"kind": "batch", "batch": number, **more}


def test_the_folder_is_beside_the_checkpoint(tmp_path):
    assert folder_of(tmp_path / "_checkpoint") == tmp_path / "_checkpoint_log"


def test_what_is_written_is_read_once(folder):
    log, reader = RunLog(folder), LogReader(folder)
    assert reader.read() == []
    log.append(batch(0))
    log.append(batch(1))
    assert numbers(reader.read()) == [0, 1]
    assert reader.read() == []
    log.append(batch(2))
    assert numbers(reader.read()) == [2]
    assert numbers(LogReader(folder).read()) == [0, 1, 2]


def test_a_record_has_its_time_in_utc(folder):
    RunLog(folder).append({"kind": "idle"})
    (_, idle) = read(folder)
    assert abs(datetime.now(UTC) - datetime.fromisoformat(idle["at"])).total_seconds() < 60
    assert idle["at"].endswith("Z")


@pytest.mark.parametrize("every", [1, 3, 1000])
def test_a_reader_follows_across_rotations(folder, every):
    log, reader = RunLog(folder, file_bytes=2000, files=50), LogReader(folder)
    records = []
    for number in range(200):
        log.append(batch(number, why="x" * 80))
        if number % every == 0:
            records += reader.read()
    records += reader.read()
    assert numbers(records) == list(range(200))
    assert len(list(folder.glob("log*.jsonl"))) > 5


def test_a_reader_that_slept_goes_on_with_the_oldest_that_is_left(folder):
    log, reader = RunLog(folder, file_bytes=1000, files=3), LogReader(folder)
    log.append(batch(0))
    assert numbers(reader.read()) == [0]
    for number in range(1, 200):
        log.append(batch(number, why="x" * 80))
    rest = numbers(reader.read())
    assert rest == list(range(rest[0], 200))
    assert rest[0] > 1


def test_a_reader_misses_nothing_while_files_are_rotated(folder):
    log, reader = RunLog(folder, file_bytes=1500, files=400), LogReader(folder)
    writer = threading.Thread(target=lambda: [log.append(batch(number, why="x" * 80)) for number in range(500)])
    writer.start()
    records = []
    while writer.is_alive():
        records += reader.read()
    writer.join()
    records += reader.read()
    assert numbers(records) == list(range(500))


def test_a_file_that_someone_deleted_stops_no_reader(folder):
    log = RunLog(folder, file_bytes=1000, files=6)
    for number in range(60):
        log.append(batch(number, why="x" * 80))
    (folder / "log.2.jsonl").unlink()
    assert numbers(read(folder))[-1] == 59


def test_the_log_is_bounded(folder):
    log = RunLog(folder, file_bytes=5_000, files=4)
    for number in range(1000):
        log.append(batch(number, why="x" * 200))
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert set(sizes) == {NEWEST, "log.1.jsonl", "log.2.jsonl", "log.3.jsonl"}
    assert max(sizes.values()) <= 5_000


def test_each_file_tells_how_the_run_started(folder):
    run = PlayedRun(folder, file_bytes=100_000, files=3).start().batches(400)
    kinds = [json.loads(line)["kind"] for line in (folder / "log.2.jsonl").read_text().splitlines()[:2]]
    assert kinds == ["file", "start"]
    records = LogReader(folder).read()
    assert {record["run"] for record in records if record["kind"] == "start"} == {"run-1"}
    assert numbers(records)[-1] == run.number - 1


def test_a_line_that_a_kill_has_cut_is_skipped(folder):
    log, reader = RunLog(folder), LogReader(folder)
    log.append(batch(0))
    with (folder / NEWEST).open("ab") as file:
        file.write(b'{"kind":"batch","batch":1,"rows')
    assert numbers(reader.read()) == [0]
    RunLog(folder).append(batch(2))
    assert numbers(reader.read()) == [2]
    assert numbers(LogReader(folder).read()) == [0, 2]


def test_a_line_that_is_being_written_is_read_when_it_is_whole(folder):
    RunLog(folder).append(batch(0))
    reader = LogReader(folder)
    reader.read()
    with (folder / NEWEST).open("ab") as file:
        file.write(b'{"kind":"ba')
        file.flush()
        assert reader.read() == []
        file.write(b'tch","batch":1}\n')
    assert numbers(reader.read()) == [1]


def test_what_is_no_record_is_skipped(folder):
    folder.mkdir()
    (folder / NEWEST).write_bytes(
        b'{"kind":"file","number":1}\n\n[1]\n"x"\n{"no":"kind"}\n\xff\xfe\n{"kind":"batch","batch":5}\n'
    )
    assert numbers(LogReader(folder).read()) == [5]


def test_a_log_that_is_begun_anew_is_read_anew(folder):
    RunLog(folder).append(batch(0))
    reader = LogReader(folder)
    assert numbers(reader.read()) == [0]
    (folder / NEWEST).unlink()
    RunLog(folder).append(batch(7, why="longer than before"))
    assert numbers(reader.read()) == [7]


def test_a_disk_that_refuses_ends_no_run_and_is_told_once(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    said = []
    log = RunLog(blocked / "log", say=said.append)
    for number in range(3):
        log.append(batch(number))
    assert len(said) == 1
    assert "cannot be written, and the run goes on without it" in said[0]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
def test_a_full_disk_ends_no_run_and_the_log_goes_on_later(folder):
    folder.mkdir()
    (folder / NEWEST).symlink_to("/dev/full")
    said = []
    log = RunLog(folder, say=said.append)
    log.append(batch(0))
    log.append(batch(1))
    assert len(said) == 1
    (folder / NEWEST).unlink()
    log.append(batch(2))
    assert numbers(LogReader(folder).read()) == [2]


def test_a_record_that_cannot_be_written_ends_no_run(folder):
    class Hostile:
        def __str__(self):
            raise RuntimeError("no text")

    said = []
    log = RunLog(folder, say=said.append)
    log.append({"kind": "values", "batch": 0, "keys": [{"key": [Hostile()], "rows": []}]})
    log.append(batch(1))
    assert said
    assert numbers(LogReader(folder).read()) == [1]


def test_values_are_bounded(folder):
    folder.mkdir()
    write_pins(folder, [["k60"]])
    row: Any = {"time": "2026-01-01T00:00:00Z", "inputs": {"x": "y" * 10_000}, "results": {"all": list(range(1000))}}
    keys: Any = [{"key": [f"k{k}"], "rows": [row] * 300, "pending": [row] * 300} for k in range(70)]
    RunLog(folder, file_bytes=10**9).append({"kind": "values", "batch": 0, "keys": keys})
    (_, values) = read(folder)
    assert [entry["key"][0] for entry in values["keys"]] == [f"k{k}" for k in range(MOST_KEYS)] + ["k60"]
    entry = values["keys"][0]
    assert len(entry["rows"]) == len(entry["pending"]) == MOST_ROWS
    assert len(entry["rows"][0]["inputs"]["x"]) == LONGEST_TEXT + 1
    assert entry["rows"][0]["results"]["all"][-1] == "…"


def test_values_never_fill_a_file(folder):
    row: Any = {"time": None, "inputs": {}, "results": {f"f{k}": "x" * 300 for k in range(100)}}
    keys: Any = [{"key": [k], "rows": [row] * 100} for k in range(50)]
    log = RunLog(folder, file_bytes=100_000)
    for number in range(20):
        log.append({"kind": "values", "batch": number, "keys": keys})
    assert max(path.stat().st_size for path in folder.iterdir()) <= 100_000


def test_values_of_every_type_become_plain():
    given = {
        "nan": math.nan, "inf": [math.inf, -math.inf], "big": 2**63, "exact": 2**53, "at": datetime(2026, 1, 1, 10),
        "day": date(2026, 1, 1), "price": Decimal("1.50"), "bytes": b"\x01\xff", "none": None, "flag": True,
        "numpy": np.float32(1.5), "array": np.array([1, 2]), "nested": {"tuple": (1, {"x"})},
    }  # fmt: skip
    assert plain(given) == {
        "nan": "NaN", "inf": ["Infinity", "-Infinity"], "big": str(2**63), "exact": 2**53, "at": "2026-01-01T10:00:00Z",
        "day": "2026-01-01", "price": "1.50", "bytes": "01ff", "none": None, "flag": True, "numpy": 1.5,
        "array": [1, 2], "nested": {"tuple": [1, ["x"]]},
    }  # fmt: skip


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.datetimes() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@examples(200)
@given(values=st.lists(JSON, min_size=1, max_size=3), name=st.text())
def test_whatever_the_values_are_a_line_is_a_line(tmp_path_factory, values, name):
    folder = tmp_path_factory.mktemp("log")
    said = []
    row = {"time": None, "inputs": {name: values[0]}, "results": {name: values[-1]}}
    RunLog(folder, say=said.append).append({"kind": "values", "batch": 0, "keys": [{"key": values, "rows": [row]}]})
    (_, record) = read(folder)
    assert not said
    assert record["keys"] == [{"key": plain(values), "rows": [plain(row)]}]


def test_pins_are_compared_as_a_person_types_them(folder):
    log = RunLog(folder)
    assert ["a"] not in log.pins()
    folder.mkdir()
    write_pins(folder, [["a", "7"], [2**60]])
    pins = log.pins()
    assert ["a", 7] in pins
    assert [2**60] in pins
    assert ["a", 8] not in pins
    assert len(pins) == 2


@pytest.mark.parametrize("content", ["", "{", "{}", "7", '["a", 7]', "null"])
def test_a_file_of_pins_that_is_no_list_of_keys_pins_nothing(folder, content):
    folder.mkdir()
    (folder / "pins.json").write_text(content)
    assert read_pins(folder) == []


def test_so_many_keys_are_pinned_at_most(folder):
    folder.mkdir()
    write_pins(folder, [[k] for k in range(200)])
    assert len(read_pins(folder)) == MOST_PINS
