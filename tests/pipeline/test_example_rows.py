"""Rows of examples: what is equal, what differs, and how they are written into a file."""

from __future__ import annotations

import datetime as dt
import math

import pytest

from slidewise.errors import InvalidInput
from slidewise.pipeline.example_rows import are_equal, find_differences
from slidewise.pipeline.yaml_file import parse_yaml, replace_rows

NAN = math.nan


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (None, None, True),
        (None, NAN, False),
        (NAN, NAN, True),
        (0.1 + 0.2, 0.3, True),
        (1.0, 1.0 + 1e-6, False),
        (5, 5.0, True),
        (math.inf, -math.inf, False),
        ("a", "a", True),
        ("1.0", 1.0, False),
        ("x", 1.0, False),
        ([1.0, NAN], [1.0, NAN], True),
        ([1.0], [1.0, 2.0], False),
        ({"a": 1.0}, {"a": 1.0 + 1e-12}, True),
        (
            dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
            dt.datetime(2026, 1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))),
            True,
        ),
    ],
)
def test_equality(a, b, equal):
    assert are_equal(a, b) is equal


def differences(expected, found):
    return [each.describe() for each in find_differences(expected, found, ["k"])]


def test_rows_stand_in_any_order():
    rows = [{"k": 1, "x": 1.0}, {"k": 2, "x": NAN}, {"k": 1, "x": None}]
    assert differences(rows, rows[::-1]) == []


def test_only_the_columns_that_are_named():
    assert differences([{"x": 1.0}, {"k": 2}], [{"k": 2, "x": 5.0}, {"k": 1, "x": 1.0}]) == []


def test_rows_are_matched_as_far_as_it_goes():
    """The first row agrees with both, the second with one only."""
    assert differences([{"k": 1}, {"k": 1, "x": 2}], [{"k": 1, "x": 2}, {"k": 1, "x": 3}]) == []


def test_equal_rows_are_counted():
    row = {"k": 1, "x": 1.0}
    assert differences([row, row], [row]) == [("k=1", "-", "a row", "-")]
    assert differences([row], [row, row]) == [("k=1", "-", "-", "a row")]


def test_a_row_is_compared_with_the_nearest():
    found = [{"k": 1, "x": 1.0, "y": 7}, {"k": 2, "x": 9.0, "y": None}]
    assert differences([{"k": 2, "x": 1.0, "y": 7}, {"k": 1, "x": 1.0, "y": 7}], found) == [
        ("k=2", "x", "1.0", "9.0"),
        ("k=2", "y", "7", "null"),
    ]


# ---- into the file
ROWS = [{"a": 1.5, "at": dt.datetime(2026, 1, 1), "s": "x: y, 1"}, {"a": None, "at": None, "s": "2026-01-01"}]
FIRST, SECOND = "{a: 1.5, at: 2026-01-01T00:00:00, s: 'x: y, 1'}", "{a: null, at: null, s: '2026-01-01'}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("rows: []\n", "rows:\n- {}\n- {}\n"),
        ("rows: []", "rows:\n- {}\n- {}"),
        ("rows: [{x: 1}]   # why\nz: 1\n", "rows:   # why\n- {}\n- {}\nz: 1\n"),
        (
            "rows:   # why\n- x: 1\n  y: 2   # y\n# the end\nz: 1\n",
            "rows:   # why\n- {}\n- {}   # y\n# the end\nz: 1\n",
        ),
        ("rows:\n    -   x: 1\nz: 1\n", "rows:\n- {}\n- {}\nz: 1\n"),
        ("rows: [\n  {x: 1},\n  {x: 2},\n]\nz: 1\n", "rows:\n- {}\n- {}\nz: 1\n"),
        ('rows: [{x: "]"}]\n', "rows:\n- {}\n- {}\n"),
        ("{rows: [{x: 1}], z: 1}\n", "{rows: [{}, {}], z: 1}\n"),
        ("'rows' : []\n", "'rows' :\n- {}\n- {}\n"),
        ("é: ü\nrows: []\n", "é: ü\nrows:\n- {}\n- {}\n"),
    ],
)
def test_rows_are_replaced_and_nothing_else(before, after):
    text = replace_rows(before, ("rows",), ROWS)
    assert text == after.replace("{}", FIRST, 1).replace("{}", SECOND, 1)
    assert parse_yaml(text).values["rows"] == ROWS


def test_rows_within_a_list():
    text = "tests:\n- given: []\n  expect: [{x: 1}]\n- given: []\n  expect:\n  - {x: 1}\n"
    text = replace_rows(text, ("tests", 1, "expect"), [{"x": 2}])
    text = replace_rows(text, ("tests", 0, "expect"), [{"x": 3}, {"x": 4}])
    assert text == "tests:\n- given: []\n  expect:\n  - {x: 3}\n  - {x: 4}\n- given: []\n  expect:\n  - {x: 2}\n"
    assert replace_rows(text, ("tests", 0, "expect"), []).startswith("tests:\n- given: []\n  expect:\n  []\n- given")


def test_an_alias_is_not_replaced():
    with pytest.raises(InvalidInput, match=r"tests\.0\.expect is an alias"):
        replace_rows("a: &a [{x: 1}]\ntests:\n- expect: *a\n", ("tests", 0, "expect"), [])
