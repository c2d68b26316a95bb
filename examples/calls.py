"""The query of figure 1 of "General Incremental Sliding-Window Aggregation", over a stream of phone calls.

    Select IStream(Max(len) as mxl, MaxCount(len) as num, ArgMax(len, caller) as who)
    From Calls [Range 24 Hours Slide 1 Minute]

The longest call of the last 24 hours, how many calls were that long, and who made the first of them: looked at
every minute, printed when it has changed. Run it with `python -m examples.calls`.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from rich.console import Console
from rich.table import Table

import slidewise as sw

START = datetime(2024, 3, 1)
CALLERS = ("Ann", "Bob", "Cid", "Dee", "Eve", "Fay")

Call = dict[str, Any]


def calls(days: int = 4, seed: int = 1) -> Iterator[Call]:
    """A stream of calls in the order of time: fewer at night, most of them short, lengths in steps of 5 minutes."""
    chance = random.Random(seed)
    time = START
    while time < START + timedelta(days=days):
        quiet = 1 if 8 <= time.hour < 22 else 6
        time += timedelta(seconds=chance.expovariate(1 / (600 * quiet)))
        yield {"time": time, "caller": chance.choice(CALLERS), "len": 5.0 * (1 + int(chance.expovariate(1 / 2)))}


def query() -> sw.Window:
    """Figure 1's query.

    The paper's window, CQL's, has both ends in it: at time t it is [b, b + 24 h], b being the whole minute at or
    before t - 24 h, and results change as calls arrive within the minute. Ours is Spark's hopping window:
    [start, end) with both on whole minutes, a call on the boundary belonging to the later one, and one result when a
    minute is over. Calls of one minute are combined into one partial as they arrive, so that at most 1440 are held.
    """
    return sw.Window(
        {"mxl": sw.max("len"), "num": sw.max_count("len"), "who": sw.max_by("caller", "len")},
        sw.time("24h", every="1m"),
        emit="changes",  # IStream
    )


def run(stream: Iterable[Call]) -> list[sw.Result]:
    """The results over a stream, to its last call: what only the end of the stream would bring is left out."""
    window, results = query(), []
    for call in stream:
        results += window.push(call, time=call["time"])
    return results


def main() -> None:
    """Print the results as a table."""
    stream = list(calls())
    table = Table(title=f"The longest of the last 24 hours' calls ({len(stream)} calls in 4 days)")
    table.add_column("window from", style="dim")
    table.add_column("to")
    table.add_column("longest", justify="right")
    table.add_column("calls as long", justify="right")
    table.add_column("the first was made by")
    for result in run(stream):
        table.add_row(
            f"{result.start:%a %H:%M}",
            f"{result.end:%a %H:%M}",
            f"{result['mxl']:.0f} min",
            str(result["num"]),
            result["who"],
        )
    Console().print(table)


if __name__ == "__main__":
    main()
