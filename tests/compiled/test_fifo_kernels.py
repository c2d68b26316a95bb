"""FIFO algorithms compiled: the same answers as interpreted, and the traps of caching machine code.

All of it passes under NUMBA_DISABLE_JIT=1 too, except what is about the cache.
"""

import math
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import warnings
from pathlib import Path

import numba
import numpy as np
import pytest
from support.aggregations import Deviation, Highest
from support.tiers import in_full, quick

import slidewise as sw
from slidewise.aggregations.trial import partial_dtype, result_dtype
from slidewise.errors import CompileFallback
from slidewise.registry import algorithm, missing
from slidewise.templates import cache, fifo
from slidewise.templates import compile as compiling
from slidewise.testing.conformance import recalculate_plainly

INTERPRETED = bool(numba.config.DISABLE_JIT)
ROWS = 300 if INTERPRETED else 5000
FIFO = [
    "recalculate",
    "subtract_on_evict",
    "two_stacks",
    "two_stacks_lite",
    "daba",
    "daba_lite",
    "monoid_fifo",
    "flat_fit",
    "slick_deque",
]
needs_cache = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled, so nothing is cached")


class Total(sw.Aggregation):
    identity = 0
    invertible = True

    @staticmethod
    def combine(a, b):
        return a + b

    @staticmethod
    def inverse(total, oldest):
        return total - oldest


class Latest(sw.Aggregation):
    """Not commutative, and of two columns: the weight of the youngest row whose value is positive."""

    identity = (False, 0.0)

    @staticmethod
    def lift(value, weight):
        return (value > 0, weight)

    @staticmethod
    def combine(a, b):
        return b if b[0] else a

    @staticmethod
    def lower(s):
        return s[1]

    @staticmethod
    def defined(s):
        return s[0]


def run(name, op, columns, start, end, longest=None):
    """Results as a list, with None where there is none."""
    module = algorithm(name).module
    partial = partial_dtype(op, columns)
    out = np.zeros(len(start), result_dtype(op, columns, partial))
    valid = np.zeros(len(start), bool)
    longest = longest or int(np.max(end - start, initial=1))
    args = (compiling.new_state(module, op, partial, longest + 1), columns, 0, 0, start, end, out, valid)
    kernel = compiling.kernel(fifo.run, module, op, partial, args)
    if kernel is None:
        return None
    kernel(*args)
    return [value if ok else None for value, ok in zip(out.tolist(), valid, strict=True)]


def expected(op, columns, start, end):
    rows = list(zip(*(c.tolist() for c in columns), strict=True)) if len(columns) > 1 else columns[0].tolist()
    return [recalculate_plainly(op, rows[lo:hi]) for lo, hi in zip(start, end, strict=True)]


def sliding(n, width):
    i = np.arange(n)
    return np.maximum(i - width + 1, 0), i + 1


def irregular(n, seed=0):
    """Bounds that never move back, with empty frames, jumps over rows, and frames that stand still."""
    rng = np.random.default_rng(seed)
    start = np.sort(rng.integers(0, n, n))
    return start, np.maximum(start, np.minimum(n, np.maximum.accumulate(start + rng.integers(0, 40, n))))


def assert_close(got, want):
    assert len(got) == len(want)
    for i, (a, b) in enumerate(zip(got, want, strict=True)):
        assert (a is None) == (b is None), (i, a, b)
        assert a is None or a == pytest.approx(b, rel=1e-9, abs=1e-9, nan_ok=True), (i, a, b)


# ---- the same answers
AGGREGATIONS = [Total(), Highest(), Latest(), Deviation()]
LEGAL = {name: [op for op in AGGREGATIONS if not missing(algorithm(name), op)] for name in FIFO}
# Quick are every aggregation of one algorithm, and one of the others.
PAIRS = [
    pytest.param(
        name,
        op,
        id=f"{name}-{op.name}",
        marks=() if op is ops[0] or name == "two_stacks_lite" else pytest.mark.full,
    )
    for name, ops in LEGAL.items()
    for op in ops
]


@pytest.mark.covering(0)
@pytest.mark.parametrize(
    "frames", [lambda n: sliding(n, 1), lambda n: sliding(n, 37), irregular], ids=["1", "37", "any"]
)
@pytest.mark.parametrize(("name", "op"), PAIRS)
def test_kernels_agree_with_recalculation(name, op, frames):
    n = min(ROWS, 800)
    x = np.random.default_rng(1).normal(size=n)
    columns = (x, np.arange(n, dtype=float))[: op.arity]
    start, end = frames(n)
    assert_close(run(name, op, columns, start, end), expected(op, columns, start, end))


