"""The planner picks as the tutorial and the measurements say, and says why."""

import contextlib
import io
import sys
from typing import Any

import pytest
from support.aggregations import build

import slidewise as sw
from slidewise.planner.choose import LADDER, choose, situation_of
from slidewise.registry import algorithm, missing


@pytest.mark.parametrize(
    ("aggregation", "window", "options", "columns", "events"),
    [
        (sw.max(), sw.rows(1000), {}, "sba", "daba_lite"),
        (sw.max(), sw.time("1h"), {}, "two_stacks_lite", "daba_lite"),
        (sw.max(), sw.time("1h"), {"late": "revise"}, "fiba", "fiba"),
        (sw.max(), sw.rows(2), {}, "recalculate", "recalculate"),
        (sw.max(), sw.rows_between(sw.col("back"), 0), {}, "flat_fat", "fiba"),
        (sw.max(), sw.rows(1000), {"windows": 10}, "sba", "slick_deque"),
        (sw.sum(), sw.time("1h"), {"windows": 3}, "two_stacks_lite", "flat_fit"),
        (sw.sum(), sw.rows_between(-1000, -1), {"windows": 3}, "two_stacks_lite", "flat_fit"),
        (sw.max(), sw.time("1h", closed="left"), {"windows": 3}, "two_stacks_lite", "slick_deque"),
        (sw.max(), sw.rows_between(sw.col("back"), 0), {"windows": 3}, "flat_fat", "fiba"),
        (sw.sum(), sw.time("1h", every="1m"), {"windows": 3}, "two_stacks_lite", "daba_lite"),
        (sw.median(), sw.rows(1000), {"windows": 3}, "chunk_ranks", "order_statistic_tree"),
        (sw.sum(), sw.rows(1000), {}, "sba", "daba_lite"),
        (sw.sum(), sw.rows(1000), {"integers": True}, "subtract_on_evict", "subtract_on_evict"),
        (sw.count(), sw.time("1h"), {}, "subtract_on_evict", "subtract_on_evict"),
        (sw.median(), sw.rows(1000), {}, "chunk_ranks", "order_statistic_tree"),
        (sw.count_distinct(), sw.rows(1000), {}, "last_occurrence", "incremental_count_distinct"),
        (sw.mode(), sw.rows(1000), {}, "count_histogram", "incremental_mode"),
        (sw.sum_distinct(), sw.rows(1000), {}, "flat_fat", "daba_lite"),
        (sw.collect_list(), sw.rows(1000), {}, "subtract_on_evict", "subtract_on_evict"),
    ],
    ids=repr,
)
def test_choice(aggregation, window, options, columns, events):
    why = sw.explain(aggregation, window, **options)
    assert (why.choices["columns"].algorithm, why.choices["events"].algorithm) == (columns, events)


@pytest.mark.parametrize("entry", sw.list_aggregations().rows, ids=lambda row: row[0])
@pytest.mark.parametrize("window", [sw.rows(1000), sw.time("1h"), sw.rows_between(sw.col("a"), 0)], ids=repr)
def test_every_choice_and_runner_up_is_legal(entry, window):
    name = entry[0].split(",")[0]
    aggregation = build(name)
    for where in ("columns", "events"):
        for late in ("error", "revise"):
            choice = choose(aggregation, situation_of(window, where, late=late))
            assert not missing(algorithm(choice.algorithm), aggregation)
            assert not missing(algorithm(choice.runner_up), aggregation)
            assert choice.because


EVERY_KIND = [
    sw.rows(2), sw.rows(1000), sw.rows(2, every=2), sw.rows(2, every=sw.time(5)), sw.rows(100, every=10),
    sw.time(10), sw.time(10, every=5), sw.delta("x", 3), sw.punctuation("x"), sw.rows_between(-1, 0), sw.session(5),
    sw.rows_between(-1, 1), sw.rows_between(sw.col("x"), 0), sw.rows_between(-5, 5, exclude="current row"),
    sw.range_between(-sw.UNBOUNDED, 0), sw.groups_between(-2, 0),
]  # fmt: skip


@pytest.mark.covering(2)
@pytest.mark.parametrize("window", EVERY_KIND, ids=repr)
@pytest.mark.parametrize(
    "aggregation", [sw.max(), sw.sum(), sw.count(), sw.median(), sw.count_distinct(), sw.mode()], ids=repr
)
@pytest.mark.parametrize("late", ["error", "revise"])
def test_a_window_runs_what_explain_says(aggregation, window, late):
    if late == "revise" and {window.size_kind, window.slide_kind} & {"delta", "punctuation", "session"}:
        pytest.skip("cannot be revised")
    runs = sw.Window(aggregation, window, late=late).algorithms
    assert [sw.explain(aggregation, window, late=late).choices["events"].algorithm] == list(runs.values())


def test_explain_tells_what_a_window_of_several_holds():
    columns = {
        "m1": sw.max("x").over(sw.rows(100)), "m2": sw.max("x").over(sw.rows(30)),
        "h": sw.max("x").over(sw.delta("x", 1)),
        "s": sw.sum("x").over(sw.time("1h")), "a": sw.avg("x").over(sw.time("1d")), "n": sw.count().over(sw.time("1d")),
        "e": sw.sum("x").over(sw.time("1h", every="1m")), "so far": sw.sum("x").over(sw.rows_between(-sw.UNBOUNDED, 0)),
        "mid": sw.median("x").over(sw.rows(7)), "old": sw.min("x").over(sw.rows(9), algorithm="sba"),
    }  # fmt: skip
    found = {line["column"]: (line["event by event"], line["holds"]) for line in sw.explain(columns)}
    assert found == {
        "m1": ("slick_deque", "100 partials of max('x'), with m2"),
        "m2": ("slick_deque", "100 partials of max('x'), with m1"),
        "h": ("daba_lite", "a partial of max('x') per row"),
        "s": ("flat_fit", "a partial of avg('x') per row of the longest window, with a"),
        "a": ("flat_fit", "a partial of avg('x') per row of the longest window, with s"),
        "n": ("none", "nothing: the window knows how many rows it holds"),
        "e": ("daba_lite", "a partial of sum('x') per slice"),
        "so far": ("daba_lite", "one partial of sum('x')"),
        "mid": ("order_statistic_tree", "7 partials of median('x')"),
        "old": ("-", "a Window refuses sba, which is made for whole columns"),
    }
    del columns["old"]
    assert sw.Window(columns).algorithms == {name: by for name, (by, _) in found.items() if name != "old"}


