"""Lists of fractions on streams: as over all rows in a batch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SECOND, batches, expect, run, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples

import slidewise as sw

LISTS = {"c": sw.percentile("x", [0.75, 0.25]), "d": sw.percentile_disc("note", [0.0, 0.5, 1.0])}


@pytest.mark.parametrize("window", [sw.rows(4), sw.time("6s")], ids=repr)
@examples(12)
@given(batches(), st.sampled_from([0, 3]))
def test_rows(window, parts, delay):
    task = task_of({name: aggregation.over(window) for name, aggregation in LISTS.items()})
    same(run(task, parts, delay).result(), expect(task, parts, delay * SECOND))


@examples(12)
@given(batches())
def test_hopping_windows(parts):
    task, delay = task_of(LISTS, window=sw.time("6s", every="2s")), 10_000  # no row is late
    same(run(task, parts, delay).result(), expect(task, parts, delay * SECOND), by=("k", "window_end"))
