"""A window saved and loaded in mid-stream goes on as if nothing had happened."""

import importlib
import inspect
import math
import pkgutil
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
import pytz
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.tiers import examples

import slidewise as sw
import slidewise.events
from slidewise.errors import StateError
from slidewise.events import snapshot
from slidewise.serialization import envelope


class Pair:
    """A partial that only dump and load can turn into bytes."""

    def __init__(self, low, high):
        self.low, self.high = low, high


class Span(sw.Aggregation):
    commutative = True

    @staticmethod
    def lift(x):
        return Pair(x, x)

    @staticmethod
    def combine(a, b):
        return Pair(min(a.low, b.low), max(a.high, b.high))

    @staticmethod
    def lower(s):
        return s.high - s.low

    @staticmethod
    def dump(s):
        return [s.low, s.high]

    @staticmethod
    def load(plain):
        return Pair(*plain)


def is_five(row):
    return row["v"] == 5


MANY = {"sum": sw.sum("v"), "all": sw.collect_list("v"), "span": Span("v"), "mid": sw.median("v")}
AND_SKETCH = {**MANY, "distinct": sw.approx_count_distinct("v"), "n": sw.count()}
DRIFTING = {"sd": sw.stddev("v"), "sum": sw.sum("x")}  # floats, whose sums depend on the order of additions

WINDOWS: dict[str, Any] = {
    "rows": (MANY, sw.rows(5), {}),
    "rows, floats": (DRIFTING, sw.rows(7), {}),
    "rows, two_stacks": ({"sum": sw.sum("x")}, sw.rows(6), {"algorithm": "two_stacks"}),
    "rows, b_int": ({"sum": sw.sum("x")}, sw.rows(6), {"algorithm": "b_int"}),
    "rows every 2": (AND_SKETCH, sw.rows(6, every=2), {}),
    "rows every 4, late start": (MANY, sw.rows(6, every=4, min_rows=5), {}),
    "rows every 7 s": (MANY, sw.rows(5, every=sw.time(7)), {}),
    "rows every delta": (MANY, sw.rows(5, every=sw.delta("x", 3)), {}),
    "time": (MANY, sw.time(9), {}),
    "time, half open": (MANY, sw.time(9, closed="right"), {}),
    "time every row 3": (MANY, sw.time(9, every=sw.rows(3)), {}),
    "hopping": (AND_SKETCH, sw.time(9, every=4), {}),
    "hopping, offset": (MANY, sw.time(10, every=5, offset=2), {}),
    "tumbling": (MANY, sw.time(10, every=10), {}),
    "delta": (MANY, sw.delta("x", 6), {}),
    "delta every delta": (MANY, sw.delta("x", 8, every=3), {}),
    "punctuation": (AND_SKETCH, sw.punctuation(is_five), {}),
    "punctuation every 2": (MANY, sw.punctuation(is_five, every=2), {}),
    "rows every punctuation": (MANY, sw.rows(6, every=sw.punctuation(is_five)), {}),
    "sessions": (AND_SKETCH, sw.session(3), {"partition_by": "key"}),
    "sessions, held back": (MANY, sw.session(2), {"max_delay": 4, "late": "drop", "partition_by": "key"}),
    "session so far": ({"all": sw.collect_list("v").over(sw.session(2))}, None, {"partition_by": "key"}),
    "cumulative": (AND_SKETCH, sw.time(12, every=3, cumulative=True), {"partition_by": "key"}),
    "sampled": (MANY, sw.time(3, every=7), {"partition_by": "key"}),
    "revised sampled": (MANY, sw.time(3, every=7), {"late": "revise", "keep": 20}),
    "rows between": (MANY, sw.rows_between(-3, 2), {}),
    "rows between every 3": (MANY, sw.rows_between(-3, 2, every=3), {}),
    "from the first row": (AND_SKETCH, sw.rows_between(-sw.UNBOUNDED, 0), {}),
    "to the last row": (MANY, sw.rows_between(0, sw.UNBOUNDED), {}),
    "range between": (MANY, sw.range_between(-4, 3), {}),
    "groups between": (MANY, sw.groups_between(-1, 1), {}),
    "own bounds": (MANY, sw.rows_between(sw.col("back"), 0), {}),
    "own range": (MANY, sw.range_between(sw.col("back"), 1), {}),
    "without ties": (AND_SKETCH, sw.range_between(-5, 0, exclude="ties"), {}),
    "without the row": (MANY, sw.rows_between(-3, 3, exclude="current row"), {}),
    "changes": ({"n": sw.count(), "top": sw.max("v")}, sw.rows(3), {"emit": "changes"}),
    "by key": (MANY, sw.rows(3), {"partition_by": "key"}),
    "by keys": (MANY, sw.time(9, every=4), {"partition_by": ["key", "v"]}),
    "held back": (MANY, sw.time(9), {"max_delay": 4, "late": "drop"}),
    "held back, rows": (MANY, sw.rows(4), {"max_delay": 6, "late": "drop", "partition_by": "key"}),
    "held back, hopping": (MANY, sw.time(9, every=4), {"max_delay": 3, "late": "drop", "partition_by": "key"}),
    "revised time": (AND_SKETCH, sw.time(9), {"late": "revise"}),
    "revised rows": (MANY, sw.rows(4), {"late": "revise", "keep": 12}),
    "revised rows every 3": (MANY, sw.rows(5, every=3), {"late": "revise", "partition_by": "key"}),
    "revised hopping": (MANY, sw.time(9, every=4), {"late": "revise", "max_delay": 2, "keep": 20}),
    "revised rows every 7 s": (MANY, sw.rows(5, every=sw.time(7)), {"late": "revise"}),
    "revised frame": (MANY, sw.range_between(-4, 3), {"late": "revise", "max_delay": 3}),
    "several": (
        {"m": sw.max("x").over(sw.rows(5)), "n": sw.max("x").over(sw.time(7)), "s": sw.sum("x").over(sw.rows(3)),
         "all": sw.collect_list("v").over(sw.rows_between(-2, 2)), "mid": sw.median("v").over(sw.time(9)),
         "span": Span("v").over(sw.rows(4)), "long": Span("v").over(sw.time(9)),
         "half": Span("v").over(sw.rows(6, every=2))},
        None, {"partition_by": "key"},
    ),
    "several, held back": (
        {"s": sw.sum("x").over(sw.time(5)), "a": sw.avg("x").over(sw.rows(4)), "sp": Span("v").over(sw.delta("x", 3)),
         "five": Span("v").over(sw.punctuation(is_five)), "hop": sw.sum("x").over(sw.time(8, every=4)),
         "k": Span("v").over(sw.rows(2)), "so far": Span("v").over(sw.session(2)),
         "l": Span("v").over(sw.rows(9, min_rows=3))},
        None, {"max_delay": 4, "late": "drop", "partition_by": "key", "emit": "changes"},
    ),
    "several ranges": (
        {"own": Span("v").over(sw.rows_between(sw.col("back"), 0)), "before": Span("v").over(sw.time(6, closed="left")),
         "but": sw.sum("x").over(sw.range_between(-5, 0, exclude="ties")),
         "sum": sw.sum("x").over(sw.groups_between(-1, 1))},
        None, {"algorithm": "fiba"},
    ),
    "several, base intervals": (
        {"a": Span("v").over(sw.rows_between(-4, -1)), "b": Span("v").over(sw.rows_between(-6, -2)),
         "c": Span("v").over(3)},
        None, {"algorithm": "b_int"},
    ),
    "revised groups": (MANY, sw.groups_between(-1, 1), {"late": "revise", "partition_by": "key"}),
}  # fmt: skip

