"""Plain Python values as compact bytes, and back without loss.

The formats on PyPI were tried first. cbor2 (6.2) turns tuples, frozensets and deques into other types,
gives every NaN one bit pattern, and refuses naive datetimes, times, timedeltas and NumPy's values; msgpack
(1.2) and ormsgpack (1.13) turn tuples into lists and stop at 64-bit integers. A partial of avg() that comes
back as a list is not the same partial. msgpack's extension types could carry what is missing, but then
every tuple, the most frequent value here, is a callback into code of ours: 100,000 partials (n, mean, M2)
took 0.17 s to write and 0.055 s to read that way, and take 0.036 s and 0.018 s here, where equal shapes are
written column by column. (Texts go the other way: msgpack reads 100,000 in 0.004 s, this in 0.12 s.)

A value is one byte that tells its type, then its content. Types are matched exactly: a subclass could carry
more than its base. Reading trusts nothing: every length is compared with the bytes that are left before
anything is allocated, no byte of the input names something to import or to call, and what a few bytes could make
large or slow (rows within rows, keys of one hash, arrays of nothing, fractions that must be reduced) has a bound.
"""

from __future__ import annotations

import math
import operator
import re
import struct
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from uuid import UUID
from zoneinfo import ZoneInfo

from slidewise.errors import StateError

if TYPE_CHECKING:
    import numpy as np

#: Values nested deeper than this are refused, before Python's own recursion limit is near.
MAX_DEPTH = 100
#: Sequences shorter than this are written item by item.
BULK = 8
#: Tuples within tuples are written column by column down to this level. A byte makes no more tuples than that.
LEVELS = 4
#: Values that a hash must tell apart: on average so many may share one. A dict compares a key with all of its hash.
SHARED = 16
#: Numerators and denominators have no more bits: to reduce a fraction takes time with their square, 1 ms so.
FRACTION_BITS = 1 << 14

_SINGLE = {None: b"N", True: b"T", False: b"F"}
_SMALL = range(-64, 64)  # one byte each: 0x80 to 0xff
_WIDTHS = {"b": 1, "h": 2, "i": 4, "q": 8}  # of integers in bulk
_NAN = struct.pack("<d", math.nan)
#: Types whose hashes nobody can choose: of texts and bytes they are random, and 34 floats at most share one.
_SPREAD = {str, bytes, float, bool, type(None)}
#: Integers below it are their own hashes.
_MODULUS = 2**61 - 1
#: NumPy's own limit
_MOST_DIMENSIONS = 64
#: Items of arrays as NumPy writes them. NumPy reads more than that: names of types, and lists of types in a text.
_ITEM = re.compile(r"[<>|][biufcmMSUV]\d{0,9}(\[\d{0,9}[a-zA-Z]{1,2}\])?")


def encode(value: Any, reduce: Callable[[Any], Any] | None = None) -> bytes:
    """Encode a value as bytes; `reduce` gives a simpler value for what has no form of its own.

    >>> encode([1, 2.5, ("a", None)])
    b'[\\x03\\xc1d\\x00\\x00\\x00\\x00\\x00\\x00\\x04@(\\x02s\\x01aN'
    """
    writer = _Writer(reduce)
    writer.value(value, 0)
    return bytes(writer.out)


def decode(data: bytes, revive: Callable[[Any], Any] | None = None) -> Any:
    """Decode what encode() wrote; `revive` is called with what `reduce` gave, in the same order.

    >>> decode(encode({"n": 3, "seen": {1, 2}, "mean": float("nan")}))
    {'n': 3, 'seen': {1, 2}, 'mean': nan}
    """
    reader = _Reader(data, revive)
    with refuse_damage():  # whatever a constructor has against its arguments
        value = reader.value(0)
    if reader.left:
        raise StateError(f"saved state is damaged: {reader.left} bytes follow its end")
    return value


def build_damage_error(why: object) -> StateError:
    """Build the error for bytes that are not what was written; an exception may quote a long value, or fail to."""
    try:
        text = f"{why}"[:200]
    except ValueError:  # Python writes no integer of more than 4300 digits
        text = ""
    return StateError(f"saved state is damaged: {text or type(why).__name__}. Use another copy")


