"""The structures of raw values, event by event, against sorting and counting the window at every step."""

import math
import random
from collections import Counter, deque

import pytest
from support.tiers import in_full

from slidewise.aggregations.frequencies import CountDistinct, Mode
from slidewise.aggregations.ranks import Median, NthSmallest, Percentile, PercentileDisc
from slidewise.algorithms import swag
from slidewise.errors import IllegalPair, InvalidInput

NAN = math.nan


def values_of(kind, n, rng):
    return {
        "integers": lambda: [rng.randrange(1000) for _ in range(n)],
        "few": lambda: [rng.randrange(4) for _ in range(n)],
        "rising": lambda: list(range(n)),
        "falling": lambda: list(range(n, 0, -1)),
        "equal": lambda: [7] * n,
        "large": lambda: [2**53 + rng.randrange(3) for _ in range(n)],
        "floats": lambda: [
            rng.choice((NAN, -NAN, 0.0, -0.0, math.inf, -math.inf, rng.random(), None)) for _ in range(n)
        ],
        "nulls": lambda: rng.choices((None, None, 1, 2), k=n),
        "words": lambda: rng.choices(("ant", "bee", "cat", None), k=n),
    }[kind]()


KINDS = ("integers", "few", "rising", "falling", "equal", "large", "floats", "nulls")


def sorted_values(window):
    """The window without nulls, NaN last."""
    return sorted((v for v in window if v is not None), key=lambda v: (v != v, 0 if v != v else v))


def same(a, b):
    return a == b or (a is not None and b is not None and a != a and b != b)


def expected_percentile(window, q):
    values = sorted_values(window)
    if not values:
        return None
    rank = q * (len(values) - 1)
    low, high = values[math.floor(rank)], values[math.ceil(rank)]
    share = rank - math.floor(rank)
    return float(low) if low == high or share == 0 else low * (1 - share) + high * share


def expected_disc(window, q):
    values = sorted_values(window)
    return values[max(0, math.ceil(q * len(values)) - 1)] if values else None


def expected_nth(window, n):
    values = sorted_values(window)
    return values[n - 1] if n <= len(values) else None


def counted(window):
    return Counter("NaN" if v != v else v for v in window if v is not None)


def expected_mode(window):
    counts = counted(window)
    most = [v for v in sorted_values(window) if counts["NaN" if v != v else v] == max(counts.values())]
    return most[0] if most else None


def slides(kind, rng, steps):
    """A window that grows and shrinks at random, and to nothing in the end, after every change."""
    window = deque()
    for value in values_of(kind, steps, rng):
        grow = rng.random() < (0.75 if (len(window) // 40) % 2 == 0 else 0.35)
        if grow or not window:
            window.append(value)
            yield ("insert", value), window
        else:
            window.popleft()
            yield ("evict",), window
    while window:
        window.popleft()
        yield ("evict",), window


def drive(structure, kind, rng, look, steps=400):
    for (operation, *value), window in slides(kind, rng, steps):
        getattr(structure, operation)(*value)
        assert len(structure) == len(window)
        structure.check(list(window))
        if rng.random() < 0.7:  # queries change some structures, and so does their absence
            look(structure, window)
            structure.check(list(window))


ORDER = [("order_statistic_tree", {})] + [
    ("incremental_quantile", options)
    for options in (
        {"variant": "naive"},
        {"variant": "reuse"},
        {"variant": "replace"},
        {"variant": "reuse", "start_over": True},
        {"variant": "replace", "start_over": True},
    )
]


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "options"), ORDER)
def test_order_statistics(name, options, kind):
    rng = random.Random(f"{name}{kind}")
    cases = [
        (Median(), lambda w: expected_percentile(w, 0.5)),
        (Percentile(0.9), lambda w: expected_percentile(w, 0.9)),
        (PercentileDisc(0.25), lambda w: expected_disc(w, 0.25)),
        (NthSmallest(3), lambda w: expected_nth(w, 3)),
    ]
    for aggregation, expected in cases:

        def look(s, window, expected=expected):
            assert same(s.query(), expected(window)), (s.query(), list(window))

        drive(swag(name, aggregation, **options), kind, rng, look, 250)


