"""The compiled holistic kernels, against sorting and counting every frame."""

import math
import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from support.tiers import quick

from slidewise.aggregations.ranks import NthSmallest, Percentile, PercentileDisc
from slidewise.columns import holistic
from slidewise.errors import InvalidInput

needs_compiler = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="calls a kernel")

N = 900


def data(kind, n=N):
    rng = np.random.default_rng(len(kind) + n)
    special = [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, 1e-300, -2.5]
    return {
        "uniform": lambda: rng.random(n),
        "normal": lambda: rng.normal(size=n),
        "sorted": lambda: np.sort(rng.random(n)),
        "falling": lambda: -np.sort(rng.random(n)),
        "few": lambda: rng.integers(-2, 3, n).astype(float),
        "walk": lambda: rng.normal(size=n).cumsum(),
        "constant": lambda: np.full(n, 3.5),
        "special": lambda: rng.choice(special, n),
        "nan": lambda: np.full(n, np.nan),
        "two levels": lambda: np.where(rng.random(n) < 0.5, -1e300, 1e300) + rng.random(n),
        "close": lambda: np.where(rng.random(n) < 0.01, 1e308, 1 + rng.integers(0, 1000, n) * 2.0**-52),
        "integers": lambda: rng.integers(-(2**62), 2**62, n),
        "codes": lambda: rng.integers(0, 40, n),
        "large": lambda: 2**53 + rng.integers(0, 4, n),
        "extreme": lambda: rng.choice([-(2**63), 2**63 - 1, 0, 1], n),
    }[kind]()


KINDS = (
    "uniform", "normal", "sorted", "falling", "few", "walk", "constant", "special", "nan", "two levels", "close",
    "integers", "codes", "large", "extreme",
)  # fmt: skip


def frames(kind, n):
    rng = np.random.default_rng(n)
    rows = np.arange(n)
    if kind == "time":
        times = np.cumsum(rng.exponential(1.0, n))
        return np.searchsorted(times, times - 20.0), rows + 1
    if kind == "centred":
        return np.maximum(0, rows - 9), np.minimum(n, rows + 7)
    if kind == "growing":
        return np.zeros(n, np.int64), rows + 1
    if kind == "gaps":  # empty frames, frames far apart
        start = np.sort(rng.integers(0, n + 1, 60))
        return start, np.maximum.accumulate(np.minimum(n, start + rng.integers(0, 4, 60)))
    if kind == "mod prime":
        return np.maximum(0, rows - (rows * 7919) % 97), np.minimum(n, rows + 1 + (rows * 104729) % 83)
    if kind == "of one length":  # they slide, in the order of their bounds
        back = (rows * 7919) % 53
        return np.maximum(0, rows - back), np.minimum(n, rows + 60 - back)
    if kind == "anywhere":
        return rng.integers(0, n + 1, n), rng.integers(0, n + 1, n)
    raise AssertionError(kind)


FRAMES = ("time", "centred", "growing", "gaps", "mod prime", "of one length", "anywhere")


def trailing(n, w):
    return [max(0, i - w + 1) for i in range(n)], list(range(1, n + 1))


def expected_quantile(frame, rule):
    """By sorting, with the rules of the aggregations; np.sort puts NaN last."""
    ordered = np.sort(frame).tolist()
    return rule.select(len(ordered), lambda k: ordered[k])


RULES = {
    ("continuous", 0.5): Percentile(0.5),
    ("continuous", 0.9): Percentile(0.9),
    ("continuous", 0.0): Percentile(0.0),
    ("continuous", 1.0): Percentile(1.0),
    ("discrete", 0.5): PercentileDisc(0.5),
    ("discrete", 0.31): PercentileDisc(0.31),
    ("continuous_as_paper", 0.25): Percentile(0.25, method="paper"),
    ("discrete_as_paper", 0.75): PercentileDisc(0.75, method="paper"),
    ("nth_smallest", 3): NthSmallest(3),
}


def check(result, values, start, end, expected):
    out, valid = result
    assert len(out) == len(valid) == len(start)
    for i, (a, b) in enumerate(zip(start, end, strict=True)):
        want = expected(values[a:b]) if a < b else None
        assert valid[i] == (want is not None), (i, a, b)
        if want is not None:
            got = out[i].item()
            assert type(got) is type(want)
            assert got == want or (got != got and want != want), (i, got, want, values[a:b])