@contextmanager
def refuse_damage() -> Iterator[None]:
    """Turn whatever values of the right definition fail with, where they are not those saved, into a StateError."""
    try:
        yield
    except StateError:
        raise
    except Exception as error:
        raise build_damage_error(error) from error


def require_told_apart(values: Collection[Any]) -> None:
    """Refuse values that a dict or a set would take quadratic time for: far too many different ones of one hash.

    Equal values are one. O(n): each is compared with the few before it that share its hash.
    """
    kinds = set(map(type, values))
    if kinds <= _SPREAD or (
        kinds <= {int, *_SPREAD} and all(type(v) is not int or -_MODULUS < v < _MODULUS for v in values)
    ):
        return
    found: dict[int, list[Any]] = {}
    shared, most = 0, SHARED * (len(values) + SHARED)
    for value in values:
        same = found.setdefault(hash(value), [])
        if not any(value is other or value == other for other in same):
            shared += len(same)
            same.append(value)
        if shared > most:
            raise StateError(
                "saved state is refused: its keys, or the values of a set, have been chosen so that too many of them "
                "share a hash, and to load them would take very long"
            )


# ---- types that are written as a simpler value: type -> tag, to the simpler one, and back
def _ratio(fraction: Fraction) -> tuple[int, int]:
    if max(map(int.bit_length, fraction.as_integer_ratio())) > FRACTION_BITS:
        raise StateError(f"cannot save a fraction whose parts have more than {FRACTION_BITS} bits. Round it first")
    return fraction.as_integer_ratio()


def _fraction(parts: tuple[int, int]) -> Fraction:
    numerator, denominator = map(operator.index, parts)  # of a text it would compute powers of any size
    if max(numerator.bit_length(), denominator.bit_length()) > FRACTION_BITS:
        raise StateError(f"saved state is damaged: a fraction has parts of more than {FRACTION_BITS} bits")
    return Fraction(numerator, denominator)


def _decimal(text: str) -> Decimal:
    return Decimal(_of_type(text, str))


def _set(values: list[Any]) -> set[Any]:
    require_told_apart(values)
    return set(values)


