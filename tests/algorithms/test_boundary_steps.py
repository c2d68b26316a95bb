"""SBA and PBA that take one slide at a time without the interpreter: answers, invariant, costs, and the second
thread."""

import threading
import types

import numpy as np
import pytest
from support.aggregations import Concat, Deviation, Ends
from support.tiers import in_full, share

import slidewise as sw
from slidewise.aggregations.trial import partial_dtype, result_dtype
from slidewise.algorithms import _pba_steps, _sba_steps
from slidewise.algorithms.sba import optimal_chunk_size
from slidewise.registry.entries import AlgorithmEntry
from slidewise.templates import fifo, uncompiled
from slidewise.templates.bind import bind, functions_of
from slidewise.templates.compile import kernel, new_state
from slidewise.templates.interpret import optional_names, state_fields, swag_class

pytestmark = pytest.mark.compiled

ENTRY = AlgorithmEntry(
    "_sba_steps", "", insert="", evict="", query="", space="", needs=frozenset(), paper="", options=("slices", "chunk")
)
SHAPES = [(n, c) for n in range(1, 10) for c in (None, *range(1, n + 1))]


# ---- the template, interpreted
@pytest.mark.parametrize("insert_first", [False, True])
def test_every_window_and_chunk(insert_first):
    text = "abcdefghijklmnopqrstuvwxyz" * 2
    for n, c in SHAPES:
        s = swag_class(ENTRY, Concat())(slices=n, chunk=c)
        for i, value in enumerate(text):
            if i >= n and not insert_first:
                s.evict()
            s.insert(value)
            if i >= n and insert_first:
                s.evict()
            s.check()
            assert s.query() == text[max(0, i - n + 1) : i + 1]
            assert len(s) == min(n, i + 1)


def test_windows_that_grow_and_shrink_are_answered_or_refused():
    """A window may begin within the newest chunk: its running partial has more slices than the window then."""
    rng = np.random.default_rng(4)
    answered = refused = 0
    for n, c in SHAPES:
        s, held, text = swag_class(ENTRY, Concat())(slices=n, chunk=c), "", "abcdefghijklm"
        for _ in range(share(300)):
            if held and (len(held) > n or rng.random() < 0.5):
                s.evict()
                held = held[1:]
            else:
                s.insert(text[len(held)])
                held += text[len(held)]
            s.check()
            try:
                got = s.query()
            except sw.SlidewiseError as error:
                assert "shorter than a chunk" in str(error)
                refused += 1
            else:
                assert (got or "") == held
                answered += 1
    assert answered > refused > 0


def test_refusals():
    for options in ({}, {"slices": 0}, {"slices": 4, "chunk": 5}, {"slices": 4, "chunk": 0}, {"slices": 2.5}):
        with pytest.raises(sw.InvalidInput, match="fixed"):
            swag_class(ENTRY, Concat())(**options)
    s = swag_class(ENTRY, Concat())(slices=2)
    for value in "abc":
        s.insert(value)
    with pytest.raises(sw.SlidewiseError, match="Evict its oldest slice first"):
        s.insert("d")


# ---- costs, counted by thread
@pytest.mark.parametrize("n", [1, 2, 101, *in_full(3, 10, 64, 500)])
def test_the_main_thread_of_pba_does_at_most_three_combines_per_slide(n):
    calls = {}

    class Total(sw.Aggregation):
        identity = 0

        @staticmethod
        def combine(a, b):
            name = threading.current_thread().name
            calls[name] = calls.get(name, 0) + 1
            return a + b

    main, c = threading.current_thread().name, optimal_chunk_size(n, 1)
    f, s = interpreted_pba(Total(), n)

    def serve():
        try:
            f["serve"](s)
        finally:
            s.signals[_pba_steps.FAILED] = 1

    second = threading.Thread(target=serve, name="second")
    second.start()
    try:
        slides = 6 * c
        for i in range(n + slides):
            before = calls.get(main, 0)
            if i >= n:
                f["evict"](s)
            f["insert"](s, 1)
            assert f["query"](s) == min(i + 1, n)
            assert calls.get(main, 0) - before <= 3
        f["check"](s, [1] * n)
    finally:
        s.signals[_pba_steps.STOP] = 1
        second.join(10)
    chunks = (n + slides) // c
    assert s.posted == (chunks if c > 2 else 0)
    assert calls.get("second", 0) == chunks * max(0, c - 2)
    assert calls.keys() <= {main, "second"}


