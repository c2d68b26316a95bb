"""One file, three runs: as a batch, as a stream in micro-batches, and as a backfill in pieces, with the same rows."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import projects
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from support.tiers import examples, in_full, in_soak

import slidewise as sw
from slidewise.errors import StateError
from slidewise.pipeline.backfill import backfill
from slidewise.pipeline.batch_run import group_by_pass, run_batch
from slidewise.pipeline.run_log import NEWEST
from slidewise.pipeline.stream_run import StreamRun
from slidewise.spark.session import PROVIDER, ROCKSDB


@pytest.fixture(autouse=True)
def state_store(spark: Any) -> None:
    """Streams need it."""
    spark.conf.set(PROVIDER, ROCKSDB)


def run_all(spark: Any, project: projects.Project, step: int | None = 1) -> dict[str, list[dict[str, Any]]]:
    """Run a project in three ways, each into a folder of its own."""
    run_batch(spark, [sw.load(project.file, {"out": "batch"})])
    batches = list(StreamRun(spark, sw.load(project.file, {"out": "stream"}), once=True).follow())
    assert sum(batch["rows_in"] for batch in batches) > 0
    days = project_days(project)
    backfill(spark, sw.load(project.file, {"out": "backfill"}), days[0], days[1], step=step)
    return {way: projects.read_results(project.folder / way) for way in ("batch", "stream", "backfill")}


def project_days(project: projects.Project) -> tuple[dt.date, dt.date]:
    """Find the first day of a project's payments, and the one after all of them."""
    return dt.date(2026, 1, 1), dt.date(2026, 1, 6)


@pytest.mark.parametrize("features", [projects.FEW_FEATURES, *in_full(projects.FEATURES)], ids=["few", "all"])
def test_a_batch_a_stream_and_a_backfill_of_one_file_give_the_same_rows(
    spark: Any, tmp_path: Path, features: str
) -> None:
    project = projects.write_project(tmp_path / "p", features, rows=120, files=2, days=3)
    found = run_all(spark, project)
    assert len(found["batch"]) == sum(row["amount"] > 0 for row in projects.make_payments(120, 3))
    assert found["stream"] == found["batch"]
    assert found["backfill"] == found["batch"]
    assert {"spent_1h", "spent_24h", "usual"} <= set(found["batch"][0])
    if features == projects.FEATURES:
        places = [row["places"] for row in found["batch"]]
        assert max(places) == 3 and min(places) == 0


OPTIONS = {
    "changes": ("", "emit: changes, "),
    "changes and forgotten keys": (", forget_after: 2h", "emit: changes, "),
    "revisions": (", late: revise, keep: 1h", ""),
    "revisions and forgotten keys": (", late: revise, keep: 1h, forget_after: 2h", ""),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.full if n == "revisions" else pytest.mark.soak) for n in OPTIONS]
)
def test_options_for_streams_give_the_same_rows_in_all_runs_of_one_file(spark: Any, tmp_path: Path, name: str) -> None:
    time, run = OPTIONS[name]
    features = "features:\n  dearest: {max: amount, over: 3 rows}\n  many: {count: merchant, over: 2 rows}\n"
    project = projects.write_project(tmp_path / "p", features, rows=120, files=2, days=3)
    text = project.file.read_text().replace("max_delay: 30m", f"max_delay: 30m{time}")
    project.file.write_text(text.replace("run: {", f"run: {{{run}"))
    found = run_all(spark, project)
    assert found["stream"] == found["batch"]
    assert found["backfill"] == found["batch"]
    every_row = sum(row["amount"] > 0 for row in projects.make_payments(120, 3))
    assert (0 < len(found["batch"]) < every_row) == (run != "")
    assert ("revision" in found["batch"][0]) == (run == "")


