"""Windows of every size and slide, in our words and in the oracle's, and streams to run them on."""

from random import Random
from typing import Any

from hypothesis import strategies as st

import slidewise as sw

SIZES: dict[str, Any] = {
    "rows(1)": (sw.rows, (1,), ("count", 1)),
    "rows(4)": (sw.rows, (4,), ("count", 4)),
    "time": (sw.time, (5,), ("time", 5, "both")),
    "delta": (sw.delta, ("c", 4), ("delta", 4)),
    "punctuation": (sw.punctuation, ("p",), ("punctuation",)),
    "rows trailing": (sw.rows_between, (-3, 0), ("rows", -3, 0, None)),
    "rows around": (sw.rows_between, (-2, 3), ("rows", -2, 3, None)),
    "rows before": (sw.rows_between, (-4, -2), ("rows", -4, -2, None)),
    "rows after": (sw.rows_between, (1, 3), ("rows", 1, 3, None)),
    "rows so far": (sw.rows_between, (-sw.UNBOUNDED, 0), ("rows", -(10**9), 0, None)),
    "rows to come": (sw.rows_between, (0, sw.UNBOUNDED), ("rows", 0, 10**9, None)),
    "rows of its own": (sw.rows_between, (sw.col("back"), sw.col("ahead")), ("rows", "back", "ahead", None)),
    "range trailing": (sw.range_between, (-4, 0), ("range", -4, 0, None)),
    "range around": (sw.range_between, (-3, 2), ("range", -3, 2, None)),
    "range before": (sw.range_between, (-5, -1), ("range", -5, -1, None)),
    "range after": (sw.range_between, (1, 4), ("range", 1, 4, None)),
    "range so far": (sw.range_between, (-sw.UNBOUNDED, 1), ("range", -(10**9), 1, None)),
    "range of its own": (sw.range_between, (sw.col("back"), sw.col("ahead")), ("range", "back", "ahead", None)),
    "groups": (sw.groups_between, (-2, 0), ("groups", -2, 0, None)),
    "groups around": (sw.groups_between, (-1, 1), ("groups", -1, 1, None)),
    "groups before": (sw.groups_between, (-3, -1), ("groups", -3, -1, None)),
    "rows but itself": (sw.rows_between, (-3, 2, "current row"), ("rows", -3, 2, "current row")),
    "rows but ties": (sw.rows_between, (-4, 1, "ties"), ("rows", -4, 1, "ties")),
    "range but its group": (sw.range_between, (-4, 2, "group"), ("range", -4, 2, "group")),
    "groups but ties": (sw.groups_between, (-1, 1, "ties"), ("groups", -1, 1, "ties")),
}

SLIDES = {
    "each row": (None, None),
    "count": (sw.rows(3), ("count", 3)),
    "time": (sw.time(4), ("time", 4, 0)),
    "delta": (sw.delta("c", 2), ("delta", 2)),
    "punctuation": (sw.punctuation("p"), ("punctuation",)),
}


#: sizes that take no slide: their results are those of rows
PER_ROW = {**SIZES, "session": (sw.session, (2,), ("session", 2))}


def window_of(size, slide, **options):
    make, arguments, _ = PER_ROW[size]
    if size not in SIZES:
        return make(*arguments, **options)
    return make(*arguments, every=SLIDES[slide][0], **options)


def random_rows(random, count, keys="ab", steps=(0, 0, 1, 1, 2, 3, 9)):
    """Rows in the order of time, with duplicate times, gaps, several keys, and columns for every kind of window."""
    stream, t, c = [], random.randint(-10, 10), 0
    for v in range(count):
        t += random.choice(steps)
        c += random.choice((-3, -1, 0, 1, 1, 2, 3, 5))
        row = {"v": v, "t": t, "c": c, "p": random.random() < 0.25, "key": random.choice(keys)}
        stream.append(row | {"back": random.randint(-4, 1), "ahead": random.randint(-1, 3)})
    return stream


#: Streams by their length and a seed: one draw per value costs ten times as much, and a failure shrinks as well.
rows = st.builds(lambda count, seed: random_rows(Random(seed), count), st.integers(0, 40), st.integers(0, 10**6))


def label(result, numbers):
    """What a result is about, as the oracle says it."""
    if result.start is not None:
        return (result.start, result.end)
    return result.time if result.row is None else numbers[result.key][result.row - 1]


def by_key(stream):
    keys = {}
    for row in stream:
        keys.setdefault(row["key"], []).append(row)
    return keys


def numbers_of(stream):
    """The values of the rows of each key, in order: row k of a key is the k-th."""
    return {key: [row["v"] for row in rows] for key, rows in by_key(stream).items()}
