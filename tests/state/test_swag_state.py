"""A structure saved and loaded in mid-stream goes on as if nothing had happened; a wrong state is refused."""

import hashlib
import math
import random
import subprocess
import sys
from collections import deque
from datetime import datetime, timedelta
from typing import Any

import pytest
from support.aggregations import Listed

import slidewise as sw
from slidewise.errors import StateError
from slidewise.registry import missing
from slidewise.registry.algorithms import ALGORITHMS
from slidewise.serialization import envelope
from slidewise.templates import storage


class Segments(sw.Aggregation):
    """Partials that are objects of our own, with dump and load."""

    class Partial:
        def __init__(self, n, text):
            self.n, self.text = n, text

        def __eq__(self, other):
            return (self.n, self.text) == (other.n, other.text)

        def __hash__(self):
            return hash((self.n, self.text))

    @staticmethod
    def lift(x):
        return Segments.Partial(1, f"{x}")

    @staticmethod
    def combine(a, b):
        return Segments.Partial(a.n + b.n, (a.text + b.text)[:5])

    @staticmethod
    def lower(s):
        return (s.n, s.text)

    @staticmethod
    def dump(s):
        return (s.n, s.text)

    @staticmethod
    def load(plain):
        return Segments.Partial(*plain)


AGGREGATIONS = [
    sw.sum(), sw.max(), sw.min(), sw.count(), sw.stddev(), sw.avg(), sw.max_by(), sw.first(),
    sw.nth_value(n=3), sw.collect_list(), sw.collect_set(), sw.string_agg(delimiter="-"), sw.bloom_filter(),
    sw.moment_sketch(), sw.approx_count_distinct(), sw.count_min_sketch(), sw.median(), sw.percentile(0.9),
    sw.count_distinct(), sw.mode(), Listed(), Segments(),
]  # fmt: skip
OPTIONS: dict[str, Any] = {
    "flat_fat": [{"capacity": 64}],
    "b_int": [{"capacity": 64}],
    "reactive": [{}, {"capacity": 64}],
    "fiba": [{}, {"arity": 2}],
    "sba": [{"range": 12, "slide": 1}, {"range": 10, "slide": 3}],
    "pba": [{"range": 12, "slide": 1}, {"range": 10, "slide": 3}],
    "incremental_mode": [{}, {"variant": "paper"}],
    "incremental_quantile": [{}, {"variant": "reuse"}],
    "incremental_count_distinct": [{}, {"tau": 1.0}, {"floor": 10}],
}
PAIRS = [
    pytest.param(e.name, a, options, id=f"{e.name}-{a.name}-{'-'.join(map(str, options.values()))}")
    for e in ALGORITHMS
    for a in AGGREGATIONS
    if not missing(e, a)
    for options in OPTIONS.get(e.name, [{}])
]


def values_for(aggregation, seed, n):
    """Rows with nulls, NaN, ties and numbers whose sum depends on the order of additions."""
    random_ = random.Random(seed)
    plain = [random_.choice([None, 0.1, 0.7, 1e16, -3.3, 5.0, math.nan, *range(4)]) for _ in range(n)]
    if aggregation.name == "string_agg":
        return [None if x is None else f"{x}" for x in plain]
    if aggregation.arity == 2:
        return [(x, random_.random()) for x in plain]
    return plain


def operations(aggregation, options, seed, n=160, most=40):
    """(name, arguments) of inserts, evictions and queries: the window grows, shrinks to nothing and grows again."""
    values = values_for(aggregation, seed, n)
    if "range" in options:
        yield from slides(values, **options)
        return
    random_ = random.Random(seed)
    size = 0
    for i, value in enumerate(values):
        yield ("insert", value)
        yield ("query",)
        size += 1
        evictions = random_.choice([0, 0, 1, 2, size if i % 50 == 49 else 1])
        for _ in range(min(size, max(evictions, size - most))):
            yield ("evict",)
            yield ("query",)
            size -= 1


