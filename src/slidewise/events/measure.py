"""What a window computes: its aggregations, the algorithm of each, and the structures for their partials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from slidewise.aggregations.base import PROPERTIES, Aggregation
from slidewise.aggregations.over import Over
from slidewise.aggregations.places import Place
from slidewise.aggregations.sums import Count
from slidewise.algorithms import swag
from slidewise.errors import IllegalPair, InvalidInput
from slidewise.registry import algorithm as entry_of
from slidewise.registry import legal_algorithms, require_legal
from slidewise.registry.entries import AlgorithmEntry
from slidewise.templates.interpret import Swag, optional_names

if TYPE_CHECKING:
    from slidewise.planner.choose import Situation

_HOLISTIC = frozenset({"order_statistic", "distinct_values", "most_frequent"})


#: the arguments of a result that its row brings along: none, or None where a null makes the result null
Question = tuple[Any, ...] | None


def _same(partial: Any) -> Any:
    return partial


class OfPartials(Aggregation):
    """An aggregation whose values are partials already: a row is lifted once, and slices are inserted."""

    def __init__(self, of: Aggregation) -> None:
        self.name = of.name  # type: ignore[misc]
        for name in (
            *PROPERTIES,
            "partial_parts",
            "identity",
            "empty",
            "combine",
            "lower",
            "inverse",
            "defined",
            "dump",
            "load",
        ):
            setattr(self, name, getattr(of, name))
        self.lift, self.nulls = _same, "keep"
        self.columns = ()
        self.parameters = {"of": of}


class ReadBySeveral(OfPartials):
    """The partials of one aggregation, from which several are read: the result is the tuple of theirs."""

    def __init__(self, of: Aggregation, readers: Sequence[tuple[Aggregation, int | None]]) -> None:
        super().__init__(of)
        self.parameters = {"of": of, "readers": tuple(readers)}
        lowers = [(optional_names(reader)["lower"], part) for reader, part in readers]

        def lower(partial: Any) -> tuple[Any, ...]:
            return tuple(read(partial if part is None else partial[part]) for read, part in lowers)

        self.lower, self.defined = lower, Aggregation.defined
        self.empty = tuple(reader.empty for reader, _ in readers)


class Unlowered(OfPartials):
    """Partials that are read as they are: each of several windows lowers its own."""

    def __init__(self, of: Aggregation) -> None:
        super().__init__(of)
        self.lower, self.defined, self.empty = _same, Aggregation.defined, None


class Output(NamedTuple):
    """One result of a window by name: the measure that it is read from, and where in that one's result it stands."""

    name: str
    aggregation: Aggregation
    #: None: it is the number of rows
    measure: int | None
    #: None: the measure has one result
    part: int | None