def _of_type(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise StateError(f"saved state is damaged: {kind.__name__} was expected, and {type(value).__name__} found")
    return value


def _moment(t: datetime | time) -> tuple[Any, ...]:
    return (t.hour, t.minute, t.second, t.microsecond, t.tzinfo, t.fold)


_REDUCED: dict[type, tuple[bytes, Callable[[Any], Any], Callable[[Any], Any]]] = {
    tuple: (b"(", lambda v: v, tuple),
    list: (b"[", lambda v: v, lambda v: v),
    set: (b"<", list, _set),
    frozenset: (b">", list, lambda v: frozenset(_set(v))),
    deque: (b"q", lambda v: [v.maxlen, *v], lambda v: deque(v[1:], maxlen=v[0])),
    complex: (b"c", lambda v: (v.real, v.imag), lambda v: complex(*v)),
    Decimal: (b"x", str, _decimal),
    Fraction: (b"/", _ratio, _fraction),
    UUID: (b"u", lambda v: v.bytes, lambda v: UUID(bytes=_of_type(v, bytes))),
    date: (b"D", date.toordinal, date.fromordinal),
    time: (b"t", _moment, lambda v: time(*v[:5], fold=v[5])),
    datetime: (
        b"m",
        lambda v: (v.year, v.month, v.day, *_moment(v)),
        lambda v: datetime(*v[:8], fold=v[8]),
    ),
    timedelta: (b"p", lambda v: (v.days, v.seconds, v.microseconds), lambda v: timedelta(*v)),
    timezone: (b"z", lambda v: v.__getinitargs__(), lambda v: timezone(*v)),
    ZoneInfo: (b"Z", lambda v: v.key, lambda v: ZoneInfo(_of_type(v, str))),
}
_SEQUENCES = b"([<>q"


def deeper(depth: int) -> int:
    """Count one level more, up to a limit that is reached before Python's own."""
    if depth == MAX_DEPTH:
        raise StateError(
            f"a value is nested more than {MAX_DEPTH} deep, or within itself. "
            "Define dump(partial) and load(plain) on the aggregation, with a flatter form"
        )
    return depth + 1


# ---- writing
class _Writer:
    """The bytes so far."""

    def __init__(self, reduce: Callable[[Any], Any] | None) -> None:
        self.out, self.reduce = bytearray(), reduce

    def value(self, value: Any, depth: int) -> None:
        out, kind = self.out, type(value)
        if kind is int:
            if value in _SMALL:
                out.append(192 + value)
            else:
                self.write_sized(b"i", value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))
        elif kind is float:
            out += b"d" + struct.pack("<d", value)
        elif kind is str:
            self.write_sized(b"s", value.encode("utf-8", "surrogatepass"))
        elif value is None or kind is bool:
            out += _SINGLE[value]
        elif kind is bytes:
            self.write_sized(b"b", value)
        elif kind is dict:
            out += b"{"
            self.items(list(value), deeper(depth))
            self.items(list(value.values()), deeper(depth))
        elif kind in _REDUCED:
            tag, simpler, _ = _REDUCED[kind]
            out += tag
            (self.items if tag in _SEQUENCES else self.value)(simpler(value), deeper(depth))
        elif kind.__module__ == "numpy" and hasattr(value, "dtype"):
            out += b"a" if kind.__name__ == "ndarray" else b"v"
            self.value(_split_array(value), deeper(depth))
        elif self.reduce is not None:
            out += b"o"
            self.value(self.reduce(value), deeper(depth))
        else:
            raise cannot_save(value)

    def size(self, n: int) -> None:
        while n > 127:
            self.out.append(n & 127 | 128)
            n >>= 7
        self.out.append(n)

    def write_sized(self, tag: bytes, raw: bytes) -> None:
        self.out += tag
        self.size(len(raw))
        self.out += raw

    def items(self, items: Sequence[Any], depth: int, levels: int = LEVELS) -> None:
        """Write items of one type in bulk: numbers as in memory, tuples of one length column by column."""
        self.size(len(items))
        if len(items) >= BULK:
            kinds = set(map(type, items))
            code = "d" if kinds == {float} else _choose_width(items) if kinds == {int} else ""
            if code:
                self.out += code.encode() + struct.pack(f"<{len(items)}{code}", *items)
                return
            if levels and kinds == {tuple} and len(set(map(len, items))) == 1 and items[0]:
                self.out += b"("
                self.size(len(items[0]))
                for column in zip(*items, strict=True):
                    self.items(column, deeper(depth), levels - 1)
                return
            self.out += b"*"
        for item in items:
            self.value(item, depth)


def cannot_save(value: Any) -> StateError:
    """Build the error for a value that has no form in bytes."""
    kind = type(value)
    return StateError(
        f"cannot save a value of the type {kind.__module__}.{kind.__qualname__}: {value!r:.60}. "
        "Define dump(partial) and load(plain) on the aggregation, which turn its partials into plain "
        "values (numbers, texts, bytes, times, tuples, lists, dicts, sets, arrays) and back"
    )


def _choose_width(integers: Sequence[int]) -> str:
    """Return the narrowest of struct's signed types that holds them all; none beyond 64 bits."""
    bits = 1 + max((x if x >= 0 else ~x).bit_length() for x in (min(integers), max(integers)))
    return next((code for code, width in _WIDTHS.items() if bits <= 8 * width), "")


def _split_array(value: Any) -> tuple[Any, tuple[int, ...], bytes]:
    from numpy.lib.format import dtype_to_descr

    if value.dtype.hasobject or value.dtype.kind not in "biufcmMSUV":
        raise StateError(
            f"cannot save an array of {value.dtype}, whose items are Python objects. "
            "Define dump(partial) and load(plain) on the aggregation, and turn the array into a list"
        )
    if not value.dtype.itemsize and value.size > 1:
        raise StateError(f"cannot save an array of {value.dtype}, whose items have no bytes. Save its shape instead")
    return dtype_to_descr(value.dtype), value.shape, value.tobytes()[: value.nbytes]  # of "" NumPy gives 4 bytes


def _build_array(parts: tuple[Any, tuple[int, ...], bytes]) -> np.ndarray:
    import numpy as np
    from numpy.lib.format import descr_to_dtype

    descr, shape, raw = parts
    if len(shape) > _MOST_DIMENSIONS or {type(n) for n in shape} - {int}:
        raise StateError("saved state is damaged: there is no such shape of an array")
    _require_items(descr)
    dtype, items = descr_to_dtype(descr), math.prod(shape)
    if dtype.hasobject or items * dtype.itemsize != len(raw) or (not dtype.itemsize and items > 1):
        raise StateError("saved state is damaged: an array is of another size than its shape says")
    return np.ndarray(shape, dtype, raw).copy()


