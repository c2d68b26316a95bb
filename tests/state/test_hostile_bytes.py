"""Bytes with a right checksum and wrong values: they are refused, in memory and time that their size bounds."""

import struct
import tracemalloc
from collections import deque
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pytest
from support.tiers import in_full

import slidewise as sw
from slidewise.errors import SlidewiseError, StateError
from slidewise.fuzz.__main__ import main
from slidewise.fuzz.state import BYTES_PER_BYTE, FIXED_BYTES
from slidewise.serialization import codec, envelope
from slidewise.serialization.codec import decode, encode

MODULUS = 2**61 - 1
START = len(envelope.MAGIC) + 1


def sealed_again(data, change):
    """The state with another payload, given as plain values."""
    kind, fingerprint, definition, payload = decode(data[START : -envelope.CHECKSUM])
    return envelope.seal_encoded((kind, fingerprint, definition, encode(change(decode(payload)))))


def refused(data, reason):
    """Refused by the codec, in little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(StateError, match=reason):
            decode(data)
        assert tracemalloc.get_traced_memory()[1] < FIXED_BYTES + BYTES_PER_BYTE * len(data)
    finally:
        tracemalloc.stop()


# ---- values
@pytest.mark.parametrize("items", ["|V0", "|S0", "<U0"])
def test_an_array_of_nothing_is_refused(items):
    refused(b"a" + encode((items, (1 << 40,), b"")), "another size")
    with pytest.raises(StateError, match="no bytes"):
        encode(np.zeros(3, "V0"))


def test_a_text_of_nothing_is_kept():
    for nothing in (np.str_(""), np.bytes_(b"")):
        found = decode(encode(nothing))
        assert (type(found), found) == (type(nothing), nothing)


def test_a_shape_of_many_dimensions_is_refused_before_it_is_multiplied():
    refused(b"a" + encode(("<f8", tuple([1 << 62] * 100_000), b"")), "no such shape")


@pytest.mark.parametrize("items", ["i4,i4", "object", "|O", "<f8" * 1000, "(2,2)i4", [("a", "O")], ("O", (2,))])
def test_items_that_numpy_does_not_write_are_refused(items):
    refused(b"a" + encode((items, (0,), b"")), "no such items")


def test_rows_within_rows_take_no_more_than_their_bytes():
    n = 100_000
    size = encode([0] * n)[1:4]
    refused(b"[" + (size + b"(\x01") * 90 + size + b"b" + bytes(n), "rows within rows")


def test_rows_within_rows_are_read_as_far_as_they_are_written():
    value = [0] * 5000
    for _ in range(30):
        value = [(x,) for x in value]
    assert decode(encode(value)) == value


def test_equal_values_share_a_hash_and_are_no_attack():
    codec.require_told_apart([MODULUS] * 100_000)
    codec.require_told_apart([Decimal(1), 1.0, Fraction(1), MODULUS + 1, UUID(int=1)])


COLLIDING = {
    "integers": lambda k: k * MODULUS,
    "tuples": lambda k: ("a", k * MODULUS),
    "fractions": lambda k: Fraction(k * MODULUS + 1, 1),
    "decimals": lambda k: Decimal(k * MODULUS),
    "uuids": lambda k: UUID(int=k * MODULUS),
    "complex": lambda k: complex(2.0 ** (61 * (k % 16)), 2.0 ** (61 * (k // 16 % 16))),
    "frozensets": lambda k: frozenset([k * MODULUS]),
}


@pytest.mark.parametrize("name", COLLIDING)
@pytest.mark.parametrize("kind", [set, frozenset, dict.fromkeys])
def test_keys_of_one_hash_are_refused(name, kind):
    values = [COLLIDING[name](k) for k in range(1, 250)]
    assert len({hash(v) for v in values}) == 1
    refused(encode(kind(values)), "share a hash")


@pytest.mark.parametrize("name", ["incremental_count_distinct", "incremental_mode"])
def test_values_that_are_counted_must_be_told_apart(name):
    s = sw.swag(name, sw.count_distinct() if name.endswith("distinct") else sw.mode())
    for k in range(300):
        s.insert(k * MODULUS)
    with pytest.raises(StateError, match="share a hash"):
        s.from_bytes(s.to_bytes())


def test_a_fraction_that_takes_long_to_reduce_is_refused_on_both_sides():
    large = 3 ** (codec.FRACTION_BITS)
    refused(b"/" + encode((large, large + 1)), "a fraction has parts")
    with pytest.raises(StateError, match="Round it"):
        encode(Fraction(large, 2))
    fine = Fraction(3**9000, 2**9000)
    assert decode(encode(fine)) == fine


def test_what_an_error_quotes_may_be_of_any_length():
    w = sw.Window(sw.max(), sw.rows(2))
    kind, fingerprint, definition, _ = decode(w.to_bytes()[START : -envelope.CHECKSUM])
    with pytest.raises(StateError, match="damaged"):  # an object of this number was not met
        w.from_bytes(envelope.seal_encoded((kind, fingerprint, definition, b"o" + encode(1 << 40_000))))


# ---- structures
def filled(name, aggregation=None, n=40, **options):
    s = sw.swag(name, aggregation or sw.sum(), **options)
    for i in range(n):
        s.insert(i)
    return s


def with_fields(s, **fields):
    return sealed_again(s.to_bytes(), lambda payload: (payload[0], {**payload[1], **fields}))


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("recalculate", {"end": 1 << 40}),
        ("recalculate", {"end": True}),
        ("two_stacks_lite", {"boundary": 1 << 30}),
        ("daba_lite", {"b": 1 << 20}),
        ("monoid_fifo", {"boundary": 1 << 20}),
        ("monoid_fifo", {"cursor": 38, "staged": 0}),
        ("monoid_fifo", {"staged": -1}),
        ("subtract_on_evict", {"counted": 3}),
        ("subtract_on_evict", {"total": None}),
        ("flat_fit", {"skip": [(0, [0] * 40)]}),
        ("reactive", {"capacity": 1 << 40}),
        ("reactive", {"touched": [-1]}),
        ("fiba", {"used": 1 << 40}),
        ("fiba", {"root": 0}),
        ("fiba", {"free": 0}),
        ("fiba", {"times": ["a"] * 72}),
    ],
)
def test_a_structure_that_no_operations_lead_to_is_refused(name, fields):
    s = filled(name)
    with pytest.raises(StateError, match="damaged"):
        s.from_bytes(with_fields(s, **fields))


@pytest.mark.parametrize(
    "fields", [{"counted": 3}, {"low_end": 1 << 20}, {"lows": [(0, [0] * 40)]}, {"highs": [(0, ["a"] * 40)]}]
)
def test_parts_that_no_operations_lead_to_are_refused(fields):
    s = filled("slick_deque_parts", sw.moment_sketch(order=2))
    with pytest.raises(StateError, match="damaged"):
        s.from_bytes(with_fields(s, **fields))


def test_a_tree_with_a_cycle_is_refused():
    s = filled("fiba")
    first = list(s.first)
    first[s.left] = s.root
    with pytest.raises(StateError, match="not those of a fiba"):
        s.from_bytes(with_fields(s, first=first))


@pytest.mark.parametrize(("name", "options"), [("flat_fat", {"capacity": 64}), ("b_int", {"capacity": 64})])
def test_a_capacity_is_that_of_the_options(name, options):
    s = filled(name, **options)
    field = {"flat_fat": "capacity", "b_int": "most"}[name]
    with pytest.raises(StateError, match=f"not those of a {name}"):
        s.from_bytes(with_fields(s, **{field: 1 << 40}))


def test_a_hopping_window_far_in_the_past_is_refused():
    w = sw.Window(sw.sum(), sw.time(10, every=5))
    w.push(1, time=100)
    kind, fingerprint, definition, payload = decode(w.to_bytes()[START : -envelope.CHECKSUM])
    values = decode(payload, Plain)
    number, name, slots, names = values[3][None].plain
    before = dict(zip(names, slots, strict=True)) | {"next": -(1 << 60)}
    values[3][None] = Plain((number, name, tuple(before.values()), names))
    data = envelope.seal_encoded((kind, fingerprint, definition, encode(values, reduced)))
    with pytest.raises(StateError, match="not that of a Window"):
        w.from_bytes(data)


class Plain:
    """What an object of a window was reduced to."""

    def __init__(self, plain):
        self.plain = plain


def reduced(x):
    return x.plain


SHARED = {
    "high": sw.max("x").over(sw.rows(5)), "peak": sw.max("x").over(sw.time(7)),
    "around": sw.sum("x").over(sw.rows_between(-2, 2)), "sum": sw.sum("x").over(sw.rows(4, min_rows=2)),
    "old": sw.avg("x").over(sw.rows_between(-4, -1)), "mid": sw.median("x").over(sw.time(5)),
    "each": sw.sum("x").over(sw.rows(6, every=2)),
}  # fmt: skip


def change_numbers(found, path=()):
    """Every way to change one number in plain values, those of the windows' own objects in their bytes included."""
    if isinstance(found, Plain):
        yield from ((p, Plain(x)) for p, x in change_numbers(found.plain, path))
    elif type(found) in (tuple, list, deque):
        names = found[3] if len(found) == 4 and type(found) is tuple and type(found[1]) is str else ()
        for k, x in enumerate(found):
            if k == 0 and names:
                continue  # the number of the object
            for p, changed in change_numbers(x, (*path, found[1] if names else k)):
                yield p, type(found)([*list(found)[:k], changed, *list(found)[k + 1 :]])
    elif type(found) is int:
        yield from ((path, found + by) for by in (-1, 1))
    elif type(found) is bytes:
        yield from ((p, encode(x, reduced)) for p, x in change_numbers(decode(found, Plain), (*path, "engine")))


