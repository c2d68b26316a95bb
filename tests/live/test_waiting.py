"""Why rows wait, in words, for every situation that a log can tell."""

from typing import Any

import pytest
from support.run_logs import FEATURES, PlayedRun

from slidewise.live.watched import Watched


@pytest.fixture
def played(folder):
    return PlayedRun(folder)


def waiting_of(played: Any) -> tuple[str, ...]:
    watched = Watched(played.log.folder, now=lambda: played.now + 1)
    watched.refresh()
    told: tuple[str, ...] = watched.tell_verdict()["waiting"]
    return told


def at(clock: str) -> str:
    return f"2026-03-12T{clock}Z"


def play(played: Any, **changes: Any) -> Any:
    return played.start(**changes).batch(watermark=at("14:00:00"), newest=at("14:02:00"), waiting=1234)


def test_rows_wait_until_the_watermark_has_passed_them(played):
    assert waiting_of(play(played)) == (
        "The watermark is at 14:00:00.",
        "It stays 2 min (max_delay) before the newest row, which is of 14:02:00.",
        "A row of after 14:00:00 waits until one of at least 2 min later has come, of any key.",
        "Rows that wait, of all keys: 1.2k.",
    )


def test_windows_wait_for_their_end(played):
    told = waiting_of(play(played, slides=True))
    assert told[2] == (
        "A window is emitted when the watermark has passed its end: one that ends after 14:00:00 waits until a row of "
        "at least 2 min later has come, of any key."
    )


def test_frames_that_reach_ahead_wait_longer(played):
    features = [
        FEATURES[0] | {"unit": "time", "ahead": 300.0},
        FEATURES[1] | {"unit": "time", "ahead": 600.0},
        FEATURES[2] | {"unit": "rows", "ahead": 3},
    ]
    told = waiting_of(play(played, features=features))
    assert told[3:5] == (
        "usual_20m looks 10 min ahead of its row: a row waits that much longer.",
        "high_20m looks ahead of its row by rows: a row waits for the next 3 rows of its key besides.",
    )


@pytest.mark.parametrize("watermark", [None, "1970-01-01T00:00:00.000Z"])
def test_before_the_first_watermark(played, watermark):
    told = waiting_of(played.start().batch(watermark=watermark))
    assert told[0] == "There is no watermark yet: the first micro-batch sets it for the next, and rows wait for it."


def test_a_source_without_news(played):
    told = waiting_of(play(played).idle(600))
    assert told[-1] == "The source has nothing new now, and only newer rows move the watermark."


def test_after_a_kill_and_after_an_end(folder):
    over = "The run is over: they are in the checkpoint, and go on when it is started again."
    killed = play(PlayedRun(folder, pid=2**22 + 1))
    assert waiting_of(killed)[-2:] == ("Rows that wait, of all keys: 1.2k.", over)
    assert waiting_of(killed.end())[-1] == over


def test_a_number_that_is_not_known_is_not_told(played):
    told = waiting_of(played.start().batch(watermark=at("14:00:00"), newest=at("14:02:00"), waiting=None))
    assert len(told) == 3


def test_where_nothing_waits_nothing_is_told(played):
    assert waiting_of(played.start(emit="arrival").batch()) == ()
    assert waiting_of(played.start(mode="batch").batch()) == ()
    assert waiting_of(played.start()) == ()
    assert waiting_of(played.batch(waiting=0)) == ()
