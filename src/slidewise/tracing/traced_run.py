"""Running operations on a real structure, and looking at it after each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.algorithms import swag
from slidewise.algorithms.raw_values import OfRawValues
from slidewise.errors import InvalidInput, SlidewiseError
from slidewise.templates.interpret import Swag
from slidewise.tracing.notation import NOTHING, Show, choose_show, fit
from slidewise.tracing.operations import Operation, read_operations
from slidewise.tracing.picture import mark_changes
from slidewise.tracing.recorder import Recorder
from slidewise.tracing.steps import Step, Trace
from slidewise.tracing.views import Look, find_view


def trace(
    algorithm: str,
    aggregation: Aggregation | type[Aggregation],
    operations: str | Iterable[Any],
    *,
    show: Callable[[Any], str] | None = None,
    **options: Any,
) -> Trace:
    """Run operations on a data structure, and show what it holds after each.

    >>> import slidewise as sw
    >>> t = sw.trace("daba_lite", sw.max(), "insert 5 3, evict, query")
    >>> print(t[1:2])
    daba_lite of max()
    <BLANKLINE>
      2  insert 3   flip, shrink   1 combine
    <BLANKLINE>
          l_F  l_A
         ┌────┬────┐
         │ 5  │ 3* │   aggRA ·   aggB ·
         └────┴────┘
         F    LRA  BE
    <BLANKLINE>
         5 ⊗ 3 = 5
    >>> [(str(step.operation), step.cases, step.combines) for step in t[:3]]
    [('insert 5', ('singleton',), 0), ('insert 3', ('flip', 'shrink'), 1), ('evict', ('shift',), 0)]
    >>> t[-1].result
    3

    Operations are text, `insert 5`, `insert 4 5 3`, `insert 5 at 10` with its time, `evict`, `evict to 10`, `query`,
    `query 10 to 20`, `query_last 3`, `remove 10`, or tuples, ("insert", 5) and ("insert", 5, 10). Values in text are
    those of Python. What the structure must know at its start goes by name, as with `swag`: `capacity=8`. `show` says
    how a partial is written.
    """
    done = read_operations(operations)
    if isinstance(aggregation, type) and issubclass(aggregation, Aggregation):
        aggregation = aggregation()
    if not isinstance(aggregation, Aggregation):
        raise InvalidInput(f"trace takes an aggregation such as slidewise.max(), got {aggregation!r}")
    aggregation.require_complete()
    recorder = Recorder(aggregation)
    structure = swag(algorithm, recorder.aggregation, **options)
    try:
        steps = tuple(_run(structure, recorder, done, _show_on_a_line(show) if show else choose_show(aggregation)))
    finally:
        if hasattr(structure, "close"):
            structure.close()
    named = "".join(f", {name}={value!r}" for name, value in options.items())
    return Trace(f"{algorithm} of {aggregation!r}{named}", steps)


def _show_on_a_line(show: Show) -> Show:
    """Take what a user's function writes of a partial; of the identity, which it need not know, a dot is written."""
    return lambda partial: NOTHING if partial is None else fit(str(show(partial)), 20)


def _run(structure: Swag, recorder: Recorder, operations: list[Operation], show: Show) -> Iterator[Step]:
    view = find_view(structure.entry.name)
    window = _Window()
    combines = not isinstance(structure, OfRawValues)
    before = view.describe(structure, Look(show, {}))
    for number, operation in enumerate(operations, 1):
        result = _perform(structure, operation, number)
        window.follow(operation)
        after = view.describe(structure, Look(show, window.values))
        cases = tuple(view.name_cases(operation.name, before, after))
        values = tuple(window.values.values())
        picture = mark_changes(before, after)
        yield Step(number, operation, cases, values, recorder.take(), result, picture, show, combines)
        before = after


def _perform(structure: Swag, operation: Operation, number: int) -> Any:
    """Run one operation; where it fails, the error says in which step."""
    method = getattr(structure, operation.name, None)
    if method is None:
        having = {"remove": "reactive and fiba", "query_last": "b_int"}[operation.name]
        raise InvalidInput(
            f"trace: step {number}, {operation}: {structure.entry.name} has no {operation.name}. Take {having}"
        )
    try:
        return method(*operation.arguments)
    except SlidewiseError as error:
        raise type(error)(f"trace: step {number}, {operation}: {error}") from error
    except Exception as error:
        error.add_note(f"in step {number} of the trace: {operation}")
        raise


class _Window:
    """The values in the window, as the operations say."""

    def __init__(self) -> None:
        self.values: dict[int, Any] = {}
        self._times: dict[int, Any] = {}
        self._inserted = 0

    def follow(self, operation: Operation) -> None:
        """Do what the operation does."""
        if operation.name == "insert":
            value, *time = operation.arguments
            self._insert(value, *time)
        elif operation.name == "evict" and not operation.arguments:
            self._forget([next(iter(self.values))])
        elif operation.name in ("evict", "remove"):
            (limit,) = operation.arguments
            exact = operation.name == "remove"
            self._forget([n for n, t in self._times.items() if (t == limit if exact else t <= limit)])

    def _insert(self, value: Any, time: Any = None) -> None:
        number, self._inserted = self._inserted, self._inserted + 1
        if time is None:
            self.values[number] = value
            return
        order = list(self._times)
        order.insert(bisect_right(order, time, key=self._times.__getitem__), number)
        times, values = {**self._times, number: time}, {**self.values, number: value}
        self._times = {n: times[n] for n in order}
        self.values = {n: values[n] for n in order}

    def _forget(self, numbers: list[int]) -> None:
        for number in numbers:
            del self.values[number]
            self._times.pop(number, None)
