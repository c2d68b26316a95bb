"""A pipeline on a standalone master and two workers: by --master, by spark-submit, and as a stream; all as locally."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import projects
import pytest
from support.cluster import BIN, run_cluster, without_the_package
from support.processes import JAVA_OPTIONS, build_environment

import slidewise.__main__

pytestmark = pytest.mark.full
#: for workers of 600 MB, and a driver on loopback
SIZE = {
    "spark.executor.memory": "512m", "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a master with two workers; all end with the tests of this file."""
    with run_cluster(tmp_path_factory.mktemp("cluster")) as master:
        yield master


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workers' Python, which lacks the package."""
    return without_the_package(tmp_path_factory.mktemp("python"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> projects.Project:
    """A project with an aggregation of its own, run locally into the folder `local`."""
    made = projects.write_project(tmp_path_factory.mktemp("project") / "p", rows=120, files=2)
    command = [sys.executable, "-m", "slidewise", "run", str(made.file), "--batch", "--var", "out=local"]
    run([*command, "--master", "local[2]"])
    return made


def run(command: list[str], python: Path | None = None) -> str:
    """Run a command to its end, from elsewhere than its files, and give what it says."""
    pythons = {} if python is None else {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": sys.executable}
    env = build_environment(**pythons)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=400)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def give_settings() -> list[str]:
    """Give the settings as options, which the command and spark-submit write alike."""
    return [word for name, value in SIZE.items() for word in ("--conf", f"{name}={value}")]


def read(project: projects.Project, out: str) -> list[dict[str, Any]]:
    """Read the results, of which there are some."""
    rows = projects.read_results(project.folder / out)
    assert len(rows) > 50
    return rows


@pytest.mark.soak
def test_a_batch_by_master(cluster: str, python: Path, project: projects.Project) -> None:
    command = [sys.executable, "-m", "slidewise", "run", str(project.file), "--batch", "--json", "--var", "out=master"]
    said = run([*command, "--master", cluster, *give_settings()], python)
    assert json.loads(said)[0]["rows"] == len(read(project, "local")) + projects.AFTER_ALL
    assert read(project, "master") == read(project, "local")


def test_a_batch_by_spark_submit(cluster: str, python: Path, project: projects.Project) -> None:
    options = ["--master", cluster, *give_settings()]
    script = [slidewise.__main__.__file__, "run", str(project.file), "--batch", "--var", "out=submitted"]
    run([str(BIN / "spark-submit"), *options, *script], python)
    assert read(project, "submitted") == read(project, "local")


@pytest.mark.soak
def test_a_stream_by_master(cluster: str, python: Path, project: projects.Project) -> None:
    command = [sys.executable, "-m", "slidewise", "run", str(project.file), "--once", "--json", "--var", "out=stream"]
    said = run([*command, "--master", cluster, *give_settings(), "--conf", "spark.sql.shuffle.partitions=2"], python)
    assert sum(json.loads(line)["rows_in"] for line in said.splitlines()) > 100
    assert read(project, "stream") == read(project, "local")
