"""Cases: a small table, how its rows are arranged, and aggregates over windows. Drawn at random, shown as a program."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from decimal import Decimal
from math import inf, nan
from typing import Any

#: the kinds of columns by family: how plain Python values are made into Arrow. Times are numbers, so that an oracle can
#: calculate with them.
FAMILIES: dict[str, dict[str, str]] = {
    "integer": {
        "int": "pa.array({}, pa.int64())",
        "small": "pa.array({}, pa.int8())",
        **{kind: f"pa.array({{}}, pa.{kind}())" for kind in ("int16", "int32", "uint8", "uint16", "uint32", "uint64")},
        "numbers": "pa.array({}, pa.int64()).dictionary_encode()",
    },
    "float": {
        "float": "pa.array({}, pa.float64())",
        "float32": "pa.array({}, pa.float32())",
        "float16": "pa.array({}, pa.float16())",
        "measures": "pa.array({}, pa.float64()).dictionary_encode()",
    },
    "decimal": {
        "decimal": "pa.array({}, pa.int32()).cast(pa.decimal128(12, 0))",
        "cents": "pa.array({}, pa.decimal128(9, 2))",
        "cents32": "pa.array({}, pa.decimal32(9, 2))",
        "cents64": "pa.array({}, pa.decimal64(18, 2))",
        "riches": "pa.array({}, pa.decimal128(38, 2))",
        "riches256": "pa.array({}, pa.decimal256(50, 2))",
        "prices": "pa.array({}, pa.decimal128(9, 2)).dictionary_encode()",
    },
    "text": {
        "text": "pa.array({}, pa.string())",
        "long": "pa.array({}, pa.large_string())",
        "view": "pa.array({}, pa.string_view())",
        "category": "pa.array({}, pa.string()).dictionary_encode()",
        # a dictionary with equal entries, and with nulls
        "entries": "(lambda v: pa.DictionaryArray.from_arrays(pa.array(range(len(v)), 'i4'), pa.array(v, 'str')))({})",
        # one that says itself how its entries are ordered
        "grade": "(lambda v: (lambda e: pa.DictionaryArray.from_arrays(pa.array([None if x is None else e.index(x) "
        "for x in v], 'i1'), pa.array(e, 'str'), ordered=True))(sorted({{*v}} - {{None}}, key=str.encode)))({})",
    },
    "binary": {
        "bytes": "pa.array({}, pa.binary())",
        "long bytes": "pa.array({}, pa.large_binary())",
        "view of bytes": "pa.array({}, pa.binary_view())",
        "two bytes": "pa.array([v if v is None else v.ljust(2) for v in {}], pa.binary(2))",
    },
    "boolean": {"bool": "pa.array({}, pa.bool_())"},
    "date": {
        "date": "pa.array({}, pa.int32()).cast(pa.date32())",
        "date64": "pa.array({}, pa.int32()).cast(pa.date32()).cast(pa.date64())",
        "days": "pa.array({}, pa.int32()).cast(pa.date32()).dictionary_encode()",
    },
    "time": {
        "time s": "pa.array({}, pa.int32()).cast(pa.time32('s'))",
        "time ms": "pa.array({}, pa.int32()).cast(pa.time32('ms'))",
        "time us": "pa.array({}, pa.int64()).cast(pa.time64('us'))",
        "time ns": "pa.array({}, pa.int64()).cast(pa.time64('ns'))",
    },
    "timestamp": {
        "timestamp": "pa.array({}, pa.int64()).cast(pa.timestamp('s', 'Europe/Zurich'))",
        "naive": "pa.array({}, pa.int64()).cast(pa.timestamp('ns'))",
        "timestamp ms": "pa.array({}, pa.int64()).cast(pa.timestamp('ms'))",
        "timestamp us": "pa.array({}, pa.int64()).cast(pa.timestamp('us', 'UTC'))",
    },
    "duration": {
        "duration": "pa.array({}, pa.int64()).cast(pa.duration('ms'))",
        "duration s": "pa.array({}, pa.int64()).cast(pa.duration('s'))",
        "duration us": "pa.array({}, pa.int64()).cast(pa.duration('us'))",
        "duration ns": "pa.array({}, pa.int64()).cast(pa.duration('ns'))",
    },
    "nested": {
        "list": "pa.array([v and v['l'] for v in {}], pa.list_(pa.int64()))",
        "texts": "pa.array([v and [str(x) for x in v['l']] for v in {}], pa.large_list(pa.string()))",
        "times": "pa.array([v and v['l'] for v in {}], pa.list_(pa.time64('ns')))",
        "pair": "pa.array([v and [v['p'], 7] for v in {}], pa.list_(pa.int64(), 2))",
        "struct": "pa.array([v and {{'p': v['p'], 'q': str(v['l'])}} for v in {}], "
        "pa.struct([('p', pa.int64()), ('q', pa.string())]))",
        "map": "pa.array([v and [(str(x), v['p']) for x in v['l']] for v in {}], pa.map_(pa.string(), pa.int64()))",
    },
    "null": {"null": "pa.array([None for _ in {}], pa.null())"},
}
KINDS = {kind: source for kinds in FAMILIES.values() for kind, source in kinds.items()}
FAMILY = {kind: family for family, kinds in FAMILIES.items() for kind in kinds}
#: how a distance along a column is written
UNITS = {
    "date": "d", "date64": "d", "days": "d", "timestamp": "s", "naive": "ns", "timestamp ms": "ms",
    "timestamp us": "us", "duration": "ms", "duration s": "s", "duration us": "us",
}  # fmt: skip
#: what distances are measured along; the range of a time of day, and of a value of more than 18 digits, is refused
MEASURED = {"integer", "float", "decimal", "date", "timestamp", "duration"}
UNMEASURED = {"riches", "riches256", "duration ns"}
#: how a table goes to each kind of frame, and what of it does not go there
CONTAINERS = {
    "arrow": "table",
    "pandas": "table.to_pandas()",
    "pandas arrow": "table.to_pandas(types_mapper=pd.ArrowDtype)",
    "polars": "pl.from_arrow(table)",
    "duckdb": "duckdb.from_arrow(table)",
    "dict": "{n: masked(table[n].combine_chunks()) for n in table.column_names}",
}
UNFIT = {
    # categories are neither null nor equal, and times of Python have no nanoseconds
    "pandas": {"map", "entries", "measures", "time ns", "times"},
    "polars": {"riches256", "texts", "struct", "map"},
    "duckdb": {"float16", "riches256", *FAMILIES["duration"]},  # durations become intervals, which have no order
    "dict": {"view", "view of bytes", "null", "time ns", *FAMILIES["nested"], *FAMILIES["decimal"]},
}
_MASKED = """
def masked(a):
    import numpy as np
    filled = a.fill_null(a.drop_null()[0]) if a.null_count and len(a) > a.null_count else a
    return np.ma.masked_array(filled.to_numpy(zero_copy_only=False), a.is_null().to_numpy(zero_copy_only=False))
