"""Generated streams are what they say: the same every time, skewed, late, with gaps, and as long as one likes."""

import subprocess
import sys
import tracemalloc
from collections import Counter
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import slidewise as sw
from slidewise import data
from slidewise.data import event_source

SOURCES = [data.machines(seed=3), data.debs2012(seed=3), data.debs2014(seed=3)]
each_source = pytest.mark.parametrize("events", SOURCES, ids=lambda s: s.name)


def microseconds(column):
    return column.cast(pa.int64()).to_numpy()


@pytest.fixture(scope="module")
def plant():
    return data.machines(seed=3).table(400_000)


@each_source
def test_the_same_rows_for_any_size_of_batches(events):
    whole = events.table(150_000)
    assert whole.schema == events.schema
    assert whole.num_rows == 150_000
    whole.validate(full=True)
    for size in (7_001, 65_536, 200_000):
        batches = list(events.batches(rows=150_000, batch_rows=size))
        assert [b.num_rows for b in batches[:-1]] == [size] * (150_000 // size)
        # NaN is not equal to itself
        assert pa.Table.from_batches(batches).to_pandas().equals(whole.to_pandas())


@each_source
def test_columns_that_may_not_be_null_are_not(events):
    rows = events.table(20_000)
    for column in events.schema:
        if not column.nullable:
            assert rows[column.name].null_count == 0, column


def test_another_seed_gives_other_rows():
    for make in (data.machines, data.debs2012, data.debs2014):
        assert not make(seed=1).table(1000).equals(make(seed=2).table(1000))


@each_source
def test_rows_come_at_the_rate(events):
    time = next(c.name for c in events.schema if pa.types.is_timestamp(c.type))
    rows = events.table(300_000)
    at = microseconds(rows[time])
    # gaps and missing rows make it a little less
    assert 0.9 < len(at) / ((at.max() - at.min()) / 1e6) / events.rows_per_second <= 1.001


@pytest.mark.full
def test_memory_stays_the_same_however_many_rows_are_read():
    def peak(rows):
        tracemalloc.start()  # sees NumPy; Arrow's own pool is asked beside it
        start = most = pa.total_allocated_bytes()
        for _ in data.machines(count=50, rate=2000).batches(rows=rows):
            most = max(most, pa.total_allocated_bytes())
        _, arrays = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return arrays + most - start

    assert peak(4_000_000) < 1.5 * peak(1_500_000)


@pytest.mark.parametrize("make", [data.machines, data.debs2012, data.debs2014])
def test_columns_that_are_chosen_have_the_same_values(make):
    whole = make(seed=3).table(70_000)
    for names in (whole.column_names[::-3], whole.column_names[2:3], whole.column_names[:2]):
        rows = make(seed=3, columns=names).table(70_000)
        assert rows.schema == pa.schema([whole.schema.field(name) for name in names])
        assert rows.to_pandas().equals(whole.select(names).to_pandas())  # NaN is not equal to itself


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["valu"], "debs2014: there is no column 'valu'. There are: id, timestamp, value, property, plug_id"),
        ("value", "debs2014: columns is a list of names, and 'value' was given"),
        ([], r"debs2014: columns is a list of names, and \[\] was given"),
        (["id", "id"], r"debs2014: columns are named once each, and \['id', 'id'\] were given"),
    ],
)
def test_columns_that_there_are_not(columns, message):
    with pytest.raises(sw.InvalidInput, match=message):
        data.debs2014(columns=columns)


@pytest.mark.parametrize("rows", [500_000, pytest.param(10_000_000, marks=pytest.mark.full)])
def test_plug_ids_are_14_with_a_slight_skew(rows):
    """The paper on PBA: the first 10 million rows have 14 ids, slightly skewed; it gives no number."""
    counts = Counter[int]()
    for batch in data.debs2014(columns=["plug_id"]).batches(rows=rows):
        counts.update(dict(zip(*(c.to_pylist() for c in batch["plug_id"].value_counts().flatten()), strict=True)))
    assert sorted(counts) == list(range(14))
    assert [k for k, _ in counts.most_common()][-1] == 13
    assert 1.7 < max(counts.values()) / min(counts.values()) < 2.3


