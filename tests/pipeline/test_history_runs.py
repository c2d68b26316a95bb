"""A source with a history: what comes out is that of a batch over both, after the history."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path
from typing import Any

import projects
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import slidewise as sw
from slidewise.errors import StateError
from slidewise.pipeline.backfill import backfill
from slidewise.pipeline.batch_run import run_batch
from slidewise.pipeline.check import check_pipeline
from slidewise.pipeline.explain import explain_pipeline
from slidewise.pipeline.stream_run import StreamRun
from slidewise.pipeline.upgrade import plan_upgrade
from slidewise.spark.session import PROVIDER, ROCKSDB

SLIDES = (
    "window: {over: 2h, every: 1h}\nfeatures:\n  spent: {sum: amount}\n  many: {count: merchant, where: amount > 10}\n"
)
#: the last time of the history, where the file tells it: between two payments that both have
UNTIL = dt.datetime(2026, 1, 2, 20, 7, tzinfo=dt.UTC)


@pytest.fixture(autouse=True)
def state_store(spark: Any) -> None:
    """Streams need it."""
    spark.conf.set(PROVIDER, ROCKSDB)


def write_project(folder: Path, features: str, until: str) -> projects.Project:
    """Write a project whose source has the later files, and whose history the earlier payments and one file more."""
    project = projects.write_project(folder, features, rows=120, files=4, days=3)
    files = sorted((folder / "payments").glob("*.parquet"))
    shutil.copytree(folder / "payments", folder / "all")
    (folder / "past").mkdir()
    for file in files[:2]:
        file.rename(folder / "past" / file.name)
    shutil.copy(files[2], folder / "past")  # rows that the source has, too
    text = project.file.read_text()
    history = f'  history: {{format: parquet, path: "${{lake}}/past"{until}}}\nprepare:'
    project.file.write_text(text.replace("prepare:", history))
    (folder / "plain.yaml").write_text(text.replace("/payments", "/all"))
    return project


def find_end(folder: Path, until: str) -> dt.datetime:
    """The end of the history: of the payments that are left after `prepare`."""
    past = pq.read_table(folder / "past").to_pylist()
    return UNTIL if until else max(row["at"] for row in past if row["amount"] > 0)


@pytest.mark.full
@pytest.mark.parametrize(
    ("features", "until"),
    [(projects.FEW_FEATURES, ""), pytest.param(SLIDES, ", until: 2026-01-02T20:07:00", marks=pytest.mark.soak)],
    ids=["rows, up to the newest", "slides, until a time"],
)
def test_a_batch_and_a_stream_give_the_rows_after_the_history_of_a_batch_over_both(
    spark: Any, tmp_path: Path, features: str, until: str
) -> None:
    folder = tmp_path / "p"
    project = write_project(folder, features, until)
    end = find_end(folder, until)
    # What is after `until` in the history belongs to the source alone, and that has it.
    run_batch(spark, [sw.load(folder / "plain.yaml", {"out": "whole"})])
    whole = projects.read_results(folder / "whole")
    time = "window_end" if features is SLIDES else "at"
    wanted = [row for row in whole if row[time].replace(tzinfo=dt.UTC) > end]
    assert 0 < len(wanted) < len(whole)

    run_batch(spark, [sw.load(project.file, {"out": "batch"})])
    assert projects.read_results(folder / "batch") == wanted

    # The first file, then a restart for the others, which finds no history any more.
    later = sorted((folder / "payments").glob("*.parquet"))[1:]
    for file in later:
        file.rename(folder / file.name)
    stream = sw.load(project.file, {"out": "stream"})
    first = list(StreamRun(spark, stream, once=True).follow())
    shutil.rmtree(folder / "past")
    for file in later:
        (folder / file.name).rename(file)
    second = list(StreamRun(spark, stream, once=True).follow())
    # Windows of the payments after all others wait for the watermark.
    final = [row for row in wanted if row[time] < dt.datetime(2026, 1, 4)]
    assert [row for row in projects.read_results(folder / "stream") if row[time] < dt.datetime(2026, 1, 4)] == final
    rows_in = [row for row in pq.read_table(folder / "payments").to_pylist() if row["amount"] > 0]
    assert sum(batch["in_history"] for batch in first + second) == sum(row["at"] <= end for row in rows_in) > 0
    assert [batch["unparsed"] for batch in first][:1] == [0]


@pytest.mark.full
def test_a_backfill_gives_days_of_the_history_too(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "p"
    project = write_project(folder, projects.FEW_FEATURES, "")
    run_batch(spark, [sw.load(folder / "plain.yaml", {"out": "whole"})])
    backfill(spark, sw.load(project.file, {"out": "backfill"}), dt.date(2026, 1, 1), dt.date(2026, 1, 6), step=2)
    assert projects.read_results(folder / "backfill") == projects.read_results(folder / "whole")


@pytest.mark.full
def test_rows_of_a_history_that_cannot_be_parsed_are_counted_and_it_may_be_prepared_in_its_own_way(
    spark: Any, tmp_path: Path
) -> None:
    (tmp_path / "past.csv").write_text("who,at,cents\na,2026-01-01T00:00:00Z,500\na,x,1\na,2026-01-01T00:10:00Z,y\n")
    rows = [{"card": "a", "at": dt.datetime(2026, 1, 1, 0, i, tzinfo=dt.UTC), "amount": 1.0} for i in (0, 30, 50)]
    rows += [{"card": "b", "at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "amount": 0.0}]
    (tmp_path / "payments").mkdir()
    schema = pa.schema([("card", pa.string()), ("at", pa.timestamp("us", "UTC")), ("amount", pa.float64())])
    pq.write_table(pa.Table.from_pylist(rows, schema), tmp_path / "payments" / "0.parquet")
    file = tmp_path / "p.yaml"
    file.write_text("""\
