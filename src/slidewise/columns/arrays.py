"""Arrays of every kind as Arrow, and results in kind again: NumPy's, Arrow's, those of pandas and of polars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.columns.encoding import read_words, words_as_arrow
from slidewise.errors import InvalidInput

_ARROW_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)
_INT32 = np.iinfo(np.int32)


def as_arrow(array: Any, name: str) -> pa.Array:
    """Convert an array of any kind to Arrow, in one piece; errors call it by its name."""
    if is_pandas(array, "Series", "Index", "ExtensionArray"):
        return pandas_as_arrow(array, name)
    if is_polars(array):
        return polars_as_arrow(array, name)
    if isinstance(array, pa.Array):
        return in_one_piece(pa.chunked_array([array]))
    if isinstance(array, pa.ChunkedArray):
        return in_one_piece(array)
    if hasattr(array, "__arrow_c_stream__"):
        return in_one_piece(pa.chunked_array(array))
    if hasattr(array, "__arrow_c_array__"):
        return in_one_piece(pa.chunked_array([pa.array(array)]))
    return numpy_as_arrow(array, name)


def in_kind(values: pa.Array, like: Any, rows: np.ndarray | None = None, holds_values: bool = False) -> Any:
    """Convert results to the kind of another array. A pandas index and a polars name are kept.

    `rows` are those that the results belong to; None where there is one result per row. Results that belong to no rows
    have an empty `rows`, and no index. `holds_values` says that the results are values of that array.
    """
    if is_pandas(like, "Series"):
        index = like.index if rows is None else like.index[rows] if len(rows) == len(values) else None
        series = arrow_to_pandas(values, backend(like.dtype), index)
        series.name = like.name
        return series
    if is_pandas(like, "Index"):
        import pandas

        return pandas.Index(arrow_to_pandas(values, backend(like.dtype), None).array, name=like.name)
    if is_pandas(like, "ExtensionArray"):
        return arrow_to_pandas(values, backend(like.dtype), None).array
    if is_polars(like):
        return arrow_to_polars(values, like.name, like.dtype if holds_values else None)
    if isinstance(like, pa.ChunkedArray) or hasattr(like, "__arrow_c_stream__"):
        return pa.chunked_array([values])
    if isinstance(like, pa.Array) or hasattr(like, "__arrow_c_array__"):
        return values
    return arrow_to_numpy(values)


def is_array(data: Any) -> bool:
    """Tell whether this is an array of a kind that is known, and not, for example, a list."""
    kinds = (np.ndarray, pa.Array, pa.ChunkedArray)
    return (
        isinstance(data, kinds)
        or is_pandas(data, "Series", "Index", "ExtensionArray")
        or is_polars(data)
        or hasattr(data, "__arrow_c_array__")
        or hasattr(data, "__arrow_c_stream__")
    )


def as_array(data: Any) -> Any:
    """Return an array of a kind that is known. A list becomes one if its values are of one type, else one of objects.

    NumPy would make text of a number beside text, and floats of large integers, and drop what ends in a zero byte.
    """
    if is_array(data):
        return data
    if isinstance(data, list):
        kinds = set(map(type, data))
        alike = len(kinds) == 1 and not kinds.intersection((str, bytes, list, tuple, np.str_, np.bytes_))
        if kinds == {int} and min(data) >= 0 and 2**63 <= max(data) < 2**64:
            return np.asarray(data, np.uint64)
        array = np.asarray(data) if alike or not data else None
        if array is None or (kinds == {int} and array.dtype.kind == "f"):
            return np.fromiter(data, object, len(data))
        return array
    return np.asarray(data)


def take_rows(data: Any, rows: np.ndarray) -> Any:
    """Take some rows of an array or a list, in kind; what is neither comes as one of Arrow or NumPy."""
    if isinstance(data, list):
        return [data[row] for row in rows.tolist()]
    array = as_array(data)
    if is_pandas(array, "Series"):
        return array.iloc[rows]
    if isinstance(array, np.ndarray) or is_polars(array) or is_pandas(array, "Index", "ExtensionArray"):
        return array[rows]
    if not isinstance(array, pa.Array | pa.ChunkedArray):
        array = pa.array(array) if hasattr(array, "__arrow_c_array__") else pa.chunked_array(array)
    return array.take(pa.array(rows))


def is_pandas(data: Any, *names: str) -> bool:
    """Tell whether this is one of these classes of pandas, or made from one, without importing pandas."""
    return any(c.__module__.partition(".")[0] == "pandas" and c.__name__ in names for c in type(data).__mro__)


def is_polars(data: Any, name: str = "Series") -> bool:
    """Tell whether this is of a class of polars, without importing polars."""
    return any(c.__module__.partition(".")[0] == "polars" and c.__name__ == name for c in type(data).__mro__)


def _not_of_one_type(name: str, values: Any, error: Exception) -> InvalidInput:
    """Build the error for objects that Arrow has no type for."""
    if isinstance(error, OverflowError):
        return InvalidInput(f"{name!r} has integers of more than 64 bits. Give floats, or Decimals")
    found = sorted({type(v).__name__ for v in values if v is not None and v == v})
    if len(found) > 1:
        return InvalidInput(
            f"{name!r} holds values of several types: {', '.join(found[:5])}. Convert them to one type: {error}"
        )
    return InvalidInput(f"{name!r} holds {found[0] if found else 'what'} that has no type of a column: {error}")


# ---- NumPy
def numpy_as_arrow(array: Any, name: str) -> pa.Array:
    """Convert a NumPy array to Arrow: masked entries and NaT are nulls, and NaN is NaN."""
    mask = np.ma.getmaskarray(array) if np.ma.isMA(array) else None
    values = _readable(np.asarray(array), name)
    if values.dtype.kind in "biuf":
        valid = np.ones(len(values), bool) if mask is None else ~mask
        return words_as_arrow(values, valid, pa.from_numpy_dtype(values.dtype))  # pa.array() would load pandas
    try:
        return pa.array(values, mask=mask, from_pandas=False)
    except _ARROW_ERRORS as error:
        raise _not_of_one_type(name, values if mask is None else values[~mask], error) from None


def _readable(values: np.ndarray, name: str) -> np.ndarray:
    """Convert values to what Arrow takes: in the byte order of this machine, and times in units that it has."""
    kind = values.dtype.kind
    if kind == "c":
        raise InvalidInput(
            f"{name!r} is of complex numbers ({values.dtype}), which have no order. Give their .real, .imag or np.abs()"
        )
    if kind == "V":
        raise InvalidInput(f"{name!r} is of records ({values.dtype}). Give one of their fields: array['field']")
    if kind == "f" and values.dtype.itemsize > 8:
        raise InvalidInput(f"{name!r} is of {values.dtype}, and floats have at most 64 bits: .astype(np.float64)")
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    return _in_known_units(values, name) if kind in "Mm" else values


def _in_known_units(values: np.ndarray, name: str) -> np.ndarray:
    """Convert times to the next finer unit of Arrow: M8[M] to days, M8[h] and lengths from minutes on to seconds."""
    kind = values.dtype.kind
    unit, steps = np.datetime_data(values.dtype)
    if unit in ("ps", "fs", "as"):
        raise InvalidInput(f"{name!r} is of {values.dtype}, finer than nanoseconds: .astype('{kind}8[ns]')")
    if kind == "m" and unit in ("Y", "M"):
        raise InvalidInput(
            f"{name!r} is of {values.dtype}, and a {'year' if unit == 'Y' else 'month'} has no fixed length. "
            "Give its days: .astype('m8[D]')"
        )
    days = {"Y": "D", "M": "D", "W": "D"} if kind == "M" else {"W": "s", "D": "s"}
    target = {**days, "h": "s", "m": "s", "generic": "s"}.get(unit, unit)
    if target != unit or steps != 1:
        values = values.astype(f"{kind}8[{target}]")
    if target == "D":
        known = values[~np.isnat(values)].view(np.int64)
        if len(known) and not (_INT32.min <= known.min() and known.max() <= _INT32.max):
            raise InvalidInput(f"{name!r} has dates that are more than 2^31 days from 1970: give them as numbers")
    return values


def arrow_to_numpy(values: pa.Array) -> np.ndarray:
    """Convert Arrow to an array of NumPy, to a masked one where there are nulls."""
    plain_words = pa.types.is_integer(values.type) or pa.types.is_floating(values.type)
    if not values.null_count and plain_words:
        return read_words(values, values.type.to_pandas_dtype())  # to_numpy() would load pandas
    if not values.null_count:
        return values.to_numpy(zero_copy_only=False)
    if plain_words:
        bits = np.frombuffer(values.buffers()[0], np.uint8)
        valid = np.unpackbits(bits, count=values.offset + len(values), bitorder="little")[values.offset :]
        # What stands under nulls is as computed: to fill it in is a copy. 0.3 ns a row, and 2 by Arrow's own way.
        return np.ma.masked_array(read_words(values, values.type.to_pandas_dtype()), valid == 0)
    null = values.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_primitive(values.type):
        filled = (
            values.fill_null(pa.scalar(0, pa.int64()).cast(values.type, safe=False)) if _castable(values) else values
        )
        return np.ma.masked_array(filled.to_numpy(zero_copy_only=False), null)
    plain = np.empty(len(values), object)
    for i, value in enumerate(values.to_pylist()):  # a slice would take lists apart
        plain[i] = value
    return np.ma.masked_array(plain, null)


def _castable(values: pa.Array) -> bool:
    return not pa.types.is_date(values.type) and not pa.types.is_time(values.type)


# ---- pandas
#: pandas' types that have nulls beside their values, by Arrow's
_NULLABLE = {
    pa.int8(): "Int8", pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64", pa.uint8(): "UInt8",
    pa.uint16(): "UInt16", pa.uint32(): "UInt32", pa.uint64(): "UInt64", pa.bool_(): "boolean",
}  # fmt: skip
_NULLABLE_TOO = {pa.float32(): "Float32", pa.float64(): "Float64", pa.string(): "string", pa.large_string(): "string"}


def pandas_as_arrow(array: Any, name: str) -> pa.Array:
    """Convert a pandas column to Arrow. NaN marks a missing float there: it becomes null, as by Arrow's own rules."""
    import pandas

    if isinstance(array.dtype, pandas.SparseDtype):
        array = array.astype(array.dtype.subtype)  # type: ignore[attr-defined]  # which its stubs lack
    values: Any = array
    if isinstance(array.dtype, np.dtype):
        values = _readable(np.asarray(array), name)
    try:
        made = pa.array(values, from_pandas=True)
    except _ARROW_ERRORS as error:
        raise _not_of_one_type(name, pandas.Series(array).dropna(), error) from None
    if pa.types.is_dictionary(made.type) and pa.types.is_null(made.type.value_type):  # no categories, of any type
        made = pa.DictionaryArray.from_arrays(made.indices, pa.array([], pa.string()), ordered=made.type.ordered)
    return in_one_piece(made if isinstance(made, pa.ChunkedArray) else pa.chunked_array([made]))