@pytest.mark.parametrize(("name", "options"), ORDER)
def test_the_fraction_or_rank_may_come_with_the_query(name, options):
    rng = random.Random(5)
    s, disc, nth = (swag(name, a, **options) for a in (Percentile(0.5), PercentileDisc(0.5), NthSmallest(1)))
    window = deque()
    for value in values_of("floats", 200, rng):
        for structure in (s, disc, nth):
            structure.insert(value)
            if len(window) == 30:
                structure.evict()
        if len(window) == 30:
            window.popleft()
        window.append(value)
        for q in (0.0, 1.0, 0.37, 0.5):
            assert same(s.query(q), expected_percentile(window, q))
            assert same(disc.query(q), expected_disc(window, q))
        for n in (1, 30, 7, 31):
            assert same(nth.query(n), expected_nth(window, n))
    with pytest.raises(InvalidInput, match=r"Did you mean 0\.95"):
        s.query(95)


@pytest.mark.parametrize("kind", (*KINDS, "words"))
@pytest.mark.parametrize("tau", [0, 0.25, 1])
@pytest.mark.parametrize("floor", [0, 20])
def test_count_distinct(kind, tau, floor):
    def look(s, window):
        assert s.query() == len(counted(window))

    rng = random.Random(f"{kind}{tau}")
    drive(swag("incremental_count_distinct", CountDistinct(), tau=tau, floor=floor), kind, rng, look)


@pytest.mark.parametrize("kind", (*KINDS, "words"))
def test_mode_is_the_lowest_of_the_most_frequent(kind):
    def look(s, window):
        assert same(s.query(), expected_mode(window))

    drive(swag("incremental_mode", Mode()), kind, random.Random(kind), look)


@pytest.mark.parametrize("kind", (*KINDS, "words"))
@pytest.mark.parametrize("tau", [0, 0.25, 1])
@pytest.mark.parametrize("floor", [0, 20])
def test_mode_of_the_paper_is_one_of_the_most_frequent(kind, tau, floor):
    def look(s, window):
        counts, mode = counted(window), s.query()
        assert (mode is None) == (not counts)
        assert mode is None or counts["NaN" if mode != mode else mode] == max(counts.values())

    s = swag("incremental_mode", Mode(), variant="paper", tau=tau, floor=floor)
    drive(s, kind, random.Random(f"{kind}{tau}"), look)


def test_words_are_ordered_as_words():
    s = swag("order_statistic_tree", PercentileDisc(0.5))
    for word in ("d", "a", None, "c", "b"):
        s.insert(word)
    assert (s.query(), s.query(1.0), len(s), s.window()) == ("b", "d", 5, ["d", "a", None, "c", "b"])


ALL = [
    ("order_statistic_tree", Median()),
    ("incremental_quantile", Median()),
    ("incremental_count_distinct", CountDistinct()),
    ("incremental_mode", Mode()),
]


@pytest.mark.parametrize(("name", "aggregation"), ALL)
def test_an_empty_window_and_one_of_nulls(name, aggregation):
    s = swag(name, aggregation)
    assert s.query() == aggregation.empty
    with pytest.raises(InvalidInput, match="empty"):
        s.evict()
    s.insert(None)
    s.insert(None)
    assert (s.query(), len(s)) == (aggregation.empty, 2)
    s.evict()
    s.insert(4)
    s.evict()
    assert s.query() == (1 if name == "incremental_count_distinct" else 4)


@pytest.mark.parametrize(("name", "aggregation"), ALL)
def test_times_are_kept_beside_the_values(name, aggregation):
    s = swag(name, aggregation)
    for t in range(10):
        s.insert(t % 3, time=t)
    assert (s.oldest, s.youngest) == (0, 9)
    s.evict(time=6)
    assert (s.oldest, len(s)) == (7, 3)
    s.check([1, 2, 0])


