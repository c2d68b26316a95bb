"""What the tests of the three trees share: aggregations with their own recalculation, and counted combines."""

import functools
import math
import random
import statistics

import slidewise as sw


class Concat(sw.Aggregation):
    """Not commutative: finds operands in the wrong order."""

    @staticmethod
    def combine(a, b):
        return a + b


class Spread(sw.Aggregation):
    """(n, mean, M2): partials that are tuples, and a result that needs two values."""

    identity = (0, 0.0, 0.0)
    commutative = True

    @staticmethod
    def lift(x):
        return (1, float(x), 0.0)

    @staticmethod
    def combine(a, b):
        n = a[0] + b[0]
        if n == 0:
            return a
        delta = b[1] - a[1]
        share = b[0] / n
        return (n, a[1] + delta * share, a[2] + b[2] + delta * delta * a[0] * share)

    @staticmethod
    def lower(p):
        return math.sqrt(p[2] / (p[0] - 1))

    @staticmethod
    def defined(p):
        return p[0] > 1


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
    if isinstance(aggregation, Spread):
        return statistics.stdev(values) if len(values) > 1 else None
    return functools.reduce(aggregation.combine, [aggregation.lift(v) for v in values])


def number(rng):
    return rng.randrange(-50, 50)


def letter(rng):
    return chr(97 + rng.randrange(26))


#: aggregation, and a random value for it
CASES = [(sw.sum(), number), (sw.max(), number), (Concat(), letter), (Spread(), number)]
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
