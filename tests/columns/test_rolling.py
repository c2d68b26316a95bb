"""sw.rolling: one array in, one array out, by any algorithm."""

import numpy as np
import pytest
from support.aggregations import Vwap
from support.tiers import in_full

import slidewise as sw
from slidewise.registry import legal_algorithms

RNG = np.random.default_rng(7)


def by_hand(x, function, n):
    return np.array([function(x[max(0, i - n + 1) : i + 1]) for i in range(len(x))])


@pytest.mark.compiled
@pytest.mark.covering(1)
@pytest.mark.parametrize("n", [1, 2, 3, 16, 100, 1000])
@pytest.mark.parametrize("algorithm", [e.name for e in legal_algorithms(sw.sum()) if e.compiled])
def test_every_algorithm_agrees_with_numpy(algorithm, n):
    x = RNG.random(300)
    assert np.allclose(sw.rolling(x, sw.sum(), sw.rows(n), algorithm=algorithm), by_hand(x, np.sum, n))


@pytest.mark.full
@pytest.mark.parametrize("algorithm", [e.name for e in legal_algorithms(sw.max()) if e.compiled])
def test_nan_is_greatest_and_leaves_no_trace(algorithm):
    x = np.array([1.0, np.nan, 2.0, -np.inf, 0.5, 0.25])
    out = sw.rolling(x, sw.max(), sw.rows(2), algorithm=algorithm)
    assert np.array_equal(out, [1.0, np.nan, np.nan, 2.0, 0.5, 0.5], equal_nan=True)


def test_integers_stay_integers():
    x = np.array([2**53 + 1, 1, 0], np.int64)
    out = sw.rolling(x, sw.sum(), sw.rows(2))
    assert out.dtype == np.int64
    assert out.tolist() == [2**53 + 1, 2**53 + 2, 1]
    assert sw.rolling(x, sw.max(), sw.rows(2)).tolist() == [2**53 + 1, 2**53 + 1, 1]


@pytest.mark.parametrize("algorithm", ["auto", *in_full("two_stacks_lite", "sba", "daba_lite", "recalculate")])
def test_overflow_is_an_error_exactly_when_the_true_sum_leaves_int64(algorithm):
    big = np.iinfo(np.int64).max
    fits = np.array([big, -big, big, -1], np.int64)
    assert sw.rolling(fits, sw.sum(), sw.rows(4), algorithm=algorithm).tolist() == [big, 0, big, big - 1]
    with pytest.raises(OverflowError):
        sw.rolling(np.array([big, 1], np.int64), sw.sum(), sw.rows(2), algorithm=algorithm)


@pytest.mark.full
def test_auto_agrees_with_recalculation_for_many_aggregations():
    x = RNG.integers(0, 9, 200).astype(float)
    names = "count sum avg min max product geomean stddev stddev_pop var_samp var_pop skewness kurtosis "
    names += "max_count min_count first last median mode count_distinct"
    for name in names.split():
        aggregation = getattr(sw, name)()
        auto = sw.rolling(x, aggregation, sw.rows(10))
        naive = sw.rolling(x, aggregation, sw.rows(10), algorithm="recalculate")
        assert np.ma.allclose(auto, naive, rtol=1e-9), name
        assert np.array_equal(np.ma.getmaskarray(auto), np.ma.getmaskarray(naive)), name


def test_frames_with_following_rows_and_without_bounds():
    x = np.arange(6.0)
    assert sw.rolling(x, sw.sum(), sw.rows_between(-1, 1)).tolist() == [1, 3, 6, 9, 12, 9]
    assert sw.rolling(x, sw.sum(), sw.rows_between(-sw.UNBOUNDED, 0)).tolist() == [0, 1, 3, 6, 10, 15]
    assert sw.rolling(x, sw.max(), sw.rows_between(0, sw.UNBOUNDED)).tolist() == [5] * 6


def test_frames_that_move_back_and_forth():
    x = RNG.random(50)
    start = RNG.integers(0, 50, 40)
    end = np.minimum(start + RNG.integers(0, 20, 40), 50)
    expected = [max(x[a:b]) if a < b else None for a, b in zip(start, end, strict=True)]
    for algorithm in ("auto", "flat_fat", "recalculate"):
        out = sw.rolling(x, sw.max(), sw.frames(start, end), algorithm=algorithm)
        assert out.tolist() == expected
    with pytest.raises(sw.IllegalPair, match="never move back"):
        sw.rolling(x, sw.max(), sw.frames(start, end), algorithm="daba_lite")


def test_an_empty_frame_is_masked_and_counts_zero():
    frames = sw.frames([0, 1, 1], [1, 1, 2])
    assert sw.rolling(np.array([1.0, 2.0]), sw.max(), frames).tolist() == [1.0, None, 2.0]
    assert sw.rolling(np.array([1.0, 2.0]), sw.count(), frames).tolist() == [1, 0, 1]