# ---- quantile
@pytest.mark.parametrize("kind", quick(KINDS, "few", "special", "nan", "integers", "extreme"))
def test_quantiles_of_rows(kind):
    values = data(kind)
    for (method, q), rule in RULES.items():
        for w in (1, 2, 3, 16, 101):
            start, end = trailing(N, w)
            sample = [i for i in range(N) if i < 2 * w + 5 or i % 7 == 0]
            result = tuple(r[sample] for r in holistic.quantile_rows(values, w, q, method))
            bounds = [start[i] for i in sample], [end[i] for i in sample]
            check(result, values, *bounds, lambda f, rule=rule: expected_quantile(f, rule))


@pytest.mark.parametrize("kind", ["few", "special", "integers"])
def test_quantiles_of_all_small_sizes_and_windows(kind):
    for n in range(9):
        values = data(kind, n)
        for w in range(1, 11):
            for (method, q), rule in RULES.items():
                result = holistic.quantile_rows(values, w, q, method)
                check(result, values, *trailing(n, w), expected=lambda f, rule=rule: expected_quantile(f, rule))


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moves", FRAMES)
def test_quantiles_of_frames(kind, moves):
    values = data(kind, 300)
    start, end = frames(moves, 300)
    for (method, q), rule in RULES.items():
        result = holistic.quantile(values, start, end, q, method)
        check(result, values, start, end, lambda f, rule=rule: expected_quantile(f, rule))


@pytest.mark.covering(1)
@needs_compiler
@pytest.mark.parametrize("kind", ["uniform", "two levels", "walk", "few", "sorted"])
@pytest.mark.parametrize("w", [1, 5, 64, 200])
def test_chunks_of_any_size_give_the_same(kind, w):
    from slidewise.columns.holistic.quantile_sliding import new_room, sliding_quantile

    values = data(kind, 3000)
    windows = np.sort(np.lib.stride_tricks.sliding_window_view(values, w)[1:], axis=1)
    k, even = (w - 1) // 2, w % 2 == 0
    low, high = windows[:, k], windows[:, k + even]
    expected = np.where(low == high, low, low * 0.5 + high * 0.5)
    for chunk in (w + 1, w + 64, 2 * w + 7, 5000):
        out = np.zeros(3000)
        share = 0.5 if even else 0.0
        rule, room = (0.5, 0, True, 2), new_room(chunk)
        sliding_quantile(values.view(np.int64), True, w, chunk, k, share, *rule, room, out.view(np.int64))
        assert np.array_equal(out[w:], expected)


