"""The second thread of PBA: who combines what, waiting, failures, and its end. Answers are tested in
test_sba.py."""

import functools
import gc
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from support.aggregations import Concat, Deviation, Ends, Total
from support.tiers import in_full

import slidewise as sw
from slidewise.aggregations.base import Aggregation
from slidewise.aggregations.trial import partial_dtype, result_dtype
from slidewise.algorithms import pba, sba
from slidewise.algorithms.sba import optimal_chunk_size
from slidewise.templates import compile as compiling


def threads():
    return [t for t in threading.enumerate() if t.name == "slidewise-pba"]


def gone():
    """Whether all second threads end, given a moment: garbage collection tells them to, and does not wait."""
    if threads():  # else there is nothing to wait for, and the collector takes half a second
        gc.collect()
    for t in threads():
        t.join(10)
    return not threads()


@pytest.fixture(autouse=True)
def no_thread_is_left():
    assert gone()
    yield
    assert gone()


def slide(structure, values, start, r, s):
    for _ in range(s):
        structure.evict()
    for value in values[start + r - s : start + r]:
        structure.insert(value)


# ---- who does what
@pytest.mark.parametrize("n", [1, 101, *in_full(2, 3, 10, 500)])
def test_the_main_thread_does_at_most_three_combines_per_slide(n):
    calls = {}

    class Total(Aggregation):
        identity = 0

        @staticmethod
        def combine(a, b):
            name = threading.current_thread().name
            calls[name] = calls.get(name, 0) + 1
            return a + b

    main = threading.current_thread().name
    c = optimal_chunk_size(n, 1)
    with sw.swag("pba", Total(), range=n) as structure:
        for _ in range(n):
            structure.insert(1)
        structure.check()
        calls.clear()
        slides = 6 * c
        for _ in range(slides):
            before = calls.get(main, 0)
            structure.evict()
            structure.insert(1)
            assert structure.query() == n
            assert calls.get(main, 0) - before <= 3
        structure.check()
    chunks = slides // c
    assert calls.get("slidewise-pba", 0) == chunks * max(0, c - 2)
    assert calls.keys() <= {main, "slidewise-pba"}


def test_the_main_thread_goes_on_while_the_second_one_works():
    """The left-cumulative pass is held up; inserts and the queries that need none of it are not."""
    go = threading.Event()

    class Held(Aggregation):
        identity = ""

        @staticmethod
        def combine(a, b):
            if threading.current_thread().name == "slidewise-pba":
                assert go.wait(10)
            return a + b

    with sw.swag("pba", Held(), range=10) as structure:  # chunks of 6
        for value in "abcdefghij":
            structure.insert(value)
        assert structure.query() == "abcdefghij"
        assert len(threads()) == 1
        structure.evict()
        structure.insert("k")
        assert not go.is_set()
        threading.Timer(0.05, go.set).start()
        assert structure.query() == "bcdefghijk"  # waits
        assert go.is_set()


@pytest.mark.parametrize("slow", ["main", "second", "both"])
def test_any_timing_gives_the_same_answers(slow):
    class Slow(Aggregation):
        identity = ""

        @staticmethod
        def combine(a, b):
            second = threading.current_thread().name == "slidewise-pba"
            if slow == "both" or second == (slow == "second"):
                time.sleep(0.0002)
            return a + b

    text = "abcdefghijklmnopqrstuvwxyz" * 4
    for r, s, c in ((8, 1, None), (8, 1, 8), (8, 1, 3), (11, 3, None), (9, 2, 4)):
        with sw.swag("pba", Slow(), range=r, slide=s, chunk=c) as structure:
            for value in text[:r]:
                structure.insert(value)
            for start in range(s, len(text) - r, s):
                slide(structure, text, start, r, s)
                if start % 3 == 0:  # not every window is asked for: the second thread may lag behind
                    assert structure.query() == text[start : start + r]


# ---- its life
def test_no_thread_before_the_first_chunk_is_complete():
    structure = sw.swag("pba", Concat(), range=10)
    for value in "abcde":
        structure.insert(value)
    assert not threads()
    structure.insert("f")
    assert [t.daemon for t in threads()] == [True]


def test_close_ends_the_thread_and_the_structure_stays_usable():
    structure = sw.swag("pba", Concat(), range=4)
    text = "abcdefghijklmnop"
    for value in text[:4]:
        structure.insert(value)
    structure.close()
    structure.close()
    assert not threads()
    for start in range(1, 10):
        slide(structure, text, start, 4, 1)
        assert structure.query() == text[start : start + 4]


def test_garbage_ends_the_thread():
    structures = [sw.swag("pba", Concat(), range=6) for _ in range(3)]
    for structure in structures:
        for value in "abcdef":
            structure.insert(value)
    assert len(threads()) == 3
    del structure, structures
    assert gone()


