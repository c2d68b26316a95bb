"""FiBA: a B-tree with fingers, values by their times in any order, ranges and bulk operations."""

import bisect
import datetime
import gc
import math
import random
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.aggregations import Concat, Highest, Total
from support.tiers import examples, in_full

import slidewise as sw
from slidewise.algorithms import fiba
from slidewise.errors import InvalidInput


class Ends(sw.Aggregation):
    """Partials that are tuples: the number of values, the oldest and the youngest."""

    @staticmethod
    def lift(x):
        return (1, x, x)

    @staticmethod
    def combine(a, b):
        return (a[0] + b[0], a[1], b[2])


class Counting(sw.Aggregation):
    """A sum that counts its calls."""

    calls = 0

    @staticmethod
    def combine(a, b):
        Counting.calls += 1
        return a + b


class Above(sw.Aggregation):
    """How many values are above the query's argument."""

    unary_lower = False

    @staticmethod
    def lift(x):
        return (x,)

    @staticmethod
    def combine(a, b):
        return a + b

    @staticmethod
    def lower(values, bound):
        return sum(v > bound for v in values)


def of_arity(arity, aggregation):
    """A structure of another arity: small nodes make tall trees out of few values."""
    return sw.swag("fiba", aggregation, arity=arity)


def recalculate(aggregation, values):
    total = None
    for value in values:
        if value is not None:
            partial = aggregation.lift(value)
            total = partial if total is None else aggregation.combine(total, partial)
    return total


class Model:
    """The same window as a sorted list."""

    def __init__(self):
        self.rows = []

    def insert(self, time, value):
        self.rows.insert(bisect.bisect_right(self.rows, time, key=lambda row: row[0]), (time, value))

    def remove(self, time):
        self.rows = [row for row in self.rows if row[0] != time]

    def evict_up_to(self, time):
        self.rows = [row for row in self.rows if row[0] > time]

    def values(self, *bounds):
        return [value for time, value in self.rows if not bounds or bounds[0] <= time <= bounds[1]]


LETTERS = [*"abcdefgh", None]
NUMBERS = [*range(-4, 5), None]


@pytest.mark.parametrize("arity", [2, 3, 4, 8])
@pytest.mark.parametrize(
    "aggregation, values",
    [(Concat(), LETTERS), (Total(), NUMBERS), (Highest(), NUMBERS), (Ends(), NUMBERS)],
    ids=lambda x: getattr(x, "name", ""),
)
def test_random_interleavings(arity, aggregation, values):
    for seed in range(8):
        r = random.Random(seed)
        s, model = of_arity(arity, aggregation), Model()
        latest, growth = r.choice([5, 50, 1000]), r.choice([0.4, 0.6, 0.9])
        for _ in range(80):
            step, value = r.random(), r.choice(values)
            if step < 0.6 * growth or not model.rows:
                time = r.randrange(latest)
                s.insert(value, time=time)
                model.insert(time, value)
            elif step < 0.75 * growth:
                time = model.rows[-1][0] + r.randrange(3)
                s.insert(value, time=time)
                model.insert(time, value)
            elif step < 0.8 * growth:
                batch = [(r.randrange(latest), r.choice(values)) for _ in range(r.choice([0, 1, 5, 60]))]
                s.bulk_insert(batch)
                for time, v in batch:
                    model.insert(time, v)
            elif step < 0.8:
                s.evict()
                model.rows.pop(0)
            elif step < 0.96:
                time = r.choice(model.rows)[0]
                s.remove(time=time)
                model.remove(time)
            else:
                time = r.choice(model.rows)[0] - r.randrange(2)
                s.evict(time=time)
                model.evict_up_to(time)
            assert s.query() == recalculate(aggregation, model.values())
            start = r.randrange(-1, latest + 1)
            end = start + r.randrange(latest)
            assert s.query(start, end) == recalculate(aggregation, model.values(start, end))
            assert (s.oldest, s.youngest) == ((model.rows[0][0], model.rows[-1][0]) if model.rows else (None, None))
            s.check(model.values())


