"""Every registered aggregation on every Arrow type, with the largest and smallest values that the type has.

What comes out equals plain Python's answer, computed here from lists; what cannot be computed is refused in words.
"""

import datetime as dt
import math
import random
import warnings
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pyarrow as pa
import pytest
from support.aggregations import build

import slidewise as sw
from slidewise.registry.aggregations import AGGREGATIONS

I64, NAN, INF = 2**63 - 1, math.nan, math.inf
#: values by type: the extremes first
INTEGERS = {
    f"{sign}int{bits}": (pa.type_for_alias(f"{sign}int{bits}"), [0, 1, 2**bits - 1, 2**bits // 2] if sign else whole)
    for bits in (8, 16, 32, 64)
    for sign, whole in (("", [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0, -1]), ("u", []))
}
TYPES = {
    **INTEGERS,
    "float16": (pa.float16(), [NAN, INF, -INF, 65504.0, -0.0, 6e-08]),
    "float32": (pa.float32(), [NAN, INF, -INF, 3.4028234663852886e38, -0.0, 1e-45]),
    "float64": (pa.float64(), [NAN, INF, -INF, 1.7976931348623157e308, -1.7976931348623157e308, -0.0, 5e-324]),
    "bool": (pa.bool_(), [True, False]),
    "decimal(3, 1)": (pa.decimal128(3, 1), [Decimal("99.9"), Decimal("-99.9"), Decimal("0.0")]),
    "decimal(18, 0)": (pa.decimal128(18, 0), [Decimal(10**18 - 1), Decimal(1 - 10**18), Decimal(7)]),
    "decimal(38, 10)": (pa.decimal128(38, 10), [Decimal(10**38 - 1).scaleb(-10, Context(50)), Decimal("0.0000000001")]),
    "decimal256(40, 2)": (pa.decimal256(40, 2), [Decimal("1.25"), Decimal("-3.50")]),
    "decimal256(76, 0)": (pa.decimal256(76, 0), [Decimal(10**76 - 1), Decimal(1 - 10**76), Decimal(1)]),
    "string": (pa.string(), ["", "z", "\U0010ffff", "a" * 50]),
    "string_view": (pa.string_view(), ["", "z", "longer than twelve bytes"]),
    "binary": (pa.binary(), [b"", b"\xff", b"\x00"]),
    "fixed binary": (pa.binary(2), [b"\xff\xff", b"\x00\x00"]),
    "date32": (pa.date32(), [dt.date.min, dt.date.max, dt.date(1970, 1, 1)]),
    "date64": (pa.date64(), [dt.date.min, dt.date.max, dt.date(1970, 1, 1)]),
    "timestamp[us]": (pa.timestamp("us"), [dt.datetime.min, dt.datetime.max, dt.datetime(1970, 1, 1)]),
    "timestamp[s, UTC]": (pa.timestamp("s", "UTC"), [dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)]),
    "duration[us]": (pa.duration("us"), [dt.timedelta(microseconds=us) for us in (2**62, -(2**62), 0)]),
    "time64": (pa.time64("us"), [dt.time.min, dt.time.max]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["", "z", "\U0010ffff"]),
    "dictionary of uint64": (pa.dictionary(pa.int8(), pa.uint64()), [0, 2**64 - 1, 2**63]),
    "list": (pa.list_(pa.float64()), [[], [1.0, NAN], [NAN, 1.0], [-0.0], [None]]),
    "struct": (pa.struct({"a": pa.int64(), "b": pa.list_(pa.utf8())}), [{"a": I64, "b": ["x"]}, {"a": None, "b": []}]),
    "map": (pa.map_(pa.string(), pa.float64()), [[("k", NAN)], []]),
    "null": (pa.null(), []),
}  # fmt: skip
W = 4


def made(entry):
    return build(entry.name, *["x"] * max(1, build(entry.name).arity))


def values_of(name, n=40):
    _, extremes = TYPES[name]
    rng = random.Random(name)
    return [rng.choice([*extremes, None]) for _ in range(n)]


def cell(value):
    """A value as it is compared: all NaNs are one, zeros have no sign, lists and structs are seen through."""
    if isinstance(value, list | tuple):
        return tuple(cell(v) for v in value)
    if isinstance(value, dict):
        return tuple((k, cell(v)) for k, v in value.items())
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    return value


def order(value):
    """What values are sorted by: NaN above all."""
    return (value != value, 0 if value != value else value)


def unique(values):
    return [v for i, v in enumerate(values) if cell(v) not in map(cell, values[:i])]


def exact_mean(values):
    """Python's mean; NaN and infinities as arithmetic has them."""
    if isinstance(values[0], float):
        return sum(values) / len(values)
    if isinstance(values[0], dt.timedelta):  # rounded half away from zero, to microseconds
        total = sum(v // dt.timedelta(microseconds=1) for v in values)
        half = (2 * abs(total) + len(values)) // (2 * len(values))
        return dt.timedelta(microseconds=half if total > 0 else -half)
    return Fraction(sum(map(Fraction, values)), len(values))


def median(values):
    ordered = sorted(values, key=order)
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    if isinstance(low, float) or isinstance(high, float):
        return low * 0.5 + high * 0.5 if cell(low) != cell(high) else low
    return float((Fraction(low) + Fraction(high)) / 2)


#: of the values of a frame that are not null, of which there is one or more
ORACLES = {
    "count": len,
    "max": lambda v: max(v, key=order),
    "min": lambda v: min(v, key=order),
    "collect_list": list,
    "collect_set": unique,
    "count_distinct": lambda v: len(unique(v)),
    "mode": lambda v: min((x for x in v if _many(x, v) == max(_many(y, v) for y in v)), key=order),
    "median": median,
    "percentile_disc": lambda v: sorted(v, key=order)[max(0, math.ceil(0.25 * len(v)) - 1)],
    "nth_smallest": lambda v: sorted(v, key=order)[1] if len(v) > 1 else None,
    "bool_and": all,
    "bool_or": any,
    "bit_or": lambda v: _or(v),
    "string_agg": "".join,
    "max_count": lambda v: _many(max(v, key=order), v),
    "min_count": lambda v: _many(min(v, key=order), v),
    "sum": lambda v: sum(v[1:], v[0]),
    "avg": exact_mean,
}
#: of all values of a frame
OF_ALL = {"first": lambda v: v[0], "last": lambda v: v[-1], "nth_value": lambda v: v[1] if len(v) > 1 else None}


def _many(value, values):
    return sum(cell(v) == cell(value) for v in values)


def _or(values):
    total = 0
    for value in values:
        total |= value
    return total


def close(found, wanted):
    """Equal; or, for what is computed in doubles, to 15 digits."""
    if found is None or wanted is None:
        return found is wanted
    if isinstance(found, float) and isinstance(wanted, int | Fraction):
        wanted = float(wanted)
    if isinstance(found, float) and math.isfinite(wanted):
        return math.isclose(found, wanted, rel_tol=1e-14, abs_tol=1e-300)
    if isinstance(found, Decimal) and isinstance(wanted, Fraction):  # a mean, rounded to its scale
        return abs(Fraction(found) - wanted) <= Fraction(1, 2) * Fraction(10) ** int(found.as_tuple().exponent)
    return cell(found) == cell(wanted)


def computed(entry, array, **call):
    """The results, or None where they are refused: by our own errors, or since they leave 64 bits or their digits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.CompileFallback)
        try:
            out = sw.with_columns(pa.table({"x": array}), y=made(entry).over(W), **call)["y"]
        except sw.InvalidInput as error:
            assert "'x'" in str(error) or entry.name in str(error), error
            return None
        except OverflowError as error:
            assert entry.name in str(error) or "digits" in str(error), error
            return None
    return out.to_pylist()


#: the types of which others' kernels are not compiled anew in the quick tests
QUICK = ("uint64", "decimal256(76, 0)", "list", "struct", "string", "null")


@pytest.mark.full
@pytest.mark.parametrize("name", [t if t in QUICK else pytest.param(t, marks=pytest.mark.soak) for t in TYPES])
@pytest.mark.parametrize("entry", AGGREGATIONS, ids=lambda entry: entry.name)
def test_extremes_give_plain_pythons_answer_or_are_refused_in_words(entry, name):
    kind, _ = TYPES[name]
    values = pa.array(values_of(name), kind).to_pylist()
    out = computed(entry, pa.array(values, kind))
    if out is None or entry.name not in ORACLES | OF_ALL:
        return
    for i, found in enumerate(out):
        frame = values[max(0, i - W + 1) : i + 1]
        held = [v for v in frame if v is not None]
        with localcontext(prec=200):
            if entry.name in OF_ALL:
                wanted = OF_ALL[entry.name](frame)
            elif held:
                wanted = ORACLES[entry.name](held)
            else:
                wanted = {"count": 0, "count_distinct": 0, "collect_list": [], "collect_set": []}.get(entry.name)
            assert close(found, wanted), (i, frame, found, wanted)


# ---- what was found by it, one by one
def column(kind, values, aggregation, window=W):
    return sw.with_columns(pa.table({"x": pa.array(values, kind)}), y=aggregation.over(window))["y"]


@pytest.mark.parametrize("name", ["list", "struct", "map"])
def test_sets_and_counts_of_nested_values(name):
    kind, _ = TYPES[name]
    values = pa.array(values_of(name), kind).to_pylist()
    frames = [[v for v in values[max(0, i - W + 1) : i + 1] if v is not None] for i in range(len(values))]
    wanted = [unique(frame) for frame in frames]
    assert cell(column(kind, values, sw.collect_set("x")).to_pylist()) == cell(wanted)
    assert column(kind, values, sw.count_distinct("x")).to_pylist() == list(map(len, wanted))
    sets, counts = (sw.Window(a, W) for a in (sw.collect_set(), sw.count_distinct()))
    assert cell([r.value for v in values for r in sets.push(v)]) == cell(wanted)
    assert [r.value for v in values for r in counts.push(v)] == list(map(len, wanted))
    assert counts.from_bytes(counts.to_bytes()).push([9])[0].value == len(unique([*frames[-1][-3:], [9]]))


def test_sums_and_means_of_decimal256_have_its_digits():
    values = [Decimal(10**60), Decimal("0.5"), None, Decimal(10**60)]
    with localcontext(prec=100):
        total = column(pa.decimal256(70, 1), values, sw.sum("x"))
        assert total.type == pa.decimal256(76, 1)
        assert total.to_pylist() == [values[0], values[0] + values[1], values[0] + values[1], 2 * values[0] + values[1]]
        mean = column(pa.decimal256(70, 1), values, sw.avg("x"))
        assert mean.type == pa.decimal256(74, 5)
        assert mean.to_pylist()[1] == (values[0] + values[1]) / 2
    with pytest.raises(OverflowError, match="digits"):
        column(pa.decimal256(76, 0), [Decimal(10**76 - 1)] * 2, sw.sum("x"))


def test_medians_of_the_upper_half_of_uint64():
    values = [2**63, 2**63 + 2**20, 2**64 - 1, None, 1]
    for kind in (pa.uint64(), pa.dictionary(pa.int8(), pa.uint64())):
        found = column(kind, values, sw.median("x"), 3).to_pylist()
        held = [[v for v in values[max(0, i - 2) : i + 1] if v is not None] for i in range(5)]
        assert found == [pytest.approx(median(frame), rel=1e-15) for frame in held]
    others = sw.rows_between(-2, 0, exclude="current row")
    found = column(pa.uint64(), values, sw.percentile("x", 0.75), others).to_pylist()
    assert found[2] == 2**63 + 0.75 * 2**20


@pytest.mark.parametrize("offset", [Decimal("-0.1"), -0.1])
@pytest.mark.parametrize("kind", [pa.decimal128(2, 1), pa.decimal128(18, 3), pa.float64()])
def test_distances_may_be_decimals(offset, kind):
    at = pa.array([Decimal("0.1"), Decimal("0.2"), Decimal("0.4")]).cast(kind)
    for window in (sw.range_between(offset, 0), sw.time(-offset)):
        out = sw.with_columns(pa.table({"t": at}), order_by="t", n=sw.count().over(window))
        assert out["n"].to_pylist() == [1, 2, 1]
    w = sw.Window(sw.count(), sw.time(-offset * 10))
    assert [r.value for t in (1, 2.0, 4) for r in w.push(0, time=t)] == [1, 2]  # peers may follow


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_an_order_of_text_is_to_be_parsed(kind):
    table = pa.table({"day": pa.array(["2024-01-01", "2024-01-02"], kind)})
    message = r"'day' is of (large_)?string.*text.*parse it first.*pd.to_datetime\(df\[\"day\"\]\).*to_timestamp"
    for window in (sw.time("1d"), sw.time(5), sw.range_between(-1, 0)):
        with pytest.raises(sw.InvalidInput, match=message):
            sw.with_columns(table, order_by="day", n=sw.count().over(window))
    for slide in (sw.time("1d", every="1d"), sw.rows(2, every="1d"), sw.delta("day", 5, every=2)):
        with pytest.raises(sw.InvalidInput, match=message):
            sw.aggregate(table, order_by="day", window=slide, n=sw.count())
    with pytest.raises(sw.InvalidInput, match="text: parse it"):
        sw.Window(sw.count(), sw.time("1d")).push(1, time="2024-01-01")


def test_means_of_durations_fit_where_their_sums_do_not():
    microseconds = [-(2**62), -(2**62), -(2**62), 2**62, 2**62, 2**62, 5, None, -(2**62) - 1]
    values = [None if us is None else dt.timedelta(microseconds=us) for us in microseconds]
    for algorithm in ("auto", "recalculate"):
        for n in (1, 2, 3, 9):
            table = pa.table({"x": pa.array(values, pa.duration("us"))})
            found = sw.with_columns(table, y=sw.avg("x").over(n), algorithm=algorithm)["y"].to_pylist()
            frames = [[v for v in values[max(0, i - n + 1) : i + 1] if v is not None] for i in range(len(values))]
            assert found == [exact_mean(frame) if frame else None for frame in frames]
    with pytest.raises(OverflowError, match="sum"):
        column(pa.duration("us"), values, sw.sum("x"), 3)


TWO, ONE_HOUR = 1698537600, 3600  # 2:00 in Zurich, on the night on which clocks go from 3:00 back to 2:00


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 1, None], pa.time64("ns")),
        pa.array([1, 2, 1, None], pa.timestamp("ns")),
        pa.array([TWO, TWO + ONE_HOUR, TWO, None], pa.timestamp("s", "Europe/Zurich")),
        pa.array([-(10**14), 10**14, -(10**14), None], pa.timestamp("s")),  # of years that Python has not
        pa.array([[1], [2], [1], None], pa.list_(pa.time64("ns"))),
        pa.array([{"a": TWO}, {"a": TWO + ONE_HOUR}, {"a": TWO}, None], pa.struct([("a", pa.timestamp("s", "CET"))])),
        pa.array([[1, 1], [1, 2], [1, 1], None], pa.list_(pa.duration("ns"), 2)),
        pa.array([[("k", 1)], [("k", 2)], [("k", 1)], None], pa.map_(pa.string(), pa.time64("ns"))),
        pa.array([NAN, -0.0, NAN, None]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None], "i4"), pa.array([[1], [2], [1]])),
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16, b"b" * 16, b"a" * 16, None], pa.binary(16))),
        pa.DictionaryArray.from_arrays(pa.array([1, 2, 1, 0], "i4"), pa.array([None, "a", "b"])),
        pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1", "2", "1", None])),
    ],
    ids=lambda column: str(column.type),
)
@pytest.mark.parametrize("exclude", [None, "current row"])
def test_sets_and_lists_hold_the_very_values_of_a_column(column, exclude):
    window = sw.rows_between(-3, 3, exclude=exclude)
    table = pa.table({"x": column})
    out = sw.with_columns(
        table,
        s=sw.collect_set("x").over(window),
        l=sw.collect_list("x").over(window),
        n=sw.count_distinct("x").over(window),
    )
    assert out["n"][3].as_py() == 2
    for name, rows in (("s", [0, 1]), ("l", [0, 1, 2])):
        assert out[name].type.value_type == column.type
        assert str(out[name][3].values) == str(column.take(pa.array(rows))), name


def test_a_null_entry_of_a_dictionary_stands_for_no_value_in_a_set():
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1], "i4"), pa.array([None, "a"]))
    assert sw.with_columns(pa.table({"x": column}), s=sw.collect_set("x").over(2))["s"].to_pylist() == [[], ["a"]]
