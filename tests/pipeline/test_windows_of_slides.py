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
    ],
)
def test_windows_that_have_no_slide_of_the_usual_kind(window, same):
    pipeline = sw.Pipeline(name="spent", features={"spent": {"sum": "price"}}, keys="user", time="at", window=window)
    expected = sw.aggregate(ROWS, partition_by="user", order_by="at", window=same, spent=sw.sum("price"))
    assert pipeline.batch(ROWS).to_pydict() == expected.to_pydict()
    assert pipeline.output_time == "window_end"
