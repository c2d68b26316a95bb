"""The paper's algorithms over frames that move freely, against recalculation of every frame."""

import math
import random
from collections import Counter
from fractions import Fraction

import pytest

from slidewise.algorithms import holistic_frames as hf
from slidewise.algorithms.incremental_count_distinct import FLOOR
from slidewise.algorithms.incremental_quantile import QuantileIndex
from slidewise.errors import InvalidInput

NAN = math.nan
N = 240


def data(kind):
    rng = random.Random(kind)
    return {
        "random": lambda: [rng.randrange(1000) for _ in range(N)],
        "few": lambda: [rng.randrange(5) for _ in range(N)],
        "sorted": lambda: list(range(N)),
        "equal": lambda: [3.5] * N,
        "special": lambda: rng.choices((NAN, math.inf, -math.inf, 0.0, -0.0, 1.5, None), k=N),
        "nulls": lambda: [None] * N,
        "none": list,
    }[kind]()


def frames(kind, n):
    rng = random.Random(kind)
    rows = range(n)
    w = 40
    if kind == "trailing":
        return [max(0, i - w + 1) for i in rows], [i + 1 for i in rows]
    if kind == "mod prime":  # section 6.2: m = mod(row p1, p2) rows preceding and W - m following
        back = [(i * 7919) % 19 for i in rows]
        return [max(0, i - back[i]) for i in rows], [min(n, i + w - back[i] + 1) for i in rows]
    if kind == "anywhere":
        return [rng.randint(0, n) for _ in rows], [rng.randint(0, n) for _ in rows]
    if kind == "growing":
        return [0] * n, [i + 1 for i in rows]
    if kind == "jumping":  # disjoint neighbours, with empty frames in between
        starts = [(i * 50) % max(1, n - 10) for i in rows]
        return starts, [s + (i % 3) * 5 for i, s in enumerate(starts)]
    raise AssertionError(kind)


CASES = [(d, f) for d in ("random", "few", "sorted", "equal", "special", "nulls", "none") for f in
         ("trailing", "mod prime", "anywhere", "growing", "jumping")]  # fmt: skip


#: what the paper suggests, each alone and all together
SUGGESTIONS = [
    {},
    {"start_over": True},
    {"reorder": True},
    {"floor": 30},
    {"start_over": True, "reorder": True, "floor": 9},
]


def each(values, start, end):
    """The frames' values without nulls, as text where NaN, so that they can be counted."""
    for a, b in zip(start, end, strict=True):
        yield ["NaN" if v != v else v for v in values[a:b] if v is not None]


def ordered(frame):
    return sorted(v for v in frame if v != "NaN") + [NAN] * frame.count("NaN")


def same(a, b):
    return a == b or (a is not None and a != a and b != b)


@pytest.mark.covering(1)
@pytest.mark.parametrize(("kind", "moves"), CASES)
@pytest.mark.parametrize("tau", [0, 0.25, 1])
@pytest.mark.parametrize("options", SUGGESTIONS)
def test_count_distinct(kind, moves, tau, options):
    values = data(kind)
    start, end = frames(moves, len(values))
    expected = [len(set(frame)) for frame in each(values, start, end)]
    assert hf.count_distinct(values, start, end, tau=tau, **options)[0] == expected
    assert hf.count_distinct(values, start, end, variant="naive")[0] == expected


@pytest.mark.covering(1)
@pytest.mark.parametrize(("kind", "moves"), CASES)
@pytest.mark.parametrize("options", SUGGESTIONS)
def test_mode(kind, moves, options):
    values = data(kind)
    start, end = frames(moves, len(values))
    runs = [hf.mode(values, start, end, variant="naive")[0]]
    runs += [hf.mode(values, start, end, variant="incremental", tau=tau, **options)[0] for tau in (0, 0.25, 1)]
    lowest = hf.mode(values, start, end, **options)[0]
    for i, frame in enumerate(each(values, start, end)):
        counts = Counter(frame)
        most = [v for v in ordered(frame) if counts["NaN" if v != v else v] == max(counts.values())]
        assert same(lowest[i], most[0] if most else None)
        for run in runs:
            assert run[i] is None if not most else any(same(run[i], v) for v in most)


