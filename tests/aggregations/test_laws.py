"""Declared properties hold as laws for everything built in; check_aggregation finds those that do not."""

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.aggregations import Vwap, build
from support.tiers import examples

import slidewise as sw
from slidewise.errors import InvalidInput, LawBroken
from slidewise.registry.aggregations import AGGREGATIONS
from slidewise.testing.laws import check_aggregation

SMALL = {"approx_percentile": {"accuracy": 100}, "count_min_sketch": {"eps": 0.1}}
BUILT_IN = [build(entry.name, **SMALL.get(entry.name, {})) for entry in AGGREGATIONS]

# Within a few orders of magnitude: rounding of fourth powers is no broken law.
floats = st.floats(0.125, 8, width=16).flatmap(lambda x: st.sampled_from([x, -x])) | st.sampled_from([0.0, -0.0])
numbers = floats | st.integers(-9, 9)
special = st.sampled_from([math.nan, math.inf, -math.inf])
SAMPLES = {"string_agg": st.text(max_size=3), "bool_and": st.booleans(), "bool_or": st.booleans()}
SAMPLES |= dict.fromkeys(("bit_and", "bit_or", "bit_xor"), st.integers(-(2**70), 2**70))


@pytest.mark.parametrize("aggregation", BUILT_IN, ids=lambda a: a.name)
@examples(12)
@given(st.data())
def test_built_in(aggregation, data):
    values = SAMPLES.get(aggregation.name, numbers | special)
    if aggregation.kind != "distributive" and aggregation.name in (
        "skewness",
        "kurtosis",
        "corr",
        "regr_slope",
        "regr_intercept",
        "regr_r2",
        "moment_sketch",
    ):
        values = numbers  # infinities make every partial NaN
    row = st.tuples(values, values) if aggregation.arity == 2 else values
    row = st.tuples(st.sampled_from([0, 1, 2]), numbers) if aggregation.name == "naive_bayes" else row
    report = check_aggregation(aggregation, data.draw(st.lists(row, min_size=1, max_size=5)))
    assert report.held["associativity"] > 0


@pytest.mark.parametrize("aggregation", BUILT_IN, ids=lambda a: a.name)
def test_dump_and_load(aggregation):
    rows = {"string_agg": "a", "bool_and": True, "bool_or": False, "bit_and": 3, "bit_or": 3, "bit_xor": 3}
    row = rows.get(aggregation.name, 2.5)
    partial = aggregation.lift(*(row,) * aggregation.arity)
    again = aggregation.load(aggregation.dump(partial))
    assert aggregation.dump(aggregation.combine(again, partial)) == aggregation.dump(
        aggregation.combine(partial, partial)
    )


@pytest.mark.parametrize("aggregation", BUILT_IN, ids=lambda a: a.name)
def test_pickled(aggregation):
    again = pickle.loads(pickle.dumps(aggregation))
    assert again == aggregation
    assert hash(again) == hash(aggregation)
    assert repr(again) == repr(aggregation)


class Concatenation(sw.Aggregation):
    size_preserving = False

    @staticmethod
    def combine(a, b):
        return a + b


def broken(**changes):
    return type("Broken", (Concatenation,), changes)


def test_an_honest_one_passes():
    report = check_aggregation(Concatenation, ["a", "b", "cd"])
    assert "Concatenation: all 3 laws hold" in str(report)
    assert not report.hints


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"commutative": True}, r"combine\(a, b\) == combine\(b, a\) fails(.|\n)*a = 'a'(.|\n)*b = 'b'"),
        ({"size_preserving": True}, "at most 1 values"),
        ({"selective": True}, "is a or b"),
        (
            {
                "lift": lambda x: (x, x),
                "combine": lambda a, b: (a[0] + b[0], min(a[1], b[1])),
                "partial_parts": ("sum", "max"),
            },
            r"declared in-parts, but combine\(a, b\) is sum, max of the fields",
        ),
        ({"identity": "x"}, "identity"),
        ({"invertible": True, "inverse": lambda total, oldest: total[: -len(oldest)]}, r"inverse\(combine"),
        ({"combine": lambda a, b: a + b[::-1]}, "associative"),
        ({"lower": lambda s: s.missing}, "lower"),
    ],
)
def test_a_wrong_declaration_is_found(changes, message):
    with pytest.raises(LawBroken, match=message):
        check_aggregation(broken(**changes), ["a", "b", "c"])


def test_a_changed_operand_is_found():
    class Careless(sw.Aggregation):
        size_preserving = False

        @staticmethod
        def lift(x):
            return [x]

        @staticmethod
        def combine(a, b):
            a.extend(b)
            return a

    with pytest.raises(LawBroken, match="unchanged"):
        check_aggregation(Careless, [1, 2])


def test_commutative_for_single_rows_only():
    # Rows commute, sums of rows do not: only combined partials show it.
    class Count2(sw.Aggregation):
        commutative = True
        associative = False

        @staticmethod
        def lift(x):
            return (1, x)

        @staticmethod
        def combine(a, b):
            return (a[0] + b[0], a[1] * a[0] + b[1] * b[0] * a[0])

    with pytest.raises(LawBroken, match="commutative"):
        check_aggregation(Count2, [2.0, 3.0, 5.0])


def test_hints():
    class Largest(sw.Aggregation):
        @staticmethod
        def combine(a, b):
            return b if b > a else a

    assert [h.split()[0] for h in check_aggregation(Largest, [1, 2, 3]).hints] == ["commutative", "selective"]


def test_it_is_an_assertion_error():
    assert issubclass(LawBroken, AssertionError)


def test_rows_of_several_values():
    report = check_aggregation(Vwap, [(10.0, 1), (20.0, 3), (None, 1)])
    assert report.held["commutativity"] > 0


def test_no_samples():
    with pytest.raises(InvalidInput, match="no samples"):
        check_aggregation(Concatenation, [None])


def test_an_inverse_that_rounds_is_not_exact():
    class Rounds(sw.Aggregation):
        invertible = True
        exactly_invertible = True

        @staticmethod
        def lift(x):
            return float(x)

        @staticmethod
        def combine(a, b):
            return a + b

        @staticmethod
        def inverse(total, oldest):
            return total - oldest

    with pytest.raises(sw.LawBroken, match="without rounding, as exactly_invertible says"):
        sw.check_aggregation(Rounds, [1e16, 1.0, 0.1])


@pytest.mark.parametrize(("aggregation", "samples"), [(3, [1]), ("max", [1]), (sw.max(), None), (int, [1])])
def test_what_cannot_be_checked_is_refused(aggregation, samples):
    with pytest.raises(sw.InvalidInput, match="check_aggregation takes"):
        sw.check_aggregation(aggregation, samples)


def test_an_identity_of_zero_is_checked():
    class Product(sw.Aggregation):
        identity = 0

        @staticmethod
        def combine(a, b):
            return a * b

    with pytest.raises(LawBroken, match="declared to have an identity, but combine\\(identity, a\\) == a fails"):
        check_aggregation(Product(), [2, 3])
