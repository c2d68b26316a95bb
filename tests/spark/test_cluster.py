"""A standalone master and two workers, whose Python lacks the package: it is shipped, and a killed task runs again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.cluster import run_cluster, without_the_package
from support.processes import build_environment


@pytest.mark.full
def test_a_cluster_without_the_package_and_a_task_that_is_killed(tmp_path, monkeypatch):
    python = without_the_package(tmp_path / "python")
    job = Path(__file__).with_name("cluster_job.py")
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)  # kernels are compiled where the package is not installed
    with run_cluster(tmp_path) as master:
        ran = subprocess.run(
            [sys.executable, job, master, python, tmp_path], capture_output=True, text=True, check=False,
            env=build_environment(),
        )  # fmt: skip
    assert ran.stdout.strip().endswith("all the same"), ran.stderr[-3000:]
