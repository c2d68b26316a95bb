"""Session time zones: timestamps are instants, and state is of a zone only where results depend on its clocks."""

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from microbatches import SCHEMA, SECOND, Stream, batch, batches, on_time, row, run, same, task_of
from microbatches import small_pieces as small_pieces
from support.tiers import examples, in_full, quick

import slidewise as sw
from slidewise.spark.streams.stream_task import depends_on_zone, to_state_type

BERLIN, TONGA = "Europe/Berlin", "Pacific/Tongatapu"
DAY = 86_400 * SECOND


class Hours(sw.Aggregation):
    """The hours of the day, as a person would tell them."""

    @staticmethod
    def lift(x):
        return str(x.hour)

    @staticmethod
    def combine(a, b):
        return f"{a} {b}"

    @staticmethod
    def lower(p):
        return p


IN_A_ZONE = {
    "month": sw.count().over(sw.time("1mo")),
    "before": sw.collect_list("seq").over(sw.range_between("-2mo", "-1mo")),
    "night": sw.count().over(sw.punctuation(lambda row: row["ts"].hour < 6)),
    "hours": Hours("ts").over(sw.rows(3)),
}
ANYWHERE = {
    "days": sw.count().over(sw.time("30d")),
    "newest": sw.max("ts").over(sw.rows(3)),
    "marked": sw.count().over(sw.punctuation("mark")),
    "own": Hours("note").over(sw.rows(3)),
}


@pytest.mark.parametrize("name", [*IN_A_ZONE, *ANYWHERE])
def test_a_zone_is_state_only_where_results_depend_on_it(name):
    over = (IN_A_ZONE | ANYWHERE)[name]
    assert depends_on_zone(task_of({name: over})) == (name in IN_A_ZONE)
    if name == "night":
        untimed = pa.schema([field for field in SCHEMA if field.name != "ts"])
        assert not depends_on_zone(task_of({name: over}, schema=untimed, order_by=None, emit="arrival"))


def spread(parts):
    """The same rows, a day and a half for each second: months pass, and clocks change."""
    place = SCHEMA.names.index("ts")
    start = round(dt.datetime(2024, 1, 1, tzinfo=dt.UTC).timestamp() * SECOND)
    out = []
    for part in parts:
        times = [start + (t - start) * 129_600 for t in part["ts"].cast(pa.int64()).to_pylist()]
        out.append(part.set_column(place, SCHEMA.field("ts"), pa.array(times).cast(SCHEMA.field("ts").type)))
    return out


@pytest.mark.parametrize("zone", [BERLIN, *in_full(TONGA)])
@examples(15)
@given(batches(), st.sampled_from([0, 3 * DAY]))
def test_results_of_a_zone_are_those_of_a_batch_in_it(zone, parts, delay):
    parts, task = spread(parts), task_of(IN_A_ZONE, zone=zone)
    stream = run(task, parts, delay // SECOND)
    stream.flush()
    rows = on_time(parts, delay)
    place = rows.column_names.index("ts")
    local = rows.set_column(place, "ts", rows["ts"].cast(pa.timestamp("us", zone)))
    expected = batch(task, local)
    assume(len(expected))
    same(stream.result(), expected.set_column(place, SCHEMA.field("ts"), rows["ts"]))


def test_another_zone_is_refused_where_it_matters():
    month, days = {"month": IN_A_ZONE["month"]}, {"days": sw.count().over(sw.time("40d"))}
    stream = Stream(task_of(month | days, zone=BERLIN), 0)

    def push(day):
        stream.push(pa.Table.from_pylist([row("a", 86_400 * day)], schema=SCHEMA))

    push(0)
    stream.task = task_of(month | days, zone=TONGA)
    with pytest.raises(sw.StateError, match=rf"timeZone was {BERLIN}, and is {TONGA} here, .*Set it to {BERLIN}"):
        push(1)
    # Results that depend on the zone come and go, as others do.
    for day, (over, zone) in enumerate(((days, None), (month | days, TONGA), (days, None))):
        stream.task = task_of(over, zone=zone)
        push(day + 1)
    stream.flush()
    assert [n for out in stream.out for n in out["days"].to_pylist()] == [1, 2, 3, 4]


TIMES = pa.array([3, None, 1, 2, 2], pa.int64()).cast(pa.timestamp("us", "UTC"))


ALL = sorted(entry["aggregation"].split(",")[0] for entry in sw.list_aggregations())


@pytest.mark.parametrize("aggregation", quick(ALL, "avg", "collect_list", "count", "first", "max"))
def test_built_in_results_over_timestamps_are_the_same_in_every_zone(aggregation):
    make = getattr(sw, aggregation)
    found = []
    for zone in ("UTC", TONGA):
        table = pa.table({"at": TIMES.cast(pa.timestamp("us", zone)), "n": range(5)})
        try:
            columns = ("at", "n") if aggregation.endswith("_by") else ("at",)
            made = sw.with_columns(table, order_by="n", out=make(*columns).over(sw.rows(3)))["out"]
        except Exception as error:
            found.append(type(error))  # not of timestamps, or not so
        else:
            found.append(made.cast(to_state_type(made.type)).to_pylist())
    assert found[0] == found[1]
