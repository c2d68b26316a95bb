"""Reach: how far the frame of a row reaches back and ahead, in which unit, and what must be known before it is final.

`rows(n)`, `time(size)` per row and the three `..._between` windows are one thing seen from here: a unit, two bounds,
and whether a bound itself is included. What executes windows asks `window.reach` instead of their class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import total_ordering
from typing import Any, Literal

from slidewise.windows.durations import CalendarDuration, Length, same_kind, sign

Unit = Literal["rows", "range", "groups"]
Exclude = Literal["current row", "group", "ties"]


# ---- bounds
@total_ordering
class Unbounded:
    """No bound: `-UNBOUNDED` is before every row, `UNBOUNDED` after every row.

    >>> import slidewise as sw
    >>> so_far = sw.rows_between(-sw.UNBOUNDED, 0)
    >>> sw.with_columns({"x": [1, 2, 3]}, total=sw.sum("x").over(so_far))["total"]
    array([1, 3, 6])
    """

    __slots__ = ("sign",)

    def __init__(self, sign: int) -> None:
        self.sign = sign

    def __neg__(self) -> Unbounded:
        return _UNBOUNDED_PRECEDING if self is UNBOUNDED else UNBOUNDED

    def __lt__(self, other: object) -> bool:
        return self.sign < other.sign if isinstance(other, Unbounded) else self.sign < 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unbounded) and self.sign == other.sign

    def __hash__(self) -> int:
        return hash((Unbounded, self.sign))

    def __float__(self) -> float:
        return self.sign * float("inf")

    def __repr__(self) -> str:
        return "UNBOUNDED" if self.sign > 0 else "-UNBOUNDED"

    def __reduce__(self) -> Any:
        return (_unbounded, (self.sign,))


def _unbounded(sign: int) -> Unbounded:
    return UNBOUNDED if sign > 0 else _UNBOUNDED_PRECEDING


UNBOUNDED = Unbounded(1)
_UNBOUNDED_PRECEDING = Unbounded(-1)


@dataclass(frozen=True, repr=False)
class OffsetColumn:
    """A column by name: an offset that every row brings along."""

    name: str

    def __repr__(self) -> str:
        return f'col("{self.name}")'


Bound = Unbounded | OffsetColumn | Length


def crosses(first: Bound, last: Bound) -> bool:
    """Tell whether the start is after the end, where both are constants of one kind; a plain 0 goes with every kind."""
    if isinstance(first, Unbounded | OffsetColumn) or isinstance(last, Unbounded | OffsetColumn):
        return False
    if not (sign(first) and sign(last)):
        return sign(first) > sign(last)
    return same_kind(first, last) and first > last  # type: ignore[operator]


# ---- reach
@dataclass(frozen=True)
class Reach:
    """The frame of a row, from `start` to `end` of it: in rows, in groups of peers, or along the order ("range").

    >>> import slidewise as sw
    >>> sw.rows(3).reach
    Reach(unit='rows', start=-2, end=0)
    >>> sw.time("1h", closed="left").reach
    Reach(unit='range', start="-1h", end=0, open_end=True)
    """

    unit: Unit
    start: Bound
    end: Bound
    #: whether rows exactly at the bound are left out
    open_start: bool = False
    open_end: bool = False
    exclude: Exclude | None = None

    def __repr__(self) -> str:
        flags = [f"{name}=True" for name in ("open_start", "open_end") if getattr(self, name)]
        exclude = [] if self.exclude is None else [f"exclude={self.exclude!r}"]
        bounds = [f"{name}={getattr(self, name)!r}" for name in ("unit", "start", "end")]
        return f"Reach({', '.join([*bounds, *flags, *exclude])})"

    # ---- what kind of bounds
    @property
    def bounds(self) -> tuple[Bound, Bound]:
        """Both bounds."""
        return self.start, self.end

    @property
    def offset_columns(self) -> tuple[str, ...]:
        """The columns from which rows take bounds of their own."""
        return tuple(dict.fromkeys(bound.name for bound in self.bounds if isinstance(bound, OffsetColumn)))

    @property
    def from_first_row(self) -> bool:
        """Whether no row ever leaves: the frame begins with its key."""
        return isinstance(self.start, Unbounded)

    @property
    def to_last_row(self) -> bool:
        """Whether the frame ends with its key."""
        return isinstance(self.end, Unbounded)

    @property
    def fixed(self) -> bool:
        """Whether both bounds are constants."""
        return not any(isinstance(bound, Unbounded | OffsetColumn) for bound in self.bounds)

    @property
    def by_calendar(self) -> bool:
        """Whether a bound is counted in months, which differ in length."""
        return any(isinstance(bound, CalendarDuration) for bound in self.bounds)

    @property
    def counts_rows(self) -> bool:
        """Whether rows in order are all that frames ask for, and not by what they are ordered."""
        return self.unit == "rows" and self.exclude in (None, "current row")

    @property
    def looks_at_peers(self) -> bool:
        """Whether rows of equal order are left out, which may still join."""
        return self.exclude in ("group", "ties")

    # ---- how far
    @property
    def back(self) -> Any:
        """How far frames reach back at most, at least 0; None where that is not fixed."""
        return _measure_distance(self.start, -1)

    @property
    def ahead(self) -> Any:
        """How far frames reach ahead at most, at least 0; None where that is not fixed."""
        return _measure_distance(self.end, 1)

    @property
    def width(self) -> int | None:
        """How many rows a full frame has; None where it is not counted in rows, or is not fixed."""
        return int(self.end) - int(self.start) + 1 if self.unit == "rows" and self.fixed else None  # type: ignore[arg-type]

    # ---- when a frame is final
    @property
    def waits(self) -> bool:
        """Whether a frame may reach beyond its own row, so that its result waits for later rows."""
        return self.ahead is None or sign(self.ahead) > 0

    @property
    def common_end(self) -> str | None:
        """What a frame ends with at the moment at which it is complete, if other frames may end with the same row.

        Those that reach to their own row or beyond end with the newest row then. Others are complete when their row
        arrives, and end with the same row where they have the same bound. None where frames end anywhere.
        """
        if not self.monotone:
            return None
        if self.to_last_row or (sign(self.end) >= 0 and not self.open_end):  # type: ignore[arg-type]
            return "newest"
        return f"{self.unit} {self.end!r} {self.open_end}"

    @property
    def running(self) -> bool:
        """Whether frames begin with the key, and end somewhere that moves on with the rows."""
        return self.from_first_row and self.exclude is None and not isinstance(self.end, Unbounded | OffsetColumn)

    @property
    def needs_whole_key(self) -> bool:
        """Whether no row can be evicted before its key has ended: bounds by column, or without an end."""
        return bool(self.offset_columns) or self.to_last_row or (self.from_first_row and self.exclude is not None)

    @property
    def monotone(self) -> bool:
        """Whether neither bound ever moves back, and the frame has no hole.

        Months do, where the clocks of a zone change: 02:30 may become 03:30, and 03:15 stays.
        """
        return self.exclude is None and not self.offset_columns and not self.by_calendar


def _measure_distance(bound: Bound, direction: int) -> Any:
    """Return how far a bound lies in a direction; 0 where it lies in the other, None where that is not fixed."""
    if isinstance(bound, Unbounded | OffsetColumn):
        return None
    return (bound if direction > 0 else -bound) if sign(bound) == direction else 0