def interpreted_pba(op, n):
    """The template over Python objects, with what two threads share."""
    shared = {name: getattr(uncompiled, name) for name in ("publish", "observe", "relax")}
    names = {**optional_names(op), **shared, "open_state": lambda s: s}
    f = bind(functions_of(_pba_steps), names)
    s = types.SimpleNamespace(**dict.fromkeys(state_fields(_pba_steps), 0))
    s.slices, s.running, s.signals = [], None, [0] * _pba_steps.SIGNALS
    f["setup"](s, n)
    return f, s


def test_sba_does_the_pass_at_the_boundary():
    calls = [0]

    class Total(sw.Aggregation):
        identity = 0

        @staticmethod
        def combine(a, b):
            calls[0] += 1
            return a + b

    n, c = 100, 51
    s = swag_class(ENTRY, Total())(slices=n)
    most = []
    for i in range(n + 6 * c):
        before = calls[0]
        if i >= n:
            s.evict()
        s.insert(1)
        s.query()
        most.append(calls[0] - before)
    assert sorted(most)[-(len(most) // c) - 1] <= 3
    assert max(most) == 2 + c - 2  # the running partial, one merge with the chunk that is complete, and the pass


# ---- compiled
def compiled(module, op, x, n, chunk=None):
    """The results of all frames of n rows, and how many jobs the second thread has done."""
    partial = partial_dtype(op, (x,))
    state = new_state(module, op, partial, 1, slices=n, chunk=chunk)
    out = np.zeros(len(x), result_dtype(op, (x,), partial))
    valid = np.zeros(len(x), bool)
    args = (state, (x,), n, out, valid)
    run = kernel(fifo.run_rows, module, op, partial, args)
    if module is _sba_steps:
        run(*args)
        return np.ma.masked_array(out, ~valid), 0
    with _pba_steps.SecondThread(op, partial, state) as second:
        run(*args)
    return np.ma.masked_array(out, ~valid), second.jobs


@pytest.mark.parametrize("op", [Ends(), *in_full(Deviation())], ids=lambda op: op.name)
def test_compiled_answers_are_those_of_recalculation(op):
    x = np.random.default_rng(1).integers(0, 1000, 700)
    for n, chunk in (
        (1, None),
        (2, None),
        (7, 3),
        (100, None),
        (100, 100),
        (100, 1),
        (350, None),
        (700, 351),
        (900, None),
    ):
        expected = sw.rolling(x, op, sw.rows(n), algorithm="recalculate")
        by_sba, _ = compiled(_sba_steps, op, x, n, chunk)
        by_pba, jobs = compiled(_pba_steps, op, x, n, chunk)
        np.testing.assert_allclose(by_sba.filled(-1), np.ma.filled(expected, -1), rtol=1e-9)
        assert by_sba.tobytes() == by_pba.tobytes()
        c = chunk or optimal_chunk_size(n, 1)
        assert jobs == (len(x) // c if c > 2 else 0)


@pytest.mark.full
def test_a_second_thread_that_fails_reaches_the_caller():
    class Fails(sw.Aggregation):
        identity = 0

        @staticmethod
        def combine(a, b):
            return a + b + 0 * (1 // (a - 7))  # 7 is the older operand in the left-cumulative pass alone

    x = np.full(100, 1000)
    x[20] = 7
    with pytest.raises(ZeroDivisionError) as raised:
        compiled(_pba_steps, Fails(), x, 30)
    assert "second thread has failed" in str(raised.value.__context__)
    assert not [t for t in threading.enumerate() if t.name == "slidewise-pba"]


def test_what_cannot_be_compiled_is_refused():
    op = Concat()
    state = types.SimpleNamespace(signals=np.zeros(_pba_steps.SIGNALS, np.int64))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pba_steps, "kernel", lambda *args: None)
        with pytest.raises(sw.SlidewiseError, match="numba cannot compile"):
            _pba_steps.SecondThread(op, np.dtype(np.int64), state)