def backend(dtype: Any) -> str:
    """Tell what a column of pandas is made of: "arrow", "nullable" (masks beside the values, pandas.NA) or "numpy"."""
    import pandas

    if isinstance(dtype, pandas.ArrowDtype):
        return "arrow"
    nullable = isinstance(dtype, pandas.api.extensions.ExtensionDtype) and dtype.na_value is pandas.NA
    return "nullable" if nullable else "numpy"


def arrow_to_pandas(values: pa.Array, made_of: str, index: Any) -> Any:
    """Convert Arrow to a Series of a backend()."""
    import pandas

    if made_of == "arrow":
        return pandas.Series(pandas.arrays.ArrowExtensionArray(pa.chunked_array([values])), index=index)
    dtype = _NULLABLE.get(values.type)
    if made_of == "nullable":
        dtype = dtype or _NULLABLE_TOO.get(values.type)
    elif not values.null_count:
        dtype = None  # with nulls, pandas' own conversion would go through float and lose digits
    if dtype is not None:
        nullable: Any = pandas.api.types.pandas_dtype(dtype)
        return pandas.Series(nullable.__from_arrow__(values), index=index)
    series = values.to_pandas()
    return series if index is None else series.set_axis(index)


# ---- polars
#: integers that Arrow does not have
_WIDE_INTEGERS = ("Int128", "UInt128")


