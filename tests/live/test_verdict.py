"""The verdict says what is going on, in words, for every situation."""

import os
import socket
import subprocess
import sys
from typing import Any

import pytest
from support.run_logs import PlayedRun

from slidewise.live.verdict import KINDS, Verdict, is_alive
from slidewise.live.watched import Watched
from slidewise.pipeline.run_log import RunLog


@pytest.fixture
def played(folder):
    return PlayedRun(folder)


def verdict_of(played, later=1.0) -> Verdict:
    watched = Watched(played.log.folder, now=lambda: played.now + later)
    watched.refresh()
    return watched.verdict()


def test_nothing_has_run(folder):
    watched = Watched(folder)
    watched.refresh()
    assert watched.verdict().kind == "none"


def test_starting(played):
    assert verdict_of(played.start()).text == "The run began at 14:05:00, and no micro-batch is done yet."


def test_a_first_micro_batch_may_take_its_time(played):
    assert verdict_of(played.start(), later=600).kind == "starting"


def test_a_batch_runs_until_it_is_done(played):
    assert verdict_of(played.start(mode="batch"), later=600).word == "Running"
    assert verdict_of(played.batch().end("finished")).word == "Finished"


def test_keeping_up(played):
    verdict = verdict_of(played.start().batches(40))
    assert (verdict.kind, verdict.level) == ("keeping up", "good")
    assert "1.7k rows/s; a micro-batch takes" in verdict.text
    assert "of the 10 s between two" in verdict.text
    assert verdict.reasons == ("The watermark is 2 min behind the newest row, as max_delay says.",)


def test_falling_behind_for_ever(played):
    verdict = verdict_of(played.start().batches(30).batches(12, load=2.0))
    assert (verdict.kind, verdict.level) == ("falling behind", "bad")
    assert "more each second: at this rate it never catches up" in verdict.text


def test_catching_up_tells_how_long_that_takes(played):
    played.start().batches(30).batches(40, load=2.0).batches(12, load=0.5)
    verdict = verdict_of(played)
    assert verdict.kind == "catching up"
    assert "caught up in about" in verdict.text
    gained = (1.25 - 0.5) * 12 * played.scale / 30
    told = float(verdict.text.split("about ")[1].split(" min")[0])
    assert told == pytest.approx(played.backlog / gained / 60, abs=1)


def test_a_backlog_that_stays_is_never_caught_up(played):
    played.start().batches(30)
    for _ in range(12):
        played.batch(backlog=500_000)
    assert "stays as it is: at this rate it never catches up" in verdict_of(played).text


def test_a_backlog_of_files(played):
    played.start().batches(20)
    for k in range(12):
        played.batch(backlog=10 + 3 * k, backlog_unit="files")
    assert verdict_of(played).text.startswith("43 files are still to be read, and 0.3 more each second")


def test_the_rows_of_one_trigger_are_no_backlog(played):
    assert verdict_of(played.start().batches(30, backlog=20_000)).kind == "keeping up"


def test_without_a_backlog_the_durations_tell(played):
    played.start().batches(30, backlog=None)
    assert verdict_of(played).kind == "keeping up"
    played.batches(12, seconds=14.0, backlog=None)
    steady = verdict_of(played)
    assert steady.kind == "falling behind"
    assert "Micro-batches take 14 s, and one is due every 10 s: results come that much later" in steady.text
    for k in range(12):
        played.batch(seconds=14.0 + 3 * k, backlog=None)
    assert "each takes longer than the one before, so that at this rate it never catches up" in verdict_of(played).text


def test_waiting_for_the_watermark_and_why(played):
    verdict = verdict_of(played.start().batches(8))
    assert (verdict.kind, verdict.word) == ("waiting", "Waiting for the watermark")
    assert "rows wait for the watermark, which is at 14:04:" in verdict.text
    assert "and the watermark stays 2 min (max_delay) before it" in verdict.reasons[0]


def test_waiting_for_the_first_watermark(played):
    verdict = verdict_of(played.start().batch(watermark=None))
    assert verdict.kind == "waiting"
    assert "for the first watermark, which each micro-batch sets for the next one" in verdict.text


def test_rows_that_wait_for_newer_ones_that_do_not_come(played):
    verdict = verdict_of(played.start().batches(40).idle(600))
    assert verdict.kind == "waiting"
    assert verdict.reasons[-1] == "The source has had nothing new since 14:11:40, and only newer rows move it."


def test_a_source_with_nothing_new(played):
    verdict = verdict_of(played.start().batches(40, waiting=0).idle(600))
    assert (verdict.kind, verdict.level) == ("idle", "good")
    assert verdict.text == "All rows are done; the source has had nothing new since 14:11:40."


def test_no_news_of_a_stream_whose_process_is_there(played):
    played.start().batches(40)
    assert verdict_of(played, later=20).kind == "keeping up"
    verdict = verdict_of(played, later=3600)
    assert (verdict.kind, verdict.level) == ("silent", "warn")
    assert verdict.text == "No micro-batch is done since 14:11:40: the source has nothing new, or one takes long."
    assert verdict.reasons == (f"The process {os.getpid()} is there.", "It usually writes every 10 s.")


def test_no_news_of_a_stream_on_another_machine(played):
    played.start(host="elsewhere").batches(40)
    assert verdict_of(played, later=20).kind == "keeping up"
    verdict = verdict_of(played, later=600)
    assert verdict.kind == "silent"
    assert verdict.text == "No news since 14:11:40: the process cannot be seen from here."


def test_a_process_that_is_gone(folder):
    killed = subprocess.Popen([sys.executable, "-c", ""])
    killed.wait()
    verdict = verdict_of(PlayedRun(folder, pid=killed.pid).start().batches(20))
    assert (verdict.kind, verdict.level) == ("gone", "bad")
    assert f"The process {killed.pid} is gone since its last word at 14:08:20" in verdict.text


def test_stopped_failed_finished(played):
    played.start().batches(20)
    assert verdict_of(played.end("stopped")).text == "The run was stopped at 14:08:20, and can be started again."
    assert verdict_of(played.start().batches(3).end("finished")).kind == "finished"
    failed = verdict_of(played.start().batches(3).end("failed", "boom: no such column"))
    assert (failed.kind, failed.level, failed.reasons) == ("failed", "bad", ("boom: no such column",))


def test_a_run_that_comes_back_is_judged_by_itself(played):
    played.start().batches(20).end("failed", "boom")
    assert verdict_of(played.start()).kind == "starting"
    assert verdict_of(played.batches(20)).kind == "keeping up"


@pytest.mark.parametrize("host, alive", [(socket.gethostname(), True), ("elsewhere", None), (None, None)])
def test_a_process_is_looked_for_only_on_its_own_machine(host, alive):
    start: Any = {"pid": os.getpid(), "host": host}
    assert is_alive(start) is alive


def test_every_kind_has_a_colour():
    assert {Verdict(kind, "", "").level for kind in KINDS} == {"good", "warn", "bad", "quiet"}


def test_a_record_of_another_version_is_judged_all_the_same(folder):
    log = RunLog(folder)
    log.append({"kind": "start", "run": "r", "name": "old"})
    log.append({"kind": "batch", "batch": 1})
    watched = Watched(folder)
    watched.refresh()
    assert watched.verdict().kind == "keeping up"
