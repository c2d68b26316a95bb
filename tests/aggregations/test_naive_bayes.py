"""naive_bayes: a classifier that is fed and forgets, against one that is trained from scratch on every frame."""

import math
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tiers import examples

import slidewise as sw
from slidewise.errors import InvalidInput
from slidewise.testing.laws import check_aggregation

RNG = np.random.default_rng(9)
COUNT = 60
LABELS = RNG.choice([0, 1, 2, 7], COUNT, p=[0.4, 0.3, 0.2, 0.1])
TABLE = pa.table(
    {
        "at": np.arange(COUNT),
        "number": pa.array(LABELS, mask=RNG.random(COUNT) < 0.1),
        "kind": pa.array([["cat", "dog", "cow", "bee"][min(k, 3)] for k in LABELS.tolist()]),
        "a": pa.array(RNG.normal(LABELS * 1.5, 1.0), mask=RNG.random(COUNT) < 0.1),
        "b": RNG.integers(0, 9, COUNT),
    }
)
CLASSES = {"number": {"cat": 0, "dog": 1, "cow": 2}, "kind": ["cat", "dog", "cow"]}
POINT = [1.0, 4]


def train(rows, label, classes):
    """The rows of each class that are whole."""
    columns = (label, "a", "b")
    whole = [row for row in rows if all(row[c] is not None for c in columns)]
    return [[(row["a"], row["b"]) for row in whole if row[label] == value] for value in classes]


def classify(trained, point, smoothing=1e-9):
    """Bayes' rule with the densities of normal distributions, from the definition, by two passes over the rows."""
    rows = [row for each in trained for row in each]
    if not rows:
        return None
    if point is None:
        return [len(each) / len(rows) for each in trained]
    if None in point:
        return None

    def variance(values):
        mean = math.fsum(values) / len(values)
        return mean, math.fsum((v - mean) ** 2 for v in values) / len(values)

    widest = max(variance([row[f] for row in rows])[1] for f in range(2))
    logs = []
    for each in trained:
        if not each:
            logs.append(-math.inf)
            continue
        log = math.log(len(each) / len(rows))
        for f in range(2):
            mean, spread = variance([row[f] for row in each])
            spread += smoothing * (widest or 1.0)
            log -= math.log(2 * math.pi * spread) / 2 + (point[f] - mean) ** 2 / (2 * spread)
        logs.append(log)
    odds = [math.exp(log - max(logs)) for log in logs]
    return [o / sum(odds) for o in odds]


@pytest.mark.covering(1)
@pytest.mark.parametrize("label", CLASSES)
@pytest.mark.parametrize("asked", ["share", "point", "row"])
@pytest.mark.parametrize("window", [sw.rows(12), sw.rows_between(-5, 3)], ids=repr)
def test_against_training_from_scratch(label, asked, window):
    predict = {"share": None, "point": POINT, "row": [sw.col("a"), sw.col("b")]}[asked]
    classes = CLASSES[label]
    aggregation = sw.naive_bayes(label, "a", "b", classes=classes, predict=predict)
    values = list(classes.values()) if isinstance(classes, dict) else classes
    rows = TABLE.to_pylist()
    first, last = {"rows(12)": (-11, 0)}.get(repr(window), (-5, 3))
    wanted = []
    for i, row in enumerate(rows):
        point = (row["a"], row["b"]) if asked == "row" else predict
        wanted.append(classify(train(rows[max(0, i + first) : i + last + 1], label, values), point))
    w = sw.Window(aggregation, window)
    events = [r.value for row in rows for r in w.push(row)] + [r.value for r in w.flush()]
    outs = [events]
    for algorithm in ("auto", "recalculate", "daba_lite") if label == "number" else ("auto",):
        out = sw.with_columns(TABLE, order_by="at", algorithm=algorithm, r=aggregation.over(window))
        assert [(f.name, f.type) for f in out["r"].type] == [(name, pa.float64()) for name in ("cat", "dog", "cow")]
        outs.append(out["r"].to_pylist())
    assert any(w is None for w in wanted) or asked != "row"
    for out in outs:
        for mine, other in zip(out, wanted, strict=True):
            assert (mine is None) == (other is None)
            assert mine is None or list(mine.values()) == pytest.approx(other, rel=1e-6, abs=1e-9)