@pytest.mark.full
def test_windows_that_share_rows_are_refused_where_they_disagree_on_them():
    """One number more or less, anywhere in what several windows hold: refused, or they go on without a crash."""
    w = sw.Window(SHARED)
    for t in range(9):
        w.push({"x": t % 4}, time=t)
    kind, fingerprint, definition, payload = decode(w.to_bytes()[START : -envelope.CHECKSUM])
    values = decode(payload, Plain)
    refused = 0
    for path, changed in change_numbers(values[3][None]):
        whole = (*values[:3], {None: changed}, *values[4:])
        data = envelope.seal_encoded((kind, fingerprint, definition, encode(whole, reduced)))
        try:
            loaded = w.from_bytes(data)
        except StateError:
            refused += 1
            continue
        try:
            for t in range(9, 15):
                loaded.push({"x": t % 4}, time=t)
            loaded.flush()
        except SlidewiseError:
            pass
        except Exception as error:
            raise AssertionError(f"{path}: {error!r}") from error
    assert refused > 100


# ---- sketches: with these bytes the library read and wrote beyond its memory, which ended the process
SKETCHES = {
    "count-min, rows": (sw.count_min_sketch(), lambda d: d[:12] + b"\0" + d[13:]),
    "count-min, buckets": (sw.count_min_sketch(), lambda d: d[:8] + b"\xff\xff\xff\x7f" + d[12:]),
    "KLL, truncated": (sw.approx_percentile(0.5), lambda d: (d[0][:21], d[1])),
    "KLL, levels": (sw.approx_percentile(0.5), lambda d: (d[0][:20] + struct.pack("<I", 1 << 31) + d[0][24:], d[1])),
    "KLL, NaN": (sw.approx_percentile(0.5), lambda d: (d[0][:-8] + b"\xff" * 8, d[1])),
    "HLL, size of its set": (sw.approx_count_distinct(), lambda d: d[:4] + b"\x1a" + d[5:]),
}


