"""The papers' tables come out of the registry, and what departs from them is said, and true."""

import slidewise as sw
from slidewise import aggregations
from slidewise.registry.aggregations import AGGREGATION, AGGREGATIONS
from slidewise.registry.paper_tables import reactive_table_1, reactive_table_2, tutorial_table_1

# Formulas in plain text; "T'" is the second type parameter of ArgMax and ArgMin.
REACTIVE_1 = """
Count | T | Int | Int | 1 | a+b | c
Sum | T | T | T | v | a+b | c
Max | T | T | T | v | a>b ? a : b | c
Min | T | T | T | v | a<b ? a : b | c
ArithmeticMean | T | {n:Int, Σ:T} | T | n=1, Σ=v | n=a.n+b.n, Σ=a.Σ+b.Σ | Σ/n
GeometricMean | T | {n:Int, Π:T} | T | n=1, Π=v | n=a.n+b.n, Π=a.Π*b.Π | ⁿ√Π
MaxCount | T | {n:Int, max:T} | Int | n=1, max=v | pick higher or add if equal | n
MinCount | T | {n:Int, min:T} | Int | n=1, min=v | pick lower or add if equal | n
SampleStdDev | T | {n:Int, Σ:T, sq:T} | T | n=1, Σ=v, sq=v² | a.n+b.n, a.Σ+b.Σ, a.sq+b.sq | √((sq-Σ²/n)/(n-1))
PopulationStdDev | T | {n:Int, Σ:T, sq:T} | T | n=1, Σ=v, sq=v² | a.n+b.n, a.Σ+b.Σ, a.sq+b.sq | √((sq-Σ²/n)/n)
ArgMax | {m:T, a:T'} | {max:T, arg:T'} | T' | max=v.m, arg=v.a | pick higher or first if equal | arg
ArgMin | {m:T, a:T'} | {min:T, arg:T'} | T' | min=v.m, arg=v.a | pick lower or first if equal | arg
Collect | T | List<T> | List<T> | [v] | concat(a, b) | c
"""
REACTIVE_2 = """
Count | ✓ | ✓ | ✓
Sum | ✓ | ✓ | ✓
Max | ✓ | | ✓
Min | ✓ | | ✓
ArithmeticMean | ✓ | ✓ | ✓
GeometricMean | ✓ | ✓ | ✓
MaxCount | ✓ | | ✓
MinCount | ✓ | | ✓
SampleStdDev | ✓ | ✓ | ✓
PopulationStdDev | ✓ | ✓ | ✓
ArgMax | ✓ | |
ArgMin | ✓ | |
Collect | ✓ | ✓ |
"""
TUTORIAL_1 = """
sum-like | sum, count, average, standard deviation | ✓ | ✓ | ✓ | ✓ | ✓
collect-like | collect list, concatenate strings, iᵗʰ-youngest | ✓ | ✓ | × | × | ?
median-like | median, percentile, iᵗʰ-smallest | ✓ | ✓ | ✓ | × | ?
max-like | max, min, argMax, argMin, maxCount | × | ✓ | ? | ✓ | ✓
sketch-like | Bloom filter, CountMin, HyperLogLog | × | ✓ | ✓ | ✓ | ×
"""


def rows(text):
    return [tuple(cell.strip() for cell in line.split("|")) for line in text.strip().splitlines()]


def test_reactive_aggregator_table_1():
    assert [row[:7] for row in reactive_table_1()] == rows(REACTIVE_1)


def test_reactive_aggregator_table_2():
    assert [row[:4] for row in reactive_table_2()] == rows(REACTIVE_2)


def test_tutorial_table_1():
    assert [row[:7] for row in tutorial_table_1()] == rows(TUTORIAL_1)


def test_notes_tell_the_truth():
    notes = {row.operation: row.note for row in reactive_table_1()}
    assert "integers only" in notes["Sum"]
    assert "(n, mean, M2)" in notes["SampleStdDev"]
    assert "logarithms" in notes["GeometricMean"]
    assert sw.sum().exactly_invertible == "integers"
    assert sw.stddev().exactly_invertible is False
    assert "product: not invertible, since a zero cannot be divided out" in tutorial_table_1()[0].notes


def test_departures_are_real():
    row_of = {row.group: row._asdict() for row in tutorial_table_1()}
    for entry in AGGREGATIONS:
        for name in entry.departures:
            mark = "✓" if getattr(entry.cls, name) else "×"
            assert row_of[entry.group][name] != mark, entry.name


def test_every_aggregation_is_registered_once():
    names = [e.name for e in AGGREGATIONS]
    assert len(set(names)) == len(names)
    public = {name for name in aggregations.__all__ if isinstance(getattr(aggregations, name), type)}
    assert {*names, *(alias for e in AGGREGATIONS for alias in e.aliases)} == public
    for entry in AGGREGATIONS:
        assert entry.cls.name == entry.name
        assert entry.summary
        for name in (entry.name, *entry.aliases):
            assert getattr(sw, name) is entry.cls
    assert {a for e in AGGREGATIONS for a in e.aliases} == {"mean", "std", "nunique", "quantile"}
    assert AGGREGATION["mean"].name == "avg"


def test_kinds():
    kinds = {e.name: e.cls.kind for e in AGGREGATIONS}
    assert {n for n, k in kinds.items() if k == "distributive"} >= {"count", "sum", "min", "max"}
    assert {n for n, k in kinds.items() if k == "holistic"} >= {
        "median",
        "mode",
        "count_distinct",
        "percentile",
    }
    assert kinds["avg"] == kinds["stddev"] == kinds["bloom_filter"] == "algebraic"


def test_every_docstring_has_an_example():
    for entry in AGGREGATIONS:
        assert ">>> " in (entry.cls.__doc__ or ""), entry.name