@pytest.mark.parametrize(("name", "aggregation"), ALL)
def test_a_value_that_does_not_go_with_the_others_changes_nothing(name, aggregation):
    s = swag(name, aggregation)
    s.insert(1, time=1)
    s.insert(2, time=2)
    with pytest.raises(InvalidInput, match="does not go with the values held"):
        s.insert(set() if name == "incremental_count_distinct" else "text", time=3)
    s.check([1, 2])
    assert (len(s), s.youngest) == (2, 2)
    s.insert(2, time=3)
    assert s.query() == 2


@pytest.mark.parametrize(
    ("name", "aggregation", "options", "message"),
    [
        ("incremental_count_distinct", CountDistinct(), {"tau": 1.5}, "tau must be between 0 and 1, got 1.5"),
        ("incremental_count_distinct", CountDistinct(), {"tau": NAN}, "tau must be between 0 and 1"),
        (
            "incremental_count_distinct",
            CountDistinct(),
            {"floor": -1},
            "floor must be a whole number from 0 on, got -1",
        ),
        ("incremental_mode", Mode(), {"floor": 10}, 'only variant="paper"'),
        ("incremental_quantile", Median(), {"start_over": 1}, "start_over must be True or False, got 1"),
        ("incremental_quantile", Median(), {"variant": "naive", "start_over": True}, "starts over with every frame"),
        ("incremental_mode", Mode(), {"variant": "best"}, 'must be "tournament" or "paper", got \'best\''),
        ("incremental_mode", Mode(), {"tau": 0.5}, 'only variant="paper"'),
        ("incremental_quantile", Median(), {"variant": 1}, 'must be "naive", "reuse" or "replace", got 1'),
        ("order_statistic_tree", Median(), {"tau": 1}, "takes no options, got tau"),
    ],
)
def test_options_are_checked(name, aggregation, options, message):
    with pytest.raises(InvalidInput, match=message):
        swag(name, aggregation, **options)


def test_illegal_pairs_are_refused():
    for name, aggregation in [("order_statistic_tree", Mode()), ("incremental_mode", Median())]:
        with pytest.raises(IllegalPair, match="needs an aggregation that is"):
            swag(name, aggregation)


# ---- costs
class Counting:
    """A value that counts how often it is compared."""

    comparisons = 0

    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        Counting.comparisons += 1
        return self.value < other.value


