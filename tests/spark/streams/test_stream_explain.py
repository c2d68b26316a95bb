"""explain on streams: what is said to be kept is what is kept."""

import re

import pyarrow as pa
import pytest
from microbatches import SCHEMA, SECOND, Stream, row, task_of

import slidewise as sw
from slidewise.spark.streams.explain import explain_task

NUMBERS = pa.schema([("k", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("x", pa.float64()), ("odo", pa.int64())])


def lines_of(task):
    return {line["column"]: line for line in explain_task(task)}


def numbers(text):
    return [int(found.replace(",", "")) for found in re.findall(r"[\d,]+(?= bytes)", text)]


def state_of(task, keys=40, seconds=400):
    """The bytes of the state per key, after so many rows of each, one per second; one more row waits."""
    stream = Stream(task, 0)
    for second in range(0, seconds, 100):
        rows = [{**row(key, second + n), "k": key} for key in range(keys) for n in range(100)]
        stream.push(pa.Table.from_pylist(rows, schema=SCHEMA.set(0, NUMBERS.field("k"))))
    stream.push(task.rows.empty_table())
    return sum(map(len, stream.memory.pieces.values())) / keys


@pytest.mark.full
@pytest.mark.parametrize(
    ("over", "options", "further", "after"),
    [
        ({"peak": sw.max("x").over(sw.rows(200)), "n": sw.sum("x").over(sw.rows(5))}, {}, 0, 0),
        ({"next": sw.max("x").over(sw.rows_between(-150, 50))}, {}, 0, 0),
        ({"n": sw.max("x").over(sw.time("250s"))}, {}, 251, 0),
        ({"n": sw.max("x").over(sw.rows(200))}, {"keep": 100 * SECOND}, 0, 100),
        ({"n": sw.max("odo").over(sw.rows(100))}, {"emit": "changes"}, 0, 0),
    ],
)
def test_the_bytes_are_those_of_the_state(over, options, further, after):
    task = task_of(over, schema=NUMBERS, **options)
    text = lines_of(task)["all together"]["bytes per key"]
    assert "about" not in text
    total, *each = numbers(text)
    # What has a fixed width, and the ends of buffers: some percent, and the headers of pieces.
    said = total + (further * each[0] if further else 0) + after * each[-1]
    assert said == pytest.approx(state_of(task), rel=0.15)


def test_what_is_said_of_each_result():
    over = {
        "peak": sw.max("x").over(sw.time("1h")),
        "usual": sw.median("x").over(sw.rows(1000)),
        "last": sw.max("x").over(sw.rows(10)),
        "mean": sw.avg("x").over(sw.rows(10)),
        "around": sw.count().over(sw.range_between("-1m", "10s")),
        "next": sw.count().over(sw.rows_between(-3, 2)),
        "groups": sw.count().over(sw.groups_between(-2, 0)),
        "driven": sw.count().over(sw.delta("odo", 5)),
    }
    lines = lines_of(task_of(over))
    kept = {name: line["kept per key"] for name, line in lines.items()}
    assert kept["peak"] == "the rows of the last 1h"
    assert kept["usual"] == "999 rows"
    assert kept["around"] == "the rows of the last 1m, and those of 10s that wait"
    assert kept["next"] == "3 rows, and 2 that wait"
    assert kept["groups"] == "the rows of 2 groups"
    assert kept["driven"] == 'the rows that delta("odo", 5) still holds'
    assert "999 rows or" in kept["all together"]
    assert lines["usual"]["bytes per key"] == "23,976 bytes"  # ts, x, odo
    assert lines["peak"]["bytes per key"] == "24 bytes a row"
    assert lines["last"]["shares"] == "frames with mean; its rows with usual"
    assert lines["peak"]["emitted"] == "when the watermark has passed its time"
    assert lines["around"]["emitted"] == "when the watermark has passed its time by 10s"
    assert lines["next"]["emitted"] == "when the watermark has passed the row that is 2 after it"


def test_what_is_said_of_slides_and_options():
    hopping = explain_task(task_of({"n": sw.count()}, window=sw.time("1h", every="1m"), keep=600 * SECOND))
    [line, total] = hopping
    assert line["kept per key"] == "the rows of windows that are open, of the last 1h at most"
    assert line["emitted"] == "when the watermark has passed the end of its slide"
    assert "each row after the watermark less 10m" in total["bytes per key"]
    assert "up to 10m before the watermark" in hopping.note
    sliced = lines_of(task_of({"n": sw.count(), "mean": sw.avg("x")}, window=sw.time("1h", every="1m"), slices=True))
    assert sliced["n"]["kept per key"] == "60 slices, and those after the watermark"
    assert sliced["n"]["bytes per key"] == "1,920 bytes + 32 bytes a slice"  # when it begins, n, and two of the mean
    assert "for each further slice" in sliced["all together"]["bytes per key"]
    assert "row" not in sliced["all together"]["bytes per key"]
    picks = {"n": sw.count(), "first": sw.first("x")}
    folded = explain_task(task_of(picks, window=sw.time("1h", every="1m"), slices=True))
    assert "folded before the exchange" in folded.note
    marked = explain_task(task_of(picks, window=sw.time("1h", every="1m"), slices=True, late_row=SCHEMA))
    assert "folded after the exchange: late rows are emitted whole" in marked.note
    by_time = lines_of(task_of({"n": sw.count()}, window=sw.rows(100, every="1m")))
    assert by_time["n"]["kept per key"] == "99 rows, and those since the last boundary"
    at_once = lines_of(task_of({"n": sw.count().over(sw.rows(3))}, emit="arrival"))
    assert at_once["n"]["emitted"] == "with its own micro-batch"
    assert "watermark" not in at_once["all together"]["bytes per key"]
    changes = explain_task(task_of({"n": sw.max("note").over(sw.rows(3))}, emit="changes", forget_after=60 * SECOND))
    assert "forgotten after 1m" in changes.note
    assert "is not emitted" in changes.note
    assert next(iter(changes))["bytes per key"] == "about 56 bytes"
    assert "taken as 20 bytes" in changes.note
    assert "nothing has run" in " ".join(str(changes).split())
