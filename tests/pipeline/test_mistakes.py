"""Wrong files: what each is told, to the letter. The table is the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from slidewise.cli.screen import Screen
from slidewise.cli.session import open_session
from slidewise.pipeline import InvalidPipeline, load
from slidewise.pipeline.check import check_pipeline
from slidewise.pipeline.definition import Sink
from slidewise.pipeline.examples import Examples
from slidewise.pipeline.features import PLACES, list_names
from slidewise.pipeline.yaml_file import MOST_BYTES
from slidewise.registry.algorithms import ALGORITHMS, COLUMN_KERNELS

FILE = "p.yaml"
RIGHT = """\
name: cards
source: {format: parquet, path: data, schema: "card string, at timestamp, amount double, merchant string"}
keys: [card]
time: {column: at, max_delay: 10m}
features:
  spent: {sum: amount, over: 1h}
sink: {format: parquet, path: out}
"""
#: beside the file
MODULES = {
    "features.py": """\
import slidewise as sw


class Vwap(sw.Aggregation):
    identity = (0.0, 0.0)

    @staticmethod
    def lift(price: float, size: float) -> tuple[float, float]:
        return price * size, size

    @staticmethod
    def combine(a, b):
        return a[0] + b[0], a[1] + b[1]


def helper():
    pass
