"""For random operations, results are those of recalculation, and what is drawn is what the invariants say.

What cells must hold is worked out from the window and the pointers alone, with a combine that shows every operand.
"""

from collections import Counter
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.aggregations import Concat
from support.tiers import examples

import slidewise as sw
from slidewise.registry import algorithm as registered
from slidewise.registry import missing
from slidewise.registry.algorithms import ALGORITHMS
from slidewise.tracing.picture import Strip, Tree, shorten
from slidewise.tracing.views import VIEWS, any_state, find_view

OPTIONS = {
    "flat_fat": {"capacity": 16},
    "b_int": {"capacity": 16},
    "sba": {"range": 6, "slide": 2, "chunk": 2},
    "pba": {"range": 6, "slide": 2, "chunk": 2},
}
AGGREGATIONS = [Concat(), sw.max(), sw.sum(), sw.median(), sw.count_distinct(), sw.mode(), sw.moment_sketch()]


def aggregation_for(name):
    return next(a for a in AGGREGATIONS if not missing(registered(name), a))


def recalculate(aggregation, window):
    """The result over a plain list."""
    s = sw.swag("recalculate", aggregation)
    for value in window:
        s.insert(value)
    return s.query()


@st.composite
def operations(draw, most=16, queries=True):
    """Inserts of letters, evictions and queries, of a window of at most so many values."""
    found, held = [], 0
    for k in range(draw(st.integers(1, 45))):
        kind = draw(st.sampled_from(["insert", "insert", "evict"] + ["query"] * queries))
        if kind == "insert" and held < most:
            found.append(("insert", "abcdefghijklmnopqrstuvwxyz"[k % 26]))
            held += 1
        elif kind == "evict" and held:
            found.append(("evict",))
            held -= 1
        elif queries:
            found.append(("query",))
    return found or [("insert", "a")]


def follow(done):
    """The window after each operation, as a list."""
    window = []
    for name, *arguments in done:
        if name == "insert":
            window = [*window, *arguments]
        elif name == "evict":
            window = window[1:]
        yield window


def part(step, k):
    """A part of the picture, a strip or a tree."""
    return step.picture.parts[k]


def cells(step):
    """The partials that are drawn, by their keys."""
    return {cell.key: cell.value for cell in step.picture.cells() if cell.key is not None}


def changes(step):
    """The keys of what is marked as changed."""
    return {cell.key for cell in step.picture.cells() if cell.changed}


def product(window, start, stop):
    return "".join(window[start:stop])


# ---- every algorithm
@pytest.mark.parametrize("name", [entry.name for entry in ALGORITHMS])
def test_every_algorithm_is_traced(name):
    aggregation = aggregation_for(name)
    numbers = not isinstance(aggregation, Concat)
    values = range(1, 7) if numbers else "abcdef"
    done = [*(("insert", v) for v in values), "query", "evict", "evict", ("insert", values[0]), ("insert", values[1])]
    t = sw.trace(name, aggregation, [*done, "query"], **OPTIONS.get(name, {}))
    assert [str(step.operation) for step in t] == [f"insert {v!r}" for v in values] + [
        "query", "evict", "evict", f"insert {values[0]!r}", f"insert {values[1]!r}", "query",
    ]  # fmt: skip
    window = [*values, values[0], values[1]][2:]
    assert list(t[-1].window) == window
    assert t[-1].result == recalculate(aggregation, window)
    assert str(t) and t.svg() and t._repr_html_()
    assert any(cell.changed for cell in t[0].picture.cells())


def test_views_are_those_of_algorithms():
    names = {entry.name for entry in ALGORITHMS}
    assert {name for name in names if find_view(name) is not any_state.VIEW} == set(VIEWS) <= names
    assert len(VIEWS) >= 18


