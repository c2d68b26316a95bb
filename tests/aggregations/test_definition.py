"""A class that cannot be an aggregation is refused where it is written or made, with what to change."""

import numpy as np
import pytest

import slidewise as sw
from slidewise.aggregations.base import SHORTCUTS, Aggregation
from slidewise.aggregations.extremes import Max


def test_lift_with_self_is_refused_when_the_class_is_written():
    with pytest.raises(sw.InvalidInput, match="leave out self"):

        class WithSelf(sw.Aggregation):
            def lift(self, x):
                return x


def test_the_decorator_may_be_left_out():
    """Plain functions and static methods are the same aggregation, down to its state."""

    class Plain(sw.Aggregation):
        name = "mean"
        identity = (0.0, 0)

        def lift(x):  # noqa: N805
            return (x, 1)

        def combine(a, b):  # noqa: N805
            return (a[0] + b[0], a[1] + b[1])  # type: ignore[index]  # type checkers do want the decorator

        def lower(s):  # noqa: N805
            return s[0] / s[1]  # type: ignore[index]

    class Static(sw.Aggregation):
        name = "mean"
        identity = (0.0, 0)

        @staticmethod
        def lift(x):
            return (x, 1)

        @staticmethod
        def combine(a, b):
            return (a[0] + b[0], a[1] + b[1])

        @staticmethod
        def lower(s):
            return s[0] / s[1]

    x = np.array([3.0, 1.0, 5.0])
    assert sw.rolling(x, Plain(), 2).tolist() == sw.rolling(x, Static(), 2).tolist() == [3.0, 2.0, 3.0]
    s = sw.swag("daba_lite", Plain())
    s.insert(3.0)
    assert sw.swag("daba_lite", Static()).from_bytes(s.to_bytes()).query() == 3.0


def test_a_class_without_combine_is_refused():
    class Nothing(sw.Aggregation):
        identity = 0

    with pytest.raises(sw.InvalidInput, match="has no combine"):
        sw.swag("daba_lite", Nothing)


def test_invertible_without_inverse_is_refused():
    class Claims(sw.Aggregation):
        identity = 0
        invertible = True

        @staticmethod
        def combine(a, b):
            return a + b

    with pytest.raises(sw.InvalidInput, match="has no inverse"):
        sw.swag("subtract_on_evict", Claims)


def test_shortcuts_are_not_inherited():
    """A subclass computes something else: what is true of Max's results, and Spark's call for it, is not of its own."""

    class Second(Max):
        @staticmethod
        def lower(s):
            return s - 1

    declared = {name for name in SHORTCUTS if getattr(Max, name) != getattr(Aggregation, name)}
    assert declared == {"picks_row", "merges_as", "without_nan", "compiled_alike", "spark_call"}
    assert all(getattr(Second, name) == getattr(Aggregation, name) for name in SHORTCUTS)
    x = np.array([3.0, 1.0, 2.0])
    assert sw.with_columns({"x": x}, s=Second("x").over(2), m=sw.max("x").over(2))["s"].tolist() == [2, 2, 1]


def test_a_variant_is_told_apart_from_what_it_was_made_of():
    """Classes of structures are remembered by their aggregation: that of a sum is not that of its variant."""
    plain = sw.sum()
    doubled = plain.variant(lower=lambda s: 2 * s)
    assert doubled == doubled
    assert doubled not in (plain, plain.variant(lower=doubled.lower))
    for aggregation, result in ((plain, 5), (doubled, 10), (sw.sum(), 5)):
        s = sw.swag("two_stacks_lite", aggregation)
        s.insert(2)
        s.insert(3)
        assert s.query() == result
