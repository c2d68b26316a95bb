"""The interpreted form: a class per algorithm and aggregation, over any Python objects.

Partials are made optional here: None is the partial of nothing. It is the neutral element of every aggregation, so that
max works on strings without an identity, and a frame in which every row was null is told from one that sums to zero.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections import deque
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from slidewise.aggregations.base import FUNCTIONS, Aggregation
from slidewise.aggregations.partial_parts import write_out_parts
from slidewise.errors import IllegalPair, InvalidInput, Refused, StateError
from slidewise.registry.entries import AlgorithmEntry
from slidewise.templates import storage
from slidewise.templates.bind import bind, functions_of
from slidewise.templates.compiled_swag import add_compiled_way
from slidewise.templates.names import Array, IntArray, IntQueue, Partial, Queue

_ROW = (tuple, list)


def optional_names(op: Aggregation) -> dict[str, Any]:
    """Make the aggregation's functions take optional partials, under the free names of the templates."""
    lift, combine, lower, inverse, defined = op.lift, op.combine, op.lower, op.inverse, op.defined
    empty, arity = op.empty, op.arity

    def lift_value(value: Any) -> Any:
        return None if value is None else lift(value)

    def lift_row(row: Any) -> Any:
        if not isinstance(row, _ROW) or len(row) != arity:
            raise InvalidInput(f"{op.name} takes {arity} values per row: give a tuple of them, got {row!r}")
        return None if any(row[k] is None for k in needed) else lift(*row)

    def combine_optional(older: Any, newer: Any) -> Any:
        if older is None:
            return newer
        return older if newer is None else combine(older, newer)

    def inverse_optional(total: Any, oldest: Any) -> Any:
        return total if oldest is None else inverse(total, oldest)

    def lower_optional(partial: Any, *argument: Any) -> Any:
        if argument:
            require_arguments(op, argument)
        if partial is None:
            return empty
        return lower(partial, *argument) if defined(partial) else None

    def lower_always(partial: Any, *argument: Any) -> Any:
        if argument:
            require_arguments(op, argument)
        return empty if partial is None else lower(partial, *argument)

    needed = range(arity) if op.nulls == "skip" else () if op.nulls == "keep" else op.nulls
    if arity == 1:
        lift_input: Callable[[Any], Any] = lift_value if needed else lift
    else:
        lift_input = lift_row
    return {
        "identity": None,
        "commutative": op.commutative,
        "selective": op.selective,
        "lift": lift_input,
        "combine": combine_optional,
        "inverse": inverse_optional,
        "lower": lower_always if defined is Aggregation.defined else lower_optional,
        "same": lambda a, b: a is b,
        **write_out_parts(op.partial_parts),
        "at": storage.at,
        "put": storage.put,
        "append": storage.append,
        "drop": storage.drop,
        "grow": storage.grow_list,
        "shrink": storage.shrink_list,
    }


def require_arguments(op: Aggregation, given: tuple[Any, ...]) -> None:
    """Refuse arguments of query that lower does not take: dropped, they would look like a range that was answered."""
    taken = list(inspect.signature(op.lower).parameters.values())[1:]
    if op.lower is Aggregation.lower:
        most = 0
    else:
        most = sum(1 for p in taken if p.kind is not p.KEYWORD_ONLY)  # *x stands for one that may be left out
    if len(given) > most:
        takes = f"takes {most} argument{'s' * (most != 1)}" if most else "takes no argument"
        raise InvalidInput(
            f"query: {op.name} {takes}, got {', '.join(map(repr, given))}. "
            "Ranges of time, query(start, end), are answered by fiba, reactive and b_int"
        )


_EMPTY: dict[Any, Callable[[], Any]] = {
    Partial: lambda: None,
    Queue: storage.new_pages,
    IntQueue: storage.new_pages,
    Array: list,
    IntArray: list,
}