@pytest.mark.parametrize("name", quick(FIFO, "recalculate", "two_stacks_lite", "daba_lite"))
def test_state_carries_on_from_batch_to_batch(name):
    n, batch, width = 600, 75, 40
    op = Total()
    x = np.random.default_rng(2).integers(-9, 9, n).astype(float)
    start, end = sliding(n, width)
    module, partial = algorithm(name).module, partial_dtype(op, (x,))
    state, front, got = compiling.new_state(module, op, partial, width + 1), 0, []
    for base in range(0, n, batch):
        part = slice(base, base + batch)
        out, valid = np.zeros(batch), np.zeros(batch, bool)
        args = (state, (x[part],), base, front, start[part], end[part], out, valid)
        state = compiling.kernel(fifo.run, module, op, partial, args)(*args)
        front = int(start[part][-1])
        got += out.tolist()
    assert got == expected(op, (x,), start, end)


@pytest.mark.parametrize("name", ["daba_lite", *in_full("subtract_on_evict")])
def test_integers_stay_integers(name):
    x = np.array([2**53 + 1, 1, 2**53 + 1, -(2**53), 3])
    start, end = sliding(len(x), 2)
    assert run(name, Total(), (x,), start, end) == [2**53 + 1, 2**53 + 2, 2**53 + 2, 1, 3 - 2**53]


@pytest.mark.full
@pytest.mark.parametrize("dtype", [*(pytest.param(name, marks=pytest.mark.soak) for name in ("f4", "i8")), "u1"])
def test_types_read_only_and_strided_input(dtype):
    n = 200
    x = np.random.default_rng(3).integers(0, 9, 2 * n).astype(dtype)
    read_only = x[:n].copy()
    read_only.flags.writeable = False
    start, end = sliding(n, 11)
    for column in (x[:n], read_only, x[::2], x[:n][::-1]):
        assert_close(run("daba_lite", Total(), (column,), start, end), expected(Total(), (column,), start, end))


def test_values_that_left_leave_no_trace():
    x = np.array([1.0, math.nan, math.inf, 2.0, 3.0, 4.0])
    start, end = sliding(len(x), 2)
    for name in ("two_stacks_lite", "daba_lite", "daba", "two_stacks", "flat_fit"):
        assert run(name, Total(), (x,), start, end)[4:] == [5.0, 7.0]


def test_no_rows_and_empty_frames():
    none = np.array([], np.int64)
    assert run("daba_lite", Total(), (np.array([]),), none, none) == []
    assert run("daba_lite", Total(), (np.array([1.0, 2.0]),), np.array([0, 1, 2]), np.array([0, 1, 2])) == [None] * 3


# ---- traps
def test_equal_shapes_of_state_are_told_apart():
    """numba takes types of equal names for one: these two states have the same types under other field names."""
    x = np.arange(20.0)
    start, end = sliding(20, 3)
    for name in ("two_stacks_lite", "subtract_on_evict", "two_stacks_lite"):
        assert run(name, Total(), (x,), start, end) == expected(Total(), (x,), start, end)


def user_class(body, name="Mine"):
    """A class as a notebook defines it, over and over under one name."""
    namespace = {"sw": sw}
    exec(
        f"FACTOR = 2.0\nclass {name}(sw.Aggregation):\n    identity = 0.0\n" + textwrap.indent(body, "    "), namespace
    )
    return namespace[name], namespace


def test_two_classes_of_one_name_do_not_mix():
    x = np.arange(50.0)
    start, end = sliding(50, 4)
    for _ in range(2):
        for body in ("def combine(a, b): return a + b", "def combine(a, b): return a if a > b else b"):
            op = user_class(body)[0]()
            assert run("daba_lite", op, (x,), start, end) == expected(op, (x,), start, end)


@pytest.mark.full
def test_a_changed_global_is_seen():
    body = "def lift(x): return x * FACTOR\ndef combine(a, b): return a + b"
    mine, namespace = user_class(body)
    x = np.arange(10.0)
    start, end = sliding(10, 1)
    assert run("two_stacks_lite", mine(), (x,), start, end) == (x * 2).tolist()
    namespace["FACTOR"] = 3.0
    assert run("two_stacks_lite", mine(), (x,), start, end) == (x * 3).tolist()


def test_helper_functions_of_the_users_module_are_compiled_too():
    body = "def lift(x): return helper(x)\ndef combine(a, b): return a + b"
    mine, namespace = user_class(body)
    exec("def helper(x): return x + FACTOR", namespace)
    x = np.arange(10.0)
    assert run("daba", mine(), (x,), *sliding(10, 1)) == (x + 2).tolist()


@needs_cache
def test_what_numba_cannot_compile_warns_and_gives_no_kernel():
    mine, _ = user_class("def lift(x): return float(f'{x:.2f}')\ndef combine(a, b): return a + b")
    with pytest.warns(CompileFallback, match="Mine runs interpreted"):
        assert run("two_stacks_lite", mine(), (np.arange(5.0),), *sliding(5, 2)) is None


def test_an_error_of_the_run_is_an_error_not_a_fallback():
    mine, _ = user_class(
        "def lift(x):\n    if x > 3: raise ValueError('too large')\n    return x\ndef combine(a, b): return a + b"
    )
    op, start_end = mine(), sliding(6, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="too large"):
            run("two_stacks_lite", op, (np.arange(6.0) + 2 * (np.arange(6) > 4),), *start_end)


