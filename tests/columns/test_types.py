"""Every Arrow type: what comes out has the right type and exact values, and what does not fit is refused by name."""

import datetime as dt
from decimal import Context, Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from support.tiers import in_full, quick

import slidewise as sw

ORDERED = {
    "int8": pa.array([3, -128, None, 127], pa.int8()),
    "int64": pa.array([2**63 - 1, -(2**63), None, 2**53 + 1]),
    "uint8": pa.array([3, 0, None, 255], pa.uint8()),
    "uint64": pa.array([3, 0, None, 2**64 - 1], pa.uint64()),
    "small uint64": pa.array([3, 0, None, 9], pa.uint64()),
    "float16": pa.array(np.array([1.5, -2.0, 0.0, 8.0], np.float16), mask=np.array([False, False, True, False])),
    "float32": pa.array([1.5, -2.0, None, 8.0], pa.float32()),
    "float64": pa.array([1.5, -2.0, None, float("inf")]),
    "bool": pa.array([True, False, None, True]),
    "decimal": pa.array([Decimal("1.25"), Decimal("-3.50"), None, Decimal("7.00")], pa.decimal128(9, 2)),
    "wide decimal": pa.array([Decimal(10**30), Decimal(-(10**30)), None, Decimal(1)], pa.decimal128(38, 0)),
    "decimal256": pa.array([Decimal(10**50), Decimal(-(10**50)), None, Decimal(1)], pa.decimal256(60, 0)),
    "string": pa.array(["to", "be", None, "or"]),
    "large_string": pa.array(["to", "be", None, "or"], pa.large_string()),
    "string_view": pa.array(["to", "be", None, "or"], pa.string_view()),
    "binary": pa.array([b"to", b"", None, b"\xff"]),
    "fixed binary": pa.array([b"to", b"be", None, b"\xff\x00"], pa.binary(2)),
    "dictionary": pa.array(["to", "be", None, "or"]).dictionary_encode(),
    "dictionary of integers": pa.array([30, 10, None, 20]).dictionary_encode(),
    "dictionary of floats": pa.array([3.0, 1.0, None, 2.0]).dictionary_encode(),
    "dictionary of times": pa.array([30, 10, None, 20], pa.timestamp("s", "UTC")).dictionary_encode(),
    "date32": pa.array([dt.date(2024, 2, 29), dt.date(1969, 1, 1), None, dt.date(2025, 1, 1)]),
    "date64": pa.array([dt.date(2024, 2, 29), dt.date(1969, 1, 1), None, dt.date(2025, 1, 1)], pa.date64()),
    **{
        f"timestamp[{unit}]": pa.array([5, -7, None, 9], pa.timestamp(unit, zone))
        for unit, zone in (("s", None), ("ms", "UTC"), ("us", "Europe/Berlin"), ("ns", "+02:00"))
    },
    **{f"duration[{unit}]": pa.array([5, -7, None, 9], pa.duration(unit)) for unit in ("s", "ms", "us", "ns")},
    "time32": pa.array([5, 1, None, 9], pa.time32("s")),
    "time64": pa.array([5, 1, None, 9], pa.time64("ns")),
}
WINDOW = sw.rows(2)
KEPT = {"string_view": pa.large_string()}


def column(array, aggregation, window=WINDOW, **call):
    out = sw.with_columns(pa.table({"x": array}), r=aggregation.over(window), **call)["r"]
    return out.chunk(0) if isinstance(out, pa.ChunkedArray) else out


#: types of a width of their own, for which kernels are compiled anew
NARROW = ("int8", "uint8", "uint64", "float16", "float32", "date32", "time32")
OFTEN = [pytest.param(name, marks=pytest.mark.soak) if name in NARROW else name for name in ORDERED if name != "bool"]


@pytest.mark.parametrize("name", [*OFTEN, *in_full("bool")])
def test_every_ordered_type_keeps_its_type_and_its_values(name):
    array = ORDERED[name]
    kind = KEPT.get(name, array.type)
    a, b, _, d = range(4)
    low = [a, b, b, d]
    high = [a, a, b, d]
    if name == "bool":
        high = [0, 0, 1, 3]
    picks = {
        sw.max("x"): high,
        sw.min("x"): low,
        sw.last("x", ignore_nulls=True): [0, 1, 1, 3],
        sw.first("x", ignore_nulls=True): [0, 0, 1, 3],
        sw.percentile_disc("x", 0.5): low,
        sw.nth_smallest("x", 1): low,
        sw.mode("x"): low,
        sw.max_by("x", "x"): high,
    }
    for algorithm in ("auto", "recalculate"):
        for aggregation, rows in picks.items():
            out = column(array, aggregation, algorithm=algorithm)
            assert out.type == kind, aggregation
            assert out.to_pylist() == [array[i].as_py() for i in rows], (aggregation, algorithm)
        out = column(array, sw.last("x"), algorithm=algorithm)
        assert out.type == kind
        assert out.to_pylist() == array.to_pylist()
        assert column(array, sw.count_distinct("x"), algorithm=algorithm).to_pylist() == [1, 2, 1, 1]
        assert column(array, sw.max_count("x"), algorithm=algorithm).to_pylist() == [1, 1, 1, 1]
        lists = column(array, sw.collect_list("x"), algorithm=algorithm)
        assert lists.type == pa.list_(kind)
        assert lists.to_pylist() == [[array[i].as_py() for i in rows] for rows in ([0], [0, 1], [1], [3])]
        parts = column(array, sw.m4("x"), algorithm=algorithm)
        assert [field.type for field in parts.type] == [kind] * 4
        assert parts.field("max").to_pylist() == [array[i].as_py() for i in high]


