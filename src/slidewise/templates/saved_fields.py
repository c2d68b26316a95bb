"""The fields of a data structure as plain values: partials through the aggregation's dump and load."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from slidewise.aggregations.base import Aggregation
from slidewise.errors import StateError
from slidewise.templates import storage
from slidewise.templates.names import Array, IntArray, IntQueue, Partial, Queue

if TYPE_CHECKING:
    from slidewise.templates.interpret import Swag


def save(swag: Swag) -> dict[str, Any]:
    """Every field by name; a queue as its elements with their positions. O(state)."""
    dump = _optional(swag.aggregation.dump, Aggregation.dump)
    return {name: _plain(getattr(swag, name), kind, dump) for name, kind in swag.fields.items()}


def restore(swag: Swag, plain: dict[str, Any]) -> None:
    """Set every field of a new structure. O(state)."""
    load = _optional(swag.aggregation.load, Aggregation.load)
    for name, kind in swag.fields.items():
        if kind is int and (type(plain[name]) is not int or abs(plain[name]) >= 1 << 63):
            raise StateError("saved state is damaged: a position or a number is no integer of 64 bits")
        setattr(swag, name, _live(plain[name], kind, load))


def _optional(function: Any, untouched: Any) -> Callable[[Any], Any]:
    """dump or load where None is the partial of nothing; the identity where neither is defined."""
    if function is untouched:
        return lambda partial: partial
    return lambda partial: None if partial is None else function(partial)


def _same(value: Any) -> Any:
    return value


def _plain(value: Any, kind: Any, dump: Callable[[Any], Any]) -> Any:
    if kind is Partial:
        return dump(value)
    if kind is Array:
        return [dump(v) for v in value]
    if kind is Queue or kind is IntQueue:
        plain = dump if kind is Queue else _same
        if storage.is_ring(value):
            front, values = storage.list_ring(value)
            return (front, [plain(v) for v in values])
        return [(start, [plain(v) for v in values]) for start, values in storage.stretches(value)]
    return value


def _live(plain: Any, kind: Any, load: Callable[[Any], Any]) -> Any:
    if kind is Partial:
        return load(plain)
    if kind is Array:
        return [load(p) for p in _list(plain)]
    if kind is IntArray:
        return list(_list(plain))  # its own: a state can name one list twice
    if kind is Queue or kind is IntQueue:
        if type(plain) is tuple:
            front, values = plain
            if not (type(front) is int and 0 <= front < 1 << 63 and len(_list(values)) in storage.RINGS):
                raise StateError("saved state is damaged: a queue has a front and a power of two of slots")
            return storage.build_ring(front, [load(p) for p in values] if kind is Queue else values)
        if len(_list(plain)) > 2:  # elements are neighbours, but for the step from the last position to the first
            raise StateError("saved state is damaged: a queue in pieces")
        pages: storage.Pages = [None] * storage.SIZE
        for start, values in plain:
            for i, p in enumerate(_list(values), start):
                storage.append(pages, i, load(p) if kind is Queue else p)
        return pages
    return plain


def _list(plain: Any) -> list[Any]:
    if type(plain) is not list:
        raise StateError(f"saved state is damaged: a list was expected, and {type(plain).__name__} found")
    return plain