def test_a_plug_is_one_of_its_household():
    """Plugs of a household are numbered from 0 on, so that the three ids together tell a plug from all others."""
    rows = data.debs2014(seed=1).table(20_000)
    plugs = {tuple(row.values()) for row in rows.select(["house_id", "household_id", "plug_id"]).to_pylist()}
    assert len(plugs) == 2125
    sizes = Counter((house, household) for house, household, _ in plugs)
    assert all({p for h, hh, p in plugs if (h, hh) == home} == set(range(size)) for home, size in sizes.items())
    assert {house for house, _, _ in plugs} == set(range(40))


def test_an_endless_stream_goes_on():
    batches = data.debs2014(plugs=1).batches(batch_rows=100)
    ids = [i for batch in islice(batches, 2000) for i in batch["id"].to_pylist()]
    assert ids == list(range(200_000))


def test_machines_arrive_in_order_and_are_measured_before(plant):
    ts, arrived = microseconds(plant["ts"]), microseconds(plant["arrived"])
    assert (np.diff(arrived) >= 0).all()
    assert (arrived > ts).all()
    assert len(np.unique(ts)) == len(ts)
    delay = (arrived - ts) / 1e6
    assert np.median(delay) < 0.1
    assert 0.01 < (delay > 1).mean() < 0.08
    assert 300 < delay.max() < 1300
    overtaken = np.maximum.accumulate(ts) > ts
    assert 0.05 < overtaken.mean() < 0.6


def test_no_row_is_lost_to_the_order_of_arrival():
    """Rows by arrival, up to a moment, are exactly those that were measured and have arrived by then."""
    events = data.machines(seed=5)
    rows = events.table(200_000)
    more = events.table(300_000)
    until = microseconds(rows["arrived"]).max()
    assert (microseconds(more["arrived"]) <= until).sum() == 200_000
    assert microseconds(more["ts"])[200_000:].min() < microseconds(rows["ts"]).max()  # the late ones come later


def test_machines_are_skewed_by_zipf(plant):
    counts = Counter(plant["machine"].to_pylist())
    (first, most), (_, second), *_ = counts.most_common()
    assert first == "press-001"
    assert 0.15 < most / plant.num_rows < 0.3
    assert 1.5 < most / second < 3.0
    even = Counter(data.machines(20, skew=0, seed=3).table(100_000)["machine"].to_pylist())
    assert len(even) == 20
    assert max(even.values()) < 1.5 * min(even.values())


def test_machines_have_gaps_nulls_and_nan(plant):
    steps = [
        np.diff(np.sort(microseconds(plant.filter(pc.field("machine") == name)["ts"])))
        for name, _ in Counter(plant["machine"].to_pylist()).most_common(10)
    ]
    assert sum(step.max() > 300e6 > 100 * np.median(step) for step in steps) >= 3  # minutes, where others take seconds
    temperature = plant["temperature"]
    assert 0.003 < temperature.null_count / len(temperature) < 0.007
    assert 0.0003 < pc.sum(pc.is_nan(temperature)).as_py() / len(temperature) < 0.003
    assert plant["operator"].null_count > 0
    assert set(plant["status"].unique().to_pylist()) == {"ok", "idle", "warn", "fault"}


