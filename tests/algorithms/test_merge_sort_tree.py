"""Merge sort trees over any values, against sorting and counting every frame; their costs by counting."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slidewise.aggregations.ranks import Median, Percentile, PercentileDisc
from slidewise.aggregations.sums import Sum
from slidewise.algorithms import merge_sort_tree as mst
from slidewise.algorithms.merge_sort_tree import MergeSortTree
from slidewise.errors import IllegalPair, InvalidInput
from slidewise.templates.bind import bind, functions_of
from slidewise.templates.interpret import optional_names
from tests.support.tiers import examples

NAN = math.nan
NUMBERS = st.one_of(st.none(), st.integers(-3, 3), st.sampled_from((0.5, -0.0, math.inf, -math.inf, NAN)))
WORDS = st.one_of(st.none(), st.text("abc", max_size=2))


def ordered(frame):
    """A frame without nulls, NaN last."""
    return sorted((v for v in frame if v is not None), key=lambda v: (v != v, 0 if v != v else v))


def lower(a, b):
    """Whether a is below b, NaN above all."""
    return a == a and (b != b or a < b)


def same(a, b):
    return a == b or (a is not None and b is not None and a != a and b != b)


def kinds(frame):
    return len({"NaN" if v != v else v for v in frame if v is not None})


@examples(200)
@given(st.one_of(st.lists(NUMBERS, max_size=40), st.lists(WORDS, max_size=40)), st.data())
def test_every_question_of_any_frame(values, data):
    tree = MergeSortTree(values)
    tree.check()
    for _ in range(6):
        start, end = data.draw(st.integers(0, len(values))), data.draw(st.integers(0, len(values)))
        frame = values[start:end]
        held = ordered(frame)
        assert tree.count_distinct(start, end) == kinds(frame)
        for k in range(-1, len(held) + 1):
            assert same(tree.nth_smallest(k, start, end), held[k] if 0 <= k < len(held) else None)
        for rule in (PercentileDisc(0.3), PercentileDisc(1.0)):
            assert same(tree.order_statistic(rule, start, end), rule.select(len(held), held.__getitem__))
        rows = [row for row, value in enumerate(values) if value is not None]
        for row in rows[:: max(1, len(rows) // 5)]:
            assert tree.rank(row, start, end) == 1 + sum(lower(v, values[row]) for v in held)


@pytest.mark.parametrize("n", [*range(1, 10), 15, 16, 17, 31, 32, 33, 100])
def test_all_frames_of_all_small_sizes(n):
    rng = random.Random(n)
    values = [rng.randrange(5) for _ in range(n)]
    tree = MergeSortTree(values)
    tree.check()
    step = 1 if n < 20 else 7
    for start in range(0, n, step):
        for end in range(start, n + 1, step):
            held = sorted(values[start:end])
            assert tree.count_distinct(start, end) == len(set(held))
            assert [tree.nth_smallest(k, start, end) for k in range(end - start)] == held
            for rule in (Median(), Percentile(0.9)):
                assert tree.order_statistic(rule, start, end) == rule.select(len(held), held.__getitem__)


def test_a_damaged_tree_is_noticed():
    values = [5, 2, 9, 1, 7, 3]
    for name in ("by_rank", "by_previous", "by_value", "took"):
        tree = MergeSortTree(values)
        levels = getattr(tree, name)
        levels[-1] += 1
        with pytest.raises(AssertionError):
            tree.check()


# ---- costs
class Counting:
    """A number that counts how often one is compared."""

    comparisons = 0

    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        Counting.comparisons += 1
        return self.value < other.value


class Readings(list):
    """A list that counts how often it is read."""

    read = 0

    def __getitem__(self, place):
        self.read += 1
        return super().__getitem__(place)


@pytest.mark.parametrize("n", [1, 2, 100, 1000, 1024, 1500])
def test_building_compares_less_than_n_times_a_level(n):
    rng = random.Random(n)
    depth = mst.depth_for(n)
    levels = [Counting(rng.random()) for _ in range(n)] + [None] * (depth * n)
    Counting.comparisons = 0
    mst.merge_runs(levels, [], n, depth)
    assert Counting.comparisons <= n * depth
    # two levels by turns make the same top level
    two = levels[:n] + [None] * n
    mst.merge_runs(two, [], n, depth)
    assert two[depth % 2 * n :][:n] == levels[depth * n :]


def test_counting_a_frame_searches_two_runs_of_each_level():
    n = 1024
    rng = random.Random(5)
    levels = [Counting(rng.randrange(500)) for _ in range(n)] + [None] * (10 * n)
    mst.merge_runs(levels, [], n, 10)
    most = 0
    for _ in range(500):
        start, end = sorted(rng.choices(range(n + 1), k=2))
        bound = Counting(rng.randrange(500))
        Counting.comparisons = 0
        found = mst.count_below(levels, n, start, end, bound)
        w = max(1, end - start)
        top = w.bit_length() - 1  # the largest run that fits
        assert Counting.comparisons <= (top + 1) * (top + 2)
        most = max(most, Counting.comparisons)
        assert found == sum(key.value < bound.value for key in levels[start:end])
    assert most > 40  # it is not by chance that few are counted


def test_selecting_reads_two_places_a_level():
    n = 1000
    values = [random.Random(n).random() for _ in range(n)]
    tree = MergeSortTree(values)
    took = Readings(tree.took)
    for start, end, k in ((0, n, 500), (10, 12, 1), (999, 1000, 0), (3, 800, 0)):
        took.read = 0
        place = mst.select(took, n, tree.depth, start, end, k)
        assert took.read <= 2 * tree.depth == 20
        assert values[tree.order[place]] == sorted(values[start:end])[k]


def test_distinct_sums_combine_two_partials_a_level():
    calls = 0
    names = optional_names(Sum())
    add = names["combine"]

    def combine(a, b):
        nonlocal calls
        calls += a is not None and b is not None
        return add(a, b)

    names |= {"combine": combine, "zip_columns": lambda x: x, "defined": lambda total: True}
    run = bind(functions_of(mst), names)["run_distinct"]
    rng = random.Random(3)
    n, w = 512, 100
    values = [rng.randrange(40) for _ in range(n)]
    last, previous = {}, []
    for row, value in enumerate(values):
        previous.append(last.get(value, 0))
        last[value] = row + 1
    depth = mst.depth_for(w)
    taken = {}
    for frames in (0, 300):
        start = [rng.randrange(n - w) for _ in range(frames)]
        end = [a + rng.randrange(w + 1) for a in start]
        levels = [(before << mst.ROW_BITS) + row for row, before in enumerate(previous)] + [0] * (depth * n)
        out, calls = [None] * frames, 0
        rows = [(value,) for value in values]
        run([None] * len(levels), levels, [], depth, rows, start, end, out, [False] * frames)
        taken[frames] = calls
        expected = [sum(set(values[a:b])) if a < b else None for a, b in zip(start, end, strict=True)]
        assert out == expected
    assert taken[0] <= n * depth
    assert taken[300] - taken[0] <= 300 * 2 * (depth + 1)


# ---- errors
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MergeSortTree([1, 2]).rank(2, 0, 2), "there are rows 0 to 1, got 2"),
        (lambda: MergeSortTree([1, None]).rank(1, 0, 2), "row 1 is null"),
        (lambda: MergeSortTree([1, 2]).count_distinct(0, 3), "rows 0 to 2 were asked for, and there are 0 to 1"),
        (lambda: MergeSortTree([1, 2]).nth_smallest(0, -1, 1), "rows -1 to 0 were asked for"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_it_stands_still_and_so_has_no_form_for_events():
    import slidewise as sw

    with pytest.raises(IllegalPair, match="works on whole columns"):
        sw.swag("merge_sort_tree", sw.median())
    with pytest.raises(IllegalPair, match="of_distinct_values, and max is not"):
        sw.rolling([1.0], sw.max(), sw.rows(1), algorithm="merge_sort_tree")
