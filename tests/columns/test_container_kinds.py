"""Arrays and frames of every kind and type: rolling and with_columns give the same, in kind, and what nobody reads
comes back as it was."""

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples

import slidewise as sw

DAY = dt.date(2024, 1, 1)
NOON = dt.datetime(2024, 1, 1, 12)

#: a few values of every type, none of them null
TYPES: dict[str, Any] = {
    "int8": (pa.int8(), [3, -1, 2]),
    "int16": (pa.int16(), [3, -1, 2]),
    "int32": (pa.int32(), [3, -1, 2]),
    "int64": (pa.int64(), [2**53 + 1, -1, 2]),
    "uint8": (pa.uint8(), [3, 1, 2]),
    "uint16": (pa.uint16(), [3, 1, 2]),
    "uint32": (pa.uint32(), [2**32 - 1, 1, 2]),
    "uint64": (pa.uint64(), [2**62, 1, 2]),
    "float16": (pa.float16(), [np.float16(1.5), np.float16(-2.0), np.float16(0.25)]),
    "float32": (pa.float32(), [1.5, -2.0, float("inf")]),
    "float64": (pa.float64(), [1.5, -2.0, 1e300]),
    "bool": (pa.bool_(), [True, False, True]),
    "decimal": (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("-2.00"), Decimal("0.01")]),
    "wide decimal": (pa.decimal128(38, 2), [Decimal("1.50"), Decimal("1" * 30 + ".25"), Decimal("0.01")]),
    "string": (pa.string(), ["b", "", "a"]),
    "large string": (pa.large_string(), ["b", "", "a"]),
    "string view": (pa.string_view(), ["b", "", "a longer one than twelve letters"]),
    "binary": (pa.binary(), [b"b", b"", b"a"]),
    "date": (pa.date32(), [DAY, DAY - dt.timedelta(1), dt.date(1969, 1, 1)]),
    "timestamp": (pa.timestamp("us"), [NOON, NOON - dt.timedelta(1), dt.datetime(1969, 1, 1)]),
    "nanoseconds": (pa.timestamp("ns"), [NOON, NOON - dt.timedelta(1), dt.datetime(1969, 1, 1)]),
    "zoned": (pa.timestamp("us", "Europe/Vienna"), [NOON, NOON - dt.timedelta(1), dt.datetime(1969, 1, 1)]),
    "duration": (pa.duration("us"), [dt.timedelta(1), dt.timedelta(-1), dt.timedelta(0, 1)]),
    "time": (pa.time64("us"), [dt.time(1), dt.time(0), dt.time(23, 59)]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["b", "a", "c"]),
    "list": (pa.list_(pa.int64()), [[1], [], [2, 3]]),
    "list of views": (pa.list_(pa.string_view()), [["a"], [], ["b", None]]),
    "struct": (pa.struct([("a", pa.int64()), ("b", pa.string_view())]), [{"a": 1, "b": "x"}, {"a": 2, "b": None}, {}]),
    "null": (pa.null(), [None]),
    "run ends": (pa.run_end_encoded(pa.int32(), pa.int64()), [1, 1, 5]),
    "run ends of text": (pa.run_end_encoded(pa.int32(), pa.string()), ["b", "b", "a"]),
}

NAMES = (
    "count sum avg min max product stddev median mode count_distinct first last collect_list collect_set m4 bool_or "
)
NAMES += "bit_or string_agg"
AGGREGATIONS = {
    "count()": sw.count(),
    **{name: getattr(sw, name)("x") for name in NAMES.split()},
    "nth": sw.nth_value("x", 2),
    "disc": sw.percentile_disc("x", 0.5),
}


def array_of(type_name, places):
    kind, values = TYPES[type_name]
    taken = [None if k is None else values[k % len(values)] for k in places]
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_encode(pa.array(taken, kind.value_type))
    return pa.array(taken, kind)


def nullable(array):
    """As pandas has it with masks beside the values; None where it has no such type."""
    return array.to_pandas(types_mapper=_NULLABLE.get) if array.type in _NULLABLE else None


_NULLABLE = {
    pa.int8(): pd.Int8Dtype(), pa.int16(): pd.Int16Dtype(), pa.int32(): pd.Int32Dtype(), pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(), pa.uint16(): pd.UInt16Dtype(), pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(), pa.float32(): pd.Float32Dtype(), pa.float64(): pd.Float64Dtype(),
    pa.bool_(): pd.BooleanDtype(), pa.string(): pd.StringDtype(),
}  # fmt: skip


