"""Columns as kernels take them, and results as Arrow again.

A kernel works on numbers. What a column becomes depends on what an aggregation does with it (`Aggregation.accepts`):
numbers stay what they are, a value of any ordered type becomes a number that sorts like it, and a value that is only
passed on becomes the number of its row. Nulls are masks beside the numbers, never numbers themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.collecting import CollectList, CollectSet
from slidewise.aggregations.trial import compute_trial
from slidewise.aggregations.values import hashable
from slidewise.columns.buffers import all_valid, are_all_valid
from slidewise.errors import InvalidInput

#: results of an encoding, and which of them are not null, as Arrow
Decode = Callable[[np.ndarray, np.ndarray], pa.Array]

_ORDERED = {"integer", "float", "boolean", "decimal", "string", "binary", "date", "timestamp", "duration", "time"}
_ACCEPTED = {
    "number": {"integer", "float", "decimal"},
    "amount": {"integer", "float", "decimal", "duration"},
    "integer": {"integer"},
    "boolean": {"boolean"},
    "string": {"string"},
    "ordered": _ORDERED,
    "time": {"timestamp", "date"},
}
_WANTED = {
    "number": "numbers",
    "amount": "numbers or durations",
    "integer": "integers",
    "boolean": "booleans",
    "string": "text",
    "ordered": "values that have an order",
    "time": "timestamps or dates",
}


class Encoded(NamedTuple):
    """A column as numbers (or Python objects, where nothing else will do), and the way back."""

    values: np.ndarray
    decode: Decode


def family(kind: pa.DataType) -> str:
    """Tell what a type is, as far as aggregations care. O(1)."""
    if kind.id == pa.lib.Type_DICTIONARY:
        return family(kind.value_type)
    found = _families.get(kind.id)
    if found is None:
        found = next((name for name, checks in _TESTS.items() if any(check(kind) for check in checks)), "other")
        _families[kind.id] = found
    return found


_TESTS = {
    "integer": (pa.types.is_integer,),
    "float": (pa.types.is_floating,),
    "boolean": (pa.types.is_boolean,),
    "decimal": (pa.types.is_decimal,),
    "string": (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    "binary": (
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_fixed_size_binary,
        pa.types.is_binary_view,
    ),
    "date": (pa.types.is_date,),
    "timestamp": (pa.types.is_timestamp,),
    "duration": (pa.types.is_duration,),
    "time": (pa.types.is_time,),
    "null": (pa.types.is_null,),
}
#: by the number of a type: the tests ask for nothing else, and are asked several times in each call
_families: dict[int, str] = {}


# ---- what an aggregation takes
def encoding_for(aggregation: Aggregation, position: int, name: str, kind: pa.DataType) -> str:
    """Choose how a column is encoded for an argument of an aggregation; refuse a type that does not fit."""
    accepts = aggregation.accepts[min(position, len(aggregation.accepts) - 1)]
    of = family(kind)
    if accepts == "carried":
        return "row"
    if accepts == "any":
        if aggregation.distinct_values:
            return "equal"
        if isinstance(aggregation, CollectSet | CollectList):
            return "first"
        return "number" if of in ("integer", "float", "boolean") else "object"
    if of == "null":
        return "object" if accepts == "string" else "order"
    if of not in _ACCEPTED[accepts]:
        raise InvalidInput(
            f"{aggregation.name}: the column {name!r} is of {kind}, and {aggregation.name} takes {_WANTED[accepts]}. "
            + _instead(aggregation, of)
        )
    if accepts == "string":
        return "object"
    if accepts == "time":
        return "nanoseconds"
    if of == "decimal" and accepts in ("number", "amount"):
        return "unscaled" if accepts == "amount" else "double"
    return "order" if accepts == "ordered" or of == "duration" else "number"


def _instead(aggregation: Aggregation, of: str) -> str:
    if of == "other":
        return (
            "It has no order and no arithmetic: first, last, nth_value, count, count_distinct, collect_list and "
            "collect_set take it"
        )
    if aggregation.name == "ewm_avg" and of in ("integer", "float", "decimal", "timestamp", "date"):
        return 'half_life= is a length such as "1h" for timestamps and dates, and a number for times that are numbers'
    if aggregation.name in ("median", "percentile") and of in _ORDERED:
        return "Use percentile_disc, which takes one of the values"
    if of == "boolean" and aggregation.accepts[0] in ("number", "amount"):
        return "Cast it to integers, or use bool_and, bool_or or count(where=...)"
    ordered = "max, min, mode, percentile_disc, count_distinct, first and last take it"
    if of == "duration":
        return f"sum, avg, {ordered}"
    return (
        f"{ordered[0].upper()}{ordered[1:]}, string_agg too" if of == "string" else f"{ordered[0].upper()}{ordered[1:]}"
    )


# ---- encodings
def encode(array: pa.Array, how: str) -> Encoded:
    """Encode a column: as "number", "double", "unscaled", "order", "equal", "first", "nanoseconds" or "object"."""
    if pa.types.is_null(array.type):
        return Encoded(np.zeros(len(array), np.int64), lambda values, valid: pa.nulls(len(values), array.type))
    return _ENCODINGS[canonical(array, how)](array)


def canonical(array: pa.Array, how: str) -> str:
    """Return the encoding that one comes down to for a column: numbers are ordered, and equal, as they are.

    With the column's name it says what was made, so that all who read a column alike share it.
    """
    kind, of = array.type, family(array.type)
    if how == "first" and of in ("integer", "float", "boolean") and not pa.types.is_dictionary(kind):
        return "number"
    if how == "equal" and of != "other" and (pa.types.is_dictionary(kind) or of not in ("string", "binary")):
        how = "order"
    if how == "order" and of in ("integer", "float", "boolean") and not pa.types.is_dictionary(kind):
        beyond = pa.types.is_uint64(kind) and read_words(array, np.uint64).max(initial=0) >= 2**63
        return "order" if beyond else "number"
    return how


def _number(array: pa.Array) -> Encoded:
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _number(array.cast(kind.value_type))
    if pa.types.is_boolean(kind):
        return Encoded(array.fill_null(False).to_numpy(zero_copy_only=False), _to(kind))
    values = read_words(array, kind.to_pandas_dtype())
    if pa.types.is_float16(kind):  # numba has no half floats
        return Encoded(
            values.astype(np.float32), lambda out, valid: words_as_arrow(out.astype(np.float16), valid, kind)
        )
    if pa.types.is_uint64(kind) and values.max(initial=0) < 2**63:
        return Encoded(values.view(np.int64), _to(kind))
    return Encoded(values, _to(kind))


def _double(array: pa.Array) -> Encoded:
    return _number(array.cast(pa.float64()))


def _encode_decimals(array: pa.Array) -> Encoded:
    """Encode decimals as their digits, where those of all fit 64 bits; as Decimal objects where not."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _encode_decimals(array.cast(kind.value_type))
    digits = unscaled_digits(array)
    if digits is None:
        return _object(array)
    return Encoded(digits, lambda values, valid: decimals_as_arrow(values, valid, kind))