ROWS = st.lists(
    st.tuples(st.sampled_from(["f", "m", "x"]), st.floats(-8, 8, width=16), st.integers(-5, 5)), min_size=1, max_size=6
)


@examples(40)
@given(ROWS)
def test_laws(rows):
    aggregation = sw.naive_bayes("y", "a", "b", classes=["f", "m"])
    assert check_aggregation(aggregation, rows).held["associativity"] > 0


def test_a_window_forgets():
    """What has left has left no trace, even a value that ruined all sums."""
    s = sw.swag("daba_lite", sw.naive_bayes("y", "a", classes=["f", "m"]))
    for row in [("f", math.inf), ("m", 1e300), ("f", 1.0), ("m", 3.0), ("f", 1.5)]:
        s.insert(row)
    assert math.isnan(s.query(2.0)["f"])
    s.evict(), s.evict()
    again = sw.swag("recalculate", sw.naive_bayes("y", "a", classes=["f", "m"]))
    for row in [("f", 1.0), ("m", 3.0), ("f", 1.5)]:
        again.insert(row)
    assert s.query(2.0) == pytest.approx(again.query(2.0))


def test_rows_of_other_classes_alone_give_null():
    table = pa.table({"y": [5, 1, 0], "a": [1.0, 2.0, 3.0]})
    aggregation = sw.naive_bayes("y", "a")
    out = sw.with_columns(table, r=aggregation.over(sw.rows(1)))["r"].to_pylist()
    assert out == [None, {"0": 0.0, "1": 1.0}, {"0": 1.0, "1": 0.0}]
    w = sw.Window(aggregation, sw.rows(1))
    assert [r.value for row in table.to_pylist() for r in w.push(row)] == out


def test_booleans_are_classes():
    table = pa.table({"late": [True, False, True], "a": [1.0, 2.0, 3.0]})
    aggregation = sw.naive_bayes("late", "a", classes={"in_time": False, "late": True})
    out = sw.with_columns(table, r=aggregation.over(sw.rows(9)))["r"].to_pylist()
    assert out[-1] == pytest.approx({"in_time": 1 / 3, "late": 2 / 3})


def test_state_goes_on():
    made = {"p": sw.naive_bayes("kind", "a", "b", classes=["cat", "dog"], predict=[sw.col("a"), sw.col("b")])}
    whole = sw.Window(made, sw.rows_between(-4, 2))
    rows = TABLE.to_pylist()
    for row in rows[:30]:
        whole.push(row)
    later = sw.Window(made, sw.rows_between(-4, 2)).from_bytes(whole.to_bytes())
    assert [later.push(row) for row in rows[30:]] == [whole.push(row) for row in rows[30:]]
    again = pickle.loads(pickle.dumps(made["p"]))
    assert again == made["p"] and repr(again) == repr(made["p"]) and again.asks == ("a", "b")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: sw.naive_bayes("y"), "'y' is the label: name the columns of the features too"),
        (lambda: sw.naive_bayes("y", "a", classes=["f"]), "two labels or more, got ['f']"),
        (lambda: sw.naive_bayes("y", "a", classes="fm"), "two labels or more, got 'fm'"),
        (lambda: sw.naive_bayes("y", "a", classes={"p": 1, "q": 1.0}), "different from each other"),
        (lambda: sw.naive_bayes("y", "a", "b", predict=[1.0]), "for each of the 2 features, got [1.0]"),
        (lambda: sw.naive_bayes("y", "a", "b", predict=[1.0, sw.col("b")]), "numbers or columns, and not both"),
        (lambda: sw.naive_bayes("y", "a", predict=["b"]), "must be numbers, got the str 'b'"),
        (lambda: sw.naive_bayes("y", "a", smoothing=0), "smoothing is a number above 0, got 0"),
        (lambda: sw.with_columns(TABLE, r=sw.naive_bayes("number", "kind").over(3)), "takes numbers"),
    ],
)
def test_refusals(make, said):
    with pytest.raises(InvalidInput) as refused:
        make()
    assert said in str(refused.value)
