"""Random programs of a window, which runs side by side: as it does by itself, by its engines, and by recalculation.

The first may go straight to structures, or to compiled code; the second never does; the third computes every result
from the rows of its frame alone.
"""

import math
from collections import Counter
from dataclasses import fields
from decimal import Decimal
from random import Random

import numpy as np

import slidewise as sw
from slidewise.events.compiled import Compiled
from slidewise.events.direct_keys import DirectByKey

FLOATS = (0.5, 1.5, -3.0, 8.0, 0.1, -0.0, 0.0, 1e300)
INTEGERS = (1, -2, 7, 0, 2**40)
HUGE = (1, 0, 2**53 + 1, 2**62, -(2**62), 2**62 - 1, 2**63 - 1, -(2**63), 2**63)
MIXED = (1, 2.5, -3, 0.5)
KINDS = {"floats": FLOATS, "integers": INTEGERS, "huge": HUGE, "mixed": MIXED}
#: numbers that compiled code does not hold as Python does, or not among others; what is a number to some
STRANGE = (
    None, None, None, math.nan, math.inf, -math.inf, True, Decimal("1.5"), 2**70, 10**400, -(2**63), 3, 2.5,
    np.float64(1.5), np.int64(3), np.bool_(True),
)  # fmt: skip
#: what happens next: mostly a row, in order
ODDS = {
    "row": 76, "tie": 10, "gap": 1, "late": 2, "key": 1, "advance": 1, "save": 2, "peek": 1, "state": 3, "count": 2,
    "batch": 1, "wrong": 1,
}  # fmt: skip
KEYS = ("a", "b", 3, 1, True, 1.0, None, 2.5, math.nan, ("t", 1))


def attempt(do, *args, **options):
    """What comes out, or the error."""
    try:
        return do(*args, **options)
    except Exception as error:
        return type(error), str(error)


def build(aggregation, window, *, by_engines=False, **options):
    w = sw.Window(aggregation, window, **options)
    if by_engines:
        w._direct_kind = None
    return w


def aggregations_of(given):
    return given.values() if isinstance(given, dict) else [given]


def columns_of(aggregation):
    many = aggregations_of(aggregation)
    return sorted({column for each in many for column in (*each.columns, each.where or "") if column})


def conditions_of(aggregation):
    many = aggregation.values() if isinstance(aggregation, dict) else [aggregation]
    return {each.where for each in many if each.where}


def compiled_rows(window, key):
    """Whether the rows of this key are in compiled code."""
    way = window._direct
    return isinstance(way, Compiled) or (isinstance(way, DirectByKey) and key in way.compiled)