@pytest.mark.full
@pytest.mark.parametrize("window", ["", *in_soak("window: {over: 1h, every: 30m}\n")])
def test_late_rows_are_written_apart(spark: Any, tmp_path: Path, window: str) -> None:
    over = "" if window else ", over: 3 rows"
    features = f"{window}features:\n  total: {{sum: amount{over}}}\n"
    project = projects.write_project(tmp_path / "p", features, rows=120, files=2, days=3)
    payments = sorted((project.folder / "payments").glob("*.parquet"))
    late = pq.read_table(payments[0])
    pq.write_table(late, project.folder / "payments" / "zz_late.parquet")  # all of it again, after the end
    text = project.file.read_text().replace("max_delay: 30m", "max_delay: 30m, late: mark")
    project.file.write_text(text + 'late_to: {format: parquet, path: "${lake}/${out}_late"}\n')
    run_batch(spark, [sw.load(project.file, {"out": "batch"})])
    batches = list(StreamRun(spark, sw.load(project.file, {"out": "stream"}), once=True).follow())
    found = projects.read_results(project.folder / "stream")
    aside = projects.read_results(project.folder / "stream_late")
    wanted = [row for row in late.to_pylist() if row["amount"] > 0]
    assert sorted(row["id"] for row in aside) == sorted(row["id"] for row in wanted)
    assert sum(batch["late"] for batch in batches) == len(wanted) > 0
    assert sum(batch["rows_out"] for batch in batches) >= len(found) > 0  # and payments after all others
    assert "late" not in found[0]
    assert "total" not in aside[0]
    assert not (project.folder / "batch_late").exists()
    assert [*found[0]] == [*projects.read_results(project.folder / "batch")[0]]


WINDOWS = ["1h", "10h", "7 rows", "1 rows", "{rows_between: [-3, 2]}", "{range_between: [-2h, 1h]}", "2d"]
AGGREGATIONS = ["sum: amount", "max: amount", "median: price", "count_distinct: merchant", "avg: size", 'count: "*"',
                "max_by: [merchant, amount]", "collect_list: amount", "stddev: price"]  # fmt: skip


@st.composite
def draw_features(draw: st.DrawFn) -> str:
    """Draw the features of a pipeline, per row or per slide."""
    number = draw(st.integers(1, 4))
    aggregations = draw(st.lists(st.sampled_from(AGGREGATIONS), min_size=number, max_size=number))
    where = st.sampled_from(["", ", where: amount > 10", ", where: merchant IS NULL"])
    if draw(st.booleans()):
        over, every = draw(st.sampled_from([("1h", "1h"), ("3h", "1h"), ("1d", "6h")]))
        lines = [f"  f{i}: {{{each}{draw(where)}}}" for i, each in enumerate(aggregations)]
        return "\n".join([f"window: {{over: {over}, every: {every}}}", "features:", *lines])
    windows = st.sampled_from(WINDOWS)
    lines = [f"  f{i}: {{{each}, over: {draw(windows)}{draw(where)}}}" for i, each in enumerate(aggregations)]
    return "\n".join(["features:", *lines])


@pytest.mark.soak
@examples(4, suppress_health_check=list(HealthCheck), phases=[Phase.generate])  # shrinking would take minutes
@given(features=draw_features(), step=st.sampled_from([None, 1, 2]))
def test_the_three_runs_of_pipelines_that_are_drawn_agree(spark: Any, features: str, step: int | None) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        project = projects.write_project(Path(folder) / "p", features, rows=90, files=2, days=3)
        found = run_all(spark, project, step)
        until = dt.datetime(2026, 1, 4)  # in UTC, as Spark writes it; windows after it are not closed yet on the stream
        settled = {way: [row for row in rows if row.get("window_end", until) <= until] for way, rows in found.items()}
        assert settled["batch"]
        assert settled["stream"] == settled["batch"]
        assert settled["backfill"] == settled["batch"]


@pytest.mark.full
def test_files_of_one_source_share_one_pass(spark: Any, tmp_path: Path) -> None:
    project = projects.write_project(tmp_path / "p")
    second = project.folder / "second.yaml"
    text = project.file.read_text().replace("name: cards", "name: second")
    second.write_text(text.replace("spent:   {sum: amount, over: [1h, 24h]}", "spent_1h: {max: amount, over: 1h}"))
    pipelines = [sw.load(project.file, {"out": "a"}), sw.load(second, {"out": "b"})]
    assert [len(group) for group in group_by_pass(pipelines)] == [2]
    run_batch(spark, [sw.load(project.file, {"out": "a"}), sw.load(second, {"out": "b"})])
    run_batch(spark, [sw.load(project.file, {"out": "a_alone"})])
    run_batch(spark, [sw.load(second, {"out": "b_alone"})])
    assert projects.read_results(project.folder / "a") == projects.read_results(project.folder / "a_alone")
    assert projects.read_results(project.folder / "b") == projects.read_results(project.folder / "b_alone")