def as_numpy(array):
    """A masked array, or a plain one where there are no nulls."""
    if pa.types.is_nested(array.type) or pa.types.is_null(array.type) or pa.types.is_run_end_encoded(array.type):
        return None
    plain = array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array
    plain = plain.cast(pa.string()) if pa.types.is_string_view(plain.type) else plain
    if not array.null_count:
        return plain.to_numpy(zero_copy_only=False)
    known = plain.drop_null()
    if not len(known):
        return None
    return np.ma.masked_array(
        plain.fill_null(known[0]).to_numpy(zero_copy_only=False), array.is_null().to_numpy(zero_copy_only=False)
    )


def as_pandas(array):
    if pa.types.is_run_end_encoded(array.type) or array.type == pa.list_(pa.string_view()):
        return None
    return array.to_pandas()


def indexed(series):
    return (
        None if series is None else series.set_axis(pd.Index(np.arange(len(series))[::-1] * 10, name="id")).rename("x")
    )


def as_polars(array):
    if pa.types.is_run_end_encoded(array.type):
        return None
    return pl.Series("x", array)


#: an array of each kind from one of Arrow; None where the kind has no such type
KINDS = {
    "Arrow": lambda array: array,
    "chunks": lambda array: pa.chunked_array([array[:1], array[1:]], array.type),
    "NumPy": as_numpy,
    "pandas": lambda array: indexed(as_pandas(array)),
    "nullable": lambda array: indexed(nullable(array)),
    "pandas of Arrow": lambda array: indexed(
        pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))
        if not pa.types.is_run_end_encoded(array.type)
        else None
    ),
    "polars": as_polars,
}


def frame_of(x):
    """A frame of one column; a dict of one array where arrays are all there is."""
    if isinstance(x, pa.Array | pa.ChunkedArray):
        return pa.table({"x": x})
    if isinstance(x, pd.Series | pl.Series):
        return x.to_frame("x") if isinstance(x, pd.Series) else x.to_frame()
    return {"x": x}


def outcome(call):
    try:
        return call(), None
    except (sw.InvalidInput, OverflowError) as error:
        return None, str(error)


def assert_same(found, expected):
    """Equal values of one type, in one kind of array."""
    if isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(found, expected, check_names=False)
    elif isinstance(expected, pl.Series):
        pl.testing.assert_series_equal(found, expected, check_names=False)
    elif isinstance(expected, pa.ChunkedArray):
        array = pa.chunked_array([found]) if isinstance(found, pa.Array) else found
        assert array.type == expected.type
        assert repr(array.to_pylist()) == repr(expected.to_pylist())
    else:
        assert type(found) is type(expected)
        assert found.dtype == expected.dtype
        assert repr(found.tolist()) == repr(expected.tolist())


def assert_in_kind(found, x):
    kinds = (pa.ChunkedArray, pa.Array, pd.Series, pl.Series, np.ndarray)
    assert next(k for k in kinds if isinstance(found, k)) is next(k for k in kinds if isinstance(x, k))
    if isinstance(x, pd.Series):
        assert found.index.equals(x.index)
    if isinstance(x, pd.Series | pl.Series):
        assert found.name == x.name


def check(type_name, kind_name, places, names, window):
    """Rolling is with_columns over one column, and what is refused there is refused here, with the same words."""
    x = KINDS[kind_name](array_of(type_name, places))
    if x is None:
        return
    for name in names:
        aggregation = AGGREGATIONS[name]
        if name == "collect_set" and pa.types.is_nested(TYPES[type_name][0]):
            continue
        expected, refused = outcome(lambda: sw.with_columns(frame_of(x), r=aggregation.over(window))["r"])  # noqa: B023
        found, words = outcome(lambda: sw.rolling(x, aggregation, window))  # noqa: B023
        assert words == refused, name
        if refused is None:
            assert_same(found, expected)
            assert_in_kind(found, x)


@examples(60)
@given(
    type_name=st.sampled_from(list(TYPES)),
    kind_name=st.sampled_from(list(KINDS)),
    places=st.lists(st.none() | st.integers(0, 2), max_size=8),
    names=st.lists(st.sampled_from(list(AGGREGATIONS)), min_size=1, max_size=4, unique=True),
    window=st.sampled_from(
        [sw.rows(1), sw.rows(2), sw.rows(3, min_rows=2), sw.rows_between(-1, 1), sw.rows_between(1, 2)]
    ),
)
def test_rolling_is_with_columns_over_one_column(type_name, kind_name, places, names, window):
    check(type_name, kind_name, places, names, window)


@pytest.mark.soak
@pytest.mark.parametrize("kind_name", KINDS)
@pytest.mark.parametrize("type_name", TYPES)
def test_rolling_is_with_columns_for_every_type_kind_and_aggregation(type_name, kind_name):
    for places in ([0, None, 1, 1, 2], [0, 1, 2], [], [None, None]):
        check(type_name, kind_name, places, list(AGGREGATIONS), sw.rows(2))