def polars_as_arrow(series: Any, name: str) -> pa.Array:
    """Convert a column of polars to Arrow; 128-bit integers, which Arrow does not have, to decimals."""
    import polars

    if series.dtype == polars.Object:
        raise InvalidInput(f"{name!r} is a column of Python objects, of which polars tells nothing. Give it a type")
    try:
        if str(series.dtype) in _WIDE_INTEGERS:
            series = series.cast(polars.Decimal(38, 0))
        made = series.to_arrow()
    except (polars.exceptions.PolarsError, *_ARROW_ERRORS) as error:
        raise InvalidInput(f"{name!r} is of {series.dtype}, and cannot be read as Arrow: {error}") from None
    array = in_one_piece(made if isinstance(made, pa.ChunkedArray) else pa.chunked_array([made]))
    if series.dtype == polars.Enum and not array.type.ordered:  # polars before 2 does not say so in Arrow
        array = pa.DictionaryArray.from_arrays(array.indices, array.dictionary, ordered=True)
    return array


def arrow_to_polars(values: pa.Array, name: str, of: Any = None) -> Any:
    """Convert results to a column of polars; to values of a column of type `of`, where that is given.

    polars marks its Enums in the metadata of Arrow's fields, which results do not have: their order tells them apart
    from its Categoricals.
    """
    import polars

    frame: Any = polars.from_arrow(pa.table({"x": values}))
    series = frame.get_column("x").alias(name)
    kind = of if str(of) in _WIDE_INTEGERS else _polars_type(values, series.dtype)
    return series if kind == series.dtype else series.cast(kind)


