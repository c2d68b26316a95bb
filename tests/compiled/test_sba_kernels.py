"""The boundary aggregator over columns, against recalculation: every range, slide and length of input."""

import math

import numba
import numpy as np
import pytest
from support.aggregations import Deviation, Ends, Highest, Total
from support.tiers import in_full

import slidewise as sw
from slidewise.aggregations.trial import partial_dtype, result_dtype
from slidewise.algorithms import _sba_blocks, sba
from slidewise.templates import compile as compiling

RANGES_AND_SLIDES = [(n, s) for n in (1, 2, 3, 7, 10, 12, 40, 200) for s in (1, 2, 3, 4, 7) if s <= n]
AGGREGATIONS = [Ends(), *in_full(Total(), Highest(), Deviation())]


def column(op, rows, seed=0):
    rng = np.random.default_rng(seed)
    if isinstance(op, Ends | Total):
        return rng.integers(-50, 50, rows)
    x = rng.random(rows)
    if isinstance(op, Highest):
        x[rng.random(rows) < 0.05] = math.nan
    return x


def run(driver, op, x, room, *arguments, results=None, module=sba):
    """The driver's results, None where not valid. The work array is full of rubbish, as np.empty may be."""
    partial = partial_dtype(op, (x,))
    work = np.frombuffer(bytes([0xA5]) * (room * partial.itemsize), partial).copy()
    count = len(x) if results is None else results
    out = np.empty(count, result_dtype(op, (x,), partial))
    valid = np.zeros(count, bool)
    args = (work, (x,), *arguments, out, valid)
    compiling.kernel(driver, module, op, partial, args)(*args)
    return [out[i].item() if valid[i] else None for i in range(count)]


def recalculated(op, x, start, end):
    results = []
    for lo, hi in zip(start, end, strict=True):
        partial = None
        for value in x[lo:hi].tolist():
            one = op.lift(value)
            partial = one if partial is None else op.combine(partial, one)
        results.append(None if partial is None or not op.defined(partial) else op.lower(partial))
    return results


def assert_same(got, expected):
    assert [g is None for g in got] == [e is None for e in expected]
    pairs = [(g, e) for g, e in zip(got, expected, strict=True) if g is not None]
    np.testing.assert_allclose([g for g, _ in pairs], [e for _, e in pairs], rtol=1e-9, atol=1e-12)


