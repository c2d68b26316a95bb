"""Results as functions of time, by recalculation in plain Python: what emit="changes", empty=True must give.

Time is in integers. Every instant is looked at at which anything might happen, and then some around it, and each result
is computed from all rows. Nothing of the library is used.
"""

from __future__ import annotations

import math


def total(values):
    known = [v for v in values if v is not None]
    return sum(known) if known else None


AGGREGATES = {
    "count": len,
    "sum": total,
    "max": lambda values: max((v for v in values if v is not None), default=None),
    "list": lambda values: [v for v in values if v is not None],
}


def alike(a, b):
    return a == b or (a != a and b != b)


class Ranged:
    """The rows from time + low to time + high."""

    def __init__(self, aggregate, low, high=0, open_low=False, open_high=False):
        self.aggregate, self.low, self.high = aggregate, low, high
        self.open_low, self.open_high = open_low, open_high

    def holds(self, row_time, at):
        after = row_time > at + self.low if self.open_low else row_time >= at + self.low
        before = row_time < at + self.high if self.open_high else row_time <= at + self.high
        return after and before

    def at_row(self, rows, k):
        return self.at_time(rows, rows[k][0])

    def at_time(self, rows, at):
        return AGGREGATES[self.aggregate]([x for t, x in rows if self.holds(t, at)])

    def bounds(self):
        return [self.low, self.high]


class Counted:
    """The last n rows."""

    def __init__(self, aggregate, n):
        self.aggregate, self.n = aggregate, n

    def at_row(self, rows, k):
        return AGGREGATES[self.aggregate]([x for _, x in rows[max(0, k + 1 - self.n) : k + 1]])

    def at_time(self, rows, at):
        last = [k for k, (t, _) in enumerate(rows) if t <= at]
        return self.at_row(rows, last[-1])

    def bounds(self):
        return []


def changes(rows, features, forget_after=None):
    """(time, number of the row or None, results) of the changes of one key, whose (time, value) are in order."""
    nothing = {name: AGGREGATES[feature.aggregate]([]) for name, feature in features.items()}
    lives, number = [], 0
    for t, x in rows:
        if not lives or (forget_after is not None and t - lives[-1][-1][0] > forget_after):
            lives.append([])
        lives[-1].append((t, x))
    events = []
    for life in lives:
        end = math.inf if forget_after is None else life[-1][0] + forget_after + 1
        instants = {t - b + d for t, _ in life for f in features.values() for b in f.bounds() for d in range(-2, 3)}
        instants = {at for at in instants if life[0][0] < at < end} | ({end} if end != math.inf else set())
        instants -= {t for t, _ in rows}
        for k, (t, _) in enumerate(life):
            number += 1
            events.append((t, number, {name: f.at_row(life, k) for name, f in features.items()}))
        for at in instants:
            seen = nothing if at == end else {name: f.at_time(life, at) for name, f in features.items()}
            events.append((at, None, seen))
    events.sort(key=lambda e: (e[0], e[1] or 0))
    return filter_changes(events, nothing)


def filter_changes(events, nothing):
    out, last = [], nothing
    for event in events:
        if not all(alike(event[2][name], last[name]) for name in last):
            out.append(event)
        last = event[2]
    return out


def window_changes(rows, aggregates, size, every, offset=0, cumulative=False):
    """(start, end, results) of the changes from window to window of one key: all of them, with and without rows."""
    nothing = {name: AGGREGATES[aggregate]([]) for name, aggregate in aggregates.items()}
    if not rows:
        return []
    first, last = min(t for t, _ in rows), max(t for t, _ in rows)
    windows = []
    for k in range((first - offset) // every - size // every - 3, (last - offset) // every + size // every + 4):
        if cumulative:
            end = (k + 1) * every + offset
            windows.append(((k * every) // size * size + offset, end))
        else:
            windows.append((k * every + offset, k * every + offset + size))
    events = []
    for start, end in sorted(windows, key=lambda w: w[1]):
        inside = [x for t, x in rows if start <= t < end]
        events.append((start, end, {name: AGGREGATES[a](inside) for name, a in aggregates.items()}))
    return filter_changes(events, nothing)