@pytest.mark.covering(1)
@pytest.mark.parametrize(("kind", "moves"), CASES)
@pytest.mark.parametrize(
    ("variant", "options"),
    [
        ("naive", {}),
        ("naive", {"reorder": True}),
        *(
            (v, {"start_over": a, "reorder": b})
            for v in ("reuse", "replace")
            for a in (False, True)
            for b in (False, True)
        ),
    ],
)
def test_quantile(kind, moves, variant, options):
    values = data(kind)
    start, end = frames(moves, len(values))
    for q in (0.0, 0.5, 0.9, 1.0):
        results = {
            (continuous, method): hf.quantile(
                values, start, end, q, continuous=continuous, method=method, variant=variant, **options
            )[0]
            for continuous in (True, False)
            for method in ("spark", "paper")
        }
        for i, frame in enumerate(each(values, start, end)):
            held = ordered(frame)
            n = len(held)
            if not n:
                assert all(r[i] is None for r in results.values())
                continue
            rank = q * (n - 1)
            low, high, share = held[math.floor(rank)], held[math.ceil(rank)], rank - math.floor(rank)
            assert same(results[False, "paper"][i], low)
            assert same(results[False, "spark"][i], held[max(0, math.ceil(q * n) - 1)])
            weights = {"spark": share, "paper": 0.5 if share else 0.0}
            for method, f in weights.items():
                between = low if low == high or not f else low * (1 - f) + high * f
                assert same(results[True, method][i], between)


def test_the_examples_of_the_paper():
    start, end = range(5), range(4, 9)
    assert hf.count_distinct([3, 4, 3, 2, 7, 2, 5, 4], start, end)[0] == [3, 4, 3, 3, 4]  # table 1
    for variant in ("naive", "incremental", "tournament"):  # table 2; frames 1 and 4 are ties
        results = hf.mode("cdcbgbed", start, end, variant=variant)[0]
        assert (results[0], results[2], results[3]) == ("c", "b", "b")
    values = [0, 0, 2, 3, 4, 5, 6, 7, 8, 8, 10]  # section 5.1 and 5.2
    assert hf.quantile(values, [0], [11], 0.2, continuous=False, method="paper")[0] == [2]
    assert hf.quantile(values, [0], [11], 0.5, continuous=False, method="paper")[0] == [5]
    assert hf.quantile(values, [0], [10], 0.5, continuous=True, method="paper")[0] == [4.5]


def test_a_fraction_for_every_frame():
    values = [5, 1, 4, 2, 3]
    results, _ = hf.quantile(values, [0] * 3, [5] * 3, [0.0, 0.5, 1.0])
    assert results == [1.0, 3.0, 5.0]
    assert hf.quantile(values, [2, 0, 1], [5] * 3, [0.0, 0.5, 1.0], reorder=True)[0] == [2.0, 3.0, 4.0]
    with pytest.raises(InvalidInput, match="3 frames and 2 fractions"):
        hf.quantile(values, [0] * 3, [5] * 3, [0.0, 0.5])


def test_any_ordered_and_hashable_values():
    words = ["bee", "ant", None, "bee", "cat"]
    start, end = frames("growing", 5)
    assert hf.mode(words, start, end)[0] == ["bee", "ant", "ant", "bee", "bee"]
    assert hf.count_distinct(words, start, end)[0] == [1, 2, 2, 2, 3]
    assert hf.quantile(words, start, end, 0.5, continuous=False)[0] == ["bee", "ant", "ant", "bee", "bee"]
    large = [2**53, 2**53 + 1]
    assert hf.quantile(large, [0], [2], 1.0, continuous=False)[0] == [2**53 + 1]
    assert hf.mode([Fraction(1, 3), Fraction(2, 6)], [0], [2])[0] == [Fraction(1, 3)]


# ---- what the paper says about their cost
def uniform(n, domain=100):
    rng = random.Random(n)
    return [rng.randrange(domain) for _ in range(n)]


def test_incremental_counting_does_the_work_of_the_change_only():
    n, w = 2000, 200
    values = uniform(n)
    start, end = [max(0, i - w + 1) for i in range(n)], [i + 1 for i in range(n)]
    naive = hf.count_distinct(values, start, end, variant="naive")[1]
    incremental = hf.count_distinct(values, start, end)[1]
    assert incremental.hash_operations == n + (n - w)
    assert naive.hash_operations == sum(e - s for s, e in zip(start, end, strict=True))
    assert naive.hash_operations > 90 * incremental.hash_operations
    assert incremental.recounts == 1  # the first frame


def test_tau_of_one_is_the_naive_algorithm():
    values = uniform(500)
    start, end = frames("mod prime", 500)
    for function, variant in ((hf.count_distinct, "incremental"), (hf.mode, "incremental")):
        naive = function(values, start, end, variant="naive")
        assert function(values, start, end, variant=variant, tau=1) == naive
        assert naive[1].recounts == 500


