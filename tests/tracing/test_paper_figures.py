"""The figures of the papers: what they draw, and what their text says of it, is what a trace shows.

The DABA paper's figures 1, 3, 5 and 7 are one trace of max_count under four algorithms, and 2, 4, 6 and 8 the same
operations for any aggregation, with letters. (A) is the empty window, (B) the state after the first operation, ...
"""

import threading

import pytest
from support.aggregations import Concat

import slidewise as sw

COUNTED = "insert 4 5 3 4 0 4 4, evict, evict, insert 2 6 5 6 1 6"
LETTERS = "insert 'a' 'b' 'c' 'd' 'e' 'f' 'g', evict, evict, insert 'h' 'i' 'j' 'k' 'l' 'm' 'n'"


def at(trace, letter):
    """Find the state that a figure calls by a letter."""
    return trace[ord(letter) - ord("B")]


def part(step, k):
    """A part of the picture, a strip or a tree."""
    return step.picture.parts[k]


def texts(step, row=0):
    return " ".join(cell.text for cell in part(step, 0).rows[row].cells)


def values(step, row=0):
    return [cell.value for cell in part(step, 0).rows[row].cells]


def beside(step):
    return {row.label: row.cells[0].value for row in part(step, 0).beside}


def sublists(step):
    """How long the sublists that are not empty are; l_F up to L."""
    return {region.name: region.stop - region.start for region in part(step, 0).regions}


# ---- section 2.3: the window, and what it gives
@pytest.mark.parametrize("algorithm", ["two_stacks", "two_stacks_lite", "daba", "daba_lite"])
def test_example_trace(algorithm):
    said = {
        "H": ([4, 5, 3, 4, 0, 4, 4], 5, 1), "I": ([5, 3, 4, 0, 4, 4], 5, 1), "J": ([3, 4, 0, 4, 4], 4, 3),
        "K": ([3, 4, 0, 4, 4, 2], 4, 3), "L": ([3, 4, 0, 4, 4, 2, 6], 6, 1),
        "O": ([3, 4, 0, 4, 4, 2, 6, 5, 6, 1], 6, 2), "P": ([3, 4, 0, 4, 4, 2, 6, 5, 6, 1, 6], 6, 3),
    }  # fmt: skip
    operations = [*sw.trace(algorithm, sw.max_count(), COUNTED)]
    for letter, (window, largest, count) in said.items():
        done = [step.operation for step in operations[: ord(letter) - ord("A")]]
        t = sw.trace(algorithm, sw.max_count(), [*((o.name, *o.arguments) for o in done), "query"])
        assert list(t[-1].window) == window
        assert t[-1].result == count
        assert max(t[-1].window) == largest


# ---- figures 1 and 2: Two-Stacks
def test_two_stacks_with_counts():
    t = sw.trace("two_stacks", sw.max_count(), COUNTED)
    o = at(t, "O")
    assert texts(o, 0) == "3×1 4×1 0×1 4×1 4×1 2×1 6×1 5×1 6×1 1×1"
    assert texts(o, 1) == "4×3 4×3 4×2 4×2 4×1 2×1 6×1 6×1 6×2 6×2"
    assert o.pointers == {"F": 2, "B": 7, "E": 12}
    assert sublists(o) == {"front": 5, "back": 5}
    p = at(t, "P")
    assert texts(p, 1) == texts(o, 1) + " 6×3"
    assert [cell.text for cell in p.picture.cells() if cell.changed] == ["6×1", "6×3"]
    assert (p.operation.name, p.combines) == ("insert", 1)


def test_two_stacks_flip():
    t = sw.trace("two_stacks", sw.max_count(), COUNTED)
    assert [step.number for step in t if "flip" in step.cases] == [8]  # from (H) to (I)
    assert at(t, "H").pointers == {"F": 0, "B": 0, "E": 7}
    assert at(t, "I").pointers == {"F": 1, "B": 7, "E": 7}
    # 7 aggregates are turned round; the youngest is its own value, which takes no call
    assert at(t, "I").combines == 6
    assert all(step.combines <= 1 for step in t if "flip" not in step.cases)


