"""Kernels are compiled ahead by warm_up, and a person who waits for them is told; a log is not."""

import os
import pty
import subprocess
import sys
import types

import pytest

import slidewise as sw
from slidewise.display import is_watched

pytestmark = pytest.mark.compiled

numba = pytest.importorskip("numba")
needs_jit = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="numba is switched off")

WARM_UP = """
import slidewise as sw
print(*sw.warm_up(["max", "mode"], types=["float64"], windows=[sw.rows(100), sw.time("1h")]))
"""
#: tables as users have them, and how many functions numba compiles for them, by its own account
USE = """
import numba.core.event as event, numpy as np, pyarrow as pa, slidewise as sw

compiled = []

class Listener(event.Listener):
    def on_start(self, event): compiled.append(event.data["dispatcher"].py_func.__qualname__)
    def on_end(self, event): pass

event.register("numba:compile", Listener())
random = np.random.default_rng(1)
for rows in (1_000, 100_000):
    at = (60 * random.permutation(rows)).astype("datetime64[s]")
    x = pa.array(random.random(rows), mask=random.random(rows) < 0.1)
    table = pa.table({"car": random.integers(0, 50, rows), "at": at, "x": x})
    for data in (table, table.sort_by("at"), table.to_pandas()):
        for window in (sw.rows(7), sw.rows(1000), sw.time("20m")):
            for aggregation in (sw.max("x"), sw.mode("x")):
                sw.with_columns(data, partition_by="car", order_by="at", y=aggregation.over(window))
sw.rolling(random.random(1000), sw.max(), sw.rows(30))
print(len(compiled), *compiled)
"""


def run(program, cache, **options):
    command, environment = [sys.executable, "-c", program], os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True, **options)


def counts(program, cache):
    """The numbers that a program prints. Nothing else may be said: no one watches."""
    result = run(program, cache, stderr=subprocess.PIPE)
    assert result.stderr == ""
    return result.stdout.split()


@pytest.mark.full
@needs_jit
def test_what_is_compiled_ahead_no_other_process_compiles(tmp_path):
    compiled, there = map(int, counts(WARM_UP, tmp_path))
    assert compiled > 10 and there == 0
    assert counts(USE, tmp_path) == ["0"]
    again, there = map(int, counts(WARM_UP, tmp_path))
    assert again == 0 and 10 < there <= compiled


@pytest.mark.full
@needs_jit
def test_what_is_there_in_this_process_is_told():
    first = sw.warm_up(["max"], types=["float64"], windows=[9])
    assert sw.warm_up(["max"], types=["float64"], windows=[9]) == (0, first.compiled + first.there)


@pytest.mark.full
@needs_jit
def test_own_aggregations_and_parameters_are_taken():
    class Peak(sw.Aggregation):
        identity = float("-inf")

        @staticmethod
        def lift(x):
            return x

        @staticmethod
        def combine(a, b):
            return max(a, b)

    assert sum(sw.warm_up([Peak(), sw.nth_value(2)], types=["float64"], windows=[sw.rows(9)])) > 0


@pytest.mark.full
@needs_jit
def test_aggregations_of_several_columns_and_of_words_are_taken():
    assert sum(sw.warm_up(["max_by"], types=["string"], windows=[sw.time(60)])) > 0


def test_what_it_cannot_compile_is_refused():
    with pytest.raises(sw.InvalidInput, match=r"takes aggregations and their names, such as 'max' .* got 'maximum'"):
        sw.warm_up(["maximum"])
    with pytest.raises(sw.InvalidInput, match=r"types are Arrow's, such as 'float64' .* got 'number'"):
        sw.warm_up(["max"], types=["number"])
    with pytest.raises(sw.InvalidInput, match="warm_up"):
        sw.warm_up(["max"], windows=["1h"])
    with pytest.raises(sw.InvalidInput, match="sum takes numbers"):
        sw.warm_up(["sum"], types=["string"])


# ---- what a person sees
def seen(program, cache):
    """What a terminal is written while a program runs."""
    reader, writer = pty.openpty()
    run(program, cache, stderr=writer)
    os.close(writer)
    text = b""
    try:
        while part := os.read(reader, 1 << 16):
            text += part
    except OSError:  # Linux: no one has the other side open any more
        pass
    os.close(reader)
    return text.decode()


#: what takes noticeable time elsewhere takes less here
MAX = """
import numpy as np, slidewise as sw, slidewise.templates.announce as announce
announce.NOTICEABLE = 0
sw.rolling(np.arange(100.0), sw.max(), sw.rows(10))
"""


@pytest.mark.full
@needs_jit
def test_a_person_is_told_of_compiling_once_and_a_log_never(tmp_path):
    text = seen(MAX, tmp_path / "a")
    assert "slidewise: compiling kernels (once) ... 0 s" in text
    assert "\n" not in text and text.endswith(" \r")  # it is gone in the end
    assert seen(MAX, tmp_path / "a") == ""
    assert counts(MAX, tmp_path / "b") == []


@needs_jit
@pytest.mark.full
def test_what_takes_no_noticeable_time_is_not_told(tmp_path):
    assert seen(MAX.replace("NOTICEABLE = 0", "NOTICEABLE = 600"), tmp_path) == ""


@needs_jit
@pytest.mark.full
def test_what_is_not_ours_is_not_told(tmp_path):
    theirs = "\nimport numba\n@numba.njit\ndef f(x): return x + 1\nf(1)"
    assert seen(MAX, tmp_path) != ""
    assert seen(MAX + theirs, tmp_path) == ""


@needs_jit
@pytest.mark.full
def test_where_nothing_is_kept_it_says_so(tmp_path):
    program = "import numba, slidewise.templates.cache as cache\ncache._njit = numba.njit\n" + MAX
    assert "compiling kernels (in this process only) ... 0 s" in seen(program, tmp_path)


@pytest.mark.full
@needs_jit
def test_a_person_is_told_how_far_it_is(tmp_path):
    program = MAX + 'sw.warm_up(["min", "max"], types=["float64"], windows=[sw.rows(9)])'
    assert "compiling max of double, 2 of 2 (once)" in seen(program, tmp_path)


def test_a_notebook_is_watched(monkeypatch):
    assert not is_watched()
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert is_watched()
