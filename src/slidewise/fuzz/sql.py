"""The target `sql`: random queries with windows, `slidewise.spark.sql` beside `spark.sql`.

Queries are drawn so that their answer does not hang on the order of equal rows: frames by rows, and aggregates that
tell rows apart, are ordered by `id`, which is unique. A query that Spark refuses, or fails at, says nothing.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from slidewise.aggregations.values import are_close

ABOUT = "queries with windows, slidewise.spark.sql against spark.sql: the same columns, types and rows."

#: so many queries are run by one job
BATCH = 20
#: small data, and nothing compiled for it: a query of 24 rows takes a fifth of the time
SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ansi.enabled": "true",
}
_PROGRESS = "spark.ui.showConsoleProgress"
TABLE = """
    SELECT id, CASE id % 3 WHEN 0 THEN 'a' WHEN 1 THEN 'b' END AS k, id % 2 = 0 AS b,
        CASE WHEN id % 7 > 0 THEN CAST(id * 5 % 11 AS INT) END AS i, CAST(id * 3 % 8 AS SMALLINT) AS h,
        CASE id % 9 WHEN 4 THEN double('nan') WHEN 5 THEN NULL ELSE id * 7 % 13 / 4D END AS x,
        CAST(id * 7 % 10 / 10 AS FLOAT) AS f, CAST(id * 11 % 17 AS DECIMAL(9, 2)) / 4 AS c,
        CASE WHEN id % 5 > 0 THEN CAST(id % 4 AS STRING) END AS s, CAST(CAST(id % 3 AS STRING) AS BINARY) AS bin,
        date'2024-02-25' + CAST(id * 2 % 9 AS INT) AS d, timestamp'2024-03-30 20:00:00' + make_dt_interval(0,
            CAST(id * 5 % 24 AS INT)) AS ts, timestamp_ntz'2024-03-30 20:00:00' + make_dt_interval(0,
            CAST(id * 7 % 24 AS INT)) AS tn, make_dt_interval(CAST(id % 4 AS INT)) AS iv,
        make_ym_interval(0, CAST(id % 5 AS INT)) AS ym, named_struct('p', id % 2, 'q', CAST(id % 3 AS STRING)) AS st,
        array(id % 2, id % 3) AS ar, collate(CASE id % 3 WHEN 0 THEN 'A' ELSE 'a' END, 'UTF8_LCASE') AS co, NULL AS nil
    FROM range(24)"""

NUMBERS = ("i", "h", "x", "f", "c", "id", "i + h", "x * 2", "i % 3", "CASE WHEN b THEN i ELSE h END", "abs(i - 5)",
           "coalesce(x, 0)", "c + 1", "-h", "id DIV 3")  # fmt: skip
ANY = (*NUMBERS, "s", "k", "b", "bin", "d", "ts", "tn", "iv", "co", "upper(k)", "s || k", "ym", "st", "ar", "nil")
#: what can be summed: a text that is no number would fail the query, and those that share its job run once more
SUMMED = (*NUMBERS, "s", "iv", "ym", "nil")
CONDITIONS = ("b", "i > 3", "x IS NOT NULL", "s IN ('1', '2')", "k = 'a' OR h < 4", "NOT b", "f <= 0.5")
KEYS = ("k", "b", "s", "i % 3", "h", "upper(k)", "d", "st", "ar", "co", "bin", "nil", "window(ts, '1 day')",
        "CASE WHEN b THEN k END")  # fmt: skip
#: conditions with queries of their own
IN_QUERIES = (
    "id IN (SELECT max(id) OVER (PARTITION BY k) FROM fuzz)",
    "EXISTS (SELECT 1 FROM (SELECT h, max(i) OVER (PARTITION BY k) AS m FROM fuzz) AS g WHERE g.m > fuzz.i)",
    "i > (SELECT avg(m) FROM (SELECT sum(i) OVER (ORDER BY id ROWS 1 PRECEDING) AS m FROM fuzz))",
)
#: orders and the offsets that go with them
ORDERS = {
    "i": ("1", "2", "3L", "1.5", "'2'"), "h": ("1", "4"), "id": ("2", "5"), "x": ("0.5", "1", "'1.5'"),
    "f": ("0.1", "0.3D", "1"), "c": ("0.25", "1", "0.5"), "d": ("2", "INTERVAL 2 DAYS", "INTERVAL 1 MONTH"),
    "ts": ("INTERVAL 5 HOURS", "INTERVAL '1' DAY", "INTERVAL '1:30' HOUR TO MINUTE"),
    "tn": ("INTERVAL 5 HOURS", "INTERVAL 1 DAY"), "iv": ("INTERVAL 1 DAY",), "ym": ("INTERVAL 1 MONTH",),
    "-i": ("1", "2"), "k": (), "s": (), "b": (), "st": (), "co": (), "i, h": (), "x, s": (),
}  # fmt: skip
#: aggregates of which the order of rows makes no difference; {n} is a number, {c} may become one, {a} is anything
AGGREGATES = (
    "sum({n})", "sum({c})", "avg({n})", "avg({c})", "count(*)", "count({a})", "count({a}, {a})", "min({a})", "max({a})",
    "stddev({n})", "variance({n})", "var_pop({n})", "stddev_pop({n})", "skewness({n})", "kurtosis({n})",
    "corr({n}, {n})", "covar_samp({n}, {n})", "covar_pop({n}, {n})", "count_if({w})", "every({w})", "some({w})",
    "bool_or({w})", "bit_or(h)", "bit_and(i)", "max_by({a}, id)", "min_by({a}, -id)", "regr_slope({n}, {n})",
    "try_sum({n})", "stddev(s)", "any(b)", "mean({n})", "std({n})",
)  # fmt: skip
#: those that need the rows in order
ORDERED = (
    "first({a})", "last({a})", "first_value({a}) IGNORE NULLS", "last_value({a}) IGNORE NULLS", "nth_value({a}, 2)",
    "any_value({a})", "collect_list({a})", "array_agg({n})", "listagg(s, '-')", "listagg(i)", "string_agg(k)",
    "row_number()", "rank()", "dense_rank()", "lag({a})", "lead({n}, 2, 0)", "ntile(3)", "percent_rank()",
    "cume_dist()",
)  # fmt: skip
#: those that Spark has for whole partitions only
WHOLE = (
    "median({n})", "percentile({n}, 0.3)", "percentile_cont(0.25) WITHIN GROUP (ORDER BY {n})", "mode({n}, true)",
    "percentile_cont(0.75) WITHIN GROUP (ORDER BY {n} DESC)", "percentile_disc(0.5) WITHIN GROUP (ORDER BY {n})",
)  # fmt: skip
NO_FRAME = ("row_number", "rank", "dense_rank", "lag", "lead", "ntile", "percent_rank", "cume_dist")
AROUND = ("{}", "{}", "{}", "({}, id)", "CAST({} AS STRING)", "coalesce({}, NULL)", "CASE WHEN b THEN {} END",
          "{} IS NULL", "array({})", "CASE WHEN i > 3 THEN 12 / i ELSE 0 END, {}", "struct(fuzz.k, {}, k)",
          "i IN (SELECT h FROM fuzz) AND {} IS NOT NULL", "(SELECT max(i) FROM fuzz), {}",
          "(SELECT max(g.i) FROM fuzz AS g WHERE g.h = fuzz.h), {}")  # fmt: skip
#: what a SELECT reads; each has the columns of fuzz, by that name
TABLES = (
    "fuzz", "fuzz", "fuzz", "fuzz LEFT JOIN (SELECT id AS other, x AS z FROM fuzz WHERE b) ON h = other",
    "fuzz JOIN (SELECT DISTINCT h AS other FROM fuzz) AS o ON o.other = i",
    "fuzz LATERAL VIEW explode(array(1)) AS one",
    "(SELECT * FROM fuzz WHERE h > 1) AS fuzz", "(SELECT * FROM fuzz ORDER BY id LIMIT 20) AS fuzz",
)  # fmt: skip
#: the ends of queries whose first column is unique: their rows are compared in order
SORTED = re.compile(r"ORDER BY (ALL|id|1)( ASC| DESC)?( NULLS (FIRST|LAST))?( LIMIT \d+)?( OFFSET \d+)?$")


# ---- queries
class Draw:
    """One query from a random state."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.named: dict[str, str] = {}

    def choice(self, among: Sequence[Any]) -> Any:
        return self.rng.choice(among)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def fill(self, template: str) -> str:
        """Fill a template with expressions."""
        for place, among in (("{n}", NUMBERS), ("{c}", SUMMED), ("{a}", ANY), ("{w}", CONDITIONS)):
            while place in template:
                template = template.replace(place, self.choice(among), 1)
        return template

    # ---- windows
    def partition(self) -> str:
        keys = self.rng.sample(KEYS, self.choice((0, 1, 1, 2)))
        return f"PARTITION BY {', '.join(keys)}" if keys else ""

    def direction(self) -> str:
        return str(self.choice(("", "", " ASC", " DESC", " DESC NULLS FIRST", " NULLS LAST")))

    def rows_window(self) -> str:
        """Rows in an order without ties, and a frame by ROWS, or none."""
        before = "" if self.chance(0.5) else f"{self.choice(list(ORDERS))}{self.direction()}, "
        bounds = [
            "UNBOUNDED PRECEDING",
            "3 PRECEDING",
            "1 PRECEDING",
            "CURRENT ROW",
            "2 FOLLOWING",
            "UNBOUNDED FOLLOWING",
        ]
        first = self.rng.randrange(5)
        last = self.rng.randrange(max(first, 1), 6)
        crossing = self.choice(
            ("1 FOLLOWING AND CURRENT ROW", "CURRENT ROW AND 1 PRECEDING", "-1 FOLLOWING AND 0 FOLLOWING")
        )
        between = f"{bounds[first]} AND {bounds[last]}" if self.chance(0.9) else crossing
        frame = self.choice(("", "ROWS 2 PRECEDING", f"ROWS BETWEEN {between}"))
        return f"{self.partition()} ORDER BY {before}id{self.choice(('', ' DESC'))} {frame}"

    def range_window(self) -> str:
        """Rows with ties, and a frame by RANGE, or none."""
        order = self.choice(list(ORDERS))
        offsets = ORDERS[order]
        if not offsets or self.chance(0.3):
            frame = self.choice(("", "RANGE UNBOUNDED PRECEDING", "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"))
        else:
            start = self.choice((f"{self.choice(offsets)} PRECEDING", "CURRENT ROW", "UNBOUNDED PRECEDING"))
            end = self.choice((f"{self.choice(offsets)} FOLLOWING", "CURRENT ROW", "UNBOUNDED FOLLOWING"))
            frame = f"RANGE BETWEEN {start} AND {end}"
        return f"{self.partition()} ORDER BY {order}{self.direction()} {frame}"

    def window(self, kinds: Sequence[Callable[[], str]]) -> str:
        kind = self.choice(kinds)
        spec = kind()
        if not self.chance(0.3):
            return f"OVER ({spec})"
        name = f"w{len(self.named)}"
        self.named[name] = spec
        return f"OVER {name}"

    def call(self) -> str:
        """Draw a function over a window."""
        group = self.choice((AGGREGATES, AGGREGATES, AGGREGATES, ORDERED, WHOLE))
        function = self.fill(self.choice(group))
        if group is WHOLE:
            return f"{function} OVER ({self.partition()})"
        if group is ORDERED:
            if function.split("(")[0] in NO_FRAME:
                return f"{function} OVER ({self.partition()} ORDER BY id)"
            return f"{function} {self.window([self.rows_window])}"
        over = self.window([self.rows_window, self.range_window, self.partition])
        where = f" FILTER (WHERE {self.choice(CONDITIONS)})" if self.chance(0.2) else ""
        return f"{function}{where} {over}"

    def item(self, k: int) -> str:
        text = self.choice(AROUND).format(self.call())
        if text.startswith("("):
            return f"{text} AS c{k}"
        alias = "" if self.chance(0.1) else f" AS c{k}"
        return f"{text}{alias}"

    # ---- queries
    def clause(self) -> str:
        listed = ", ".join(f"{name} AS ({spec})" for name, spec in self.named.items())
        return f"WINDOW {listed}" if listed else ""

    def select(self) -> str:
        """Draw a SELECT of the columns of a table, and some with windows."""
        table = self.choice(TABLES)
        items = [self.choice(("id", "id, k", "*", "id, upper(k) AS up", "fuzz.id AS id"))]
        self.named = {}
        items += [self.item(k) for k in range(self.choice((1, 2, 3, 5)))]
        if self.chance(0.1):
            items.append(f"{self.call()} AS own, own IS NULL AS later")
        where = self.choice(("", "", f"WHERE {self.choice((*CONDITIONS, *IN_QUERIES))}"))
        qualify = f"QUALIFY {self.call()} IS NOT NULL" if self.chance(0.1) else ""
        if self.chance(0.05):
            return f"FROM {table} SELECT {', '.join(items)} {where} {qualify} {self.clause()}"
        return f"SELECT {', '.join(items)} FROM {table} {where} {qualify} {self.clause()}"

    def group(self) -> str:
        """Windows over aggregates."""
        keys = ", ".join(self.rng.sample(("k", "b", "h", "upper(k)", "i % 3"), self.choice((1, 2))))
        frame = self.choice(("", "ROWS 1 PRECEDING", "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"))
        inner = self.fill(self.choice(("sum(i)", "count(*)", "max({n})", "avg(c)", "min(id)")))
        outer = self.choice(("sum", "max", "avg", "count", "stddev"))
        more = self.choice(("", f", rank() OVER (ORDER BY {keys})", f", {inner} / sum({inner}) OVER () AS r"))
        having = self.choice(("", "HAVING count(*) > 1"))
        by = self.choice((keys, keys, f"ROLLUP ({keys})", f"CUBE ({keys})", "ALL"))
        over = f"OVER (ORDER BY {keys}, {inner}, count(*) {frame})"
        made = self.choice(("", "", "", ", explode(array(1, 2)) AS e", ", posexplode(collect_set(b))"))
        return f"SELECT {keys}, {inner} AS g, {outer}({inner}) {over} AS m{more}{made} FROM fuzz GROUP BY {by} {having}"

    def sorting(self) -> str:
        """Tell how a query ends whose first column is unique."""
        limit = self.choice(("", f" LIMIT {self.rng.randrange(1, 9)}", " LIMIT 7 OFFSET 3"))
        by = self.choice(("ALL", "ALL DESC", "ALL ASC", "ALL NULLS LAST", "ALL DESC NULLS LAST", "id", "id DESC", "1"))
        return f"ORDER BY {by}{limit}"

    def join_queries(self) -> str:
        """Join queries with windows by a set operation."""
        operation = self.choice(("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "MINUS ALL"))
        functions = self.choice(("sum(i)", "count(*)", "max(h)")), self.choice(("sum(h)", "count(i)", "min(i)"))
        first, second = (f"SELECT id, {f} OVER ({self.rows_window()}) AS c FROM fuzz" for f in functions)
        return f"{first} {operation} {second}"

    def unusual(self) -> str:
        """Draw what is left to Spark in part, or has a shape of its own."""
        call = f"{self.fill(self.choice(AGGREGATES))} OVER ({self.range_window()})"
        ordered = f"{self.fill(self.choice(AGGREGATES))} OVER ({self.rows_window()})"
        return str(self.choice((
            f"FROM fuzz |> EXTEND {call} AS piped |> WHERE id > 3",
            f"SELECT id, {ordered} AS c FROM fuzz |> WHERE id > 3 |> SELECT id, c, max(id) OVER () AS m",
            f"SELECT id, i, explode(array(1, 2)) AS e, {call} AS c FROM fuzz",
            f"SELECT * FROM (SELECT id, {self.fill(self.choice(AGGREGATES))} OVER w AS c FROM fuzz) "
            f"WINDOW w AS ({self.range_window()})",
            f"SELECT id, l.* FROM fuzz, LATERAL (SELECT {ordered} AS c FROM fuzz AS g WHERE g.h = fuzz.h) AS l",
            f"SELECT id, sum(i) OVER IDENTIFIER('v') AS c, {call} AS d FROM fuzz WINDOW v AS ({self.rows_window()})",
            "SELECT window(ts, '6 hours') AS w, count(*) AS n, sum(count(*)) OVER (ORDER BY min(id) ROWS 1 PRECEDING) "
            "AS m FROM fuzz GROUP BY window(ts, '6 hours')",
            f"SELECT id, max(c) OVER (ORDER BY id ROWS 2 PRECEDING) AS m FROM (SELECT id, sum(i) OVER "
            f"({self.range_window()}) AS c FROM fuzz) ORDER BY sum(c) OVER (ORDER BY id), id",
        )))  # fmt: skip

    def query(self) -> str:
        """Any query."""
        shape = self.rng.randrange(14)
        if shape <= 4:
            return self.select()
        if shape == 5:
            return self.group()
        if shape == 6:
            return f"{self.select()} {self.sorting()}"
        if shape == 7:
            return f"WITH t AS ({self.select()}) SELECT *, sum(id) OVER (ORDER BY id ROWS 2 PRECEDING) AS again FROM t"
        if shape == 8:
            inner = f"SELECT id, {self.call()} AS c FROM fuzz {self.clause()}"
            return f"SELECT id, c FROM ({inner}) UNION ALL SELECT id, NULL FROM fuzz"
        if shape == 9:
            key, function = self.choice(("k", "b", "h")), self.choice(("max", "sum", "count"))
            return f"SELECT DISTINCT {key}, {function}(i) OVER (PARTITION BY {key}) AS m FROM fuzz"
        if shape == 10:
            return self.join_queries()
        return self.unusual()


def query_of(seed: int, number: int) -> str:
    """Draw the query of a number in the run of a seed."""
    return " ".join(Draw(random.Random(f"{seed}/{number}")).query().split())


# ---- comparing
def add_options(parser: argparse.ArgumentParser) -> None:
    """Nothing beside what every target takes."""


@contextmanager
def open_target(given: argparse.Namespace) -> Iterator[Callable[[int], str | None]]:
    """Give the check of one case after the other; they are run in batches."""
    with session() as spark:
        found: dict[int, str | None] = {}
        last = given.first + given.cases

        def wrong_with(number: int) -> str | None:
            if number not in found:
                numbers = range(number, min(number + BATCH, last))
                found.update(differences(spark, {k: query_of(given.seed, k) for k in numbers}))
            wrong = found.pop(number)
            return None if wrong is None else f"# {wrong}\n{program(query_of(given.seed, number))}"

        yield wrong_with


@contextmanager
def session() -> Iterator[Any]:
    """Open the session of this process, or a local one, with the table `fuzz`."""
    from pyspark.sql import SparkSession

    from slidewise.spark import configure

    running = SparkSession.getActiveSession()
    local = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config(_PROGRESS, "false")
    spark = running or configure(local).getOrCreate()
    if running is None:
        spark.sparkContext.setLogLevel("OFF")
    before = {name: spark.conf.get(name) for name in SETTINGS}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    table = spark.sql(TABLE).cache()
    table.createOrReplaceTempView("fuzz")
    try:
        yield spark
    finally:
        table.unpersist()
        for name, value in before.items():
            spark.conf.set(name, value)
        if running is None:
            spark.stop()


def program(query: str) -> str:
    """Write what shows a difference."""
    return (
        "import slidewise.spark\nfrom slidewise.fuzz.sql import session\n\nwith session() as spark:\n"
        f'    query = """{query}"""\n'
        "    spark.sql(query).show(99)\n    slidewise.spark.sql(spark, query).show(99)"
    )


def differences(spark: Any, queries: dict[int, str]) -> dict[int, str | None]:
    """Find what is wrong with each of some queries."""
    from slidewise.spark.analysis import silence_pyspark
    from slidewise.spark.sql import sql
    from slidewise.spark.sql.rewrite import is_same_type

    wrong: dict[int, str | None] = dict.fromkeys(queries)
    both: dict[int, tuple[Any, Any]] = {}
    for number, query in queries.items():
        try:
            with silence_pyspark():
                theirs = spark.sql(query)
        except Exception:  # Spark refuses it
            continue
        try:
            ours = sql(spark, query)
        except Exception as error:
            wrong[number] = f"refused, and Spark takes it: {str(error).splitlines()[0]}"
            continue
        if ours.columns != theirs.columns or not is_same_type(ours.schema, theirs.schema):
            wrong[number] = f"{ours.schema.simpleString()}, and in Spark {theirs.schema.simpleString()}"
        elif SORTED.search(query):
            wrong[number] = _in_order(ours, theirs)
        else:
            both[number] = ours, theirs
    return wrong | _compare(both)


def _in_order(ours: Any, theirs: Any) -> str | None:
    """Find the differences between rows in their order."""
    try:
        expected = collect_rows({0: theirs}, in_order=True)[0]
    except Exception:  # Spark fails, and so it says nothing
        return None
    try:
        return _difference(collect_rows({0: ours}, in_order=True)[0], expected)
    except Exception as error:
        return f"fails, and Spark does not: {str(error).strip().splitlines()[-1]}"


def _compare(both: dict[int, tuple[Any, Any]]) -> dict[int, str | None]:
    """Find the differences between rows, by one job; one after the other where a query fails."""
    try:
        expected = collect_rows({number: theirs for number, (_, theirs) in both.items()})
        found = collect_rows({number: ours for number, (ours, _) in both.items()})
    except Exception as error:
        if len(both) != 1:
            return {n: why for number, pair in both.items() for n, why in _compare({number: pair}).items()}
        [(number, (_, theirs))] = both.items()
        try:
            collect_rows({number: theirs})
        except Exception:
            return {number: None}  # Spark fails, too
        return {number: f"fails, and Spark does not: {str(error).strip().splitlines()[-1]}"}
    return {number: _difference(found[number], expected[number]) for number in both}


def collect_rows(frames: dict[int, Any], *, in_order: bool = False) -> dict[int, list[Any]]:
    """Collect the rows of many DataFrames, sorted; or as they are, which is that of each only where it is alone."""
    from functools import reduce

    from pyspark.sql import functions as F  # noqa: N812

    from slidewise.spark.analysis import silence_pyspark

    out: dict[int, list[Any]] = {number: [] for number in frames}
    if frames:
        labelled = [
            frame.toDF(*(f"c{i}" for i in range(len(frame.columns)))).select(
                F.lit(number).alias("number"), F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("row")
            )
            for number, frame in frames.items()
        ]
        with silence_pyspark():
            rows = reduce(lambda a, b: a.union(b), labelled).collect()
        for number, row in rows:
            out[number].append(list(json.loads(row).values()))
    return out if in_order else {number: sorted(rows, key=_sorting) for number, rows in out.items()}


def _sorting(value: Any) -> str:
    """Write what rows are sorted by: the last digits of floats may differ."""
    return json.dumps(value, default=str) if not isinstance(value, list) else str([_round(v) for v in value])


def _round(value: Any) -> Any:
    if isinstance(value, str) and _FLOAT.fullmatch(value):
        return _round(float(value))
    if isinstance(value, float):
        return f"{value:.5g}" if abs(value) > 1e-9 else "0"
    if isinstance(value, dict):
        return {name: _round(part) for name, part in value.items()}
    return [_round(part) for part in value] if isinstance(value, list) else value


def _difference(found: list[Any], expected: list[Any]) -> str | None:
    if len(found) != len(expected):
        return f"{len(found)} rows, and in Spark {len(expected)}"
    for a, b in zip(found, expected, strict=True):
        if not _alike(a, b):
            return f"a row {a}, and in Spark {b}"
    return None


#: a float as text
_FLOAT = re.compile(r"-?\d+\.\d+(E-?\d+)?")


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        both = isinstance(a, int | float) and isinstance(b, int | float)
        return both and are_close(a, b)
    if isinstance(a, str) and isinstance(b, str) and a != b:
        return bool(_FLOAT.fullmatch(a) and _FLOAT.fullmatch(b)) and _alike(float(a), float(b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_alike(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_alike, a, b))
    return bool(a == b)