#: of all structures that were given none: a dict of its own takes 64 bytes
_NO_OPTIONS: dict[str, Any] = {}


class Swag:
    """A sliding-window aggregator (SWAG): values in at one end, out at the other, and their aggregate at any time.

    Made by `slidewise.swag(name, aggregation)`.

    >>> import slidewise as sw
    >>> s = sw.swag("two_stacks", sw.sum())
    >>> for value in (3, 1, 2): s.insert(value)
    >>> s.evict()
    >>> s.query(), len(s)
    (3, 2)
    """

    __slots__ = ("_options", "_times")
    entry: ClassVar[AlgorithmEntry]
    aggregation: ClassVar[Aggregation]
    fields: ClassVar[dict[str, Any]]
    functions: ClassVar[dict[str, Any]]

    def __init__(self, **options: Any) -> None:
        self._options = options or _NO_OPTIONS
        self._times: deque[Any] | None = None
        for name, kind in self.fields.items():
            setattr(self, name, _EMPTY[kind]() if kind in _EMPTY else 0)
        if "setup" in self.functions:
            self.functions["setup"](self, **options)

    # insert, evict and query are made per class, see swag_class: a method call less on the hot path.
    def insert(self, value: Any, time: Any = None) -> None:
        """Add a value, younger than all others."""
        raise AssertionError("made per class")

    def evict(self, time: Any = None) -> None:
        """Remove the oldest value; with a time, every value of that time or older."""
        raise AssertionError("made per class")

    def query(self, *argument: Any, **between: Any) -> Any:
        """Compute the aggregate of the values held; an argument goes to the aggregation's lower."""
        raise AssertionError("made per class")

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Find what the algorithm has besides, as fiba's `bulk_insert`: its class is made when it is asked for."""

        def __enter__(self) -> Self: ...  # pba's, which works in a thread

        def __exit__(self, *error: object) -> None: ...

    def __len__(self) -> int:
        size: int = self.functions["size"](self)
        return size

    def check(self, values: list[Any] | None = None) -> None:
        """Verify the algorithm's invariant; with the window's values, also every partial held. For tests."""
        partials = None if values is None else [self.functions["lift"](v) for v in values]
        self.functions["check"](self, partials)
        if partials is not None:
            assert len(self) == len(partials), (len(self), len(partials))

    def partials(self) -> int:
        """Tell how many partials are held: the algorithm's space."""
        return sum(_count_partials(kind, getattr(self, name)) for name, kind in self.fields.items())

    # ---- times, kept beside a FIFO algorithm
    @property
    def oldest(self) -> Any:
        """The time of the oldest value held; None where there is none."""
        return self._times[0] if self._times else None

    @property
    def youngest(self) -> Any:
        """The time of the youngest value held; None where there is none."""
        return self._times[-1] if self._times else None

    def _insert_time(self, time: Any) -> None:
        if self._times is None:
            if len(self):
                raise InvalidInput("the values held have no times: give a time with every insert, or with none")
            self._times = deque()
        if time is None or time != time:
            raise InvalidInput(f"insert: a time that can be ordered is needed with every value, got {time!r}")
        if self._times and time < self._times[-1]:
            raise IllegalPair(
                f"{self.entry.name} needs values in the order of their times, "
                f"and got {time!r} after {self._times[-1]!r}. "
                "Use fiba, which takes any order, or reactive for commutative aggregations"
            )
        self._times.append(time)

    def _step(self, name: str, *args: Any) -> Any:
        """Run a step of the template for a mixin; one that fails halfway spoils the structure."""
        try:
            return self.functions[name](self, *args)
        except BaseException as error:
            spoil(self, error)
            raise

    # ---- state as bytes; serialization loads on first use, which makes `import slidewise` a fifth faster
    def to_bytes(self) -> bytes:
        """Save the whole state: versioned, with a checksum and the fingerprint of this definition. O(state).

        >>> import slidewise as sw
        >>> s = sw.swag("daba_lite", sw.max())
        >>> s.insert(3.0); s.insert(1.0)
        >>> later = sw.swag("daba_lite", sw.max()).from_bytes(s.to_bytes())
        >>> later.evict(); later.query()
        1.0
        """
        from slidewise.serialization import envelope

        return envelope.seal("swag", self._definition(), (self._times, self._save()))

    def from_bytes(self, data: bytes) -> Self:
        """Make a new structure of this definition with the state that to_bytes() gave; this one is left alone.

        Damaged bytes, and those of another definition or a newer version, are refused with a StateError.
        """
        from slidewise.serialization import codec, envelope

        payload = envelope.unseal(data, "swag", self._definition())
        new = type(self)(**self._options)
        with codec.refuse_damage():
            times, saved = payload
            new._take_over(times, saved)
        return new

    def _take_over(self, times: Any, saved: Any) -> None:
        """Take over saved times and state, in a new structure; refused where no sequence of operations leads there."""
        self._times = times
        self._restore(saved)
        if not (self._sound() and self._sound_times()):
            raise StateError(
                f"saved state is damaged: its values are not those of a {self.entry.name}. Use another copy"
            )

    def _sound(self) -> bool:
        """Tell whether the algorithm can go on from here; that its partials are right is not looked at. O(state)."""
        sound: bool = self.functions["sound"](self)
        return sound

    def _sound_times(self) -> bool:
        times = self._times
        return times is None or (
            type(times) is deque
            and len(times) == len(self)
            and all(t is not None and t == t for t in times)
            and not any(b < a for a, b in itertools.pairwise(times))
        )

    def _definition(self) -> dict[str, str]:
        from slidewise.templates.canonical_form import define_swag

        return define_swag(self.entry, self.aggregation, self._options, self.fields)

    def _save(self) -> Any:
        """Save the state as plain values; algorithms with structures of their own replace this and _restore."""
        from slidewise.templates import saved_fields

        return saved_fields.save(self)

    def _restore(self, plain: Any) -> None:
        """Take over what _save() gave, in a new structure."""
        from slidewise.templates import saved_fields

        saved_fields.restore(self, plain)

    def __repr__(self) -> str:
        return f"<{self.entry.name} of {self.aggregation!r} with {len(self)} values>"