def test_masked_rows_are_nulls():
    x = np.ma.masked_array([1.0, 2.0, 3.0, 4.0], [False, True, True, False])
    assert sw.rolling(x, sw.sum(), sw.rows(2)).tolist() == [1.0, 1.0, None, 4.0]
    assert sw.rolling(x, sw.count(), sw.rows(2)).tolist() == [1, 2, 2, 2]
    assert sw.rolling(x, sw.count("x"), sw.rows(2)).tolist() == [1, 1, 0, 1]
    assert sw.rolling(x, sw.last(), sw.rows(2)).tolist() == [1.0, None, None, 4.0]
    assert sw.rolling(x, sw.last(ignore_nulls=True), sw.rows(2)).tolist() == [1.0, 1.0, None, 4.0]


def test_every_and_min_rows():
    x = np.arange(1.0, 8.0)
    assert sw.rolling(x, sw.sum(), sw.rows(3, every=2)).tolist() == [3, 9, 15]
    assert sw.rolling(x, sw.sum(), sw.rows(3, min_rows=3)).tolist() == [None, None, 6, 9, 12, 15, 18]


def test_several_columns_and_types():
    price, size = np.array([10.0, 20.0, 30.0]), np.array([1, 3, 1])
    assert sw.rolling((price, size), Vwap(), sw.rows(2)).tolist() == [10.0, 17.5, 22.5]
    assert sw.rolling((price, size), sw.max_by(), sw.rows(2)).tolist() == [10.0, 20.0, 20.0]
    assert sw.rolling(np.array([1.5, 0.5], np.float32), sw.max(), sw.rows(2)).dtype == np.float32
    assert sw.rolling(np.array(["b", "a"]), sw.max(), sw.rows(2)).tolist() == ["b", "b"]
    assert sw.rolling(np.array([True, False]), sw.bool_and(), sw.rows(2)).tolist() == [True, False]


def test_an_aggregation_that_numba_cannot_compile_runs_interpreted_and_says_so():
    class Letters(sw.Aggregation):
        identity = ""

        @staticmethod
        def lift(x):
            return f"{x:.0f}"

        @staticmethod
        def combine(a, b):
            return a + b

    with pytest.warns(sw.CompileFallback, match="Letters runs interpreted"):
        out = sw.rolling(np.arange(4.0), Letters(), sw.rows(2))
    assert out.tolist() == ["0", "01", "12", "23"]


def test_no_rows_and_bad_input():
    assert sw.rolling(np.array([]), sw.sum(), sw.rows(3)).tolist() == []
    with pytest.raises(sw.InvalidInput, match="takes 2 arrays"):
        sw.rolling(np.arange(3.0), sw.max_by(), sw.rows(2))
    with pytest.raises(sw.InvalidInput, match="one dimension"):
        sw.rolling(np.zeros((2, 2)), sw.sum(), sw.rows(2))
    with pytest.raises(sw.InvalidInput, match="one length"):
        sw.rolling((np.zeros(2), np.zeros(3)), sw.corr(), sw.rows(2))
    with pytest.raises(sw.InvalidInput, match="aggregation"):
        sw.rolling(np.zeros(2), "max", sw.rows(2))
    with pytest.raises(sw.InvalidInput, match="no algorithm"):
        sw.rolling(np.zeros(2), sw.max(), sw.rows(2), algorithm="magic")
    with pytest.raises(sw.InvalidInput, match="between 0 and the number of rows"):
        sw.rolling(np.zeros(2), sw.max(), sw.frames([0, 0], [1, 3]))


@pytest.mark.covering(1)
@pytest.mark.parametrize("dtype", [float, np.float32, np.int64, np.int16, bool])
@pytest.mark.parametrize(
    "aggregation",
    [sw.median(), sw.percentile(0.9), sw.percentile_disc(0.3), sw.nth_smallest(2), sw.mode(), sw.count_distinct()],
    ids=repr,
)
def test_holistic_kernels_agree_with_recalculation(aggregation, dtype):
    x = RNG.integers(0, 9, 300).astype(dtype)
    if dtype is bool and aggregation.name in ("median", "percentile"):
        with pytest.raises(sw.InvalidInput, match=r"is of bool, and .* takes numbers"):
            sw.rolling(x, aggregation, sw.rows(7))
        return
    if x.dtype.kind == "f":
        x[RNG.integers(0, 300, 9)] = np.nan
    start = RNG.integers(0, 300, 300)
    for window in (
        sw.rows(7),
        sw.rows_between(-3, 9),
        sw.frames(start, np.minimum(start + RNG.integers(0, 30, 300), 300)),
    ):
        fast = sw.rolling(x, aggregation, window)
        naive = sw.rolling(x, aggregation, window, algorithm="recalculate")
        assert np.array_equal(np.ma.getmaskarray(fast), np.ma.getmaskarray(naive))
        assert np.array_equal(
            np.ma.filled(fast.astype(float), -1), np.ma.filled(naive.astype(float), -1), equal_nan=True
        )


def test_kernels_over_columns_have_no_event_form():
    with pytest.raises(sw.IllegalPair, match="whole columns"):
        sw.swag("chunk_ranks", sw.median())
    assert sw.rolling(np.array(["b", "a", "b"]), sw.mode(), sw.rows(3)).tolist() == ["b", "a", "b"]