@pytest.mark.full
def test_a_changed_definition_is_refused_on_its_checkpoint_unless_it_is_an_upgrade(spark: Any, tmp_path: Path) -> None:
    project = projects.write_project(tmp_path / "p", rows=60, files=1)
    list(StreamRun(spark, sw.load(project.file), once=True).follow())
    before = project.file.read_text()
    project.file.write_text(before.replace("over: 20 rows}", "over: 20 rows}\n  largest: {max: amount, over: 24h}"))
    with pytest.raises(StateError, match=r"(?s)has changed.*kept .*added    largest.*--upgrade"):
        list(StreamRun(spark, sw.load(project.file), once=True).follow())
    list(StreamRun(spark, sw.load(project.file), once=True, upgrade=True).follow())
    project.file.write_text(before.replace("amount > 0", "amount > 1"))
    with pytest.raises(StateError, match=r"(?s)cannot go on.*prepare: .*refused  with another prepare"):
        list(StreamRun(spark, sw.load(project.file), once=True, upgrade=True).follow())


@pytest.mark.full
def test_how_many_rows_wait_is_known_after_a_kill_where_the_log_has_all_micro_batches(
    spark: Any, tmp_path: Path
) -> None:
    project = projects.write_project(tmp_path / "p", rows=60, files=1)
    run = StreamRun(spark, sw.load(project.file), once=True)
    waiting = list(run.follow())[-1]["waiting"]
    assert waiting
    file = run.log.folder / NEWEST
    lines = [line for line in file.read_text().splitlines() if json.loads(line)["kind"] != "end"]
    file.write_text("\n".join(lines) + "\n")  # as a kill leaves it
    assert StreamRun(spark, sw.load(project.file), once=True)._read_waiting() == waiting
    last = max(place for place, line in enumerate(lines) if json.loads(line)["kind"] == "batch")
    file.write_text("\n".join(lines[:last]) + "\n")  # killed between the commit and the log
    assert StreamRun(spark, sw.load(project.file), once=True)._read_waiting() is None


@pytest.mark.full
def test_a_second_run_on_a_checkpoint_in_use_is_refused(spark: Any, tmp_path: Path) -> None:
    project = projects.write_project(tmp_path / "p", rows=60, files=1)
    run = StreamRun(spark, sw.load(project.file), once=True).follow()
    next(run)
    with pytest.raises(StateError, match="in use by process"):
        next(StreamRun(spark, sw.load(project.file), once=True).follow())
    list(run)
    list(StreamRun(spark, sw.load(project.file), once=True).follow())


@pytest.mark.full
def test_a_backfill_that_was_broken_off_goes_on_after_the_last_day(spark: Any, tmp_path: Path) -> None:
    project = projects.write_project(tmp_path / "p", rows=90)
    pipeline = sw.load(project.file)
    first, last = project_days(project)

    def break_off(what: str, done: int, of: int) -> None:
        if what == "replacing" and done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backfill(spark, pipeline, first, last, tell=break_off)
    done = backfill(spark, sw.load(project.file), first, last)
    assert (done.days, done.resumed) == (5, 2)
    run_batch(spark, [sw.load(project.file, {"out": "batch"})])
    folder = project.folder
    assert projects.read_results(folder / "features") == projects.read_results(folder / "batch")
    assert backfill(spark, sw.load(project.file), first, last).resumed == 0


@pytest.mark.full
def test_rows_that_cannot_be_parsed_and_rows_without_a_time_are_counted(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.csv").write_text(
        "card,at,amount\na,2026-01-01T00:00:00Z,5.0\na,2026-01-01T00:10:00Z,five\nb,,7.0\na,2026-01-01T00:20:00Z,6.0\n"
    )
    file = tmp_path / "c.yaml"
    file.write_text(
        """
name: c
source: {format: csv, path: in, schema: "card string, at timestamp, amount double"}
keys: card
time: {column: at, max_delay: 1m}
features: {spent: {sum: amount, over: 1h}}
sink: {format: json, path: out}
run: {checkpoint: state}
"""
    )
    (done,) = run_batch(spark, [sw.load(file)])
    assert (done.rows, done.unparsed, done.untimed) == (2, 1, 1)
    found = spark.read.json(str(tmp_path / "out")).orderBy("at").collect()
    assert [row.spent for row in found] == [5.0, 11.0]
    file.write_text(file.read_text().replace("path: out", "path: streamed"))
    batches = list(StreamRun(spark, sw.load(file), once=True).follow())
    assert sum(batch["unparsed"] for batch in batches) == 1
    assert sum(batch["untimed"] for batch in batches) == 1