@pytest.mark.parametrize("name", quick(ORDERED, *ORDERED.keys() - {"bool", *NARROW}))
def test_sliced_and_chunked_columns(name):
    array = ORDERED[name]
    table = pa.table({"x": pa.chunked_array([array.slice(1, 2), array.slice(3), array.slice(0, 0)])})
    out = sw.with_columns(table, r=sw.max("x").over(sw.rows(3)), n=sw.count("x").over(sw.rows(3)))
    assert out["r"].to_pylist() == [array[1].as_py(), array[1].as_py(), array[3].as_py()]
    assert out["n"].to_pylist() == [1, 1, 2]


def test_equal_and_null_entries_of_a_dictionary():
    values = pa.array(["b", "a", "b", None])
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None], pa.int8()), values)
    table = pa.table({"x": array})
    out = sw.with_columns(
        table,
        d=sw.count_distinct("x").over(sw.rows(9)),
        m=sw.min("x").over(sw.rows(9)),
        n=sw.count("x").over(sw.rows(9)),
    )
    assert out["d"].to_pylist() == [1, 2, 2, 2, 2]
    assert out["m"].to_pylist() == ["b", "a", "a", "a", "a"]
    assert out["n"].to_pylist() == [1, 2, 3, 3, 3]


# ---- arithmetic
@pytest.mark.parametrize("algorithm", ["auto", "recalculate"])
def test_types_of_sums_and_means(algorithm):
    def result(array, aggregation):
        out = column(array, aggregation, algorithm=algorithm)
        return out.type, out.to_pylist()

    assert result(pa.array([100, 100], pa.int8()), sw.sum("x")) == (pa.int64(), [100, 200])
    assert result(pa.array([2**62, 2**62 - 1]), sw.sum("x")) == (pa.int64(), [2**62, 2**63 - 1])
    assert result(pa.array([2**53 + 1, 2**53 + 3]), sw.avg("x")) == (pa.float64(), [2.0**53, 2.0**53 + 2])
    assert result(pa.array([1, 2], pa.uint64()), sw.sum("x")) == (pa.int64(), [1, 3])
    assert result(pa.array([0.5, 0.25], pa.float32()), sw.sum("x")) == (pa.float64(), [0.5, 0.75])
    assert result(pa.array([3, -4], pa.duration("ms")), sw.sum("x")) == (
        pa.duration("ms"),
        [dt.timedelta(milliseconds=3), dt.timedelta(milliseconds=-1)],
    )
    assert result(pa.array([3, -6], pa.duration("ms")), sw.avg("x")) == (
        pa.duration("ms"),
        [dt.timedelta(milliseconds=3), dt.timedelta(milliseconds=-2)],
    )
    with pytest.raises(OverflowError):
        result(pa.array([2**63 - 1, 1]), sw.sum("x"))
    with pytest.raises(OverflowError):
        result(pa.array([2**63, 2**63 + 1], pa.uint64()), sw.sum("x"))


@pytest.mark.parametrize("algorithm", ["auto", "recalculate"])
@pytest.mark.parametrize("digits", ["1.25", "92233720368547758.06", "99999999999999999999999999.99"])
def test_decimals_are_summed_exactly(digits, algorithm):
    value = Decimal(digits)
    kind = pa.decimal128(max(len(digits) - 1, 9), 2)
    array = pa.array([value, None, value, -value, Decimal("0.01")], kind)
    total = column(array, sw.sum("x"), sw.rows(3), algorithm=algorithm)
    assert total.type == pa.decimal128(min(38, kind.precision + 10), 2)
    twice = Decimal(2 * int(digits.replace(".", ""))).scaleb(-2, Context(prec=50))
    assert total.to_pylist() == [value, value, twice, 0, Decimal("0.01")]
    mean = column(array, sw.avg("x"), sw.rows(3), algorithm=algorithm)
    assert mean.type == pa.decimal128(min(38, kind.precision + 4), 6)
    assert mean.to_pylist() == [value, value, value, 0, Decimal("0.003333")]
    assert column(array, sw.median("x"), algorithm=algorithm).type == pa.float64()
    assert column(array, sw.stddev("x"), algorithm=algorithm).type == pa.float64()