class Measure:
    """What a window holds in one structure: how a row is read, which algorithm holds it, and what is read from it.

    Mostly that is the aggregation itself; otherwise `of_partials` tells.
    """

    __slots__ = (
        "aggregation",
        "arity",
        "asks",
        "columns",
        "combine",
        "entry",
        "item",
        "lift",
        "lower",
        "of_partials",
        "options",
        "raw",
        "where",
    )

    def __init__(
        self,
        aggregation: Aggregation,
        entry: AlgorithmEntry,
        options: dict[str, Any],
        of_partials: OfPartials | None = None,
    ):
        self.aggregation = aggregation
        self.entry = entry
        self.options = options
        self.columns = aggregation.columns
        self.arity = aggregation.arity
        self.where = aggregation.where
        self.asks = aggregation.asks
        #: the structure takes the values themselves, not partials
        self.raw = bool(entry.needs & _HOLISTIC)
        names = optional_names(aggregation)
        self.lift, self.combine, self.lower = names["lift"], names["combine"], names["lower"]
        self.of_partials = of_partials or OfPartials(aggregation)
        if of_partials is not None:
            self.lower = optional_names(of_partials)["lower"]
        #: lifts one row to what is held of it
        self.item = self._build_item()

    def _build_item(self) -> Callable[[Any], Any]:
        """Build what lifts one row to what is held of it: its partial, or its value where values are held. O(1).

        A row that `where` leaves out is held as nothing: it counts among the rows of a window, and adds nothing.
        Functions of few names, and not a method: there is one call for every row and aggregation.
        """
        aggregation, lift, columns, arity = self.aggregation, self.lift, self.columns, self.arity

        def lift_value(value: Any) -> Any:
            try:
                return lift(value)
            except (TypeError, ValueError, AttributeError) as error:
                if isinstance(error, InvalidInput):
                    raise
                raise InvalidInput(f"{aggregation!r} cannot take the value {value!r}: {error}") from error

        def require_values(value: Any) -> Any:
            if not (isinstance(value, tuple | list) and len(value) == arity):
                raise InvalidInput(
                    f"{aggregation.name} takes {arity} values per row: push a tuple of them, got {value!r}"
                )
            return value

        def read_cells(row: Any) -> Any:
            try:
                if len(columns) == 1:
                    return row[columns[0]]
                return tuple([row[column] for column in columns])
            except (KeyError, TypeError, IndexError):
                raise missing_column(row, columns, repr(aggregation)) from None

        hold = _same if self.raw else lift_value
        read = read_cells if columns else require_values if arity > 1 else None
        if self.where is not None:
            return lambda row: hold(row if read is None else read(row)) if self._passes_filter(row) else None
        if read is None:
            return hold
        return read if self.raw else lambda row: lift_value(read(row))

    def read_question(self, row: Any) -> Question:
        """Read what a row asks of its own result."""
        if not self.asks:
            return ()
        try:
            values = tuple(row[column] for column in self.asks)
        except (KeyError, TypeError, IndexError):
            raise missing_column(row, self.asks, repr(self.aggregation)) from None
        return self.aggregation.read_question(values)

    def _passes_filter(self, row: Any) -> bool:
        try:
            found = row[self.where]
        except (KeyError, TypeError, IndexError):
            raise missing_column(row, (str(self.where),), f"where={self.where!r}") from None
        if hasattr(found, "item"):
            found = found.item()
        if found is not None and not isinstance(found, bool):
            raise InvalidInput(f"where={self.where!r} must be True, False or None, got {found!r}")
        return found is True

    def structure(self) -> Swag:
        """Build a new structure for items."""
        if self.raw:
            plain = self.aggregation
            if self.where is not None:
                plain = copy(plain)  # equal to any other copy, as a variant is not: state finds its measure by that
                plain.where = None
            return swag(self.entry.name, plain, **self.options)
        return swag(self.entry.name, self.of_partials, **self.options)

    @property
    def mergeable(self) -> bool:
        """Whether rows may be merged into slices before the structure sees them."""
        return self.aggregation.associative and not self.raw

    def fold(self, items: Any, question: tuple[Any, ...] = ()) -> Any:
        """Compute the result of some items, the oldest first. O(n) combines."""
        return self.read(self.total(items), *question)

    def total(self, items: Any) -> Any:
        """Combine some items, the oldest first: their partial, or a structure where values are held. O(n) combines."""
        if self.raw:
            structure = self.structure()
            for item in items:
                structure.insert(item)
            return structure
        total = None
        for item in items:
            total = self.combine(total, item)
        return total

    def read(self, total: Any, *question: Any) -> Any:
        """Read the result of a total. O(1) where partials are held."""
        return total.query(*question) if self.raw else self.lower(total, *question)


def missing_column(row: Any, columns: tuple[str, ...], who: str) -> InvalidInput:
    """Build the error for a row that lacks columns."""
    if not isinstance(row, Mapping):
        return InvalidInput(
            f"{who} reads the column{'s' * (len(columns) > 1)} {', '.join(columns)} of a row: "
            f"push a mapping such as a dict, got {row!r}"
        )
    lacking = [c for c in columns if c not in row]
    return InvalidInput(f"{who}: the row has no column {', '.join(lacking)}. It has: {', '.join(map(str, row))}")