def _order(array: pa.Array) -> Encoded:
    kind = array.type
    of = family(kind)
    if pa.types.is_dictionary(kind):
        if of != "float":
            return _rank_dictionary(array)
        values, back = _number(array.cast(kind.value_type))  # two zeros or two NaNs may be two entries
        return Encoded(values, lambda out, valid: back(out, valid).dictionary_encode().cast(kind))
    if pa.types.is_uint64(kind):  # with values from 2**63 on
        top = np.uint64(1 << 63)
        flipped = (read_words(array, np.uint64) ^ top).view(np.int64)
        return Encoded(
            flipped, lambda out, valid: words_as_arrow(out.astype(np.int64).view(np.uint64) ^ top, valid, kind)
        )
    if of == "decimal":
        digits = unscaled_digits(array)
        if digits is not None:
            return Encoded(digits, lambda values, valid: decimals_as_arrow(values, valid, kind))
    if of in ("string", "binary", "decimal"):
        return _rank_dictionary(array.dictionary_encode(), kind)
    return Encoded(read_words(array, f"i{kind.bit_width // 8}"), _to(kind))


def _equal(array: pa.Array) -> Encoded:
    """Encode values as numbers that are equal where values are; only how many differ is asked for."""
    if pa.types.is_dictionary(array.type):  # of nested values, and entries may be equal
        array = array.dictionary_decode()
    try:
        codes = array.dictionary_encode().indices
    except pa.ArrowNotImplementedError:
        codes = _codes_of_nested(array)
    return _number(codes)


