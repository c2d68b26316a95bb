"""Every size with every slide, against recalculation."""

from random import Random

import pytest
import window_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from support.aggregations import Listed
from support.tiers import examples
from window_streams import SIZES, SLIDES, by_key, label, numbers_of, random_rows, rows, window_of

import slidewise as sw


def collected(window, stream, **options):
    """The (label, frame) pairs of each key, in the order in which they came out."""
    w = sw.Window(Listed("v"), window, partition_by="key", **options)
    out = [result for row in stream for result in w.push(row, time=row["t"])] + w.flush()
    numbers, found = numbers_of(stream), {key: [] for key in by_key(stream)}
    for result in out:
        found[result.key].append((label(result, numbers), result.value))
    return found


def check(size, slide, stream):
    expected = {key: oracle.results(own, SIZES[size][2], SLIDES[slide][1]) for key, own in by_key(stream).items()}
    assert collected(window_of(size, slide), stream) == expected


@pytest.mark.parametrize("slide", SLIDES)
@pytest.mark.parametrize("size", SIZES)
def test_size_and_slide(size, slide):
    for seed, count in enumerate((1, 10, 40)):
        check(size, slide, random_rows(Random(seed), count))


@examples(100)
@given(size=st.sampled_from(list(SIZES)), slide=st.sampled_from(list(SLIDES)), stream=rows)
def test_any_stream(size, slide, stream):
    check(size, slide, stream)