name: cards
vars: {out: batch}
source:
  format: parquet
  path: payments
  schema: card string, at timestamp, amount double
  history:
    format: csv
    path: past.csv
    schema: who string, at timestamp, cents bigint
    prepare: SELECT who AS card, at, cents / 100 AS amount FROM source
prepare: SELECT * FROM source
keys: card
time: {column: at, max_delay: 1m}
features: {spent: {sum: amount, over: 1h}}
sink: {format: parquet, path: "${out}"}
run: {checkpoint: _checkpoint}
""")
    results = run_batch(spark, [sw.load(file)])
    assert (results[0].rows, results[0].unparsed) == (3, 2)
    batches = list(StreamRun(spark, sw.load(file, {"out": "stream"}), once=True).follow())
    assert sum(batch["unparsed"] for batch in batches) == 2
    assert sum(batch["in_history"] for batch in batches) == 1
    spent = {way: [row["spent"] for row in projects.read_results(tmp_path / way)] for way in ("batch", "stream")}
    assert spent == {"batch": [6.0, 7.0, 0.0], "stream": [6.0, 7.0]}  # the last one waits for the watermark


@pytest.mark.full
def test_another_end_of_the_history_is_refused_on_its_checkpoint_and_another_path_is_an_upgrade(
    spark: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "p"
    project = write_project(folder, projects.FEW_FEATURES, ", until: 2026-01-02T20:07:00")
    list(StreamRun(spark, sw.load(project.file), once=True).follow())
    text = project.file.read_text()

    def plan(changed: str) -> Any:
        project.file.write_text(changed)
        stream = spark.readStream.schema("card string, at timestamp, id bigint, amount double, merchant string, "
                                         "price double, size double").parquet(str(folder / "payments"))  # fmt: skip
        return plan_upgrade(spark, sw.load(project.file), stream)

    assert not plan(text).changes
    other_zone = plan(text.replace("2026-01-02T20:07:00", "2026-01-02T22:07:00+02:00"))
    assert other_zone.refused is None
    moved = plan(text.replace("/past", "/archive"))
    assert moved.refused is None and [part for part, *_ in moved.parts] == ["history"]
    assert "history" in str(plan(text.replace("20:07:00", "20:08:00")).refused)
    without = plan("".join(line for line in text.splitlines(True) if "history:" not in line))
    assert "history" in str(without.refused)
    with pytest.raises(StateError, match="cannot go on from its checkpoint"):
        list(StreamRun(spark, sw.load(project.file), once=True).follow())


@pytest.mark.full
def test_it_is_explained_and_checked_before_anything_runs(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "p"
    project = write_project(folder, projects.FEW_FEATURES, "")
    pipeline = sw.load(project.file)
    assert "usual" in check_pipeline(spark, pipeline, streaming=True).names
    assert (
        "begins with the state that the history leaves"
        in explain_pipeline(spark, pipeline, streaming=True).facts["note"]
    )
    assert "past" in str(pipeline.describe()["history"]) and "history" not in pipeline.describe()["source"]