@pytest.mark.parametrize("arity", [2, 8])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 100, *in_full(400)])
def test_first_in_first_out(arity, n):
    s = of_arity(arity, Concat())
    text = "".join(chr(97 + i % 26) for i in range(3 * n + 50))
    for i, letter in enumerate(text):
        if i >= n:
            s.evict()
        s.insert(letter)
        assert s.query() == text[max(0, i + 1 - n) : i + 1]
        if i % 7 == 0:
            s.check(list(text[max(0, i + 1 - n) : i + 1]))
    while len(s):
        s.evict()
    s.check([])
    assert s.query() is None


@examples(60, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(LETTERS)), max_size=120), st.data())
def test_bulk_is_the_same_as_one_by_one(rows, data):
    held = data.draw(st.integers(0, len(rows)))
    one, bulk, model = sw.swag("fiba", Concat()), sw.swag("fiba", Concat()), Model()
    for time, value in rows:
        one.insert(value, time=time)
        model.insert(time, value)
    for time, value in rows[:held]:
        bulk.insert(value, time=time)
    bulk.bulk_insert(iter(rows[held:]))
    cut = data.draw(st.integers(-1, 31))
    one.evict(time=cut)
    bulk.bulk_evict(cut)
    model.evict_up_to(cut)
    for s in (one, bulk):
        s.check(model.values())
        assert s.query() == recalculate(Concat(), model.values())


@pytest.mark.parametrize("arity", [2, 3, 4])
def test_every_bulk_eviction(arity):
    n = 90
    for cut in range(-1, n + 1):
        s = of_arity(arity, Concat())
        letters = [chr(97 + i % 26) for i in range(n)]
        for i, letter in enumerate(letters):
            s.insert(letter, time=i)
        s.bulk_evict(cut)
        rest = letters[cut + 1 :]
        s.check(rest)
        s.insert("!", time=n)  # and it goes on
        s.check([*rest, "!"])


def test_ten_ranges_from_one_structure():
    s = sw.swag("fiba", Concat())
    sizes = [1, 2, 3, 5, 8, 13, 21, 34, 55, 100]
    text = "".join(chr(97 + i * 7 % 26) for i in range(400))
    for i, letter in enumerate(text):
        s.insert(letter)
        if len(s) > sizes[-1]:
            s.evict()
        for n in sizes:
            assert s.query(i - n + 1, i) == text[max(0, i - n + 1) : i + 1]


def test_equal_times_keep_their_order():
    s = sw.swag("fiba", Concat())
    for letter in "abcdefghijklmnopqrstuvwxyz":
        s.insert(letter, time=5)
    s.insert("<", time=4)
    s.insert(">", time=6)
    assert s.query() == "<abcdefghijklmnopqrstuvwxyz>"
    assert s.query(5, 5) == "abcdefghijklmnopqrstuvwxyz"
    s.evict()
    s.evict()
    assert s.query() == "bcdefghijklmnopqrstuvwxyz>"
    s.remove(time=5)
    assert s.query() == ">"


def test_times_of_any_ordered_type():
    noon = datetime.datetime(2024, 5, 1, 12)
    for times in (
        [noon + datetime.timedelta(minutes=7 * i % 31) for i in range(60)],
        [i * 0.37 % 5 for i in range(60)],
    ):
        s, model = sw.swag("fiba", Total()), Model()
        for i, time in enumerate(times):
            s.insert(i, time=time)
            model.insert(time, i)
            s.check(model.values())
        start, end = sorted(times)[10], sorted(times)[40]
        assert s.query(start, end) == sum(v for t, v in model.rows if start <= t <= end)
        s.evict(time=start)
        model.evict_up_to(start)
        s.check(model.values())


def test_an_argument_of_lower():
    s = sw.swag("fiba", Above())
    for i in range(50):
        s.insert(i, time=i)
    assert s.query(44) == 5
    assert s.query(10, 19, 14) == 5


def test_an_empty_range_and_an_empty_window():
    s = sw.swag("fiba", sw.sum())
    assert s.query(1, 2) is None
    s.evict(time=3)
    for time in (10, 20):
        s.insert(1, time=time)
    assert s.query(11, 19) is None


def test_state_of_another_arity_is_refused():
    s = sw.swag("fiba", sw.sum())
    for i in range(100):
        s.insert(i, time=i * 37 % 101)
    data = s.to_bytes()
    assert s.from_bytes(data).query() == s.query() == 4950
    with pytest.raises(sw.StateError, match=r"layout was .* 24 entries per node, and is .* 16 entries per node here"):
        sw.swag("fiba", sw.sum(), arity=8).from_bytes(data)


