"""Every algorithm by name gives a window's results, and SQL frames are those of sqlite."""

import sqlite3
import statistics
from random import Random
from typing import Any

import pytest
from support.aggregations import Listed
from window_streams import random_rows

import slidewise as sw
from slidewise.events.measure import choose_entry
from slidewise.planner.choose import Situation
from slidewise.registry import legal_algorithms

WINDOWS = {
    "rows": (sw.rows(7), lambda i, t: (i - 6, i + 1)),
    "slices": (sw.rows(7, every=3), lambda i, t: (i - 6, i + 1)),
    "time": (sw.time(7), lambda i, t: (t - 7, t + 1)),
    "hopping": (sw.time(9, every=3), None),
}
AGGREGATIONS: dict[str, Any] = {
    "sum": (sw.sum, sum),
    "max": (sw.max, max),
    "median": (sw.median, statistics.median),
    "count_distinct": (sw.count_distinct, lambda frame: len(set(frame))),
    "mode": (sw.mode, lambda frame: min(statistics.multimode(frame))),
}


def usable(aggregation, windows):
    situation = Situation("events")
    for entry in legal_algorithms(aggregation):
        try:
            choose_entry(aggregation, entry.name, situation)
        except sw.IllegalPair:
            continue
        if not entry.options or "time" not in windows:
            yield entry.name


PAIRS = [
    (name, algorithm, window)
    for name, (make, _) in AGGREGATIONS.items()
    for window in WINDOWS
    for algorithm in ["auto", *usable(make(), window)]
]


@pytest.mark.covering(2)
@pytest.mark.parametrize(("name", "algorithm", "window"), PAIRS)
def test_every_algorithm(name, algorithm, window):
    make, recalculate = AGGREGATIONS[name]
    definition = WINDOWS[window][0]
    w = sw.Window(make(), definition, algorithm=algorithm)
    random = Random(5)
    xs = [random.randint(0, 9) for _ in range(60)]
    results = [r for t, x in enumerate(xs) for r in w.push(x, time=t)] + w.flush()
    for r in results:  # row i has time i
        if window == "hopping":
            lo, hi = r.start, r.end
        elif window == "time":
            lo, hi = r.time - 7, r.time + 1
        else:
            lo, hi = r.row - 7, r.row
        assert r.value == recalculate(xs[max(lo, 0) : hi])
    assert len(results) == {"rows": 60, "slices": 20, "time": 60, "hopping": 22}[window]


@pytest.mark.parametrize("name", AGGREGATIONS)
@pytest.mark.parametrize("algorithm", ["auto", "fiba", "recalculate"])
def test_revising(name, algorithm):
    make, recalculate = AGGREGATIONS[name]
    w = sw.Window(make(), sw.rows(5), late="revise", algorithm=algorithm)
    random = Random(3)
    rows = [(random.randint(0, 50), random.randint(0, 9)) for _ in range(60)]
    last = {r.row: r.value for t, x in rows for r in w.push(x, time=t)}
    order = sorted(range(60), key=lambda k: rows[k][0])
    for i, k in enumerate(order):
        assert last[k + 1] == recalculate([rows[j][1] for j in order[max(0, i - 4) : i + 1]])


SQL = {
    "ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING": lambda e: sw.rows_between(-2, 1, e),
    "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING": lambda e: sw.rows_between(-sw.UNBOUNDED, -1, e),
    "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING": lambda e: sw.rows_between(1, sw.UNBOUNDED, e),
    "RANGE BETWEEN 3 PRECEDING AND 2 FOLLOWING": lambda e: sw.range_between(-3, 2, e),
    "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW": lambda e: sw.range_between(-sw.UNBOUNDED, 0, e),
    "RANGE BETWEEN 4 PRECEDING AND 1 PRECEDING": lambda e: sw.range_between(-4, -1, e),
    "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING": lambda e: sw.groups_between(-1, 1, e),
    "GROUPS BETWEEN 2 PRECEDING AND 1 PRECEDING": lambda e: sw.groups_between(-2, -1, e),
    "GROUPS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING": lambda e: sw.groups_between(0, sw.UNBOUNDED, e),
}


@pytest.mark.parametrize("exclude", [None, "current row", "group", "ties"])
@pytest.mark.parametrize("clause", SQL)
def test_frames_are_those_of_sqlite(clause, exclude):
    # ORDER BY needs the same tie-break for ROWS; RANGE and GROUPS look at t alone, and rows are stored in order.
    stream = random_rows(Random(len(clause)), 40, keys="a")
    db = sqlite3.connect(":memory:")
    db.execute("create table r (v integer, t integer)")
    db.executemany("insert into r values (?, ?)", [(row["v"], row["t"]) for row in stream])
    excluded = f"EXCLUDE {exclude}" if exclude else ""
    query = f"select v, group_concat(v) over (order by t {clause} {excluded}) from r order by v"
    expected = {v: sorted(map(int, (text or "").split(","))) if text else [] for v, text in db.execute(query)}
    db.close()
    w = sw.Window(Listed("v"), SQL[clause](exclude))
    results = [r for row in stream for r in w.push(row, time=row["t"])] + w.flush()
    assert {stream[r.row - 1]["v"]: sorted(r.value) for r in results} == expected
