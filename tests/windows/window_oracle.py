"""Recalculation from the rules, over plain lists of rows: shares no code with the windows it checks.

A row is a dict with t (its time), v (a value that no other row has), c (for delta), p (for punctuation), back and ahead
(offsets of its own). `results` gives (label, the values in the frame) for the rows of one key, in order.
"""

import math
from itertools import pairwise


def frame_of_row(rows, i, size):
    """The rows in the frame of row i; `rows` are those of one key, in order."""
    kind = size[0]
    t = rows[i]["t"]
    if kind == "count":
        return rows[max(0, i - size[1] + 1) : i + 1]
    if kind == "time":
        _, length, closed = size
        low = {
            "both": lambda u: u >= t - length,
            "left": lambda u: u >= t - length,
            "right": lambda u: u > t - length,
            "neither": lambda u: u > t - length,
        }[closed]
        high = (lambda u: u <= t) if closed in ("both", "right") else (lambda u: u < t)
        return [r for r in rows if low(r["t"]) and high(r["t"])]
    if kind == "delta":
        held = []
        for r in rows[: i + 1]:
            held = [h for h in held if r["c"] - h["c"] <= size[1]] + [r]
        return held
    if kind == "punctuation":
        held = []
        for before, r in zip([None, *rows[:i]], rows[: i + 1], strict=True):
            held = [r] if before is not None and before["p"] else [*held, r]
        return held
    if kind == "session":
        own = next(s for s in sessions(rows, size[1]) if any(r is rows[i] for r in s))
        return [r for r in own if r["t"] <= t]
    unit, first, last, exclude = size
    first = rows[i][first] if isinstance(first, str) else first
    last = rows[i][last] if isinstance(last, str) else last
    if unit == "rows":
        chosen = [j for j in range(len(rows)) if i + first <= j <= i + last]
    elif unit == "range":
        chosen = [j for j, r in enumerate(rows) if t + first <= r["t"] <= t + last]
    else:
        times = sorted({r["t"] for r in rows})
        g = times.index(t)
        chosen = [j for j, r in enumerate(rows) if g + first <= times.index(r["t"]) <= g + last]
    if exclude == "current row":
        chosen = [j for j in chosen if j != i]
    elif exclude == "group":
        chosen = [j for j in chosen if rows[j]["t"] != t]
    elif exclude == "ties":
        chosen = [j for j in chosen if rows[j]["t"] != t or j == i]
    return [rows[j] for j in chosen]


def sessions(rows, gap):
    """Lists of rows, each at most `gap` after the one before it."""
    found = []
    for r in rows:
        if found and r["t"] - found[-1][-1]["t"] <= gap:
            found[-1].append(r)
        else:
            found.append([r])
    return found


def results(rows, size, slide, least=1):
    """(label, frame) of every result, in order; the label of a row is its value."""
    if slide is not None and slide[0] == "time":
        return boundaries(rows, size, *slide[1:], least=least)
    fired = [i for i in range(len(rows)) if fires(rows, i, slide) and i + 1 >= least]
    return [(rows[i]["v"], values(frame_of_row(rows, i, size))) for i in fired]


def fires(rows, i, slide):
    if slide is None:
        return True
    if slide[0] == "count":
        return (i + 1) % slide[1] == 0
    if slide[0] == "punctuation":
        return rows[i]["p"]
    last, fired = rows[0]["c"], False
    for r in rows[1 : i + 1]:
        fired = r["c"] - last > slide[1]
        last = r["c"] if fired else last
    return fired


def boundaries(rows, size, every, offset, least):
    if not rows:
        return []
    first, last = rows[0]["t"], rows[-1]["t"]
    reach = size[1] if size[0] == "time" else 0
    steps = range(math.floor((first - reach - offset) / every) - 2, math.ceil((last - offset) / every) + 3)
    grid = [offset + k * every for k in steps]
    found = []
    if size[0] == "time":  # hopping windows
        for start in grid:
            frame = [r for r in rows if start <= r["t"] < start + size[1]]
            if frame:
                found.append(((start, start + size[1]), values(frame)))
        return found
    for before, boundary in pairwise(grid):
        if any(before <= r["t"] < boundary for r in rows):
            i = max(j for j, r in enumerate(rows) if r["t"] < boundary)
            if i + 1 >= least:
                found.append((boundary, values(frame_of_row(rows, i, size))))
    return found


def values(frame):
    return tuple(r["v"] for r in frame)