@pytest.mark.covering(1)
@pytest.mark.parametrize("op", AGGREGATIONS, ids=lambda op: op.name)
class TestAgainstRecalculation:
    @pytest.mark.parametrize("module", [sba, _sba_blocks])
    @pytest.mark.parametrize("rows", [0, 1, 2, 50, 97])
    def test_run_rows(self, op, rows, module):
        for n in (1, 2, 3, 7, 16, 49, 50, 51, 1000):
            x = column(op, rows)
            start = [max(0, i - n + 1) for i in range(rows)]
            got = run(module.run_rows, op, x, module.room(n), n, module=module)
            assert_same(got, recalculated(op, x, start, range(1, rows + 1)))

    @pytest.mark.parametrize("n", [sba.BLOCK - 1, sba.BLOCK, sba.BLOCK + 1, 3 * sba.BLOCK - 2, 3 * sba.BLOCK])
    def test_run_rows_of_several_blocks(self, op, n):
        """The last chunk may end with its first row, within a block, or with a block."""
        for rows in (n + 1, 2 * n + sba.BLOCK // 2, 2 * n + sba.BLOCK, 3 * n):
            x = column(op, rows)
            got = run(_sba_blocks.run_rows, op, x, _sba_blocks.room(n), n, module=_sba_blocks)
            checked = [*range(0, rows, 37), rows - 1]
            start, end = [max(0, i - n + 1) for i in checked], [i + 1 for i in checked]
            assert_same([got[i] for i in checked], recalculated(op, x, start, end))

    @pytest.mark.parametrize("seed", range(6))
    def test_run_frames(self, op, seed):
        """Bounds that stand still, jump, leave gaps, and cross."""
        rng = np.random.default_rng(seed)
        rows, frames = 120, 200
        x = column(op, rows, seed)
        start = np.sort(rng.integers(0, rows + 1, frames))
        end = np.sort(rng.integers(0, rows + 1, frames))
        if seed % 2:  # mostly frames that are not empty
            end = np.minimum(end + rows // 3, rows)
        longest = max(1, int((end - start).max()))
        assert_same(run(sba.run_frames, op, x, longest, start, end, results=frames), recalculated(op, x, start, end))

    @pytest.mark.parametrize("n", [1, 2, 5, 8, 10, 33, 120])
    def test_run_frames_of_rows_before_and_after(self, op, n):
        rows = 100
        x = column(op, rows)
        i = np.arange(rows)
        start, end = np.maximum(i - n, 0), np.minimum(i + n + 1, rows)
        assert_same(run(sba.run_frames, op, x, 2 * n + 1, start, end), recalculated(op, x, start, end))

    @pytest.mark.parametrize(("n", "slide"), RANGES_AND_SLIDES)
    def test_run_slides(self, op, n, slide):
        for rows in (0, slide - 1, slide, 101):
            x = column(op, rows)
            end = np.arange(slide, rows + 1, slide)
            start = np.maximum(end - n, 0)
            got = run(sba.run_slides, op, x, n // slide, n, slide, results=len(end))
            assert_same(got, recalculated(op, x, start, end))


def test_integers_stay_integers():
    big = 2**53 + 1
    x = np.array([big, 1, 2, -1, 5])
    assert run(sba.run_rows, Total(), x, sba.room(2), 2) == [big, big + 1, 3, 1, 4]


def test_nothing_stays_of_a_value_that_has_left():
    x = np.array([1.0, math.inf, 2.0, math.nan, 3.0, 1e300, 4.0, 0.5])
    got = run(sba.run_rows, Total(), x, sba.room(2), 2)
    assert got[7] == 4.5
    assert not math.isfinite(got[2])
    assert run(sba.run_rows, Total(), x, sba.room(1), 1)[4:] == [3.0, 1e300, 4.0, 0.5]


COUNTED = [sw.sum(), sw.stddev(), *in_full(sw.avg(), sw.var_pop())]
LENGTHS = [1, 2, 3, 4, 5, 16, 101]
LONG = [sba.BLOCK + 1]
if not numba.config.DISABLE_JIT:  # up to half a minute each in plain Python
    LENGTHS += [sba.BLOCK - 1, sba.BLOCK, sba.BLOCK + 1, 3 * sba.BLOCK - 2]
    LONG += [3 * sba.BLOCK - 2]


@pytest.fixture(params=[True, False], ids=["kept", "blocks"])
def kept(request, monkeypatch):
    """Whether all left-cumulative partials are kept, or those of a block only, as for a long window."""
    monkeypatch.setattr(sba, "MOST_ROWS", sba.MOST_ROWS if request.param else 0)


@pytest.mark.covering(1)
@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("op", COUNTED, ids=lambda op: op.name)
class TestCounted:
    @pytest.mark.parametrize("n", LENGTHS)
    def test_every_length_of_the_last_chunk_and_block(self, op, n):
        for rows in (1, n, n + 1, 2 * n + 1, 2 * n + sba.BLOCK // 2, 3 * n + 3):
            x = np.random.default_rng(rows).normal(size=rows)
            assert_equal_to_recalculation(op, x, n)

    @pytest.mark.parametrize("n", [4, 101, *LONG])
    def test_nothing_stays_of_a_value_that_has_left(self, op, n):
        x = np.random.default_rng(n).random(5 * n + 7)
        x[[1, n, 2 * n + 3]] = 1e18, math.nan, math.inf
        assert_equal_to_recalculation(op, x, n)


def assert_equal_to_recalculation(op, x, n):
    got, expected = (sw.rolling(x, op, sw.rows(n), algorithm=name) for name in ("sba", "recalculate"))
    assert np.ma.getmaskarray(got).tolist() == np.ma.getmaskarray(expected).tolist()
    np.testing.assert_allclose(np.ma.filled(got, 0.0), np.ma.filled(expected, 0.0), rtol=1e-11, atol=1e-13)