def _count_partials(kind: Any, value: Any) -> int:
    if kind is Partial:
        return int(value is not None)
    if kind is Queue:
        return len(storage.elements(value))
    return sum(v is not None for v in value) if kind is Array else 0


def state_fields(module: ModuleType) -> dict[str, Any]:
    """Read the fields of a template's State and their kinds; annotations may be strings."""
    import typing

    return typing.get_type_hints(module.State)


def swag_class(entry: AlgorithmEntry, aggregation: Aggregation) -> type[Swag]:
    """Make the class of one algorithm for one aggregation: the template's clones as the methods' bodies."""
    cls = type(aggregation)
    return build_swag_class(
        entry, aggregation, (*(getattr(cls, name) for name in FUNCTIONS), cls.nulls, repr(cls.empty))
    )


@functools.lru_cache(maxsize=512)
def build_swag_class(entry: AlgorithmEntry, aggregation: Aggregation, now: tuple[Any, ...]) -> type[Swag]:
    """Build the class with what the aggregation's has `now`: in a notebook, a function of it may be replaced."""
    module = entry.module
    names = optional_names(aggregation)
    fields = state_fields(module)
    functions = {**names, **bind(functions_of(module), names)}
    lift, lower = names["lift"], names["lower"]
    insert_partial, evict_oldest, query_partial = functions["insert"], functions["evict"], functions["query"]
    size = functions["size"]

    def insert(self: Swag, value: Any, time: Any = None) -> None:
        partial = lift(value)
        if time is not None or self._times is not None:
            self._insert_time(time)
        try:
            insert_partial(self, partial)
        except Refused:
            if self._times is not None:
                self._times.pop()
            raise
        except BaseException as error:
            spoil(self, error)
            raise

    def evict(self: Swag, time: Any = None) -> None:
        if time is not None:
            _evict_up_to(self, time)
            return
        if not size(self):
            raise InvalidInput(f"evict: the window of {self.entry.name} is empty")
        try:
            evict_oldest(self)
        except BaseException as error:
            spoil(self, error)
            raise
        if self._times is not None:
            self._times.popleft()

    def query(self: Swag, *argument: Any) -> Any:
        return lower(query_partial(self), *argument)

    body = {
        "__slots__": tuple(fields),
        "entry": entry,
        "aggregation": aggregation,
        "fields": fields,
        "functions": functions,
    }
    methods: dict[str, FunctionType] = {"insert": insert, "evict": evict, "query": query}  # type: ignore[dict-item]
    for name, method in methods.items():
        method.__doc__ = getattr(Swag, name).__doc__
        method.__qualname__ = f"Swag.{name}"
    bases = (*getattr(module, "MIXINS", ()), Swag)
    plain = {n: getattr(Swag, n) for n in methods}
    body |= {n: m for n, m in methods.items() if all(getattr(b, n, plain[n]) is plain[n] for b in bases)}
    made = type(f"{entry.name}[{aggregation.name}]", bases, body)
    compiles = entry.compiles_events(aggregation) and not aggregation.order_statistic
    return add_compiled_way(made) if compiles else made


