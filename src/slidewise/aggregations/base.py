"""What an aggregation is: three functions, and what is true of them.

`lift` turns one row into a partial, `combine` merges two partials (the older one first), `lower` turns the
partial of a whole frame into its result (General Incremental Sliding-Window Aggregation, section 3). The
functions are pure: combine returns a new partial and never changes its arguments. Everything else here
declares properties, which the registry matches with what an algorithm needs; `slidewise.check_aggregation`
tests them as laws.
"""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeVar, overload

from slidewise.errors import InvalidInput
from slidewise.fallback import warn_of_fallback

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from slidewise.aggregations.over import Alias, Over
    from slidewise.windows.definitions import WindowDefinition

Nulls = Literal["skip", "keep"] | tuple[int, ...]

FUNCTIONS = ("lift", "combine", "lower", "inverse", "defined", "dump", "load")
PROPERTIES = (
    "associative",
    "commutative",
    "invertible",
    "exactly_invertible",
    "selective",
    "size_preserving",
    "unary_lower",
    "order_statistic",
    "distinct_values",
    "of_distinct_values",
    "most_frequent",
)

#: what makes an aggregation faster; not inherited, since a subclass computes something else
SHORTCUTS = (
    "needs_only_bounds",
    "derived_from",
    "from_squares",
    "counts_rows",
    "part_of",
    "picks_row",
    "merges_as",
    "exact_in_units",
    "without_nan",
    "compiled_alike",
    "spark_call",
)


SpecifiedT = TypeVar("SpecifiedT", covariant=True)


class _Specifies(Protocol[SpecifiedT]):
    """A window in another spelling, which says what an aggregation over it is."""

    def specify(self, aggregation: Aggregation, algorithm: str, /) -> SpecifiedT: ...


class _Filtering(type):
    """Every aggregation takes `where=`, whatever its own parameters are.

    It is taken here, and never reaches `__init__`: those of the built-in ones name it for type checkers, which look
    there.
    """

    def __call__(cls, *args: Any, where: str | None = None, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        if not _is_ours(cls.__init__):  # type: ignore[misc]  # of a class, not an instance
            made._take_arguments(args, kwargs)
        made._check_columns()
        if where is not None:
            if not isinstance(where, str) or not where:
                raise InvalidInput(f"{made.name}: where= names a boolean column, got {where!r}")
            made.where = where
        return made

    @property
    def __signature__(cls) -> inspect.Signature:
        """The parameters of the class itself, and `where`."""
        parameters = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]  # of a class, not an instance
        own = [p for p in parameters if p.name not in ("self", "where")]
        where = inspect.Parameter("where", inspect.Parameter.KEYWORD_ONLY, default=None)
        place = next((k for k, p in enumerate(own) if p.kind is p.VAR_KEYWORD), len(own))
        return inspect.Signature([*own[:place], where, *own[place:]])


# ---- what an aggregation does that does not say otherwise
def _lift(*row: Any) -> Any:
    """One row as a partial."""
    return row[0]


def _combine(older: Any, newer: Any) -> Any:
    """Two partials of neighbouring rows as one."""
    raise InvalidInput("this aggregation has no combine: define combine(older, newer)")


def _lower(partial: Any, *argument: Any) -> Any:
    """Compute the result of a frame from its partial."""
    return partial


def _inverse(total: Any, oldest: Any) -> Any:
    """Take the oldest operand out of the total; only where `invertible`."""
    raise InvalidInput("this aggregation declares no inverse")


def _defined(partial: Any) -> bool:
    """Tell whether a frame with rows has a result; False gives null (the standard deviation of one value)."""
    return True


def _dump(partial: Any) -> Any:
    """Turn a partial into plain values (numbers, text, bytes, tuples, lists, dicts, sets), for to_bytes()."""
    return partial


def _load(plain: Any) -> Any:
    """Turn what dump() gave into a partial again."""
    return plain


