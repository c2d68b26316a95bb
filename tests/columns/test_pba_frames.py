"""PBA over every kind of frame that SBA takes: its answers, and the jobs that it hands to the second thread."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.aggregations import Concat, Ends
from support.tiers import examples

import slidewise as sw
from slidewise.algorithms import pba

ROWS = 3_000


@pytest.fixture
def jobs(monkeypatch):
    """Jobs of at least 256 rows; each as the name of the thread that did it."""
    monkeypatch.setattr(pba, "JOB_ROWS", 256)
    return record_jobs(monkeypatch)


def record_jobs(monkeypatch):
    done = []
    submit = pba.Worker.submit

    def recorded(worker, function, *args):
        def job(*args):
            done.append(threading.current_thread().name)
            return function(*args)

        return submit(worker, job, *args)

    monkeypatch.setattr(pba.Worker, "submit", recorded)
    return done


def make_table(keys=1, seed=3):
    """Random times with ties, keys, and nulls in one of the columns."""
    rng = np.random.default_rng(seed)
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    times = [begin + timedelta(seconds=int(s)) for s in np.sort(rng.integers(0, 4 * ROWS, ROWS))]
    x = rng.normal(size=ROWS)
    return pa.table(
        {
            "key": rng.integers(0, keys, ROWS),
            "at": pa.array(times, pa.timestamp("us", "UTC")),
            "x": x,
            "i": rng.integers(-1000, 1000, ROWS),
            "holes": pa.array(np.where(rng.random(ROWS) < 0.2, None, x)),
        }
    )


COLUMNS = {"peak": sw.max("x"), "total": sw.sum("x"), "spread": sw.stddev("holes"), "ends": Ends("i")}
BY_KEY = {"partition_by": "key", "order_by": "at"}


def assert_same_bits(got, expected):
    assert got.schema == expected.schema
    for name in expected.column_names:
        a, b = got[name].combine_chunks(), expected[name].combine_chunks()
        assert a.is_null().equals(b.is_null()), name
        a, b = a.drop_null().to_numpy(), b.drop_null().to_numpy()
        assert a.tobytes() == b.tobytes(), name


@pytest.mark.covering(1)
@pytest.mark.parametrize("keys", [1, 7])
@pytest.mark.parametrize("window", [sw.time("10m"), sw.rows_between(-300, 5), sw.range_between("-5m", "5m")], ids=repr)
def test_with_columns_has_the_bits_of_sba(keys, window, jobs):
    table = make_table(keys)
    columns = {name: aggregation.over(window) for name, aggregation in COLUMNS.items()}
    got = sw.with_columns(table, **BY_KEY, algorithm="pba", **columns)
    assert len(jobs) >= len(COLUMNS) * 2
    assert set(jobs) == {"slidewise-pba"}
    jobs.clear()
    assert_same_bits(got, sw.with_columns(table, **BY_KEY, algorithm="sba", **columns))
    assert not jobs


@pytest.mark.covering(1)
@pytest.mark.parametrize("keys", [1, 7])
@pytest.mark.parametrize(
    "window",
    [sw.rows(100, every=7), sw.rows(50, every=50), sw.time("20m", every="7s"), sw.rows(80, every="1m")],
    ids=repr,
)
def test_slides_have_the_bits_of_sba(keys, window, jobs):
    table = make_table(keys)
    got = sw.aggregate(table, **BY_KEY, window=window, algorithm="pba", **COLUMNS)
    assert len(jobs) >= len(COLUMNS) * 2
    assert set(jobs) == {"slidewise-pba"}
    assert_same_bits(got, sw.aggregate(table, **BY_KEY, window=window, algorithm="sba", **COLUMNS))


def test_trailing_rows_of_keys(jobs):
    table = make_table(5)
    got = sw.with_columns(table, **BY_KEY, algorithm="pba", ends=Ends("i").over(sw.rows(40)))
    assert len(jobs) > 5
    assert_same_bits(got, sw.with_columns(table, **BY_KEY, algorithm="sba", ends=Ends("i").over(sw.rows(40))))


def test_keys_on_threads_have_a_second_thread_each(jobs, monkeypatch):
    from slidewise.columns import threads

    monkeypatch.setattr(threads, "CHUNK", 500)
    table = make_table(7)
    columns = {"peak": sw.max("x").over(sw.time("10m"))}
    got = sw.with_columns(table, **BY_KEY, algorithm="pba", threads=2, **columns)
    assert len(jobs) >= 4
    assert_same_bits(got, sw.with_columns(table, **BY_KEY, algorithm="sba", threads=1, **columns))


@examples(60)
@given(data=st.data())
def test_any_monotone_frames_are_those_of_plain_python(data):
    """Bounds that stand still, jump, leave gaps, and meet; chunks of few and of many rows in a job."""
    rows = data.draw(st.integers(1, 40))
    bounds = st.lists(st.integers(0, rows), min_size=1, max_size=60)
    start = np.sort(data.draw(bounds))
    end = np.sort(data.draw(st.lists(st.integers(0, rows), min_size=len(start), max_size=len(start))))
    end = np.maximum(start, end)
    x = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=rows, max_size=rows)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pba, "JOB_ROWS", data.draw(st.sampled_from((1, 5, 1000))))
        jobs = record_jobs(patch)
        got = sw.rolling(x, Ends(), sw.frames(start, end), algorithm="pba")
    expected = [Ends.lower(by_hand(x[lo:hi].tolist())) if lo < hi else None for lo, hi in zip(start, end, strict=True)]
    assert np.ma.asarray(got).tolist() == expected
    assert jobs


def by_hand(values):
    total = Ends.identity
    for value in values:
        total = Ends.combine(total, Ends.lift(value))
    return total


def test_what_is_interpreted_has_the_second_thread_too(jobs):
    words = np.array(list("abcdefghij") * 30, object)
    start, end = np.maximum(np.arange(300) - 40, 0), np.arange(300) + 1
    got = sw.rolling(words, Concat(), sw.frames(start, end), algorithm="pba")
    assert [*got] == ["".join(words[lo:hi]) for lo, hi in zip(start, end, strict=True)]
    assert set(jobs) == {"slidewise-pba"}


def test_a_failure_on_the_second_thread_reaches_the_caller(monkeypatch):
    class Fails(sw.Aggregation):
        identity = ""

        @staticmethod
        def combine(a, b):
            if threading.current_thread().name == "slidewise-pba":
                raise ArithmeticError("no sum today")
            return a + b

    with pytest.raises(ArithmeticError, match="no sum today"):
        sw.rolling(np.array(["a", "b", "c"], object), Fails(), sw.rows(2, every=2), algorithm="pba")


def test_no_frames_and_no_rows(jobs):
    none = np.zeros(0, np.int64)
    assert sw.rolling(np.zeros(0), sw.max(), sw.frames(none, none), algorithm="pba").tolist() == []
    assert sw.rolling(np.zeros(3), sw.max(), sw.frames(none, none), algorithm="pba").tolist() == []
    assert not jobs
    with pytest.raises(sw.IllegalPair, match="never move back"):
        sw.rolling(np.zeros(3), sw.max(), sw.frames([1, 0], [2, 2]), algorithm="pba")


# ---- explain
def test_explain_names_what_runs(jobs):
    table = make_table()
    columns = {"peak": sw.max("x").over(sw.time("10m"))}
    by_call = sw.explain(table, **BY_KEY, algorithm="pba", **columns)
    by_column = sw.explain({"peak": sw.max("x").over(sw.time("10m"), algorithm="pba")})
    alone = [
        sw.explain(sw.max("x").over(sw.time("10m"), algorithm="pba")),
        sw.explain(sw.max("x"), sw.time("10m"), algorithm="pba"),
        sw.explain(sw.max("x").over(sw.time("10m")), algorithm="pba"),
    ]
    assert [next(iter(t))["algorithm"] for t in (by_call, by_column)] == ["pba", "pba"]
    for explained in alone:
        assert {where: c.algorithm for where, c in explained.choices.items()} == {"columns": "pba"}
    sw.with_columns(table, **BY_KEY, algorithm="pba", **columns)
    assert jobs


def test_explain_of_an_aggregation_takes_no_options_of_a_call():
    call: dict[str, Any] = {"partition_by": "key"}
    with pytest.raises(sw.InvalidInput, match=r"late=, windows= and integers=, got partition_by='key'. Give the data"):
        sw.explain(sw.max("x"), sw.rows(9), **call)
    with pytest.raises(sw.InvalidInput, match=r"explain takes an aggregation and a window"):
        sw.explain(sw.max("x"), algorithm="pba")


@pytest.mark.parametrize(
    ("over", "why"),
    [
        (sw.max("x").over(sw.rows_between(sw.col("back"), 0), algorithm="pba"), "never move back"),
        (sw.max("x").over(sw.rows(9), algorithm="subtract_on_evict"), "invertible"),
        (sw.max("x").over(sw.rows(9), algorithm="pab"), "pba"),
    ],
)
def test_explain_refuses_what_the_call_refuses(over, why):
    for given_ in ({"m": over}, over):
        with pytest.raises((sw.IllegalPair, sw.InvalidInput), match=why):
            sw.explain(given_)
