"""Sketches that are asked in their definition: the same answers everywhere, and names that every engine takes."""

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples

import slidewise as sw
from slidewise.errors import InvalidInput
from slidewise.pipeline.features import build_features

WORDS = ["to", "be", "or", "not", None]
RNG = np.random.default_rng(4)
TABLE = pa.table(
    {
        "at": np.arange(60),
        "word": pa.array(RNG.choice(WORDS, 60).tolist()),
        "i": pa.array(RNG.integers(0, 5, 60), mask=RNG.random(60) < 0.2),
        "x": pa.array(RNG.choice([0.5, -1.0, 3.0], 60), mask=RNG.random(60) < 0.2),
    }
)
WINDOW = sw.rows(4)


def frames(name, size=4):
    values = TABLE[name].to_pylist()
    return [[v for v in values[max(0, i - size + 1) : i + 1] if v is not None] for i in range(len(values))]


#: numbers have kernels of their own
FULL = pytest.mark.full


def by_columns(aggregation, table=TABLE, **options):
    return sw.with_columns(table, order_by="at", r=aggregation.over(WINDOW, **options))["r"]


def by_events(aggregation, window=WINDOW):
    w = sw.Window(aggregation, window)
    return [result.value for row in TABLE.to_pylist() for result in w.push(row)]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("word", ["to", "zebra"]),
        pytest.param("i", [3, 9], marks=FULL),
        pytest.param("i", [0.0, 1], marks=FULL),
        pytest.param("x", [0.5, -1, 7], marks=FULL),
    ],
)
def test_membership(name, asked):
    """A thousand bits for four values: what a filter finds here, is there."""
    aggregation = sw.bloom_filter(name, contains=asked)
    keys = aggregation.result_fields
    expected = [dict(zip(keys, (x in frame for x in asked), strict=True)) if frame else None for frame in frames(name)]
    assert by_columns(aggregation).to_pylist() == expected
    assert by_columns(aggregation, algorithm="recalculate").to_pylist() == expected
    assert by_events(aggregation) == expected
    one = sw.bloom_filter(name, contains=asked[0])
    assert by_columns(one).type == pa.bool_()
    assert by_columns(one).to_pylist() == by_events(one) == [e and e[keys[0]] for e in expected]


@pytest.mark.parametrize(
    ("name", "asked"), [("word", {"to": "to", "other": "zebra"}), pytest.param("i", {"three": 3}, marks=FULL)]
)
def test_counts(name, asked):
    aggregation = sw.count_min_sketch(name, counts_of=asked)
    expected = [{key: frame.count(x) for key, x in asked.items()} if frame else None for frame in frames(name)]
    assert by_columns(aggregation).to_pylist() == by_events(aggregation) == expected
    one = sw.count_min_sketch(name, counts_of=next(iter(asked.values())))
    assert by_columns(one).type == pa.int64()
    assert by_columns(one).to_pylist() == [e and next(iter(e.values())) for e in expected]


