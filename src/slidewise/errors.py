"""The exceptions of slidewise. A message says what, what was given, why, and what to do instead."""


class SlidewiseError(Exception):
    """The base of every error that slidewise raises on purpose.

    >>> import slidewise as sw
    >>> try: sw.rows(0)
    ... except sw.SlidewiseError as error: print(error)
    rows: the size must be at least 1, got 0
    """


class InvalidInput(SlidewiseError, ValueError):
    """A value, a parameter or a combination of them that cannot be meant. It is a ValueError.

    >>> import slidewise as sw
    >>> sw.percentile("latency", 95)
    Traceback (most recent call last):
        ...
    slidewise.errors.InvalidInput: percentile: fraction must be between 0 and 1, got 95. Did you mean 0.95?
    """


class Refused(InvalidInput):
    """An operation that cannot be done now, such as a write to a folder of another pipeline. It has changed nothing.

    >>> import slidewise as sw
    >>> from slidewise.errors import Refused
    >>> issubclass(Refused, sw.InvalidInput)
    True
    """


class IllegalPair(SlidewiseError, TypeError):
    """An algorithm that needs a property which the aggregation or the window does not have. It is a TypeError.

    >>> import slidewise as sw
    >>> try: sw.swag("subtract_on_evict", sw.max())
    ... except sw.IllegalPair as error: print(str(error).partition(". ")[0])
    subtract_on_evict needs an aggregation that is invertible, and max is not
    """


class LateRow(SlidewiseError, ValueError):
    """A row at or before the watermark, where late rows are errors. The row is not taken, and the window goes on.

    >>> import slidewise as sw
    >>> w = sw.Window(sw.max(), sw.time(10))
    >>> w.push(20.5, time=5)
    []
    >>> try: w.push(21.0, time=3)
    ... except sw.LateRow as error: print(str(error).partition(". ")[0])
    the row of 3 is late: rows come in the order of time, and the newest is of 5
    """


class StateError(SlidewiseError, ValueError):
    """Saved state that is damaged, of another version, or of another definition. Nothing is loaded of it.

    >>> import slidewise as sw
    >>> saved = sw.Window(sw.max(), sw.rows(2)).to_bytes()
    >>> try: sw.Window(sw.max(), sw.rows(2)).from_bytes(saved[:-1])
    ... except sw.StateError as error: print("refused")
    refused
    """


class LawBroken(SlidewiseError, AssertionError):
    """A property that an aggregation declares and that does not hold for its functions.

    >>> import slidewise as sw
    >>> class Difference(sw.Aggregation):
    ...     @staticmethod
    ...     def combine(a: int, b: int) -> int: return a - b
    >>> try: sw.check_aggregation(Difference(), [1, 2, 3])
    ... except sw.LawBroken as error: print(str(error).partition(" fails")[0])
    Difference is declared associative, but combine(combine(a, b), c) == combine(a, combine(b, c))
    """


class CompileFallback(UserWarning):
    """A warning: an aggregation cannot be compiled, and runs interpreted. The same answers, more slowly.

    >>> import warnings, slidewise as sw
    >>> warnings.simplefilter("error", sw.CompileFallback)  # no slow answers
    >>> warnings.simplefilter("ignore", sw.CompileFallback)  # never mind
    """