# ---- the arity
def depth(s):
    node, levels = s.root, 1
    while s.first[node] != fiba.NONE:
        node, levels = s.first[node], levels + 1
    return levels


def test_an_arity_is_that_of_all_nodes():
    for arity in (2, 4, 12, 40):
        s = sw.swag("fiba", Concat(), arity=arity)
        text = "".join(chr(97 + i % 26) for i in range(1000))
        for letter in text:
            s.insert(letter)
        s.check(list(text))
        widths = {n for node, n in enumerate(s.counts) if node not in (s.root, s.left, s.right)}
        assert arity - 1 <= min(widths) <= max(widths) < 2 * arity
        assert math.log(1001, 2 * arity) <= depth(s) <= 1 + math.log(501, arity)
        other = sw.swag(f"fiba(arity={arity})", Concat()).from_bytes(s.to_bytes())
        other.check(list(text))
    assert fiba.ARITY == 12 and len(sw.swag("fiba", Concat()).suffixes) == 24


@pytest.mark.parametrize("arity", [1, 0, -4, 1025, 2.0, "4", None, [4]])
def test_an_arity_that_cannot_be(arity):
    with pytest.raises(InvalidInput, match=r"fiba: the arity is .* integer from 2 to 1024, got .*the paper's is 4"):
        sw.swag("fiba", Total(), arity=arity)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fiba(4)", r"'fiba\(4\)' cannot be read.*'fiba\(arity=4\)'"),
        ("fiba(arity=4", "cannot be read"),
        ("fiba(arity=x)", "cannot be read"),
        ("fiba()", "cannot be read"),
        ("fiba(width=4)", "fiba takes arity, got width"),
        ("fiva(arity=4)", "there is no algorithm 'fiva'.*fiba"),
        ("fiba(arity=1)", "integer from 2"),
        ("sba(chunk=4)", r"sba: options \(range, slide, chunk\) follow from the window.*swag"),
        ("daba(arity=4)", "daba takes no options, got arity"),
    ],
)
def test_options_with_a_name_that_cannot_be(text, message):
    for call in (lambda: sw.swag(text, Total()), lambda: sw.rolling([1.0], sw.sum(), 1, algorithm=text)):
        with pytest.raises(InvalidInput, match=message):
            call()


def test_a_window_of_another_arity():
    w = sw.Window(sw.sum(), sw.rows(9), algorithm="fiba(arity=2)")
    results = [r.value for i in range(50) for r in w.push(i)]
    assert results == [sum(range(max(0, i - 8), i + 1)) for i in range(50)]
    again = sw.Window(sw.sum(), sw.rows(9), algorithm="fiba(arity=2)").from_bytes(w.to_bytes())
    assert again.push(50)[0].value == sum(range(42, 51))
    with pytest.raises(sw.StateError, match="entries per node"):
        sw.Window(sw.sum(), sw.rows(9), algorithm="fiba").from_bytes(w.to_bytes())


def test_a_range_by_name():
    for name in ("fiba", "reactive"):
        s = sw.swag(name, sw.sum())
        for time in range(10):
            s.insert(2**time, time=time)
        assert s.query(start=8) == s.query(8, None) == 2**8 + 2**9
        assert s.query(end=1) == s.query(None, 1) == 3
        assert s.query(start=3, end=4) == s.query(3, 4) == 24
        assert s.query(None, None) == s.query() == 1023
        with pytest.raises(InvalidInput, match=r"by position and by name: 1 to 2, and start=3, end=None"):
            s.query(1, 2, start=3)
        with pytest.raises(InvalidInput, match="sum takes no argument"):
            s.query(1, end=3)
    s = sw.swag("fiba", Above())
    for i in range(50):
        s.insert(i, time=i)
    assert s.query(14, start=10, end=19) == 5


# ---- costs
def spent(operation):
    Counting.calls = 0
    operation()
    return Counting.calls


def filled(n, step=1):
    s = sw.swag("fiba", Counting())
    s.bulk_insert((i * step, 1) for i in range(n))
    return s


