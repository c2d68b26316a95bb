"""Thousands of random tables, keys, orders and frames: with_columns against SQLite, and against plain Python.

`python -m slidewise.fuzz` runs as many more as one likes, and says how to run a failing one again.
"""

import os

import pytest
from support.tiers import in_full, share

from slidewise.fuzz import by_hand, comparison, sqlite
from slidewise.fuzz.__main__ import main
from slidewise.fuzz.cases import Aggregate, By, Case, CaseColumn, CaseFrame

#: the first is quick, make test-all adds some, and make soak more
BLOCKS = [0, *in_full(1, 2, 3), *(pytest.param(block, marks=pytest.mark.soak) for block in range(4, 8))]
CASES = 20 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else share(300)

# Every function compiles a kernel for each type and kind of frame. Few of both are drawn here, in many frames, so that
# the suite is quick where nothing is compiled yet; the command draws all.
EVERYWHERE = [
    ("count", ("any",), {}),
    ("first", ("any",), {}),
    ("last", ("any",), {}),
    ("nth_value", ("any",), {"n": 2}),
    ("collect_list", ("any",), {}),
    ("collect_list", ("any",), {}),
    ("string_agg", ("s",), {"delimiter": ","}),
    ("sum", ("v",), {}),
    ("avg", ("x",), {}),
    ("max", ("x",), {}),
]
FUNCTIONS = {
    "sqlite": EVERYWHERE,
    "hand": [
        *EVERYWHERE,
        ("first", ("any",), {"ignore_nulls": True}),
        ("nth_value", ("any",), {"n": 3, "ignore_nulls": True}),
        ("collect_set", ("ordered",), {}),
        ("stddev", ("x",), {}),
        ("median", ("x",), {}),
        ("count_distinct", ("any",), {}),
        ("mode", ("v",), {}),
    ],
    # numbers as they are, as floats, as digits, by rank, by code, as objects and as rows
    "alone": [
        *EVERYWHERE,
        ("count_distinct", ("any",), {}),
        ("collect_set", ("ordered",), {}),
        ("median", ("decimal",), {}),
        ("median", ("x",), {}),
        ("sum", ("decimal",), {}),
        *((name, (family,), {}) for name in ("max", "mode") for family in ("v", "text", "binary", "timestamp")),
        ("stddev", ("x",), {}),
        ("max_by", ("any", "text"), {}),
    ],
    "recalculate": [("corr", ("v", "x"), {}), ("m4", ("x",), {}), ("max_by", ("s", "x"), {}), ("product", ("x",), {})],
}


def check_block(oracle, seed, block, cases=CASES):
    for number in range(block * cases, (block + 1) * cases):
        case = comparison.case_of(seed, number, 25, oracle, FUNCTIONS[oracle])
        wrong = comparison.difference(case, oracle)
        assert wrong is None, f"case {number} of seed {seed}: {wrong}\n{case.snippet}"


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("oracle", ["sqlite", "hand"])
def test_random_cases(oracle, block):
    check_block(oracle, 7, block)