def test_first_use_from_many_threads_makes_one_kernel():
    mine, _ = user_class("def combine(a, b): return a + b + 0.0 * 7")
    x = np.arange(100.0)
    start, end = sliding(100, 9)
    results, kernels = [], len(compiling._kernels)
    together = threading.Barrier(4)

    def work():
        together.wait()
        results.append(run("daba_lite", mine(), (x,), start, end))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 4 and all(r == results[0] for r in results)
    assert results[0] == expected(mine(), (x,), start, end)
    assert len(compiling._kernels) == kernels + 1


# ---- the cache on disk
PROGRAM = """
import warnings; warnings.simplefilter("error")
import numpy as np, slidewise as sw
from slidewise.aggregations.trial import partial_dtype
from slidewise.registry import algorithm
from slidewise.templates import compile as compiling, fifo

class Mine(sw.Aggregation):
    identity = 0.0
    def lift(x): return x * {factor}
    def combine(a, b): return a + b

x = np.arange(20.0); start = np.maximum(np.arange(20) - 2, 0); end = np.arange(20) + 1
for op in (sw.max(), Mine()):
    module, partial = algorithm("daba_lite").module, partial_dtype(op, (x,))
    out, valid = np.zeros(20), np.zeros(20, bool)
    args = (compiling.new_state(module, op, partial, 4), (x,), 0, 0, start, end, out, valid)
    kernel = compiling.kernel(fifo.run, module, op, partial, args)
    kernel(*args)
    assert out[-1] == (19 if op.name == "max" else 54 * {factor}), out
    print(op.name, sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()))
"""


def run_program(cache_dir, factor=2, **environment):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(factor=factor)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache_dir), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return {name: (int(hits), int(misses)) for name, hits, misses in map(str.split, done.stdout.splitlines())}


COMPILED, LOADED = (0, 1), (1, 0)


@pytest.mark.full
@needs_cache
def test_a_second_process_compiles_nothing_and_changed_code_compiles_anew(tmp_path):
    assert run_program(tmp_path) == {"max": COMPILED, "Mine": COMPILED}
    assert run_program(tmp_path) == {"max": LOADED, "Mine": LOADED}
    assert run_program(tmp_path, factor=3) == {"max": LOADED, "Mine": COMPILED}


@needs_cache
@pytest.mark.full
def test_damaged_entries_are_compiled_anew(tmp_path):
    assert run_program(tmp_path) == {"max": COMPILED, "Mine": COMPILED}
    for file in tmp_path.rglob("*.nbc"):
        file.write_bytes(file.read_bytes()[:100])
    assert run_program(tmp_path) == {"max": COMPILED, "Mine": COMPILED}
    for file in tmp_path.rglob("*.nbi"):
        file.write_bytes(b"not an index")
    run_program(tmp_path)


@needs_cache
@pytest.mark.full
def test_without_a_place_for_the_cache_everything_still_runs(tmp_path):
    a_file = tmp_path / "file"
    a_file.write_text("")
    assert set(run_program(a_file / "below", TMPDIR=str(tmp_path))) == {"max", "Mine"}
    private = list(tmp_path.glob("slidewise-kernels-*"))
    assert len(private) == 1 and private[0].stat().st_mode & 0o077 == 0
    assert set(run_program("/proc/nowhere", TMPDIR=str(a_file), HOME="/proc/nowhere")) == {"max", "Mine"}


def test_a_directory_that_numba_made_anew_is_taken(tmp_path, monkeypatch):
    """A cleaner of temporary files took it under a process, for which numba made another, as readable as any."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    directory = Path(cache.private_directory())
    directory.chmod(0o755)
    assert cache.private_directory() == str(directory)
    directory.chmod(0o777)  # what others could have written to is not
    assert cache.private_directory() != str(directory)


@needs_cache
def test_without_any_cache_at_all_kernels_still_compile(monkeypatch):
    monkeypatch.setattr(cache, "cached_njit", lambda f, **options: numba.njit(**options)(f))
    mine, _ = user_class("def combine(a, b): return a + b + 0.0 * 11")
    x = np.arange(10.0)
    assert run("two_stacks_lite", mine(), (x,), *sliding(10, 1)) == x.tolist()


@needs_cache
def test_old_entries_are_pruned(tmp_path):
    for k in range(10):
        file = tmp_path / f"bind.kernel_{k}.nbi"
        file.write_bytes(b"")
        os.utime(file, (k, k))
    cache.prune(str(tmp_path), most=8)
    assert sorted(f.name for f in tmp_path.iterdir()) == [f"bind.kernel_{k}.nbi" for k in range(5, 10)]


@pytest.mark.full
def test_nothing_of_the_user_goes_through_numba_when_it_is_disabled():
    """The suite itself runs with NUMBA_DISABLE_JIT=1: here at least one kernel does."""
    code = (
        "from tests.compiled.test_fifo_kernels import *; test_integers_stay_integers('daba_lite'); assert INTERPRETED"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