def test_two_stacks_with_letters():
    t = sw.trace("two_stacks", Concat(), LETTERS)
    last = t[-1]
    assert "".join(values(last, 0)) == "cdefghijklmn"
    assert values(last, 1) == [
        "cdefg", "defg", "efg", "fg", "g", "h", "hi", "hij", "hijk", "hijkl", "hijklm", "hijklmn"
    ]  # fmt: skip
    assert texts(last, 1).split()[-1] == "hi…n"


# ---- figures 3 and 4: Two-Stacks Lite
def test_two_stacks_lite_with_counts():
    t = sw.trace("two_stacks_lite", sw.max_count(), COUNTED)
    o = at(t, "O")
    assert texts(o) == "4×3 4×3 4×2 4×2 4×1 2×1 6×1 5×1 6×1 1×1"
    assert beside(o) == {"aggB": (2, 6)}
    assert o.pointers == {"F": 2, "B": 7, "E": 12}
    assert [step.number for step in t if "flip" in step.cases] == [8]


def test_two_stacks_lite_with_letters():
    last = sw.trace("two_stacks_lite", Concat(), LETTERS)[-1]
    assert values(last) == ["cdefg", "defg", "efg", "fg", "g", *"hijklmn"]
    assert beside(last) == {"aggB": "hijklmn"}
    assert sublists(last) == {"l_F": 5, "l_B": 7}


# ---- figures 5 to 8: DABA and DABA Lite
@pytest.mark.parametrize("algorithm", ["daba", "daba_lite"])
def test_cases_of_daba(algorithm):
    t = sw.trace(algorithm, sw.max_count(), COUNTED)
    cases = [step.cases for step in t]
    flip, shrink, shift = ("flip", "shrink"), ("shrink",), ("shift",)
    assert cases[0] == ("singleton",)
    assert cases[1:3] == [flip, shift]  # from (B) on
    assert cases[3:7] == [flip, shrink, shift, shift]  # from (D) on
    assert cases[7:13] == [flip, shrink, shrink, shift, shift, shift]  # from (H) on


@pytest.mark.parametrize("algorithm", ["daba", "daba_lite"])
def test_pointers_of_daba(algorithm):
    t = sw.trace(algorithm, sw.max_count(), COUNTED)
    assert sublists(at(t, "B")) == {"l_F": 1}
    assert at(t, "B").pointers == {"F": 0, "L": 1, "R": 1, "A": 1, "B": 1, "E": 1}
    # the flip makes l_L and l_R of size 3, the shrink in the same step leaves 2; the next step 1
    assert sublists(at(t, "I")) == {"l_F": 1, "l_L": 2, "l_R": 2, "l_A": 1}
    assert sublists(at(t, "J")) == {"l_F": 1, "l_L": 1, "l_R": 1, "l_A": 2}
    assert sublists(at(t, "K")) == {"l_F": 2, "l_A": 3, "l_B": 1}
    # R stays while it shrinks, B from one flip to the next
    assert len({at(t, letter).pointers["R"] for letter in "IJ"}) == 1
    assert len({at(t, letter).pointers["B"] for letter in "IJKLMN"}) == 1


@pytest.mark.parametrize("algorithm", ["daba", "daba_lite"])
@pytest.mark.parametrize("operations", [COUNTED, "insert 1 2 3, evict, evict, evict, insert 4 5, evict, insert 6 7 8"])
def test_sizes_of_sublists(algorithm, operations):
    """The size invariant: |l_L| + |l_R| + |l_A| + 1 = |l_F| - |l_B|, and |l_L| = |l_R|, or an empty window."""
    for step in sw.trace(algorithm, sw.max_count(), operations):
        p = step.pointers
        if not step.window:
            assert p["F"] == p["B"] == p["E"]
            continue
        assert (p["R"] - p["L"]) + (p["A"] - p["R"]) + (p["B"] - p["A"]) + 1 == (p["B"] - p["F"]) - (p["E"] - p["B"])
        assert p["R"] - p["L"] == p["A"] - p["R"]


