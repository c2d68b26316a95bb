"""Commands that run a project, as processes of their own: batch, stream, backfill, plan; signals; no secret is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import projects
import pytest
from support.processes import build_environment

pytestmark = pytest.mark.full
SECRET = "hunter-2-of-the-lake"
ENVIRONMENT = build_environment(LAKE_SECRET=SECRET)


def give_command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "slidewise", *map(str, words), "--master", "local[2]"]


def run(*words: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, which says nothing that is secret."""
    done = subprocess.run(give_command(*words), capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == code, (done.stdout + done.stderr)[-4000:]
    assert SECRET not in done.stdout + done.stderr
    return done


def start(*words: str | Path, log: Path) -> subprocess.Popen[bytes]:
    """Start a command in a group of its own, as a shell does."""
    with log.open("ab") as out:
        return subprocess.Popen(
            give_command(*words),
            stdout=out,
            stderr=out,
            env=ENVIRONMENT,
            start_new_session=True,
        )


def read_log(project: projects.Project) -> list[dict[str, Any]]:
    file = project.folder / "_checkpoint_log" / "log.jsonl"
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def count_batches(project: projects.Project) -> int:
    return [record["kind"] for record in read_log(project)].count("batch")


def wait_for_batches(project: projects.Project, process: subprocess.Popen[bytes], number: int, log: Path) -> None:
    until = time.monotonic() + 300
    while count_batches(project) < number:
        assert process.poll() is None, log.read_text()[-4000:]
        assert time.monotonic() < until, log.read_text()[-4000:]
        time.sleep(0.2)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the processes of a command, which is not waited for yet: its number is still its own."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def make_project(folder: Path, changes: Sequence[tuple[str, str]] = ()) -> projects.Project:
    """A project whose source has a secret among its options."""
    project = projects.write_project(folder / "p", rows=90, files=9)
    text = project.file.read_text()
    option = ("{maxFilesPerTrigger: 1}", '{maxFilesPerTrigger: 1, token: "${env:LAKE_SECRET}"}')
    for old, new in (option, *changes):
        assert old in text
        text = text.replace(old, new)
    project.file.write_text(text)
    return project


@pytest.mark.soak
def test_a_batch_a_stream_a_backfill_and_the_plan(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    (batch,) = json.loads(run("run", project.file, "--batch", "--json", "--var", "out=batch").stdout)
    expected = projects.read_results(project.folder / "batch")
    assert batch["rows"] == len(expected) + projects.AFTER_ALL
    said = run("run", project.file, "--once", "--json", "--var", "out=stream").stdout
    assert [json.loads(line)["kind"] for line in said.splitlines()] == ["batch"] * len(said.splitlines())
    assert projects.read_results(project.folder / "stream") == expected
    assert read_log(project)[-1]["why"] == "finished"
    days = ("--from", "2026-01-01", "--to", "2026-01-06", "--step", "2")
    filled = json.loads(run("backfill", project.file, *days, "--json", "--var", "out=filled").stdout)
    assert (filled["days"], filled["resumed"]) == (5, 0)
    assert projects.read_results(project.folder / "filled") == expected
    assert SECRET not in (project.folder / "_checkpoint_log" / "log.jsonl").read_text()

    before = project.file.read_text()
    changed = before.replace("over: 20 rows}", "over: 20 rows}\n  largest: {max: amount, over: 24h}")
    project.file.write_text(changed)
    plan = json.loads(run("plan", project.file, "--json", "--var", "out=stream").stdout)
    assert (plan["added"], plan["refused"]) == (["largest"], None)
    refused = run("run", project.file, "--once", "--var", "out=stream", code=1).stderr
    assert "has changed" in refused and "--upgrade" in refused
    project.file.write_text(before.replace("amount > 0", "amount > 1"))
    assert run("plan", project.file, "--json", "--var", "out=stream", code=1).stdout
    refused = run("run", project.file, "--once", "--upgrade", "--var", "out=stream", code=1).stderr
    assert "cannot go on" in refused


def test_ctrl_c_ends_a_stream_and_a_kill_is_gone_on_from(tmp_path: Path) -> None:
    project, log = make_project(tmp_path), tmp_path / "log"
    stream = start("run", project.file, "--stream", log=log)
    try:
        wait_for_batches(project, stream, 1, log)
        os.killpg(stream.pid, signal.SIGINT)  # Ctrl-C goes to all processes of a terminal's group
        assert stream.wait(120) == 0, log.read_text()[-4000:]
    finally:
        if stream.poll() is None:
            end_group(stream)
    assert (read_log(project)[-1]["kind"], read_log(project)[-1]["why"]) == ("end", "stopped")
    assert "Traceback" not in log.read_text()

    done = count_batches(project)
    stream = start("run", project.file, "--stream", log=log)
    try:
        wait_for_batches(project, stream, done + 1, log)
    finally:
        end_group(stream)
    run("run", project.file, "--once")
    assert read_log(project)[-1]["why"] == "finished"
    run("run", project.file, "--batch", "--var", "out=batch")
    assert projects.read_results(project.folder / "features") == projects.read_results(project.folder / "batch")
    assert SECRET not in log.read_text() + (project.folder / "_checkpoint_log" / "log.jsonl").read_text()


def test_a_secret_is_in_no_error(tmp_path: Path) -> None:
    wrong = ("amount > 0", "amount > 0 AND merchant = '${env:LAKE_SECRET}' AND nowhere = 1")
    project = make_project(tmp_path, [wrong])
    for words in (["--batch"], ["--once"], ["--batch", "--json"]):
        assert run("run", project.file, *words, code=2)
    assert run("--debug", "run", project.file, "--batch", code=2)
