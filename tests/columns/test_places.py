"""lag, lead, row_number, rank and its kin: over columns as SQLite has them, and event by event as over columns."""

import math
import random
import sqlite3

import numpy as np
import pyarrow as pa
import pytest
from support.tiers import in_full, share

import slidewise as sw
from slidewise.errors import InvalidInput

OFFSETS = {
    "lag(x)": sw.lag("x"),
    "lag(x, 2, -7)": sw.lag("x", 2, -7),
    "lag(x, 0)": sw.lag("x", 0),
    "lag(s, 3, 'none')": sw.lag("s", 3, "none"),
    "lead(x)": sw.lead("x"),
    "lead(s, 2, 'none')": sw.lead("s", 2, default="none"),
    "lead(x, 0, 5)": sw.lead("x", 0, 5),
}
NUMBERS = {
    "row_number()": sw.row_number(),
    "rank()": sw.rank(),
    "dense_rank()": sw.dense_rank(),
    "percent_rank()": sw.percent_rank(),
    "cume_dist()": sw.cume_dist(),
    "ntile(1)": sw.ntile(1),
    "ntile(3)": sw.ntile(3),
    "ntile(50)": sw.ntile(50),
}


def draw(seed, most=30):
    """Rows of some keys, with ties in the order, and nulls everywhere."""
    pick = random.Random(seed)
    number = pick.randrange(most)
    spread = pick.choice([1, 3, 100])
    return [
        (i, pick.choice(["a", "b", None]), pick.choice([None, *range(spread)]), pick.choice(["u", None, "v"]),
         pick.choice([None, 1, 2, 3, 4]), pick.choice([None, "p", "q", "r"]))
        for i in range(number)
    ]  # fmt: skip


def table_of(rows):
    kinds = {"i": pa.int64(), "k": pa.string(), "t": pa.int64(), "u": pa.string(), "x": pa.int64(), "s": pa.string()}
    return pa.Table.from_pylist([dict(zip(kinds, row, strict=True)) for row in rows], pa.schema(list(kinds.items())))


def by_sqlite(rows, expressions, order):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE r (i, k, t, u, x, s)")
    connection.executemany("INSERT INTO r VALUES (?, ?, ?, ?, ?, ?)", rows)
    found = connection.execute(
        f"SELECT {', '.join(f'{e} OVER (PARTITION BY k ORDER BY {order})' for e in expressions)} FROM r ORDER BY i"
    ).fetchall()
    return {e: [row[n] for row in found] for n, e in enumerate(expressions)}


@pytest.mark.parametrize("block", range(4))
def test_as_in_sqlite(block):
    for seed in range(block * share(200), (block + 1) * share(200)):
        rows = draw(seed)
        # by rows, those of equal order stand as they come; numbers by the order alone have ties
        for expressions, order, given in (
            (OFFSETS, "t, i", ["t", "i"]),
            (NUMBERS, "t, i", ["t", "i"]),
            ({e: NUMBERS[e] for e in NUMBERS if "r" in e[:12] and "row" not in e}, "t", "t"),
            ({"rank()": sw.rank(), "dense_rank()": sw.dense_rank(), "cume_dist()": sw.cume_dist()},
             "t DESC NULLS FIRST, u", [sw.desc("t", nulls="first"), "u"]),
        ):  # fmt: skip
            want = by_sqlite(rows, expressions, order)
            out = sw.with_columns(table_of(rows), dict(expressions), partition_by="k", order_by=given)
            for name in expressions:
                assert out[name].to_pylist() == want[name], (seed, name, order)


def ignoring_nulls(values, offset, default, at):
    """The n-th value before (or after, negative) that is not null, by the words of the standard."""
    side = values[:at][::-1] if offset > 0 else values[at + 1 :]
    known = [v for v in side if v is not None]
    return known[abs(offset) - 1] if len(known) >= abs(offset) else default


def test_rows_of_nulls_are_not_counted_where_they_are_ignored():
    for seed in range(share(300)):
        pick = random.Random(seed)
        values = [pick.choice([None, None, 1, 2, 3]) for _ in range(pick.randrange(12))]
        offset, default = pick.choice([1, 2, 3, -1, -2]), pick.choice([None, -1])
        data = {"x": pa.array(values, pa.int64())}
        before = sw.lag("x", offset, default, ignore_nulls=True)
        after = sw.lead("x", -offset, default, ignore_nulls=True)
        out = sw.with_columns(pa.table(data), before=before, after=after)
        want = [ignoring_nulls(values, offset, default, at) for at in range(len(values))]
        assert out["before"].to_pylist() == want == out["after"].to_pylist(), (seed, offset, default)