def test_daba_inserts():
    """With 0 at the back, 4 is pushed as val=4, agg=4."""
    t = sw.trace("daba", sw.max_count(), COUNTED)
    assert texts(at(t, "F"), 1).split()[-1] == "0×1"
    assert texts(at(t, "G"), 0).split()[-1] == "4×1"
    assert texts(at(t, "G"), 1).split()[-1] == "4×1"
    lite = sw.trace("daba_lite", sw.max_count(), COUNTED)
    assert beside(at(lite, "F"))["aggB"] == (1, 0)
    assert beside(at(lite, "G"))["aggB"] == (1, 4)
    assert texts(at(lite, "G")).split()[-1] == "4×1"


def test_daba_with_letters():
    last = sw.trace("daba", Concat(), LETTERS)[-1]
    assert "".join(values(last, 0)) == "cdefghijklmn"
    assert sublists(last) == {"l_F": 3, "l_L": 2, "l_R": 2, "l_A": 3, "l_B": 2}
    assert values(last, 1) == [
        "cdefghijkl", "defghijkl", "efghijkl", "fg", "g", "h", "hi", "jkl", "kl", "l", "m", "mn"
    ]  # fmt: skip


def test_daba_lite_with_letters():
    last = sw.trace("daba_lite", Concat(), LETTERS)[-1]
    assert sublists(last) == {"l_F": 3, "l_L": 2, "l_R": 2, "l_A": 3, "l_B": 2}
    assert values(last) == ["cdefghijkl", "defghijkl", "efghijkl", "fg", "g", "h", "i", "jkl", "kl", "l", "m", "n"]
    assert beside(last) == {"aggRA": "hijkl", "aggB": "mn"}


@pytest.mark.parametrize("algorithm, insert, evict", [("daba", 4, 3), ("daba_lite", 3, 2)])
def test_costs_of_daba(algorithm, insert, evict):
    t = sw.trace(algorithm, sw.max_count(), [*(("insert", k % 7) for k in range(40)), *(["evict", "insert 3"] * 40)])
    assert max(step.combines for step in t if step.operation.name == "insert") <= insert
    assert max(step.combines for step in t if step.operation.name == "evict") <= evict


# ---- the Reactive Aggregator's trees
def leaves(step):
    """The slots, as the paper's table has them: what each holds, and F or B beside it."""
    found = []

    def walk(node):
        if node.children:
            for child in node.children:
                walk(child)
        else:
            found.append((node.rows[0][0].value, node.name))

    walk(part(step, 0).root)
    return found


def partials(step):
    """The cells of a binary tree, by the numbers of their nodes."""
    return {cell.key[1]: cell for cell in step.picture.cells()}


@pytest.mark.parametrize("algorithm, options", [("flat_fat", {"capacity": 4}), ("reactive", {})])
def test_figure_5_of_the_reactive_aggregator(algorithm, options):
    t = sw.trace(algorithm, Concat(), "insert '4' '7' '3' '2', evict, insert '9', query", **options)
    nothing = (None, "")
    assert [leaves(step) for step in t][:6] == [
        [("4", "F B"), nothing, nothing, nothing],
        [("4", "F"), ("7", "B"), nothing, nothing],
        [("4", "F"), ("7", ""), ("3", "B"), nothing],
        [("4", "F"), ("7", ""), ("3", ""), ("2", "B")],
        [nothing, ("7", "F"), ("3", ""), ("2", "B")],
        [("9", "B"), ("7", "F"), ("3", ""), ("2", "")],
    ]
    assert ["inverted" in step.cases for step in t] == [False] * 5 + [True] * 2
    assert t[-1].result == "7329"  # and not 9732, which is the order of the slots


