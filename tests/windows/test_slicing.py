"""Slicing policies against recalculation, and their costs against what a run counts."""

import math
import random

import pytest

from slidewise.aggregations.base import Aggregation
from slidewise.algorithms.slicing import POLICIES, Slicing, compare_slicing
from slidewise.errors import InvalidInput


class Concat(Aggregation):
    identity = ""

    @staticmethod
    def combine(a, b):
        return a + b


SHAPES = [(r, s) for r in range(1, 15) for s in range(1, r + 1)]


@pytest.mark.parametrize("policy", POLICIES)
def test_results_and_counts(policy):
    text = "".join(random.Random(1).choices("abcdefgh", k=120))
    for r, s in SHAPES:
        slicing = Slicing(policy, r, s)
        results, partials, _ = slicing.run(text, Concat())
        assert results == [text[k : k + r] for k in range(0, len(text) - r + 1, s)]
        assert partials == slicing.partials
        # one slide more, without a remainder of values: the costs of exactly one slide
        windows = 4
        more = slicing.run(text[: r + s * windows], Concat()).combines
        assert more - slicing.run(text[: r + s * (windows - 1)], Concat()).combines == slicing.combines


@pytest.mark.parametrize("policy", POLICIES)
def test_edges_tile_the_stream(policy):
    for r, s in SHAPES:
        edges = Slicing(policy, r, s).edges(50)
        assert edges == sorted(set(edges))
        assert (edges[0], edges[-1]) == (0, 50)
        assert set(range(0, 50, s)) <= set(edges)  # every window starts with a slice
        if policy != "cutty":  # and ends with one
            assert {k + r for k in range(0, 50 - r, s)} <= set(edges)


def test_by_hand():
    panes, pairs, cutty = (Slicing(p, 10, 4) for p in ("panes", "pairs", "cutty"))
    assert (panes.edges(8), pairs.edges(8), cutty.edges(8)) == ([0, 2, 4, 6, 8], [0, 2, 4, 6, 8], [0, 4, 8])
    assert (panes.partials, pairs.partials, cutty.partials) == (5, 5, 3)
    panes, pairs, cutty = (Slicing(p, 10, 3) for p in ("panes", "pairs", "cutty"))
    assert (panes.edges(6), pairs.edges(6), cutty.edges(6)) == (list(range(7)), [0, 1, 3, 4, 6], [0, 3, 6])
    assert (panes.partials, pairs.partials, cutty.partials) == (10, 7, 4)


def test_cutty_keeps_the_fewest_and_pairs_no_more_than_panes():
    for r, s in SHAPES:
        panes, pairs, cutty = (Slicing(p, r, s).partials for p in ("panes", "pairs", "cutty"))
        assert cutty <= pairs <= panes
        assert panes == r // math.gcd(r, s)
        assert cutty == math.ceil(r / s)


def test_a_million_rows_by_thousands():
    assert {row["policy"]: row["partials per window"] for row in compare_slicing(1_000_000, 999)} == {
        "panes": "1000000",
        "pairs": "2003",
        "cutty": "1002",
    }


def test_nulls_are_skipped():
    class Total(Aggregation):
        identity = 0

        @staticmethod
        def combine(a, b):
            return a + b

    for policy in POLICIES:
        assert Slicing(policy, 3, 2).run([None, 1, None, None, None, 5, 2], Total()).results == [1, None, 7]


@pytest.mark.parametrize(("r", "s"), [(3, 4), (3, 0), (0, 0), (5, -1)])
def test_windows_that_leave_gaps_are_refused(r, s):
    with pytest.raises(InvalidInput, match="slide <= range"):
        Slicing("cutty", r, s)


def test_an_unknown_policy_is_refused():
    with pytest.raises(InvalidInput, match="panes, pairs, cutty"):
        Slicing("slices", 3, 2)