def _require_items(descr: Any) -> None:
    """Refuse what NumPy does not write as the type of an array's items, before it is asked to read it."""
    if isinstance(descr, list):  # fields: name (perhaps with a title), type and perhaps shape
        for _, kind, *_ in descr:
            _require_items(kind)
    elif isinstance(descr, tuple):  # a type and a shape
        _require_items(descr[0])
    elif not isinstance(descr, str) or not _ITEM.fullmatch(descr):
        raise StateError("saved state is damaged: there are no such items of an array")


# ---- reading
_CONSTANTS = {tag: value for value, tag in _SINGLE.items()}
_FROM_SIMPLER = {tag: back for tag, _, back in _REDUCED.values()}


class _Reader:
    """Bytes, and how far they are read."""

    def __init__(self, data: bytes, revive: Callable[[Any], Any] | None) -> None:
        self.data, self.position, self.revive = data, 0, revive
        #: how many more tuples may be made of columns: of what was written, a byte makes LEVELS at most
        self.rows = LEVELS * len(data)

    @property
    def left(self) -> int:
        return len(self.data) - self.position

    def take(self, n: int) -> bytes:
        """Read the next n bytes; it is here that hostile lengths end."""
        if n > self.left:
            raise StateError(f"saved state is truncated: {n} more bytes are announced, {self.left} are left")
        self.position += n
        return self.data[self.position - n : self.position]

    def size(self) -> int:
        n = shift = 0
        while shift < 64:
            byte = self.take(1)[0]
            n |= (byte & 127) << shift
            if byte < 128:
                return n
            shift += 7
        raise StateError("saved state is damaged: a length is beyond 64 bits")

    def value(self, depth: int) -> Any:
        tag = self.take(1)
        if tag >= b"\x80":
            return tag[0] - 192
        if tag == b"i":
            return int.from_bytes(self.take(self.size()), "little", signed=True)
        if tag == b"d":
            return self.numbers("d", 1)[0]
        if tag == b"s":
            return self.take(self.size()).decode("utf-8", "surrogatepass")
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        if tag == b"b":
            return self.take(self.size())
        if tag == b"{":
            keys, values = self.items(deeper(depth)), self.items(deeper(depth))
            require_told_apart(keys)
            return dict(zip(keys, values, strict=True))
        if tag in _FROM_SIMPLER:
            return _FROM_SIMPLER[tag]((self.items if tag in _SEQUENCES else self.value)(deeper(depth)))
        if tag in (b"a", b"v"):
            array = _build_array(self.value(deeper(depth)))
            return array if tag == b"a" else array[()]
        if tag == b"o" and self.revive is not None:
            return self.revive(self.value(deeper(depth)))
        raise StateError(f"saved state is damaged: there is no type with the tag {tag!r}")

    def items(self, depth: int) -> list[Any]:
        n = self.size()
        if n > self.left:  # every item takes a byte or more
            raise StateError(f"saved state is truncated: {n} items are announced, {self.left} bytes are left")
        if n >= BULK:
            code = self.take(1).decode("latin-1")
            if code == "d" or code in _WIDTHS:
                return self.numbers(code, n)
            if code == "(":
                self.rows -= n
                if self.rows < 0:
                    raise StateError("saved state is damaged: rows within rows, more than its bytes can hold")
                columns = [self.items(deeper(depth)) for _ in range(self.size())]
                if {len(c) for c in columns} != {n}:
                    raise StateError("saved state is damaged: rows of different lengths")
                return list(zip(*columns, strict=True))
            if code != "*":
                raise StateError(f"saved state is damaged: there is no layout {code!r}")
        return [self.value(depth) for _ in range(n)]

    def numbers(self, code: str, n: int) -> list[Any]:
        numbers = list(struct.unpack(f"<{n}{code}", self.take(n * _WIDTHS.get(code, 8))))
        if code == "d" and math.isnan(sum(numbers)):
            # The usual NaN is the one object math.nan again: in dicts and sets a NaN is found by identity.
            numbers = [math.nan if x != x and struct.pack("<d", x) == _NAN else x for x in numbers]
        return numbers
