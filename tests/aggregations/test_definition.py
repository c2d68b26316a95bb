"""A class that cannot be an aggregation is refused where it is written or made, with what to change."""

import pytest

import slidewise as sw


def test_lift_with_self_is_refused_when_the_class_is_written():
    with pytest.raises(sw.InvalidInput, match="leave out self"):

        class WithSelf(sw.Aggregation):
            def lift(self, x):
                return x


def test_a_class_without_combine_is_refused():
    class Nothing(sw.Aggregation):
        identity = 0

    with pytest.raises(sw.InvalidInput, match="has no combine"):
        sw.swag("daba_lite", Nothing)


def test_invertible_without_inverse_is_refused():
    class Claims(sw.Aggregation):
        identity = 0
        invertible = True

        def combine(a, b):
            return a + b

    with pytest.raises(sw.InvalidInput, match="has no inverse"):
        sw.swag("subtract_on_evict", Claims)
