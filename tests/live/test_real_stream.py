"""The live page of a real stream: while it runs, when it is killed, and when it comes back."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from slidewise.live.serve import LivePage

pytestmark = pytest.mark.full

FILE = """
name: ticks
source: {format: rate, options: {rowsPerSecond: 200}}
prepare: SELECT concat('machine-', value % 5) AS machine, timestamp AS at, value % 100 AS load, value FROM source
keys: [machine]
time: {column: at, max_delay: 1s}
features:
  mean: {avg: load, over: 10s}
  peak: {max: load, over: 50 rows}
sink: {format: parquet, path: out}
run: {checkpoint: state, trigger: 2s}
"""


@contextmanager
def run_stream(folder: Path) -> Iterator[str]:
    """Run the stream in a process group of its own, and give the address of its page."""
    command = [sys.executable, "-m", "slidewise", "run", "ticks.yaml", "--stream", "--live", "--master", "local[2]"]
    with (folder / "said").open("ab") as said:
        process = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said, start_new_session=True)
    try:
        yield wait_for_address(folder / "said", process)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for_address(said: Path, process: Any) -> str:
    for _ in range(600):
        found = re.findall(r"http://127\.0\.0\.1:\d+", said.read_text())
        if found:
            return str(found[-1])
        assert process.poll() is None, said.read_text()
        time.sleep(0.2)
    raise AssertionError(said.read_text())


def wait_for_rows(tab: Any) -> None:
    tab.wait_for_selector("#rows tr", timeout=180_000)


def test_a_stream_is_watched_killed_and_comes_back(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "ticks.yaml").write_text(FILE)
    tab = browser.new_page()
    with run_stream(tmp_path) as address:
        tab.goto(address)
        wait_for_rows(tab)
        page = tab.inner_text("body")
        assert "ticks" in page and "machine-" in page and "mean" in page
        assert tab.get_attribute("#verdict", "data-kind") not in ("failed", "stopped", "none")
    (tmp_path / "said").write_text("")
    with LivePage(tmp_path / "state_log", port=0) as watched:  # what `slidewise watch state` serves
        tab.goto(watched.address)
        wait_for_rows(tab)
        tab.wait_for_selector("#verdict[data-kind=gone], #verdict[data-kind=failed]", timeout=60_000)
        with run_stream(tmp_path):
            tab.wait_for_selector("#verdict:not([data-kind=gone]):not([data-kind=failed])", timeout=180_000)
    tab.close()