def test_tau_flushes_where_values_follow_the_order_and_not_where_they_come_back():
    n, w = 2000, 50
    start, end = [max(0, i - w + 1) for i in range(n)], [i + 1 for i in range(n)]
    correlated = {tau: hf.count_distinct(range(n), start, end, tau=tau)[1].recounts for tau in (0, 0.25, 0.5)}
    assert correlated[0] == 1 < correlated[0.25] < correlated[0.5] < n / 10
    assert hf.count_distinct(uniform(n, 60), start, end)[1].recounts == 1


# ---- and what it suggests
def sharing(rows, n=19_000, w=1000):
    """Frames of w rows of which each shares so many with the next."""
    start = range(0, n - w, w - rows)
    return start, [a + w for a in start]


@pytest.mark.parametrize(("function", "variant"), [(hf.count_distinct, "incremental"), (hf.mode, "incremental"),
                                                  (hf.mode, "tournament")])  # fmt: skip
def test_starting_over_spares_the_removals_where_frames_share_little(function, variant):
    values = uniform(19_000)
    start, end = sharing(1)

    def operations(start, end, **options):
        return function(values, start, end, **options)[1].hash_operations / len(start)

    assert int(operations(start, end, variant=variant)) == 1945  # 999 removed and 999 added, but for the first frame
    assert operations(start, end, variant=variant, start_over=True) == 1000
    assert operations(start, end, variant="naive") == 1000
    start, end = sharing(499)  # 501 leave and 499 stay: removing and adding 501 each is 2 more than 1,000
    assert operations(start, end, variant=variant, start_over=True) == 1000 < operations(start, end, variant=variant)
    start, end = sharing(500)  # as many leave as stay: both ways cost the same
    assert operations(start, end, variant=variant, start_over=True) == operations(start, end, variant=variant) == 1000
    start, end = sharing(900)
    assert operations(start, end, variant=variant, start_over=True) == operations(start, end, variant=variant) < 210


def test_starting_over_spares_reading_an_index_of_which_little_stays():
    rng = random.Random(8)
    values = [rng.random() for _ in range(19_000)]
    for variant in ("reuse", "replace"):
        entries = {
            (rows, start_over): hf.quantile(
                values, *sharing(rows), 0.5, continuous=False, variant=variant, start_over=start_over
            )[1].entries
            / len(sharing(rows)[0])
            for rows in (1, 900)
            for start_over in (False, True)
        }
        assert entries[1, True] == 1000 < 1900 < entries[1, False] < 2000
        assert entries[900, True] == entries[900, False] <= 1100


@pytest.mark.parametrize("function", [hf.count_distinct, hf.mode])
def test_a_small_table_is_not_flushed_and_so_no_dip_at_ten_rows(function):
    n, w = 5000, 10
    values, start, end = uniform(n), [max(0, i - w + 1) for i in range(n)], [i + 1 for i in range(n)]
    flushed = function(values, start, end, variant="incremental")[1]
    kept = function(values, start, end, variant="incremental", floor=FLOOR)[1]
    assert (kept.hash_operations, kept.recounts) == (n + n - w, 1)
    assert flushed.recounts > 100 and flushed.hash_operations > 1.08 * kept.hash_operations
    # a table that grows is flushed all the same, once it has so many entries: 10 after a recount, and 1 more each frame
    assert function(range(n), start, end, variant="incremental", floor=1000)[1].recounts == 1 + n // 991


def test_frames_in_the_order_of_their_starts_share_most():
    values = uniform(20_000)
    start = [i + 5000 * (i % 2) for i in range(40)]  # in turn from two places
    end = [a + 1000 for a in start]
    assert hf.count_distinct(values, start, end)[1].hash_operations == 40_000
    assert hf.count_distinct(values, start, end, reorder=True)[1].hash_operations == 2 * 1000 + 38 * (2 + 2) == 2152
    kept = [hf.quantile(values, start, end, 0.5, variant="reuse", reorder=b)[1].visits for b in (False, True)]
    assert kept[1] < 0.6 * kept[0]
    # those of section 6.2, which lie around their row, in any order of their starts
    n, w, p1, p2 = 4000, 1000, 15_485_863, 499
    back = [i * p1 % p2 for i in range(n)]
    start, end = [max(0, i - b) for i, b in enumerate(back)], [min(n, i + w - b + 1) for i, b in enumerate(back)]
    as_given = hf.count_distinct(values[:n], start, end)[1].hash_operations
    assert hf.count_distinct(values[:n], start, end, reorder=True)[1].hash_operations < as_given / 50


