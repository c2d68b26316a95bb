"""Spark's Declarative Pipelines: the example, as its own command runs it, twice over one catalog."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark")
EXAMPLE = Path(__file__).parents[2] / "examples" / "declarative"
pytestmark = pytest.mark.soak  # a loaded machine makes Spark miss a deadline of its own, in a worker of the driver


def run(project: Path, server: str) -> None:
    """Run the pipeline of a project by Spark's command, on a server whose catalog is still there for the next run."""
    here = Path(sys.executable).parent
    path = f"{here}:{os.environ['PATH']}"
    done = subprocess.run(
        [here / "spark-pipelines", "run", "--remote", server],
        cwd=project,
        env={**os.environ, "PATH": path, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, [line[:300] for line in said.splitlines() if "rror" in line or "ailed" in line]


def read_table(project: Path, name: str) -> list[dict[str, Any]]:
    rows = pq.read_table(project / "lake" / name).to_pylist()
    return sorted(rows, key=lambda row: (row["card"], row.get("at") or row["window_start"]))


def read_payments(project: Path) -> list[dict[str, Any]]:
    files = sorted((project / "payments").glob("*.json"))
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    timed = [{**row, "at": datetime.fromisoformat(row["at"].removesuffix("Z"))} for row in rows]
    return sorted(timed, key=lambda row: (row["card"], row["at"]))


def compute_features(payments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compute the features of each payment by looking at all payments of its card."""
    found = []
    for row in payments:
        before = [other for other in payments if other["card"] == row["card"] and other["at"] <= row["at"]]
        hour = [other for other in before if other["at"] >= row["at"] - timedelta(hours=1)]
        day = [other for other in before if other["at"] >= row["at"] - timedelta(days=1)]
        found.append({
            **row,
            "spent_1h": pytest.approx(sum(other["amount"] for other in hour)),
            "usual": pytest.approx(median(other["amount"] for other in before[-5:])),
            "places_1d": len({other["merchant"] for other in day}),
        })  # fmt: skip
    return found


def compute_hours(payments: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compute the hours that begin every 30 minutes, where they have payments."""
    found = []
    half = timedelta(minutes=30)
    zero = datetime(2026, 1, 1)
    for card in "abc":
        for step in range(4 * 48):
            start = zero + step * half
            amounts = [
                row["amount"] for row in payments if row["card"] == card and start <= row["at"] < start + 2 * half
            ]
            if amounts:
                found.append({
                    "card": card, "window_start": start, "window_end": start + 2 * half,
                    "spent": pytest.approx(sum(amounts)), "usual": pytest.approx(median(amounts)),
                })  # fmt: skip
    return found


@pytest.fixture
def project(spark: Any, tmp_path: Path) -> Iterator[Path]:
    """A copy of the example, with a database of its own."""
    folder = tmp_path / "project"
    shutil.copytree(EXAMPLE, folder)
    file = folder / "spark-pipeline.yml"
    storage = f"file://{tmp_path / 'storage'}"
    # On a busy machine a worker of the driver may take longer than the 10 s that Spark waits for it.
    patient = (
        '  spark.sql.pipelines.maxFlowRetryAttempts: "9"\n  spark.sql.pipelines.execution.maxConcurrentFlows: "1"\n'
    )
    text = re.sub("(?m)^storage: .*$", f"storage: {storage}\ndatabase: declarative", file.read_text())
    assert storage in text
    file.write_text(text + patient)
    spark.sql(f"CREATE DATABASE declarative LOCATION 'file://{folder / 'lake'}'")
    yield folder
    spark.sql("DROP DATABASE declarative CASCADE")


def test_every_run_gives_all_rows(project: Path, _server: tuple[Any, str]) -> None:
    run(project, _server[1])
    require_right(project)
    # In a second run, tables are there already: a view that Spark planned too early would read one that it has emptied.
    lines = (project / "payments" / "2026-01-02.json").read_text()
    (project / "payments" / "2026-01-03.json").write_text(lines.replace("2026-01-02", "2026-01-03"))
    run(project, _server[1])
    require_right(project)
    assert _server[0].range(3).count() == 3  # what the runs have left behind keeps nobody else from working


def require_right(project: Path) -> None:
    payments = read_payments(project)
    expected = compute_features(payments)
    assert len(read_table(project, "payments")) == len(payments)
    assert read_table(project, "card_features") == expected
    assert read_table(project, "card_hours") == compute_hours(payments)
    # The stream has what its watermark has passed, each row once.
    last = max(row["at"] for row in payments) - timedelta(minutes=10)
    assert read_table(project, "live_features") == [row for row in expected if row["at"] <= last]
