"""A standalone Spark master with two workers on loopback, and a Python that lacks the package."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sysconfig
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest

from support.processes import JAVA_OPTIONS, build_environment, find_port

BIN = Path(pyspark.__file__).parent / "bin"


def without_the_package(folder: Path) -> Path:
    """A Python with all dependencies, and without slidewise: the .pth file of its installation is not followed."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    (Path(site) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run(
        [python, "-c", "import numba, pyarrow, importlib.util as u; print(u.find_spec('slidewise'))"],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env=env,
    )
    if found.stdout.strip() != "None":
        pytest.skip("slidewise is installed beside its dependencies: no Python without it can be made here")
    return python


@contextmanager
def run_cluster(folder: Path) -> Iterator[str]:
    """The address of a master with two workers on loopback; all end with the block."""
    port = find_port()
    env = build_environment(SPARK_LOG_DIR=str(folder), SPARK_NO_DAEMONIZE="1", SPARK_DAEMON_JAVA_OPTS=JAVA_OPTIONS)
    master = f"spark://127.0.0.1:{port}"
    scala = "org.apache.spark.deploy."
    on_loopback = ["--host", "127.0.0.1", "--webui-port", "0"]
    commands = [[scala + "master.Master", *on_loopback, "--port", str(port)]]
    for k in range(2):
        size = ["--cores", "1", "--memory", "600m", "--work-dir", str(folder / f"worker{k}")]
        commands.append([scala + "worker.Worker", master, *on_loopback, *size])
    started = []
    try:
        for k, command in enumerate(commands):
            with (folder / f"log{k}").open("w") as log:
                started.append(
                    subprocess.Popen(
                        [BIN / "spark-class", *command], env=env, stdout=log, stderr=log, start_new_session=True
                    )
                )
            while k == 0 and not _answers(port) and started[0].poll() is None:
                time.sleep(0.2)
        yield master
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0
