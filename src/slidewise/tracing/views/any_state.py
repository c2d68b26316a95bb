"""The view of an algorithm that has none of its own: the fields of its state, as they are declared."""

from __future__ import annotations

from typing import Any

from slidewise.templates.names import Array, IntArray, IntQueue, Partial, Queue
from slidewise.templates.storage import elements
from slidewise.tracing.picture import Picture, Pointer, Row, Strip
from slidewise.tracing.views.view import Look, View, draw_window


def _describe(s: Any, look: Look) -> Picture:
    strips = []
    numbers = {name: getattr(s, name) for name, kind in s.fields.items() if kind is int}
    for name, kind in s.fields.items():
        field = getattr(s, name)
        if kind in (Queue, IntQueue):
            held = elements(field)
            places = range(min(held), max(held) + 1) if held else range(0)
        elif kind in (Array, IntArray):
            held = dict(enumerate(field))
            places = range(len(field))
        else:
            continue
        make = look.partial if kind in (Queue, Array) else look.value
        cells = tuple(make((name, i), held.get(i), "front") for i in places)
        pointers = tuple(
            Pointer(n, k - places.start) for n, k in numbers.items() if places and places.start <= k <= places.stop
        )
        strips.append(Strip((Row("", cells),), pointers if kind in (Queue, IntQueue) else (), title=name))
    once = [name for name, kind in s.fields.items() if kind is Partial]
    beside = tuple(Row(name, (look.partial(name, getattr(s, name), "total"),)) for name in once)
    return Picture((draw_window(look, beside), *strips), numbers)


VIEW = View(_describe)