ROWS = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, 1, 2, 3, 6]),  # how far time moves on
        st.sampled_from([0, 0, 0, 1, 3, 8]),  # and how late the row is
        st.sampled_from([None, 1, 2, 2.5, 5, 0.1]),
        st.integers(0, 12),
        st.sampled_from(["a", "b", math.nan]),
    ),
    min_size=1,
    max_size=30,
)


def events(rows, in_order):
    now = 0
    for step, delay, value, x, key in rows:
        now += step
        time = now if in_order else now - delay
        back = -(x % 4)
        yield {"v": value, "x": float(x), "key": key, "back": back}, time


def push(window, events):
    out = []
    for row, time in events:
        out += window.push(row, time=time)
    return out


@pytest.mark.parametrize("name", WINDOWS)
@examples(10, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_round_trip_changes_no_later_result(name, data):
    aggregations, window, options = WINDOWS[name]
    rows = list(events(data.draw(ROWS), in_order="late" not in options))
    cut = data.draw(st.integers(0, len(rows)))
    blank = sw.Window(aggregations, window, **options)
    original = sw.Window(aggregations, window, **options)
    push(original, rows[:cut])
    copy = blank.from_bytes(original.to_bytes())
    assert (copy.partials(), copy.watermark, copy.dropped) == (
        original.partials(),
        original.watermark,
        original.dropped,
    )
    assert repr(push(copy, rows[cut:])) == repr(push(original, rows[cut:]))
    assert repr(copy.flush()) == repr(original.flush())
    assert blank.partials() == 0
    with pytest.raises(sw.InvalidInput, match="was flushed"):
        original.from_bytes(original.to_bytes()).push(rows[0][0], time=rows[0][1])


def test_one_aggregation_of_values():
    w = sw.Window(sw.max(), sw.rows(3))
    for x in (5, 1, 2):
        w.push(x)
    assert [r.value for r in w.from_bytes(w.to_bytes()).push(0)] == [2]


@pytest.mark.parametrize(
    "start", [datetime(2024, 1, 31), datetime(2024, 1, 31, tzinfo=UTC), datetime(2024, 1, 31).date()]
)
def test_kinds_of_times(start):
    for window in (sw.time("3d"), sw.time("4d", every="2d"), sw.time("2mo")):
        w = sw.Window(sw.sum(), window)
        for day in range(5):
            w.push(day, time=start + timedelta(days=day))
        copy = w.from_bytes(w.to_bytes())
        with pytest.raises(sw.InvalidInput, match=r"was a .* before"):
            copy.push(1, time=5)
        later = start + timedelta(days=7)
        assert [copy.push(9, time=later), copy.flush()] == [w.push(9, time=later), w.flush()]


def test_an_advanced_window():
    w = sw.Window(sw.count(), sw.time(10, every=10))
    w.push(1, time=3)
    assert len(w.advance(10)) == 1
    copy = w.from_bytes(w.to_bytes())
    with pytest.raises(sw.LateRow):
        copy.push(1, time=9)


# ---- refusals
def base(**changes):
    arguments = {
        "aggregation": {"a": sw.max("v"), "b": sw.sum("v")},
        "window": sw.time(10),
        "partition_by": "key",
        "max_delay": 3,
        "late": "drop",
    }
    return sw.Window(**(arguments | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"window": sw.time(20)}, "window was time.10., and is time.20. here"),
        ({"aggregation": {"a": sw.max("v"), "b": sw.avg("v")}}, "aggregation of b was sum, and is avg here"),
        ({"aggregation": {"a": sw.max("v")}}, "aggregation of b was sum, and is not given here"),
        ({"aggregation": {"a": sw.max("w"), "b": sw.sum("w")}}, "columns of a was v, and is w here"),
        ({"partition_by": "other"}, "partition_by was 'key', and is 'other' here"),
        ({"max_delay": 4}, "max_delay was 3, and is 4 here"),
        ({"late": "error"}, "late was drop, and is error here"),
        ({"emit": "changes"}, "emit was every, and is changes here"),
        ({"algorithm": "two_stacks"}, "algorithm of a was daba_lite, and is two_stacks here"),
    ],
)
def test_another_definition_is_refused_with_what_differs(changes, message):
    with pytest.raises(StateError, match=message):
        base(**changes).from_bytes(base().to_bytes())


