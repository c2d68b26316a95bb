"""percentile("x", col("q")): every row has its own fraction, over any frames and event by event."""

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples, in_full, quick

import slidewise as sw
from slidewise.columns import holistic
from slidewise.errors import InvalidInput

RNG = np.random.default_rng(11)
COUNT = 90
TABLE = pa.table(
    {
        "key": RNG.choice(["a", "b"], COUNT),
        "at": RNG.permutation(COUNT) // 2,
        "id": np.arange(COUNT),
        "x": pa.array(RNG.integers(0, 9, COUNT).astype(float), mask=RNG.random(COUNT) < 0.2),
        "word": pa.array(RNG.choice(["to", "be", "or", None], COUNT).tolist()),
        "q": pa.array(RNG.choice([0.0, 0.1, 0.25, 0.5, 0.9, 1.0], COUNT), mask=RNG.random(COUNT) < 0.1),
        "flag": RNG.random(COUNT) < 0.7,
        "back": -RNG.integers(0, 9, COUNT),
        "ahead": RNG.integers(-4, 9, COUNT),
        "km": np.cumsum(RNG.integers(-2, 4, COUNT)),
    }
)
CALL = {"partition_by": "key", "order_by": ["at", "id"]}
ASKED = {
    "p": sw.percentile("x", sw.col("q")),
    "disc": sw.percentile_disc("word", sw.col("q")),
    "paper": sw.percentile("x", sw.col("q"), method="paper"),
    "some": sw.percentile_disc("x", sw.col("q"), where="flag"),
}


def quantile(values, q, rule):
    """From the definitions, over plain lists."""
    values = sorted(values)
    if q is None or not values:
        return None
    if rule == "disc":
        return values[max(0, math.ceil(q * len(values)) - 1)]
    rank = q * (len(values) - 1)
    low, high, rest = values[math.floor(rank)], values[math.ceil(rank)], rank % 1
    return float((low + high) / 2 if rule == "paper" and rest else low * (1 - rest) + high * rest)


def expected(name, rows, frame):
    column = "word" if name == "disc" else "x"
    rule = {"disc": "disc", "some": "disc", "paper": "paper"}.get(name, "continuous")
    out = []
    for i, row in enumerate(rows):
        inside = [rows[j] for j in frame(i) if rows[j][column] is not None and (name != "some" or rows[j]["flag"])]
        out.append(quantile([r[column] for r in inside], row["q"], rule))
    return out


def by_key(table=TABLE):
    rows = sorted(table.to_pylist(), key=lambda r: (r["key"], r["at"], r["id"]))
    return [[row for row in rows if row["key"] == key] for key in ("a", "b")]


def rows_between(first, last):
    return lambda rows: lambda i: range(max(0, i + first), min(len(rows), i + last + 1))


WINDOWS = {
    "trailing": (sw.rows(5), rows_between(-4, 0)),
    "around": (sw.rows_between(-3, 2), rows_between(-3, 2)),
    "jumping": (
        sw.rows_between(sw.col("back"), sw.col("ahead")),
        lambda rows: lambda i: [j for j in range(len(rows)) if i + rows[i]["back"] <= j <= i + rows[i]["ahead"]],
    ),
    "with a hole": (
        sw.rows_between(-2, 2, exclude="current row"),
        lambda rows: lambda i: [j for j in rows_between(-2, 2)(rows)(i) if j != i],
    ),
    "running": (sw.rows_between(-sw.UNBOUNDED, 0), lambda rows: lambda i: range(i + 1)),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("algorithm", ["auto", "recalculate", *in_full("order_statistic_tree", "flat_fat")])
def test_over_columns(name, algorithm):
    window, frame = WINDOWS[name]
    if name not in ("trailing", "around", "running") and algorithm == "order_statistic_tree":
        pytest.skip("needs frames that never move back")
    made = {each: aggregation.over(window) for each, aggregation in ASKED.items()}
    out = sw.with_columns(TABLE, **CALL, algorithm=algorithm, **made)
    assert out["p"].type == pa.float64() and out["disc"].type == pa.string()
    for rows in by_key(out):
        for each in ASKED:
            assert [row[each] for row in rows] == pytest.approx(expected(each, rows, frame(rows))), each


def test_a_constant_column_is_a_constant():
    """One kernel answers both, and another one of trailing rows answers the constant."""
    table = TABLE.set_column(5, "q", pa.array([0.3] * COUNT))
    for window, _ in WINDOWS.values():
        made = {"mine": sw.percentile("x", sw.col("q")).over(window), "plain": sw.percentile("x", 0.3).over(window)}
        out = sw.with_columns(table, **CALL, **made)
        assert out["mine"].equals(out["plain"])


@pytest.mark.parametrize("window", [sw.rows(5), sw.time(6), sw.rows_between(-2, 2), sw.delta("km", 3)], ids=repr)
@pytest.mark.parametrize("late", ["error", *in_full("revise")])
def test_event_by_event(window, late):
    if late == "revise" and window.size_kind == "delta":
        pytest.skip("delta takes no late rows")
    made = {name: aggregation.over(window) for name, aggregation in ASKED.items()}
    out = sw.with_columns(TABLE, partition_by="key", order_by="at", **made)
    w = sw.Window(ASKED, window, partition_by="key", late=late)
    rows = sorted(out.to_pylist(), key=lambda row: row["at"])
    results = [r for row in rows for r in w.push(row, time=row["at"])] + w.flush()
    for key in ("a", "b"):
        found = sorted((r for r in results if r.key == key), key=lambda r: r.row)
        mine = [row for row in rows if row["key"] == key]
        for name in ASKED:
            assert [r[name] for r in found] == pytest.approx([row[name] for row in mine]), name


def test_slides_at_rows():
    """Every third row asks, of its own frame."""
    window = sw.rows(5, every=3)
    out = sw.aggregate(TABLE, **CALL, window=window, **ASKED).to_pylist()
    for rows in by_key():
        found = [row for row in out if row["key"] == rows[0]["key"]]
        w = sw.Window(ASKED, window)
        events = [result for row in rows for result in w.push(row)]
        for name in ASKED:
            wanted = expected(name, rows, rows_between(-4, 0)(rows))[2::3]
            assert [row[name] for row in found] == [r[name] for r in events] == pytest.approx(wanted)


def test_state_goes_on():
    rows = by_key()[0]
    whole = sw.Window(ASKED, sw.rows_between(-2, 2))
    for row in rows[:20]:
        whole.push(row)
    later = sw.Window(ASKED, sw.rows_between(-2, 2)).from_bytes(whole.to_bytes())
    assert [later.push(row) for row in rows[20:]] + later.flush() == [
        whole.push(row) for row in rows[20:]
    ] + whole.flush()


@examples(100)
@given(st.data())
def test_kernels_agree_with_one_fraction_at_a_time(data):
    """Cursors and wavelet matrices, whichever the fractions choose."""
    n = data.draw(st.integers(1, 60))
    seed = data.draw(st.integers(0, 2**20))
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 8, n).astype(np.float64)
    values[rng.random(n) < 0.1] = np.nan
    if data.draw(st.booleans()):
        start = rng.integers(0, n, n)
        end = np.minimum(n, start + rng.integers(0, 9, n))
    else:
        end = np.arange(1, n + 1)
        start = np.maximum(end - data.draw(st.integers(1, 70)), 0)
    fractions = rng.choice([0.0, 0.2, 0.5, 0.77, 1.0], n)
    method = data.draw(st.sampled_from(holistic.METHODS[:4]))
    out, valid = holistic.quantile(values, start, end, fractions, method)
    for q in np.unique(fractions):
        which = fractions == q
        one, known = holistic.quantile(values, start, end, float(q), method)
        assert np.array_equal(valid[which], known[which])
        assert np.array_equal(out[which & valid], one[which & valid], equal_nan=True)