def _first(array: pa.Array) -> Encoded:
    """Encode each row as the first one that has an equal value."""
    null = mask_of(array)
    known = np.arange(len(array)) if null is None else np.flatnonzero(~null)  # a null has any number
    _, first, codes = np.unique(encode(array, "equal").values[known], return_index=True, return_inverse=True)
    rows = np.zeros(len(array), np.int64)
    rows[known] = known[first[codes]]
    return Encoded(rows, lambda rows, valid: array.take(integers_as_arrow(rows, valid)))


def _codes_of_nested(array: pa.Array) -> pa.Array:
    """Encode lists, maps and structs, of which Arrow makes no dictionary; NaN is equal to itself, as everywhere.

    Times in them are told apart as numbers: those of Python have no nanoseconds, and 2:30 twice where clocks go back.
    """
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    codes: dict[Any, int] = {}
    values = array.view(_with_plain_times(array.type)).to_pylist()
    return pa.array((None if v is None else codes.setdefault(hashable(v), len(codes)) for v in values), pa.int64())


def _with_plain_times(kind: pa.DataType) -> pa.DataType:
    """Replace the times in a type by the integers that they are made of."""
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(_with_plain_times(f.type)) for f in kind])
    if pa.types.is_map(kind):
        return pa.map_(_with_plain_times(kind.key_type), _with_plain_times(kind.item_type))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_with_plain_times(kind.value_type), kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        of = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return of(_with_plain_times(kind.value_type))
    return kind


def _rank_dictionary(array: pa.Array, kind: pa.DataType | None = None) -> Encoded:
    """Rank the distinct values of a dictionary. Two entries that are equal have one rank.

    An ordered dictionary (pandas' and polars' ordered categories) says itself how its entries are ordered.
    """
    entries = array.dictionary
    distinct = entries.dictionary_encode()
    count = len(distinct.dictionary)
    order = np.arange(count) if array.type.ordered else pc.sort_indices(distinct.dictionary).to_numpy()
    rank_of = np.empty(count, np.int64)
    rank_of[order] = np.arange(count)
    known = np.flatnonzero(entries.is_valid().to_numpy(zero_copy_only=False))  # an entry may be null
    ranks, entry_of = np.zeros(len(entries), np.int64), np.zeros(count, np.int64)
    ranks[known] = rank_of[distinct.indices.drop_null().to_numpy()]
    entry_of[ranks[known]] = known
    index_type = array.indices.type
    codes = read_words(array.indices, index_type.to_pandas_dtype())
    null = mask_of(array)
    if null is not None:
        codes = np.where(null, 0, codes)
    values = ranks[codes] if len(entries) else np.zeros(len(array), np.int64)

    def decode(out: np.ndarray, valid: np.ndarray) -> pa.Array:
        found = entry_of[np.where(valid, out, 0)] if count else np.zeros(len(out), np.int64)
        if kind is not None:
            return entries.take(integers_as_arrow(found, valid)).cast(kind)
        indices = words_as_arrow(found.astype(index_type.to_pandas_dtype()), valid, index_type)
        return pa.DictionaryArray.from_arrays(indices, entries, ordered=array.type.ordered)

    return Encoded(values, decode)


def _count_nanoseconds(array: pa.Array) -> Encoded:
    """Encode timestamps and dates as nanoseconds since 1970, whatever their unit: differences of them are exact."""
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    try:
        times = array.cast(pa.timestamp("ns", getattr(array.type, "tz", None)))
    except pa.ArrowInvalid:
        raise InvalidInput(
            f"times of {array.type} are measured in nanoseconds here, which are those of the years 1678 to 2262, and "
            "one is beyond: replace it, by null for example"
        ) from None
    return Encoded(read_words(times, np.int64), _to(times.type))


def _object(array: pa.Array) -> Encoded:
    values = np.empty(len(array), object)
    for i, value in enumerate(array.to_pylist()):  # a slice would take lists apart
        values[i] = value
    return Encoded(values, lambda out, valid: objects_as_arrow(out, valid, array.type))


_ENCODINGS: dict[str, Callable[[pa.Array], Encoded]] = {
    "number": _number,
    "double": _double,
    "unscaled": _encode_decimals,
    "order": _order,
    "equal": _equal,
    "first": _first,
    "nanoseconds": _count_nanoseconds,
    "object": _object,
}


def _to(kind: pa.DataType) -> Decode:
    return lambda values, valid: words_as_arrow(values, valid, kind)