class Aggregation(metaclass=_Filtering):
    """The base class of all aggregations, built in or your own.

    Write `lift`, `combine` and `lower` as static methods, and declare what is true of them:

    >>> import slidewise as sw
    >>> Sums = tuple[float, float]
    >>> class Vwap(sw.Aggregation):
    ...     identity = (0.0, 0.0)
    ...     commutative = True
    ...     @staticmethod
    ...     def lift(price: float, size: float) -> Sums: return (price * size, size)
    ...     @staticmethod
    ...     def combine(a: Sums, b: Sums) -> Sums:       return (a[0] + b[0], a[1] + b[1])
    ...     @staticmethod
    ...     def lower(s: Sums) -> float:                 return s[0] / s[1]
    >>> s = sw.swag("daba_lite", Vwap())
    >>> s.insert((10.0, 1)); s.insert((20.0, 3))
    >>> s.query()
    17.5

    An aggregation that is given column names is bound to them: `Vwap("price", "size").over(sw.rows(100))`.
    """

    #: The name in the registry, or the class's own.
    name: ClassVar[str] = "Aggregation"

    #: The neutral partial: combine(identity, p) == p == combine(p, identity). Compiled kernels start from it.
    identity: Any = None

    # Properties of combine. Declare only what holds: check_aggregation() tests each one that is declared.
    associative: bool = True
    commutative: bool = False
    #: inverse(total, oldest) exists and removes the oldest operand: inverse(combine(a, b), a) == b.
    invertible: bool = False
    #: the inverse leaves no rounding error; "integers" where that holds for integer input only.
    exactly_invertible: bool | Literal["integers"] = False
    #: combine returns one of its operands, unchanged.
    selective: bool = False
    #: what each field of a partial is: "sum" (numbers that add up), "min" or "max", at most one of the last two each.
    partial_parts: tuple[Literal["sum", "min", "max"], ...] = ()
    #: a partial never grows with the number of rows it stands for.
    size_preserving: bool = True
    #: the most values (or characters, or bytes) a size-preserving partial holds; None: no more than one
    #: row's.
    size_limit: int | None = None
    #: lower takes the partial only; False where query(x) passes it an argument.
    unary_lower: bool = True
    # What a holistic aggregation is computed from, for the structures made for it.
    order_statistic: bool = False
    distinct_values: bool = False
    of_distinct_values: bool = False
    most_frequent: bool = False
    #: Gray's classes: how large a partial must be.
    kind: ClassVar[Literal["distributive", "algebraic", "holistic"]] = "algebraic"

    #: Count it up when partials come to mean something else, and state saved before is refused. None: a built-in
    #: one is at 1, and one of your own is told apart by the code of its functions.
    state_version: ClassVar[int | None] = None

    # Rules about rows and results.
    #: What the arguments must be, one word each, the last for all that follow: "number", "amount" (a number or a
    #: duration), "integer", "boolean", "string", "ordered" (anything that can be sorted; lift sees a number that sorts
    #: like it), "time" (a timestamp or date; lift sees its nanoseconds since 1970), "carried" (anything, and only
    #: passed on; lift sees the number of its row), or "any": numbers as they are, and other types as Python objects,
    #: interpreted.
    accepts: tuple[str, ...] = ("any",)
    #: The boolean column of the rows to take: SQL's FILTER. Rows where it is not true are left out.
    where: str | None = None
    #: The columns whose values in the row of a result are arguments of lower: a fraction that differs from row to row.
    asks: tuple[str, ...] = ()
    #: "skip": a row with a null argument is left out. "keep": lift sees the null. A tuple: the positions that
    #: must not be null.
    nulls: Nulls = "skip"
    #: It reads no column, but the order of rows: event by event their time.
    of_order: ClassVar[bool] = False
    #: SQL gives it no frame, since it has one of its own: it stands without `.over(window)`.
    own_frame: ClassVar[bool] = False
    #: The result of a frame without rows.
    empty: Any = None
    #: The result has the type of the first column (max of dates is a date).
    keeps_type: bool = False
    #: Where a result is a tuple, its parts have the type of the first column; a tuple: the columns that they are of.
    parts_keep_type: bool | tuple[int, ...] = False
    #: The names of the parts where a result is a tuple (m4); () where it is one value.
    result_fields: tuple[str, ...] = ()

    # Shortcuts: no engine knows an aggregation by its class. Each class declares its own, and inherits none.
    #: The bounds of a frame tell the result: how many rows it has, and which stands where.
    needs_only_bounds: ClassVar[bool] = False
    #: The aggregation of the same column whose result, with the number of rows, gives this one's.
    derived_from: ClassVar[type[Aggregation] | None] = None
    #: Of variances, which share their sum of squared deviations: by how much less than the rows to divide it, and
    #: whether to take the root.
    from_squares: ClassVar[tuple[int, bool] | None] = None
    #: Without a column, the result is how many rows a frame has.
    counts_rows: ClassVar[bool] = False
    #: The aggregation of the same column whose partial is a tuple with this one's partial in it, and where.
    part_of: ClassVar[tuple[type[Aggregation], int] | None] = None
    #: The result is that of one row, which stands for all rows before it.
    picks_row: ClassVar[bool] = False
    #: What gives the result of all rows from results of parts of them: the same aggregation, or a sum; or from
    #: partials, as bytes.
    merges_as: ClassVar[Literal["itself", "sum", "bytes"] | None] = None
    #: Decimals and durations are summed in the integers that they are made of.
    exact_in_units: ClassVar[bool] = False
    #: What to put in place of its functions for floats without NaN.
    without_nan: ClassVar[dict[str, Any]] = {}
    #: Of floats and of 64-bit integers, compiled() computes the same partials and results as the functions themselves,
    #: to the bit: the same combine, and no function of which machines have several.
    compiled_alike: ClassVar[bool] = False
    #: The same in Spark SQL, where that has our rules: {0}, {1} are the columns, {n} a parameter.
    spark_call: str | None = None

    #: The form for frames of which the number of rows is known (sba.run_counted); compiled variants only.
    counted: Aggregation | None = None

    #: Of `counted` forms: lift, combine and, where every count has a result, lower take vectors for numbers: they are
    #: made of arithmetic alone (templates/lanes.py), and combine commutes.
    by_lanes: bool = False
    #: Of `counted` forms: for columns of integers, and of floats without NaN.
    refuses_nan: bool = False

    #: It is known that the column is of floats without NaN; variants only.
    knows_no_nan: bool = False

    #: made by variant(): its functions are not those of its class
    is_variant: bool = False
    #: What an `__init__` of your own was called with: it may tell the base class less than that, or other values.
    called_with: tuple[tuple[Any, ...], dict[str, Any]] | None = None

    # Functions of values, without self. Typed as attributes: a class takes any number of columns, and may make its
    # functions in __init__, of its parameters.
    lift: Callable[..., Any] = staticmethod(_lift)
    combine: Callable[..., Any] = staticmethod(_combine)
    lower: Callable[..., Any] = staticmethod(_lower)
    inverse: Callable[..., Any] = staticmethod(_inverse)
    defined: Callable[..., bool] = staticmethod(_defined)
    dump: Callable[..., Any] = staticmethod(_dump)
    load: Callable[..., Any] = staticmethod(_load)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = cls.__name__
        for name in SHORTCUTS:
            if name not in cls.__dict__:
                setattr(cls, name, getattr(Aggregation, name))
        for name in FUNCTIONS:
            function = cls.__dict__.get(name)
            if inspect.isfunction(function):
                if next(iter(inspect.signature(function).parameters), "") == "self":
                    raise InvalidInput(
                        f"{cls.__name__}: {name} is a function of values: leave out self, and make it a @staticmethod. "
                        f"Where it reads parameters, make it in __init__: self.{name} = ..."
                    )
                setattr(cls, name, staticmethod(function))

    def __init__(self, *columns: str, **parameters: Any) -> None:
        for column in columns:
            if not isinstance(column, str):
                raise InvalidInput(
                    f"{self.name}: columns are named by strings, got {column!r}. "
                    f"To aggregate values, make {self.name}() without columns and insert them"
                )
        self.columns = columns
        self.parameters = parameters

    def _check_columns(self) -> None:
        """Check the number of columns: after `__init__`, which may make lift."""
        if self.columns and len(self.columns) != self.arity:
            raise InvalidInput(
                f"{self.name} takes {self.arity} column{'s' * (self.arity != 1)} or none, "
                f"got {len(self.columns)}: {list(self.columns)}"
            )

    def _take_arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Hold what an `__init__` of your own was called with, and complete `parameters` by what they lack of it.

        Two objects that were made of different arguments are never the same, whatever `__init__` told the base class.
        """
        if "columns" not in vars(self):
            raise InvalidInput(
                f"{type(self).__name__}: its __init__ does not call super().__init__(*columns), which takes the names "
                "of the columns (none for plain values). Call it, with the parameters by name"
            )
        self.called_with = args, kwargs
        signature = inspect.signature(type(self).__init__)
        called = _bind(signature, self, args, kwargs)
        try:
            told = _bind(signature, self, self.columns, self.parameters)
        except TypeError:  # which is not how it was called
            told = None
        if told is None or _content(told) != _content(called):
            self.parameters = {**self.parameters, **_leave_out(self.columns, called)}

    def require_complete(self) -> None:
        """Refuse a class that lacks what it needs or declares."""
        if self.combine is Aggregation.combine:
            raise InvalidInput(f"{self.name} has no combine: define combine(older, newer), which merges two partials")
        if self.invertible and self.inverse is Aggregation.inverse:
            raise InvalidInput(
                f"{self.name} declares invertible and has no inverse: define inverse(total, oldest), or leave it out"
            )

    @property
    def arity(self) -> int:
        """How many values a row has: the parameters of lift."""
        # Asked in every call, and a signature takes longer than a small array.
        return _count_values_once(self.lift) if inspect.isfunction(self.lift) else _count_values(self.lift)

    @property
    def reads(self) -> tuple[str, ...]:
        """All columns that it reads of a row: those it aggregates, its condition, and what it asks of the own row."""
        return (*self.columns, *self.asks, *(() if self.where is None else (self.where,)))

    def read_question(self, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Check what the row of a result asks, as arguments of lower; None where a null makes the result null."""
        return None if any(value is None for value in values) else values

    def check_questions(self, values: tuple[np.ndarray, ...]) -> None:
        """Check what the rows of a column ask, as read_question does of one row."""

    def require_no_questions(self, what: str) -> None:
        """Refuse what each row asks, where results come without a row."""
        if self.asks:
            raise InvalidInput(
                f"{what}: {self!r} reads {', '.join(map(repr, self.asks))} of the row that a result is for, and with "
                "empty=True results come when rows leave, of no row. Give it a constant, or leave out empty=True"
            )

    def require_own_row(self, window: WindowDefinition) -> None:
        """Refuse a window whose results belong to no row, where something is asked of the row of a result."""
        if self.asks and (window.slide_kind == "time" or window.gives_windows):
            raise InvalidInput(
                f"{self!r} reads {', '.join(map(repr, self.asks))} of the row that a result is for, and the results of "
                f"{window!r} are for times. Use a window per row, or a slide by rows"
            )

    @property
    def properties(self) -> frozenset[str]:
        """The names of the properties that hold."""
        declared = frozenset(name for name in PROPERTIES if getattr(self, name) is True)
        return declared | {"in_parts"} if self.in_parts else declared

    @property
    def in_parts(self) -> bool:
        """Whether partials are sums and extremes side by side (`partial_parts`)."""
        return bool(self.partial_parts)

    @overload
    def over(self, window: WindowDefinition | int, *, algorithm: str = "auto") -> Over: ...

    @overload
    def over(self, window: _Specifies[SpecifiedT], *, algorithm: str = "auto") -> SpecifiedT: ...

    def over(self, window: Any, *, algorithm: str = "auto") -> Any:
        """Put this aggregation over a window, for `with_columns`: `sw.max("temp").over(sw.time("1h"))`.

        >>> import slidewise as sw
        >>> sw.max("temp").over(sw.time("1h"))
        max('temp').over(time("1h"))

        A number is one of rows: `.over(5)` is `.over(sw.rows(5))`.

        A spec in PySpark's spelling (`slidewise.spark.Window`) also says how rows are partitioned and ordered.
        """
        from slidewise.aggregations.over import Over
        from slidewise.windows.definitions import window_of

        if hasattr(window, "specify"):
            return window.specify(self, algorithm)
        if type(window).__module__.startswith("pyspark."):
            raise InvalidInput(
                f"{self.name}: over() got a {type(window).__name__} of pyspark, which cannot be looked into. Write the "
                "same words with slidewise's Window: from slidewise.spark import Window"
            )
        return Over(self, window_of(window, f"{self.name}: over()"), algorithm)

    def alias(self, name: str) -> Alias[Self]:
        """Name a result of `aggregate`: `sw.aggregate(df, sw.max("temp").alias("peak"), window=...)`.

        >>> import slidewise as sw
        >>> sw.aggregate({"x": [3, 1, 2, 0]}, sw.max("x").alias("peak"), window=sw.rows(2, every=2))["peak"]
        array([3, 2])
        """
        from slidewise.aggregations.over import Alias

        return Alias(self, name)

    def compiled(self, columns: tuple[np.ndarray, ...], longest: int) -> Aggregation | None:
        """Give the aggregation to compile for these columns and frames of at most `longest` rows; None: interpret.

        The place for what depends on types: sums of integers choose a partial that cannot overflow unseen.
        """
        if self.identity is None and type(self).identity_for is Aggregation.identity_for:
            reason: str | None = "since compiled code needs an identity: declare the neutral partial"
        else:
            from slidewise.aggregations.trial import obstacle  # which loads NumPy

            reason = obstacle(self, columns)
        if reason is None:
            return self
        warn_of_fallback(type(self), self.name, reason)
        return None

    def by_columns(
        self, columns: tuple[np.ndarray, ...]
    ) -> tuple[Aggregation, tuple[np.ndarray, ...], Callable[..., np.ndarray]] | None:
        """Another aggregation of columns made from these, and what makes its results those of this one; None: none.

        What frames ask are further arguments of the latter.
        """
        return None

    def identity_for(self, dtype: np.dtype) -> Any:
        """Give the identity where partials are scalars of this dtype; max over int64 has no minus infinity."""
        return self.identity

    def variant(self, **changes: Any) -> Aggregation:
        """Copy the aggregation with some functions or attributes replaced, for compiled()."""
        changed = object.__new__(type(self))
        changed.__dict__.update(self.__dict__, **changes, is_variant=True)
        return changed

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Functions made in __init__ from the parameters cannot be pickled, so they are made again.
        if not self.is_variant and any(inspect.isfunction(value) for value in self.__dict__.values()):
            args, kwargs = self.called_with or (self.columns, self.parameters)
            return _remake, (type(self), args, kwargs, self.columns, self.where)
        return super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        arguments = [repr(c) for c in self.columns] + [f"{k}={v!r}" for k, v in self.parameters.items()]
        arguments += [f"where={self.where!r}"] if self.where is not None else []
        return f"{self.name}({', '.join(arguments)})"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            type(self) is type(other)
            and isinstance(other, Aggregation)
            and not (self.is_variant or other.is_variant)  # its functions are not those of its class
            and (self.columns, self.where) == (other.columns, other.where)
            and (
                self.parameters == other.parameters
                if type(self).__module__.startswith("slidewise.")
                else _content(self._collect_made()) == _content(other._collect_made())
            )
        )

    def _collect_made(self) -> dict[str, Any]:
        """Collect the parameters, and what __init__ made beside them: it may keep others to itself."""
        return {name: x for name, x in vars(self).items() if name not in ("columns", "where", "called_with")}

    def __hash__(self) -> int:
        return hash((type(self), self.columns, repr(self.parameters), self.where))