"""


@dataclass(frozen=True)
class CaseColumn:
    """A column: its kind and its values, None for null."""

    kind: str
    values: tuple[Any, ...]

    @property
    def source(self) -> str:
        """The expression that makes it."""
        return KINDS[self.kind].format(list(self.values))

    def arrow(self) -> Any:
        """Make the column as Arrow."""
        import pyarrow as pa

        return eval(KINDS[self.kind].format("values"), {"pa": pa, "values": list(self.values)})

    @property
    def family(self) -> str:
        """What the kind is, as far as aggregations care."""
        return FAMILY[self.kind]


@dataclass(frozen=True)
class By:
    """One column to order by."""

    name: str
    descending: bool = False
    nulls: str | None = None

    @property
    def nulls_first(self) -> bool:
        """Whether nulls come first; by default they are below all values."""
        return self.nulls == "first" if self.nulls else not self.descending

    @property
    def source(self) -> str:
        """The expression that makes it."""
        nulls = f", nulls={self.nulls!r}" if self.nulls else ""
        return f"sw.{'desc' if self.descending else 'asc'}({self.name!r}{nulls})"


@dataclass(frozen=True)
class CaseFrame:
    """A window: a unit and two bounds. None is no bound, text is a column, a number is rows, groups or a distance."""

    unit: str
    start: Any
    end: Any
    exclude: str | None = None
    #: for windows that are written time(size, closed=...)
    closed: str | None = None
    #: what a distance is written with
    suffix: str = ""
    #: for rows(n, min_rows=...)
    min_rows: int = 1

    @property
    def source(self) -> str:
        """The expression that makes it."""
        if self.unit == "delta":
            return f"sw.delta('d', {-self.start})"
        if self.unit == "punctuation":
            return "sw.punctuation('w')"
        if self.unit == "session":
            return f"sw.session({self._bound(-self.start)})"
        if self.closed is not None:
            return f"sw.time({self._bound(-self.start)}, closed={self.closed!r})"
        if self.unit == "trailing":
            least = f", min_rows={self.min_rows}" if self.min_rows > 1 else ""
            return f"sw.rows({1 - self.start}{least})"
        exclude = f", exclude={self.exclude!r}" if self.exclude else ""
        start = "-sw.UNBOUNDED" if self.start is None else self._bound(self.start)
        end = "sw.UNBOUNDED" if self.end is None else self._bound(self.end)
        return f"sw.{self.unit}_between({start}, {end}{exclude})"

    def _bound(self, bound: Any) -> str:
        if isinstance(bound, str):
            return f"sw.col({bound!r})"
        return repr(f"{bound}{self.suffix}") if self.suffix and bound else repr(bound)


@dataclass(frozen=True)
class Aggregate:
    """An aggregate over a window."""

    function: str
    arguments: tuple[str, ...]
    frame: CaseFrame
    parameters: tuple[tuple[str, Any], ...] = ()
    where: str | None = None

    @property
    def alone(self) -> str:
        """The expression that makes it without its window."""
        listed = [repr(a) for a in self.arguments] + [f"{k}={v!r}" for k, v in self.parameters]
        listed += [f"where={self.where!r}"] if self.where else []
        return f"sw.{self.function}({', '.join(listed)})"

    @property
    def source(self) -> str:
        """The expression that makes it."""
        return f"{self.alone}.over({self.frame.source})"

    @property
    def columns(self) -> set[str]:
        """The columns it reads."""
        bounds = {b for b in (self.frame.start, self.frame.end) if isinstance(b, str)}
        by_unit = {"delta": {"d"}, "punctuation": {"w"}}.get(self.frame.unit, set())
        return {*self.arguments, *bounds, *by_unit, *([self.where] if self.where else [])}


@dataclass(frozen=True)
class Case:
    """A table, its arrangement, and aggregates."""

    columns: dict[str, CaseColumn]
    keys: tuple[str, ...]
    order: tuple[By, ...]
    aggregates: tuple[Aggregate, ...]
    #: the kind of frame that the table comes in
    container: str = "arrow"
    #: a window with a slide, for sw.aggregate; None: a result for every row
    slides: str | None = None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values())).values)

    @property
    def snippet(self) -> str:
        """The case as a program."""
        table = "".join(f"    {name!r}: {column.source},\n" for name, column in self.columns.items())
        preparing = {
            "pandas arrow": "import pandas as pd\n",
            "polars": "import polars as pl\n",
            "duckdb": "import duckdb\n",
            "dict": _MASKED,
        }
        return (
            "import pyarrow as pa, slidewise as sw\nfrom decimal import Decimal\nfrom math import inf, nan\n"
            f"{preparing.get(self.container, '')}table = pa.table({{\n{table}}})\n" + f"print({self.call()})\n"
        )

    def call(self, algorithm: str = "auto") -> str:
        """Write the expression that computes the new columns, named r0, r1, and so on."""
        new = "".join(f", r{i}={a.alone if self.slides else a.source}" for i, a in enumerate(self.aggregates))
        order = f"[{', '.join(by.source for by in self.order)}]"
        how = f", algorithm={algorithm!r}" if algorithm != "auto" else ""
        function, window = ("aggregate", f", window={self.slides}") if self.slides else ("with_columns", "")
        given = CONTAINERS[self.container]
        return f"sw.{function}({given}, partition_by={list(self.keys)}, order_by={order}{window}{how}{new})"

    def results(self, algorithm: str = "auto") -> list[list[Any]]:
        """Ask slidewise, for one list per aggregate."""
        import pyarrow as pa

        import slidewise as sw

        known: dict[str, Any] = {"sw": sw, "pa": pa}
        known["table"] = pa.table({name: column.arrow() for name, column in self.columns.items()})
        if self.container == "pandas arrow":
            import pandas

            known["pd"] = pandas
        if self.container == "polars":
            import polars

            known["pl"] = polars
        if self.container == "duckdb":
            import duckdb

            known["duckdb"] = duckdb
        if self.container == "dict":
            exec(_MASKED, known)
        out = eval(self.call(algorithm), known)
        return [_list_column(out, f"r{i}", self.container) for i in range(len(self.aggregates))]

    def only(self, rows: list[int]) -> Case:
        """Keep some of the rows only."""
        taken = {n: replace(c, values=tuple(c.values[i] for i in rows)) for n, c in self.columns.items()}
        return replace(self, columns=taken)

    def with_used_columns(self) -> Case:
        """Leave out columns that nothing reads."""
        used = {*self.keys, *(by.name for by in self.order), *(_SLIDES_READ if self.slides else ())}.union(
            *(a.columns for a in self.aggregates)
        )
        kept = {name: column for name, column in self.columns.items() if name in used}
        first = next(iter(self.columns))
        return replace(self, columns=kept or {first: self.columns[first]})


#: the columns that slides are drawn with
_SLIDES_READ = ("d", "w")


def _list_column(out: Any, name: str, container: str) -> list[Any]:
    """List a column of a result, None where it is null."""
    if container == "pandas":
        return list(map(_plain, out[name].astype(object).where(out[name].notna(), None)))
    if container == "duckdb":
        out = out.to_arrow_table()
    if container == "pandas arrow":
        import pyarrow as pa

        return list(pa.array(out[name]).to_pylist())
    column = out[name]
    if container == "polars":
        return list(column.to_arrow().to_pylist())
    return list(map(_plain, column.tolist())) if container == "dict" else list(column.to_pylist())


def _plain(value: Any) -> Any:
    """Make lists of arrays, within others too."""
    listed = value.tolist() if type(value).__name__ == "ndarray" else value
    return list(map(_plain, listed)) if isinstance(listed, list) else listed


# ---- drawing
#: (function, kinds of arguments, parameters); a kind is a column (v int, x float, s text, w boolean), or a word for the
#: families that are taken
Function = tuple[str, tuple[str, ...], dict[str, Any]]
FUNCTIONS: list[Function] = [
    ("count", (), {}),
    ("count", ("any",), {}),
    ("sum", ("amount",), {}),
    ("avg", ("amount",), {}),
    ("min", ("ordered",), {}),
    ("max", ("ordered",), {}),
    ("first", ("any",), {}),
    ("last", ("any",), {}),
    ("first", ("any",), {"ignore_nulls": True}),
    ("last", ("any",), {"ignore_nulls": True}),
    ("nth_value", ("any",), {"n": 2}),
    ("nth_value", ("any",), {"n": 3, "ignore_nulls": True}),
    ("collect_list", ("any",), {}),
    ("string_agg", ("text",), {"delimiter": ","}),
    ("collect_set", ("any",), {}),
    ("stddev", ("number",), {}),
    ("stddev_pop", ("number",), {}),
    ("var_samp", ("number",), {}),
    ("var_pop", ("number",), {}),
    ("skewness", ("number",), {}),
    ("kurtosis", ("number",), {}),
    ("median", ("number",), {}),
    ("percentile", ("number",), {"fraction": 0.3}),
    ("percentile_disc", ("ordered",), {"fraction": 0.75}),
    ("nth_smallest", ("ordered",), {"n": 2}),
    ("count_distinct", ("any",), {}),
    ("mode", ("ordered",), {}),
    ("max_by", ("any", "ordered"), {}),
    ("min_by", ("any", "ordered"), {}),
    ("max_count", ("ordered",), {}),
    ("min_count", ("ordered",), {}),
    ("bool_and", ("w",), {}),
    ("bool_or", ("w",), {}),
    ("bit_and", ("integer",), {}),
    ("bit_or", ("integer",), {}),
    ("bit_xor", ("integer",), {}),
    ("sum_distinct", ("number",), {}),
    ("avg_distinct", ("number",), {}),
    ("percentile", ("number",), {"fraction": (0.25, 0.9)}),
    ("percentile_disc", ("ordered",), {"fraction": (0.0, 0.6)}),
    ("product", ("number",), {}),
    ("geomean", ("number",), {}),
    ("covar_samp", ("number", "number"), {}),
    ("covar_pop", ("number", "number"), {}),
    ("regr_count", ("number", "number"), {}),
    ("regr_avgx", ("number", "number"), {}),
    ("regr_avgy", ("number", "number"), {}),
    ("regr_sxx", ("number", "number"), {}),
    ("regr_syy", ("number", "number"), {}),
    ("regr_sxy", ("number", "number"), {}),
    ("regr_slope", ("number", "number"), {}),
    ("regr_intercept", ("number", "number"), {}),
    ("regr_r2", ("number", "number"), {}),
    ("corr", ("number", "number"), {}),
    ("m4", ("ordered",), {}),
    ("relative_variation", ("number",), {}),
]
#: what SQLite has too, under some name
SQLITE_FUNCTIONS = [f for f in FUNCTIONS[:14] if "ignore_nulls" not in f[2]]
_NUMBERS = {"integer", "float", "decimal"}
_TAKES = {
    "any": set(FAMILIES),
    "ordered": set(FAMILIES) - {"nested"},
    "amount": _NUMBERS | {"duration"},
    "number": _NUMBERS,
}


def _fitting(kind: str, columns: dict[str, CaseColumn], read: list[str]) -> list[str]:
    """Find the columns that are of a kind of argument: the one of that name, or those of its families."""
    if kind in columns:
        return [kind]
    return [name for name in read if columns[name].family in _TAKES.get(kind, {kind})]


def draw(
    rng: random.Random, most_rows: int = 30, sqlite: bool = False, functions: list[Function] | None = None
) -> Case:
    """Draw a random case, of some functions where these are given; with `sqlite`, one that SQLite can answer too."""
    n = rng.randint(0, 2) if rng.random() < 0.1 else rng.randint(3, max(3, most_rows))
    nulls = rng.choice((0.0, 0.2))
    columns = {
        "v": _column(rng, "int", n, nulls, range(-4, 9)),
        "x": _column(rng, "float", n, nulls, [k / 4 for k in range(-8, 17)], [] if sqlite else [inf, -inf, nan, -0.0]),
        "s": _column(
            rng,
            "text" if sqlite else rng.choice(("text", "text", "view", "category", "entries")),
            n,
            nulls,
            ["a", "b", "bc", "ä", *([] if sqlite else [""])],
        ),
        "w": _column(rng, "bool", n, nulls, [True, False]),
        "a": _column(rng, rng.choice(("int", "small")), n, 0.0, range(-5, 4)),
        "b": _column(rng, "int", n, 0.0, range(-3, 6)),
        "d": _column(rng, "int", n, 0.0, range(9)),
    }
    if rng.random() < 0.3:  # the extremes of other kinds of aggregates than sums
        columns["x"] = _column(rng, "float", n, nulls, [0.5, 1.5, inf, -inf])
    read = ["v", "x", "s"]
    container = "arrow"
    if not sqlite:
        container = rng.choice(("arrow", "arrow", *CONTAINERS))
        more = _of_any_kind(rng, n, nulls, rng.choice((0, 0, 2, 3, 6)), UNFIT.get(container, set()))
        columns |= more
        read += more
    keys = []
    for name in ("k", "g")[: rng.choice((0, 1, 1, 2))]:
        kind = rng.choice(("int", "text", "float") if sqlite else ("int", "small", "text", "float", "view", "entries"))
        columns[name] = _column(rng, kind, n, nulls, *_drawn_from(kind, sqlite))
        keys.append(name)
    order = []
    for name in ("t", "u")[: rng.choice((0, 1, 1, 1, 1, 2))]:
        kind = rng.choice(("int", "float", "float", "text") if sqlite else _ORDERING)
        columns[name] = _column(rng, kind, n, nulls, *_drawn_from(kind, sqlite))
        order.append(By(name, rng.random() < 0.4, rng.choice((None, None, "first", "last"))))
    unfit = UNFIT.get(container, set())
    if any(column.kind in unfit or all(v is None for v in column.values) for column in columns.values()):
        container = "arrow"  # pandas has no type for nothing but nulls
    if container == "pandas" and any(None in c.values for c in columns.values() if c.family == "integer"):
        container = "pandas arrow"  # of integers with nulls, NumPy's are floats
    frames = [_frame(rng, columns, order, sqlite) for _ in range(rng.randint(1, 2))]
    slides = _slides(rng, columns, order) if not sqlite and rng.random() < 0.2 else None
    choices = functions or (SQLITE_FUNCTIONS if sqlite else FUNCTIONS)
    choices = [choice for choice in choices if all(_fitting(kind, columns, read) for kind in choice[1])]
    aggregates = []
    for _ in range(rng.randint(1, 4) if sqlite or rng.random() < 0.7 else rng.randint(5, 20)):
        function, kinds, parameters = rng.choice(choices)
        arguments = tuple(rng.choice(_fitting(kind, columns, read)) for kind in kinds)
        unfiltered = sqlite and function in ("first", "last", "nth_value", "min", "max")  # see sqlite.py
        where = "w" if rng.random() < 0.2 and not unfiltered else None
        aggregates.append(Aggregate(function, arguments, rng.choice(frames), tuple(parameters.items()), where))
    return Case(columns, tuple(keys), tuple(order), tuple(aggregates), container, slides).with_used_columns()


#: kinds to order by
_ORDERING = sorted(kind for kind, family in FAMILY.items() if family not in ("nested", "null"))


def _of_any_kind(rng: random.Random, n: int, nulls: float, count: int, unfit: set[str]) -> dict[str, CaseColumn]:
    """Columns of which some are of one family, or even of one kind: they are not to be taken for each other."""
    fit = {f: kinds for f, kinds in ((f, sorted({*FAMILIES[f]} - unfit)) for f in FAMILIES) if kinds}
    family = rng.choice(sorted(fit))
    usual = rng.choice(fit[family])
    made = {}
    for k in range(count):
        kind = rng.choice((usual, rng.choice(fit[family]), rng.choice(fit[rng.choice(sorted(fit))])))
        common, rare = _drawn_from(kind, True)
        rare = [inf, nan, -0.0] if kind == "measures" and rare else []
        some = rng.sample(common, rng.randint(1, len(common)))  # of few values or of many
        made[f"c{k}"] = _column(rng, kind, n, 1.0 if kind == "null" else nulls, some, rare)
    return made


def _column(
    rng: random.Random, kind: str, n: int, nulls: float, common: Any, rare: Any = (), share: float = 0.15
) -> CaseColumn:
    common, rare = list(common), list(rare)
    values = [rng.choice(rare if rare and rng.random() < share else common) for _ in range(n)]
    return CaseColumn(kind, tuple(None if rng.random() < nulls else v for v in values))


def _drawn_from(kind: str, sqlite: bool) -> tuple[list[Any], list[Any]]:
    """List common and rare values of a column to order or partition by: few, so that there are ties."""
    family = FAMILY[kind]
    if family == "boolean":
        return [True, False], []
    if family == "text":
        return ["a", "b", "ab", "", "é"], []
    if family == "binary":
        return [b"a", b"b", b"ab", b"", b"\xff"], []
    if family == "float":
        return [k / 2 for k in range(-6, 14)], [inf, -inf] if sqlite else [inf, -inf, nan, -0.0]
    if family == "nested":
        return [{"l": list(range(k % 3)), "p": k} for k in range(5)], []
    if family == "null":
        return [None], []
    if kind.startswith("uint") or family == "time":
        return list(range(8)), [2**63, 2**64 - 1] if kind == "uint64" and not sqlite else []
    if kind == "int":
        return list(range(-4, 12)), [] if sqlite else [2**63 - 1, -(2**63), 10**15]
    if family == "decimal" and kind != "decimal":
        wide = [Decimal(10) ** 30, -(Decimal(10) ** 30)] if kind in UNMEASURED else []
        return [Decimal(k).scaleb(-2) for k in (-250, -25, 0, 1, 10, 25, 99, 100, 250)] + wide, []
    return list(range(-4, 12)), []


def _frame(rng: random.Random, columns: dict[str, CaseColumn], order: list[By], sqlite: bool) -> CaseFrame:
    kind = columns[order[0].name].kind if len(order) == 1 else None
    distances = kind is not None and FAMILY[kind] in MEASURED and kind not in UNMEASURED
    if not sqlite and rng.random() < 0.1:
        special = [CaseFrame("delta", -rng.randint(0, 6), 0), CaseFrame("punctuation", None, 0)]
        if distances:
            special.append(CaseFrame("session", -rng.randint(1, 3), 0, suffix=UNITS.get(kind or "", "")))
        return rng.choice(special)
    unit = rng.choice(("rows", "range", "groups") if order else ("rows",))
    exclude = rng.choice((None, None, "current row", "group", "ties"))
    if unit == "range" and not distances:
        return CaseFrame("range", rng.choice((None, 0)), rng.choice((None, 0)), exclude)
    suffix = UNITS.get(kind or "", "") if unit == "range" else ""
    if not sqlite and rng.random() < 0.2:
        if unit == "range":
            size, closed = rng.randint(1, 5), rng.choice(("both", "left", "right", "neither"))
            return CaseFrame("range", -size, 0, None, closed, suffix)
        if unit == "rows":
            size = rng.randint(1, 5)
            return CaseFrame("trailing", 1 - size, 0, min_rows=rng.choice((1, 1, size)))
    floats = kind is not None and FAMILY[kind] == "float"
    scale: Any = rng.choice((1, 0.5)) if unit == "range" and floats else 1
    first, last = sorted((rng.randint(-4, 4), rng.randint(-4, 4)))
    if not sqlite and rng.random() < 0.05 and not floats:
        first, last = rng.choice(((-(10**12), 0), (-(2**64), 2), (1, 2**70)) if not suffix else ((-(10**12), 0),))
    start, end = rng.choice((None, first * scale, first * scale)), rng.choice((None, last * scale, last * scale))
    by_column = not sqlite and not suffix and (unit != "range" or FAMILY[str(kind)] != "decimal")
    if by_column and rng.random() < 0.2:
        start, end = rng.choice((("a", end), (start, "b"), ("a", "b")))
    return CaseFrame(unit, start, end, exclude, None, suffix)


def _slides(rng: random.Random, columns: dict[str, CaseColumn], order: list[By]) -> str:
    """Draw a window with a slide."""
    n, every = rng.randint(1, 6), rng.randint(1, 4)
    choices = [
        f"sw.rows({n}, every={every})",
        f"sw.delta('d', {n}, every={every})",
        f"sw.rows({n}, every=sw.punctuation('w'))",
        f"sw.punctuation('w', every=sw.rows({every}))",
    ]
    kind = columns[order[0].name].kind if len(order) == 1 and not order[0].descending else ""
    values = columns[order[0].name].values if kind else ()
    plain = all(v is not None and abs(v) < 100 for v in values) if kind and FAMILY[kind] in MEASURED else False
    if plain and kind not in UNMEASURED and FAMILY[kind] in ("integer", "timestamp", "date"):
        unit = UNITS.get(kind, "")
        size, step = (repr(f"{k}{unit}") if unit else k for k in (max(n, every), every))
        choices += [f"sw.time({size}, every={step})"] * 4
        whole = repr(f"{n * every}{unit}") if unit else n * every
        choices += [f"sw.time({whole}, every={step}, cumulative=True)", f"sw.time({step}, every={whole})"]
        choices += [f"sw.rows({n}, every=sw.time({step}))", f"sw.session({step})", f"sw.session({step})"]
    return rng.choice(choices)
