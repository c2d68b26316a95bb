"""Writes tests/state/fixtures/*.bin: states that every later version of format 1 must be able to read.

    python tests/state/make_fixtures.py

Run it for new definitions only. Where it changes a file that is there, states that users have saved can no
longer be read: count up envelope.VERSION, and keep the old reader.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import slidewise as sw

FIXTURES = Path(__file__).parent / "fixtures"


class Span(sw.Aggregation):
    """An aggregation of a user's own; its version stands for its code, which differs between Pythons."""

    state_version = 1
    commutative = True

    @staticmethod
    def lift(x):
        return (x, x)

    @staticmethod
    def combine(a, b):
        return (min(a[0], b[0]), max(a[1], b[1]))

    @staticmethod
    def lower(s):
        return s[1] - s[0]


SWAGS: dict[str, Callable[[], Any]] = {
    "recalculate-string_agg": lambda: sw.swag("recalculate", sw.string_agg(delimiter="-")),
    "two_stacks_lite-stddev": lambda: sw.swag("two_stacks_lite", sw.stddev()),
    "daba_lite-max": lambda: sw.swag("daba_lite", sw.max()),
    "daba_lite-Span": lambda: sw.swag("daba_lite", Span()),
    "slick_deque-min": lambda: sw.swag("slick_deque", sw.min()),
    "fiba-sum": lambda: sw.swag("fiba", sw.sum()),
    "incremental_count_distinct": lambda: sw.swag("incremental_count_distinct", sw.count_distinct()),
    "order_statistic_tree-median": lambda: sw.swag("order_statistic_tree", sw.median()),
}


BOTH = {"span": Span("v"), "sd": sw.stddev("v")}
WINDOWS: dict[str, Callable[[], sw.Window]] = {
    "window-rows": lambda: sw.Window(BOTH, sw.rows(7), partition_by="key"),
    "window-rows-every": lambda: sw.Window(BOTH, sw.rows(9, every=3)),
    "window-time": lambda: sw.Window(BOTH, sw.time("8s"), max_delay="2s", late="drop"),
    "window-hopping": lambda: sw.Window(BOTH, sw.time("8s", every="3s"), partition_by="key"),
    "window-revise": lambda: sw.Window(BOTH, sw.time("8s"), late="revise", keep="1m"),
}


LATE = ("window-time", "window-revise")


def push(window: sw.Window, numbers: range, late: bool) -> list[sw.Result]:
    """Rows of two keys, 1.5 seconds apart; every fifth one late, if so wished."""
    start = datetime(2024, 3, 1, tzinfo=UTC)
    results = []
    for i in numbers:
        delay = 1.8 if late and i % 5 == 4 else 0.0
        row = {"v": float(i * 37 % 11), "key": "ab"[i % 2]}
        results += window.push(row, time=start + timedelta(seconds=1.5 * i - delay))
    return results


def fill(swag: Any) -> Any:
    """The values behind every fixture: 40 inserted, 15 evicted."""
    for i in range(40):
        value = (i * 37 % 11) + 0.5
        swag.insert(f"{value}" if swag.aggregation.name == "string_agg" else value)
        if i % 8 > 4:
            swag.evict()
    return swag


def go_on(swag: Any) -> list[Any]:
    """What a structure answers from there on."""
    answers = []
    for i in range(20):
        swag.insert(f"{i}" if swag.aggregation.name == "string_agg" else float(i % 7))
        swag.evict()
        answers.append(swag.query())
    return answers


def main() -> None:
    FIXTURES.mkdir(exist_ok=True)
    for name, new in SWAGS.items():
        (FIXTURES / f"{name}.bin").write_bytes(fill(new()).to_bytes())
    for name, new_window in WINDOWS.items():
        window = new_window()
        push(window, range(20), late=name in LATE)
        (FIXTURES / f"{name}.bin").write_bytes(window.to_bytes())


if __name__ == "__main__":
    main()