def test_a_slide_in_order_is_constant():
    for n in (100, 1000, 10_000):
        s = sw.swag("fiba", Counting())
        for i in range(n):
            s.insert(i)
        slides, queries = 4 * n if n < 5000 else n, 0
        total = 0
        for i in range(slides):
            total += spent(lambda s=s, i=i: (s.evict(), s.insert(i)))
            queries = max(queries, spent(s.query))
        assert total / slides < 10
        assert queries <= 2


@pytest.mark.full
def test_a_late_value_costs_the_logarithm_of_its_distance():
    def average(n, d):
        s = filled(n, step=2)
        total = 0
        for k in range(300):  # the distance stays: a value at the end for every late one
            total += spent(lambda k=k: s.insert(1, time=2 * (n - d + k) - 1))
            s.insert(1, time=2 * (n + k))
        return total / 300

    per_level = 6 * fiba.ARITY
    for d in (1, 10, 100, 1000):
        for n in (5000, 40_000):  # whatever the window
            assert average(n, d) <= per_level * (1 + math.log(d, fiba.ARITY))
    assert average(40_000, 1) < average(40_000, 1000) / 3


def test_late_values_near_the_oldest_are_as_cheap():
    costs = []
    for n in (1000, 20_000):
        s = filled(n, step=1000)
        costs.append(sum(spent(lambda k=k, s=s: s.insert(1, time=3000 - k)) for k in range(200)) / 200)
    assert max(costs) < 6 * fiba.ARITY


@pytest.mark.full
def test_a_bulk_eviction_costs_the_logarithm_of_the_window():
    n = 20_000
    bound = 10 * fiba.ARITY * math.ceil(math.log(n, fiba.ARITY))
    for leaving in (1, 10, 100, 1000, 10_000, 19_000, 19_999, 20_000):
        s = filled(n)
        assert spent(lambda s=s, k=leaving: s.bulk_evict(k - 1)) <= bound
        assert len(s) == n - leaving


def test_a_range_costs_the_logarithm_of_the_window():
    r = random.Random(1)
    for n in (100, 1000, 20_000):
        s = filled(n)
        bound = 8 * fiba.ARITY * math.ceil(math.log(n, fiba.ARITY))
        for _ in range(200):
            start, end = sorted((r.randrange(n), r.randrange(n)))
            assert spent(lambda s=s, start=start, end=end: s.query(start, end)) <= bound


def test_a_bulk_insertion_is_cheaper_than_its_values():
    one, bulk = filled(10_000, step=2), filled(10_000, step=2)
    batch = [(2 * i + 1, 1) for i in range(4000, 6000)]
    singly = sum(spent(lambda t=t: one.insert(1, time=t)) for t, _ in batch)
    assert spent(lambda: bulk.bulk_insert(batch)) < singly / 4
    assert one.query() == bulk.query() == 12_000