def test_figure_3_of_the_reactive_aggregator():
    """Eight leaves: a[3] with a[4] is node b."""
    t = sw.trace("flat_fat", Concat(), "insert '1' '2' '3' '4' '5' '6' '7' '8'", capacity=8)
    held = partials(t[-1])
    assert [held[node].value for node in range(1, 8)] == ["12345678", "1234", "5678", "12", "34", "56", "78"]


def test_figure_4_of_the_reactive_aggregator():
    """a[1], a[2], a[4] and a[7] change: a, b, d above them, e and f, and the root are updated, and c is not."""
    times = [("insert", 10**k, k) for k in range(1, 9)]
    changes = [("remove", k) for k in (7, 4, 2, 1)]
    t = sw.trace("reactive", sw.sum(), [*times, "query", *changes, "query"])
    assert {node for node, cell in partials(t[-1]).items() if cell.changed} == {1, 2, 3, 4, 5, 7}
    assert t[-1].cases == ("6 nodes updated",)
    assert t[-1].result == 10**3 + 10**5 + 10**6 + 10**8


# ---- the boundary aggregator
PBA = "insert 5 4 6 3 0 0 1 0 2 3, query" + "".join(
    f", evict, evict, insert {a} {b}, query" for a, b in ((1, 2), (7, 5), (3, 4), (9, 5), (4, 8))
)


@pytest.mark.parametrize("algorithm", ["sba", "pba"])
def test_figure_2_of_pba(algorithm):
    t = sw.trace(algorithm, sw.max(), PBA, range=10, slide=2, chunk=5)
    queries = [step for step in t if step.operation.name == "query"]
    assert [step.result for step in queries] == [6, 6, 7, 7, 9, 9]
    assert [step.combines for step in queries] == [0, 1, 1, 1, 1, 0]
    before, after = t[8], t[9]
    assert values(before, 1) == [5, 6, 0, 1, 2]  # of the fifth slice, 2 and 3, the first has come
    assert values(after, 1) == [6, 6, 3, 3, 3]  # lcs0
    assert after.cases == ("boundary",)
    # max(w3) = max(lcs0[3], csa1[2])
    third = queries[3]
    assert [(call.older, call.newer) for call in third.calls] == [(3, 7)]
    assert [row.text for row in part(third, 0).rows[0].cells] == ["1 0", "2 3", "1 2", "7 5", "3 4"]
    assert [region.name for region in part(third, 0).regions] == ["chunk 0: lcs", "chunk 1"]
    assert values(queries[5], 1) == [9, 9, 9, 9, 8]  # lcs1


def test_running_aggregations_of_pba():
    t = sw.trace("pba", sw.max(), PBA, range=10, slide=2, chunk=5)
    running = [beside(step)["running"] for step in t if step.operation.name == "query"]
    assert running == [None, 2, 7, 7, 9, None]  # csa1; at a boundary, the next has not begun


def test_the_second_thread_of_pba():
    """It makes the left-cumulative pass at each boundary: of 5 slices, the first is the running partial."""
    aside = {}
    for algorithm in ("pba", "sba"):
        t = sw.trace(algorithm, sw.max(), PBA, range=10, slide=2, chunk=5)
        aside[algorithm] = {
            step.number: sum(call.aside for call in step.calls) for step in t if step.cases == ("boundary",)
        }
    assert aside == {"pba": {10: 3, 35: 3}, "sba": {10: 0, 35: 0}}
    assert "slidewise-pba" not in {thread.name for thread in threading.enumerate()}


def test_figure_3_of_pba():
    """W[16, 1] in chunks of 4: max(w1) = max(lcs0[1], ca1, ca2, ca3, csa4[0])."""
    t = sw.trace("sba", Concat(), [*(("insert", c) for c in "abcdefghijklmnop"), "evict", "insert 'q', query"],
                 range=16, slide=1, chunk=4)  # fmt: skip
    assert [call.newer for call in t[-1].calls] == ["efgh", "ijkl", "mnop", "q"]
    assert t[-1].calls[0].older == "bcd"
    assert t[-1].result == "bcdefghijklmnopq"
