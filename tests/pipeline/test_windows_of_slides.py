"""`window:` of a pipeline as `sw.aggregate` takes it: sessions, which have no slide, and cumulative windows."""

import datetime as dt

import pyarrow as pa
import pytest

import slidewise as sw

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
ROWS = pa.table(
    {
        "user": ["a", "a", "b", "a", "a"],
        "at": pa.array([START + dt.timedelta(minutes=m) for m in (0, 30, 45, 61, 400)], pa.timestamp("us", "UTC")),
        "price": [1, 2, 4, 8, 16],
    }
)


@pytest.mark.parametrize(
    ("window", "same"),
    [
        ({"over": {"session": "30m"}}, sw.session("30m")),
        (sw.session("30m"), sw.session("30m")),
        ({"over": "4h", "every": "1h", "cumulative": True}, sw.time("4h", every="1h", cumulative=True)),
        (sw.time("4h", every="1h", cumulative=True), sw.time("4h", every="1h", cumulative=True)),
        ({"over": "10m", "every": "1h"}, sw.time("10m", every="1h")),
        ({"over": "1d", "every": "1d", "zone": "Asia/Tokyo"}, sw.time("1d", every="1d", zone="Asia/Tokyo")),
        ({"over": "1q", "every": "1mo", "offset": "2h"}, sw.time("1q", every="1mo", offset="2h")),
    ],
)
def test_windows_that_have_no_slide_of_the_usual_kind(window, same):
    pipeline = sw.Pipeline(name="spent", features={"spent": {"sum": "price"}}, keys="user", time="at", window=window)
    expected = sw.aggregate(ROWS, partition_by="user", order_by="at", window=same, spent=sw.sum("price"))
    assert pipeline.batch(ROWS).to_pydict() == expected.to_pydict()
    assert pipeline.output_time == "window_end"


def test_places_have_a_frame_of_their_own():
    features = {
        "before": {"lag": ["price", 2], "default": 0}, "after": {"lead": "price"}, "number": {"row_number": None},
        "place": {"rank": None}, "half": {"ntile": 2}, "recent": {"sum": "price", "over": "1h"},
    }  # fmt: skip
    pipeline = sw.Pipeline(name="spent", features=features, keys="user", time="at")
    expected = sw.with_columns(
        ROWS, partition_by="user", order_by="at", before=sw.lag("price", 2, 0), after=sw.lead("price"),
        number=sw.row_number(), place=sw.rank(), half=sw.ntile(2), recent=sw.sum("price").over(sw.time("1h")),
    )  # fmt: skip
    assert pipeline.batch(ROWS).to_pydict() == expected.to_pydict()


@pytest.mark.parametrize(
    ("features", "window", "said"),
    [
        ({"a": {"lag": "price", "over": "1h"}}, None, "lag has a frame of its own, and takes no over:"),
        ({"a": {"lag": None}}, None, "lag takes the name of a column, got nothing"),
        ({"a": {"lag": "price", "sum": "price"}}, None, "'lag' and 'sum' are 2 aggregations"),
        ({"a": {"rank": None}}, {"over": "1h", "every": "1h"}, "rank is of a row, and window: gives one result per"),
        ({"a": {"lag": "price", "ofset": 2}}, None, "lag has no parameter 'ofset'"),
        ({"a": {"sum": "price"}}, {"over": "1mo", "every": "1mo", "zone": "Mars"}, "there is no time zone 'Mars'"),
        ({"a": {"sum": "price"}}, {"over": "5 rows", "every": "1d", "zone": "UTC"}, "windows by time begin on days"),
    ],
)
def test_what_places_and_zones_do_not_take(features, window, said):
    given = {} if window is None else {"window": window}
    with pytest.raises(sw.SlidewiseError, match=said):
        sw.Pipeline(name="spent", features=features, keys="user", time="at", **given)


def test_a_backfill_reads_as_far_back_as_the_longest_window():
    """Seven days of a zone may last an hour more, and a month 31 days."""
    from slidewise.pipeline.backfill import describe_reach, measure_reach

    for over, every, reach in (("7d", "1d", "8d before"), ("1mo", "1mo", "32d before")):
        window = {"over": over, "every": every, "zone": "Europe/Berlin"}
        pipeline = sw.Pipeline(name="a", features={"n": {"sum": "price"}}, keys="user", time="at", window=window)
        assert describe_reach(measure_reach(pipeline)) == reach