def test_another_predicate_is_refused():
    saved = sw.Window(sw.max(), sw.punctuation(lambda x: x > 5)).to_bytes()
    sw.Window(sw.max(), sw.punctuation(lambda x: x > 5)).from_bytes(saved)
    with pytest.raises(StateError, match="predicate was"):
        sw.Window(sw.max(), sw.punctuation(lambda x: x > 6)).from_bytes(saved)


def test_the_state_of_a_swag_is_refused():
    with pytest.raises(StateError, match="state of a swag, and a window cannot load it"):
        base().from_bytes(sw.swag("daba_lite", sw.max()).to_bytes())


def test_every_changed_byte_is_refused():
    w = sw.Window(sw.max(), sw.rows(2))
    w.push(1.5)
    data = w.to_bytes()
    for i in range(len(data)):
        damaged = bytearray(data)
        damaged[i] ^= 1
        with pytest.raises(StateError):
            w.from_bytes(bytes(damaged))


@pytest.mark.parametrize("payload", [None, (), (1, 2, 3, 4, 5, 6), ({}, (), None, {}, {}, (None, False))])
def test_a_forged_state_of_the_right_definition_is_refused(payload):
    with pytest.raises(StateError):
        base().from_bytes(envelope.seal("window", snapshot._describe(base()), payload))


@pytest.mark.parametrize(
    "plain", ["nothing", 7, (0, "Popen", ("ls",)), (0, "Row", (1,)), (0, "structure", (99, None, {})), None]
)
def test_forged_objects_are_refused(plain):
    class Forged:
        pass

    data = envelope.seal("window", snapshot._describe(base()), [Forged()], reduce=lambda _: plain)
    with pytest.raises(StateError):
        base().from_bytes(data)


