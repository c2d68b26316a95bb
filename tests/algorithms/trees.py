"""What the tests of the three trees share: aggregations with their own recalculation, and counted combines."""

import functools
import math
import random
import statistics

from support.aggregations import Concat, Deviation

import slidewise as sw


class Counted(sw.Aggregation):
    """Concatenation that counts its calls."""

    calls = 0

    @staticmethod
    def combine(a, b):
        Counted.calls += 1
        return a + b


class CountedSum(sw.Aggregation):
    """A commutative one that counts its calls."""

    commutative = True

    @staticmethod
    def combine(a, b):
        Counted.calls += 1
        return a + b


def counted(operation, *args, **named):
    """The calls of combine that an operation makes."""
    before = Counted.calls
    operation(*args, **named)
    return Counted.calls - before


def recalculate(aggregation, values):
    values = [v for v in values if v is not None]
    if not values:
        return None
    if isinstance(aggregation, Deviation):
        return statistics.stdev(values) if len(values) > 1 else None
    return functools.reduce(aggregation.combine, [aggregation.lift(v) for v in values])


def number(rng):
    return rng.randrange(-50, 50)


def letter(rng):
    return chr(97 + rng.randrange(26))


#: aggregation, and a random value for it
CASES = [(sw.sum(), number), (sw.max(), number), (Concat(), letter), (Deviation(), number)]
IDS = ["sum", "max", "concat", "spread"]


def agree(a, b):
    return math.isclose(a, b, abs_tol=1e-9) if isinstance(a, float) and isinstance(b, float) else a == b


def fifo_steps(s, aggregation, draw, seed, steps, most):
    """Random inserts (nulls too), evictions and queries in phases of growing and shrinking; checked at every step."""
    rng = random.Random(seed)
    window = []
    for step in range(steps):
        growing = step // (steps // 6) % 2 == 0
        dice = rng.random()
        if dice < (0.65 if growing else 0.25) and len(window) < most:
            window.append(None if rng.random() < 0.1 else draw(rng))
            s.insert(window[-1])
        elif dice < 0.85 and window:
            s.evict()
            window.pop(0)
        else:
            assert agree(s.query(), recalculate(aggregation, window))
        s.check(window)
        assert len(s) == len(window)