class Program:
    """A program, step by step, with the windows that run it."""

    def __init__(self, aggregation, window, seed, kind, unit, strange, keys, options):
        self.random = Random(seed)
        self.columns, self.conditions = columns_of(aggregation), conditions_of(aggregation)
        self.timed = window.size_kind != "count" or self.random.random() < 0.2
        self.kind, self.unit, self.strange = kind, unit, strange
        #: keys by argument, in the column "k", or none
        self.partitioned = "partition_by" in options
        self.keys = self.random.sample(KEYS, keys) if keys else [None]
        options = options | {"late": self.random.choice(["error", "drop", "mark"])}
        self.windows = [build(aggregation, window, by_engines=k > 0, **options) for k in range(2)]
        self.recalculated = build(aggregation, window, by_engines=True, **options | {"algorithm": "recalculate"})
        self.numbers = KINDS[kind]
        if any(type(each) is sw.product for each in aggregations_of(aggregation)):
            # What passes 1e308 on its way to 0 is 0 or NaN, as its factors come.
            self.numbers = tuple(x for x in self.numbers if abs(x) < 1e300)
            if kind == "huge":
                self.recalculated = None
        self.t, self.went = 0, Counter()

    def value(self):
        """One value: a number of the stream's kind, and rarely something else."""
        random = self.random
        if random.random() < self.strange:
            return "x" if random.random() < 0.03 else random.choice(STRANGE)
        return random.choice(self.numbers)

    def row(self):
        """A row, and its key where that is an argument."""
        key = self.random.choice(self.keys)
        if not (self.columns or self.partitioned):
            return self.value(), key
        row = {column: self.cell(column) for column in self.columns}
        return row | {"k": key, "j": 1}, None if self.partitioned else key

    def cell(self, column):
        if column in self.conditions:
            return self.random.choice((True, False, None))
        return self.value()

    def wrong(self):
        """A row that is refused, whatever the window: its value, time and key."""
        (value, key), time = self.row(), self.time(self.t)
        cases = [(value, None if self.timed else 5, key), (value, time, [1])]
        if self.timed:
            cases += [(value, "noon", key), (value, math.nan, key)]
        if self.columns or self.partitioned:
            cases += [({"z": 1}, time, None), (5.0, time, None), (None, time, None)]
        return self.random.choice(cases)

    def time(self, t):
        return self.unit(t) if self.timed else None

    def batch(self):
        """A few rows of one type, as columns."""
        random, n = self.random, self.random.randrange(1, 12)
        numbers = [
            [random.choice((True, False) if column in self.conditions else (0.5, 1.5, 8.0)) for _ in range(n)]
            for column in self.columns or [""]
        ]
        steps = [random.choice((0, 0, 1, 2)) for _ in range(n)]
        times = [self.unit(self.t + sum(steps[: k + 1])) for k in range(n)]
        self.t += sum(steps)
        texts = [key for key in self.keys if type(key) is str] or ["a"]
        keys = [random.choice(texts) for _ in range(n)]
        more = {"time": times} if self.timed else {}
        if not (self.columns or self.partitioned):
            return numbers[0], more | ({} if self.keys == [None] else {"key": keys})
        data = dict(zip(self.columns, numbers, strict=True)) | {"k": keys, "j": [1] * n}
        return data, more | ({} if self.partitioned or self.keys == [None] else {"key": "k"})

    def run(self, count):
        """Run so many steps; compare all that comes out, and the states."""
        for _ in range(count):
            [step] = self.random.choices(list(ODDS), list(ODDS.values()))
            if not self.step(step):
                return self.went
        self.compare("flush", lambda w: w.flush())
        return self.went

    def step(self, step):
        self.t += {"row": self.random.choice((1, 1, 1, 2)), "gap": self.random.choice((100, 2000)), "key": 1}.get(
            step, 0
        )
        both = self.windows
        if step == "save":
            if self.random.random() < 0.5:
                both.reverse()
            self.windows = [w.from_bytes(w.to_bytes()) for w in both]
            self.windows[1]._direct_kind = None
            return True
        if step == "state":
            found = [attempt(w.to_bytes) for w in both]
            assert found[0] == found[1], step
            return True
        if step == "peek":
            return self.compare(step, lambda w: w.peek())
        if step == "count":
            assert both[0].partials() == both[1].partials()
            return True
        if step == "advance":
            return self.compare(step, lambda w: w.advance(self.unit(self.t))) if self.timed else True
        if step == "batch":
            data, more = self.batch()
            return self.compare(step, lambda w: w.push_many(data, **more).to_pylist())
        if step == "wrong":
            value, time, key = self.wrong()
            return self.compare(step, lambda w: w.push(value, time, key))
        value, key = self.row()
        time = self.time(self.t - 5 if step == "late" else self.t)
        if step == "key" and not self.partitioned:
            key = "other"
        known = both[0]._direct is not None
        of = value["k"] if self.partitioned else key
        self.went["directly"] += known
        self.went["compiled"] += known and compiled_rows(both[0], of)
        return self.compare((step, value, time, key), lambda w: w.push(value, time, key))

    def compare(self, step, do):
        """Whether the window is still whole."""
        found = [attempt(do, w) for w in self.windows]
        assert repr(found[0]) == repr(found[1]), step
        whole = [w._broken or (w.watermark, w.dropped) for w in self.windows]
        assert whole[0] == whole[1], step
        if self.recalculated is not None and not self.is_recalculated(found[0], do):
            self.recalculated = None
        return self.windows[0]._broken is None

    def is_recalculated(self, found, do):
        """Compare with recalculation; False where it has gone another way, since a result or a combine has failed."""
        again = attempt(do, self.recalculated)
        if isinstance(found, tuple) and not issubclass(found[0], (sw.InvalidInput, sw.LateRow)):
            return False
        if self.windows[0]._broken or self.recalculated._broken:
            return False
        if isinstance(found, tuple):  # refused; of values that cannot be compared each finds out at its own time
            assert isinstance(again, tuple)
            return bool(again == found)
        if isinstance(again, tuple) and not issubclass(again[0], (sw.InvalidInput, sw.LateRow)):
            return False
        error = 1e6 if self.kind == "huge" else 1e-6  # of huge numbers that nearly cancel out
        assert are_close([_plain(r) for r in found], [_plain(r) for r in again], error)
        return True


def _plain(result):
    if isinstance(result, dict):
        return result
    return [getattr(result, f.name) for f in fields(result)]


def are_close(a, b, error):
    """Whether results are the same but for the order in which floats were added."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(are_close(a[k], b[k], error) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(are_close(x, y, error) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or math.isclose(a, b, rel_tol=1e-6, abs_tol=error) or max(abs(a), abs(b)) > 1e280
    return repr(a) == repr(b) or bool(a == b)  # 1 and True are one value


def run_both(aggregation, window, seed, count, *, kind="floats", unit=int, strange=0.02, keys=0, **options):
    """Compare all that comes out, and the states; returns how many rows went directly, and to compiled code."""
    return Program(aggregation, window, seed, kind, unit, strange, keys, options).run(count)