def spread(n, d, m):
    """m times between those of the last d of n values, which have even ones."""
    return [2 * (n - d + k * d // m) + 1 for k in range(m)]


@pytest.mark.covering(1)
@pytest.mark.parametrize("arity", [2, 4, 12])
@pytest.mark.parametrize(("d", "m"), [(1, 1), (100, 1), (100, 10), (100, 100), (2000, 1), (2000, 50), (2000, 2000)])
@pytest.mark.parametrize("oldest", [False, True], ids=["youngest", "oldest"])
def test_a_bulk_insertion_costs_what_the_paper_says(arity, d, m, oldest):
    """O(log d + m (1 + log(d/m))) combines, whatever the window; of late values never more than one by one."""
    costs = []
    for n in (3000, 12_000):
        one, bulk = sw.swag("fiba", Counting(), arity=arity), sw.swag("fiba", Counting(), arity=arity)
        for s in (one, bulk):
            s.bulk_insert((2 * i, 1) for i in range(n))
        times = spread(n, d, m)
        if oldest:
            times = [2 * n - 2 - t for t in reversed(times)]
        singly = sum(spent(lambda t=t: one.insert(1, time=t)) for t in times)  # noqa: B023
        costs.append(spent(lambda: bulk.bulk_insert((t, 1) for t in times)))  # noqa: B023
        assert costs[-1] <= singly
        assert one.query() == bulk.query() == n + m
    levels = math.log(d + 1, arity) + m * (1 + math.log(d / m, arity))
    assert max(costs) <= 4 * arity * (1 + levels)


def test_a_bulk_insertion_in_order_costs_a_combine_per_value():
    for m in (1, 3, 100, 10_000):
        s = filled(1000)
        assert spent(lambda s=s, m=m: s.bulk_insert((1000 + i, 1) for i in range(m))) <= 2 * m + 6 * fiba.ARITY
    s = filled(2)
    assert spent(lambda: s.bulk_insert([(2, 1)])) == 1


def test_fewer_than_two_partials_per_value():
    for n in [*range(2, 200), 1000, 10_000]:
        s = sw.swag("fiba", Total())
        for i in range(n):
            s.insert(i)
        assert s.partials() < 2 * n
        for i in range(min(n, 300)):
            s.evict()
            s.insert(i)
            if n < 200:
                assert s.partials() < 2 * n
        assert s.partials() < 2 * n


# ---- what is refused, and what is let go
def test_values_that_have_left_are_let_go():
    class Value:
        def __init__(self, n):
            self.n = n

    class First(sw.Aggregation):
        @staticmethod
        def combine(a, b):
            return a

    for leave in ("evict", "bulk_evict", "remove"):
        s, held = sw.swag("fiba", First()), []
        for i in range(200):
            value = Value(i)
            held.append(weakref.ref(value))
            s.insert(value, time=i)
        del value
        if leave == "evict":
            for _ in range(150):
                s.evict()
        elif leave == "bulk_evict":
            s.bulk_evict(149)
        else:
            for i in range(150):
                s.remove(time=i)
        gc.collect()
        assert [r().n for r in held if r() is not None] == list(range(150, 200))


def test_with_times_or_without():
    s = sw.swag("fiba", Total())
    s.insert(1)
    with pytest.raises(InvalidInput, match="have no times and this one has one"):
        s.insert(2, time=3)
    with pytest.raises(InvalidInput, match="have no times"):
        s.bulk_insert([(3, 2)])
    s.evict()
    s.insert(2, time=3)  # an empty window takes either
    with pytest.raises(InvalidInput, match="have times and this one has none"):
        s.insert(1)
    s.check([2])


def test_times_without_an_order():
    s = sw.swag("fiba", Total())
    with pytest.raises(InvalidInput, match="not equal to itself"):
        s.insert(1, time=math.nan)
    s.insert(1, time=1)
    for operation in (
        lambda: s.insert(2, time="noon"),
        lambda: s.insert(2, time=math.nan),
        lambda: s.evict(time="noon"),
        lambda: s.remove(time="noon"),
        lambda: s.query("noon", 3),
        lambda: s.bulk_insert([(2, 2), (math.nan, 3)]),
        lambda: s.bulk_insert([(2, 2), ("noon", 3)]),
    ):
        with pytest.raises(InvalidInput, match="cannot be ordered among the times held"):
            operation()
    with pytest.raises(InvalidInput, match="must have one order"):
        sw.swag("fiba", Total()).bulk_insert([(2, 2), ("noon", 3)])
    s.check([1])


def test_what_is_not_there():
    s = sw.swag("fiba", Total())
    with pytest.raises(InvalidInput, match="empty"):
        s.evict()
    with pytest.raises(InvalidInput, match="no value of time 3 is held"):
        s.remove(time=3)
    for time in range(100):
        s.insert(1, time=2 * time)
    with pytest.raises(InvalidInput, match="no value of time 101 is held"):
        s.remove(time=101)
    with pytest.raises(InvalidInput, match="starts at 9, after its end 3"):
        s.query(9, 3)
    s.check([1] * 100)


def test_check_finds_damage():
    damages = [
        lambda s: s.aggregates.__setitem__(s.left, -1),
        lambda s: s.aggregates.__setitem__(s.root, -1),
        lambda s: s.times.__setitem__(s.root * fiba.WIDTH, -1),
        lambda s: s.parents.__setitem__(s.left, s.left),
        lambda s: s.kinds.__setitem__(s.right, fiba.INNER),
        lambda s: s.suffixes.__setitem__(1, -1),
        lambda s: setattr(s, "right", s.left),
        lambda s: setattr(s, "held", s.held + 1),
    ]
    for damage in damages:
        s = filled(200)
        s.check([1] * 200)
        damage(s)
        with pytest.raises(AssertionError):
            s.check([1] * 200)
