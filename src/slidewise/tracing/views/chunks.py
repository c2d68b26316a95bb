"""The boundary aggregators: slices in chunks, left-cumulative before the boundary and running after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slidewise.tracing.notation import write_value
from slidewise.tracing.picture import Cell, Picture, Pointer, Region, Row, Strip
from slidewise.tracing.views.view import Look, View


def _sba(s: Any, look: Look) -> Picture:
    first, last = s.evicted // s.slide, -(-s.inserted // s.slide)  # the slices held: first to last - 1
    newest = s.inserted // s.slide // s.chunk * s.chunk  # the first slice of the newest chunk
    held = range(first, last)

    def tone(i: int) -> str:
        return "left" if i < newest else "back"

    values = tuple(Cell(None, None, _write_slice(s, look, i), "quiet") for i in held)
    slots = tuple(look.partial(("slice", i), s.slices[i % len(s.slices)], tone(i)) for i in held)
    regions = tuple(
        Region(
            f"chunk {k}: lcs" if k * s.chunk < newest else f"chunk {k}",
            max(first, k * s.chunk) - first,
            min(last, (k + 1) * s.chunk) - first,
            tone(k * s.chunk),
        )
        for k in range(first // s.chunk, -(-last // s.chunk))
    )
    boundaries = range(-(-first // s.chunk) * s.chunk, last + 1, s.chunk)
    pointers = tuple(Pointer(f"b{i // s.chunk}", i - first) for i in boundaries)
    strip = Strip(
        (Row("values", values), Row("held", slots)),
        pointers,
        regions,
        beside=(Row("running", (look.partial("running", s.running, "total"),)),),
    )
    facts = {"chunks": s.inserted // (s.slide * s.chunk), "slices": s.inserted // s.slide}
    return Picture((strip,), {"evicted": s.evicted, "inserted": s.inserted}, facts)


def _write_slice(s: Any, look: Look, i: int) -> str:
    start, stop = (min(max(edge - s.evicted, 0), len(look.window)) for edge in (i * s.slide, (i + 1) * s.slide))
    return " ".join(map(write_value, list(look.window.values())[start:stop]))


def _pba(s: Any, look: Look) -> Picture:
    s._wait()  # for the second thread: its partials are drawn when they are there
    return _sba(s, look)


def _crosses(operation: str, before: Picture, after: Picture) -> Iterator[str]:
    if after.facts["chunks"] > before.facts["chunks"]:
        yield "boundary"
    elif after.facts["slices"] > before.facts["slices"]:
        yield "slice complete"


VIEWS = {"sba": View(_sba, _crosses), "pba": View(_pba, _crosses)}
