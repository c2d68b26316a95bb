"""ewm_avg on streams: as over all rows in a batch, with rows late and in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from microbatches import SECOND, batches, expect, run, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples

import slidewise as sw

FADED = {"times": sw.ewm_avg("odo", "ts", half_life="3s"), "numbers": sw.ewm_avg("odo", "seq", half_life=2)}


@pytest.mark.parametrize("window", [sw.rows(4), sw.time("6s")], ids=repr)
@examples(12)
@given(batches(), st.sampled_from([0, 3]))
def test_rows(window, parts, delay):
    task = task_of({name: aggregation.over(window) for name, aggregation in FADED.items()})
    same(run(task, parts, delay).result(), expect(task, parts, delay * SECOND))


@examples(12)
@given(batches(), st.sampled_from([0, 3]))
def test_slides_at_rows(parts, delay):
    task = task_of(FADED, window=sw.rows(5, every=3), order_by=["ts", "seq"])
    same(run(task, parts, delay).result(), expect(task, parts, delay * SECOND))


@examples(12)
@given(batches())
def test_hopping_windows(parts):
    task, delay = task_of(FADED, window=sw.time("6s", every="2s")), 10_000  # no row is late
    same(run(task, parts, delay).result(), expect(task, parts, delay * SECOND), by=("k", "window_end"))