def _count_values(lift: Callable[..., Any]) -> int:
    """Count the values that a lift takes of a row; one that takes any number is given one."""
    parameters = inspect.signature(lift).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return 1
    return sum(p.default is p.empty for p in parameters)


_count_values_once = lru_cache(256)(_count_values)


def _is_ours(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith("slidewise.")


def _bind(signature: inspect.Signature, made: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Name all arguments of a call, those by default too; where any number may come, those that did."""
    bound = signature.bind(made, *args, **kwargs)
    bound.apply_defaults()
    named = {name: value for name, value in list(bound.arguments.items())[1:] if name != "where"}  # without self
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= named.pop(parameter.name)
        elif parameter.kind is parameter.VAR_POSITIONAL and not named[parameter.name]:
            del named[parameter.name]
    return named


def _leave_out(columns: tuple[str, ...], called: dict[str, Any]) -> dict[str, Any]:
    """Leave the columns out of named arguments, in their order: with them, what is left tells the call."""
    left: dict[str, Any] = {}
    missing = list(columns)
    for name, value in called.items():
        names = list(value) if isinstance(value, tuple) and value else [value]
        if all(isinstance(x, str) for x in names) and names == missing[: len(names)]:
            del missing[: len(names)]
        else:
            left[name] = value
    return left


def _content(made: dict[str, Any]) -> tuple[str, list[Any]]:
    """Digest named values, functions by their code; what has no content to digest stands beside it."""
    from slidewise.aggregations.code_digest import content_digest

    unknown: list[Any] = []
    return content_digest(made, unknown=unknown) if made else "", unknown


def _remake(
    cls: type[Aggregation], args: tuple[Any, ...], kwargs: dict[str, Any], columns: tuple[str, ...], where: str | None
) -> Aggregation:
    made: Aggregation = cls(*args, where=where, **kwargs)
    made.columns = columns  # a copy may have been given others
    return made