def slides(values, range, slide):
    """The sequence that boundary aggregators are made for."""
    for i, value in enumerate(values):
        if i < range:
            yield ("insert", value)
            yield ("query",)
        elif (i - range) % slide == slide - 1:
            yield from [("evict",)] * slide
            yield from [("insert", v) for v in values[i - slide + 1 : i + 1]]
            yield ("query",)


def apply(swag, name, *arguments):
    return repr(getattr(swag, name)(*arguments))


@pytest.mark.covering(1)
@pytest.mark.parametrize(("name", "aggregation", "options"), PAIRS)
def test_a_round_trip_changes_no_later_result(name, aggregation, options):
    steps = list(operations(aggregation, options, seed=7))
    cuts = {0, 1, 2, len(steps) // 5, len(steps) // 2, len(steps) - 20}
    original = sw.swag(name, aggregation, **options)
    blank = sw.swag(name, aggregation, **options)
    copies = []
    for i, step in enumerate(steps):
        if i in cuts:
            copy = blank.from_bytes(original.to_bytes())
            assert len(copy) == len(original)
            copies.append(copy)
        expected = apply(original, *step)
        assert [apply(copy, *step) for copy in copies] == [expected] * len(copies)
    assert len(copies) == len(cuts)
    assert len(blank) == 0  # from_bytes leaves its structure alone


@pytest.mark.parametrize("entry", ALGORITHMS, ids=lambda e: e.name)
def test_what_is_loaded_satisfies_the_invariant(entry):
    aggregation = next(a for a in (sw.sum(), *AGGREGATIONS) if not missing(entry, a))
    options = OPTIONS.get(entry.name, [{}])[0]
    s = sw.swag(entry.name, aggregation, **options)
    window: deque[int] = deque()
    for i, (operation, *_) in enumerate(operations(aggregation, options, seed=5, n=60)):
        if operation == "insert":
            s.insert(1 + i * 7 % 5)  # of which all have a logarithm
            window.append(1 + i * 7 % 5)
        elif operation == "evict":
            s.evict()
            window.popleft()
        else:
            data = s.to_bytes()
            assert s.to_bytes() == data  # saving changes nothing
            s.from_bytes(data).check(list(window))


def test_values_out_of_order():
    for name in ("fiba", "reactive"):
        s, expected = sw.swag(name, sw.sum()), {}
        for i in range(100):
            time = i * 37 % 101
            expected[time] = i
            s.insert(i, time=time)
            s = s.from_bytes(s.to_bytes())
            assert s.query() == sum(expected.values())
            assert (s.oldest, s.youngest) == (min(expected), max(expected))
            if i % 10 == 9:
                s.evict(time=i // 2)
                expected = {t: v for t, v in expected.items() if t > i // 2}


@pytest.mark.parametrize("name", ["two_stacks_lite", "daba_lite", "slick_deque"])
def test_queues_of_many_pages(name):
    s = sw.swag(name, sw.max())
    for i in range(5000):
        s.insert(None if 1000 < i < 4500 else -float(i))  # whole pages of nulls
        if i > 3500:
            s.evict()
    copy = s.from_bytes(s.to_bytes())
    for i in range(4000):
        for x in (s, copy):
            x.insert(float(i % 13))
            x.evict()
        assert s.query() == copy.query()


def test_pages_around_the_last_position():
    pages = storage.new_pages()
    kept = {i: i for i in range(2**30 - 1500, 2**30 + 1500)}
    for i, value in kept.items():
        storage.append(pages, i, value)
    runs = storage.stretches(pages)
    assert len(runs) == 2
    found = {start + k: value for start, values in runs for k, value in enumerate(values) if value is not None}
    assert found == {i % 2**30: value for i, value in kept.items()}


def test_a_page_of_nulls_stays_a_page():
    pages = [None] * storage.SIZE
    assert storage.stretches(pages) == []
    storage.append(pages, 5, None)
    ((start, values),) = storage.stretches(pages)
    assert values == [None] and start < storage.SIZE


@pytest.mark.parametrize("held", [1, 4, 5, 100, 512, 513, 2000])
def test_a_queue_grows_from_a_ring_to_a_table(held):
    pages = storage.new_pages()
    for i in range(5000):
        if i >= held:
            storage.drop(pages, i - held)
        storage.append(pages, i, None if i % 3 == 0 else i)
        if i % 500 == 0:
            first = max(0, i - held + 1)
            assert storage.holds(pages, first, i + 1)
            assert [storage.at(pages, k) for k in range(first, i + 1)] == [
                None if k % 3 == 0 else k for k in range(first, i + 1)
            ]
    assert storage.is_ring(pages) == (held <= 512)
    if held <= 512:  # the smallest power of two that they fit into
        assert len(pages) == max(4, 1 << (held - 1).bit_length()) + 1
        assert storage.build_ring(*storage.list_ring(pages)) == pages


def test_a_ring_of_nulls_keeps_its_slots():
    """Nulls look like slots without elements: a state that left them out would come back too small."""
    s = sw.swag("daba_lite", sw.max())
    for value in (1.0, 2.0, None, None, None, None):
        s.insert(value)
    copy = s.from_bytes(s.to_bytes())
    for value in (3.0, None, 1.0, None, None, None):
        for each in (s, copy):
            each.insert(value)
            each.evict()
            each.check()
        assert s.query() == copy.query()


def test_times_are_kept():
    start = datetime(2024, 1, 1)
    s = sw.swag("two_stacks_lite", sw.sum())
    for i in range(5):
        s.insert(i, time=start + timedelta(minutes=i))
    copy = s.from_bytes(s.to_bytes())
    assert isinstance(copy._times, deque)
    assert (copy.oldest, copy.youngest) == (s.oldest, s.youngest)
    copy.evict(time=start + timedelta(minutes=2))
    assert copy.query() == 3 + 4
    with pytest.raises(sw.IllegalPair):
        copy.insert(1, time=start)


def test_another_process_reads_it():
    s = sw.swag("daba_lite", sw.stddev())
    for x in (1.0, 2.5, 9.0):
        s.insert(x)
    code = (
        "import sys, slidewise as sw\n"
        "s = sw.swag('daba_lite', sw.stddev()).from_bytes(sys.stdin.buffer.read())\n"
        "print(s.query(), 'pickle' in sys.modules, 'numba' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], input=s.to_bytes(), capture_output=True, check=True)
    assert result.stdout.decode().split() == [repr(s.query()), "False", "False"]


# ---- refusals
@pytest.fixture
def small():
    s = sw.swag("two_stacks_lite", sw.max())
    s.insert(1.0)
    s.insert(2.0)
    return s


def test_every_changed_byte_is_refused(small):
    data = small.to_bytes()
    for i in range(len(data)):
        for change in (1, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[i] ^= change
            with pytest.raises(StateError):
                small.from_bytes(bytes(damaged))


def test_every_truncation_is_refused(small):
    data = small.to_bytes()
    for end in range(len(data)):
        with pytest.raises(StateError):
            small.from_bytes(data[:end])
    with pytest.raises(StateError):
        small.from_bytes(data + b"\x00")


def sealed(version=envelope.VERSION, body=b""):
    data = envelope.MAGIC + bytes([version]) + body
    return data + hashlib.blake2b(data, digest_size=16).digest()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a state of slidewise"),
        (b"PK\x03\x04 something else entirely", "not a state of slidewise"),
        ("text", "takes the bytes that to_bytes"),
        (envelope.MAGIC, "truncated"),
        (sealed(envelope.VERSION + 1), "reads up to"),
        (sealed(body=b"N"), "its parts are not those of a state"),
        (sealed(body=b"("), "truncated"),
    ],
)
def test_what_is_no_state_is_refused(small, data, message):
    with pytest.raises(StateError, match=message):
        small.from_bytes(data)


def state_of(*definition, **options):
    return sw.swag(*definition, **options).to_bytes()


@pytest.mark.parametrize(
    ("saved", "here", "message"),
    [
        (("daba_lite", sw.max()), ("two_stacks", sw.max()), "algorithm was daba_lite, and is two_stacks"),
        (("daba_lite", sw.max()), ("daba_lite", sw.min()), "aggregation was max, and is min here"),
        (("daba_lite", sw.max("a")), ("daba_lite", sw.max("b")), "columns was a, and is b here"),
        (
            ("incremental_quantile", sw.percentile(0.9)),
            ("incremental_quantile", sw.percentile(0.5)),
            "parameters was fraction=0.9, and is fraction=0.5 here",
        ),
        (
            ("daba_lite", sw.string_agg(delimiter=",")),
            ("daba_lite", sw.string_agg()),
            "parameters was delimiter=',', and is not given here",
        ),
    ],
)  # fmt: skip
def test_another_definition_is_refused_with_what_differs(saved, here, message):
    with pytest.raises(StateError, match=message):
        sw.swag(*here).from_bytes(state_of(*saved))


def test_other_options_are_refused():
    saved = state_of("incremental_count_distinct", sw.count_distinct(), tau=0.5)
    with pytest.raises(StateError, match=r"options was tau=0.5, and is tau=0.75 here"):
        sw.swag("incremental_count_distinct", sw.count_distinct(), tau=0.75).from_bytes(saved)


def of_my_own(factor, version=None):
    class Mine(sw.Aggregation):
        if version is not None:
            state_version = version

        @staticmethod
        def lift(x):
            return x * factor

        @staticmethod
        def combine(a, b):
            return a + b

    return Mine()


def test_own_functions_that_changed_are_refused():
    saved = state_of("daba_lite", of_my_own(2))
    sw.swag("daba_lite", of_my_own(2)).from_bytes(saved)  # the same code, made again
    with pytest.raises(StateError, match="functions was"):
        sw.swag("daba_lite", of_my_own(3)).from_bytes(saved)


def test_a_declared_state_version_stands_for_the_functions():
    def of_version(version, function):
        return type("Mine", (type(of_my_own(2, version)),), {"lift": staticmethod(function)})()

    saved = state_of("daba_lite", of_version(1, lambda x: x * 2))
    sw.swag("daba_lite", of_version(1, lambda x: x * 3)).from_bytes(saved)
    with pytest.raises(StateError, match="state version was 1, and is 2 here"):
        sw.swag("daba_lite", of_version(2, lambda x: x * 2)).from_bytes(saved)


def test_a_declared_state_version_does_not_stand_for_values_that_were_captured():
    saved = state_of("daba_lite", of_my_own(2, version=1))
    sw.swag("daba_lite", of_my_own(2, version=1)).from_bytes(saved)
    with pytest.raises(StateError, match=r"captured values was lift\.factor=2, and is lift\.factor=3 here"):
        sw.swag("daba_lite", of_my_own(3, version=1)).from_bytes(saved)


def test_functions_that_have_no_digest_go_by_name():
    class Odd(sw.Aggregation):
        combine = min
        place = object()

        @staticmethod
        def lift(x):
            return (x, Odd.place)[0]

    assert sw.swag("daba_lite", Odd()).from_bytes(state_of("daba_lite", Odd())).query() is None


def test_a_forged_state_of_the_right_definition_is_refused(small):
    for payload in (None, (None, {}), (None, {"front": 1}), (1, 2, 3)):
        with pytest.raises(StateError):
            small.from_bytes(envelope.seal("swag", small._definition(), payload))
    state = small._save()
    state["queue"] = [(i * 1024, [1.0]) for i in range(1000)]  # a page each
    with pytest.raises(StateError, match="in pieces"):
        small.from_bytes(envelope.seal("swag", small._definition(), (None, state)))


def test_the_state_of_something_else_is_refused(small):
    with pytest.raises(StateError, match="state of a window, and a swag cannot load it"):
        small.from_bytes(envelope.seal("window", small._definition(), None))


def test_values_without_a_form_in_bytes_are_named():
    s = sw.swag("two_stacks_lite", sw.max())
    s.insert(Segments.Partial(1, ""))
    with pytest.raises(StateError, match=r"Segments.Partial.*dump\(partial\) and load\(plain\)"):
        s.to_bytes()
