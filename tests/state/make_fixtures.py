"""Writes tests/state/fixtures/*.bin: states that every later version of format 1 must be able to read.

    python tests/state/make_fixtures.py

Run it for new definitions only. Where it changes a file that is there, states that users have saved can no
longer be read: count up envelope.VERSION, and keep the old reader.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import slidewise as sw

FIXTURES = Path(__file__).parent / "fixtures"


class Span(sw.Aggregation):
    """An aggregation of a user's own; its version stands for its code, which differs between Pythons."""

    state_version = 1
    commutative = True

    def lift(x):
        return (x, x)

    def combine(a, b):
        return (min(a[0], b[0]), max(a[1], b[1]))

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


if __name__ == "__main__":
    main()
