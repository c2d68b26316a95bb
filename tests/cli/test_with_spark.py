"""Commands that ask Spark: check, explain, test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

import slidewise as sw


@pytest.fixture(autouse=True)
def _session(session):
    """All of these take the session that is there."""


def change(old: str, new: str) -> None:
    text = Path("cards.yaml").read_text()
    assert old in text, old
    Path("cards.yaml").write_text(text.replace(old, new))


def keep_tests(text: str) -> None:
    """Replace all tests."""
    before = Path("cards.yaml").read_text()
    Path("cards.yaml").write_text(before[: before.index("tests:")] + text)


@pytest.mark.full
def test_the_new_project_passes(slidewise, project):
    said = slidewise("test", "cards.yaml").stdout
    assert said.splitlines() == [
        "cards.yaml",
        "  ✓ what a card spends within an hour   ✓ in process ✓ batch ✓ stream",
        "  ✓ refunds are left out, and small payments count for no place   ✓ in process ✓ batch ✓ stream",
        "✓ 2 examples, 0 failed",
    ]


def test_check_both_ways(slidewise, project):
    assert slidewise("check", "cards.yaml").stdout == "✓ cards.yaml: 6 features, as a batch and as a stream\n"
    change("over: 100 rows", "over: {rows_between: [-unbounded, 0]}")
    assert slidewise("check", "cards.yaml").stdout.splitlines() == [
        "✓ cards.yaml: 6 features, as a batch",
        "  ! as a stream: refused: cards.yaml:17:3: features.usual: usual: the frame rows_between(-UNBOUNDED, 0) "
        "begins with its key, and median needs all of its values, and not one total of a fixed size: the "
        "state would grow without end. Use approx_percentile, whose state has a fixed size, give it a length, as in "
        'sw.time("30d"), or compute it in a batch',
    ]
    [found] = json.loads(slidewise("check", "cards.yaml", "--json").stdout)
    assert found["ok"] is True
    assert found["batch"] is True
    assert found["columns"]["places"] == "bigint"
    assert found["stream"]["mistakes"][0]["line"] == 17


def test_check_columns(slidewise, project):
    change("sum: amount", "sum: amont")
    assert slidewise("check", "cards.yaml", code=2).stderr == (
        "cards.yaml:16:3: features.spent: there is no column 'amont'. Did you mean 'amount'?\n"
    )


def test_what_spark_says_has_no_secrets(slidewise, project, monkeypatch):
    monkeypatch.setenv("LAKE", "hunter22")
    text = Path("cards.yaml").read_text()
    schema = next(line for line in text.splitlines() if "schema: card" in line)
    Path("cards.yaml").write_text(text.replace("path: ${lake}/payments", "path: ${env:LAKE}").replace(schema, ""))
    said = slidewise("check", "cards.yaml", code=2).stderr
    assert said == f"cards.yaml:5:1: source: Path does not exist: file:{project}/***.\n"


@pytest.mark.full
def test_explain(slidewise, project):
    found = json.loads(slidewise("explain", "cards.yaml", "--json", "--plan").stdout)
    assert [line["column"] for line in found["batch"]["columns"]] == [
        "spent_1h", "spent_24h", "spent_7d", "usual", "places", "vwap",
    ]  # fmt: skip
    assert found["batch"]["shuffled"] == "once, by card"
    assert "bytes per key" in found["stream"]["columns"][0]
    assert "bucket" in found["stream"]["shuffled"]
    assert "Physical Plan" in found["batch"]["plan"]
    said = slidewise("explain", "cards.yaml").stdout
    assert "cards, as a batch" in said
    assert "cards, as a stream" in said


@pytest.mark.full
def test_a_difference_is_shown(slidewise, project):
    change("at: 2026-01-01T00:30:00, spent_1h: 12.0", "at: 2026-01-01T00:30:00, spent_1h: 13.0")
    said = slidewise("test", "cards.yaml", "-k", "hour", code=3).stdout
    assert "✗ what a card spends within an hour   ✗ in process ✗ batch ✗ stream" in said
    assert "in process: differs from expect" in said
    assert "card=a, at=2026-01-01T00:30:00   spent_1h   13.0       12.0" in said
    assert "stream: differs from expect, in the same way" in said
    assert said.endswith("✗ 1 example, 1 failed\n")
    [found] = json.loads(slidewise("test", "cards.yaml", "-k", "hour", "--json", code=3).stdout)
    assert found["runs"][0]["differences"] == [
        {"row": "card=a, at=2026-01-01T00:30:00", "column": "spent_1h", "expected": 13.0, "found": 12.0}
    ]


@pytest.mark.full
def test_late_rows_are_no_failure(slidewise, project):
    keep_tests(
        """\
tests:
- given:
  - {card: a, at: 2026-01-01T01:00:00, amount: 1.0}
  - {card: a, at: 2026-01-01T03:00:00, amount: 2.0}
  - {card: a, at: 2026-01-01T01:30:00, amount: 4.0}
  expect:
  - {amount: 1.0, spent_1h: 1.0}
  - {amount: 4.0, spent_1h: 5.0}
  - {amount: 2.0, spent_1h: 2.0}