@pytest.mark.parametrize(("digits", "scale", "of_mean"), [(38, 18, 22), (36, 2, 6), (38, 36, 38), (30, 28, 32)])
def test_means_of_wide_decimals_are_of_sparks_type(digits, scale, of_mean):
    array = pa.array([Decimal("0.5"), Decimal("0.25")], pa.decimal128(digits, scale))
    mean = column(array, sw.avg("x"), sw.rows(2))
    assert mean.type == pa.decimal128(min(38, digits + 4), of_mean)
    assert mean.to_pylist() == [Decimal("0.5"), Decimal("0.375")]


def test_a_decimal_sum_that_is_too_wide_is_an_error():
    array = pa.array([Decimal(10**38 - 1)] * 2, pa.decimal128(38, 0))
    with pytest.raises(OverflowError, match="more digits"):
        column(array, sw.sum("x"))


REFUSED = [
    (sw.sum("x"), pa.array(["a"]), "sum: the column 'x' is of string, and sum takes numbers or durations. Max, min"),
    (sw.avg("x"), pa.array([1], pa.timestamp("us")), "avg: the column 'x' is of timestamp"),
    (sw.sum("x"), pa.array([True]), "bool_and, bool_or or count"),
    (sw.stddev("x"), pa.array([1], pa.duration("s")), "stddev takes numbers. sum, avg"),
    (sw.median("x"), pa.array(["a"]), "Use percentile_disc"),
    (sw.percentile("x", 0.5), pa.array([dt.date(2024, 1, 1)]), "Use percentile_disc"),
    (sw.max("x"), pa.array([[1]]), "no order and no arithmetic: first, last"),
    (sw.bool_and("x"), pa.array([1]), "bool_and takes booleans"),
    (sw.bit_or("x"), pa.array([1.5]), "bit_or takes integers"),
    (sw.string_agg("x"), pa.array([1]), "string_agg takes text"),
    (sw.corr("x", "x"), pa.array(["a"]), "corr takes numbers"),
]


@pytest.mark.parametrize(("aggregation", "array", "message"), REFUSED, ids=lambda value: repr(value)[:20])
def test_what_does_not_fit_is_refused_by_name(aggregation, array, message):
    with pytest.raises(sw.InvalidInput, match=message):
        column(array, aggregation)


@pytest.mark.parametrize("array", [pa.array([[1], [2, 3], None]), pa.array([{"a": 1}, None, {"a": 2}])])
def test_nested_types_can_be_passed_on_and_counted(array):
    assert column(array, sw.first("x")).to_pylist() == [array[0].as_py(), array[0].as_py(), array[1].as_py()]
    assert column(array, sw.count("x")).to_pylist() == [1, array[1].is_valid + 1, 1]
    assert column(array, sw.collect_list("x")).to_pylist()[0] == [array[0].as_py()]


def test_a_column_of_nulls_of_no_type():
    array = pa.nulls(3)
    assert column(array, sw.sum("x")).to_pylist() == [None] * 3
    assert column(array, sw.max("x")).to_pylist() == [None] * 3
    assert column(array, sw.count("x")).to_pylist() == [0] * 3
    assert column(array, sw.string_agg("x")).to_pylist() == [None] * 3
    assert column(array, sw.count_distinct("x")).to_pylist() == [0] * 3


def test_an_own_aggregation_sees_python_values_of_other_types():
    class Longest(sw.Aggregation):
        selective = True
        keeps_type = True

        @staticmethod
        def combine(a, b):
            return b if len(b) > len(a) else a

    out = column(pa.array(["to", "not", None, "be"]), Longest("x"), sw.rows(3))
    assert out.type == pa.string()
    assert out.to_pylist() == ["to", "not", "not", "not"]


# ---- the type of results where there are none
class Longest(sw.Aggregation):
    """Interpreted on text."""

    identity = ""

    @staticmethod
    def combine(a, b):
        return a if len(a) >= len(b) else b


class Extent(sw.Aggregation):
    """A tuple of results, interpreted on text."""

    result_fields = ("least", "length")

    @staticmethod
    def lift(x):
        return (x, len(x))

    @staticmethod
    def combine(a, b):
        return (min(a[0], b[0]), a[1] + b[1])


