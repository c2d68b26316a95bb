"""The algorithms: one file each, written once as a template (see slidewise.templates)."""

from __future__ import annotations

from typing import Any

from slidewise.aggregations.base import Aggregation
from slidewise.errors import IllegalPair, InvalidInput
from slidewise.registry import algorithm, legal_algorithms, require_legal
from slidewise.templates.interpret import Swag, swag_class


def swag(name: str, aggregation: Aggregation | type[Aggregation], **options: Any) -> Swag:
    """Make the bare data structure: a sliding-window aggregator of one algorithm for one aggregation.

    >>> import slidewise as sw
    >>> s = sw.swag("daba_lite", sw.max())
    >>> for value in (3.0, 1.0, 2.0):
    ...     s.insert(value)
    >>> s.query()
    3.0
    >>> s.evict()
    >>> s.query(), len(s)
    (2.0, 2)

    What a structure must know at its start goes by name: `sw.swag("sba", sw.sum(), range=10, slide=2)`. So does what
    it may be told: `sw.swag("fiba", sw.sum(), arity=4)`. Where an algorithm is named, for columns or a `Window`, that
    is `algorithm="fiba(arity=4)"`.
    """
    entry = algorithm(name)
    if isinstance(aggregation, type) and issubclass(aggregation, Aggregation):
        aggregation = aggregation()
    if not isinstance(aggregation, Aggregation):
        raise InvalidInput(f"swag takes an aggregation such as slidewise.max(), got {aggregation!r}")
    if aggregation.where is not None:
        raise InvalidInput(
            f"swag takes values, which have no column {aggregation.where!r}: "
            "where= is for with_columns, aggregate and Window"
        )
    require_legal(entry, aggregation)
    if not entry.events:
        instead = next(e.name for e in reversed(legal_algorithms(aggregation)) if e.events)
        raise IllegalPair(
            f"{name} works on whole columns, and has no form that takes one value at a time. "
            f"Use {instead} here, or rolling(x, {aggregation!r}, rows(n)) on a column"
        )
    options = {**dict(entry.given), **options}
    if options:  # one class for all values of an option, unless it decides constants
        entry.with_options(options)
        entry = entry.with_options({name: options[name] for name in entry.constants if name in options})
    return swag_class(entry, aggregation)(**options)