@needs_compiler
@pytest.mark.parametrize("kind", ["steady", "steps", "walk", "few", "two values", "outliers", "falling"])
def test_chunks_whose_middle_alone_is_ranked(kind):
    """Windows and chunks so large that answers are guessed from chunk to chunk; steps and walks belie the guess."""
    n = 15_000
    rng = np.random.default_rng(4)
    values = {
        "steady": lambda: rng.normal(size=n),
        "steps": lambda: rng.random(n) + 10 * (np.arange(n) // 2500 % 3),
        "walk": lambda: rng.normal(size=n).cumsum(),
        "few": lambda: rng.integers(0, 50, n) * 1.0,
        "two values": lambda: rng.integers(0, 2, n) * 1.0,
        "outliers": lambda: np.where(rng.random(n) < 0.02, rng.choice([np.inf, -np.inf, np.nan], n), rng.random(n)),
        "falling": lambda: -np.arange(n) + rng.random(n),
    }[kind]()
    for w in (64, 97):
        windows = np.sort(np.lib.stride_tricks.sliding_window_view(values, w), axis=1)
        for q in (0.5, 0.9, 0.0, 1.0):
            out = holistic.quantile_rows(values, w, q)[0][w - 1 :]
            rank = q * (w - 1)
            low, high, share = windows[:, math.floor(rank)], windows[:, math.ceil(rank)], rank - math.floor(rank)
            with np.errstate(invalid="ignore"):
                expected = np.where((low == high) | (share == 0), low, low * (1 - share) + high * share)
            assert np.array_equal(out, expected, equal_nan=True)


@needs_compiler  # too many rows for anything else
def test_a_sparse_bitset_falls_back_to_the_summary():
    """Two values far apart in rank, in turn: the cursor jumps over the whole chunk with every row."""
    n, w = 40_000, 101
    rng = np.random.default_rng(0)
    values = rng.random(n) + np.where(np.arange(n) % (2 * w) < w, 0, 10.0)
    values[::2] = 20.0 * (np.arange(n // 2) % 2)
    out = holistic.quantile_rows(values, w, 0.5)[0]
    windows = np.lib.stride_tricks.sliding_window_view(values, w)
    assert np.array_equal(out[w - 1 :], np.median(windows, axis=1))


@needs_compiler  # too many rows for anything else
def test_any_frames_over_many_blocks_and_all_rows():
    rng = np.random.default_rng(2)
    n, rows = 20_000, 50_000
    values = rng.integers(0, 1000, rows)
    start = rng.integers(0, rows, n)
    for reach in (30, 3000):
        end = np.minimum(rows, start + rng.integers(0, reach, n))
        low, valid = holistic.quantile(values, start, end, 0.5, "discrete")
        counts = holistic.count_distinct(values, start, end)[0]
        modes = holistic.mode(values, start, end)[0]
        assert np.array_equal(valid, end > start)
        for i in rng.integers(0, n, 300):
            frame = np.sort(values[start[i] : end[i]])
            assert counts[i] == len(np.unique(frame))
            if valid[i]:
                assert low[i] == frame[max(0, math.ceil(len(frame) / 2) - 1)]
                assert modes[i] == expected_mode(frame)


@needs_compiler  # too many rows for anything else
@pytest.mark.parametrize("odd", [None, 5, 30_000])
def test_frames_of_one_length_over_many_blocks(odd):
    """Blocks of them are answered in another order; from the block with an odd one on, all are answered as they are."""
    rng = np.random.default_rng(3)
    n = 50_000
    values = rng.integers(0, 1000, n)
    start = np.clip(np.arange(n) - rng.integers(0, 50, n), 0, None)
    end = np.minimum(n, start + 90)
    start[::1000], end[::1000] = start[1::1000], start[1::1000]  # some are empty
    if odd is not None:
        end[odd] = end[odd] - 60
    median, valid = holistic.quantile(values, start, end, 0.5)
    modes = holistic.mode(values, start, end)
    counts = holistic.count_distinct(values, start, end)[0]
    assert np.array_equal(valid, end > start) and np.array_equal(modes[1], valid)
    for i in {*rng.integers(0, n, 400).tolist(), *range(0, n, 1000), 5, 30_000, 16_383, 16_384, 49_999}:
        frame = values[start[i] : end[i]]
        assert counts[i] == len(np.unique(frame))
        if valid[i]:
            assert median[i] == np.median(frame) and modes[0][i] == expected_mode(frame)


# ---- merge sort trees
@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moves", FRAMES)
def test_quantiles_distinct_values_and_ranks_by_a_tree(kind, moves):
    values = data(kind, 300)
    start, end = frames(moves, 300)
    for (method, q), rule in RULES.items():
        result = holistic.quantile_by_tree(values, start, end, q, method)
        check(result, values, start, end, lambda f, rule=rule: expected_quantile(f, rule))
    bounds = list(zip(start.tolist(), end.tolist(), strict=True))
    counts = holistic.count_distinct_by_tree(values, start, end)[0]
    assert counts.tolist() == [expected_distinct(values[a:b]) for a, b in bounds]
    if len(start) == len(values):
        ranks = holistic.rank_by_tree(values, start, end)
        keys = [(v != v, 0 if v != v else v) for v in values.tolist()]  # NaN above all
        assert ranks.tolist() == [1 + sum(k < keys[i] for k in keys[a:b]) for i, (a, b) in enumerate(bounds)]


def test_a_fraction_for_each_frame_by_a_tree():
    values, (start, end) = data("uniform", 300), frames("mod prime", 300)
    fractions = np.random.default_rng(4).choice([0.0, 0.25, 0.5, 1.0], 300)
    found = holistic.quantile_by_tree(values, start, end, fractions)[0].tolist()
    assert found == [
        expected_quantile(values[a:b], Percentile(q)) for a, b, q in zip(start, end, fractions.tolist(), strict=True)
    ]
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        holistic.quantile_by_tree(values, start, end, fractions + 0.1)


def test_trees_of_no_rows_and_of_few():
    none = np.zeros(0, np.int64)
    assert holistic.quantile_by_tree(np.zeros(0), none, none, 0.5)[0].tolist() == []
    assert holistic.rank_by_tree(none, none, none).tolist() == []
    for n in range(1, 9):
        values = data("few", n)
        start, end = (bound.ravel() for bound in np.meshgrid(np.arange(n + 1), np.arange(n + 1)))
        check(holistic.quantile_by_tree(values, start, end, 0.5), values, start, end,
              lambda f: expected_quantile(f, Percentile(0.5)))  # fmt: skip
        counts = holistic.count_distinct_by_tree(values, start, end)[0].tolist()
        assert counts == [expected_distinct(values[a:b]) for a, b in zip(start, end, strict=True)]
    with pytest.raises(InvalidInput, match="3 rows and 1 frames"):
        holistic.rank_by_tree(np.arange(3), [0], [1])


@needs_compiler  # too many rows for anything else
def test_trees_of_many_frames_go_block_by_block():
    rng = np.random.default_rng(9)
    n = 60_000
    values, rows = rng.random(n), np.arange(n)
    start, end = np.maximum(0, rows - rng.integers(0, 50, n)), np.minimum(n, rows + rng.integers(0, 50, n))
    near = holistic.quantile_by_tree(values, start, end, 0.5)
    assert all(np.array_equal(a, b) for a, b in zip(near, holistic.quantile(values, start, end, 0.5), strict=True))
    order = rng.permutation(n)
    far = holistic.quantile_by_tree(values, start[order], end[order], 0.5)
    assert all(np.array_equal(a, b[order]) for a, b in zip(far, near, strict=True))


# ---- count distinct and mode
def expected_distinct(frame):
    return len(np.unique(frame))  # all NaNs are one


def expected_mode(frame):
    values, counts = np.unique(frame, return_counts=True)
    return values[np.argmax(counts)].item()


@pytest.mark.parametrize("kind", quick(KINDS, "few", "special", "nan", "integers", "extreme"))
def test_distinct_values_and_modes_of_rows(kind):
    values = data(kind)
    for w in (1, 2, 7, 32, 33, 101, 5000):
        bounds = trailing(N, w)
        check(holistic.count_distinct_rows(values, w), values, *bounds, expected=expected_distinct)
        check(holistic.mode_rows(values, w), values, *bounds, expected=expected_mode)


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moves", FRAMES)
def test_distinct_values_and_modes_of_frames(kind, moves):
    values = data(kind, 400)
    start, end = frames(moves, 400)
    check(holistic.mode(values, start, end), values, start, end, expected_mode)
    counts, valid = holistic.count_distinct(values, start, end)
    assert valid.all()
    assert counts.tolist() == [expected_distinct(values[a:b]) for a, b in zip(start, end, strict=True)]


def test_distinct_values_where_the_hash_table_grows():
    values = np.random.default_rng(0).permutation(20_000) * 1e-3
    values = np.concatenate((values, values))
    start, end = [0, 5, 30_000], [40_000, 15_000, 40_000]
    assert holistic.count_distinct(values, start, end)[0].tolist() == [20_000, 14_995, 10_000]


@needs_compiler  # too many rows for anything else
def test_distinct_values_across_all_levels_of_the_bitmap():
    n = 200_000
    values = np.arange(n) % 150_000
    start = np.array([0, 1, 63, 64, 1023, 1024, 65_535, 65_536, 131_072, 199_999, 70_000, 100])
    end = np.array([n, n, 64, 66, n, 3000, 65_536, 131_073, n, n, 70_000, 40])
    expected = [len(np.unique(values[a:b])) for a, b in zip(start, end, strict=True)]
    assert holistic.count_distinct(values, start, end)[0].tolist() == expected


def test_modes_with_many_codes_search_through_groups():
    """Every code in turn, so that the mode ties with all others and leaves with every row."""
    for size in (40, 3000):
        values = np.arange(4 * size)[::-1] % size
        out = holistic.mode_rows(values, size + size // 2)[0]
        window = Counter()
        for i, v in enumerate(values.tolist()):
            window[v] += 1
            if i >= size + size // 2:
                window[int(values[i - size - size // 2])] -= 1
            if i % 97 == 0:
                most = max(window.values())
                assert out[i] == min(v for v, c in window.items() if c == most)


# ---- ranks
@needs_compiler
@pytest.mark.parametrize("kind", (*KINDS, "outliers"))
def test_ranks_are_those_of_a_stable_sort(kind):
    from slidewise.columns.holistic.chunk_ranks import rank_words, workspace

    for n in (1, 2, 63, 1000, 5000):
        if kind == "outliers":  # the leading digits tell nothing: all bits must be sorted
            values = np.random.default_rng(n).permutation(n)
            values[: min(2, n - 1)] = [-(2**63), 2**63 - 1][: min(2, n - 1)]
        else:
            values = data(kind, n)
        keys = np.empty(n, np.int64)
        for passes in range(1, 6):
            work = workspace(n)
            rank_words(values.view(np.int64), values.dtype == np.float64, passes, keys, work)
            expected = np.argsort(keys, kind="stable")
            assert np.array_equal(work[4], expected)
            assert np.array_equal(work[3][expected], np.arange(n))


# ---- input
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: holistic.quantile_rows(x.astype(np.float32), 3, 0.5), "float64 or int64 values, got float32"),
        (lambda x: holistic.quantile_rows(x, 0, 0.5), "at least one row, got 0"),
        (lambda x: holistic.quantile_rows(x, 3, 1.5), "between 0 and 1, got 1.5"),
        (lambda x: holistic.quantile_rows(x, 3, math.nan), "between 0 and 1"),
        (lambda x: holistic.quantile_rows(x, 3, 0, "nth_smallest"), "from 1 on, got 0"),
        (lambda x: holistic.quantile_rows(x, 3, 0.5, "exact"), "one of continuous, .* got 'exact'"),
        (lambda x: holistic.quantile(x, [0], [6], 0.5), "between 0 and the 5 rows"),
        (lambda x: holistic.count_distinct(x, [-1], [3]), "between 0 and the 5 rows"),
        (lambda x: holistic.mode(x, [0, 1], [3]), "2 starts and 1 ends"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(np.arange(5.0))


def test_input_is_left_as_it_was():
    for values in (data("special"), data("codes")):
        before = values.copy()
        values.flags.writeable = False
        holistic.quantile_rows(values, 10, 0.5)
        holistic.count_distinct_rows(values, 10)
        holistic.mode_rows(values, 10)
        assert np.array_equal(values.view(np.int64), before.view(np.int64))


def test_without_the_compiler_the_results_are_the_same(monkeypatch):
    import numba

    cases = []
    for kind in ("special", "codes", "large"):
        values = data(kind, 120)
        for moves in ("time", "anywhere"):
            bounds = frames(moves, 120)
            cases += [
                lambda v=values, b=bounds, r=r: holistic.quantile(v, *b, fraction=r[1], method=r[0]) for r in RULES
            ]
            cases += [
                lambda v=values, b=bounds: holistic.count_distinct(v, *b),
                lambda v=values, b=bounds: holistic.mode(v, *b),
            ]
        cases += [lambda v=values: holistic.quantile_rows(v, 7, 0.5), lambda v=values: holistic.mode_rows(v, 7)]
        cases += [lambda v=values: holistic.count_distinct_rows(v, 7)]
    compiled = [case() for case in cases]
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    for case, (out, valid) in zip(cases, compiled, strict=True):
        again, valid_again = case()
        assert again.dtype == out.dtype
        assert np.array_equal(valid, valid_again)
        assert np.array_equal(again[valid], out[valid], equal_nan=out.dtype.kind == "f")


def test_numba_is_not_imported_before_it_is_needed():
    code = "import sys, slidewise.columns.holistic; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
