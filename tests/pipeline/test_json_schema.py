"""The schema that editors complete from takes what the parser takes, and refuses what it can see."""

from __future__ import annotations

import json

import pytest
from test_mistakes import MISTAKES, RIGHT

from slidewise.cli.new import write_project
from slidewise.pipeline.features import WINDOWS, build_features, list_names
from slidewise.pipeline.json_schema import build_json_schema
from slidewise.pipeline.mistakes import InvalidPipeline
from slidewise.pipeline.yaml_file import parse_yaml, read_yaml

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture(scope="module")
def validator():
    schema = build_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def find_errors(validator, values):
    plain = json.loads(json.dumps(values, default=str))
    return [f"{'.'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(plain)]


def test_right_files_are_taken(validator, tmp_path):
    write_project(tmp_path / "cards")
    assert find_errors(validator, read_yaml(tmp_path / "cards" / "cards.yaml").values) == []
    assert find_errors(validator, parse_yaml(RIGHT).values) == []


@pytest.mark.parametrize(
    "changed",
    [
        "keys: card",
        "time: at",
        "features: {a: {count: '*', over: 5 rows}, b: {count: , over: 5}}",
        "features: {a: {percentile: price, fraction: [0.5, 0.9], over: [1h, {rows_between: [-9, 0], as: around}]}}",
        "features: {a: {percentile: [price, 0.5], method: paper, where: price > 1, over: {rows: 5, min_rows: 2}}}",
        "features: {a: {max_by: [name, price], over: {range_between: [-unbounded, {column: back}]}}}",
        "features: {a: {moment_sketch: price, percentiles: [0.5], over: 1h}, b: {m4: [price, at], over: 1h}}",
        "features: {a: {bloom_filter: name, contains: {ann: u-1}, over: 5}}",
        "features: {a: {count_min_sketch: name, counts_of: x, over: 5}}",
        "features: {a: {percentile: price, fraction: {column: share}, over: 1h}}",
        "features: {a: {percentile: [price, {column: share}], over: 1h}}",
        "features: {a: {naive_bayes: [name, price], classes: [x, y], predict: [{column: price}], over: 1h}}",
        "features: {a: {use: 'features:Vwap', of: [price, size], power: 3, over: 1h}}",
        "features: {a: {max: price, over: 5 rows, algorithm: 'fiba(arity=4)'}}",
        "features: {a: {sum: price}}\nwindow: {over: 1h, every: 1m, offset: 5m}",
        "features: {a: {sum: price}}\nwindow: {over: {session: 30m}}",
        "features: {a: {sum: price}}\nwindow: {over: 1d, every: 1h, cumulative: true}",
        "features: {a: {sum: price, over: {session: 30m}}}",
        "features: {a: {sum: price}}\nwindow: {over: 3mo, every: 1mo, zone: Europe/Berlin}",
        "features: {a: {lag: price}, b: {lead: [price, 2], default: 0}, c: {row_number: }, d: {rank: }, e: {ntile: 4}}",
        "features: {a: {lag: price, offset: 2, ignore_nulls: true}, b: {nth_value: [price, -2], over: 5 rows}}",
        "run: {partitions: '${n}', slices: '${s}', emit: '${e}', conf: {spark.sql.ansi.enabled: true}}\nvars: {n: 3}",
        "prepare: {good: SELECT 1, better: SELECT 2}",
        "source: {format: kafka, history: {format: parquet, path: [a, b], until: 2026-01-01, prepare: {a: b}}}",
    ],
)
def test_other_spellings_are_taken(changed, validator, tmp_path):
    values = parse_yaml(changed).values
    assert find_errors(validator, parse_yaml(RIGHT).values | values) == []
    if "features" in values and "use:" not in changed and "window" not in values:
        assert build_features(values["features"], None, tmp_path).mistakes == []


#: what a schema cannot see: the meaning of texts, of files beside, of one value beside another
UNSEEN = {
    "name with slash", "name empty", "history until a word", "history prepare step", "history without time",
    "history and a feature in place of the time", "max_delay words", "max_delay negative", "max_delay months",
    "max_delay capital", "late without keep", "keep without late", "late_to without late",
    "too many columns", "parameter out of range",
    "missing parameter", "bad duration", "zero rows", "zero time", "negative window", "bad one of several",
    "window crosses", "window one bound", "window parameter", "window in list without as", "column twice",
    "column twice by name", "where empty", "illegal algorithm", "algorithm with a wrong option", "use: no file",
    "use: no class",
    "use: no aggregation", "use: file fails", "use: no Python", "use: number of columns", "use: without of",
    "window bad every", "window every zero", "sink empty", "sink table without url", "sink table and path",
    "upsert without keys", "upsert of files", "trigger", "prepare step named source", "prepare step named badly",
    "unknown variable", "no variables", "variable not closed", "variables in a circle", "variable of itself",
    "variable a list", "variable empty", "environment",
}  # fmt: skip


def test_what_can_be_seen_is_refused(validator):
    taken = set()
    for name, (text, _) in MISTAKES.items():
        try:
            values = parse_yaml(text).values
        except InvalidPipeline:
            continue
        if not find_errors(validator, values):
            taken.add(name)
    assert taken == UNSEEN


def test_times_may_be_without_a_zone(validator):
    until = validator.schema["$defs"]["History"]["properties"]["until"]
    assert until["anyOf"] == [{"type": "string"}, {"type": "null"}]
    assert until["description"].startswith("Its last time")


def test_names_are_described(validator):
    parts = validator.schema["$defs"]
    features = parts["Feature"]["else"]["else"]["properties"]
    assert all(features[name]["description"] for name in list_names())
    assert features["median"]["description"].startswith("The ")
    windows = parts["Window"]["anyOf"][-1]["properties"]
    assert set(windows) == {*WINDOWS, "as"}