def test_the_mode_is_rarely_lost_on_random_data_and_always_in_the_worst_case():
    n, w = 2000, 400
    start, end = [max(0, i - w + 1) for i in range(n)], [i + 1 for i in range(n)]
    assert hf.mode(uniform(n), start, end, variant="incremental")[1].rescans < n / 10
    # with w different values in turn and every second frame one row shorter, the mode leaves all the time
    rows = range(0, n - w, 2)
    start, end = [a for i in rows for a in (i, i + 1)], [b for i in rows for b in (i + w + 1, i + w + 1)]
    worst = [i % w for i in range(n)]
    assert hf.mode(worst, start, end, variant="incremental")[1].rescans >= len(start) // 2 - 1
    assert hf.mode(worst, start, end, variant="tournament")[1].rescans == 0


def test_replacement_spares_about_half_of_the_selections():
    n, w = 2000, 101
    rng = random.Random(1)
    values = [rng.random() for _ in range(n)]
    start, end = range(n - w), range(w, n)
    work = {v: hf.quantile(values, start, end, 0.5, variant=v)[1] for v in ("naive", "reuse", "replace")}
    assert work["naive"].selects == work["reuse"].selects == n - w
    assert work["naive"].avoided == work["reuse"].avoided == 0
    assert 0.4 < work["replace"].avoided / (n - w) < 0.6
    assert work["replace"].selects + work["replace"].scans + work["replace"].avoided == n - w
    assert work["replace"].selects < (n - w) / 50  # the row of the answer itself has left


class Lookups(list):
    """Values that count how often one is looked at."""

    looks = 0

    def __getitem__(self, row):
        self.looks += 1
        return super().__getitem__(row)


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ("random", {"naive": 2.9, "reuse": 1.35, "replace": 0.35}),
        ("rising", {"naive": 2.9, "reuse": 1.6, "replace": 0.6}),
        ("falling", {"naive": 2.9, "reuse": 1.6, "replace": 0.6}),
        ("few", {"naive": 2.0, "reuse": 1.1, "replace": 0.3}),
        ("equal", {"naive": 1.1, "reuse": 1.1, "replace": 0.1}),
        ("waves", {"naive": 2.9, "reuse": 1.6, "replace": 0.6}),
    ],
)
def test_reuse_and_replacement_look_at_fewer_values(kind, most):
    n, w, rng = 600, 201, random.Random(2)
    values = {
        "random": [rng.random() for _ in range(n)],
        "rising": range(n),
        "falling": range(n, 0, -1),
        "few": [rng.randrange(4) for _ in range(n)],
        "equal": [7] * n,
        "waves": [math.sin(i / 20) for i in range(n)],
    }[kind]
    looks, work = {}, {}
    for variant in most:
        index = QuantileIndex(Lookups(values), variant)
        for start in range(n - w):
            index.move(start, start + w)
            index.kth(w // 2)
        looks[variant] = index.values.looks / (n - w) / w
        work[variant] = index.visits / (n - w) / w
    assert all(looks[variant] <= most[variant] for variant in most), looks
    assert all(work[variant] <= looks[variant] <= work[variant] + 0.3 for variant in most), (work, looks)  # and pivots
    if kind == "random":
        assert looks["naive"] > 2 * looks["reuse"] > 6 * looks["replace"]


def test_pivots_are_drawn_the_same_way_in_every_run():
    values = [random.Random(4).random() for _ in range(300)]
    runs = [hf.quantile(values, range(200), range(100, 300), 0.5, variant="reuse")[1] for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hf.count_distinct([1], [0], []), "1 starts and 0 ends"),
        (lambda: hf.count_distinct([1], [0], [2]), "frame 0 is rows 0 to 1, and there are rows 0 to 0"),
        (lambda: hf.mode([1], [-1], [1]), "frame 0 is rows -1 to 0"),
        (lambda: hf.mode([1], [0], [1], variant="fast"), "'tournament', got 'fast'"),
        (lambda: hf.count_distinct([1], [0], [1], tau=-1), "tau must be between 0 and 1"),
        (lambda: hf.count_distinct([1], [0], [1], floor=-1), "floor must be a whole number from 0 on, got -1"),
        (lambda: hf.mode([1], [0], [1], floor=0.5), "floor must be a whole number from 0 on, got 0.5"),
        (lambda: hf.mode([1], [0], [1], variant="naive", start_over=True), "starts over with every frame"),
        (lambda: hf.quantile([1], [0], [1], 0.5, start_over=1), "start_over must be True or False, got 1"),
        (lambda: hf.count_distinct([1], [0], [1], reorder="start"), "reorder must be True or False, got 'start'"),
        (lambda: hf.quantile([1], [0], [1], 50), "Did you mean 0.5"),
        (lambda: hf.quantile([1], [0], [1], 0.5, variant="x"), "'x'"),
        (lambda: hf.quantile([1], [0], [1], 0.5, method="x"), "'x'"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