def test_temperature_drifts_and_spikes(plant):
    """The means of stretches differ by more than chance allows, and some values are far out of their stretch."""
    rows = plant.filter((pc.field("machine") == "press-001") & pc.is_finite(pc.field("temperature"))).sort_by("ts")
    values = rows["temperature"].to_numpy()
    stretches = values[: len(values) // 1000 * 1000].reshape(-1, 1000)
    medians = np.median(stretches, axis=1)
    assert np.ptp(medians) > 4
    assert (np.abs(stretches - medians[:, None]) > 20).any()


@pytest.mark.full
@pytest.mark.compiled
def test_distinct_counts_are_worth_counting(plant):
    out = sw.with_columns(
        plant,
        partition_by="machine",
        order_by="ts",
        operators=sw.count_distinct("operator").over(sw.time("1h")),
        parts=sw.count_distinct("part").over(sw.time("5m")),
    )
    assert 4 <= pc.max(out["operators"]).as_py() <= 16
    assert 3 <= pc.max(out["parts"]).as_py() <= 17


def test_debs2012_is_100_hz_with_a_little_disorder():
    rows = data.debs2012().table(300_000)
    ts = microseconds(rows["ts"])
    step = np.diff(ts)
    assert 9_500 < np.median(step) < 10_500
    assert 0.01 < (np.maximum.accumulate(ts) > ts).mean() < 0.02
    assert step.max() > 4_000_000
    assert (np.diff(rows["index"].to_numpy()) > 0).all()
    for sensor, valve in (("bm05", "bm08"), ("bm06", "bm09"), ("bm07", "bm10")):
        on, opened = (np.flatnonzero(np.diff(rows[c].to_numpy().astype(int)) == 1) for c in (sensor, valve))
        after = opened[np.searchsorted(opened, on[:-5])] - on[:-5]
        assert (after > 0).all()
        assert after.max() < 100  # a second


def test_debs2014_has_load_and_work_of_every_plug():
    rows = data.debs2014(plugs=90, seed=2).table(300_000)
    frame = rows.to_pandas()
    plugs = frame.groupby(["house_id", "household_id", "plug_id"])
    assert plugs.ngroups == 90
    assert frame["timestamp"].is_monotonic_increasing
    assert set(frame["property"]) == {0, 1}
    work = frame[frame["property"] == 0].groupby(["house_id", "household_id", "plug_id"])["value"]
    assert work.is_monotonic_increasing.all()
    # work in kWh is the mean load in W over the time
    for _, plug in plugs:
        load = plug[plug["property"] == 1]["value"].mean()
        done = plug[plug["property"] == 0]["value"]
        hours = (plug["timestamp"].max() - plug["timestamp"].min()).total_seconds() / 3600
        assert done.max() - done.min() == pytest.approx(load * hours / 1000, rel=0.05, abs=0.002)


def test_chance_by_hash_is_even():
    drawn = event_source.hash_numbers(1, np.arange(100_000), 7)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    counts, _ = np.histogram(drawn, 20, (0, 1))
    assert (np.abs(counts - 5000) < 400).all()
    assert event_source.hash_numbers(1, 2) != event_source.hash_numbers(2, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: data.machines().table(), "has no end"),
        (lambda: data.machines().table(-1), "rows is at least 0, and -1 was given"),
        (lambda: data.machines().batches(batch_rows=0), "batch_rows is at least 1"),
        (lambda: data.machines().batches(rows=1.5), "rows is a whole number, and 1.5 is not"),
        (lambda: data.machines(0), "count is at least 1, and 0 was given"),
        (lambda: data.machines(rate=0), "above 0 and at most 1,000,000, and 0 was given"),
        (lambda: data.machines(skew=-1), "from 0 .even. to 10, and -1 was given"),
        (lambda: data.machines(seed=-1), "seed is at least 0"),
        (lambda: data.debs2014(plugs=0), "plugs is at least 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(call, message):
    with pytest.raises(sw.InvalidInput, match=message):
        call()


def test_no_rows_are_an_empty_table():
    assert data.machines().table(0).schema == data.machines().schema
    assert list(data.machines().batches(rows=0)) == []


def test_neither_spark_nor_numba_is_needed():
    code = (
        "import sys; from slidewise import data; data.machines().table(9); print({'pyspark', 'numba'} & {*sys.modules})"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"