DISTRIBUTIONS = {
    "uniform": lambda r, n: r.uniform(-3, 9, n),
    "normal": lambda r, n: r.normal(10, 2, n),
    "exponential": lambda r, n: r.exponential(2.0, n),
    "lognormal": lambda r, n: r.lognormal(1.0, 2.0, n),
    "two peaks": lambda r, n: np.concatenate([r.normal(-5, 1, n // 2), r.normal(5, 1, n - n // 2)]),
    "beta": lambda r, n: r.beta(2.0, 5.0, n),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_percentiles_are_within_the_stated_rank(name):
    rows = DISTRIBUTIONS[name](np.random.default_rng(7), 4000)
    asked = {"low": 0.01, "p10": 0.1, "middle": 0.5, "p90": 0.9, "high": 0.99}
    aggregation = sw.moment_sketch("x", percentiles=asked)
    window = sw.rows(3000, every=2000)
    found = sw.aggregate(pa.table({"x": rows}), window=window, r=aggregation)["r"].to_pylist()
    assert len(found) == 2
    for frame, answers in zip((rows[:2000], rows[1000:4000]), found, strict=True):
        ordered = np.sort(frame)
        for key, q in asked.items():
            assert np.searchsorted(ordered, answers[key]) / len(frame) == pytest.approx(q, abs=0.02), key


def test_percentiles_are_the_same_everywhere():
    aggregation = sw.moment_sketch("x", order=4, percentiles=[0.25, 0.5, 0.999, 0.0, 1.0])
    assert aggregation.result_fields == ("p25", "p50", "p99_9", "p0", "p100")
    events = by_events(aggregation)
    for out in (by_columns(aggregation), by_columns(aggregation, algorithm="recalculate")):
        assert [f.type for f in out.type] == [pa.float64()] * 5
        for mine, other in zip(out.to_pylist(), events, strict=True):
            assert (mine is None) == (other is None)
            assert mine is None or mine == pytest.approx(other, rel=1e-6)
    plain = sw.swag("daba_lite", sw.moment_sketch(order=4))
    for frame, answers in zip(frames("x"), events, strict=True):
        for x in frame:
            plain.insert(x)
        assert (answers or {}).get("p25") == (pytest.approx(plain.query(0.25), rel=1e-6) if frame else None)
        assert not frame or (answers["p0"], answers["p100"]) == (min(frame), max(frame))
        plain = sw.swag("daba_lite", sw.moment_sketch(order=4))


ASKED = {
    "b": sw.bloom_filter("i", contains=[3, 4]),
    "c": sw.count_min_sketch("word", counts_of=["to"]),
    "m": sw.moment_sketch("x", order=4, percentiles=[0.5]),
}


@pytest.mark.full
def test_every_kind_of_frame():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    made = {name: aggregation.over(WINDOW) for name, aggregation in ASKED.items()}
    expected = sw.with_columns(TABLE, **made).select(list(made))
    assert sw.with_columns(polars.from_arrow(TABLE), **made).select(list(made)).to_arrow().to_pylist() == (
        expected.to_pylist()
    )
    frame = TABLE.to_pandas(types_mapper=pandas.ArrowDtype)
    found = sw.with_columns(frame, **made)
    for name in made:
        mine = [None if v is None or v is pandas.NA else v for v in found[name]]
        assert mine == expected[name].to_pylist()
    x = np.array([3.0, 5.0, 8.0])
    assert list(sw.rolling(x, sw.bloom_filter(contains={"five": 5}), sw.rows(2))) == [
        {"five": False}, {"five": True}, {"five": True}
    ]  # fmt: skip
    assert sw.rolling(x, sw.bloom_filter(contains=5), sw.rows(2)).tolist() == [False, True, True]
    series = sw.rolling(pandas.Series(x), sw.count_min_sketch(counts_of=[5]), sw.rows(2))
    assert list(series) == [{"5": 0}, {"5": 1}, {"5": 1}]


@pytest.mark.full
@pytest.mark.compiled
def test_no_rows_have_the_same_types():
    made = {name: aggregation.over(WINDOW) for name, aggregation in ASKED.items()}
    assert sw.with_columns(TABLE[:0], **made).schema == sw.with_columns(TABLE, **made).schema


@pytest.mark.parametrize("emit", ["every", "changes"])
def test_state_goes_on(emit):
    whole = sw.Window(ASKED, WINDOW, emit=emit)
    rows = TABLE.to_pylist()
    for row in rows[:30]:
        whole.push(row)
    later = sw.Window(ASKED, WINDOW, emit=emit).from_bytes(whole.to_bytes())
    assert [later.push(row) for row in rows[30:]] == [whole.push(row) for row in rows[30:]]
    with pytest.raises(sw.StateError):
        sw.Window(ASKED | {"b": sw.bloom_filter("i", contains=[3])}, WINDOW, emit=emit).from_bytes(whole.to_bytes())


@examples(30)
@given(
    st.lists(st.text("ab -_é.", max_size=3) | st.integers(-3, 3) | st.floats(-2, 2, width=16), min_size=1, max_size=4)
)
def test_names_are_legal_and_differ_or_are_refused(asked):
    try:
        names = sw.bloom_filter("x", contains=asked).result_fields
    except InvalidInput as error:
        assert "contains" in str(error)
        return
    assert len({name.casefold() for name in names}) == len(asked)
    assert all(name.replace("_", "a").isalnum() for name in names)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sw.moment_sketch("x", percentiles=[50]), "between 0 and 1, got 50. Did you mean 0.5?"),
        (lambda: sw.moment_sketch("x", percentiles=[]), "percentiles is empty"),
        (lambda: sw.moment_sketch("x", percentiles="median"), "must be a number between 0 and 1, got 'median'"),
        (lambda: sw.moment_sketch("x", percentiles={"a b": 0.5}), "letters, digits and underscores, got 'a b'"),
        (lambda: sw.bloom_filter("x", contains=["Ann", "ann"]), "'Ann' and 'ann', which not every engine tells apart"),
        (lambda: sw.bloom_filter("x", contains=[1, "1"]), "two answers would be called '1' and '1'"),
        (lambda: sw.bloom_filter("x", contains=["?"]), "'?' makes no name. Give one: contains="),
        (lambda: sw.bloom_filter("x", contains=[None]), "nulls are not in a sketch"),
        (lambda: sw.count_min_sketch("x", counts_of=[["a"]]), "single values, got ['a']"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(InvalidInput, match=re.escape(message)):
        make()


def test_features_of_a_file(tmp_path):
    given = {
        "p": {"moment_sketch": "x", "percentiles": [0.5, 0.95], "over": "1h"},
        "b": {"bloom_filter": "user", "contains": {"vip": "u-1"}, "over": "10 rows"},
        "c": {"count_min_sketch": "word", "counts_of": "to", "over": "1h"},
        "m": {"m4": ["x", "ts"], "over": "1h"},
        "q": {"percentile": "x", "fraction": {"column": "share"}, "over": "1h"},
        "n": {"naive_bayes": ["y", "a", "b"], "classes": ["f", "m"], "predict": [{"column": "a"}, 2], "over": "1h"},
        "o": {"naive_bayes": ["y", "a"], "classes": ["f", "m"], "predict": [{"column": "a"}], "over": "1h"},
    }
    features = build_features(given, None, tmp_path)
    assert {name: repr(over) for name, over in features.expressions.items()} == {
        "p": "moment_sketch('x', order=10, percentiles=[0.5, 0.95]).over(time(\"1h\"))",
        "b": "bloom_filter('user', bits=1024, hashes=4, contains={'vip': 'u-1'}).over(rows(10))",
        "c": "count_min_sketch('word', eps=0.01, confidence=0.95, seed=9001, counts_of='to').over(time(\"1h\"))",
        "m": "m4('x', 'ts').over(time(\"1h\"))",
        "q": 'percentile(\'x\', fraction=col("share")).over(time("1h"))',
        "o": "naive_bayes('y', 'a', classes=['f', 'm'], predict=[col(\"a\")]).over(time(\"1h\"))",
    }
    assert ["numbers or columns, and not both" in mistake.message for mistake in features.mistakes] == [True]
