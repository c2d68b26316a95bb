"""The planner picks as the tutorial and the measurements say, and says why."""

import contextlib
import io
import sys
from typing import Any

import pytest

import slidewise as sw
from slidewise.planner.choose import LADDER, choose, situation_of
from slidewise.registry import algorithm, missing

PARAMETERS = {
    "percentile": (0.5,), "percentile_disc": (0.5,), "approx_percentile": (0.5,),
    "nth_smallest": (2,), "nth_value": (2,),
}  # fmt: skip


@pytest.mark.parametrize(
    ("aggregation", "window", "options", "columns", "events"),
    [
        (sw.max(), sw.rows(1000), {}, "sba", "daba_lite"),
        (sw.max(), sw.time("1h"), {}, "two_stacks_lite", "daba_lite"),
        (sw.max(), sw.time("1h"), {"late": "revise"}, "fiba", "fiba"),
        (sw.max(), sw.rows(2), {}, "recalculate", "recalculate"),
        (sw.max(), sw.rows_between(sw.col("back"), 0), {}, "flat_fat", "fiba"),
        (sw.max(), sw.rows(1000), {"windows": 10}, "b_int", "b_int"),
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
    aggregation = getattr(sw, name)(*PARAMETERS.get(name, ()))
    for where in ("columns", "events"):
        for late in ("error", "revise"):
            choice = choose(aggregation, situation_of(window, where, late=late))
            assert not missing(algorithm(choice.algorithm), aggregation)
            assert not missing(algorithm(choice.runner_up), aggregation)
            assert choice.because


EVERY_KIND = [
    sw.rows(2), sw.rows(1000), sw.rows(2, every=2), sw.rows(2, every=sw.time(5)), sw.rows(100, every=10),
    sw.time(10), sw.time(10, every=5), sw.delta("x", 3), sw.punctuation("x"), sw.rows_between(-1, 0),
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
    if late == "revise" and {window.size_kind, window.slide_kind} & {"delta", "punctuation"}:
        pytest.skip("cannot be revised")
    runs = sw.Window(aggregation, window, late=late).algorithms
    assert [sw.explain(aggregation, window, late=late).choices["events"].algorithm] == list(runs.values())


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
