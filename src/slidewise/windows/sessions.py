"""Session windows: rows of a key that follow one another by at most a gap belong together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from slidewise.errors import InvalidInput
from slidewise.windows.definitions import WindowDefinition
from slidewise.windows.durations import CalendarDuration, Length, length, sign


@dataclass(frozen=True, repr=False)
class SessionWindow(WindowDefinition):
    """The rows since the last gap longer than `gap`: so far, for each row, or whole, as one result.

    `every` is None for a result per row, and the session itself for one per session, as a punctuation that slides by
    itself. It is no argument of the user's: `.over(...)` asks for the one, and `window=` for the other.
    """

    gap: Length
    every: WindowDefinition | None = None
    offset: ClassVar[None] = None  # type: ignore[misc]
    size_kind: ClassVar[str] = "session"

    @property
    def looks_at_order(self) -> bool:
        return True

    @property
    def session_gap(self) -> Length | None:
        return None if self.every is None else self.gap

    def per_window(self) -> SessionWindow:
        return replace(self, every=replace(self, every=None))

    @property
    def _sizes(self) -> list[Length]:
        return [self.gap]

    def __repr__(self) -> str:
        return f"session({self.gap!r})"


def session(gap: Any) -> SessionWindow:
    """Define sessions: rows of a key that are at most `gap` after the row before them belong together.

    >>> session("30m")
    session("30m")

    A session is [its first row, its last row + gap), as in Spark and Flink. `aggregate` and `Window` give one result
    for each, and `.over(session("30m"))` one for each row, over the rows of its session so far.

    >>> import slidewise as sw
    >>> w = sw.Window(sw.count(), sw.session(10))
    >>> [w.push("x", time=t) for t in (0, 10, 21)]
    [[], [], [Result(2, time=20, start=0, end=20)]]
    >>> w.flush()
    [Result(1, time=31, start=21, end=31)]
    """
    size = length(gap, "session: the gap")
    if isinstance(size, CalendarDuration):
        raise InvalidInput(f"session: the gap must be a fixed length, and {size!r} is not: months differ. Use days")
    if sign(size) <= 0:
        raise InvalidInput(
            f"session: the gap must be positive, got {size!r}: rows at most so far apart are one session"
        )
    return SessionWindow(size)
