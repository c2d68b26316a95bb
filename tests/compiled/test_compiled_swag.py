"""A bare structure of numbers goes on in compiled code, and is as if interpreted whenever it is looked at."""

import copy
import os
from random import Random

import pytest

import slidewise as sw
from slidewise.templates import background, compiled_swag

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="numba is switched off"),
]


@pytest.fixture(scope="module", autouse=True)
def impatient():
    """Look for compiled code after every few values, and ask for it after few."""
    before = background.AFTER, compiled_swag.AGAIN
    background.AFTER, compiled_swag.AGAIN = 1, 8
    yield
    background.AFTER, compiled_swag.AGAIN = before


def build(name, aggregation, value):
    """A structure of which the code is there, and one that stays interpreted."""
    first = sw.swag(name, aggregation)
    for _ in range(16):
        first.insert(value)
    background.wait()
    return sw.swag(name, aggregation), _Plain(sw.swag(name, aggregation))


class _Plain:
    """A structure that never looks for compiled code."""

    def __init__(self, swag):
        self.swag = swag

    def __getattr__(self, name):
        assert self.swag._running is None
        return getattr(self.swag, name)

    def insert(self, value):
        before, compiled_swag.look = compiled_swag.look, lambda swag, value: None
        self.swag.insert(value)
        compiled_swag.look = before

    def __len__(self):
        return len(self.swag)

    def __repr__(self):
        return repr(self.swag)


def is_compiled(swag):
    return getattr(swag, "_running", None) is not None


@pytest.mark.parametrize("size", [3, 700])
def test_whatever_is_done_with_it(size):
    run_both("daba_lite", sw.max(), (0.5, -0.0, 0.0, 7.5), size)


@pytest.mark.full
@pytest.mark.parametrize("size", [3, 700])
@pytest.mark.parametrize(
    ("name", "aggregation", "values"),
    [
        ("two_stacks_lite", sw.max(), (0.5, -0.0, 0.0, 7.5)),
        ("daba_lite", sw.sum(), (1, -5, 7, 2**50)),
        ("two_stacks_lite", sw.avg(), (0.1, 0.2, 1e300)),
        ("daba_lite", sw.stddev(), (1, 2, 3, 5)),
    ],
)
def test_whatever_is_done_with_others(name, aggregation, values, size):
    run_both(name, aggregation, values, size)


def ask(s):
    """What a query gives, or says: a sum may leave 64 bits."""
    try:
        return repr(s.query())
    except OverflowError as error:
        return str(error)


def run_both(name, aggregation, values, size):
    random, went = Random(size), 0
    s, other = build(name, aggregation, values[0])
    for k in range(3 * size + 400):
        value = random.choice([*values * 20, None, 2**70, 3, 1.5]) if k % 50 == 0 else random.choice(values)
        went += is_compiled(s)
        for each in (s, other):
            each.insert(value)
            if len(each) > size:
                each.evict()
        assert ask(s) == ask(other)
        assert (len(s), s.oldest, s.youngest, repr(s)) == (len(other), None, None, repr(other))
        if k % 61 == 60:
            assert saved(s) == saved(other)
            assert s.partials() == other.partials()
            s.check()
        elif k % 61 == 30:
            s = s.from_bytes(s.to_bytes())
    assert went > 100


def saved(swag):
    return swag._times, swag._save()


def test_a_copy_has_memory_of_its_own():
    s, _ = build("daba_lite", sw.max(), 0.5)
    for k in range(40):
        s.insert(float(k))
    assert is_compiled(s)
    twin = copy.deepcopy(s)
    assert not is_compiled(s) and not is_compiled(twin)
    for k in range(40):
        s.insert(-float(k))
        twin.insert(100.0)
    assert (s.query(), twin.query(), len(twin)) == (39.0, 100.0, 80)


def test_methods_that_were_taken_before():
    """They are of the object, whichever way its values are held."""
    s, _ = build("daba_lite", sw.max(), 0.5)
    insert, evict, query, save, restore = s.insert, s.evict, s.query, s.to_bytes, s.from_bytes
    ways = set()
    for k in range(400):
        insert(float(k % 7))
        if k >= 10:
            evict()
        ways.add(is_compiled(s))
        assert query() == max(j % 7 for j in range(max(0, k - 9), k + 1)) == s.query()
        if k % 30 == 29:
            assert restore(save()).query() == query()
    assert ways == {True, False}


def test_what_is_refused_is_refused_as_ever():
    s, _ = build("daba_lite", sw.max(), 0.5)
    for k in range(8):
        s.insert(float(k))
    for _ in range(8):
        s.evict()
    for refused in (lambda: s.evict(), lambda: s.query(1, 2), lambda: s.insert(1.0, time=float("nan"))):
        with pytest.raises(sw.InvalidInput):
            refused()
    assert s.query() is None and len(s) == 0
    s.insert(2.5, time=1)
    assert (s.oldest, s.query()) == (1, 2.5)
    for k in range(40):
        s.insert(float(k), time=k + 2)
    assert not is_compiled(s)  # times are kept beside it


def test_structures_of_others_stay_interpreted():
    for aggregation in (sw.geomean(), sw.first(), sw.max_count()):
        s = sw.swag("daba_lite", aggregation)
        for _ in range(64):
            s.insert(1.5)
        background.wait()
        for _ in range(64):
            s.insert(1.5)
        assert not is_compiled(s)


@pytest.mark.parametrize("step", ["grow", "give_back"])
def test_ctrl_c_while_values_move_spoils_it(step, monkeypatch):
    """Half of them would be here and half there: nothing more is taken, and the last saved state is good."""
    from slidewise.templates.memory import CompiledStructure

    s, _ = build("daba_lite", sw.max(), 0.5)
    for k in range(40):
        s.insert(float(k))
    saved_before = s.to_bytes()
    for k in range(40):
        s.insert(float(k))
    assert is_compiled(s)

    class Interrupt(BaseException):
        """As Ctrl-C, which would end the tests where it got through."""

    def interrupt(*arguments):
        raise Interrupt

    with monkeypatch.context() as patch:
        patch.setattr(CompiledStructure, step, interrupt)
        with pytest.raises(Interrupt):
            for k in range(2000):
                s.insert(float(k))
            s.insert("a text")
    for refused in (lambda: s.insert(1.0), lambda: s.evict(), lambda: s.query(), lambda: s.to_bytes()):
        with pytest.raises(sw.InvalidInput, match="an earlier operation failed halfway"):
            refused()
    assert s.from_bytes(saved_before).query() == 39.0
