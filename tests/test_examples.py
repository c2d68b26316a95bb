"""The examples run, and say what recalculation says. The demo is in test_demo.py."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import slidewise as sw  # noqa: E402
from examples import calls  # noqa: E402
from examples.plant.climb import Climb  # noqa: E402

DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


def recalculated(stream):
    """Figure 1's query from scratch, at the end of every minute in which the window has calls."""
    found, last = [], None
    end = calls.START + MINUTE
    first, after = 0, 0
    while end <= stream[-1]["time"]:
        while stream[after]["time"] < end:
            after += 1
        while first < after and stream[first]["time"] < end - DAY:
            first += 1
        window = stream[first:after]
        if window:
            longest = max(call["len"] for call in window)
            as_long = [call for call in window if call["len"] == longest]
            now = {"mxl": longest, "num": len(as_long), "who": as_long[0]["caller"]}
            if now != last:
                found.append((end, now))
            last = now
        end += MINUTE
    return found


def test_figure_1_of_the_reactive_aggregator_paper():
    for seed in (1, 2):
        stream = list(calls.calls(days=3, seed=seed))
        results = calls.run(stream)
        assert [(r.end, r.value) for r in results] == recalculated(stream)
        assert all(r.end - r.start == DAY for r in results)
        assert len(results) > 10
        assert max(r["num"] for r in results) > 1


def test_it_holds_at_most_one_partial_per_minute():
    window = calls.query()
    for call in calls.calls(days=2):
        window.push(call, time=call["time"])
    assert window.partials() <= 3 * 24 * 60


def test_calls_prints_a_table():
    result = subprocess.run(
        [sys.executable, "-m", "examples.calls"],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "100"},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert result.returncode == 0, result.stderr
    assert "The longest of the last 24 hours' calls" in result.stdout


def test_the_plants_climb_is_from_a_low_to_a_high_after_it():
    values = [70.0, 60.0, 65.0, 63.0, 61.0, 64.5, 64.0, 50.0]
    window = sw.swag("recalculate", Climb())
    for end, value in enumerate(values, 1):
        window.insert(value)
        if end > 4:
            window.evict()
        held = values[max(0, end - 4) : end]
        assert window.query() == max(b - a for i, a in enumerate(held) for b in held[i:])
    sw.check_aggregation(Climb(), values)