_UNUSABLE = (
    "insert", "evict", "query", "remove", "bulk_insert", "bulk_evict", "query_last", "new", "update", "aggregate",
    "prefix", "suffix", "to_bytes", "_save",
)  # fmt: skip


def spoil(swag: Swag, error: BaseException) -> None:
    """Let a structure refuse everything from now on: a combine that failed has left its partials half updated.

    Another class for this one object costs nothing where all goes well.
    """
    plain = type(swag)
    reason = f"{type(error).__name__}: {error}"

    def refuse(self: Swag, *args: Any, **options: Any) -> Any:
        raise InvalidInput(
            f"{self.entry.name}: an earlier operation failed halfway ({reason}), and its values are no longer whole. "
            "Make a new one, or load the last state with from_bytes()"
        )

    def from_bytes(self: Swag, data: bytes) -> Swag:
        return plain(**self._options).from_bytes(data)

    body: dict[str, Any] = {name: refuse for name in _UNUSABLE if hasattr(plain, name)}
    swag.__class__ = type(plain.__name__, (plain,), {"__slots__": (), **body, "from_bytes": from_bytes})


@contextlib.contextmanager
def unless_spoiled(swag: Swag) -> Iterator[None]:
    """Spoil the structure where these steps fail halfway."""
    try:
        yield
    except BaseException as error:
        spoil(swag, error)
        raise


def _evict_up_to(swag: Swag, time: Any) -> None:
    if swag._times is None:
        if len(swag):
            raise InvalidInput("evict(time=): the values held have no times. Insert with insert(value, time=t)")
        return
    if time != time:
        raise InvalidInput(f"evict: {time!r} has no place in the order of times")
    while swag._times and swag._times[0] <= time:
        swag.evict()


def run_interpreted(
    swag: Swag, rows: list[Any], start: Any, end: Any, questions: list[tuple[Any, ...]] | None = None
) -> Iterator[Any]:
    """Compute the results over frames whose bounds never move back; the interpreted twin of fifo.run.

    Questions are the arguments of query, for each frame.
    """
    front = last = 0
    for lo, hi, question in zip(start, end, questions or [()] * len(start), strict=True):
        while front < lo:
            if front == last:
                front = last = lo
            else:
                swag.evict()
                front += 1
        while last < hi:
            swag.insert(rows[last])
            last += 1
        yield swag.query(*question) if front < last else swag.aggregation.empty