def name_aggregations(aggregations: Any) -> tuple[dict[str, Aggregation], bool]:
    """Return the aggregations by name, and whether there is just one without a name."""
    single = not isinstance(aggregations, Mapping)
    given = {"": aggregations} if single else dict(aggregations)
    if not given:
        raise InvalidInput("Window: no aggregation is given")
    named = {}
    for name, aggregation in given.items():
        if isinstance(aggregation, type) and issubclass(aggregation, Aggregation):
            aggregation = aggregation()
        if isinstance(aggregation, Over) and aggregation.aggregation.own_frame:
            raise InvalidInput(
                f"Window: {aggregation!r} has a frame of its own, and a window is given for all. Leave that out, and "
                "give others theirs by .over(...)"
            )
        if isinstance(aggregation, Over):
            raise InvalidInput(
                f"Window: {aggregation!r} brings its own window, and another is given for all. Give "
                f"{aggregation.aggregation!r}, or every aggregation with its window and no second argument"
            )
        if not isinstance(aggregation, Aggregation):
            raise InvalidInput(
                f"Window takes an aggregation such as slidewise.max(), or a dict of them, got {aggregation!r}"
            )
        if isinstance(aggregation, Place) and aggregation.needs_all_rows:
            raise InvalidInput(
                f"Window: {aggregation.name} is a share of all rows of a key, and a stream does not end. Compute it "
                "over columns, with sw.with_columns"
            )
        if not isinstance(name, str):
            raise InvalidInput(f"Window: aggregations are named by strings, got {name!r}")
        named[name] = aggregation
    _check_columns(list(named.values()))
    return named, single


def _check_columns(aggregations: list[Aggregation]) -> None:
    """Check that all aggregations read columns, or all read the value itself; count() reads neither."""
    readers = [a for a in aggregations if not (isinstance(a, Count) or a.of_order) or a.columns]
    with_columns = [a for a in readers if a.columns]
    without = [a for a in readers if not a.columns]
    filtered = [a for a in aggregations if a.where is not None]
    if filtered and without:
        raise InvalidInput(
            f"Window: where={filtered[0].where!r} names a column of the row, and {without[0]!r} reads the whole value. "
            "Name its column too"
        )
    if with_columns and without:
        raise InvalidInput(
            f"Window: {with_columns[0]!r} reads a column and {without[0]!r} reads the whole value. "
            "Name the columns of both, or of neither"
        )
    if len({a.arity for a in without}) > 1:
        raise InvalidInput(
            f"Window: {', '.join(map(repr, without))} take different numbers of values. Name their columns"
        )


def choose_entry(aggregation: Aggregation, name: str, situation: Situation) -> AlgorithmEntry:
    """Choose the algorithm: the planner's choice, or the one given by name if that is legal."""
    from slidewise.planner.choose import choose

    if name == "auto":
        return entry_of(choose(aggregation, situation).algorithm)
    entry = entry_of(name)
    require_legal(entry, aggregation)
    if situation.out_of_order and not _takes_any_order(entry, aggregation):
        instead = [e.name for e in legal_algorithms(aggregation) if _takes_any_order(e, aggregation)]
        raise IllegalPair(
            f"{name} lacks the property out of order: it takes rows in order only, and this window inserts late "
            f"rows or has frames that move back. Use {' or '.join(reversed(instead))}"
        )
    if not entry.row_by_row:
        raise IllegalPair(
            f"{name} is made for whole columns of a fixed range, and a Window goes row by row. "
            f"Use {choose(aggregation, situation).algorithm} here, or slidewise.rolling"
        )
    return entry


def _takes_any_order(entry: AlgorithmEntry, aggregation: Aggregation) -> bool:
    # reactive puts late values where there is room, which is right only where the order does not matter.
    if entry.name == "reactive" and not aggregation.commutative:
        return False
    return (entry.out_of_order and entry.ranges) or entry.name == "recalculate"