"""
    )
    said = slidewise("test", "cards.yaml").stdout
    assert "✓ test 1   ✓ in process ✓ batch ✓ stream" in said
    assert "stream: 1 late row dropped, in the order given; compared with the others" in said


@pytest.mark.full
def test_a_stream_that_cannot_be_is_skipped(slidewise, project):
    change("column: at, max_delay: 10m", "column: at")
    said = slidewise("test", "cards.yaml", "-k", "hour").stdout
    assert "✓ in process ✓ batch - stream" in said
    assert "stream: skipped: there is no time.max_delay, without which nothing of a stream is ever final" in said


@pytest.mark.full
def test_rows_that_wait_for_others(slidewise, project):
    change("over: 100 rows", "over: {rows_between: [-1, 1]}")
    said = slidewise("test", "cards.yaml", "-k", "hour").stdout
    assert "✓ in process ✓ batch ✓ stream" in said
    assert "stream: 2 of the rows wait for rows after them" in said


@pytest.mark.full
def test_revisions(slidewise, project):
    change("max_delay: 10m", "max_delay: 10m, late: revise, keep: 3h")
    keep_tests(
        """\
tests:
- given:
  - {card: a, at: 2026-01-01T01:00:00, amount: 1.0}
  - {card: a, at: 2026-01-01T03:00:00, amount: 2.0}
  - {card: a, at: 2026-01-01T00:30:00, amount: 4.0}
  expect:
  - {amount: 1.0, spent_1h: 5.0}
  - {amount: 4.0, spent_1h: 4.0}
  - {amount: 2.0, spent_1h: 2.0}
"""
    )
    assert "✓ test 1   ✓ in process ✓ batch ✓ stream\n" in slidewise("test", "cards.yaml").stdout


@pytest.mark.full
def test_slides(slidewise, project):
    Path("slides.yaml").write_text(
        """\
name: slides
source: {format: parquet, path: data, schema: "k int, at timestamp, x int"}
keys: k
time: {column: at, max_delay: 5m}
window: {over: 1h, every: 30m}
features: {total: {sum: x}, many: {count: "*", where: x > 1}}
tests:
- given: [{k: 1, at: 2026-01-01T00:10:00, x: 1}, {k: , at: 2026-01-01T00:50:00, x: 2}]
  expect:
  - {k: 1, window_end: 2026-01-01T00:30:00, total: 1, many: 0}
  - {k: 1, window_end: 2026-01-01T01:00:00, total: 1}
  - {k: , window_end: 2026-01-01T01:00:00, total: 2, many: 1}
  - {k: , window_end: 2026-01-01T01:30:00, total: 2}
"""
    )
    assert "✓ test 1   ✓ in process ✓ batch ✓ stream\n" in slidewise("test", "slides.yaml").stdout


@pytest.mark.full
def test_accept_writes_what_came_out(slidewise, project):
    keep_tests(
        """\
tests:
# rows of one card
- given: [{card: a, at: 2026-01-01T00:00:00, amount: 5.0, merchant: "x: y"}]
  expect: []  # to be filled
- name: wrong
  given: [{card: a, at: 2026-01-01T00:00:00, amount: 5.0}]
  expect:
  - {card: a, spent_1h: 6.0}     # six
# the end
"""
    )
    before = Path("cards.yaml").read_text()
    said = slidewise("test", "cards.yaml", "--accept").stdout
    after = Path("cards.yaml").read_text()
    head = before[: before.index("tests:")]
    assert after == head + (
        """\
tests:
# rows of one card
- given: [{card: a, at: 2026-01-01T00:00:00, amount: 5.0, merchant: "x: y"}]
  expect:  # to be filled
  - {card: a, at: 2026-01-01T00:00:00, spent_1h: 5.0, spent_24h: 5.0, spent_7d: 5.0, usual: 5.0, places: 0, vwap: null}
- name: wrong
  given: [{card: a, at: 2026-01-01T00:00:00, amount: 5.0}]
  expect:
  - {card: a, spent_1h: 5.0}     # six
# the end
"""
    )
    assert "-  - {card: a, spent_1h: 6.0}     # six" in said
    assert "+  - {card: a, spent_1h: 5.0}     # six" in said
    assert "0 failed" in slidewise("test", "cards.yaml").stdout


@pytest.mark.full
def test_doctor_with_spark(slidewise):
    found = {each["what"]: each for each in json.loads(slidewise("doctor", "--spark", "--json").stdout)}
    assert found["Spark"]["status"] == "ok", found["Spark"]


@pytest.mark.full
def test_spark_submit(project):
    """The master and the settings are those of spark-submit."""
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    script = str(Path(sw.__file__).parent / "__main__.py")
    options = ["--master", "local[1]", "--conf", "spark.ui.enabled=false", "--conf", "spark.sql.ansi.enabled=false"]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(Path(sw.__file__).parent.parent)}
    command = [submit, *options, script, "doctor", "--spark", "--json"]
    out = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert out.returncode == 0, out.stderr
    found = {each["what"]: each for each in json.loads(out.stdout)}
    assert found["Spark"]["found"].endswith(" on local[1]")
