"""Sources: several streams into one window, each with a watermark of its own. Time has come as far as the slowest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from slidewise.errors import InvalidInput
from slidewise.events.watermark import BEGIN, Mark
from slidewise.suggest import suggest


class Sources:
    """How far each source has come; one that has not come yet holds time back."""

    __slots__ = ("marks",)

    def __init__(self, names: Iterable[str]) -> None:
        listed = [names] if isinstance(names, str) else list(names)
        wrong = [name for name in listed if not isinstance(name, str) or not name]
        if not listed or wrong:
            given = repr(wrong[0]) if wrong else "none"
            raise InvalidInput(f'Window: sources are named by texts, as in sources=["a", "b"], got {given}')
        twice = [name for name in listed if listed.count(name) > 1]
        if twice:
            raise InvalidInput(f"Window: the source {twice[0]!r} is named twice. Give each another name")
        self.marks: dict[str, Mark] = dict.fromkeys(listed, BEGIN)

    def require(self, source: Any, what: str) -> None:
        """Refuse a row that does not say where it comes from, or not from where any is expected. O(1)."""
        if source is None:
            raise InvalidInput(
                f"{what}: this window has the sources {', '.join(map(repr, self.marks))}. Say which it is of, as in "
                f"source={next(iter(self.marks))!r}"
            )
        if not isinstance(source, str) or source not in self.marks:
            raise InvalidInput(f"{what}: there is no source {source!r}. {suggest(str(source), list(self.marks))}")

    def move(self, source: str | None, mark: Mark) -> Mark:
        """Move a source on, or all of them, and return how far time has come. O(sources)."""
        for name in self.marks if source is None else (source,):
            self.marks[name] = max(self.marks[name], mark)
        return min(self.marks.values())


def require_none(source: Any, what: str) -> None:
    """Refuse a source where a window has none."""
    if source is not None:
        raise InvalidInput(
            f"{what}: this window has no sources, got source={source!r}. Name them all: sw.Window(..., "
            f"sources=[{source!r}, ...])"
        )