@pytest.mark.parametrize("far", [0, 10**9])
def test_both_kernels_of_fractions_that_differ(monkeypatch, far):
    monkeypatch.setattr(holistic, "_FAR", far)
    rng = np.random.default_rng(2)
    values, fractions = rng.integers(0, 500, 3000), rng.random(3000)
    end = np.arange(1, 3001)
    start = np.maximum(end - 700, 0)
    out, valid = holistic.quantile(values, start, end, fractions)
    assert valid.all()
    wanted = [np.quantile(values[a:b], q) for a, b, q in zip(start, end, fractions, strict=True)]
    assert out == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("wrong", "said"), [(95.0, "got 95.0. Did you mean 0.95?"), (-0.5, "got -0.5"), (math.nan, "nan")]
)
def test_fractions_out_of_range_are_named(wrong, said):
    table = pa.table({"x": [1.0, 2.0], "q": [0.5, wrong]})
    with pytest.raises(InvalidInput) as refused:
        sw.with_columns(table, r=ASKED["p"].over(sw.rows(2)))
    assert "percentile: the fraction in the column 'q' must be between 0 and 1" in str(refused.value)
    assert said in str(refused.value)
    w = sw.Window(ASKED["p"], sw.rows(2))
    assert w.push({"x": 1.0, "q": 0.5})[0].value == 1.0
    with pytest.raises(InvalidInput, match="the fraction in the column 'q'"):
        w.push({"x": 2.0, "q": wrong})
    assert w.push({"x": 3.0, "q": 1})[0].value == 3.0  # the bad row was never taken


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: sw.percentile(sw.col("q")), 'Name theirs too: percentile("x", col("q"))'),
        (lambda: sw.percentile("x", [0.5, sw.col("q")]), "must be a number between 0 and 1"),
        (lambda: sw.rolling([1.0], ASKED["p"], 2), "no column 'q' of the row: use with_columns"),
        (lambda: sw.with_columns(TABLE, r=sw.percentile("x", sw.col("p")).over(2)), "there is no column 'p'"),
        (lambda: sw.with_columns(TABLE, r=sw.percentile("x", sw.col("word")).over(2)), "'word' must be of numbers"),
        (lambda: sw.Window(ASKED["p"], sw.time(10, every=5)), "for times. Use a window per row"),
        (lambda: sw.aggregate(TABLE, order_by="at", window=sw.time(10, every=5), r=ASKED["p"]), "for times. Use"),
        (lambda: sw.Window(ASKED["p"], sw.rows(2)).push({"x": 1.0}), "the row has no column q"),
        (lambda: _filled().query(), "Say which: query(0.5)"),
    ],
)
def test_refusals(call, said):
    with pytest.raises(InvalidInput) as refused:
        call()
    assert said in str(refused.value)


@pytest.mark.parametrize("name", quick(ASKED, "p"))
def test_a_merge_sort_tree_gives_the_same(name):
    by_tree, by_default = (
        sw.with_columns(TABLE, r=ASKED[name].over(sw.rows(3), algorithm=algorithm))["r"]
        for algorithm in ("merge_sort_tree", "auto")
    )
    assert list(by_tree) == list(by_default)


def _filled():
    s = sw.swag("order_statistic_tree", ASKED["p"])
    s.insert(1.0)
    return s