@pytest.mark.parametrize("name", SKETCHES)
def test_a_sketch_is_looked_at_before_its_library_reads_it(name):
    aggregation, change = SKETCHES[name]
    s = filled("two_stacks_lite", aggregation, 30)
    s.query()
    damage = lambda payload: (payload[0], {**payload[1], "back": change(payload[1]["back"])})  # noqa: E731
    with pytest.raises(StateError, match="are not a"):
        s.from_bytes(sealed_again(s.to_bytes(), damage))


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 20, 24, 25, 48, 49, 300, 3000])
def test_sketches_of_every_size_are_read(n):
    for aggregation in (
        sw.approx_count_distinct(), sw.approx_count_distinct(rsd=0.3), sw.count_min_sketch(),
        sw.approx_percentile(0.5, accuracy=3), sw.approx_percentile(0.5, accuracy=100),
    ):  # fmt: skip
        s = filled("subtract_on_evict" if aggregation.invertible else "two_stacks_lite", aggregation, n)
        assert s.from_bytes(s.to_bytes()).query() == s.query()


def test_a_count_min_sketch_of_another_seed_cannot_be_saved():
    with pytest.raises(StateError, match="seed=7"):
        filled("two_stacks_lite", sw.count_min_sketch(seed=7), 2).to_bytes()


# ---- random ones
@pytest.mark.parametrize("cases", [30, *in_full(400), pytest.param(40_000, marks=pytest.mark.soak)])
def test_random_states_are_refused_or_go_on(cases, capsys):
    assert main(["state", "--cases", str(cases), "--seed", "5", "--hang", "3600"]) == 0, capsys.readouterr().out
