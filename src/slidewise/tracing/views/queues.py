"""Algorithms that keep a queue: what stands at each position, and where the pointers are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from slidewise.templates.storage import at
from slidewise.tracing.picture import Cell, Picture, Region, Row, Strip
from slidewise.tracing.views.view import Look, View, cut_regions, draw_window, point, tone_at


def _cells(look: Look, name: str, queue: Any, front: int, end: int, regions: Iterable[Region]) -> tuple[Cell, ...]:
    regions = tuple(regions)
    return tuple(
        look.partial((name, i), at(queue, i), tone_at(regions, i - front)) for i in range(front, end)
    )  # fmt: skip


def _beside(look: Look, **partials: Any) -> tuple[Row, ...]:
    return tuple(Row(name, (look.partial(name, partial, "total"),)) for name, partial in partials.items())


# ---- one total
def _recalculate(s: Any, look: Look) -> Picture:
    pointers = {"F": s.front, "E": s.end}
    regions = cut_regions(s.front, ("", "value", s.end))
    cells = _cells(look, "queue", s.queue, s.front, s.end, regions)
    return Picture((Strip((Row("", cells),), point(pointers, s.front)),), pointers)


def _subtract_on_evict(s: Any, look: Look) -> Picture:
    pointers = {"F": s.front, "E": s.end}
    regions = cut_regions(s.front, ("", "value", s.end))
    cells = _cells(look, "queue", s.queue, s.front, s.end, regions)
    return Picture((Strip((Row("", cells),), point(pointers, s.front), beside=_beside(look, total=s.total)),), pointers)


# ---- two stacks
def _two_stacks(s: Any, look: Look) -> Picture:
    pointers = {"F": s.front, "B": s.boundary, "E": s.end}
    regions = cut_regions(s.front, ("front", "front", s.boundary), ("back", "back", s.end))
    rows = (
        Row("val", _cells(look, "val", s.values, s.front, s.end, regions)),
        Row("agg", _cells(look, "agg", s.products, s.front, s.end, regions)),
    )
    return Picture((Strip(rows, point(pointers, s.front), regions),), pointers)


def _two_stacks_lite(s: Any, look: Look) -> Picture:
    pointers = {"F": s.front, "B": s.boundary, "E": s.end}
    regions = cut_regions(s.front, ("l_F", "front", s.boundary), ("l_B", "back", s.end))
    rows = (Row("", _cells(look, "queue", s.queue, s.front, s.end, regions)),)
    return Picture((Strip(rows, point(pointers, s.front), regions, beside=_beside(look, aggB=s.back)),), pointers)


def _flips(operation: str, before: Picture, after: Picture) -> Iterator[str]:
    if before.pointers["B"] != after.pointers["B"]:
        yield "flip"


# ---- DABA
def _sublists(s: Any) -> tuple[Region, ...]:
    return cut_regions(
        s.front, ("l_F", "front", s.l), ("l_L", "left", s.r), ("l_R", "right", s.a), ("l_A", "inner", s.b),
        ("l_B", "back", s.end),
    )  # fmt: skip


def _daba(s: Any, look: Look) -> Picture:
    pointers = {"F": s.front, "L": s.l, "R": s.r, "A": s.a, "B": s.b, "E": s.end}
    regions = _sublists(s)
    rows = (
        Row("val", _cells(look, "val", s.values, s.front, s.end, regions)),
        Row("agg", _cells(look, "agg", s.products, s.front, s.end, regions)),
    )
    return Picture((Strip(rows, point(pointers, s.front), regions),), pointers)


def _daba_lite(s: Any, look: Look) -> Picture:
    pointers = {"F": s.front, "L": s.l, "R": s.r, "A": s.a, "B": s.b, "E": s.end}
    regions = _sublists(s)
    cells = list(_cells(look, "queue", s.queue, s.front, s.end, regions))
    if s.l != s.r:  # while it shrinks, the partial of A is beside the queue, and belongs there
        cells[s.a - s.front] = look.partial(("queue", s.a), s.inner, "inner")
    beside = _beside(look, aggRA=s.middle, aggB=s.back)
    return Picture((Strip((Row("", tuple(cells)),), point(pointers, s.front), regions, beside=beside),), pointers)


def _repairs(operation: str, before: Picture, after: Picture) -> Iterator[str]:
    """Tell the cases of fixup apart: a flip moves B and L, a shrink L and A to each other, a shift all three right."""
    if operation not in ("insert", "evict"):
        return
    old, new = before.pointers, after.pointers
    if new["B"] != old["B"] and new["L"] != new["B"]:
        yield "flip"
        yield "shrink"
    elif new["L"] == old["L"] + 1 and new["B"] == old["B"]:
        yield "shrink" if new["R"] == old["R"] else "shift"
    else:
        yield "singleton"


# ---- the monoid-augmented FIFO
def _monoid_fifo(s: Any, look: Look) -> Picture:
    pointers = {"F": s.front, "S": s.staged, "C": s.cursor, "B": s.boundary, "E": s.end}
    whole = s.cursor <= s.front
    if whole:
        regions = cut_regions(s.front, ("stack", "front", s.boundary), ("back", "back", s.end))
    elif s.cursor > s.staged:
        regions = cut_regions(
            s.front, ("old stack", "left", s.staged), ("staged", "right", s.cursor), ("stack", "front", s.boundary),
            ("back", "back", s.end),
        )  # fmt: skip
    else:
        regions = cut_regions(
            s.front, ("old stack", "left", s.cursor), ("stack", "front", s.boundary), ("back", "back", s.end)
        )
    shown = {name: at for name, at in pointers.items() if not whole or name not in ("S", "C")}
    cells = _cells(look, "queue", s.queue, s.front, s.end, regions)
    beside = _beside(look, fresh=s.fresh, inner=s.inner, back=s.back)
    return Picture((Strip((Row("", cells),), point(shown, s.front), regions, beside=beside),), pointers)


def _stages(operation: str, before: Picture, after: Picture) -> Iterator[str]:
    if operation not in ("insert", "evict"):
        return
    old, new = before.pointers, after.pointers
    staged = new["B"] != old["B"]
    if new["C"] < old["C"] or (staged and old["C"] > new["F"]):
        yield "step"
    if staged:
        yield "stage"


# ---- others
def _flat_fit(s: Any, look: Look) -> Picture:
    pointers = {"F": s.front, "E": s.end}
    n = range(s.front, s.end)
    skips = {i: at(s.skip, i) for i in n}
    tones = {i: "value" if skips[i] == i + 1 else "front" for i in n}
    rows = (
        Row("index", tuple(look.value(None, i, "quiet") for i in n)),
        Row("partial", tuple(look.partial(("queue", i), at(s.queue, i), tones[i]) for i in n)),
        Row("next", tuple(look.value(("skip", i), skips[i], "quiet") for i in n)),
    )
    jumps = tuple((i - s.front, k - s.front) for i, k in skips.items() if k > i + 1)
    return Picture((Strip(rows, point(pointers, s.front), jumps=jumps),), pointers, {"skips": skips})


def _compresses(operation: str, before: Picture, after: Picture) -> Iterator[str]:
    if operation == "query" and before.facts["skips"] != after.facts["skips"]:
        yield "path compressed"


def _slick_deque(s: Any, look: Look) -> Picture:
    n = range(s.head, s.tail)
    held = Strip(
        (
            Row("of", tuple(look.value(None, at(s.positions, j), "quiet") for j in n)),
            Row("partial", tuple(look.partial(("queue", j), at(s.queue, j), "front") for j in n)),
        ),
        point({"head": s.head, "tail": s.tail}, s.head),
        beside=() if s.aggregation.selective else _beside(look, total=s.total[0]),
        title="deque",
    )
    pointers = {"front": s.front, "end": s.end, "head": s.head, "tail": s.tail}
    parts = (draw_window(look), held) if s.aggregation.selective else (held,)
    return Picture(parts, pointers, {"held": s.tail - s.head})


def _pops(operation: str, before: Picture, after: Picture) -> Iterator[str]:
    if operation == "insert":
        popped = before.facts["held"] + 1 - after.facts["held"]
        if popped:
            yield f"{popped} beaten"
    elif operation == "evict" and before.pointers["head"] == after.pointers["head"]:
        yield "beaten before"


def _slick_deque_parts(s: Any, look: Look) -> Picture:
    values = Strip(
        (Row("", tuple(look.partial(("queue", i), at(s.queue, i), "value") for i in range(s.front, s.end))),),
        point({"F": s.front, "E": s.end}, s.front),
        beside=_beside(look, total=s.total),
        title="window",
    )
    deques = [values]
    for title, positions, head, tail in (("lows", s.lows, s.low, s.low_end), ("highs", s.highs, s.high, s.high_end)):
        held = [at(positions, j) for j in range(head, tail)]
        rows = (
            Row("of", tuple(look.value((title, i), i, "quiet") for i in held)),
            Row("partial", tuple(look.partial(None, at(s.queue, i), "front") for i in held)),
        )
        deques.append(Strip(rows, title=title))
    return Picture(tuple(deques), {"F": s.front, "E": s.end})


VIEWS = {
    "recalculate": View(_recalculate),
    "subtract_on_evict": View(_subtract_on_evict),
    "two_stacks": View(_two_stacks, _flips),
    "two_stacks_lite": View(_two_stacks_lite, _flips),
    "daba": View(_daba, _repairs),
    "daba_lite": View(_daba_lite, _repairs),
    "monoid_fifo": View(_monoid_fifo, _stages),
    "flat_fit": View(_flat_fit, _compresses),
    "slick_deque": View(_slick_deque, _pops),
    "slick_deque_parts": View(_slick_deque_parts),
}