""",
    "broken.py": "import slidewise as sw\n\n1 / 0\n",
    "syntax.py": "def f(:\n    pass\n",
}


def having(old: str, new: str) -> str:
    """The right file, with something else in one place."""
    assert RIGHT.count(old) == 1, old
    return RIGHT.replace(old, new)


def feature(text: str) -> str:
    return having("{sum: amount, over: 1h}", text)


def slide(text: str) -> str:
    """The right file, with a window for all features."""
    return having(", over: 1h", "") + f"window: {text}\n"


def more(text: str) -> str:
    return RIGHT + text


def billions() -> str:
    """A few lines that mean ten million values."""
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]\n"]
    for before, name in zip("abcdef", "bcdefg", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n")
    return "".join(lines)


NO_DURATION = (
    ' is not a duration. Write a number and a unit, one or more times: "90s", "1h30m", "500ms", "2d", "1w", "3 months"'
)
ALGORITHM_NAMES = [entry.name for entry in (*ALGORITHMS, *COLUMN_KERNELS)]

#: the text of a file, and its mistakes
MISTAKES = {
    "empty": (
        "",
        ["p.yaml is empty. `slidewise new` writes one to begin with"],
    ),
    "only a comment": (
        "# nothing\n",
        ["p.yaml is empty. `slidewise new` writes one to begin with"],
    ),
    "a list": (
        "- name: cards\n",
        ["p.yaml:1:1: a pipeline is a mapping of keys such as name, source and features, got a list"],
    ),
    "a text": (
        "hello\n",
        ["p.yaml:1:1: a pipeline is a mapping of keys such as name, source and features, got 'hello'"],
    ),
    "not YAML: bracket": (
        "name: cards\nkeys: [card\ntime: at\n",
        ["p.yaml:3:5: not YAML: while parsing a flow sequence expected ',' or ']', but got ':'"],
    ),
    "not YAML: colon": (
        "name: cards: more\n",
        ["p.yaml:1:12: not YAML: mapping values are not allowed here"],
    ),
    "not YAML: quote": (
        'name: "cards\n',
        ["p.yaml:2:1: not YAML: while scanning a quoted scalar found unexpected end of stream"],
    ),
    "not YAML: indent": (
        "name: cards\n  keys: [card]\n",
        ["p.yaml:2:7: not YAML: mapping values are not allowed here"],
    ),
    "tab": (
        "name: cards\nsource:\n\tformat: parquet\n",
        ["p.yaml:3:1: not YAML: the line is indented by a tab. YAML takes spaces only"],
    ),
    "tab in list": (
        "name: cards\nkeys:\n\t- card\n",
        ["p.yaml:3:1: not YAML: the line is indented by a tab. YAML takes spaces only"],
    ),
    "duplicate key": (
        more("name: again\n"),
        ["p.yaml:8:1: the key 'name' stands here for the second time"],
    ),
    "duplicate key within": (
        feature("{sum: amount, sum: size, over: 1h}"),
        ["p.yaml:6:24: the key 'sum' stands here for the second time"],
    ),
    "undefined alias": (
        having("keys: [card]", "keys: *card"),
        ["p.yaml:3:7: not YAML: found undefined alias 'card'"],
    ),
    "alias bomb": (
        billions(),
        ["p.yaml has more than 100,000 values, aliases resolved"],
    ),
    "tag": (
        having("name: cards", "name: !!python/object:os.system cards"),
        ["p.yaml:1:7: name: expects a plain value, got one with the tag !!python/object:os.system"],
    ),
    "own tag": (
        having("keys: [card]", "keys: !set {card}"),
        ["p.yaml:3:1: keys: expects a list, got a mapping"],
    ),
    "two documents": (
        more("---\nname: b\n"),
        ["p.yaml:8:1: not YAML: expected a single document in the stream but found another document"],
    ),
    "control character": (
        "name: a\x07b\n",
        ["p.yaml:1:8: not YAML: the character U+0007 may not stand in it"],
    ),
    "no name": (
        having("name: cards\n", ""),
        ["p.yaml:1:1: 'name' is missing: the name of the pipeline: of its query, its logs and its page"],
    ),
    "no features": (
        RIGHT[: RIGHT.index("features")],
        ["p.yaml:1:1: 'features' is missing: new columns: aggregations over windows"],
    ),
    "unknown key": (
        more("sorce: 1\n"),
        ["p.yaml:8:1: sorce: there is no key 'sorce'. Did you mean 'source'?"],
    ),
    "unknown key far": (
        more("zzz: 1\n"),
        [
            (
                "p.yaml:8:1: zzz: there is no key 'zzz'. There are: name, vars, source, prepare, keys, time, "
                "window, features, sink, late_to, run, tests"
            )
        ],
    ),
    "unknown key in source": (
        having("path: data", "pth: data"),
        ["p.yaml:2:27: source.pth: there is no key 'pth'. Did you mean 'path'?"],
    ),
    "unknown key in time": (
        having("max_delay", "maxdelay"),
        ["p.yaml:4:20: time.maxdelay: there is no key 'maxdelay'. Did you mean 'max_delay'?"],
    ),
    "unknown key in sink": (
        having("path: out", "file: out"),
        ["p.yaml:7:25: sink.file: there is no key 'file'. There are: " + ", ".join(Sink.model_fields)],
    ),
    "unknown key in run": (
        more("run: {chekpoint: c}\n"),
        ["p.yaml:8:7: run.chekpoint: there is no key 'chekpoint'. Did you mean 'checkpoint'?"],
    ),
    "unknown key in test": (
        more("tests:\n- {given: [], expects: []}\n"),
        [
            ("p.yaml:9:3: tests[0]: 'expect' is missing: rows of the result; only the columns named here are compared"),
            "p.yaml:9:15: tests[0].expects: there is no key 'expects'. Did you mean 'expect'?",
        ],
    ),
    "several at once": (
        more("sorce: 1\nrun: {trigger: soon}\n").replace("sum", "sumn"),
        [
            "p.yaml:6:11: features.spent.sumn: there is no aggregation 'sumn'. Did you mean 'sum'?",
            "p.yaml:8:1: sorce: there is no key 'sorce'. Did you mean 'source'?",
            ("p.yaml:9:16: run.trigger: 'soon'" + NO_DURATION),
        ],
    ),
    "name a number": (
        having("name: cards", "name: 5"),
        ["p.yaml:1:7: name: expects a text, got 5"],
    ),
    "name with slash": (
        having("name: cards", "name: a/b"),
        ["p.yaml:1:7: name: a name is a word or several, without slashes"],
    ),
    "name empty": (
        having("name: cards", 'name: " "'),
        ["p.yaml:1:7: name: a name is a word or several, without slashes"],
    ),
    "name null": (
        having("name: cards", "name:"),
        ["p.yaml:1:1: name: expects a text, got nothing"],
    ),
    "keys a mapping": (
        having("keys: [card]", "keys: {card: 1}"),
        ["p.yaml:3:1: keys: expects a list, got a mapping"],
    ),
    "keys numbers": (
        having("keys: [card]", "keys: [1]"),
        ["p.yaml:3:8: keys[0]: expects a text, got 1"],
    ),
    "source a text": (
        RIGHT.replace(RIGHT.splitlines()[1], "source: data"),
        ["p.yaml:2:9: source: expects a mapping, got 'data'"],
    ),
    "source without format": (
        having("format: parquet, path: data", "path: data"),
        [
            (
                "p.yaml:2:1: source: 'format' is missing: any format of Spark's: parquet, csv, json, orc, kafka, "
                "delta, jdbc, rate, ..."
            )
        ],
    ),
    "source path a number": (
        having("path: data", "path: 5"),
        ["p.yaml:2:33: source.path: expects a text or a list, got 5"],
    ),
    "source options list": (
        having("path: data", "path: data, options: [a]"),
        ["p.yaml:2:39: source.options: expects a mapping, got a list"],
    ),
    "source option a list": (
        having("path: data", "path: data, options: {a: [1]}"),
        ["p.yaml:2:49: source.options.a: expects a text or true or false or a number, got a list"],
    ),
    "history without format": (
        having("path: data", "path: data, history: {path: past}"),
        [
            (
                "p.yaml:2:39: source.history: 'format' is missing: any format of Spark's: parquet, csv, json, orc, "
                "kafka, delta, jdbc, rate, ..."
            )
        ],
    ),
    "history a text": (
        having("path: data", "path: data, history: past"),
        ["p.yaml:2:48: source.history: expects a mapping, got 'past'"],
    ),
    "history with an unknown key": (
        having("path: data", "path: data, history: {format: parquet, til: 2026-01-01}"),
        ["p.yaml:2:66: source.history.til: there is no key 'til'. Did you mean 'until'?"],
    ),
    "history of a history": (
        having("path: data", "path: data, history: {format: parquet, history: {format: csv}}"),
        [
            (
                "p.yaml:2:66: source.history.history: there is no key 'history'. There are: format, path, table, "
                "schema, options, prepare, until"
            )
        ],
    ),
    "history until a word": (
        having("path: data", "path: data, history: {format: parquet, until: yesterday}"),
        ["p.yaml:2:73: source.history.until: expects a time such as 2026-01-01T00:00:00, got 'yesterday'"],
    ),
    "history until a number": (
        having("path: data", "path: data, history: {format: parquet, until: 2026}"),
        ["p.yaml:2:73: source.history.until: expects a time such as 2026-01-01T00:00:00, got 2026"],
    ),
    "history prepare step": (
        having("path: data", "path: data, history: {format: parquet, prepare: {source: SELECT 1}}"),
        ["p.yaml:2:66: source.history.prepare: a step is named by a word other than source, got 'source'"],
    ),
    "history without time": (
        having("path: data", "path: data, history: {format: parquet, path: past}").replace(
            "time: {column: at, max_delay: 10m}\n", ""
        ),
        [
            (
                "p.yaml:2:39: source.history: a history ends at a time: add time:, as in time: {column: at, "
                "max_delay: 10m}"
            )
        ],
    ),
    "history and a feature in place of the time": (
        having("path: data", "path: data, history: {format: parquet, path: past}").replace("  spent:", "  at:"),
        [
            (
                "p.yaml:6:3: features.at: this feature takes the place of the time, which tells rows of the history "
                "from others. Rename it"
            )
        ],
    ),
    "time without column": (
        having("column: at, ", ""),
        ["p.yaml:4:1: time: 'column' is missing: the column of event times, a timestamp"],
    ),
    "time a list": (
        having("{column: at, max_delay: 10m}", "[at]"),
        ["p.yaml:4:1: time: expects a mapping, got a list"],
    ),
    "max_delay no unit": (
        having("10m", "10"),
        ["p.yaml:4:31: time.max_delay: expects a length of time with its unit, such as 30s or 10m, got 10"],
    ),
    "max_delay words": (
        having("10m", "soon"),
        [("p.yaml:4:31: time.max_delay: 'soon'" + NO_DURATION)],
    ),
    "max_delay negative": (
        having("10m", "-10m"),
        [("p.yaml:4:31: time.max_delay: expects a positive, fixed length of time such as 30s or 10m, got '-10m'")],
    ),
    "max_delay months": (
        having("10m", "1 month"),
        [("p.yaml:4:31: time.max_delay: expects a positive, fixed length of time such as 30s or 10m, got '1 month'")],
    ),
    "max_delay capital": (
        having("10m", "10M"),
        [
            (
                "p.yaml:4:31: time.max_delay: the unit 'M' of \"10M\" is a month to some and a minute to others. "
                'Write "10m" for minutes, "10mo" for months'
            )
        ],
    ),
    "late unknown": (
        having("max_delay: 10m", "late: keep"),
        ["p.yaml:4:26: time.late: expects 'drop', 'mark' or 'revise', got 'keep'"],
    ),
    "late_to without late": (
        RIGHT + "late_to: {format: parquet, path: late}\n",
        ["p.yaml:8:1: late_to: takes rows that are marked as late. Add late: mark to time:, or leave it out"],
    ),
    "late without keep": (
        having("max_delay: 10m", "late: revise"),
        ["p.yaml:4:1: time: late: revise needs keep:, for how long, as in keep: 10m"],
    ),
    "keep without late": (
        having("max_delay: 10m", "keep: 10m"),
        [("p.yaml:4:1: time: keep: says for how long late rows revise results. Add late: revise, or leave it out")],
    ),
    "features a list": (
        having("features:\n  spent: {sum: amount, over: 1h}", "features: [spent]"),
        ["p.yaml:5:1: features: expects a mapping, got a list"],
    ),
    "features empty": (
        having("features:\n  spent: {sum: amount, over: 1h}", "features: {}"),
        ["p.yaml:5:1: features: there are none: name at least one, as in spent: {sum: amount, over: 1h}"],
    ),
    "features null": (
        having("  spent: {sum: amount, over: 1h}\n", ""),
        ["p.yaml:5:1: features: expects a mapping, got nothing"],
    ),
    "feature a text": (
        feature("sum"),
        ["p.yaml:6:10: features.spent: a feature is written {sum: amount, over: 1h}, got 'sum'"],
    ),
    "feature nothing": (
        feature("{over: 1h}"),
        ["p.yaml:6:3: features.spent: say what to compute, as in {sum: amount, over: 1h}"],
    ),
    "feature without over": (
        feature("{sum: amount}"),
        ["p.yaml:6:3: features.spent: say over which window, as in over: 1h, or over: 100 rows"],
    ),
    "unknown aggregation": (
        feature("{summ: amount, over: 1h}"),
        ["p.yaml:6:11: features.spent.summ: there is no aggregation 'summ'. Did you mean 'sum'?"],
    ),
    "unknown aggregation far": (
        feature("{qqq: amount, over: 1h}"),
        [
            (
                "p.yaml:6:11: features.spent.qqq: there is no aggregation 'qqq'. There are: "
                + ", ".join([*list_names(), *PLACES])
            )
        ],
    ),
    "two aggregations": (
        feature("{sum: amount, max: amount, over: 1h}"),
        ["p.yaml:6:24: features.spent.max: 'sum' and 'max' are 2 aggregations: make a feature of each"],
    ),
    "aggregation without a column": (
        feature("{sum: , over: 1h}"),
        ["p.yaml:6:11: features.spent.sum: sum takes the name of a column, got nothing"],
    ),
    "aggregation of a number": (
        feature("{sum: 5, over: 1h}"),
        ["p.yaml:6:16: features.spent.sum: sum takes the name of a column, got 5"],
    ),
    "aggregation of a mapping": (
        feature("{sum: {a: b}, over: 1h}"),
        [("p.yaml:6:11: features.spent.sum: sum takes a column, or a list of columns and parameters, got a mapping")],
    ),
    "too many columns": (
        feature("{sum: [amount, size], over: 1h}"),
        ["p.yaml:6:11: features.spent.sum: sum takes column, got 2 values: amount, size"],
    ),
    "unknown parameter": (
        feature("{percentile: amount, fracton: 0.5, over: 1h}"),
        [("p.yaml:6:31: features.spent.fracton: percentile has no parameter 'fracton'. Did you mean 'fraction'?")],
    ),
    "parameter of none": (
        feature("{sum: amount, fraction: 0.5, over: 1h}"),
        ["p.yaml:6:24: features.spent.fraction: sum has no parameter 'fraction'. It takes none"],
    ),
    "parameter out of range": (
        feature("{percentile: amount, fraction: 95, over: 1h}"),
        [
            (
                "p.yaml:6:23: features.spent.percentile: percentile: fraction must be between 0 and 1, got 95. "
                "Did you mean 0.95?"
            )
        ],
    ),
    "missing parameter": (
        feature("{percentile: amount, over: 1h}"),
        [('p.yaml:6:23: features.spent.percentile: percentile: say which fraction, as in percentile("x", 0.95)')],
    ),
    "bad duration": (
        feature("{sum: amount, over: 1 hor}"),
        [("p.yaml:6:30: features.spent.over: '1 hor'" + NO_DURATION)],
    ),
    "zero rows": (
        feature("{sum: amount, over: 0 rows}"),
        ["p.yaml:6:30: features.spent.over: rows: the size must be at least 1, got 0"],
    ),
    "zero time": (
        feature("{sum: amount, over: 0s}"),
        [
            (
                'p.yaml:6:30: features.spent.over: time: the size must be positive, got "0s". The window always '
                "reaches back from the row"
            )
        ],
    ),
    "negative window": (
        feature("{sum: amount, over: -1h}"),
        [
            (
                'p.yaml:6:30: features.spent.over: time: the size must be positive, got "-1h". The window always '
                "reaches back from the row"
            )
        ],
    ),
    "empty windows": (
        feature("{sum: amount, over: []}"),
        ["p.yaml:6:24: features.spent.over: the list of windows is empty"],
    ),
    "window a fraction": (
        feature("{sum: amount, over: 1.5}"),
        [("p.yaml:6:30: features.spent.over: a window is written 1h, 100 rows or {rows_between: [-9, 0]}, got 1.5")],
    ),
    "window true": (
        feature("{sum: amount, over: true}"),
        [("p.yaml:6:30: features.spent.over: a window is written 1h, 100 rows or {rows_between: [-9, 0]}, got True")],
    ),
    "bad one of several": (
        feature("{sum: amount, over: [1h, 24x]}"),
        [("p.yaml:6:35: features.spent.over[1]: '24x'" + NO_DURATION)],
    ),
    "unknown window": (
        feature("{sum: amount, over: {row_between: [-1, 0]}}"),
        [
            (
                "p.yaml:6:24: features.spent.over: a window is named by one of its kinds, got 'row_between'. Did "
                "you mean 'rows_between'?"
            )
        ],
    ),
    "two windows in one": (
        feature("{sum: amount, over: {rows: 3, time: 1h}}"),
        [
            (
                "p.yaml:6:24: features.spent.over: a window is named by one of its kinds, got 'rows', 'time'. "
                "There are: rows, time, rows_between, range_between, groups_between, delta, punctuation, session"
            )
        ],
    ),
    "window crosses": (
        feature("{sum: amount, over: {rows_between: [3, -3]}}"),
        [
            (
                "p.yaml:6:24: features.spent.over: rows_between: the start 3 is after the end -3, so that every "
                "frame is empty. Negative is preceding, positive is following"
            )
        ],
    ),
    "window one bound": (
        feature("{sum: amount, over: {rows_between: [3]}}"),
        ["p.yaml:6:24: features.spent.over: rows_between takes start, end, exclude: missing 'end'"],
    ),
    "window parameter": (
        feature("{sum: amount, over: {rows: 3, minrows: 2}}"),
        ["p.yaml:6:24: features.spent.over: rows has no parameter 'minrows'. Did you mean 'min_rows'?"],
    ),
    "window in list without as": (
        feature("{sum: amount, over: [1h, {rows_between: [-9, 0]}]}"),
        [
            (
                "p.yaml:6:35: features.spent.over[1]: one window of several is named by as:, as in "
                "{rows_between: [-9, 0], as: around}"
            )
        ],
    ),
    "column twice": (
        feature("{sum: amount, over: [1h, 1h]}"),
        ["p.yaml:6:35: features.spent.over[1]: a feature 'spent_1h' is there already, from spent"],
    ),
    "column twice by name": (
        having("features:\n", "features:\n  spent_1h: {max: amount, over: 1h}\n").replace(
            "over: 1h}\nsink", "over: [1h]}\nsink"
        ),
        ["p.yaml:7:31: features.spent.over[0]: a feature 'spent_1h' is there already, from spent_1h"],
    ),
    "where a number": (
        feature("{sum: amount, over: 1h, where: 5}"),
        [("p.yaml:6:41: features.spent.where: where: is a condition in Spark SQL, as in where: amount > 10, got 5")],
    ),
    "where empty": (
        feature("{sum: amount, over: 1h, where: ' '}"),
        [("p.yaml:6:41: features.spent.where: where: is a condition in Spark SQL, as in where: amount > 10, got ' '")],
    ),
    "unknown algorithm": (
        feature("{sum: amount, over: 1h, algorithm: fast}"),
        [
            (
                "p.yaml:6:45: features.spent.algorithm: there is no algorithm 'fast'. There are: "
                + ", ".join(ALGORITHM_NAMES)
            )
        ],
    ),
    "illegal algorithm": (
        feature("{max: amount, over: 1h, algorithm: subtract_on_evict}"),
        [
            (
                "p.yaml:6:45: features.spent.algorithm: subtract_on_evict needs an aggregation that is "
                "invertible, and max is not. Use two_stacks, two_stacks_lite, daba, daba_lite or another one"
            )
        ],
    ),
    "algorithm with a wrong option": (
        feature("{max: amount, over: 1h, algorithm: fiba(arity=1)}"),
        [
            (
                "p.yaml:6:45: features.spent.algorithm: fiba: the arity is the fewest children of a node, an integer "
                "from 2 to 1024, got 1. The default is 12, the paper's is 4"
            )
        ],
    ),
    "of without use": (
        feature("{sum: amount, of: [a], over: 1h}"),
        [("p.yaml:6:24: features.spent.of: of: names the columns of a class of your own, and there is no use:")],
    ),
    "use: no colon": (
        feature("{use: features, of: [amount], over: 1h}"),
        [
            (
                'p.yaml:6:16: features.spent.use: use: names a file and a class in it, as in "features:Vwap", '
                "got 'features'"
            )
        ],
    ),
    "use: no file": (
        feature('{use: "featurs:Vwap", of: [amount], over: 1h}'),
        [
            (
                "p.yaml:6:16: features.spent.use: there is no featurs.py beside the pipeline, nor a module "
                "'featurs'. Did you mean 'features'?"
            )
        ],
    ),
    "use: no class": (
        feature('{use: "features:Vwp", of: [amount, amount], over: 1h}'),
        ["p.yaml:6:16: features.spent.use: features has no 'Vwp'. Did you mean 'Vwap'?"],
    ),
    "use: no aggregation": (
        feature('{use: "features:helper", of: [amount], over: 1h}'),
        [
            (
                "p.yaml:6:16: features.spent.use: features:helper is a function and no aggregation. Derive a "
                "class from sw.Aggregation"
            )
        ],
    ),
    "use: file fails": (
        feature('{use: "broken:Vwap", of: [amount], over: 1h}'),
        ["p.yaml:6:16: features.spent.use: broken.py, line 3, fails: ZeroDivisionError: division by zero"],
    ),
    "use: no Python": (
        feature('{use: "syntax:Vwap", of: [amount], over: 1h}'),
        ["p.yaml:6:16: features.spent.use: syntax.py, line 1, fails: SyntaxError: invalid syntax"],
    ),
    "use: number of columns": (
        feature('{use: "features:Vwap", of: [amount], over: 1h}'),
        ["p.yaml:6:33: features.spent.of: Vwap takes 2 columns or none, got 1: ['amount']"],
    ),
    "use: without of": (
        feature('{use: "features:Vwap", over: 1h}'),
        ["p.yaml:6:3: features.spent: say of which columns features:Vwap is, as in of: [price, size]"],
    ),
    "over with window": (
        more("window: {over: 1h, every: 1m}\n"),
        [("p.yaml:6:24: features.spent.over: window: says over which window all features are. Leave out over:")],
    ),
    "window without every": (
        slide("{over: 1h}"),
        ["p.yaml:8:1: window: 'every' is missing: the slide: 1m, or 10 rows. Sessions alone have none"],
    ),
    "session with every": (
        slide("{over: {session: 30m}, every: 1m}"),
        ["p.yaml:8:39: window.every: a session ends by itself: leave out every:"],
    ),
    "window bad every": (
        slide("{over: 1h, every: soon}"),
        [("p.yaml:8:27: window.every: 'soon'" + NO_DURATION)],
    ),
    "window every zero": (
        slide("{over: 1h, every: 0s}"),
        [
            (
                'p.yaml:8:27: window.every: time: the size must be positive, got "0s". The window always reaches back '
                "from the row"
            )
        ],
    ),
    "sink empty": (
        having("{format: parquet, path: out}", "{}"),
        [("p.yaml:7:1: sink: say where results go: format: and path: of files, or table: and url: of a database")],
    ),
    "sink table without url": (
        having("{format: parquet, path: out}", "{table: t}"),
        ["p.yaml:7:1: sink: a table needs a url:, as in postgresql://host/database"],
    ),
    "sink table and path": (
        having("{format: parquet, path: out}", "{table: t, url: u, path: p}"),
        ["p.yaml:7:1: sink: table: and path: are two targets. Leave one out"],
    ),
    "upsert without keys": (
        having("{format: parquet, path: out}", "{table: t, url: u, mode: upsert}"),
        ["p.yaml:7:1: sink: mode: upsert needs keys: [...], the columns that tell rows apart"],
    ),
    "upsert of files": (
        having("path: out", "path: out, mode: upsert"),
        ["p.yaml:7:1: sink: mode: upsert and keys: are for tables. Files have every row: leave them out"],
    ),
    "sink unknown mode": (
        having("path: out", "path: out, mode: overwrite"),
        ["p.yaml:7:42: sink.mode: expects 'append' or 'upsert', got 'overwrite'"],
    ),
    "trigger": (
        more("run: {trigger: 10 quick}\n"),
        [("p.yaml:8:16: run.trigger: '10 quick'" + NO_DURATION)],
    ),
    "emit": (
        more("run: {emit: always}\n"),
        ["p.yaml:8:13: run.emit: expects 'watermark', 'arrival' or 'changes', got 'always'"],
    ),
    "buckets zero": (
        more("run: {buckets: 0}\n"),
        ["p.yaml:8:16: run.buckets: expects a number from 1 on, got 0"],
    ),
    "buckets many": (
        more("run: {buckets: 5000}\n"),
        ["p.yaml:8:16: run.buckets: expects a number up to 4096, got 5000"],
    ),
    "partitions text": (
        more("run: {partitions: many}\n"),
        ["p.yaml:8:19: run.partitions: expects a whole number, got 'many'"],
    ),
    "partitions fraction": (
        more("run: {partitions: 1.5}\n"),
        ["p.yaml:8:19: run.partitions: expects a whole number, got 1.5"],
    ),
    "slices text": (
        more("run: {slices: perhaps}\n"),
        ["p.yaml:8:15: run.slices: expects true or false, got 'perhaps'"],
    ),
    "prepare a list": (
        more("prepare: [SELECT 1]\n"),
        ["p.yaml:8:1: prepare: expects a text or a mapping, got a list"],
    ),
    "prepare step a number": (
        more("prepare: {a: 1}\n"),
        ["p.yaml:8:14: prepare.a: expects a text, got 1"],
    ),
    "prepare step named source": (
        more("prepare: {source: SELECT 1}\n"),
        ["p.yaml:8:1: prepare: a step is named by a word other than source, got 'source'"],
    ),
    "prepare step named badly": (
        more("prepare: {my step: SELECT 1}\n"),
        ["p.yaml:8:1: prepare: a step is named by a word other than source, got 'my step'"],
    ),
    "tests a mapping": (
        more("tests: {given: [], expect: []}\n"),
        ["p.yaml:8:1: tests: expects a list, got a mapping"],
    ),
    "test without expect": (
        more("tests:\n- {given: []}\n"),
        [("p.yaml:9:3: tests[0]: 'expect' is missing: rows of the result; only the columns named here are compared")],
    ),
    "test rows no mapping": (
        more("tests:\n- {given: [5], expect: []}\n"),
        ["p.yaml:9:12: tests[0].given[0]: expects a mapping, got 5"],
    ),
    "unknown variable": (
        having("path: data", 'path: "${lak}/data"') + "vars: {lake: x}\n",
        ["p.yaml:2:33: source.path: there is no variable 'lak'. Did you mean 'lake'?"],
    ),
    "no variables": (
        having("path: data", 'path: "${lake}/data"'),
        ["p.yaml:2:33: source.path: there is no variable 'lake'. There are none: define it under vars:"],
    ),
    "variable not closed": (
        having("path: data", 'path: "${lake"'),
        ["p.yaml:2:33: source.path: '${' has no closing '}'. Text that begins so is written $${"],
    ),
    "variables in a circle": (
        having("path: data", 'path: "${a}"') + "vars: {a: '${b}', b: '${c}', c: '${a}'}\n",
        ["p.yaml:2:33: source.path: the variable 'a' is defined by itself: a -> b -> c -> a"],
    ),
    "variable of itself": (
        having("path: data", 'path: "${a}"') + "vars: {a: 'x${a}'}\n",
        ["p.yaml:2:33: source.path: the variable 'a' is defined by itself: a -> a"],
    ),
    "variable a list": (
        having("path: data", 'path: "${a}"') + "vars: {a: [1]}\n",
        ["p.yaml:2:33: source.path: the variable 'a' is a text or a number, got [1]"],
    ),
    "variable empty": (
        having("path: data", 'path: "${a}"') + "vars: {a: }\n",
        ["p.yaml:2:33: source.path: the variable 'a' is a text or a number, got nothing"],
    ),
    "vars a list": (
        more("vars: [a]\n"),
        ["p.yaml:8:1: vars: expects a mapping, got a list"],
    ),
    "environment": (
        having("path: data", 'path: "${env:SLIDEWISE_NOT_SET}"'),
        [("p.yaml:2:33: source.path: the environment has no SLIDEWISE_NOT_SET. Set it: export SLIDEWISE_NOT_SET=...")],
    ),
}

#: the same, of what Spark knows: columns, types, SQL
ON_SPARK = {
    "no source": (
        RIGHT.replace(RIGHT.splitlines()[1] + "\n", ""),
        ["p.yaml:1:1: 'source' is missing: where rows come from"],
    ),
    "feature of a missing column": (
        feature("{sum: amont, over: 1h}"),
        ["p.yaml:6:3: features.spent: there is no column 'amont'. Did you mean 'amount'?"],
    ),
    "sum of a text": (
        feature("{sum: merchant, over: 1h}"),
        [
            (
                "p.yaml:6:3: features.spent: sum: the column 'merchant' is of string, and sum takes numbers or "
                "durations. Max, min, mode, percentile_disc, count_distinct, first and last take it, string_agg "
                "too"
            )
        ],
    ),
    "missing key": (
        having("keys: [card]", "keys: [crd]"),
        ["p.yaml:3:8: keys[0]: there is no column 'crd'. Did you mean 'card'?"],
    ),
    "missing time": (
        having("column: at", "column: att"),
        ["p.yaml:4:16: time.column: there is no column 'att'. Did you mean 'at'?"],
    ),
    "time a text": (
        having("column: at", "column: merchant"),
        [
            (
                "p.yaml:4:16: time.column: the time of events is a timestamp, and 'merchant' is string. Cast it "
                "in prepare:, as in SELECT *, CAST(... AS timestamp) AS merchant FROM source"
            )
        ],
    ),
    "time a date": (
        having("at timestamp", "at date"),
        [
            (
                "p.yaml:4:16: time.column: the time of events is a timestamp, and 'at' is date. Cast it in "
                "prepare:, as in SELECT *, CAST(... AS timestamp) AS at FROM source"
            )
        ],
    ),
    "missing then": (
        having("column: at", "column: at, then: [sqe]"),
        ["p.yaml:4:27: time.then[0]: there is no column 'sqe'. There are: card, at, amount, merchant"],
    ),
    "several": (
        having("keys: [card]", "keys: [crd]").replace("sum: amount", "sum: amont") + "prepare: SELECT * FROM source\n",
        [
            "p.yaml:3:8: keys[0]: there is no column 'crd'. Did you mean 'card'?",
            "p.yaml:6:3: features.spent: there is no column 'amont'. Did you mean 'amount'?",
        ],
    ),
    "two features": (
        having("features:\n", "features:\n  top: {max: amout, over: 1d}\n").replace("sum: amount", "sum: amont"),
        [
            "p.yaml:6:3: features.top: there is no column 'amout'. Did you mean 'amount'?",
            "p.yaml:7:3: features.spent: there is no column 'amont'. Did you mean 'amount'?",
        ],
    ),
    "where a missing column": (
        feature("{sum: amount, over: 1h, where: amont > 10}"),
        [
            (
                "p.yaml:6:41: features.spent.where: A column, variable, or function parameter with name `amont` "
                "cannot be resolved. Did you mean one of the following? [`amount`, `at`, `card`, `merchant`]."
            )
        ],
    ),
    "where no condition": (
        feature("{sum: amount, over: 1h, where: amount + 1}"),
        ["p.yaml:6:41: features.spent.where: a condition is true or false, and 'amount + 1' is double"],
    ),
    "where no SQL": (
        feature("{sum: amount, over: 1h, where: amount >}"),
        ["p.yaml:6:41: features.spent.where: Syntax error at or near end of input."],
    ),
    "where an identifier that is missing": (
        feature("{sum: amount, over: 1h, where: good}"),
        ["p.yaml:6:3: features.spent: there is no column 'good'. There are: card, at, amount, merchant"],
    ),
    "prepare no SQL": (
        more("prepare: SELEC * FROM source\n"),
        ["p.yaml:8:10: prepare: Syntax error at or near 'SELEC'."],
    ),
    "prepare a missing column": (
        more("prepare: SELECT amont FROM source\n"),
        [
            (
                "p.yaml:8:10: prepare: A column, variable, or function parameter with name `amont` cannot be "
                "resolved. Did you mean one of the following? [`amount`, `at`, `card`, `merchant`]."
            )
        ],
    ),
    "prepare a missing table": (
        more("prepare: SELECT * FROM sorce\n"),
        [
            (
                "p.yaml:8:10: prepare: The table or view `sorce` cannot be found. Verify the spelling and "
                "correctness of the schema and catalog."
            )
        ],
    ),
    "prepare second step": (
        more("prepare:\n  good: SELECT * FROM source WHERE amount > 0\n  better: SELECT * FROM god\n"),
        [
            (
                "p.yaml:10:11: prepare.better: The table or view `god` cannot be found. Verify the spelling and "
                "correctness of the schema and catalog."
            )
        ],
    ),
    "prepare drops the key": (
        more("prepare: SELECT at, amount FROM source\n"),
        ["p.yaml:3:8: keys[0]: there is no column 'card'. There are: at, amount"],
    ),
    "schema no types": (
        having("card string,", "card strin,"),
        ['p.yaml:2:47: source.schema: Unsupported data type "STRIN".'],
    ),
    "schema no schema": (
        having("card string,", "card,"),
        ["p.yaml:2:47: source.schema: Syntax error at or near ','."],
    ),
    "no such format": (
        RIGHT.replace(
            'format: parquet, path: data, schema: "card string, at timestamp, amount double, merchant string"',
            "format: parket, path: data",
        ),
        [
            (
                "p.yaml:2:1: source: Failed to find the data source: parket. Make sure the provider name is "
                "correct and the package is properly registered and compatible with your Spark version."
            )
        ],
    ),
    "no such path": (
        RIGHT.replace(', schema: "card string, at timestamp, amount double, merchant string"', ""),
        ["p.yaml:2:1: source: Path does not exist: file:FOLDER/data."],
    ),
    "given column": (
        more("tests:\n- {given: [{crd: a}], expect: []}\n"),
        ["p.yaml:9:18: tests[0].given[0].crd: there is no column 'crd'. Did you mean 'card'?"],
    ),
    "expected column": (
        more("tests:\n- {given: [], expect: [{spend: 1}]}\n"),
        ["p.yaml:9:32: tests[0].expect[0].spend: there is no column 'spend'. Did you mean 'spent'?"],
    ),
    "sink key": (
        RIGHT.replace("{format: parquet, path: out}", "{table: t, url: u, mode: upsert, keys: [crd]}"),
        ["p.yaml:7:47: sink.keys[0]: there is no column 'crd'. Did you mean 'card'?"],
    ),
    "range by two columns": (
        having("column: at", "column: at, then: [merchant]"),
        [
            (
                "p.yaml:6:30: features.spent.over: a window by time is measured along the time alone: leave out "
                "time.then, or count rows"
            )
        ],
    ),
    "delta of a text": (
        feature("{sum: amount, over: {delta: [merchant, 3]}}"),
        [
            (
                "p.yaml:6:3: features.spent: the column 'merchant' is of string, and distances need numbers or "
                'times. It is text, which has no distances: parse it first, as in pd.to_datetime(df["merchant"]) '
                'in pandas, pl.col("merchant").str.to_datetime() in polars, to_timestamp("merchant") in Spark, '
                "or into numbers"
            )
        ],
    ),
    "history without rows": (
        having("path: data", "path: data, history: {format: parquet, path: past}")
        .replace(', schema: "card string, at timestamp, amount double, merchant string"', "")
        .replace("format: parquet, path: data", "format: rate"),
        ["p.yaml:2:24: source.history: Path does not exist: file:FOLDER/past."],
    ),
    "history with a wrong schema": (
        having("path: data", "path: data, history: {format: parquet, path: past, schema: card strin}"),
        ['p.yaml:2:86: source.history.schema: Unsupported data type "STRIN".'],
    ),
    "history with other columns": (
        having("path: data", "path: data, history: {format: parquet, path: past, schema: 'card string, amount int'}"),
        [
            (
                "p.yaml:2:39: source.history: a history has the columns of the source, once both are prepared, and "
                "in it 'at' is missing and not timestamp, 'amount' is int and not double, 'merchant' is missing "
                "and not string. Give it a prepare: of its own, which selects and casts them"
            )
        ],
    ),
    "history with a wrong prepare": (
        having("path: data", "path: data, history: {format: parquet, path: past, prepare: SELECT crd FROM source}"),
        [
            (
                "p.yaml:2:87: source.history.prepare: A column, variable, or function parameter with name `crd` "
                "cannot be resolved. Did you mean one of the following? [`card`, `at`, `amount`, `merchant`]."
            )
        ],
    ),
    "history that cannot be prepared": (
        having("path: data", "path: data, history: {format: parquet, path: past, schema: card string}")
        + "prepare: SELECT card, at, amount FROM source WHERE amount > 0\n",
        [
            (
                "p.yaml:2:39: source.history: prepare: A column, variable, or function parameter with name "
                "`amount` cannot be resolved. Did you mean one of the following? [`card`]."
            )
        ],
    ),
    "punctuation of a number": (
        feature("{sum: amount, over: {punctuation: amount}}"),
        ["p.yaml:6:3: features.spent: punctuation: the column 'amount' must be boolean, and is of double"],
    ),
    "time window without time": (
        RIGHT.replace("time: {column: at, max_delay: 10m}\n", ""),
        ["p.yaml:5:30: features.spent.over: a window by time needs time:, as in time: {column: at}"],
    ),
}

#: the same for a stream
ON_STREAMS = {
    "no delay": (
        having(", max_delay: 10m", ""),
        ["p.yaml:4:1: time: a stream needs max_delay:, how late rows may come, as in max_delay: 10m"],
    ),
    "no time": (
        having("time: {column: at, max_delay: 10m}\n", "").replace("1h", "3 rows"),
        ["p.yaml:1:1: a stream needs time:, as in time: {column: at, max_delay: 10m}"],
    ),
    "unbounded": (
        feature("{mode: amount, over: {rows_between: [-unbounded, 0]}}"),
        [
            (
                "p.yaml:6:3: features.spent: spent: the frame rows_between(-UNBOUNDED, 0) begins with its key, "
                "and mode needs all of its values, and not one total of a fixed size: the state would grow "
                'without end. Give it a length, as in sw.time("30d"), or compute it in a batch'
            )
        ],
    ),
    "unbounded ahead": (
        feature("{sum: amount, over: {rows_between: [0, unbounded]}}"),
        [
            (
                "p.yaml:6:3: features.spent: spent: the frame rows_between(0, UNBOUNDED) ends with its key, and "
                "a stream does not end"
            )
        ],
    ),
    "ahead and keep": (
        having("max_delay: 10m", "max_delay: 10m, late: revise, keep: 1h")
        .replace("{sum: amount, over: 1h}", "{sum: amount, over: {punctuation: flag}}")
        .replace("merchant string", "flag boolean"),
        [
            (
                'p.yaml:6:3: features.spent: spent: late="revise" needs results that stay apart when a row comes '
                'between, and those of punctuation("flag") do not: a late row moves every punctuation after it. '
                'Use late="drop"'
            )
        ],
    ),
}

#: a value of an example, and its mistake
VALUES = {
    "card: 5": ("p.yaml:10:12: tests[0].given[0].card: expects a value of the type string, got 5. Put it in quotes"),
    "amount: x": "p.yaml:10:14: tests[0].given[0].amount: expects a value of the type double, got 'x'",
    "at: soon": (
        "p.yaml:10:10: tests[0].given[0].at: expects a value of the type timestamp, got 'soon'. Write it "
        "as 2026-01-01T00:00:00"
    ),
    "at: 5": (
        "p.yaml:10:10: tests[0].given[0].at: expects a value of the type timestamp, got 5. Write it as "
        "2026-01-01T00:00:00"
    ),
    "n: 1.5": "p.yaml:10:9: tests[0].given[0].n: expects a value of the type int, got 1.5",
    "n: 3000000000": "p.yaml:10:9: tests[0].given[0].n: expects a value of the type int, got 3000000000",
    "flag: 1": "p.yaml:10:12: tests[0].given[0].flag: expects a value of the type boolean, got 1",
    "day: 2026-01-01T00:00:00": (
        "p.yaml:10:11: tests[0].given[0].day: expects a value of the type date, got 2026-01-01 00:00:00"
    ),
    "cost: much": "p.yaml:10:12: tests[0].given[0].cost: expects a value of the type decimal(9,2), got 'much'",
    "tags: a": "p.yaml:10:12: tests[0].given[0].tags: expects a value of the type array<string>, got 'a'",
    "cost: 12345678901.5": (
        "p.yaml:10:12: tests[0].given[0].cost: expects a value of the type decimal(9,2), got 12345678901.5"
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLIDEWISE_NOT_SET", raising=False)
    for name, text in MODULES.items():
        Path(name).write_text(text)
    return tmp_path


def test_the_right_file_is_right(folder):
    Path(FILE).write_text(RIGHT)
    assert list(load(FILE).features) == ["spent"]


@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_file_is_told_what_is_wrong(name, folder):
    text, messages = MISTAKES[name]
    Path(FILE).write_text(text)
    with pytest.raises(InvalidPipeline) as error:
        load(FILE)
    assert str(error.value).splitlines() == messages


def test_what_is_no_file(folder):
    told = {}
    Path("folder").mkdir()
    Path("huge.yaml").write_text("name: x\n" + "#" * MOST_BYTES)
    Path("latin.yaml").write_bytes("name: café\n".encode("latin-1"))
    Path("none.py").write_text("x = 1\n")
    Path("other.py").write_text("pipeline = 1\n")
    for file in ("missing.yaml", "folder", "huge.yaml", "latin.yaml", "missing.py", "none.py", "other.py"):
        with pytest.raises(InvalidPipeline) as error:
            load(file)
        told[file] = str(error.value)
    assert told == {
        "missing.yaml": "missing.yaml cannot be read: No such file or directory",
        "folder": "folder cannot be read: Is a directory",
        "huge.yaml": "huge.yaml has 1,048,584 bytes, and a pipeline has a few thousand. Is it the data?",
        "latin.yaml": "latin.yaml is no text in UTF-8: byte 9 is 0xe9",
        "missing.py": "missing.py cannot be read: No such file or directory",
        "none.py": "none.py has no object pipeline: write pipeline = sw.Pipeline(...)",
        "other.py": "other.py has no object pipeline: write pipeline = sw.Pipeline(...)",
    }


def test_a_variable_that_the_file_does_not_have(folder):
    Path(FILE).write_text(having("path: data", 'path: "${lake}"') + "vars: {lake: data}\n")
    assert load(FILE, {"lake": "sea"}).definition.source.path == "sea"
    with pytest.raises(InvalidPipeline, match=r"--var lak=\.\.\.: there is no variable 'lak' under vars:"):
        load(FILE, {"lak": "sea"})


def test_secrets_are_in_no_message(folder, monkeypatch):
    monkeypatch.setenv("SLIDEWISE_SECRET", "hunter22")
    Path(FILE).write_text(feature("{sum: amount, over: '${env:SLIDEWISE_SECRET}'}"))
    with pytest.raises(InvalidPipeline) as error:
        load(FILE)
    assert str(error.value).startswith("p.yaml:6:30: features.spent.over: '***' is not a duration.")


@pytest.fixture(scope="module")
def session():
    with open_session(Screen(), master="local[1]") as session:
        yield session


@pytest.mark.full
def test_what_spark_knows_is_checked(folder, session):
    """One test for all: a session takes longer to start than these do together."""
    told, expected = {}, {}
    for streaming, table in ((False, ON_SPARK), (True, ON_STREAMS)):
        for name, (text, messages) in table.items():
            Path(FILE).write_text(text)
            with pytest.raises(InvalidPipeline) as error:
                check_pipeline(session, load(FILE), streaming=streaming)
            told[name] = str(error.value).replace(str(folder), "FOLDER").splitlines()
            expected[name] = messages
    for value, message in VALUES.items():
        kinds = "n int, flag boolean, day date, cost decimal(9,2), tags array<string>"
        rows = f"tests:\n- given:\n  - {{{value}}}\n  expect: []\n"
        Path(FILE).write_text(having("merchant string", kinds) + rows)
        with pytest.raises(InvalidPipeline) as error:
            Examples(session, load(FILE))
        told[value], expected[value] = str(error.value).splitlines(), [message]
    assert told == expected