def test_a_key_without_a_form_in_bytes_is_named():
    w = sw.Window(sw.max(), sw.rows(2))
    w.push(1, key=frozenset({Pair}))
    with pytest.raises(StateError, match=r"cannot save a value of the type builtins\.type"):
        w.to_bytes()


#: what the definition makes anew, and what is never part of a state
NOT_STATE = {
    "IdleKeys",
    "Engine",
    "Failed",
    "Frame",
    "ClockGuard",
    "Batch",  # rows of batches are given to engines before they are saved
    "ColumnState",
    "Sources",  # how far each has come is saved with the order
    "_Draft",
    "DirectRows",  # engines have what they hold before it is saved
    "DirectTime",
    "DirectHops",
    "DirectKeys",
    "Compiled",
    "CompiledKey",
    "CompiledRows",
    "CompiledTime",
    "KeyCompiler",
    "DirectByKey",
    "DirectRowsOfKeys",
    "Times",
    "Mark",
    "Measure",
    "NumberedSlots",
    "Ordering",
    "Output",
    "OneWindow",
    "PartPlan",
    "SeveralWindows",
    "SharedPlan",
    "SharedReader",
    "Stored",
    "WindowPlan",
    "RowReader",
    "Result",
}


def test_every_class_with_state_is_saved():
    names = [m.name for m in pkgutil.walk_packages(slidewise.events.__path__, "slidewise.events.")]
    modules = [importlib.import_module(name) for name in names]
    found = {
        name
        for module in modules
        for name, cls in vars(module).items()
        if inspect.isclass(cls) and cls.__module__ == module.__name__ and "__slots__" in vars(cls)
    }
    assert found - NOT_STATE == set(snapshot._CLASSES)


def test_a_class_with_other_fields_is_refused(monkeypatch):
    w = sw.Window(sw.max(), sw.rows(2))
    w.push(1.5)
    data = w.to_bytes()
    before = snapshot._list_slots
    monkeypatch.setattr(
        snapshot, "_list_slots", lambda cls: (*before(cls), "colour") if cls.__name__ == "LastRows" else before(cls)
    )
    with pytest.raises(StateError, match="whose LastRows has other fields"):
        w.from_bytes(data)


def test_a_condition_on_values_that_are_kept():
    """Structures that hold values have no condition of their own, and state finds them all the same."""
    made = {"m": sw.median("x", where="f"), "d": sw.count_distinct("x", where="f")}
    whole = sw.Window(made, sw.rows(3))
    rows = [{"x": x, "f": x % 3 > 0} for x in (5, 3, 1, 4, 2, 6)]
    for row in rows[:3]:
        whole.push(row)
    later = sw.Window(made, sw.rows(3)).from_bytes(whole.to_bytes())
    assert [later.push(row) for row in rows[3:]] == [whole.push(row) for row in rows[3:]]


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", ZoneInfo("Asia/Tokyo"), UTC, pytz.FixedOffset(90)])
@pytest.mark.parametrize("nanoseconds", [0, 7])
def test_times_of_pandas_are_saved(zone, nanoseconds):
    """Those of rows that wait, and the zone of the clock; the results after it are of the same type."""
    begin = pd.Timestamp("2026-03-29T00:30:00", tz=zone) + pd.Timedelta(nanoseconds, "ns")
    for window in (sw.time("1h"), sw.time("1h", every="10m"), sw.rows(3)):
        w = sw.Window(sw.count(), window)
        for minute in range(40):
            w.push(1.5, time=begin + pd.Timedelta(minute, "min"))
        again = w.from_bytes(w.to_bytes())
        for minute in range(40, 70):
            at = begin + pd.Timedelta(minute, "min")
            assert repr(w.push(1.5, time=at)) == repr(again.push(1.5, time=at))
        assert repr(w.flush()) == repr(again.flush())


def test_times_that_cannot_be_saved_are_named():
    class Zone(tzinfo):
        def utcoffset(self, time):
            return timedelta(hours=1)

        dst = tzname = lambda self, time: None

    w = sw.Window(sw.count(), sw.time("1h"))
    w.push(1.5, time=datetime(2026, 1, 1, tzinfo=Zone()))
    with pytest.raises(sw.StateError, match=r"cannot save .*Zone.*: times are saved where they are Python's"):
        w.to_bytes()
