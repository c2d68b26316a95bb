"""How aggregations are called, and what they refuse."""

import pytest

import slidewise as sw
from slidewise.errors import InvalidInput


@pytest.mark.parametrize("name", ["percentile", "percentile_disc", "approx_percentile", "quantile"])
def test_fractions(name):
    make = getattr(sw, name)
    assert make("temp", 0.95).columns == ("temp",)
    assert make(0.95).columns == ()
    assert make(fraction=0.95).parameters["fraction"] == 0.95
    with pytest.raises(InvalidInput, match=r"between 0 and 1, got 95\. Did you mean 0\.95\?"):
        make("temp", 95)
    for bad in (-0.1, 101, float("nan"), "0.5", True):
        with pytest.raises(InvalidInput, match="fraction must be"):
            make("temp", bad)
    with pytest.raises(InvalidInput, match="say which fraction"):
        make("temp")
    with pytest.raises(InvalidInput, match=r"Did you mean 0\.5"):
        make(0.5).lower(make(0.5).lift(1.0), 50)


@pytest.mark.parametrize("name", ["nth_value", "nth_smallest"])
def test_positions(name):
    make = getattr(sw, name)
    assert make("x", 2).parameters["n"] == make(2).parameters["n"] == 2
    for bad in (0, 1.5, True, *([-1] if name == "nth_smallest" else [])):  # nth_value counts from the end, too
        with pytest.raises(InvalidInput, match="n must be"):
            make("x", bad)
    with pytest.raises(InvalidInput, match="say which"):
        make("x")
    with pytest.raises(InvalidInput):
        make(2).lower(make(2).lift(1.0), 0)


def test_nth_value_keeps_only_what_it_needs():
    aggregation = sw.nth_value(2)
    with pytest.raises(InvalidInput, match="only the first 2"):
        aggregation.lower((1, 2), 3)


def test_columns():
    assert sw.max("temp").columns == ("temp",)
    assert sw.max_by("value", "ordering").columns == ("value", "ordering")
    assert sw.count("*").columns == sw.count().columns == ()
    with pytest.raises(InvalidInput, match="named by strings, got 3"):
        sw.max(3)
    with pytest.raises(InvalidInput, match="takes 2 columns or none, got 1"):
        sw.max_by("value")
    with pytest.raises(TypeError):
        sw.max("a", "b")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sw.bloom_filter(bits=0), "bits must be at least 8, got 0"),
        (lambda: sw.bloom_filter(hashes=0), "hashes must be between 1 and 64, got 0"),
        (lambda: sw.moment_sketch(order=1), "order must be between 2 and 20"),
        (lambda: sw.count_min_sketch(eps=0), "eps must be"),
        (lambda: sw.count_min_sketch(confidence=1), "confidence must be"),
        (lambda: sw.approx_count_distinct(rsd=2), "fraction must be|rsd must be"),
        (lambda: sw.approx_count_distinct(rsd=0.0001), "Use count_distinct"),
        (lambda: sw.approx_percentile(0.5, accuracy=0), "accuracy must be"),
        (lambda: sw.percentile(0.5, method="best"), '"spark" or "paper"'),
        (lambda: sw.string_agg(delimiter=3), "delimiter must be text"),
        (lambda: sw.string_agg().lift(3), "values must be text"),
        (lambda: sw.bool_and().lift(1), "values must be booleans"),
        (lambda: sw.bit_or().lift(1.5), "values must be integers"),
        (lambda: sw.bit_or().lift(True), "values must be integers"),
    ],
)
def test_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_interpolating_text_is_refused():
    aggregation = sw.median()
    with pytest.raises(InvalidInput, match="use percentile_disc"):
        aggregation.lower(aggregation.combine(aggregation.lift("a"), aggregation.lift("b")))


def test_mixed_types_raise():
    with pytest.raises(TypeError):
        sw.max().combine("a", 1)


def test_repr_and_equality():
    assert repr(sw.max("temp")) == "max('temp')"
    assert repr(sw.percentile("x", 0.9)) == "percentile('x', fraction=0.9)"
    assert sw.percentile("x", 0.9) == sw.percentile("x", 0.9)
    assert sw.percentile("x", 0.9) != sw.percentile("x", 0.8)
    assert sw.max("x") != sw.min("x")


def test_arity():
    assert sw.count().arity == sw.max().arity == sw.percentile(0.5).arity == sw.bloom_filter().arity == 1
    assert sw.max_by().arity == sw.corr().arity == 2
