"""The exceptions of slidewise. A message says what, what was given, why, and what to do instead."""


class SlidewiseError(Exception):
    """The base of every error that slidewise raises on purpose."""


class InvalidInput(SlidewiseError, ValueError):
    """A value, a parameter or a combination of them that cannot be meant."""


class Refused(InvalidInput):
    """An operation that a structure cannot do now; it has changed nothing."""


class IllegalPair(SlidewiseError, TypeError):
    """An algorithm that needs a property which the aggregation or the window does not have."""


class LateRow(SlidewiseError, ValueError):
    """A row at or before the watermark, where late rows are errors."""


class StateError(SlidewiseError, ValueError):
    """Saved state that is damaged, of another version, or of another definition."""


class LawBroken(SlidewiseError, AssertionError):
    """A property that an aggregation declares and that does not hold for its functions."""


class CompileFallback(UserWarning):
    """An aggregation that cannot be compiled and runs interpreted: the same answers, more slowly."""