@pytest.mark.parametrize("many", [1, *in_full(1 << 23)])
@pytest.mark.parametrize("block", [0, *(pytest.param(block, marks=pytest.mark.soak) for block in range(1, 10))])
def test_many_aggregates_in_one_call_equal_each_alone(block, many, monkeypatch):
    """All types, kinds of frames and of tables; with what is joined from so many results on, or from the first."""
    monkeypatch.setattr("slidewise.columns.fused.MANY", many)
    check_block("alone", 10 + many % 2, block, CASES // 3)


@pytest.mark.soak
@pytest.mark.parametrize("rows, cases", [(100, 200), (1000, 100), (10_000, 30), (100_000, 8)])
def test_many_aggregates_in_one_call_equal_each_alone_in_large_tables(rows, cases):
    for number in range(cases):
        case = comparison.case_of(rows, number, rows, "alone", FUNCTIONS["alone"])
        wrong = comparison.difference(case, "alone")
        assert wrong is None, f"case {number} of {rows} rows: {wrong}"


@pytest.mark.parametrize("block", [0, *in_full(1)])
def test_random_cases_in_chunks(block, monkeypatch):
    """Tables as small as these are never cut into chunks of keys for threads, unless chunks are small too."""
    monkeypatch.setattr("slidewise.columns.threads.CHUNK", 4)
    check_block("hand", 9, block)


@pytest.mark.full
def test_random_cases_recalculated():
    """What no plain rule is written for here: the naive way agrees."""
    check_block("recalculate", 8, 0, CASES // 50)


def test_sqlite_answers_most_of_what_is_drawn_for_it():
    cases = [comparison.case_of(7, number, 25, "sqlite", EVERYWHERE) for number in range(2400)]
    answered = [sqlite.able(case, aggregate) for case in cases for aggregate in case.aggregates]
    assert len(answered) > 5000
    assert sum(answered) > 0.9 * len(answered)


# ---- the oracles themselves
def a_case(frame, values=(1, 2, 2, None, 5), function="collect_list", by=None):
    columns = {"v": CaseColumn("int", tuple(range(len(values)))), "t": CaseColumn("int", values)}
    return Case(columns, (), (by or By("t"),), (Aggregate(function, ("v",), frame),))


@pytest.mark.parametrize(
    "frame, expected",
    [
        (CaseFrame("rows", -1, 0), [[3, 0], [0, 1], [1, 2], [3], [2, 4]]),
        (CaseFrame("range", -1, 0), [[0], [0, 1, 2], [0, 1, 2], [3], [4]]),
        (CaseFrame("range", None, 1), [[3, 0, 1, 2], [3, 0, 1, 2], [3, 0, 1, 2], [3], [3, 0, 1, 2, 4]]),
        (CaseFrame("groups", 0, 1), [[0, 1, 2], [1, 2, 4], [1, 2, 4], [3, 0], [4]]),
        (CaseFrame("groups", -1, 1, "group"), [[3, 1, 2], [0, 4], [0, 4], [0], [1, 2]]),
        (CaseFrame("range", -9, 9, "ties"), [[0, 1, 2, 4], [0, 1, 4], [0, 2, 4], [3], [0, 1, 2, 4]]),
        (
            CaseFrame("rows", -9, 9, "current row"),
            [[3, 1, 2, 4], [3, 0, 2, 4], [3, 0, 1, 4], [0, 1, 2, 4], [3, 0, 1, 2]],
        ),
    ],
)
def test_both_oracles_know_the_rules(frame, expected):
    case = a_case(frame)
    assert by_hand.answers(case)[0] == expected
    assert sqlite.able(case, case.aggregates[0])
    assert sqlite.answers(case)[0] == expected


def test_sqlite_is_not_asked_what_it_does_not_know():
    for unknown in (a_case(CaseFrame("rows", "v", 0)), a_case(CaseFrame("rows", -1, 0), function="median")):
        assert not sqlite.able(unknown, unknown.aggregates[0])
        assert sqlite.answers(unknown) == [by_hand.UNKNOWN]
    nan = Case(
        {"x": CaseColumn("float", (float("nan"),))}, (), (), (Aggregate("max", ("x",), CaseFrame("rows", -1, 0)),)
    )
    assert not sqlite.able(nan, nan.aggregates[0])


# ---- finding, shrinking and showing a failure
def test_a_failing_case_is_made_small_and_shown_as_a_program(monkeypatch, capsys):
    def wrong(case):  # forgets values of 4 and more
        return [[a if a is None or a < 4 else None for a in answer] for answer in by_hand.answers(case)]

    columns = {
        "v": CaseColumn("int", tuple(range(12))),
        "k": CaseColumn("int", (1, 2) * 6),
        "t": CaseColumn("int", (3, 1, 2) * 4),
    }
    frames = (CaseFrame("rows", -2, 0, "ties"), CaseFrame("rows", -1, 0))
    aggregates = tuple(Aggregate("max", ("v",), frame) for frame in frames)
    case = Case(columns, ("k",), (By("t", True),), aggregates)
    monkeypatch.setitem(comparison.ORACLES, "hand", wrong)
    assert "by hand" in comparison.difference(case, "hand")
    small = comparison.shrink(case, lambda c: comparison.difference(c, "hand") is not None)
    assert (small.rows, small.keys, len(small.aggregates)) == (1, (), 1)
    assert not small.order[0].descending
    exec(small.snippet, {})
    assert "r0: [[" in capsys.readouterr().out


def test_an_error_is_a_failure_too():
    case = a_case(CaseFrame("range", 0, "missing"))
    assert "raises InvalidInput" in comparison.difference(case, "sqlite")


@pytest.mark.full
def test_the_command(capsys, monkeypatch):
    assert main(["--cases", "2", "--seed", "3"]) == 0
    assert capsys.readouterr().out == "2 cases, 0 failed\n"
    assert main(["--cases", "2", "columns", "--rows", "12"]) == 0
    assert capsys.readouterr().out == "2 cases, 0 failed\n"
    monkeypatch.setitem(comparison.ORACLES, "hand", lambda case: [[0.5] * case.rows for _ in case.aggregates])
    assert main(["--cases", "20", "--oracle", "hand"]) == 1
    printed = capsys.readouterr().out
    assert "python -m slidewise.fuzz columns --seed 0 --first" in printed
    assert "--cases 1 --oracle hand\n" in printed
    assert "import pyarrow as pa, slidewise as sw" in printed
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "--seed" in capsys.readouterr().out