def test_saving_waits_for_the_second_thread():
    class Slow(Aggregation):
        identity = ""

        @staticmethod
        def combine(a, b):
            if threading.current_thread().name == "slidewise-pba":
                time.sleep(0.005)
            return a + b

    with sw.swag("pba", Slow(), range=10) as structure:
        for value in "abcdefghij":
            structure.insert(value)
        with sw.swag("pba", Slow(), range=10).from_bytes(structure.to_bytes()) as later:
            slide(later, "abcdefghijk", 1, 10, 1)
            assert later.query() == "bcdefghijk"


def test_a_failure_of_the_second_thread_reaches_the_caller():
    class Fails(Aggregation):
        identity = 0

        @staticmethod
        def combine(a, b):
            if threading.current_thread().name == "slidewise-pba":
                raise ArithmeticError("no sum today")
            return a + b

    with sw.swag("pba", Fails(), range=6) as structure:
        for _ in range(6):
            structure.insert(1)
        assert structure.query() == 6  # needs no left-cumulative partial
        structure.evict()
        structure.insert(1)
        for _ in range(2):  # and stays failed
            with pytest.raises(ArithmeticError, match="no sum today"):
                structure.query()


# ---- over columns
def by_sba(op, x, n):
    partial = partial_dtype(op, (x,))
    out, valid = arrays(op, x)
    work = np.empty(sba.room(n), partial)
    args = (work, (x,), n, out, valid)
    compiling.kernel(sba.run_rows, sba, op, partial, args)(*args)
    return out[valid], valid


def arrays(op, x):
    result = result_dtype(op, (x,), partial_dtype(op, (x,)))
    return np.zeros(len(x), result), np.zeros(len(x), bool)


def by_pba(op, x, n):
    out, valid = arrays(op, x)
    assert pba.compute_rows(op, partial_dtype(op, (x,)), (x,), n, out, valid)
    return out[valid], valid


@pytest.mark.covering(0)
@pytest.mark.parametrize("op", [Total(), Deviation(), Ends()], ids=lambda op: op.name)
@pytest.mark.parametrize("job", [8, 64, 1 << 17])
def test_columns_are_those_of_sba(op, job, monkeypatch):
    """Few and many chunks per job and jobs per column, odd and even, with and without a last shorter
    chunk."""
    monkeypatch.setattr(pba, "JOB_ROWS", job)
    x = np.random.default_rng(1).integers(0, 1000, 203)
    for rows in (0, 1, 7, 96, 203):
        for n in (1, 2, 7, 31, 32, 95, 96, 102, 202, 5000):
            expected, expected_valid = by_sba(op, x[:rows], n)
            got, valid = by_pba(op, x[:rows], n)
            np.testing.assert_array_equal(valid, expected_valid)
            np.testing.assert_array_equal(got, expected)
    assert gone()


def test_columns_by_recalculation():
    x = np.random.default_rng(2).integers(0, 1000, 500)
    for n in (1, 7, 100):
        got, valid = by_pba(Ends(), x, n)
        assert valid.all()
        frames = ([Ends.lift(int(v)) for v in x[max(0, i - n + 1) : i + 1]] for i in range(500))
        assert got.tolist() == [Ends.lower(functools.reduce(Ends.combine, frame)) for frame in frames]


def test_a_failing_kernel_reaches_the_caller(monkeypatch):
    def fail(*args):
        raise MemoryError("no room")

    def kernel(driver, *rest):
        return fail if driver is pba.run_left else compiling.kernel(driver, *rest)

    monkeypatch.setattr(pba, "kernel", kernel)
    x = np.arange(100)
    with pytest.raises(MemoryError, match="no room"):
        pba.compute_rows(Total(), np.dtype(np.int64), (x,), 10, np.zeros(100, np.int64), np.zeros(100, bool))
    assert gone()


def test_what_cannot_be_compiled_is_left_to_the_interpreter(monkeypatch):
    monkeypatch.setattr(pba, "kernel", lambda *args: None)
    x = np.arange(10)
    out, valid = arrays(Total(), x)
    assert pba.compute_rows(Total(), np.dtype(np.int64), (x,), 3, out, valid) is False
    assert not valid.any()


def test_kernels_are_kept_on_disk():
    """A driver whose digest cannot be taken would be compiled again in every process.

    In a process of its own: pytest rewrites the assertions of modules that it collects, and so their functions.
    """
    code = """
from slidewise.algorithms import pba, sba
from slidewise.templates.bind import functions_of
from slidewise.templates.digest import digest
print(len({digest(d, *functions_of(sba))
           for d in (pba.run_left, pba.run_merge, pba.run_left_frames, pba.run_merge_frames, sba.run_rows,
           sba.run_frames)}))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("6\n", "")