def test_nans_and_zeros_are_peers():
    order = np.array([0.0, math.nan, -0.0, math.nan, 1.0])
    out = sw.with_columns({"t": order}, order_by="t", r=sw.rank(), d=sw.dense_rank())
    assert out["r"].tolist() == [1, 4, 1, 4, 3] and out["d"].tolist() == [1, 3, 1, 3, 2]


@pytest.mark.parametrize(
    ("kind", "values", "default"),
    [
        (pa.date32(), [1, None, 3], 9),
        (pa.timestamp("us", "Europe/Berlin"), [1, None, 3], 9),
        (pa.decimal128(10, 2), ["1.50", None, "3.25"], "0.00"),
        (pa.list_(pa.int64()), [[1], None, [2, 3]], [7]),
        (pa.struct([("a", pa.int64())]), [{"a": 1}, None, {"a": 3}], {"a": 7}),
        (pa.bool_(), [True, None, False], True),
        (pa.binary(), [b"a", None, b"c"], b""),
        (pa.dictionary(pa.int32(), pa.string()), ["a", None, "c"], "z"),
    ],
)
def test_values_of_any_type(kind, values, default):
    if pa.types.is_decimal(kind):
        from decimal import Decimal

        values, default = [v and Decimal(v) for v in values], Decimal(default)
    column = pa.array(values, kind)
    given = column.to_pylist()
    filler = pa.array([default], kind if not pa.types.is_dictionary(kind) else pa.string()).to_pylist()[0]
    out = sw.with_columns(pa.table({"x": column}), a=sw.lag("x", 1, filler), b=sw.lead("x", 2))
    assert out["a"].to_pylist() == [filler, *given[:2]]
    assert out["b"].to_pylist() == [given[2], None, None]


def test_an_algorithm_by_name_changes_no_place():
    data = {"t": [1, 1, 2], "x": [5, 6, 7]}
    expressions = {"before": sw.lag("x", default=1), "r": sw.rank(), "n": sw.row_number(), "m": sw.max("x").over(2)}
    plain = sw.with_columns(data, expressions, order_by="t")
    for algorithm in ("recalculate", "flat_fat"):
        named = sw.with_columns(data, expressions, order_by="t", algorithm=algorithm)
        assert all(list(named[name]) == list(plain[name]) for name in expressions)


# ---- event by event
IN_PROCESS = {
    **{f"lag {k}": sw.lag("x", k, -9) for k in (0, 1, 3)},
    "last known": sw.lag("x", 1, ignore_nulls=True),
    "known before": sw.lag("x", 2, -9, ignore_nulls=True),
    "lead": sw.lead("x", 2, -9),
    "known after": sw.lead("x", ignore_nulls=True),
    "n": sw.row_number(),
    "r": sw.rank(),
    "d": sw.dense_rank(),
    "youngest but one": sw.nth_value("x", -2).over(3),
}


def push_all(window, rows, save):
    found = []
    for row in rows:
        found += window.push({"k": row["k"], "x": row["x"]}, time=row["t"])
        if save:
            window = window.from_bytes(window.to_bytes())
    return found + window.flush()


@pytest.mark.parametrize("together", [True, *in_full(False)])
@pytest.mark.parametrize("save", [True, *in_full(False)])
def test_event_by_event_as_over_columns(save, together):
    for seed in range(share(60)):
        pick = random.Random(seed)
        times = sorted(pick.randrange(pick.choice([2, 30])) for _ in range(25))
        rows = [{"k": pick.choice("ab"), "t": t, "x": pick.choice([None, 1, 2, 3])} for t in times]
        chosen = IN_PROCESS
        want = sw.with_columns(pa.Table.from_pylist(rows), chosen, partition_by="k", order_by="t").to_pylist()
        for names in [list(chosen)] if together else [[name] for name in chosen]:
            window = sw.Window({name: chosen[name] for name in names}, partition_by="k")
            found = {(r.key, r.row): r.value for r in push_all(window, rows, save)}
            assert len(found) == len(rows)
            for row in want:
                assert found[row["k"], row["n"]] == {name: row[name] for name in names}, (seed, names)


def test_disorder_and_late_rows_event_by_event():
    """With max_delay the order is that of time; with late="revise" places are corrected."""
    times = [5, 3, 4, 3, 9, 8, 9, 1]
    for late, delay in (("revise", None), ("error", 10)):
        window = sw.Window({"r": sw.rank(), "d": sw.dense_rank()}, late=late, max_delay=delay)
        results = [r for t in times for r in window.push("x", time=t)] + window.flush()
        last = {}
        for r in results:
            last[r.row] = (r.time, r.value["r"], r.value["d"])
        order = sorted(times)
        want = sorted((t, 1 + order.index(t), 1 + sorted(set(times)).index(t)) for t in times)
        assert sorted(last.values()) == want


