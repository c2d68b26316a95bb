"""Cases: a small table, how its rows are arranged, and aggregates over windows. Drawn at random, shown as a program."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from math import inf, nan
from typing import Any

#: how a column of plain Python values is made into Arrow; times are numbers, so that an oracle can calculate with them
KINDS = {
    "int": "pa.array({}, pa.int64())",
    "small": "pa.array({}, pa.int8())",
    "uint64": "pa.array({}, pa.uint64())",
    "float": "pa.array({}, pa.float64())",
    "float32": "pa.array({}, pa.float32())",
    "text": "pa.array({}, pa.string())",
    "view": "pa.array({}, pa.string_view())",
    "category": "pa.array({}, pa.string()).dictionary_encode()",
    # a dictionary with equal entries, and with nulls
    "entries": "(lambda v: pa.DictionaryArray.from_arrays(pa.array(range(len(v)), 'i4'), pa.array(v, 'str')))({})",
    "bool": "pa.array({}, pa.bool_())",
    "date": "pa.array({}, pa.int32()).cast(pa.date32())",
    "timestamp": "pa.array({}, pa.int64()).cast(pa.timestamp('s', 'Europe/Zurich'))",
    "naive": "pa.array({}, pa.int64()).cast(pa.timestamp('ns'))",
    "duration": "pa.array({}, pa.int64()).cast(pa.duration('ms'))",
    "decimal": "pa.array({}, pa.int32()).cast(pa.decimal128(12, 0))",
}
#: how a distance along a column is written
UNITS = {"date": "d", "timestamp": "s", "naive": "ns", "duration": "ms"}
TEXTS = {"text", "view", "category", "entries", "bool"}


@dataclass(frozen=True)
class Column:
    """A column: its kind and its values, None for null."""

    kind: str
    values: tuple[Any, ...]

    @property
    def source(self) -> str:
        """The expression that makes it."""
        return KINDS[self.kind].format(list(self.values))

    def arrow(self) -> Any:
        """The column as Arrow."""
        import pyarrow as pa

        return eval(self.source, {"pa": pa, "inf": inf, "nan": nan})


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
class Frame:
    """A window: a unit and two bounds. None is no bound, text is a column, a number is rows, groups or a distance."""

    unit: str
    start: Any
    end: Any
    exclude: str | None = None
    #: for windows that are written time(size, closed=...)
    closed: str | None = None
    #: what a distance is written with
    suffix: str = ""

    @property
    def source(self) -> str:
        """The expression that makes it."""
        if self.closed is not None:
            return f"sw.time({self._bound(-self.start)}, closed={self.closed!r})"
        if self.unit == "trailing":
            return f"sw.rows({1 - self.start})"
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
    frame: Frame
    parameters: tuple[tuple[str, Any], ...] = ()
    where: str | None = None

    @property
    def source(self) -> str:
        """The expression that makes it."""
        listed = [repr(a) for a in self.arguments] + [f"{k}={v!r}" for k, v in self.parameters]
        listed += [f"where={self.where!r}"] if self.where else []
        return f"sw.{self.function}({', '.join(listed)}).over({self.frame.source})"

    @property
    def columns(self) -> set[str]:
        """The columns it reads."""
        bounds = {b for b in (self.frame.start, self.frame.end) if isinstance(b, str)}
        return {*self.arguments, *bounds, *([self.where] if self.where else [])}


@dataclass(frozen=True)
class Case:
    """A table, its arrangement, and aggregates."""

    columns: dict[str, Column]
    keys: tuple[str, ...]
    order: tuple[By, ...]
    aggregates: tuple[Aggregate, ...]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values())).values)

    @property
    def snippet(self) -> str:
        """The case as a program."""
        table = "".join(f"    {name!r}: {column.source},\n" for name, column in self.columns.items())
        return (
            "import pyarrow as pa, slidewise as sw\nfrom math import inf, nan\n"
            f"table = pa.table({{\n{table}}})\n" + f"print({self.call()})\n"
        )

    def call(self, algorithm: str = "auto") -> str:
        """The expression that computes the new columns, named r0, r1, and so on."""
        new = "".join(f", r{i}={a.source}" for i, a in enumerate(self.aggregates))
        order = f"[{', '.join(by.source for by in self.order)}]"
        how = f", algorithm={algorithm!r}" if algorithm != "auto" else ""
        return f"sw.with_columns(table, partition_by={list(self.keys)}, order_by={order}{how}{new})"

    def results(self, algorithm: str = "auto") -> list[list[Any]]:
        """What slidewise answers, one list per aggregate."""
        import pyarrow as pa

        import slidewise as sw

        table = pa.table({name: column.arrow() for name, column in self.columns.items()})
        out = eval(self.call(algorithm), {"sw": sw, "table": table})
        return [out.column(f"r{i}").to_pylist() for i in range(len(self.aggregates))]

    def only(self, rows: list[int]) -> Case:
        """The same over some of the rows."""
        taken = {n: replace(c, values=tuple(c.values[i] for i in rows)) for n, c in self.columns.items()}
        return replace(self, columns=taken)

    def with_used_columns(self) -> Case:
        """The same without columns that nothing reads."""
        used = {*self.keys, *(by.name for by in self.order)}.union(*(a.columns for a in self.aggregates))
        kept = {name: column for name, column in self.columns.items() if name in used}
        first = next(iter(self.columns))
        return replace(self, columns=kept or {first: self.columns[first]})


# ---- drawing
#: (function, kinds of arguments, parameters); a kind is a column (v int, x float, s text, w boolean), "number" or "any"
Function = tuple[str, tuple[str, ...], dict[str, Any]]
FUNCTIONS: list[Function] = [
    ("count", (), {}),
    ("count", ("any",), {}),
    ("sum", ("number",), {}),
    ("avg", ("number",), {}),
    ("min", ("any",), {}),
    ("max", ("any",), {}),
    ("first", ("any",), {}),
    ("last", ("any",), {}),
    ("first", ("any",), {"ignore_nulls": True}),
    ("last", ("any",), {"ignore_nulls": True}),
    ("nth_value", ("any",), {"n": 2}),
    ("nth_value", ("any",), {"n": 3, "ignore_nulls": True}),
    ("collect_list", ("any",), {}),
    ("string_agg", ("s",), {"delimiter": ","}),
    ("collect_set", ("any",), {}),
    ("stddev", ("number",), {}),
    ("stddev_pop", ("number",), {}),
    ("var_samp", ("number",), {}),
    ("var_pop", ("number",), {}),
    ("skewness", ("number",), {}),
    ("kurtosis", ("number",), {}),
    ("median", ("number",), {}),
    ("percentile", ("number",), {"fraction": 0.3}),
    ("percentile_disc", ("any",), {"fraction": 0.75}),
    ("nth_smallest", ("any",), {"n": 2}),
    ("count_distinct", ("any",), {}),
    ("mode", ("any",), {}),
    ("max_by", ("any", "number"), {}),
    ("min_by", ("any", "number"), {}),
    ("max_count", ("any",), {}),
    ("min_count", ("any",), {}),
    ("bool_and", ("w",), {}),
    ("bool_or", ("w",), {}),
    ("bit_and", ("v",), {}),
    ("bit_or", ("v",), {}),
    ("bit_xor", ("v",), {}),
    ("sum_distinct", ("number",), {}),
    ("avg_distinct", ("number",), {}),
    ("percentile", ("number",), {"fraction": (0.25, 0.9)}),
    ("percentile_disc", ("any",), {"fraction": (0.0, 0.6)}),
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
    ("m4", ("any",), {}),
    ("relative_variation", ("number",), {}),
]
#: what SQLite has too, under some name
SQLITE_FUNCTIONS = [f for f in FUNCTIONS[:14] if "ignore_nulls" not in f[2]]
_ARGUMENTS = {"any": "vxs", "number": "vx"}


def draw(
    rng: random.Random, most_rows: int = 30, sqlite: bool = False, functions: list[Function] | None = None
) -> Case:
    """A random case, of some functions only where these are given; with `sqlite`, one that SQLite can answer too."""
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
    }
    if rng.random() < 0.3:  # the extremes of other kinds of aggregates than sums
        columns["x"] = _column(rng, "float", n, nulls, [0.5, 1.5, inf, -inf])
    keys = []
    for name in ("k", "g")[: rng.choice((0, 1, 1, 2))]:
        kind = rng.choice(("int", "text", "float") if sqlite else ("int", "small", "text", "float", "view", "entries"))
        columns[name] = _column(rng, kind, n, nulls, *_drawn_from(kind, sqlite))
        keys.append(name)
    order = []
    for name in ("t", "u")[: rng.choice((0, 1, 1, 1, 1, 2))]:
        kind = rng.choice(("int", "float", "float", "text") if sqlite else sorted(KINDS))
        columns[name] = _column(rng, kind, n, nulls, *_drawn_from(kind, sqlite))
        order.append(By(name, rng.random() < 0.4, rng.choice((None, None, "first", "last"))))
    frames = [_frame(rng, columns, order, sqlite) for _ in range(rng.randint(1, 2))]
    choices = functions or (SQLITE_FUNCTIONS if sqlite else FUNCTIONS)
    aggregates = []
    for _ in range(rng.randint(1, 4)):
        function, kinds, parameters = rng.choice(choices)
        arguments = tuple(rng.choice(_ARGUMENTS.get(kind, kind)) for kind in kinds)
        unfiltered = sqlite and function in ("first", "last", "nth_value", "min", "max")  # see sqlite.py
        where = "w" if rng.random() < 0.2 and not unfiltered else None
        aggregates.append(Aggregate(function, arguments, rng.choice(frames), tuple(parameters.items()), where))
    return Case(columns, tuple(keys), tuple(order), tuple(aggregates)).with_used_columns()


def _column(
    rng: random.Random, kind: str, n: int, nulls: float, common: Any, rare: Any = (), share: float = 0.15
) -> Column:
    common, rare = list(common), list(rare)
    values = [rng.choice(rare if rare and rng.random() < share else common) for _ in range(n)]
    return Column(kind, tuple(None if rng.random() < nulls else v for v in values))


def _drawn_from(kind: str, sqlite: bool) -> tuple[list[Any], list[Any]]:
    """Common and rare values of a column to order or partition by: few, so that there are ties."""
    if kind in TEXTS:
        return ([True, False], []) if kind == "bool" else (["a", "b", "ab", "", "é"], [])
    if kind in ("float", "float32"):
        return [k / 2 for k in range(-6, 14)], [inf, -inf] if sqlite else [inf, -inf, nan, -0.0]
    if kind == "uint64":
        return list(range(8)), [2**63, 2**64 - 1]
    if kind == "int":
        return list(range(-4, 12)), [] if sqlite else [2**63 - 1, -(2**63), 10**15]
    return list(range(-4, 12)), []


def _frame(rng: random.Random, columns: dict[str, Column], order: list[By], sqlite: bool) -> Frame:
    kind = columns[order[0].name].kind if len(order) == 1 else None
    distances = kind is not None and kind not in TEXTS
    unit = rng.choice(("rows", "range", "groups") if order else ("rows",))
    exclude = rng.choice((None, None, "current row", "group", "ties"))
    if unit == "range" and not distances:
        return Frame("range", rng.choice((None, 0)), rng.choice((None, 0)), exclude)
    suffix = UNITS.get(kind or "", "") if unit == "range" else ""
    if not sqlite and rng.random() < 0.2:
        if unit == "range":
            return Frame("range", -rng.randint(1, 5), 0, None, rng.choice(("both", "left", "right", "neither")), suffix)
        if unit == "rows":
            return Frame("trailing", 1 - rng.randint(1, 5), 0)
    scale: Any = 1 if not kind or unit != "range" or kind not in ("float", "float32") else rng.choice((1, 0.5))
    first, last = sorted((rng.randint(-4, 4), rng.randint(-4, 4)))
    if not sqlite and rng.random() < 0.05 and kind not in ("float", "float32"):
        first, last = rng.choice(((-(10**12), 0), (-(2**64), 2), (1, 2**70)) if not suffix else ((-(10**12), 0),))
    start, end = rng.choice((None, first * scale, first * scale)), rng.choice((None, last * scale, last * scale))
    if not sqlite and not suffix and kind != "decimal" and rng.random() < 0.2:
        start, end = rng.choice((("a", end), (start, "b"), ("a", "b")))
    return Frame(unit, start, end, exclude, None, suffix)