@pytest.mark.parametrize("name", [e.name for e in ALGORITHMS if e.name not in ("sba", "pba")])
@given(data=st.data())
@examples(30)
def test_results_are_those_of_recalculation(name, data):
    aggregation = aggregation_for(name)
    done = data.draw(operations())
    if not isinstance(aggregation, Concat):
        done = [(name, *(ord(v) % 7 for v in values)) for name, *values in done]
    oracle = {
        "Concat": lambda w: "".join(w) or None,
        "max": lambda w: max(w, default=None),
        "sum": lambda w: sum(w) if w else None,
        "median": lambda w: (sorted(w)[(len(w) - 1) // 2] + sorted(w)[len(w) // 2]) / 2 if w else None,
        "count_distinct": lambda w: len(set(w)),
        "mode": lambda w: min(w, key=lambda v: (-w.count(v), v)) if w else None,
    }.get(aggregation.name, lambda w: recalculate(aggregation, w))
    for step, window in zip(sw.trace(name, aggregation, done, **OPTIONS.get(name, {})), follow(done), strict=True):
        assert list(step.window) == window
        if step.operation.name == "query":
            assert step.result == oracle(window)


@pytest.mark.parametrize("name", ["recalculate", "two_stacks", "two_stacks_lite", "daba", "daba_lite", "flat_fit",
                                  "flat_fat", "reactive", "b_int"])  # fmt: skip
@given(done=operations())
@examples(30)
def test_all_partials_that_are_held_are_drawn(name, done):
    """As many as partials() counts, and as many calls as an aggregation that counts them sees."""

    class Counting(Concat):
        calls = 0

        @staticmethod
        def combine(a, b):
            Counting.calls += 1
            return a + b

    s = sw.swag(name, Counting(), **OPTIONS.get(name, {}))
    for step in sw.trace(name, Concat(), done, **OPTIONS.get(name, {})):
        before = Counting.calls
        getattr(s, step.operation.name)(*step.operation.arguments)
        assert step.combines == Counting.calls - before
        held = [v for key, v in cells(step).items() if v is not None and key[0] not in ("skip", "window")]
        assert len(held) == s.partials()
        for call in step.calls:
            assert call.result == call.older + call.newer


# ---- queues
@given(done=operations())
@examples(60)
def test_two_stacks(done):
    for step, window in zip(sw.trace("two_stacks", Concat(), done), follow(done), strict=True):
        f, b, e = (step.pointers[p] for p in "FBE")
        assert e - f == len(window)
        expected = {}
        for i in range(f, e):
            expected["val", i] = window[i - f]
            expected["agg", i] = product(window, i - f, b - f) if i < b else product(window, b - f, i + 1 - f)
        assert cells(step) == expected


@given(done=operations())
@examples(60)
def test_two_stacks_lite(done):
    for step, window in zip(sw.trace("two_stacks_lite", Concat(), done), follow(done), strict=True):
        f, b, e = (step.pointers[p] for p in "FBE")
        expected = {("queue", i): product(window, i - f, b - f if i < b else i + 1 - f) for i in range(f, e)}
        assert cells(step) == expected | {"aggB": product(window, b - f, e - f) or None}


@given(done=operations())
@examples(60)
def test_daba(done):
    for step, window in zip(sw.trace("daba", Concat(), done), follow(done), strict=True):
        f, l, r, a, b, e = (step.pointers[p] for p in "FLRABE")
        expected = {}
        for i in range(f, e):
            if i < l or a <= i < b:
                start, stop = i, b
            elif i < r:
                start, stop = i, r
            else:
                start, stop = (r if i < a else b), i + 1
            expected["val", i] = window[i - f]
            expected["agg", i] = product(window, start - f, stop - f)
        assert cells(step) == expected


@given(done=operations())
@examples(60)
def test_daba_lite(done):
    for step, window in zip(sw.trace("daba_lite", Concat(), done), follow(done), strict=True):
        f, l, r, a, b, e = (step.pointers[p] for p in "FLRABE")
        expected = {}
        for i in range(f, e):
            stop = b if i < l or a <= i < b else r if i < r else i + 1
            expected["queue", i] = product(window, i - f, stop - f)
        middle, back = (product(window, r - f, b - f) if l != r else None), product(window, b - f, e - f) or None
        assert cells(step) == {**expected, "aggRA": middle, "aggB": back}


@given(done=operations())
@examples(60)
def test_monoid_fifo(done):
    before = None
    for step, window in zip(sw.trace("monoid_fifo", Concat(), done), follow(done), strict=True):
        f, s, c, b, e = (step.pointers[p] for p in "FSCBE")
        expected = {}
        for i in range(f, e):
            stop = i + 1 if s <= i < c or i >= b else b if i >= c else s
            expected["queue", i] = product(window, i - f, stop - f)
        fresh = product(window, s - f, b - f) if c > f else None
        inner = product(window, max(c, s) - f, b - f) if c > f else None
        back = product(window, b - f, e - f) or None
        assert cells(step) == {**expected, "fresh": fresh, "inner": inner, "back": back}
        if step.operation.name != "query":
            other = step.operation.name == "insert" and before is not None  # the combine with what stands at the back
            assert step.cases.count("step") == step.combines - other <= 1
        before = back


@given(done=operations())
@examples(60)
def test_flat_fit(done):
    for step, window in zip(sw.trace("flat_fit", Concat(), done), follow(done), strict=True):
        f = step.pointers["F"]
        drawn = cells(step)
        for i in range(f, f + len(window)):
            assert drawn["queue", i] == product(window, i - f, drawn["skip", i] - f)
        strip = part(step, 0)
        assert set(strip.jumps) == {
            (i - f, drawn["skip", i] - f) for i in range(f, step.pointers["E"]) if drawn["skip", i] > i + 1
        }


@given(done=operations(queries=False))
@examples(60)
def test_slick_deque(done):
    done = [(name, *(ord(v) % 9 for v in values)) for name, *values in done]
    for step, window in zip(sw.trace("slick_deque", sw.max(), done), follow(done), strict=True):
        front = step.pointers["front"]
        kept = [k for k in range(len(window)) if all(window[j] < window[k] for j in range(k + 1, len(window)))]
        deque = part(step, 1)
        assert [cell.value for cell in deque.rows[0].cells] == [front + k for k in kept]
        assert [cell.value for cell in deque.rows[1].cells] == [window[k] for k in kept]
        assert [cell.value for cell in part(step, 0).rows[0].cells] == window


@given(done=operations(queries=False))
@examples(30)
def test_slick_deque_parts(done):
    done = [(name, *(1 + ord(v) % 9 for v in values)) for name, *values in done]
    for step, window in zip(sw.trace("slick_deque_parts", sw.moment_sketch(order=2), done), follow(done), strict=True):
        front, n = step.pointers["F"], range(len(window))
        lows = [front + k for k in n if all(window[j] >= window[k] for j in n[k + 1 :])]
        highs = [front + k for k in n if all(window[j] <= window[k] for j in n[k + 1 :])]
        for deque, kept in ((part(step, 1), lows), (part(step, 2), highs)):
            assert [cell.value for cell in deque.rows[0].cells] == kept
            assert [cell.value[1] for cell in deque.rows[1].cells] == [window[i - front] for i in kept]


@given(done=operations())
@examples(30)
def test_subtract_on_evict(done):
    done = [(name, *map(ord, values)) for name, *values in done]
    for step, window in zip(sw.trace("subtract_on_evict", sw.sum(), done), follow(done), strict=True):
        front = step.pointers["F"]
        expected = {("queue", front + k): v for k, v in enumerate(window)}
        assert cells(step) == expected | {"total": sum(window) if window else None}
        if step.operation.name == "evict" and window:
            assert (step.combines, step.inverses) == (0, 1)


# ---- trees
def nodes(node):
    yield node
    for child in node.children:
        if child is not None:
            yield from nodes(child)


@pytest.mark.parametrize("name", ["flat_fat", "reactive", "b_int"])
@given(done=operations())
@examples(40)
def test_binary_trees(name, done):
    for step, window in zip(sw.trace(name, Concat(), done, **OPTIONS.get(name, {})), follow(done), strict=True):
        found = list(nodes(part(step, 0).root))
        slots = [n for n in found if not n.children]
        capacity, f = len(slots), step.pointers["F"]
        expected = [None] * capacity
        for k, value in enumerate(window):
            expected[(f + k) % capacity] = value
        assert [n.rows[0][0].value for n in slots] == expected
        ends = {k: slots[k].name for k in range(capacity) if slots[k].name}
        if window:
            first, last = f % capacity, (f + len(window) - 1) % capacity
            assert ends == ({first: "F B"} if first == last else {first: "F", last: "B"})
        for node in found:
            if node.children and node.rows[0][0].tone == "front":
                below = [child.rows[0][0].value for child in node.children]
                whole = None not in below or name != "b_int"
                assert node.rows[0][0].value == ("".join(filter(None, below)) or None if whole else None)


@given(st.lists(st.tuples(st.sampled_from("iiiiie"), st.integers(0, 60)), min_size=60, max_size=150))
@examples(15)
def test_fiba(steps):
    done, held = [], 0
    for k, (kind, time) in enumerate(steps):
        if kind == "i" or not held:
            done.append(("insert", chr(97 + k % 26), time))
            held += 1
        else:
            done.append(("evict",))
            held -= 1
    for step in sw.trace("fiba", Concat(), [*done, "query"]):
        entries = []

        def walk(node, entries=entries):
            *rows, _ = node.rows
            inside = list(zip(*rows, strict=True)) if rows else []
            for k, child in enumerate(node.children or [None] * (len(inside) + 1)):
                if child is not None:
                    walk(child, entries)
                if k < len(inside):
                    entries.append((inside[k][0].value, inside[k][1].value))

        root = part(step, 0).root
        walk(root)
        assert [v for _, v in entries] == list(step.window)
        assert [t for t, _ in entries] == sorted(t for t, _ in entries)
        fingers = {n.name: n.rows[-1][0].value for n in nodes(root) if n.name}
        ends = [fingers.get("left finger"), root.rows[-1][0].value, fingers.get("right finger")]
        if root.children:
            assert "".join(filter(None, ends)) == "".join(step.window)
        else:
            assert fingers == {"left and right finger": "".join(step.window) or None}
    assert step.result == ("".join(step.window) or None)


# ---- chunks
@pytest.mark.parametrize("name", ["sba", "pba"])
@pytest.mark.parametrize("size, slide, chunk", [(6, 2, 2), (10, 2, 5), (7, 3, 2), (5, 1, 3), (4, 4, 1)])
def test_chunks(name, size, slide, chunk):
    letters = [chr(97 + k % 26) for k in range(60)]
    done, held = [], 0
    for letter in letters:
        done.append(("insert", letter))
        held += 1
        if held == size:
            done.append(("query",))
            done += [("evict",)] * slide
            held -= slide
    for step, window in zip(
        sw.trace(name, Concat(), done, range=size, slide=slide, chunk=chunk), follow(done), strict=True
    ):
        evicted, inserted = step.pointers["evicted"], step.pointers["inserted"]
        assert letters[evicted:inserted] == window
        newest = inserted // slide // chunk * chunk
        expected = {}
        for i in range(-(-evicted // slide), -(-inserted // slide)):
            stop = (i // chunk + 1) * chunk if i < newest else i + 1
            expected["slice", i] = "".join(letters[i * slide : min(stop * slide, inserted)])
        drawn = cells(step)
        assert {key: drawn[key] for key in expected} == expected
        if step.operation.name == "query":
            assert step.result == "".join(window)
            assert drawn["running"] == ("".join(letters[newest * slide : inserted // slide * slide]) or None)


# ---- holistic
@given(st.lists(st.integers(0, 6), min_size=1, max_size=30))
@examples(40)
def test_holistic_structures(numbers):
    done = []
    for k, number in enumerate(numbers):
        done.append(("insert", number))
        if k >= 5:
            done.append(("evict",))
        done.append(("query",))
    windows = list(follow(done))
    for step, window in zip(sw.trace("order_statistic_tree", sw.median(), done), windows, strict=True):
        in_order = []

        def walk(node, in_order=in_order):
            left, right = node.children or (None, None)
            if left:
                walk(left, in_order)
            in_order.append(node.rows[0][0].value)
            if right:
                walk(right, in_order)
            assert node.rows[1][0].value == len(list(nodes(node)))

        walk(part(step, 1).root)
        assert in_order == sorted(window)
    for step, window in zip(sw.trace("incremental_count_distinct", sw.count_distinct(), done), windows, strict=True):
        drawn = cells(step)
        counts = {key[1]: n for key, n in drawn.items() if key[0] == "count"}
        assert {k: n for k, n in counts.items() if n} == Counter(window)
        assert drawn["live"] == len(set(window))
    for step, window in zip(sw.trace("incremental_mode", sw.mode(), done), windows, strict=True):
        slots = [n.rows[0][0].value for n in nodes(part(step, 1).root) if not n.children]
        assert Counter(dict(filter(None, slots))) == Counter(window)
        best = max(Counter(window).items(), key=lambda pair: (pair[1], -pair[0]))
        assert part(step, 1).root.rows[0][0].value == best
    for step, window in zip(sw.trace("incremental_quantile", sw.median(), done), windows, strict=True):
        if step.operation.name == "query":
            index = [cell.value for cell in part(step, 1).rows[1].cells]
            assert sorted(index) == sorted(window)
            for pointer in part(step, 1).pointers:
                assert index[pointer.column] == sorted(window)[pointer.column]


# ---- times
def test_values_out_of_order():
    t = sw.trace("fiba", sw.max(), "insert 5 at 10, insert 9 at 30, insert 7 at 20, query 10 to 20, evict to 20, query")
    assert [step.window for step in t] == [(5,), (5, 9), (5, 7, 9), (5, 7, 9), (9,), (9,)]
    assert [step.result for step in t] == [None, None, None, 7, None, 9]


def test_entries_of_fiba_are_told_apart():
    """Values of one time, which an eviction and a split move to other places: nothing but the new one is marked."""
    same = ("insert", 5, 1)
    t = sw.trace("fiba", sw.max(), [*[same] * 22, "evict", *[same] * 3])
    for step in t:
        assert len([key for key in changes(step) if key[0] == "value"]) == (step.operation.name == "insert")
    assert [step.cases for step in t if step.cases] == [("split", "a level more")]


def test_times_of_queues():
    t = sw.trace("daba_lite", sw.sum(), "insert 5 at 1, insert 9 at 3, insert 7 at 4, evict to 3, query")
    assert t[-1].window == (7,)
    assert t[-1].result == 7


def test_the_youngest_values():
    t = sw.trace("b_int", Concat(), "insert 'a' 'b' 'c' 'd', query_last 3, query_last 8, query", capacity=8)
    assert [step.result for step in t[4:]] == ["bcd", "abcd", "abcd"]
    assert "query_last 3 = bcd" in str(t)


def test_values_that_leave_from_the_middle():
    t = sw.trace("reactive", sw.sum(), "insert 5 at 1, insert 9 at 3, insert 7 at 4, remove 3, query, query 2 to 9")
    assert [step.window for step in t[3:]] == [(5, 7)] * 3
    assert [step.result for step in t[4:]] == [12, 7]


# ---- an algorithm that has no view of its own
@pytest.mark.parametrize("name", ["daba_lite", "flat_fit", "fiba", "slick_deque", "b_int"])
def test_the_fields_of_a_state(name, monkeypatch):
    monkeypatch.setattr("slidewise.tracing.traced_run.find_view", lambda name: any_state.VIEW)
    t = sw.trace(name, sw.max(), "insert 5 3 4, evict, query", **OPTIONS.get(name, {}))
    assert t[-1].result == 4
    assert "window" in str(t)
    assert [cell.value for cell in part(t[-1], 0).rows[0].cells] == [3, 4]
    assert t.svg()


# ---- marks, and long windows
def test_a_step_marks_what_it_changed():
    t = sw.trace("daba_lite", Concat(), "insert 'a' 'b' 'c' 'd', query")
    assert changes(t[3]) == {("queue", 0), ("queue", 3), "aggRA", "aggB"}
    assert changes(t[4]) == set()


@pytest.mark.parametrize("n", [17, 40, 120])
def test_long_windows_are_cut(n):
    t = sw.trace("daba", sw.max(), [("insert", k) for k in range(n)])
    step = t[-1]
    whole, drawn = part(step, 0), shorten(part(step, 0))
    assert isinstance(drawn, Strip)
    assert whole.columns == n
    assert drawn.columns < 30
    assert any(cell.text == "…" for cell in drawn.rows[0].cells)
    for before, after in zip(whole.pointers, drawn.pointers, strict=True):
        assert before.name == after.name
        if before.column < n:  # it points at the same element as before
            assert whole.rows[0].cells[before.column] == drawn.rows[0].cells[after.column]
        else:
            assert after.column == drawn.columns
    shown = [cell.value for cell in drawn.rows[0].cells if cell.text != "…"]
    assert shown == sorted(shown) and shown[0] == 0 and shown[-1] == n - 1
    assert max(map(len, str(t[-1:]).splitlines())) < 200


def test_wide_trees_are_folded():
    t = sw.trace("flat_fat", sw.max(), [("insert", k) for k in range(100)], capacity=128)
    tree = shorten(part(t[-1], 0))
    assert isinstance(tree, Tree)
    found = list(nodes(tree.root))
    assert len(found) < 50
    assert {n.name for n in found if n.name} == {"F", "B"}
    assert sum(cell.changed for n in found for row in n.rows for cell in row) == 8


def test_counts_add_up():
    t = sw.trace("two_stacks", sw.max(), [*(("insert", k) for k in range(9)), *(["evict"] * 9)])
    assert t.combines == sum(step.combines for step in t) == list(accumulate(s.combines for s in t))[-1] == 16