def _polars_type(column: Any, kind: Any) -> Any:
    """Find the type of an Arrow column as polars has it, with ordered dictionaries as Enums, in lists too."""
    import polars

    if pa.types.is_dictionary(column.type) and column.type.ordered:
        return polars.Enum(column.dictionary.cast(pa.large_string()).drop_null().to_pylist())
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return polars.List(_polars_type(column.values, kind.inner))
    if pa.types.is_struct(column.type):
        fields = zip(column.flatten(), kind.fields, strict=True)
        return polars.Struct([polars.Field(f.name, _polars_type(part, f.dtype)) for part, f in fields])
    return kind


# ---- Arrow
def in_one_piece(column: pa.ChunkedArray) -> pa.Array:
    """Join a chunked column into one array, without a copy where it has one chunk."""
    kind = _computable(column.type)
    if kind != column.type:
        column = pa.chunked_array([_convert(chunk, kind) for chunk in column.chunks], kind)
    if pa.types.is_dictionary(kind) and column.num_chunks > 1:
        entries = [chunk.dictionary for chunk in column.chunks]
        column = column.unify_dictionaries()
        if kind.ordered:
            _require_one_order(entries, column.chunk(0).dictionary)
    if column.num_chunks == 1:
        return column.chunk(0)
    chunks = [
        chunk for chunk in column.chunks if len(chunk)
    ]  # Arrow 26 stumbles over empty ones that came by its C stream
    if not chunks:
        return column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return pa.concat_arrays(chunks)


def _require_one_order(parts: list[pa.Array], whole: pa.Array) -> None:
    """Refuse ordered dictionaries of which one has its entries in another order than all of them together."""
    for part in parts:
        places = pc.index_in(part, whole).to_numpy(zero_copy_only=False)
        if np.any(places[1:] < places[:-1]):
            raise InvalidInput(
                f"the batches of an ordered dictionary of {parts[0].type} have their entries in orders that do "
                f"not go together: {part.to_pylist()[:9]} is one, and all together {whole.to_pylist()[:9]}. Give all "
                "batches one dictionary"
            )


def _computable(kind: pa.DataType) -> pa.DataType:
    """Choose the type to compute with: Arrow's functions do not take views (of which polars is fond) and run ends."""
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_run_end_encoded(kind):
        return _computable(kind.value_type)
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _computable(kind.value_type), kind.ordered)
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(_computable(f.type)) for f in kind])
    if pa.types.is_map(kind):
        return pa.map_(_computable(kind.key_type), kind.item_field.with_type(_computable(kind.item_type)))
    for is_list, of in _LISTS:
        if is_list(kind):
            inside = kind.value_field.with_type(_computable(kind.value_type))
            return kind if inside == kind.value_field else of(inside)
    return kind


#: kinds of lists, and the one to work with where the type of their values is not to be worked with
_LISTS = (
    (pa.types.is_list, pa.list_),
    (pa.types.is_large_list, pa.large_list),
    (pa.types.is_list_view, pa.large_list),
    (pa.types.is_large_list_view, pa.large_list),
    (pa.types.is_fixed_size_list, pa.large_list),
)


def _convert(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert an array to its computable type; Arrow's own cast knows no run ends, and spoils views of lists (26.0)."""
    if array.type == kind:
        return array
    if pa.types.is_run_end_encoded(array.type):
        return _convert(pc.run_end_decode(array), kind)
    if pa.types.is_dictionary(array.type):  # a cast would drop entries where there are no rows
        entries = _convert(array.dictionary, kind.value_type)
        return pa.DictionaryArray.from_arrays(array.indices, entries, ordered=kind.ordered)
    if pa.types.is_struct(kind):
        parts = [_convert(array.field(k), kind.field(k).type) for k in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        made = pa.ListArray if pa.types.is_list(kind) else pa.LargeListArray
        width = pa.int32() if pa.types.is_list(kind) else pa.int64()
        inside = _convert(array.flatten(), kind.value_type)
        return made.from_arrays(pa.array(offsets, width), inside, type=kind, mask=array.is_null())
    return array.cast(kind)


def cast_to(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast a column to the type that was promised."""
    return column if column.type == kind else column.cast(kind)