@pytest.mark.parametrize(
    ("window", "options", "told"),
    [
        (sw.rows(100), {}, "a Window of 3 such windows holds one structure"),
        (sw.rows_between(-9, -1), {}, "a Window of 3 such windows holds one structure"),
        (sw.rows(100, every=10), {}, "each of 3 such windows holds its own"),
        (sw.delta("x", 3), {}, "each of 3 such windows holds its own"),
        (sw.rows(100), {"late": "revise"}, "each of 3 such windows holds its own"),
    ],
    ids=repr,
)
def test_explain_tells_whether_windows_share(window, options, told):
    assert told in sw.explain(sw.sum("x"), window, windows=3, **options).notes[-1]
    if not options:
        sizes = [window, *(type(window)(**(vars(window) | change)) for change in CHANGED[window.size_kind])]
        w = sw.Window({f"w{k}": sw.sum("x").over(size) for k, size in enumerate(sizes)})
        assert len(set(w.algorithms.values())) == 1
        assert bool(getattr(w._plan, "stored", None)) == ("one structure" in told)


CHANGED: dict[str, Any] = {
    "count": [{"n": 50}, {"n": 70}], "rows": [{"start": -20}, {"start": -5}], "delta": [{"size": 5}, {"size": 9}],
}  # fmt: skip


@pytest.mark.parametrize("options", [{"late": "often"}, {"windows": 0}, {"windows": "many"}], ids=repr)
def test_explain_refuses_options_that_mean_nothing(options):
    with pytest.raises(sw.InvalidInput, match="explain: "):
        sw.explain(sw.max(), sw.rows(3), **options)


def test_the_ladder_ends_with_a_rule_that_always_applies():
    assert LADDER[-1].applies(sw.max(), situation_of(sw.rows(10), "events"))


def test_a_non_associative_aggregation_is_recalculated():
    class Difference(sw.Aggregation):
        identity = 0.0
        associative = False

        @staticmethod
        def combine(a, b):
            return a - b

    assert sw.explain(Difference, sw.rows(100)).choices["columns"].algorithm == "recalculate"


def test_explain_reads_well_in_a_terminal_and_in_a_notebook():
    why = sw.explain(sw.avg("temp").over(sw.rows(1000)))
    text = str(why)
    assert "avg('temp') over rows(1000)" in text
    assert "runner-up" in text
    assert "integers=True" in text
    assert "<table>" in why._repr_html_()
    assert "&#x27;temp&#x27;" in why._repr_html_()  # escaped


def test_explain_warns_of_partials_that_grow():
    assert "not size-preserving" in str(sw.explain(sw.median(), sw.time("1h"), late="revise"))


def test_explain_refuses_what_is_not_an_aggregation_over_a_window():
    with pytest.raises(sw.InvalidInput, match="takes an aggregation and a window"):
        sw.explain(sw.rows(3), sw.max())  # type: ignore[call-overload]


def test_tables_list_the_whole_registry():
    from slidewise.registry.aggregations import AGGREGATIONS
    from slidewise.registry.algorithms import ALGORITHMS, COLUMN_KERNELS

    assert [row["algorithm"] for row in sw.list_algorithms()] == [e.name for e in (*ALGORITHMS, *COLUMN_KERNELS)]
    assert len(sw.list_aggregations()) == len(AGGREGATIONS)
    assert "daba_lite" in str(sw.list_algorithms())
    assert "<td" in sw.list_aggregations()._repr_html_()


@pytest.mark.parametrize("width", [80, 120])
def test_tables_break_no_words_in_a_terminal(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    text = str(sw.list_aggregations())
    assert max(map(len, text.splitlines())) <= width
    assert {"distributive", "commutative,", "selective"} <= set(text.split())
    assert len(text.splitlines()) < 4 * len(sw.list_aggregations())
    if width > 80:  # too narrow for the longest names of algorithms and their costs
        assert {"associative,", "amortised;", "daba_lite"} <= set(str(sw.list_algorithms()).split())


def shown(value):
    """What a console shows of a value."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        sys.displayhook(value)
    return out.getvalue()


def test_a_console_shows_tables_and_not_how_they_are_made(monkeypatch):
    monkeypatch.setattr("builtins._", None, raising=False)  # where a console keeps the last value
    calls: list[Any] = [
        sw.explain(sw.max(), sw.rows(1000)),
        sw.explain({"peak": sw.max("x").over(9)}),
        sw.explain({"x": [1, 2]}, peak=sw.max("x").over(9)),
        sw.list_algorithms(),
        sw.list_aggregations(),
    ]
    for value in calls:
        assert shown(value) == f"{value}\n"
        assert "Table(" not in shown(value) and "Choice(" not in shown(value)
        assert len(shown(value).splitlines()) > 2
        assert value._repr_html_().startswith("<table>")