def most_comparisons(order, n):
    """The most comparisons of one insert, evict or query while a window grows to n values and slides."""
    s = swag("order_statistic_tree", NthSmallest(1))
    most = 0
    for i, value in enumerate(order):
        operations = [lambda v=value: s.insert(Counting(v)), lambda: s.query(len(s) // 2 + 1)]
        for operation in operations + [s.evict] * (i >= n):
            Counting.comparisons = 0
            operation()
            most = max(most, Counting.comparisons)
    return most


@pytest.mark.parametrize("n", [10, 100, 1000, *in_full(10_000)])
def test_the_tree_compares_logarithmically_in_the_worst_case(n):
    rng = random.Random(n)
    orders = {
        "rising": range(2 * n),
        "falling": range(2 * n, 0, -1),
        "random": [rng.random() for _ in range(2 * n)],
        "inward": [i if i % 2 else -i for i in range(2 * n)],
        "equal": [1] * (2 * n),
    }
    bound = math.log(n + 2) / math.log(4 / 3)  # the depth that the balance allows
    for name, order in orders.items():
        assert most_comparisons(order, n) <= bound, name


def test_rank_and_select_are_inverse():
    s = swag("order_statistic_tree", Median())
    values = random.Random(1).sample(range(10_000), 500)
    for v in values:
        s.insert(v)
    for i, v in enumerate(sorted(values)):
        assert (s.select(i), s.rank(v)) == (v, i)
    assert (s.rank(-1), s.rank(10**6), s.rank(NAN)) == (0, 500, 500)
    with pytest.raises(InvalidInput, match="there are 500 values, counted from 0, got 500"):
        s.select(500)


def test_flushing_bounds_the_table():
    n, steps = 100, 5000
    held = {}
    for tau in (0, 0.25, 1):
        s = swag("incremental_count_distinct", CountDistinct(), tau=tau)
        for i in range(steps):  # every value is new: the worst case for keeping counts of zero
            s.insert(i)
            if i >= n:
                s.evict()
        held[tau] = s.partials()
        assert s.query() == n
    assert held[1] == n
    assert n < held[0.25] <= n / 0.25
    assert held[0] == steps


def test_a_floor_keeps_a_small_table_and_bounds_a_large_one():
    rng = random.Random(6)
    for floor, flushes in ((0, True), (101, False)):
        s = swag("incremental_count_distinct", CountDistinct(), floor=floor)
        mode = swag("incremental_mode", Mode(), variant="paper", floor=floor)
        for i in range(2000):
            value = rng.randrange(100)
            for structure in (s, mode):
                structure.insert(value)
                if i >= 10:
                    structure.evict()
        assert (s.table.flushes > 10) == (mode.table.flushes > 10) == flushes
        assert (s.table.flushes == mode.table.flushes == 0) != flushes
    s = swag("incremental_count_distinct", CountDistinct(), floor=500)
    most = 0
    for i in range(5000):  # every value is new
        s.insert(i)
        if i >= 10:
            s.evict()
        most = max(most, s.partials())
    assert most == 499 and s.table.flushes == 10  # the 500th is flushed by the eviction that follows it


def test_starting_over_counts_fewer_entries_where_the_window_was_left_behind():
    rng = random.Random(7)
    entries = {}
    for start_over in (False, True):
        s = swag("incremental_quantile", PercentileDisc(0.5), variant="reuse", start_over=start_over)
        for i in range(5000):
            s.insert(rng.random())
            if i >= 1000:
                s.evict()
            if i % 900 == 0:  # the last queried window shares 100 rows with this one
                s.query()
        entries[start_over] = s.order.entries
    assert entries[True] < 0.65 * entries[False]


def test_the_tournament_holds_only_values_of_the_window_and_shrinks():
    s = swag("incremental_mode", Mode())
    for i in range(5000):
        s.insert(i)
    assert s.partials() == 5000
    for _ in range(4990):
        s.evict()
    assert s.partials() == 10
    assert len(s.table.counts) <= 40


@pytest.mark.full
def test_the_tournament_compares_logarithmically_where_the_paper_scans():
    class Hashed(Counting):
        def __hash__(self):
            return hash(self.value)

        def __eq__(self, other):
            return self.value == other.value

    distinct = 1 << 12
    s = swag("incremental_mode", Mode())
    paper = swag("incremental_mode", Mode(), variant="paper")
    most = 0
    for i in range(3 * distinct):  # in the steady state the value that has just become the mode leaves
        for structure in (paper, s):
            Counting.comparisons, capacity = 0, len(s.table.counts)
            structure.insert(Hashed(i % distinct))
            if i >= distinct:
                structure.evict()
            structure.query()
        if capacity == len(s.table.counts):  # doubling the slots is amortised
            most = max(most, Counting.comparisons)
    assert 0 < most <= 3 * (math.log2(distinct) + 2)
    assert paper.table.rescans >= 2 * distinct - 1


def test_replacement_avoids_about_half_of_the_selections():
    rng = random.Random(3)
    work = {}
    for variant in ("naive", "reuse", "replace"):
        s = swag("incremental_quantile", PercentileDisc(0.5), variant=variant)
        for i in range(2000):
            s.insert(rng.random())
            if i >= 101:
                s.evict()
            s.query()
        work[variant] = s.order.selects + s.order.scans
    assert work["naive"] == work["reuse"] == 2000
    assert 0.4 * 2000 < work["replace"] < 0.6 * 2000


def test_an_evicted_value_is_not_kept_alive():
    import gc
    import weakref

    class Value:
        def __init__(self, x):
            self.x = x

        def __lt__(self, other):
            return self.x < other.x

    for name, aggregation in ALL:
        s = swag(name, PercentileDisc(0.5) if aggregation == Median() else aggregation)
        first = Value(1)
        alive = weakref.ref(first)
        s.insert(first)
        for i in range(30):
            s.insert(Value(i % 3 + 2))
        s.query()
        del first
        for _ in range(25):
            s.evict()
        s.query()
        gc.collect()
        assert alive() is None, name
