"""Many windows from one: the youngest k values, for structures that answer every window that ends with the youngest."""

from __future__ import annotations

import operator
from typing import Any

from slidewise.errors import InvalidInput


class LastValues:
    """query_last(k); the template has query_youngest(s, k), the partial of the youngest k of at least k values.

    >>> import slidewise as sw
    >>> s = sw.swag("flat_fit", sw.sum())
    >>> for value in (1, 2, 3, 4): s.insert(value)
    >>> s.query(), s.query_last(3), s.query_last(1)
    (10, 9, 4)
    """

    __slots__ = ()

    def query_last(self: Any, k: int, *argument: Any) -> Any:
        """Aggregate the youngest k values, or all where fewer are held. The costs are those of a query."""
        try:
            count = operator.index(k)
        except TypeError:
            count = -1
        if count < 0:
            raise InvalidInput(f"query_last: a window has a whole number of values from 0 on, got {k!r}")
        partial = self._step("query_youngest", min(count, len(self)))
        return self.functions["lower"](partial, *argument)
