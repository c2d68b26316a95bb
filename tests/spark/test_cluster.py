"""A standalone master and two workers, whose Python lacks the package: it is shipped, and a killed task runs again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.cluster import run_cluster, without_the_package


@pytest.mark.full
def test_a_cluster_without_the_package_and_a_task_that_is_killed(tmp_path):
    python = without_the_package(tmp_path / "python")
    job = Path(__file__).with_name("cluster_job.py")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYSPARK", "SPARK_CONNECT"))}
    with run_cluster(tmp_path) as master:
        ran = subprocess.run(
            [sys.executable, job, master, python, tmp_path], capture_output=True, text=True, check=False,
            env={**env, "SPARK_LOCAL_IP": "127.0.0.1"},
        )  # fmt: skip
    assert ran.stdout.strip().endswith("all the same"), ran.stderr[-3000:]