@pytest.mark.parametrize("algorithm", ["auto", "recalculate"])
@pytest.mark.parametrize(
    ("aggregation", "values"),
    [
        (sw.approx_percentile("x", 0.5), pa.array([1, 2, 3])),
        (sw.approx_count_distinct("x"), pa.array([dt.date(2024, 1, 1)] * 3)),
        (sw.count_min_sketch("x"), pa.array(["a", "b", "c"])),
        (sw.bloom_filter("x"), pa.array([b"a", b"b", b"c"])),
        (sw.bloom_filter("x"), pa.array([[1], [2], [3]])),
        (sw.median("x"), pa.array([1, 2, 3], pa.int8())),
        (sw.nth_smallest("x", 2), pa.array(["a", "b", "c"]).dictionary_encode()),
        (sw.collect_set("x"), pa.array(["a", "b", "c"]).dictionary_encode()),
        (sw.string_agg("x"), pa.array(["a", "b", "c"])),
        (Longest("x"), pa.array(["a", "b", "c"])),
        (Extent("x"), pa.array(["a", "b", "c"])),
    ],
    ids=lambda p: p.name if isinstance(p, sw.Aggregation) else str(p.type),
)
def test_results_of_nulls_and_of_no_rows_have_the_type_of_others(aggregation, values, algorithm):
    over = aggregation.over(sw.rows(2), algorithm=algorithm)
    kinds = {
        sw.with_columns(pa.table({"x": column}), r=over)["r"].type
        for column in (values, pa.nulls(3, values.type), values[:0])
    }
    assert len(kinds) == 1 and pa.null() not in kinds


def test_masked_results_have_the_type_of_others():
    nothing = np.ma.masked_all(3, np.int64)
    out = sw.rolling(nothing, sw.approx_percentile(0.5), sw.rows(2))
    assert out.dtype == np.float64 and out.mask.all()


def test_lists_maps_and_structs_are_counted_by_what_is_in_them():
    nan = float("nan")
    lists = pa.array([[1.0, 2.0], [1.0, 2.0], None, [], [nan], [nan]], pa.list_(pa.float64()))
    structs = pa.array(
        [{"p": 1, "q": "x"}, {"p": 1, "q": "x"}, None, {"p": 2, "q": None}, {"p": 2, "q": None}, {"p": 2}]
    )
    out = sw.with_columns(
        pa.table({"a": lists, "s": structs}),
        lists=sw.count_distinct("a").over(sw.rows(9)),
        structs=sw.count_distinct("s").over(sw.rows(2)),
    )
    assert out["lists"].to_pylist() == [1, 1, 1, 2, 3, 3]
    assert out["structs"].to_pylist() == [1, 1, 1, 1, 1, 1]


# ---- what the random cases of slidewise.fuzz found
@pytest.mark.parametrize("kind", [pa.decimal32(9, 2), pa.decimal64(18, 2), pa.decimal256(18, 2)])
def test_decimals_of_every_width_are_ordered_counted_and_keys(kind):
    price = pa.array([Decimal("1.50"), Decimal("0.25"), None, Decimal("1.25"), Decimal("0.25")], kind)
    table = pa.table({"price": price, "n": [1, 2, 3, 4, 5]})
    window = sw.range_between(-1, 0)
    out = sw.with_columns(table, order_by="price", r=sw.collect_list("n").over(window))["r"].to_pylist()
    assert out == [[4, 1], [2, 5], [3], [2, 5, 4], [2, 5]]
    kinds = sw.with_columns(table, order_by="n", r=sw.count_distinct("price").over(sw.rows(9)))["r"].to_pylist()
    assert kinds == [1, 2, 2, 3, 3]
    counts = sw.with_columns(table, partition_by="price", r=sw.count().over(sw.rows(9)))["r"].to_pylist()
    assert counts == [1, 1, 1, 1, 2]


def test_decimals_in_a_dictionary_are_summed():
    price = pa.array([Decimal("1.50"), None, Decimal("1.25")], pa.decimal128(9, 2)).dictionary_encode()
    out = sw.with_columns(pa.table({"price": price}), a=sw.sum("price").over(2), b=sw.avg("price").over(sw.rows(3)))
    assert out["a"].to_pylist() == [Decimal("1.50"), Decimal("1.50"), Decimal("1.25")]
    assert out["b"].to_pylist() == [Decimal("1.5"), Decimal("1.5"), Decimal("1.375")]


def test_a_column_of_nothing_but_nulls_marks_no_rows():
    """pandas has no type for it."""
    frame = pd.DataFrame({"x": [1, 2, 3], "never": [None, None, None]})
    out = sw.with_columns(frame, a=sw.count(where="never").over(2), b=sw.count("x").over(sw.punctuation("never")))
    assert out["a"].tolist() == [0, 0, 0]
    assert out["b"].tolist() == [1, 2, 3]


def test_text_of_categories_without_any_is_null():
    frame = pd.DataFrame({"s": pd.Categorical.from_codes([-1, -1], pd.Index([], dtype=object))})
    assert sw.with_columns(frame, r=sw.string_agg("s", delimiter=",").over(sw.rows(2)))["r"].isna().all()