def test_batches_of_events():
    window = sw.Window({"before": sw.lag("x", 1, 0), "r": sw.rank()}, partition_by="k")
    columns = {"k": ["a", "b", "a", "a"], "x": [1, 2, 3, 4], "t": [1, 1, 1, 2]}
    out = window.push_many(columns, time="t")
    assert out.select(["k", "before", "r"]).to_pylist() == [
        {"k": "a", "before": 0, "r": 1}, {"k": "b", "before": 0, "r": 1},
        {"k": "a", "before": 1, "r": 1}, {"k": "a", "before": 3, "r": 3},
    ]  # fmt: skip


def test_a_changed_default_or_offset_is_another_definition():
    window = sw.Window(sw.lag(default=1))
    window.push(3)
    for other in (sw.lag(default=2), sw.lag(offset=2, default=1), sw.lag()):
        with pytest.raises(sw.StateError):
            sw.Window(other).from_bytes(window.to_bytes())


# ---- the youngest but n
def test_nth_value_counts_from_the_end_too():
    for seed in range(share(200)):
        pick = random.Random(seed)
        values = [pick.choice([None, 1, 2, 3]) for _ in range(pick.randrange(1, 15))]
        n, size, ignore = -pick.randrange(1, 5), pick.randrange(1, 7), pick.random() < 0.5
        frames = [values[max(0, i + 1 - size) : i + 1] for i in range(len(values))]
        known = [[v for v in frame if v is not None or not ignore] for frame in frames]
        want = [frame[n] if len(frame) >= -n else None for frame in known]
        made = sw.nth_value("x", n, ignore_nulls=ignore)
        data = pa.table({"x": pa.array(values, pa.int64())})
        assert sw.with_columns(data, y=made.over(size))["y"].to_pylist() == want
        around = sw.nth_value("x", n).over(sw.rows_between(-2, 2, exclude="current row"))
        holes = [values[max(0, i - 2) : i] + values[i + 1 : i + 3] for i in range(len(values))]
        assert sw.with_columns(data, y=around)["y"].to_pylist() == [h[n] if len(h) >= -n else None for h in holes]
        window = sw.Window(sw.nth_value(n=n, ignore_nulls=ignore), sw.rows(size))
        assert [r.value for v in values for r in window.push(v)] == want


def test_a_structure_answers_for_younger_rows():
    s = sw.swag("daba_lite", sw.nth_value(n=-3))
    for x in range(10):
        s.insert(x)
    assert (s.query(), s.query(-1), s.query(-2)) == (7, 9, 8)
    with pytest.raises(InvalidInput, match="only the last 3 rows are kept, got -4"):
        s.query(-4)
    with pytest.raises(InvalidInput, match="only the last 3 rows are kept, got 1"):
        s.query(1)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: sw.Window(sw.percent_rank()), "percent_rank is a share of all rows of a key, and a stream does not"),
        (lambda: sw.Window({"a": sw.ntile(3)}), "ntile is a share of all rows"),
        (lambda: sw.Window(sw.rank()).push(1), "needs the time of every row"),
        (lambda: sw.with_columns({"x": [1]}, r=sw.rank()), "rank is by the order of rows. Name the columns in order"),
        (lambda: sw.with_columns({"x": [1]}, r=sw.lag("x", default="u")), "the default is a value of the column"),
        (lambda: sw.lag("x", 1.5), "lag: offset must be a whole number, got 1.5"),
        (lambda: sw.ntile(0), "ntile: n must be at least 1, got 0"),
        (lambda: sw.nth_value("x", 0), "nth_value: n must be at least 1, or at most -1"),
        (lambda: sw.with_columns({"x": [1]}, r=sw.lag("y")), "there is no column 'y'"),
        (lambda: sw.with_columns({"x": [1]}, r=sw.lag()), "does not say which column it reads. Name it: lag"),
        (
            lambda: sw.aggregate({"x": [1]}, window=sw.rows(2, every=2), a=sw.lag("x")),
            r"a=lag\('x', offset=1\) is of a row, and the results of rows\(2, every=2\) are of windows. Use sw.with_",
        ),
        (lambda: sw.Window({"a": sw.lag("x")}, sw.rows(3)), "lag.* has a frame of its own, and a window is given"),
    ],
)
def test_refusals(wrong, said):
    with pytest.raises(InvalidInput, match=said):
        wrong()