# ---- Arrow's memory as NumPy arrays and back
def read_words(array: pa.Array, dtype: Any) -> np.ndarray:
    """Return the values of a fixed-width column without a copy; undefined where they are null."""
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.zeros(len(array), dtype)
    return np.frombuffer(buffer, dtype)[array.offset : array.offset + len(array)]


def mask_of(array: pa.Array) -> np.ndarray | None:
    """Return which values are null; None where none is."""
    if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
        array = array.cast(array.type.value_type)
    return array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None


def words_as_arrow(values: np.ndarray, valid: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Convert numbers to Arrow values of a type that has them as its words; without a copy where the width fits."""
    bits = None if are_all_valid(valid) else pa.py_buffer(np.packbits(valid, bitorder="little"))
    if pa.types.is_boolean(kind):
        data = np.packbits(values.astype(bool, copy=False), bitorder="little")
    else:
        unsigned = pa.types.is_unsigned_integer(kind)
        letter = "f" if pa.types.is_floating(kind) else "u" if unsigned else "i"
        data = np.ascontiguousarray(values, f"{letter}{kind.bit_width // 8}")
    return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(data)])


def integers_as_arrow(values: np.ndarray, valid: np.ndarray | None = None) -> pa.Array:
    """Convert int64 to Arrow; pa.array() would load pandas, if there is one, which takes longer than all the rest."""
    return words_as_arrow(values, all_valid(len(values)) if valid is None else valid, pa.int64())


def objects_as_arrow(values: np.ndarray, valid: np.ndarray, kind: pa.DataType | None) -> pa.Array:
    """Convert Python objects to Arrow."""
    if kind is not None and pa.types.is_dictionary(kind) and pa.types.is_null(kind.value_type):  # pandas: no categories
        return pa.DictionaryArray.from_arrays(pa.nulls(len(values), kind.index_type), pa.nulls(0))
    plain = [v if ok else None for v, ok in zip(values.tolist(), valid.tolist(), strict=True)]
    try:
        return pa.array(plain, kind)
    except pa.ArrowInvalid:
        if kind is not None and pa.types.is_decimal(kind):
            raise OverflowError(f"a result has more digits than {kind}, the widest decimal of its scale") from None
        raise


def lists_as_arrow(values: np.ndarray, valid: np.ndarray, of: Encoded) -> pa.Array:
    """Convert lists of encoded values to Arrow lists of the column's values."""
    found = [v if ok else [] for v, ok in zip(values, valid, strict=True)]
    flat = np.array([part for parts in found for part in parts], of.values.dtype)
    offsets = np.concatenate(([0], np.cumsum([len(parts) for parts in found], dtype=np.int64)))
    parts = of.decode(flat, all_valid(len(flat)))
    return build_lists(
        offsets, parts, None if are_all_valid(valid) else words_as_arrow(~valid, all_valid(len(valid)), pa.bool_())
    )


def build_lists(offsets: np.ndarray, parts: pa.Array, null: pa.Array | None) -> pa.Array:
    """Build lists from their parts; large lists where it takes 64 bits to count these."""
    if offsets[-1] < 2**31:
        return pa.ListArray.from_arrays(words_as_arrow(offsets, all_valid(len(offsets)), pa.int32()), parts, mask=null)
    return pa.LargeListArray.from_arrays(integers_as_arrow(offsets), parts, mask=null)


def zip_lists(columns: list[pa.Array]) -> pa.Array:
    """Build one column of lists from several columns; null where they are, which is in the same rows."""
    count, width = len(columns[0]), len(columns)
    rows = (np.arange(count)[:, None] + np.arange(width) * count).ravel()
    values = pa.concat_arrays(columns).take(integers_as_arrow(rows))
    return build_lists(np.arange(count + 1) * width, values, columns[0].is_null())


def results_as_arrow(
    values: np.ndarray,
    valid: np.ndarray,
    names: tuple[str, ...] = (),
    of_parts: Sequence[Decode] = (),
    of_none: Callable[[], pa.DataType] = pa.null,
) -> pa.Array:
    """Convert computed results to Arrow, in the type that they have; tuples to structs.

    Where there are objects and all of them are null, `of_none` tells the type.
    """
    if values.dtype.names:
        fields = names or values.dtype.names
        parts = [np.ascontiguousarray(values[f]) for f in values.dtype.names]
        decode = of_parts or [results_as_arrow] * len(parts)
        arrays = [as_arrow(part, valid) for as_arrow, part in zip(decode, parts, strict=True)]
        return _build_structs(arrays, fields, valid)
    if values.dtype.kind in "biuf":
        return words_as_arrow(values, valid, pa.from_numpy_dtype(values.dtype))
    if names and of_parts:
        known = [v if ok else (0,) * len(names) for v, ok in zip(values, valid, strict=True)]
        columns = [np.array([v[k] for v in known] or np.zeros(0, np.int64)) for k in range(len(names))]
        return _build_structs([as_arrow(c, valid) for as_arrow, c in zip(of_parts, columns, strict=True)], names, valid)
    if not valid.any():
        return pa.nulls(len(values), of_none())
    if names:
        return pa.array([name_parts(v, names) if ok else None for v, ok in zip(values, valid, strict=True)])
    try:
        return objects_as_arrow(values, valid, None)
    except OverflowError:
        raise OverflowError("a result is an integer of more than 64 bits: give floats, or Decimals") from None
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidInput(f"the results are of types that do not go together in one column: {error}") from None


def _build_structs(parts: list[pa.Array], names: Sequence[str], valid: np.ndarray) -> pa.Array:
    return pa.StructArray.from_arrays(parts, names, mask=words_as_arrow(~valid, all_valid(len(valid)), pa.bool_()))


def name_parts(result: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Name the parts of a result; answers to questions have their names already."""
    return result if isinstance(result, dict) else dict(zip(names, result, strict=True))


def type_by_trial(aggregation: Aggregation, kinds: list[pa.DataType]) -> pa.DataType:
    """Find the type that results would have, from two rows with values of these types; null where it is not known."""
    try:
        row = tuple(_some_value(kind) for kind in kinds)
        result = compute_trial(aggregation, [row, row])
        if aggregation.result_fields:
            result = name_parts(result, aggregation.result_fields)
        return pa.array([result]).type
    except Exception:  # whatever a user's functions raise
        return pa.null()


def _some_value(kind: pa.DataType) -> Any:
    """Make some Python value of a type."""
    if pa.types.is_dictionary(kind):
        return _some_value(kind.value_type)
    plain: dict[str, Any] = {"string": "a", "binary": b"a", "boolean": True, "decimal": Decimal(1)}
    if family(kind) in plain:
        return plain[family(kind)]
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        return []
    return pa.array([1], f"int{32 if kind.bit_width == 32 else 64}").cast(kind)[0].as_py()


# ---- decimals
def unscaled_digits(array: pa.Array) -> np.ndarray | None:
    """Convert decimals to integers without their point; None where one of them is wider than 64 bits."""
    kind = array.type
    if not pa.types.is_decimal128(kind):
        if kind.precision > 38:
            return None
        array = array.cast(pa.decimal128(kind.precision, kind.scale))
    pairs = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)[array.offset : array.offset + len(array)]
    low, high = pairs[:, 0], pairs[:, 1]
    if kind.precision > 18:
        wide = high != low >> 63
        null = mask_of(array)
        if (wide if null is None else wide & ~null).any():
            return None
    return np.ascontiguousarray(low)


def decimals_as_arrow(digits: np.ndarray, valid: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Convert integers to decimals of that type."""
    wide = pa.decimal128(max(19, min(38, kind.precision)), kind.scale)
    pairs = np.stack([digits, digits >> 63], axis=1)
    bits = None if are_all_valid(valid) else pa.py_buffer(np.packbits(valid, bitorder="little"))
    array = pa.Array.from_buffers(wide, len(digits), [bits, pa.py_buffer(np.ascontiguousarray(pairs))])
    return array if wide == kind else array.cast(kind)


def decimal_sum_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of sums of decimals, as Spark has it: ten digits more; Spark has none of more than 38 digits."""
    wide = pa.types.is_decimal256(kind)
    return (pa.decimal256 if wide else pa.decimal128)(min(76 if wide else 38, kind.precision + 10), kind.scale)


def decimal_avg_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of means of decimals, as Spark has it: four more digits after the point, within 38 (or 76)."""
    wide = pa.types.is_decimal256(kind)
    most = 76 if wide else 38
    return (pa.decimal256 if wide else pa.decimal128)(min(most, kind.precision + 4), min(most, kind.scale + 4))


def exact_decimal(value: Decimal, kind: pa.DataType) -> Decimal:
    """Round a decimal half up to the scale of a type."""
    from decimal import ROUND_HALF_UP

    return value.quantize(Decimal(1).scaleb(-kind.scale), rounding=ROUND_HALF_UP)
